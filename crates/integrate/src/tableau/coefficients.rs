//! The tableaux themselves, explicit ones first.

use super::Tableau;

/// Explicit Euler.
pub const EULER: Tableau<1> = Tableau::new("Euler", 1, [[0.0]], [1.0], [0.0]);

/// The explicit midpoint rule (Luo and Sun 2020, table 3).
pub const EXPLICIT_MIDPOINT: Tableau<2> =
    Tableau::new("explicit midpoint", 2, [[0.0, 0.0], [0.5, 0.0]], [0.0, 1.0], [0.0, 0.5]);

/// Heun's method of order 2, the explicit trapezoidal rule.
pub const HEUN2: Tableau<2> = Tableau::new("Heun 2", 2, [[0.0, 0.0], [1.0, 0.0]], [0.5, 0.5], [0.0, 1.0]);

/// Heun's method of order 3.
pub const HEUN3: Tableau<3> = Tableau::new(
    "Heun 3",
    3,
    [[0.0; 3], [1.0 / 3.0, 0.0, 0.0], [0.0, 2.0 / 3.0, 0.0]],
    [0.25, 0.0, 0.75],
    [0.0, 1.0 / 3.0, 2.0 / 3.0],
);

/// Kutta's method of order 3 (Shen, Tran and Leok 2022, table 1 (b)).
pub const KUTTA3: Tableau<3> = Tableau::new(
    "Kutta 3",
    3,
    [[0.0; 3], [0.5, 0.0, 0.0], [-1.0, 2.0, 0.0]],
    [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0],
    [0.0, 0.5, 1.0],
);

