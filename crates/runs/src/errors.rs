//! How far a run was from the truth.

use super::align;
use super::associations::{Associations, JudgedMeasurement, Judgement};
use super::consistency::nees;
use super::fixes::{FixError, FixErrors};
use super::mean::mean;
use super::motions::{self, MotionConsistency};
use super::run::{Estimate, Run};
use lienav_base::stamp::Stamp;
use lienav_io::truth::Truth;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::Landmark;
use nalgebra::{Matrix3, Vector2, Vector3};

/// One estimate beside the truth of its instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepError {
    /// When.
    pub stamp: Stamp,
    /// The pose that was estimated.
    pub estimate: Se2,
    /// The pose that is true.
    pub truth: Se2,
    /// Estimate − truth as (x, y, θ) in the map frame, (m, m, rad), the heading's wrapped to (−π, π].
    pub error: Vector3<f64>,
    /// The covariance that was claimed for it.
    pub covariance: Matrix3<f64>,
    /// Normalised estimation error squared; `None` where the covariance is singular.
    pub nees: Option<f64>,
}

impl StepError {
    /// An estimate beside the pose that was true at its stamp.
    pub fn new(estimate: &Estimate, truth: Se2) -> Self {
        let Estimate { stamp, pose, covariance, .. } = *estimate;
        let shift = pose.p - truth.p;
        let error = Vector3::new(shift.x, shift.y, wrap_angle(pose.theta - truth.theta));
        Self { stamp, estimate: pose, truth, error, covariance, nees: nees(&error, &covariance) }
    }

    /// NEES of the same estimate in the group's coordinates ξ, X_true = Exp(ξ)X̂: the exact logarithm, with the
    /// covariance carried over to first order, ξ ≈ [[I, −Jp̂], [0, 1]] δ for δ in (x, y, θ). These are the errors of
    /// the invariant filters, in which a heading error that turns the whole trajectory is a straight line.
    pub fn group_nees(&self) -> Option<f64> {
        let xi = (self.truth * self.estimate.inverse()).log();
        let p = self.estimate.p;
        let carry = Matrix3::new(1.0, 0.0, p.y, 0.0, 1.0, -p.x, 0.0, 0.0, 1.0);
        nees(&xi, &(carry * self.covariance * carry.transpose()))
    }

    /// Standard deviations that were claimed for (x, y, θ), (m, m, rad).
    pub fn std(&self) -> Vector3<f64> {
        self.covariance.diagonal().map(|variance| variance.max(0.0).sqrt())
    }
}

/// A landmark of the map, and the true one.
#[derive(Clone, Debug)]
pub struct LandmarkError {
    /// As estimated.
    pub landmark: Landmark,
    /// Which one it truly is.
    pub identity: u32,
    /// Where that one is, m.
    pub truth: Vector2<f64>,
}

/// A run beside its truth.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// The estimates whose true pose is known, in the order of the run.
    pub steps: Vec<StepError>,
    /// How many estimates fell where no true pose is known.
    pub steps_without_truth: usize,
    /// The rigid motion that lays the estimated positions onto the true ones best.
    pub alignment: Option<Se2>,
    /// Each landmark that is known in both maps.
    pub landmarks: Vec<LandmarkError>,
    /// How right the associations were, where identities were withheld.
    pub associations: Option<Associations>,
    /// The measurements that had one, and what they were taken for.
    pub measurements: Vec<JudgedMeasurement>,
    /// How far the way was from position fixes, where there are some.
    pub fixes: Option<FixErrors>,
    /// Each of these fixes.
    pub each_fix: Vec<FixError>,
    /// How consistent motions are, duration by duration, where they were kept.
    pub motions: Vec<MotionConsistency>,
}

