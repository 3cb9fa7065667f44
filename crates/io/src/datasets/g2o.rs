//! Graphs of poses and landmarks in text: g2o (`EDGE_SE2`, `EDGE_SE2_XY`) and its older form (`EDGE2` or `ODOMETRY`,
//! `LANDMARK`, as iSAM and GTSAM have them), compressed or not.
//!
//! The edges from one pose to the next are the odometry, one a second; edges to landmarks are measurements of relative
//! positions with the stated noise, in a cloud for each pose. Other edges between poses close loops, which an odometry
//! does not: they are counted and left out. Truth is another graph, without noise.

use super::format::Format;
use super::text::{Row, Table};
use crate::open;
use flate2::read::MultiGzDecoder;
use lienav_bag::recording::{Input, Recording};
use lienav_base::stamp::Stamp;
use lienav_files::{OpenError, bounds};
use lienav_lie::Se2;
use lienav_slam::{Config, InitialConfig, Measurement, MeasurementKind, Odometry, Scan};
use nalgebra::{Matrix2, Matrix3, SMatrix, Vector2};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader};
use std::ops::RangeInclusive;
use std::path::Path;

/// `g2o:FILE`, with what may follow it.
pub const FORMAT: Format = Format {
    prefix: "g2o",
    arguments: "FILE[:TRUTH][:NOISE]",
    about: "a graph of poses and landmarks (.g2o, .graph, .gz)",
    open: open_source,
};

/// From one pose to the next, s.
const PERIOD_S: f64 = 1.0;
/// Coordinates, m.
const METRES: RangeInclusive<f64> = -1e6..=1e6;
const ANGLE: RangeInclusive<f64> = -1e3..=1e3;
/// No odometry is known less well than this from one pose to the next, m,
const ABSURD_STD_M: f64 = 5.0;
/// nor than so many times its way.
const ABSURD_RATIO: f64 = 10.0;

/// How the numbers behind an edge state its noise; all are the upper triangle of a symmetric or triangular matrix, row
/// by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedNoise {
    /// The information matrix, as in g2o.
    Information,
    /// Its upper triangular root R, RᵀR the information, as in iSAM.
    SqrtInformation,
    /// The covariance, as in data sets of GTSAM.
    Covariance,
    /// The information matrix in the order of TORO: I₁₁ I₁₂ I₂₂ I₃₃ I₁₃ I₂₃; of two numbers as [`Self::Information`].
    Toro,
}

impl StatedNoise {
    const WORDS: [(&'static str, Self); 4] = [
        ("information", Self::Information),
        ("sqrt_information", Self::SqrtInformation),
        ("covariance", Self::Covariance),
        ("toro", Self::Toro),
    ];

    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(name, _)| *name == word).map(|(_, noise)| *noise)
    }

    /// The covariance of D numbers. `None` where the matrix says of none that it is.
    fn covariance<const D: usize>(self, upper: &SMatrix<f64, D, D>) -> Option<SMatrix<f64, D, D>> {
        let symmetric = upper + upper.transpose() - SMatrix::from_diagonal(&upper.diagonal());
        let covariance = match self {
            Self::Covariance => symmetric,
            Self::Information | Self::Toro => symmetric.cholesky()?.inverse(),
            Self::SqrtInformation => (upper.transpose() * upper).cholesky()?.inverse(),
        };
        let is_sound = covariance.iter().all(|x| x.is_finite()) && covariance.cholesky().is_some();
        is_sound.then_some(0.5 * (covariance + covariance.transpose()))
    }
}

/// The upper triangle of the noise of an edge between poses.
fn upper_of(n: [f64; 6], noise: StatedNoise) -> Matrix3<f64> {
    let [n_11, n_12, n_13, n_22, n_23, n_33] = match (noise, n) {
        (StatedNoise::Toro, [i_11, i_12, i_22, i_33, i_13, i_23]) => [i_11, i_12, i_13, i_22, i_23, i_33],
        _ => n,
    };
    Matrix3::new(n_11, n_12, n_13, 0.0, n_22, n_23, 0.0, 0.0, n_33)
}

