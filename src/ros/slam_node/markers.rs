//! Landmarks as they are drawn: what is known of each shows in its colour and shape.
//!
//! | kind, namespace | what it is | how it is drawn |
//! |---|---|---|
//! | `landmarks` | estimated, seen more than once | blue ellipse |
//! | `candidates` | seen once: nothing has confirmed it yet | orange ellipse |
//! | `frozen` | of the known map, which stays as it is (`map.mode: localization`) | grey ellipse |
//! | `lost` | of the known map, and no longer believed: moved or gone | red box where the map has it; gone: pale |

use crate::ros::tf;
use lienav_lie::Se2;
use lienav_slam::{Landmark, LandmarkStatus, MapMode, Slam};
use nalgebra::{Matrix2, SymmetricEigen, Vector2};
use r2r::geometry_msgs::msg::Vector3;
use r2r::std_msgs::msg::{ColorRGBA, Header};
use r2r::visualization_msgs::msg::{Marker, MarkerArray};
use std::collections::BTreeSet;

/// What is known of a landmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Estimated, and confirmed.
    Estimated,
    /// Seen once.
    Candidate,
    /// Known, and not estimated.
    Frozen,
    /// Known, and not where it should be.
    Moved,
    /// Known, and not there.
    Gone,
}

impl Kind {
    fn namespace(self) -> &'static str {
        match self {
            Self::Estimated => "landmarks",
            Self::Candidate => "candidates",
            Self::Frozen => "frozen",
            Self::Moved | Self::Gone => "lost",
        }
    }

    fn color(self) -> ColorRGBA {
        let (r, g, b, a) = match self {
            Self::Estimated => (0.1, 0.4, 0.9, 0.5),
            Self::Candidate => (1.0, 0.6, 0.0, 0.5),
            Self::Frozen => (0.5, 0.5, 0.55, 0.6),
            Self::Moved => (0.9, 0.1, 0.1, 0.8),
            Self::Gone => (0.9, 0.1, 0.1, 0.25),
        };
        ColorRGBA { r, g, b, a }
    }

    fn is_lost(self) -> bool {
        matches!(self, Self::Moved | Self::Gone)
    }
}

/// A landmark to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    kind: Kind,
    id: u32,
    position: Vector2<f64>,
    covariance: Matrix2<f64>,
}

/// More are not drawn: rviz has to draw each anew, five times a second.
const MOST: usize = 1000;

/// All of them, or of more than [`MOST`] half as many that are nearest to the robot, and of the others those whose
/// numbers are divisible by a power of two: always the same ones.
pub fn thinned(mut drawn: Vec<Drawn>, robot: &Vector2<f64>) -> Vec<Drawn> {
    if drawn.len() <= MOST {
        return drawn;
    }
    let near = MOST / 2;
    let distance = |one: &Drawn| (one.position - robot).norm_squared();
    drawn.select_nth_unstable_by(near, |a, b| distance(a).total_cmp(&distance(b)));
    let far = drawn.split_off(near);
    let every = |step: &u32| far.iter().filter(|one| one.id.is_multiple_of(*step)).count() <= MOST - near;
    let step = (0..u32::BITS).map(|k| 1 << k).find(every).unwrap_or(u32::MAX);
    drawn.extend(far.into_iter().filter(|one| one.id.is_multiple_of(step)));
    drawn
}

/// `landmarks`, which are those of `slam`, by what is known of them, and those that are lost.
pub fn sorted(slam: &Slam, landmarks: &[Landmark]) -> Vec<Drawn> {
    let lost: Vec<Drawn> = slam
        .lost_places()
        .filter_map(|(landmark, status)| {
            let kind = match status {
                LandmarkStatus::Ok => return None,
                LandmarkStatus::Moved => Kind::Moved,
                LandmarkStatus::Gone => Kind::Gone,
            };
            Some(Drawn { kind, id: landmark.id, position: landmark.position, covariance: landmark.covariance })
        })
        .collect();
    let is_frozen = slam.config().map.mode == MapMode::Localization;
    let is_lost = |id: u32| is_frozen && lost.iter().any(|drawn| drawn.id == id);
    let there = landmarks.iter().filter(|landmark| !is_lost(landmark.id)).map(|landmark| Drawn {
        kind: kind_of(landmark, is_frozen),
        id: landmark.id,
        position: landmark.position,
        covariance: landmark.covariance,
    });
    there.chain(lost.iter().copied()).collect()
}