impl Errors {
    /// Compares every estimate with the truth at its own stamp, and landmarks by identity: where identities were
    /// withheld, by that of most measurements of a landmark.
    pub fn new(run: &Run, truth: &Truth) -> Self {
        let steps: Vec<_> = run.estimates.iter().filter_map(|e| Some(StepError::new(e, truth.at(e.stamp)?))).collect();
        let positions: Vec<_> = steps.iter().map(|step| (step.estimate.p, step.truth.p)).collect();
        let judged = truth.identities().map(|identities| Associations::judge(run, identities));
        // Without identities, the filter's numbers are not those of the world.
        let identity = |id: u32| match &judged {
            None => Some(id),
            Some(judged) => judged.as_ref().and_then(|judged| *judged.identity.get(&id)?),
        };
        let pair = |landmark: &Landmark| {
            let identity = identity(landmark.id)?;
            Some(LandmarkError { landmark: *landmark, identity, truth: truth.landmark(identity)? })
        };
        let landmarks = run.landmarks.iter().filter_map(pair).collect();
        let (associations, checked_measurements) = match judged.flatten() {
            Some(Judgement { associations, measurements: checked_measurements, .. }) => {
                (Some(associations), checked_measurements)
            }
            None => (None, Vec::new()),
        };
        let (fixes, each_fix) = truth.fixes().and_then(|fixes| FixErrors::judge(&run.estimates, fixes)).unzip();
        Self {
            steps_without_truth: run.estimates.len() - steps.len(),
            alignment: align::rigid(&positions),
            landmarks,
            associations,
            measurements: checked_measurements,
            motions: motions::judge(&run.motions, truth),
            fixes,
            each_fix: each_fix.unwrap_or_default(),
            steps,
        }
    }

    /// Root mean square of the distance to the true position in the map frame, m. It means something where the filter
    /// was given the initial pose; [`Errors::aligned_position_rmse`] always does.
    pub fn position_rmse(&self) -> Option<f64> {
        root_mean_square(self.steps.iter().map(|step| step.error.xy().norm_squared()))
    }

    /// The same after the rigid alignment.
    pub fn aligned_position_rmse(&self) -> Option<f64> {
        let motion = self.alignment?;
        let residual = |step: &StepError| motion.transform(&step.estimate.p) - step.truth.p;
        root_mean_square(self.steps.iter().map(|step| residual(step).norm_squared()))
    }

    /// The greatest distance to the true position, m.
    pub fn position_max(&self) -> Option<f64> {
        self.steps.iter().map(|step| step.error.xy().norm()).reduce(f64::max)
    }

    /// Root mean square of the heading's error, rad.
    pub fn yaw_rmse(&self) -> Option<f64> {
        root_mean_square(self.steps.iter().map(|step| step.error.z * step.error.z))
    }

    /// Root mean square of the distance between estimated and true landmarks in the map frame, m.
    pub fn landmark_rmse(&self) -> Option<f64> {
        root_mean_square(self.landmarks.iter().map(|one| (one.landmark.position - one.truth).norm_squared()))
    }

    /// The same after the motion that aligns the trajectory, m.
    pub fn aligned_landmark_rmse(&self) -> Option<f64> {
        let motion = self.alignment?;
        let residual = |one: &LandmarkError| motion.transform(&one.landmark.position) - one.truth;
        root_mean_square(self.landmarks.iter().map(|one| residual(one).norm_squared()))
    }

    /// NEES of the steps that have one.
    pub fn nees(&self) -> impl Iterator<Item = f64> + '_ {
        self.steps.iter().filter_map(|step| step.nees)
    }
}

