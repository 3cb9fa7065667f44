//! Reading of tables, and errors against the truth.
#![allow(dead_code)]

use lienav_base::stamp::Stamp;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_lie::{LieGroup, So3};
use nalgebra::{Matrix3, Matrix6, Quaternion, UnitQuaternion, Vector3, Vector6};
use std::path::Path;
use std::process::Command;

/// A row of a table whose first column is a time in seconds.
#[derive(Clone, Debug)]
pub struct Row {
    pub stamp: Stamp,
    pub numbers: Vec<f64>,
}

/// Seconds as text to whole nanoseconds, without a detour over a floating-point number.
fn stamp(text: &str) -> Stamp {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
    let nanos: i64 = digits.parse().expect("digits");
    let seconds: i64 = whole.parse().expect("seconds");
    Stamp::from_nanos(seconds * 1_000_000_000 + if whole.starts_with('-') { -nanos } else { nanos })
}

/// The rows of a CSV file with one line of names; `.gz` by gzip.
pub fn table(path: &Path) -> Vec<Row> {
    let text = if path.extension().is_some_and(|extension| extension == "gz") {
        let output = Command::new("gzip").arg("-dc").arg(path).output().expect("gzip");
        assert!(output.status.success(), "{} cannot be read", path.display());
        String::from_utf8(output.stdout).expect("text")
    } else {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let row = |line: &str| {
        let numbers = line.split(',').map(|text| text.trim().parse().unwrap_or(f64::NAN)).collect();
        Row { stamp: stamp(line.split(',').next().expect("a column").trim()), numbers }
    };
    text.lines().skip(1).filter(|line| !line.is_empty()).map(row).collect()
}

/// The rotation that takes the direction of gravity in some frame to the vertical.
pub fn levelling(gravity: &Vector3<f64>) -> So3 {
    let down = gravity.normalize();
    let axis = down.cross(&-Vector3::z());
    if axis.norm() == 0.0 { So3::identity() } else { So3::exp(&(axis * (axis.norm().asin() / axis.norm()))) }
}

/// A rotation of (x, y, z, w).
pub fn rotation(q: &[f64]) -> So3 {
    UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[0], q[1], q[2])).to_rotation_matrix().into()
}

/// An estimate at its own instant.
#[derive(Clone, Debug)]
pub struct Estimate {
    pub stamp: Stamp,
    pub nav: Nav,
    pub covariance: Matrix6<f64>,
}

impl Estimate {
    pub fn of(stamp: Stamp, state: &State, filter: &Filter) -> Self {
        Self { stamp, nav: state.nav, covariance: state.pose_covariance(filter) }
    }
}

/// Estimates beside the truth.
pub struct Comparison {
    truth: Vec<(Stamp, Nav)>,
    /// Standard deviations of the truth by axis: m and rad.
    sigma: (f64, f64),
    pairs: Vec<Pair>,
}

/// Truth, estimate, covariance, and seconds since the truth began.
type Pair = (Nav, Nav, Matrix6<f64>, f64);

/// Between truths so far apart nothing is interpolated, s.
const LARGEST_GAP_S: f64 = 0.06;

impl Comparison {
    pub fn new(truth: Vec<(Stamp, Nav)>, sigma: (f64, f64)) -> Self {
        Self { truth, sigma, pairs: Vec::new() }
    }

    /// Left out where there is no truth.
    pub fn add(&mut self, estimate: &Estimate) {
        let Some(truth) = self.truth_at(estimate.stamp) else { return };
        let t = estimate.stamp.since(self.truth[0].0);
        self.pairs.push((truth, estimate.nav, estimate.covariance, t));
    }