/// An edge between two poses.
struct PoseEdge {
    motion: Se2,
    /// Of (x, y, θ) of `motion`, each by itself.
    covariance: Matrix3<f64>,
}

/// A measurement of a landmark.
struct Sight {
    landmark: u32,
    place: Vector2<f64>,
    covariance: Matrix2<f64>,
}

/// What a file says.
#[derive(Default)]
struct Graph {
    /// By the poses that they join; the earlier one first.
    edges: BTreeMap<(u32, u32), PoseEdge>,
    /// By pose.
    sights: BTreeMap<u32, Vec<Sight>>,
    /// Poses that are stated.
    poses: BTreeMap<u32, Se2>,
    /// Landmarks that are stated.
    landmarks: BTreeMap<u32, Vector2<f64>>,
    left_out: BTreeMap<&'static str, u64>,
    /// What the reader should know of how the noise was read.
    notes: Vec<String>,
}

fn open_source(arguments: &str) -> Result<Recording, OpenError> {
    let (rest, noise) = match arguments.rsplit_once(':') {
        Some((rest, word)) if StatedNoise::named(word).is_some() => (rest, StatedNoise::named(word)),
        _ => (arguments, None),
    };
    let (file, truth) = match rest.rsplit_once(':') {
        Some((file, truth)) if !Path::new(rest).exists() => (file, Some(Path::new(truth))),
        _ => (rest, None),
    };
    open(Path::new(file), truth, noise)
}

/// Reads a graph, and another one that is taken as true. Without `noise`, edges of g2o state their information, and
/// those of the older form its root; if that cannot be, because all of them are positive definite only in the order of
/// TORO, they are TORO's.
///
/// Pose k of the chain is at k seconds, and the run starts at the true first pose, or at the origin. Records that do
/// not belong to a run are counted: `loop_closure`, `repeated_edge`, `unknown_record`.
///
/// # Errors
/// A file is missing or damaged, a record is not as described, or there is no chain of poses: with file and line.
pub fn open(file: &Path, truth: Option<&Path>, noise: Option<StatedNoise>) -> Result<Recording, OpenError> {
    let graph = Graph::read(file, noise)?;
    let chain = graph.chain(file)?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default().to_owned();
    let mut recording = Recording { name, ..Recording::default() };
    recording.dropped = graph.left_out.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect();
    let closing = graph.edges.len() + 1 - chain.len();
    if closing > 0 {
        *recording.dropped.entry("loop_closure".to_owned()).or_default() += closing as u64;
    }
    recording.warnings.clone_from(&graph.notes);
    recording.contradictions.extend(graph.absurd_noise(noise));
    let mut landmarks = BTreeSet::new();
    let mut before = None;
    for (k, &pose) in chain.iter().enumerate() {
        let stamp = Stamp::from_secs(k as f64 * PERIOD_S);
        let edge = before.replace(pose).and_then(|before| graph.edges.get(&(before, pose)));
        recording.inputs.push(Input::Odometry(odometry(stamp, edge)));
        // A pose from which nothing is seen has an empty cloud: every pose is judged.
        let sights = graph.sights.get(&pose).map(Vec::as_slice).unwrap_or_default();
        landmarks.extend(sights.iter().map(|sight| sight.landmark));
        let measurement = |sight: &Sight| Measurement {
            covariance: Some(sight.covariance.into()),
            ..Measurement::new(Some(sight.landmark), sight.place)
        };
        let measurements = sights.iter().map(measurement).collect();
        recording.inputs.push(Input::Scan(Scan { stamp, kind: MeasurementKind::RelativePosition, measurements }));
    }
    if let Some(path) = truth {
        let graph = Graph::read(path, noise)?;
        let poses = graph.true_poses(path)?;
        let stamped = |(k, pose): (usize, &u32)| Some((Stamp::from_secs(k as f64 * PERIOD_S), *poses.get(pose)?));
        recording.truth = chain.iter().enumerate().filter_map(stamped).collect();
        recording.true_landmarks = graph.true_landmarks(&poses).into_iter().collect();
    }
    recording.config = Some(config(recording.truth.first().map(|(_, pose)| *pose), landmarks.len()));
    Ok(recording)
}

