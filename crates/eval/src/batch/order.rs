//! Which unknown has which columns of the normal equations.

use super::normal::{AT_CALIBRATION, Columns, WIDTH};
use super::sight::Sight;
use lienav_slam::{CalibrationParameter, MOTION, SENSOR};

/// Unknowns in the order of their elimination: features after the pose that sees them last, just before that pose
/// itself; the calibration, which touches everything, at the end. At every moment of the elimination only the features
/// that are in use hang together, as in the covariance of a filter, so the factor has some 3 + 2 × (features in use)
/// entries in a column.
#[derive(Clone, Debug)]
pub struct Order {
    /// First of the three columns of each pose; `None` for a start that is known exactly.
    pub poses: Vec<Option<usize>>,
    /// First of the two columns of each feature.
    pub landmarks: Vec<usize>,
    /// Column of each calibration parameter.
    pub calibration: [Option<usize>; MOTION + SENSOR],
    /// How many columns there are.
    pub columns: usize,
}

impl Order {
    /// Of `poses` poses and `landmarks` features, each of which was seen.
    pub fn new(
        poses: usize,
        landmarks: usize,
        sights: &[Sight],
        start_is_known: bool,
        active: &[CalibrationParameter],
    ) -> Self {
        let mut last_seen = vec![0; landmarks];
        for sight in sights {
            if let Some(landmark) = sight.landmark {
                last_seen[landmark] = last_seen[landmark].max(sight.pose);
            }
        }
        let mut leaving = vec![Vec::new(); poses];
        for (landmark, &pose) in last_seen.iter().enumerate() {
            leaving[pose].push(landmark);
        }
        let mut columns = 0;
        let mut take = |count: usize| {
            columns += count;
            columns - count
        };
        let mut order = Self {
            poses: vec![None; poses],
            landmarks: vec![0; landmarks],
            calibration: [None; MOTION + SENSOR],
            columns: 0,
        };
        for (pose, leaving) in leaving.into_iter().enumerate() {
            for landmark in leaving {
                order.landmarks[landmark] = take(2);
            }
            if pose > 0 || !start_is_known {
                order.poses[pose] = Some(take(3));
            }
        }
        for parameter in active {
            order.calibration[*parameter as usize] = Some(take(1));
        }
        order.columns = columns;
        order
    }

    /// Of a row about two poses.
    pub fn of_motion(&self, a: usize, b: usize) -> Columns {
        self.of(self.poses[a], self.poses[b], 3)
    }

    /// Of a row about a pose and a feature, or about a pose alone.
    pub fn of_sight(&self, pose: usize, landmark: Option<usize>) -> Columns {
        self.of(self.poses[pose], landmark.map(|landmark| self.landmarks[landmark]), 2)
    }

    /// Of a row about the first pose.
    pub fn of_start(&self) -> Columns {
        let mut columns = self.of(self.poses.first().copied().flatten(), None, 0);
        columns[AT_CALIBRATION..].fill(None);
        columns
    }

    /// Of a row about a feature alone.
    pub fn of_landmark(&self, landmark: usize) -> Columns {
        let mut columns = self.of(None, Some(self.landmarks[landmark]), 2);
        columns[AT_CALIBRATION..].fill(None);
        columns
    }

    /// Of a row about the calibration.
    pub fn of_calibration(&self) -> Columns {
        self.of(None, None, 0)
    }

    fn of(&self, first: Option<usize>, second: Option<usize>, length: usize) -> Columns {
        let mut columns = [None; WIDTH];
        for k in 0..3 {
            columns[k] = first.map(|column| column + k);
            columns[3 + k] = second.filter(|_| k < length).map(|column| column + k);
        }
        columns[AT_CALIBRATION..].copy_from_slice(&self.calibration);
        columns
    }
}