    /// The truth at an instant; `None` in gaps.
    pub fn truth_at(&self, stamp: Stamp) -> Option<Nav> {
        let k = self.truth.partition_point(|(at, _)| *at < stamp);
        let (after, before) = (self.truth.get(k)?, self.truth.get(k.wrapping_sub(1)));
        let Some(before) = before.filter(|_| after.0 != stamp) else { return (after.0 == stamp).then_some(after.1) };
        let gap = after.0.since(before.0);
        if gap > LARGEST_GAP_S {
            return None;
        }
        let share = stamp.since(before.0) / gap;
        let (from, to) = (&before.1, &after.1);
        let turn = (to.rotation * from.rotation.inverse()).log();
        Some(Nav {
            rotation: So3::exp(&(turn * share)) * from.rotation,
            velocity: from.velocity.lerp(&to.velocity, share),
            position: from.position.lerp(&to.position, share),
            ..*from
        })
    }

    /// The turn about the vertical and the shift that bring the estimates nearest to the truth.
    fn alignment(&self) -> (So3, Vector3<f64>) {
        let n = self.pairs.len() as f64;
        let mean = |of: fn(&Pair) -> Vector3<f64>| self.pairs.iter().map(of).sum::<Vector3<f64>>() / n;
        let (to, from) = (mean(|pair| pair.0.position), mean(|pair| pair.1.position));
        let (mut cos, mut sin) = (0.0, 0.0);
        for (truth, estimate, ..) in &self.pairs {
            let (a, b) = (truth.position - to, estimate.position - from);
            cos += a.x * b.x + a.y * b.y;
            sin += a.y * b.x - a.x * b.y;
        }
        let turn = So3::exp(&(Vector3::z() * sin.atan2(cos)));
        (turn, to - turn * from)
    }

    pub fn report(&self) -> String {
        let (turn, shift) = self.alignment();
        let n = self.pairs.len() as f64;
        let rms = |sum: f64| (sum / n).sqrt();
        let mean_yaw = self
            .pairs
            .iter()
            .map(|(truth, estimate, ..)| (truth.rotation * estimate.rotation.inverse()).log().z)
            .sum::<f64>()
            / n;
        let yaw = So3::exp(&(Vector3::z() * mean_yaw));
        let (mut aligned, mut raw, mut most) = (0.0, 0.0, 0.0_f64);
        let (mut best, mut angle, mut nees, mut with_truth) = (0.0, 0.0, [0.0; 3], [0.0; 3]);
        for (truth, estimate, covariance, _) in &self.pairs {
            aligned += (truth.position - (turn * estimate.position + shift)).norm_squared();
            let error = truth.position - estimate.position;
            raw += error.norm_squared();
            most = most.max(error.norm());
            let turned = (truth.rotation * estimate.rotation.inverse()).log();
            best += (truth.rotation * (yaw * estimate.rotation).inverse()).log().norm_squared();
            angle += turned.norm_squared();
            let all = Vector6::new(error.x, error.y, error.z, turned.x, turned.y, turned.z);
            let (m, r) = (self.sigma.0.powi(2), self.sigma.1.powi(2));
            let own = Matrix6::from_diagonal(&Vector6::new(m, m, m, r, r, r));
            for (sum, p) in [(&mut nees, *covariance), (&mut with_truth, covariance + own)] {
                let block = |row: usize, e: &Vector3<f64>| {
                    let p: Matrix3<f64> = p.fixed_view::<3, 3>(row, row).into_owned();
                    p.cholesky().map_or(f64::NAN, |factor| e.dot(&factor.solve(e)))
                };
                sum[0] += block(3, &turned) / n;
                sum[1] += block(0, &error) / n;
                sum[2] += p.cholesky().map_or(f64::NAN, |factor| all.dot(&factor.solve(&all))) / n;
            }
        }
        format!(
            "position {:.4} m aligned, {:.4} raw, {most:.3} at most; orientation {:.3}° at the best yaw, {:.3}° raw; NEES \
             orientation/position/pose {:.1}/{:.1}/{:.1}, with the truth's own errors {:.1}/{:.1}/{:.1}; {n} instants",
            rms(aligned),
            rms(raw),
            rms(best).to_degrees(),
            rms(angle).to_degrees(),
            nees[0],
            nees[1],
            nees[2],
            with_truth[0],
            with_truth[1],
            with_truth[2]
        )
    }
}
