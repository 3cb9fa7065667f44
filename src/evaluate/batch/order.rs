//! Which unknown has which columns of the normal equations.

use super::sight::Sight;

/// Unknowns in the order of their elimination: features after the pose that sees them last, just before that pose itself;
/// the calibration, which touches everything, at the end. At every moment of the elimination only the features that are in use
/// hang together, as in the covariance of a filter, so the factor has some 3 + 2 × (features in use) entries in a column.
#[derive(Clone, Debug)]
pub struct Order {
    /// First of the three columns of each pose; `None` for a start that is known exactly.
    pub poses: Vec<Option<usize>>,
    /// First of the two columns of each feature.
    pub landmarks: Vec<usize>,
    /// First of the four columns of the calibration.
    pub calibration: Option<usize>,
    /// How many columns there are.
    pub columns: usize,
}

impl Order {
    /// Of `poses` poses and `landmarks` features, each of which was seen.
    pub fn new(poses: usize, landmarks: usize, sights: &[Sight], start_is_known: bool, calibrated: bool) -> Self {
        let mut last_seen = vec![0; landmarks];
        for sight in sights {
            last_seen[sight.landmark] = last_seen[sight.landmark].max(sight.pose);
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
        let mut order = Self { poses: vec![None; poses], landmarks: vec![0; landmarks], calibration: None, columns: 0 };
        for (pose, leaving) in leaving.into_iter().enumerate() {
            for landmark in leaving {
                order.landmarks[landmark] = take(2);
            }
            if pose > 0 || !start_is_known {
                order.poses[pose] = Some(take(3));
            }
        }
        order.calibration = calibrated.then(|| take(4));
        order.columns = columns;
        order
    }
}