/// The twist whose exponential is the motion of an edge, and its covariance: with errors of their own in x, y and θ the
/// true motion is Exp(e) T, e = [[I, −Jp], [0, 1]] (δx, δy, δθ), and its twist is off by J_l⁻¹ e.
fn odometry(stamp: Stamp, edge: Option<&PoseEdge>) -> Odometry {
    let Some(PoseEdge { motion, covariance }) = edge else {
        return Odometry { stamp, velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: Some(Matrix3::zeros()) };
    };
    let xi = motion.log();
    let from_left = Matrix3::new(1.0, 0.0, motion.p.y, 0.0, 1.0, -motion.p.x, 0.0, 0.0, 1.0);
    // J_l is regular within a turn.
    let by_edge = Se2::left_jacobian(&xi).try_inverse().unwrap_or_else(Matrix3::identity) * from_left;
    let covariance = by_edge * covariance * by_edge.transpose() / (PERIOD_S * PERIOD_S);
    Odometry {
        stamp,
        velocity: xi.xy() / PERIOD_S,
        yaw_rate: xi.z / PERIOD_S,
        covariance: Some(0.5 * (covariance + covariance.transpose())),
    }
}

/// Steps of a second, of any length; noise comes with each message.
fn config(start: Option<Se2>, landmarks: usize) -> Config {
    let mut config = Config::default();
    // Each edge states its information.
    config.learning.enabled = false;
    config.motion.max_step_s = 2.0 * PERIOD_S;
    (config.motion.max_speed, config.motion.max_yaw_rate) = (1000.0, 1000.0);
    (config.motion.max_acceleration, config.motion.max_yaw_acceleration) = (1e6, 1e6);
    config.sensor.kind = MeasurementKind::RelativePosition;
    (config.sensor.min_range_m, config.sensor.max_range_m) = (0.0, 10_000.0);
    config.map.max_features = (2 * landmarks).clamp(config.map.max_features, 5000);
    let start = start.unwrap_or_else(Se2::identity);
    config.initial = InitialConfig { x_m: start.p.x, y_m: start.p.y, yaw_rad: start.theta, ..InitialConfig::default() };
    config
}

const EDGE: &[&str] = &["record", "from", "to", "x", "y", "theta", "n_11", "n_12", "n_13", "n_22", "n_23", "n_33"];
const SIGHT: &[&str] = &["record", "pose", "landmark", "x", "y", "n_11", "n_12", "n_22"];
const POSE: &[&str] = &["record", "pose", "x", "y", "theta"];
const PLACE: &[&str] = &["record", "landmark", "x", "y"];

