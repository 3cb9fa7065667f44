//! Tables 5.1–5.6 of X. Shen, "Geometric Integrators for Stiff Systems, Lie Groups and Control Systems", PhD thesis, UC
//! San Diego, 2019, section 5.5, as printed.

/// One column of one row of the tables: a trajectory, a density, a rate and a Q_z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintedCell {
    /// Number of the table.
    pub table: &'static str,
    /// The scenario of the same path, rate, density and Q_z.
    pub scenario: &'static str,
    /// EKF, FE-EKF and reduced EKF: mean position error, m, and mean orientation error, rad, over 20 realizations.
    pub errors: [(f64, f64); 3],
}

const fn cell(table: &'static str, scenario: &'static str, errors: [(f64, f64); 3]) -> PrintedCell {
    PrintedCell { table, scenario, errors }
}

/// All cells, table by table, by Q_z and then by rate.
pub const PRINTED: [PrintedCell; 36] = [
    cell("5.1", "thesis-line-10hz-low-q1", [(1.403, 0.0375), (1.539, 0.0421), (1.436, 0.0373)]),
    cell("5.1", "thesis-line-20hz-low-q1", [(1.365, 0.0308), (1.456, 0.0345), (1.300, 0.0282)]),
    cell("5.1", "thesis-line-10hz-low-q2", [(2.492, 0.0487), (2.525, 0.0552), (2.549, 0.0506)]),
    cell("5.1", "thesis-line-20hz-low-q2", [(2.395, 0.0411), (2.621, 0.057), (2.397, 0.0432)]),
    cell("5.1", "thesis-line-10hz-low-q4", [(4.332, 0.0752), (4.284, 0.0758), (4.449, 0.0773)]),
    cell("5.1", "thesis-line-20hz-low-q4", [(4.265, 0.0578), (4.283, 0.0677), (4.317, 0.0644)]),
    cell("5.2", "thesis-line-10hz-high-q1", [(1.303, 0.0269), (1.306, 0.027), (1.256, 0.0227)]),
    cell("5.2", "thesis-line-20hz-high-q1", [(1.21, 0.0167), (1.283, 0.0238), (1.258, 0.0208)]),
    cell("5.2", "thesis-line-10hz-high-q2", [(2.409, 0.0385), (2.459, 0.0446), (2.43, 0.0347)]),
    cell("5.2", "thesis-line-20hz-high-q2", [(2.331, 0.0279), (2.318, 0.0313), (2.386, 0.0345)]),
    cell("5.2", "thesis-line-10hz-high-q4", [(4.238, 0.047), (4.361, 0.0628), (4.386, 0.0613)]),
    cell("5.2", "thesis-line-20hz-high-q4", [(4.23, 0.0445), (4.353, 0.0558), (4.352, 0.0577)]),
    cell("5.3", "thesis-circle-10hz-low-q1", [(0.955, 0.0875), (1.063, 0.0936), (0.655, 0.0443)]),
    cell("5.3", "thesis-circle-20hz-low-q1", [(0.746, 0.0657), (0.750, 0.0576), (0.532, 0.0342)]),
    cell("5.3", "thesis-circle-10hz-low-q2", [(1.630, 0.152), (1.496, 0.119), (0.959, 0.0586)]),
    cell("5.3", "thesis-circle-20hz-low-q2", [(1.35, 0.128), (1.549, 0.144), (0.982, 0.0667)]),
    cell("5.3", "thesis-circle-10hz-low-q4", [(2.893, 0.2914), (2.721, 0.2585), (1.512, 0.1033)]),
    cell("5.3", "thesis-circle-20hz-low-q4", [(2.295, 0.2256), (2.066, 0.2102), (1.469, 0.1003)]),
    cell("5.4", "thesis-circle-10hz-high-q1", [(0.816, 0.0643), (0.7972, 0.0627), (0.5815, 0.0359)]),
    cell("5.4", "thesis-circle-20hz-high-q1", [(0.584, 0.0462), (0.681, 0.0530), (0.568, 0.0374)]),
    cell("5.4", "thesis-circle-10hz-high-q2", [(1.276, 0.1193), (1.3061, 0.1091), (0.9403, 0.0591)]),
    cell("5.4", "thesis-circle-20hz-high-q2", [(1.260, 0.1164), (1.2402, 0.1039), (0.9178, 0.0573)]),
    cell("5.4", "thesis-circle-10hz-high-q4", [(2.593, 0.253), (2.428, 0.236), (1.752, 0.121)]),
    cell("5.4", "thesis-circle-20hz-high-q4", [(2.4, 0.239), (2.397, 0.216), (1.631, 0.113)]),
    cell("5.5", "thesis-general-10hz-low-q1", [(0.673, 0.0789), (0.635, 0.0803), (1.309, 0.1062)]),
    cell("5.5", "thesis-general-20hz-low-q1", [(0.6527, 0.0698), (0.5620, 0.0605), (0.4659, 0.0371)]),
    cell("5.5", "thesis-general-10hz-low-q2", [(1.388, 0.139), (1.143, 0.12), (1.23, 0.107)]),
    cell("5.5", "thesis-general-20hz-low-q2", [(1.2575, 0.1156), (0.9985, 0.0997), (0.8022, 0.0654)]),
    cell("5.5", "thesis-general-10hz-low-q4", [(2.459, 0.227), (2.111, 0.2267), (1.592, 0.1174)]),
    cell("5.5", "thesis-general-20hz-low-q4", [(2.3852, 0.2039), (1.8924, 0.1794), (1.4595, 0.1042)]),
    cell("5.6", "thesis-general-10hz-high-q1", [(0.6039, 0.0609), (0.5815, 0.0636), (1.308, 0.1049)]),
    cell("5.6", "thesis-general-20hz-high-q1", [(0.5518, 0.0518), (0.4810, 0.0447), (0.4538, 0.0381)]),
    cell("5.6", "thesis-general-10hz-high-q2", [(1.2201, 0.1047), (0.9836, 0.0945), (1.0738, 0.0838)]),
    cell("5.6", "thesis-general-20hz-high-q2", [(1.1676, 0.1021), (0.9752, 0.0869), (0.73, 0.0611)]),
    cell("5.6", "thesis-general-10hz-high-q4", [(2.4264, 0.2126), (2.0421, 0.1904), (1.4674, 0.1121)]),
    cell("5.6", "thesis-general-20hz-high-q4", [(2.447, 0.2141), (1.8347, 0.145), (1.4322, 0.1165)]),
];
