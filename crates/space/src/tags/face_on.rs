//! A tag that is seen alone and face on: its tilt is not Gaussian.
//!
//! Both of its poses are near, and what is between them is nearly as good: a filter that follows one of them drifts to the
//! other within seconds, and is sure of it. Where nothing else tells them apart, the errors are made to reach both.

use super::start::SURE;
use lienav_inertial::filter::Filter;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::state::State;
use lienav_lie::LieGroup;
use lienav_tags::filter::TagFilter;
use lienav_tags::sight::Sight;
use lienav_tags::square::solve;
use nalgebra::Vector3;

/// Within this angle to the line of sight, rad, a tag whose poses are one is face on.
const FACE_ON: f64 = 0.35;
/// The tilt of such a tag is known to this at best, rad: where its poses are one, its corners show the square of it.
const LEAST: f64 = 0.15;
/// The other pose is ruled out by what was known before, if that is better than it by this factor.
const RULED_OUT: f64 = 3.0;

/// What the errors have to reach.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// Standard deviation of the rotation, rad.
    turn: f64,
    /// And of the position, m.
    place: f64,
}

impl Doubt {
    /// Of the only tag of a frame, where it is face on.
    pub fn of(sights: &[Sight]) -> Option<Self> {
        let [sight] = sights else { return None };
        let solutions = solve(sight)?;
        let best = &solutions.best;
        let ray = best.pose.translation - sight.on_body.translation;
        let apart = match solutions.other {
            Some(_) if solutions.margin() >= SURE => return None,
            Some(other) => (best.pose.rotation * other.pose.rotation.inverse()).log().norm(),
            None => {
                let normal = best.pose.rotation * (sight.on_tag.rotation * Vector3::z());
                if normal.cross(&ray).norm() > FACE_ON.sin() * ray.norm() {
                    return None;
                }
                0.0
            }
        };
        let turn = apart.max(LEAST);
        Some(Self { turn, place: turn * ray.norm() })
    }

    /// Whether a state that has learned nothing of such frames rules out one of the poses.
    pub fn is_decided(&self, clear: &State, filter: &Filter) -> bool {
        deviations(clear, filter)[1] <= self.turn / RULED_OUT
    }

    /// Widens the errors of the pose to it.
    pub fn add(&self, state: &mut State, tags: &TagFilter) {
        let [place, turn] = deviations(state, &tags.filter);
        let missing = |wanted: f64, there: f64| (wanted * wanted - there * there).max(0.0).sqrt();
        let (turn, place) = (missing(self.turn, turn), missing(self.place, place));
        if turn > 0.0 || place > 0.0 {
            tags.predict(state, &Preintegrated::uncertainty(turn, 0.0, place));
        }
    }
}

/// Standard deviations of position and rotation, the least of the three axes but for that along the line of sight: the
/// second of three.
fn deviations(state: &State, filter: &Filter) -> [f64; 2] {
    let covariance = state.pose_covariance(filter);
    [0, 3].map(|first| {
        let mut axes = [0, 1, 2].map(|k| covariance[(first + k, first + k)].max(0.0));
        axes.sort_by(f64::total_cmp);
        axes[1].sqrt()
    })
}