fn kind_of(landmark: &Landmark, is_frozen: bool) -> Kind {
    match landmark.measurements {
        _ if is_frozen => Kind::Frozen,
        0 | 1 => Kind::Candidate,
        _ => Kind::Estimated,
    }
}

/// What was drawn last.
#[derive(Debug, Default)]
pub struct Shown(BTreeSet<(&'static str, u32)>);

impl Shown {
    /// A marker for each landmark, and the removal of those that were drawn before and are no longer there.
    pub fn markers(&mut self, header: &Header, drawn: &[Drawn], probability: f64) -> MarkerArray {
        let now: BTreeSet<(&'static str, u32)> = drawn.iter().map(|d| (d.kind.namespace(), d.id)).collect();
        let removed = self.0.difference(&now);
        let removed =
            removed.map(|&(namespace, id)| Marker { action: Marker::DELETE as i32, ..marker(header, namespace, id) });
        let shapes =
            drawn.iter().map(|d| if d.kind.is_lost() { lost(header, d) } else { ellipse(header, d, probability) });
        let markers = removed.chain(shapes).collect();
        self.0 = now;
        MarkerArray { markers }
    }
}

fn marker(header: &Header, namespace: &str, id: u32) -> Marker {
    // Identities are unsigned, those of markers signed: what matters is that different ones stay different.
    Marker { header: header.clone(), ns: namespace.into(), id: id.cast_signed(), ..Default::default() }
}

/// The ellipse in which the landmark lies with `probability`: semi-axes √(λᵢ χ²), χ² = −2 ln(1 − probability) being
/// the quantile for two degrees of freedom.
fn ellipse(header: &Header, drawn: &Drawn, probability: f64) -> Marker {
    /// An exact landmark is shown as a dot of this diameter, m.
    const SMALLEST: f64 = 0.01;
    let eigen = SymmetricEigen::new(drawn.covariance);
    let chi_square = -2.0 * (1.0 - probability).ln();
    let diameter = |value: f64| (2.0 * (value.max(0.0) * chi_square).sqrt()).max(SMALLEST);
    let (values, axes) = (eigen.eigenvalues, eigen.eigenvectors);
    let pose = Se2 { p: drawn.position, theta: axes.m21.atan2(axes.m11) };
    Marker {
        type_: Marker::CYLINDER as i32,
        action: Marker::ADD as i32,
        pose: tf::pose(pose),
        scale: Vector3 { x: diameter(values.x), y: diameter(values.y), z: SMALLEST },
        color: drawn.kind.color(),
        ..marker(header, drawn.kind.namespace(), drawn.id)
    }
}

/// A box where the map has what is not there; its size means nothing.
fn lost(header: &Header, drawn: &Drawn) -> Marker {
    const SIDE: f64 = 0.2;
    Marker {
        type_: Marker::CUBE as i32,
        action: Marker::ADD as i32,
        pose: tf::pose(Se2 { p: drawn.position, theta: 0.0 }),
        scale: Vector3 { x: SIDE, y: SIDE, z: SIDE },
        color: drawn.kind.color(),
        ..marker(header, drawn.kind.namespace(), drawn.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;

    fn drawn(kind: Kind, id: u32, covariance: Matrix2<f64>) -> Drawn {
        Drawn { kind, id, position: Vector2::new(1.0, 2.0), covariance }
    }

    #[test]
    fn an_ellipse_has_the_axes_of_the_covariance_at_the_stated_probability() {
        let turned = lienav_lie::rotation(0.6);
        let covariance = turned * Matrix2::new(0.04, 0.0, 0.0, 0.01) * turned.transpose();
        let header = tf::header(Stamp::default(), "map");
        let shown = ellipse(&header, &drawn(Kind::Estimated, 1, covariance), 0.95);
        let axes = [shown.scale.x, shown.scale.y];
        let (long, short) = (axes[0].max(axes[1]), axes[0].min(axes[1]));
        // χ²₂(0.95) = 5.991.
        assert!((long - 2.0 * (0.04f64 * 5.991).sqrt()).abs() < 1e-4 && (short - long / 2.0).abs() < 1e-4);
        let heading = 2.0 * shown.pose.orientation.z.atan2(shown.pose.orientation.w);
        let along = if axes[0] > axes[1] { heading } else { heading + std::f64::consts::FRAC_PI_2 };
        assert!((along - 0.6).sin().abs() < 1e-9, "{along}");
    }

    #[test]
    fn of_a_large_map_all_that_is_near_is_drawn_and_always_the_same_of_the_rest() {
        let row = |count: u32| {
            let at = |id| Drawn {
                position: Vector2::new(f64::from(id), 0.0),
                ..drawn(Kind::Estimated, id, Matrix2::identity())
            };
            (0..count).map(at).collect::<Vec<_>>()
        };
        let ids = |count, robot| {
            let drawn = thinned(row(count), &Vector2::new(robot, 0.0));
            drawn.iter().map(|one| one.id).collect::<BTreeSet<_>>()
        };
        assert_eq!(ids(1000, 0.0).len(), 1000);
        let (here, there) = (ids(10_000, 0.0), ids(10_000, 8000.0));
        assert!(
            here.len() <= MOST && (0..400).all(|id| here.contains(&id)) && (7800..8200).all(|id| there.contains(&id))
        );
        assert!((1000..7000).all(|id| here.contains(&id) == there.contains(&id)));
        assert!((0..10_000 / 32).all(|k| here.contains(&(32 * k))), "the whole is seen");
    }

    #[test]
    fn a_marker_goes_when_its_landmark_goes_or_becomes_another_kind() {
        let header = tf::header(Stamp::default(), "map");
        let mut shown = Shown::default();
        let mut of = |kinds: &[(Kind, u32)]| {
            let drawn: Vec<_> = kinds.iter().map(|&(kind, id)| drawn(kind, id, Matrix2::identity())).collect();
            let markers = shown.markers(&header, &drawn, 0.95).markers;
            markers.iter().map(|m| (m.ns.clone(), m.id, m.action, m.type_)).collect::<Vec<_>>()
        };
        let expected = |list: &[(&str, i32, i32, i32)]| -> Vec<_> {
            list.iter().map(|&(ns, id, action, shape)| (ns.to_owned(), id, action, shape)).collect()
        };
        let (round, cube) = (Marker::CYLINDER as i32, Marker::CUBE as i32);
        let first = of(&[(Kind::Candidate, 1), (Kind::Estimated, u32::MAX - 1)]);
        assert_eq!(first, expected(&[("candidates", 1, 0, round), ("landmarks", -2, 0, round)]));
        let second = of(&[(Kind::Estimated, 1)]);
        assert_eq!(second, expected(&[("candidates", 1, 2, 0), ("landmarks", -2, 2, 0), ("landmarks", 1, 0, round)]));
        assert_eq!(of(&[(Kind::Estimated, 1)]), expected(&[("landmarks", 1, 0, round)]));
        let last = of(&[(Kind::Moved, 1)]);
        assert_eq!(last, expected(&[("landmarks", 1, 2, 0), ("lost", 1, 0, cube)]));
    }

    #[test]
    fn each_kind_has_a_colour_of_its_own() {
        let kinds = [Kind::Estimated, Kind::Candidate, Kind::Frozen, Kind::Moved, Kind::Gone];
        for (i, one) in kinds.iter().enumerate() {
            for other in &kinds[..i] {
                assert_ne!(one.color(), other.color());
            }
        }
    }
}