impl Graph {
    fn read(path: &Path, noise: Option<StatedNoise>) -> Result<Self, OpenError> {
        let text = read_text(path).map_err(|error| OpenError::io(path, error))?;
        let mut graph = Self::default();
        let table = Table::of(path.to_owned(), text);
        let noise_of_old = if noise.is_none() && is_toro(&table) {
            graph.notes.push(format!(
                "{}: the noise of EDGE2 is information in the order of TORO (I11 I12 I22 I33 I13 I23): in no other \
                 order is it positive definite",
                path.display()
            ));
            StatedNoise::Toro
        } else {
            StatedNoise::SqrtInformation
        };
        let stated = |own: StatedNoise| noise.unwrap_or(own);
        for row in table.records() {
            match row.word(0) {
                "EDGE_SE2" => graph.add_edge(&row.named(EDGE)?, stated(StatedNoise::Information), true)?,
                "EDGE2" | "ODOMETRY" => graph.add_edge(&row.named(EDGE)?, stated(noise_of_old), false)?,
                "EDGE_SE2_XY" => graph.add_sight(&row.named(SIGHT)?, stated(StatedNoise::Information))?,
                "LANDMARK" => graph.add_sight(&row.named(SIGHT)?, stated(StatedNoise::SqrtInformation))?,
                "VERTEX_SE2" | "VERTEX2" => {
                    let row = row.named(POSE)?;
                    let pose = Se2 { p: position(&row, 2)?, theta: angle(&row, 4)? };
                    graph.poses.insert(row.identity(1)?, pose);
                }
                "VERTEX_XY" => {
                    let row = row.named(PLACE)?;
                    graph.landmarks.insert(row.identity(1)?, position(&row, 2)?);
                }
                "FIX" => {}
                _ => graph.leave_out("unknown_record"),
            }
        }
        Ok(graph)
    }

    /// A sentence where the edges are known much less well than they are long: the noise is of another kind than it was
    /// read as.
    fn absurd_noise(&self, noise: Option<StatedNoise>) -> Option<String> {
        let median = |mut of: Vec<f64>| {
            of.sort_by(f64::total_cmp);
            of.get(of.len() / 2).copied()
        };
        let std =
            median(self.edges.values().map(|edge| edge.covariance.m11.max(edge.covariance.m22).sqrt()).collect())?;
        let length = median(self.edges.values().map(|edge| edge.motion.p.norm()).collect())?;
        let read_as = noise.map_or("as usual for its records", |_| "as was asked");
        (std > ABSURD_STD_M && std > ABSURD_RATIO * length).then(|| {
            format!(
                "the edges between poses are {length:.3} m long and state a standard deviation of {std:.3} m \
                 (medians), with their noise read {read_as}: if the numbers are variances, give g2o:FILE:covariance; \
                 if they are information, g2o:FILE:information"
            )
        })
    }

