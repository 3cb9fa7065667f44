//! A robot that has moved otherwise than odometry says.

use crate::estimator::Estimator;
use lienav_associate::association::cuts::Cut;
use lienav_associate::association::memory::Memory;
use lienav_lie::{Se2, skew};
use lienav_planar::filter::Coordinates;
use lienav_planar::motion::Increment;
use lienav_planar::pose_clones;
use lienav_planar::state::{State, StateLandmark};
use nalgebra::{Matrix3, Vector2, Vector3};

/// How far a wheel that slips moves the robot, m: the standard deviation of x and of y.
const SLIP_M: f64 = 0.1;

/// How far a robot has turned otherwise than odometry says, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slip {
    /// The mean, rad.
    pub turn: f64,
    /// Its standard deviation, rad.
    pub std: f64,
    /// Between the two sides of the map; `None` if it has happened where the robot is.
    pub at: Option<Cut>,
}

/// The widest cut of the map, where a slip at it can be told: of landmarks without identity, in invariant coordinates.
pub(super) fn cut(state: &State, memory: &Memory) -> Option<Cut> {
    let is_nameless = |landmark: &StateLandmark| landmark.is_anchor_point || memory.existence(landmark.id).is_some();
    let is_plain = state.coordinates == Coordinates::Invariant
        && !state.is_frozen
        && state.waiting.is_empty()
        && state.anchor_poses.is_empty()
        && state.landmarks.iter().all(is_nameless);
    memory.cuts.widest().filter(|_| is_plain)
}

impl Estimator {
    /// The robot has slipped.
    pub fn slip(&mut self, Slip { turn, std, at }: Slip) {
        match at {
            None => {
                let (shift, theta) = (SLIP_M * SLIP_M, std * std);
                let covariance = Matrix3::from_diagonal(&Vector3::new(shift, shift, theta));
                self.propagate(&Increment { motion: Se2::new(0.0, 0.0, turn), covariance, drift: None });
            }
            Some(cut) => self.slip_at(&cut, turn, std),
        }
    }

    /// What was read since the cut has turned about it, with the robot. As if the slip had been told there: motions
    /// after it change no error in invariant coordinates, and landmarks that begin after it know nothing of it. With a
    /// turn, what the noise of later motions did to the pose keeps its axes.
    ///
    /// With (s, δa) the noise of a slip at p_c, ξ_θ = δa, ξ_p = s − J p_c δa, and e_i = −s − J(p_i − p_c)δa of what
    /// was there before, as of any motion.
    fn slip_at(&mut self, Cut { scan, place, reach_m }: &Cut, turn: f64, std: f64) {
        pose_clones::clear(&mut self.state);
        self.fixed_lag.clear();
        let Self { state, memory, .. } = self;
        let about = |p: Vector2<f64>| Se2 { p, theta: 0.0 };
        let motion = about(*place) * Se2::new(0.0, 0.0, turn) * about(-place);
        let rotation = motion.rotation();
        state.pose = motion * state.pose;
        state.predicted = motion * state.predicted;
        // Where on its way it has slipped is not known.
        let shift = SLIP_M + std.hypot(turn) * reach_m;
        let noise = |lever: Vector2<f64>, sign: f64| {
            let turned = skew(&lever) * std;
            [[sign * shift, 0.0, sign * turned.x], [0.0, sign * shift, sign * turned.y]]
        };
        let mut rows = Vec::with_capacity(state.covariance.dim());
        rows.extend(noise(-place, 1.0));
        rows.push([0.0, 0.0, std]);
        rows.resize(state.covariance.row_of(0), [0.0; 3]);
        let mut turned = Vec::new();
        for i in 0..state.landmarks.len() {
            let landmark = &mut state.landmarks[i];
            if memory.existence(landmark.id).is_some_and(|existence| existence.first >= *scan) {
                for x in [&mut landmark.x, &mut landmark.first, &mut landmark.anchor] {
                    *x = motion.transform(x);
                }
                state.covariance.change_landmark(i, &rotation, 0.0);
                rows.extend([[0.0; 3]; 2]);
                turned.push(landmark.id);
            } else {
                rows.extend(noise(landmark.x - place, -1.0));
            }
        }
        state.covariance.add_outer3(&rows);
        memory.field_of_view.turn(turn, |id| turned.contains(&id));
    }
}