/// The classical method of order 4.
pub const RK4: Tableau<4> = Tableau::new(
    "RK 4",
    4,
    [[0.0; 4], [0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
    [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
    [0.0, 0.5, 0.5, 1.0],
);

/// The pair 3(2) of Bogacki and Shampine 1989.
pub const BOGACKI_SHAMPINE32: Tableau<4> = Tableau::new(
    "Bogacki–Shampine 3(2)",
    3,
    [[0.0; 4], [0.5, 0.0, 0.0, 0.0], [0.0, 0.75, 0.0, 0.0], [2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0, 0.0]],
    [2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0, 0.0],
    [0.0, 0.5, 0.75, 1.0],
)
.paired(2, [7.0 / 24.0, 0.25, 1.0 / 3.0, 0.125]);

/// Zonneveld's pair 4(3) on the classical method (Hairer, Nørsett, Wanner 1993, table II.4.2).
pub const ZONNEVELD43: Tableau<5> = Tableau::new(
    "Zonneveld 4(3)",
    4,
    [
        [0.0; 5],
        [0.5, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.5, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [5.0 / 32.0, 7.0 / 32.0, 13.0 / 32.0, -1.0 / 32.0, 0.0],
    ],
    [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0, 0.0],
    [0.0, 0.5, 0.5, 1.0, 0.75],
)
.paired(3, [-0.5, 7.0 / 3.0, 7.0 / 3.0, 13.0 / 6.0, -16.0 / 3.0]);

/// The pair 5(4) of Dormand and Prince 1980.
pub const DORMAND_PRINCE54: Tableau<7> = Tableau::new(
    "Dormand–Prince 5(4)",
    5,
    [
        [0.0; 7],
        [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0, 0.0],
        [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0, 0.0],
        [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0, 0.0],
        [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0],
    ],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0],
    [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0],
)
.paired(4, [5179.0 / 57600.0, 0.0, 7571.0 / 16695.0, 393.0 / 640.0, -92097.0 / 339_200.0, 187.0 / 2100.0, 1.0 / 40.0]);

/// Implicit Euler.
pub const IMPLICIT_EULER: Tableau<1> = Tableau::new("implicit Euler", 1, [[1.0]], [1.0], [1.0]);

/// The implicit midpoint rule, Gauss's method of one stage (Luo and Sun 2020, table 2).
pub const IMPLICIT_MIDPOINT: Tableau<1> = Tableau::new("implicit midpoint", 2, [[0.5]], [1.0], [0.5]);

const SQRT_3: f64 = 1.732_050_807_568_877_2;
const SQRT_5: f64 = 2.236_067_977_499_79;
const SQRT_6: f64 = 2.449_489_742_783_178;
const SQRT_15: f64 = 3.872_983_346_207_417;

/// Gauss's method of two stages.
pub const GAUSS4: Tableau<2> = Tableau::new(
    "Gauss 4",
    4,
    [[0.25, 0.25 - SQRT_3 / 6.0], [0.25 + SQRT_3 / 6.0, 0.25]],
    [0.5, 0.5],
    [0.5 - SQRT_3 / 6.0, 0.5 + SQRT_3 / 6.0],
);

/// Gauss's method of three stages.
pub const GAUSS6: Tableau<3> = Tableau::new(
    "Gauss 6",
    6,
    [
        [5.0 / 36.0, 2.0 / 9.0 - SQRT_15 / 15.0, 5.0 / 36.0 - SQRT_15 / 30.0],
        [5.0 / 36.0 + SQRT_15 / 24.0, 2.0 / 9.0, 5.0 / 36.0 - SQRT_15 / 24.0],
        [5.0 / 36.0 + SQRT_15 / 30.0, 2.0 / 9.0 + SQRT_15 / 15.0, 5.0 / 36.0],
    ],
    [5.0 / 18.0, 4.0 / 9.0, 5.0 / 18.0],
    [0.5 - SQRT_15 / 10.0, 0.5, 0.5 + SQRT_15 / 10.0],
);

/// Lobatto IIIA of two stages, the trapezoidal rule.
pub const LOBATTO_IIIA2: Tableau<2> =
    Tableau::new("Lobatto IIIA 2", 2, [[0.0, 0.0], [0.5, 0.5]], [0.5, 0.5], [0.0, 1.0]);

/// Lobatto IIIB of two stages; with [`LOBATTO_IIIA2`] for the positions, Störmer–Verlet. Its c, taken from the
/// partner, are not the row sums.
pub const LOBATTO_IIIB2: Tableau<2> =
    Tableau::new("Lobatto IIIB 2", 2, [[0.5, 0.0], [0.5, 0.0]], [0.5, 0.5], [0.0, 1.0]);

/// Lobatto IIIA of three stages.
pub const LOBATTO_IIIA4: Tableau<3> = Tableau::new(
    "Lobatto IIIA 4",
    4,
    [[0.0; 3], [5.0 / 24.0, 1.0 / 3.0, -1.0 / 24.0], [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0]],
    [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0],
    [0.0, 0.5, 1.0],
);

/// Lobatto IIIB of three stages, the symplectic partner of [`LOBATTO_IIIA4`].
pub const LOBATTO_IIIB4: Tableau<3> = Tableau::new(
    "Lobatto IIIB 4",
    4,
    [[1.0 / 6.0, -1.0 / 6.0, 0.0], [1.0 / 6.0, 1.0 / 3.0, 0.0], [1.0 / 6.0, 5.0 / 6.0, 0.0]],
    [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0],
    [0.0, 0.5, 1.0],
);

/// Lobatto IIIA of four stages.
pub const LOBATTO_IIIA6: Tableau<4> = Tableau::new(
    "Lobatto IIIA 6",
    6,
    [
        [0.0; 4],
        [(11.0 + SQRT_5) / 120.0, (25.0 - SQRT_5) / 120.0, (25.0 - 13.0 * SQRT_5) / 120.0, (-1.0 + SQRT_5) / 120.0],
        [(11.0 - SQRT_5) / 120.0, (25.0 + 13.0 * SQRT_5) / 120.0, (25.0 + SQRT_5) / 120.0, (-1.0 - SQRT_5) / 120.0],
        [1.0 / 12.0, 5.0 / 12.0, 5.0 / 12.0, 1.0 / 12.0],
    ],
    [1.0 / 12.0, 5.0 / 12.0, 5.0 / 12.0, 1.0 / 12.0],
    [0.0, 0.5 - SQRT_5 / 10.0, 0.5 + SQRT_5 / 10.0, 1.0],
);

/// Radau IIA of two stages.
pub const RADAU_IIA3: Tableau<2> =
    Tableau::new("Radau IIA 3", 3, [[5.0 / 12.0, -1.0 / 12.0], [0.75, 0.25]], [0.75, 0.25], [1.0 / 3.0, 1.0]);

/// Radau IIA of three stages.
pub const RADAU_IIA5: Tableau<3> = Tableau::new(
    "Radau IIA 5",
    5,
    [
        [(88.0 - 7.0 * SQRT_6) / 360.0, (296.0 - 169.0 * SQRT_6) / 1800.0, (-2.0 + 3.0 * SQRT_6) / 225.0],
        [(296.0 + 169.0 * SQRT_6) / 1800.0, (88.0 + 7.0 * SQRT_6) / 360.0, (-2.0 - 3.0 * SQRT_6) / 225.0],
        [(16.0 - SQRT_6) / 36.0, (16.0 + SQRT_6) / 36.0, 1.0 / 9.0],
    ],
    [(16.0 - SQRT_6) / 36.0, (16.0 + SQRT_6) / 36.0, 1.0 / 9.0],
    [(4.0 - SQRT_6) / 10.0, (4.0 + SQRT_6) / 10.0, 1.0],
);
