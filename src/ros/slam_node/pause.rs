//! What the robot drove while the node was paused, by the pose in the odometry messages before and after.
//!
//! A filter that is switched off forgets what time it is, and would go on where it stopped, as certain as it was: wrong
//! by as much as the robot has driven. The pause is bridged by odometry that leads from the last pose to the first one
//! with a constant twist: noise grows as if the node had listened. Where the odometry has no pose, or one that no robot
//! can have reached, the filter sees the pause as what it is, a gap of the odometry.

use lienav_lie::{LieGroup, Se2};
use lienav_slam::{MotionConfig, Odometry};

/// Odometry is bridged in steps of at least this, s; of 10 Hz, as slow drivers have it.
const STEP_S: f64 = 0.1;
/// Of at most so many steps: fewer than the filter lets wait.
const MOST_STEPS: f64 = 4000.0;
/// The last one is so long before the first message after the pause, s: its own twist counts no longer.
const LAST_S: f64 = 1e-3;

/// Odometry and where it has the robot in its own frame, if it says so.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The message, of the main source.
    pub odometry: Odometry,
    /// Where the base is in the odometry frame.
    pub pose: Option<Se2>,
}

/// How a pause is bridged.
#[derive(Clone, Debug, PartialEq)]
pub enum Bridge {
    /// With these messages, before the first one after the pause, and what to say.
    Odometry(Vec<Odometry>, String),
    /// As a gap: the last message before the pause comes again.
    Gap(String),
    /// Not at all: nothing was paused, or time was set back meanwhile.
    Nothing,
}

/// How the pause between the last message before it and the first after is bridged.
pub fn bridge(before: &At, after: &At, config: &MotionConfig) -> Bridge {
    let pause_s = after.odometry.stamp.since(before.odometry.stamp);
    if pause_s <= 2.0 * LAST_S {
        return Bridge::Nothing;
    }
    let (Some(from), Some(to)) = (before.pose, after.pose) else {
        return Bridge::Gap(format!("the odometry has no pose that bridges the pause of {pause_s:.1} s"));
    };
    let motion = from.inverse() * to;
    let twist = LieGroup::log(&motion) / pause_s;
    let step_s = STEP_S.max(pause_s / MOST_STEPS);
    let driven = format!("{:.2} m and {:.2} rad in {pause_s:.1} s", motion.p.norm(), motion.theta);
    let is_finite = twist.iter().all(|x| x.is_finite());
    if !is_finite || twist.xy().norm() > config.max_speed || twist.z.abs() > config.max_yaw_rate {
        return Bridge::Gap(format!("the pose of the odometry jumped by {driven}: its driver was started anew?"));
    }
    if step_s > config.max_step_s {
        return Bridge::Gap(format!("the pause of {pause_s:.0} s is too long to be bridged by odometry"));
    }
    let steps = ((pause_s - LAST_S) / step_s).floor() as u32;
    let offsets = (0..=steps).map(|k| f64::from(k) * step_s).chain([pause_s - LAST_S]);
    let at = |offset: f64| Odometry {
        stamp: before.odometry.stamp + offset,
        velocity: twist.xy(),
        yaw_rate: twist.z,
        covariance: before.odometry.covariance,
    };
    let mut messages: Vec<Odometry> = offsets.map(at).collect();
    messages.dedup_by_key(|message| message.stamp);
    Bridge::Odometry(messages, format!("a pause was bridged by the pose of the odometry: {driven}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;
    use nalgebra::Vector2;

    fn at(s: f64, pose: Option<Se2>) -> At {
        let odometry =
            Odometry { stamp: Stamp::from_secs(s), velocity: Vector2::new(9.0, 0.0), yaw_rate: 0.0, covariance: None };
        At { odometry, pose }
    }

    #[test]
    fn the_bridge_leads_from_pose_to_pose() {
        let config = MotionConfig::default();
        let (from, to) = (Se2::new(1.0, 2.0, 0.5), Se2::new(2.0, 4.0, -0.7));
        let Bridge::Odometry(messages, said) = bridge(&at(10.0, Some(from)), &at(14.0, Some(to)), &config) else {
            panic!("it is not bridged")
        };
        assert!(said.contains("2.24 m and -1.20 rad in 4.0 s"), "{said}");
        assert_eq!(messages[0].stamp, Stamp::from_secs(10.0));
        assert!(messages.windows(2).all(|two| (0.0..=0.101).contains(&two[1].stamp.since(two[0].stamp))));
        // Each twist for the time to the next, and the last one for the rest.
        let stamps = messages.iter().map(|m| m.stamp).chain([Stamp::from_secs(14.0)]).collect::<Vec<_>>();
        let driven = messages.iter().zip(stamps.windows(2)).fold(from, |pose, (message, stamps)| {
            let twist = nalgebra::Vector3::new(message.velocity.x, message.velocity.y, message.yaw_rate);
            pose * Se2::exp(&(twist * stamps[1].since(stamps[0])))
        });
        assert!((driven.p - to.p).norm() < 1e-9 && (driven.theta - to.theta).abs() < 1e-9);
    }

    #[test]
    fn what_no_pose_bridges_is_a_gap_and_time_that_was_set_back_is_none() {
        let config = MotionConfig::default();
        let here = Some(Se2::identity());
        let no_heading = Some(Se2 { p: Vector2::zeros(), theta: f64::NAN });
        let start = at(10.0, Some(Se2::new(0.0, 0.0, 0.0)));
        assert!(matches!(bridge(&start, &at(14.0, no_heading), &MotionConfig::default()), Bridge::Gap(_)));
        let far = Some(Se2::new(1e6, 0.0, 0.0));
        let is_gap = |before, after| matches!(bridge(&before, &after, &config), Bridge::Gap(_));
        assert!(is_gap(at(10.0, None), at(14.0, here)) && is_gap(at(10.0, here), at(14.0, None)));
        assert!(is_gap(at(10.0, here), at(14.0, far)) && is_gap(at(10.0, here), at(90_000.0, here)));
        assert_eq!(bridge(&at(10.0, here), &at(9.0, here), &config), Bridge::Nothing);
        assert_eq!(bridge(&at(10.0, here), &at(10.0, here), &config), Bridge::Nothing);
    }
}