fn root_mean_square(squares: impl Iterator<Item = f64>) -> Option<f64> {
    mean(squares).map(f64::sqrt)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;

    #[test]
    fn the_nees_in_group_coordinates_is_that_of_an_error_that_was_drawn_there() {
        let covariance = Matrix3::new(0.04, 0.01, -0.02, 0.01, 0.09, 0.03, -0.02, 0.03, 0.25);
        let (xi, pose) = (Vector3::new(0.2, -0.1, 0.6), Se2::new(40.0, -30.0, 2.0));
        // δ = [[I, Jp̂], [0, 1]] ξ to first order.
        let back = Matrix3::new(1.0, 0.0, 30.0, 0.0, 1.0, 40.0, 0.0, 0.0, 1.0);
        let estimate = Estimate { covariance: back * covariance * back.transpose(), ..estimate(0.0, 40.0, -30.0, 2.0) };
        let step = StepError::new(&estimate, Se2::exp(&xi) * pose);
        let expected = nees(&xi, &covariance).unwrap();
        assert!((step.group_nees().unwrap() / expected - 1.0).abs() < 1e-8);
        assert!(step.nees.unwrap() > 10.0 * expected, "a turn of 0.6 rad is no straight line in (x, y, θ)");
    }

    fn estimate(seconds: f64, x: f64, y: f64, theta: f64) -> Estimate {
        Estimate {
            stamp: Stamp::from_secs(seconds),
            pose: Se2::new(x, y, theta),
            covariance: Matrix3::identity(),
            update: None,
        }
    }

    fn landmark(id: u32, x: f64, y: f64) -> Landmark {
        Landmark {
            id,
            position: Vector2::new(x, y),
            covariance: nalgebra::Matrix2::identity(),
            last_seen: Stamp::default(),
            measurements: 1,
        }
    }

    #[test]
    fn errors_of_a_run_of_three_steps_are_those_computed_by_hand() {
        let poses =
            [(Stamp::from_secs(0.0), Se2::new(0.0, 0.0, 3.1)), (Stamp::from_secs(1.0), Se2::new(1.0, 0.0, 3.1))];
        let truth = Truth::new(&poses, &[(7, Vector2::new(5.0, 5.0)), (8, Vector2::zeros())], 2.0);
        let run = Run {
            estimates: vec![estimate(0.0, 3.0, 4.0, 3.1), estimate(0.5, 0.5, 0.0, -3.1), estimate(9.0, 0.0, 0.0, 0.0)],
            landmarks: vec![landmark(7, 5.0, 8.0), landmark(99, 0.0, 0.0)],
            ..Run::default()
        };
        let errors = Errors::new(&run, &truth);
        assert_eq!((errors.steps.len(), errors.steps_without_truth), (2, 1));
        assert_eq!(errors.position_rmse(), Some((25.0_f64 / 2.0).sqrt()));
        assert_eq!(errors.position_max(), Some(5.0));
        assert_eq!(errors.landmark_rmse(), Some(3.0));
        let turn = std::f64::consts::TAU - 6.2;
        assert!((errors.yaw_rmse().unwrap() - turn / 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(errors.steps[0].nees, Some(25.0));
    }

    #[test]
    fn alignment_takes_a_wrong_initial_pose_out_of_positions_and_landmarks() {
        let (run, truth) = synthetic::run(400, 11);
        let motion = Se2::new(30.0, -7.0, 2.0);
        let mut moved = run.clone();
        moved.estimates.iter_mut().for_each(|estimate| estimate.pose = motion * estimate.pose);
        moved.landmarks.iter_mut().for_each(|landmark| landmark.position = motion.transform(&landmark.position));
        let (plain, moved) = (Errors::new(&run, &truth), Errors::new(&moved, &truth));
        let same = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-9;
        assert!(moved.position_rmse().unwrap() > 10.0);
        assert!(same(plain.aligned_position_rmse(), moved.aligned_position_rmse()));
        assert!(same(plain.aligned_landmark_rmse(), moved.aligned_landmark_rmse()));
        assert!(plain.aligned_position_rmse() <= plain.position_rmse());
    }

    #[test]
    fn without_truth_there_are_no_numbers() {
        let (run, _) = synthetic::run(10, 1);
        let errors = Errors::new(&run, &Truth::default());
        assert_eq!(errors.steps_without_truth, 10);
        assert_eq!(
            (errors.position_rmse(), errors.aligned_position_rmse(), errors.landmark_rmse()),
            (None, None, None)
        );
    }
}