    fn leave_out(&mut self, reason: &'static str) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    /// `is_local`: the errors of the position are those in the frame of the pose that the edge leads to.
    fn add_edge(&mut self, row: &Row<'_>, noise: StatedNoise, is_local: bool) -> Result<(), OpenError> {
        let (from, to) = (row.identity(1)?, row.identity(2)?);
        let mut motion = Se2 { p: position(row, 3)?, theta: lienav_lie::wrap_angle(angle(row, 5)?) };
        let mut numbers = [0.0; 6];
        for (k, number) in numbers.iter_mut().enumerate() {
            *number = row.number(6 + k)?;
        }
        let upper = upper_of(numbers, noise);
        let mut covariance = noise.covariance(&upper).ok_or_else(|| bad_noise(row, noise))?;
        let turned = |angle: f64| {
            let (sin, cos) = angle.sin_cos();
            Matrix3::new(cos, -sin, 0.0, sin, cos, 0.0, 0.0, 0.0, 1.0)
        };
        if is_local {
            let turn = turned(motion.theta);
            covariance = turn * covariance * turn.transpose();
        }
        if from == to {
            self.leave_out("loop_closure");
            return Ok(());
        }
        if from > to {
            // T⁻¹ = (−Rᵀp, −θ): its position is off by −Rᵀδp + JRᵀp δθ.
            let back = motion.inverse();
            let mut by_edge = -turned(-motion.theta);
            (by_edge.m13, by_edge.m23) = (back.p.y, -back.p.x);
            covariance = by_edge * covariance * by_edge.transpose();
            motion = back;
        }
        let ends = (from.min(to), from.max(to));
        match self.edges.entry(ends) {
            Entry::Vacant(place) => {
                place.insert(PoseEdge { motion, covariance });
            }
            Entry::Occupied(_) => self.leave_out("repeated_edge"),
        }
        Ok(())
    }

    fn add_sight(&mut self, row: &Row<'_>, noise: StatedNoise) -> Result<(), OpenError> {
        let (pose, landmark) = (row.identity(1)?, row.identity(2)?);
        let upper = Matrix2::new(row.number(5)?, row.number(6)?, 0.0, row.number(7)?);
        let covariance = noise.covariance(&upper).ok_or_else(|| bad_noise(row, noise))?;
        let sight = Sight { landmark, place: position(row, 3)?, covariance };
        self.sights.entry(pose).or_default().push(sight);
        Ok(())
    }

    /// The poses in the order of their numbers, each with an edge to the next. Edges that are not of the chain are
    /// counted.
    fn chain(&self, path: &Path) -> Result<Vec<u32>, OpenError> {
        let poses: BTreeSet<u32> = self.edges.keys().flat_map(|&(from, to)| [from, to]).collect();
        let chain: Vec<u32> = poses.into_iter().collect();
        if chain.is_empty() {
            let problem = "no edges between poses; expected records of EDGE_SE2, EDGE2 or ODOMETRY";
            return Err(OpenError::bag(path, problem));
        }
        let mut steps = chain.iter().zip(chain.iter().skip(1));
        match steps.find(|&(&from, &to)| !self.edges.contains_key(&(from, to))) {
            None => Ok(chain),
            Some((from, to)) => {
                let problem = format!(
                    "no edge from pose {from} to pose {to}; expected odometry from each pose to the one with the next \
                     number"
                );
                Err(OpenError::bag(path, problem))
            }
        }
    }

    /// The poses that are stated, or those of the chain from the origin on.
    fn true_poses(&self, path: &Path) -> Result<BTreeMap<u32, Se2>, OpenError> {
        if !self.poses.is_empty() {
            return Ok(self.poses.clone());
        }
        let chain = self.chain(path)?;
        let mut pose = Se2::identity();
        let (mut poses, mut before) = (BTreeMap::new(), None);
        for id in chain {
            if let Some(edge) = before.replace(id).and_then(|before| self.edges.get(&(before, id))) {
                pose = pose * edge.motion;
                pose.theta = lienav_lie::wrap_angle(pose.theta);
            }
            poses.insert(id, pose);
        }
        Ok(poses)
    }

    /// The landmarks that are stated; others where they are first seen from a true pose.
    fn true_landmarks(&self, poses: &BTreeMap<u32, Se2>) -> BTreeMap<u32, Vector2<f64>> {
        let mut landmarks = self.landmarks.clone();
        for (pose, sights) in &self.sights {
            let Some(pose) = poses.get(pose) else { continue };
            for sight in sights {
                landmarks.entry(sight.landmark).or_insert_with(|| pose.transform(&sight.place));
            }
        }
        landmarks
    }
}

/// Whether the edges of the older form are TORO's: in its order all of them are positive definite, and as the root of
/// an information matrix not all.
fn is_toro(table: &Table) -> bool {
    let (mut toro, mut root) = (true, true);
    for row in table.records().filter(|row| matches!(row.word(0), "EDGE2" | "ODOMETRY")) {
        let numbers = row.named(EDGE).ok().and_then(|row| {
            let mut numbers = [0.0; 6];
            for (k, number) in numbers.iter_mut().enumerate() {
                *number = row.number(6 + k).ok()?;
            }
            Some(numbers)
        });
        let Some(numbers) = numbers else { return false };
        let is_sound = |noise: StatedNoise| noise.covariance(&upper_of(numbers, noise)).is_some();
        toro &= is_sound(StatedNoise::Toro);
        root &= is_sound(StatedNoise::SqrtInformation);
    }
    toro && !root
}

fn position(row: &Row<'_>, column: usize) -> Result<Vector2<f64>, OpenError> {
    let metres = |column| row.number_within(column, METRES, "metres from -1e6 to 1e6");
    Ok(Vector2::new(metres(column)?, metres(column + 1)?))
}

fn angle(row: &Row<'_>, column: usize) -> Result<f64, OpenError> {
    row.number_within(column, ANGLE, "an angle from -1000 to 1000 rad")
}

fn bad_noise(row: &Row<'_>, noise: StatedNoise) -> OpenError {
    let what = match noise {
        StatedNoise::Information => "an information matrix",
        StatedNoise::Toro => "an information matrix in the order of TORO",
        StatedNoise::SqrtInformation => "the upper triangular root of an information matrix",
        StatedNoise::Covariance => "a covariance matrix",
    };
    let words: Vec<&str> = StatedNoise::WORDS.iter().map(|(word, _)| *word).collect();
    row.error(format!(
        "the noise of {} is not {what} that is positive definite; :{} behind the source says how to read it",
        row.word(0),
        words.join(" or :")
    ))
}

fn read_text(path: &Path) -> io::Result<String> {
    let file = open::regular(path)?;
    if path.extension().is_none_or(|ending| ending != "gz") {
        return open::text(file, bounds::DATA_SET);
    }
    open::text(MultiGzDecoder::new(BufReader::new(file)), bounds::DATA_SET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::open as open_any;
    use nalgebra::Vector3;
    use std::fs;

    fn read(text: &str, truth: Option<&str>, noise: Option<StatedNoise>) -> Result<Recording, OpenError> {
        let folder = tempfile::tempdir().unwrap();
        let (file, true_file) = (folder.path().join("run.graph"), folder.path().join("truth.graph"));
        fs::write(&file, text).unwrap();
        if let Some(truth) = truth {
            fs::write(&true_file, truth).unwrap();
        }
        open(&file, truth.map(|_| true_file.as_path()), noise)
    }

    fn odometry_of(recording: &Recording) -> Vec<Odometry> {
        let odometry = |input: &Input| if let Input::Odometry(odometry) = input { Some(*odometry) } else { None };
        recording.inputs.iter().filter_map(odometry).collect()
    }

    const OLD: &str =
        "ODOMETRY 0 2 1 0.5 1.5 50 0 0 50 0 100\nLANDMARK 2 1 3 -1 10 0 10\nEDGE2 2 3 -1 0 -3.1 50 0 0 20 0 100\n";

    #[test]
    fn the_older_form_is_a_chain_of_twists_and_measurements_with_their_noise() {
        let truth = "EDGE2 0 2 1 0 1.5 1 0 0 1 0 1\nLANDMARK 2 1 2 0 1 0 1\nEDGE2 2 3 -1 0 -3.1 1 0 0 1 0 1\n";
        let recording = read(OLD, Some(truth), None).unwrap();
        let odometry = odometry_of(&recording);
        let stamps: Vec<f64> = odometry.iter().map(|o| o.stamp.secs()).collect();
        assert_eq!(stamps, [0.0, 1.0, 2.0]);
        let pose = Se2::exp(&odometry[1].twist());
        assert!((pose.p - Vector2::new(1.0, 0.5)).norm() < 1e-12 && (pose.theta - 1.5).abs() < 1e-12);
        let Input::Scan(cloud) = &recording.inputs[3] else { panic!("{:?}", recording.inputs) };
        assert_eq!((cloud.kind, cloud.stamp.secs()), (MeasurementKind::RelativePosition, 1.0));
        let measurement = &cloud.measurements[0];
        assert_eq!((measurement.id, measurement.value), (Some(1), [3.0, -1.0].into()));
        assert!((measurement.covariance.unwrap().fixed::<2>() - Matrix2::identity() * 0.01).norm() < 1e-15);
        assert_eq!(recording.truth.len(), 3);
        let seen_from = Se2::new(1.0, 0.0, 1.5).transform(&Vector2::new(2.0, 0.0));
        assert_eq!(recording.true_landmarks, [(1, seen_from)]);
        let config = recording.config.unwrap();
        assert_eq!((config.initial.pose(), config.validate().is_ok()), (Se2::identity(), true));
    }

    /// The covariance of the twist by differences: of an edge, and of the same edge from the other end.
    #[test]
    fn the_noise_of_an_edge_becomes_that_of_the_twist_to_first_order() {
        let (p, theta) = (Vector2::new(1.0, 0.5), 1.5);
        let std = Vector3::new(0.02, 0.05, 0.01);
        let twist = |d: Vector3<f64>| Se2 { p: p + d.xy(), theta: theta + d.z }.log();
        let h = 1e-6;
        let by_edge = Matrix3::from_columns(&[0, 1, 2].map(|k| {
            let mut d = Vector3::zeros();
            d[k] = h;
            (twist(d) - twist(-d)) / (2.0 * h)
        }));
        let expected = by_edge * Matrix3::from_diagonal(&std.map(|s| s * s)) * by_edge.transpose();
        let line = |from: u32, to: u32, edge: &Se2, c: &Matrix3<f64>| {
            let [x, y, t] = [edge.p.x, edge.p.y, edge.theta];
            let n = [c[(0, 0)], c[(0, 1)], c[(0, 2)], c[(1, 1)], c[(1, 2)], c[(2, 2)]].map(|n| n.to_string());
            format!("EDGE2 {from} {to} {x} {y} {t} {}\n", n.join(" "))
        };
        let edge = Se2 { p, theta };
        let found =
            |text: &str| odometry_of(&read(text, None, Some(StatedNoise::Covariance)).unwrap())[1].covariance.unwrap();
        let covariance = Matrix3::from_diagonal(&std.map(|s| s * s));
        assert!((found(&line(0, 1, &edge, &covariance)) - expected).norm() < 1e-9);
        let inverse = |d: Vector3<f64>| {
            let back = Se2 { p: p + d.xy(), theta: theta + d.z }.inverse();
            Vector3::new(back.p.x, back.p.y, back.theta)
        };
        let by_inverse = Matrix3::from_columns(&[0, 1, 2].map(|k| {
            let mut d = Vector3::zeros();
            d[k] = h;
            (inverse(d) - inverse(-d)) / (2.0 * h)
        }));
        let of_inverse = by_inverse * covariance * by_inverse.transpose();
        assert!((found(&line(1, 0, &edge.inverse(), &of_inverse)) - expected).norm() < 1e-9);
    }

    #[test]
    fn g2o_states_information_in_the_frame_of_the_second_pose() {
        let text = "VERTEX_SE2 7 5 5 0\nVERTEX_SE2 8 5 6 1.5707963267948966\nVERTEX_XY 20 1 2\nFIX 7\n\
                    EDGE_SE2 7 8 0 1 1.5707963267948966 100 0 0 25 0 10000\nEDGE_SE2 7 9 0 1 0 1 0 0 1 0 1\n\
                    EDGE_SE2 8 9 0 1 0 1 0 0 1 0 1\nEDGE_SE2 8 9 0 1 0 1 0 0 1 0 1\nEDGE_SE2_XY 8 20 1 1 4 0 4\nVERTEX_CAM 1\n";
        let recording = read(text, Some(text), None).unwrap();
        let dropped: Vec<(&str, u64)> = recording.dropped.iter().map(|(reason, &n)| (&**reason, n)).collect();
        assert_eq!(dropped, [("loop_closure", 1), ("repeated_edge", 1), ("unknown_record", 1)]);
        assert_eq!(recording.truth[1].1.p, Vector2::new(5.0, 6.0));
        assert_eq!(recording.true_landmarks, [(20, Vector2::new(1.0, 2.0))]);
        assert_eq!(recording.config.as_ref().unwrap().initial.pose(), Se2::new(5.0, 5.0, 0.0));
        // 0.1 m along x of the second pose is along y of the first.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.g2o");
        fs::write(&path, text).unwrap();
        let edge = &Graph::read(&path, None).unwrap().edges[&(7, 8)];
        assert!((edge.covariance - Matrix3::from_diagonal(&Vector3::new(0.04, 0.01, 1e-4))).norm() < 1e-12);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, says) in [
            ("", "no edges between poses"),
            ("EDGE2 0 1 1 0 0 1 0 0 1 0 1\nEDGE2 2 3 1 0 0 1 0 0 1 0 1\n", "no edge from pose 1 to pose 2"),
            ("EDGE2 0 1 1 0 0 1 0 0 1 0\n", ":1: 11 columns; expected 12: record, from, to"),
            ("EDGE2 0 one 1 0 0 1 0 0 1 0 1\n", ":1: to is 'one'; expected a whole number"),
            ("\nEDGE2 0 1 1e9 0 0 1 0 0 1 0 1\n", ":2: x is '1e9'; expected metres from -1e6 to 1e6"),
            ("EDGE2 0 1 1 0 0 0 0 0 1 0 1\n", ":1: the noise of EDGE2 is not the upper triangular root"),
            ("LANDMARK 0 1 1 0 1 0 nan\n", ":1: n_22 is 'nan'; expected a finite number"),
        ] {
            let error = read(text, None, None).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn edges_of_toro_are_known_by_their_order() {
        let text = "VERTEX2 0 0 0 0\nEDGE2 0 1 1 0 0 4 0 1 25 0 0\nEDGE2 1 2 1 0 0 4 0 1 25 0.1 0\n";
        let recording = read(text, None, None).unwrap();
        assert_eq!((recording.warnings.len(), recording.contradictions.len()), (1, 0));
        assert!(recording.warnings[0].contains("order of TORO"), "{:?}", recording.warnings);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.graph");
        fs::write(&path, text).unwrap();
        let edge = &Graph::read(&path, None).unwrap().edges[&(0, 1)];
        assert!((edge.covariance - Matrix3::from_diagonal(&Vector3::new(0.25, 1.0, 0.04))).norm() < 1e-12);
        let asked = read(text, None, Some(StatedNoise::Toro)).unwrap();
        assert_eq!((asked.inputs, asked.warnings.len()), (recording.inputs, 0));
        let error = read(text, None, Some(StatedNoise::Information)).unwrap_err().to_string();
        assert!(error.contains(":toro"), "{error}");
    }

    #[test]
    fn variances_that_are_read_as_the_root_of_information_are_named_with_both_numbers() {
        let text = "ODOMETRY 0 1 0.5 0 0 0.0025 0 0 0.0025 0 0.0001\nLANDMARK 0 5 2 1 0.01 0 0.01\n";
        let recording = read(text, None, None).unwrap();
        let said = &recording.contradictions[0];
        assert!(said.contains("0.500 m long and state a standard deviation of 400.000 m"), "{said}");
        assert!(said.contains("g2o:FILE:covariance"), "{said}");
        assert_eq!(read(text, None, Some(StatedNoise::Covariance)).unwrap().contradictions, [] as [&str; 0]);
        assert_eq!(read(OLD, None, None).unwrap().contradictions, [] as [&str; 0]);
    }

    #[test]
    fn a_source_names_its_truth_and_its_noise() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.graph");
        fs::write(&file, OLD).unwrap();
        let file = file.display().to_string();
        let plain = open_any(&format!("g2o:{file}")).unwrap();
        assert_eq!((plain.name.as_str(), plain.truth.len()), ("run", 0));
        let both = open_any(&format!("g2o:{file}:{file}:covariance")).unwrap();
        assert_eq!(both.truth.len(), 3);
        let variance = |recording: &Recording| odometry_of(recording)[2].covariance.unwrap()[(2, 2)];
        assert!((variance(&plain) - 1e-4).abs() < 1e-12 && (variance(&both) - 100.0).abs() < 1e-9);
        assert!(open_any(&format!("g2o:{file}x")).unwrap_err().to_string().contains("No such file"));
    }
}
