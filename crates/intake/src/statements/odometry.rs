//! Pose and twist of odometry, and the variances it states.

use super::Finding;
use crate::convert::{ABSURDLY_SMALL, MOVING, planar_block, pose_of, stamp_of};
use crate::messages::Odometry;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use nalgebra::{Matrix3, Rotation2, Vector2};

/// Pose and twist are compared over so long, s: what single messages disagree by is rounding.
const SEGMENT_S: f64 = 0.5;
/// A gap between messages that is longer ends a segment without a comparison, s.
const GAP_S: f64 = 1.5;
/// Pose and twist disagree beyond this (m/s, rad/s)
const ABSOLUTE: f64 = 0.05;
/// and this part of the greater one: filters of odometry lag, wheels of two axles differ.
const RELATIVE: f64 = 0.3;
/// A mean below is that of something that never moves, m/s and rad/s.
const STILL: f64 = 0.02;
/// Fewer moving segments say nothing.
const LEAST_SEGMENTS: f64 = 10.0;
/// Older segments are forgotten so that a repaired driver is found repaired.
const MOST_SEGMENTS: f64 = 400.0;
/// A variance of the pose's x that is as large says that the pose is not known, m².
const UNKNOWN_POSE: f64 = 1e6;
/// What states so much says that it knows nothing.
const ABSURDLY_LARGE: f64 = 1e6;

/// What a twist may be instead, in words, and what it means then.
type Supposition<F> = (&'static str, F);
/// Of a velocity, by the heading of the robot.
type OfVelocity = fn(Vector2<f64>, f64) -> Vector2<f64>;
/// Of a yaw rate.
type OfRate = fn(f64) -> f64;

/// In the order in which they are tried.
const LINEAR: [Supposition<OfVelocity>; 3] = [
    ("the twist is given in header.frame_id; it belongs into child_frame_id (the frame of the robot)", |v, heading| {
        Rotation2::new(-heading) * v
    }),
    ("the signs of twist.linear are reversed", |v, _| -v),
    ("the unit of twist.linear is not m/s (mm/s?)", |v, _| 1e-3 * v),
];
const ANGULAR: [Supposition<OfRate>; 2] = [
    ("the sign of twist.angular.z is reversed", |w| -w),
    ("twist.angular.z is in degrees per second", |w| w.to_radians()),
];

/// Compares what odometry messages state twice.
#[derive(Clone, Debug, Default)]
pub struct OdometryCheck {
    previous: Option<Sample>,
    segment: Segment,
    linear: Tally<3>,
    angular: Tally<2>,
    variances: Variances,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    stamp: Stamp,
    pose: Option<Se2>,
    velocity: Vector2<f64>,
    yaw_rate: f64,
}

/// What pose and twist say of a stretch of time, in the frame of its first pose.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    start: Option<Se2>,
    duration_s: f64,
    turned: f64,
    twist: Vector2<f64>,
    /// The same if the twist is what [`LINEAR`] supposes.
    supposed: [Vector2<f64>; 3],
    twist_turned: f64,
}

/// How many moving segments agree, with the twist as it is and as it may be meant.
#[derive(Clone, Copy, Debug)]
struct Tally<const N: usize> {
    moving: f64,
    agree: f64,
    supposed: [f64; N],
    /// Sums of the magnitudes by pose and by twist, and of their difference.
    by_pose: f64,
    by_twist: f64,
    apart: f64,
}

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        Self { moving: 0.0, agree: 0.0, supposed: [0.0; N], by_pose: 0.0, by_twist: 0.0, apart: 0.0 }
    }
}

impl<const N: usize> Tally<N> {
    /// Takes a segment in: the magnitudes by pose and twist, their difference, and the differences as supposed.
    fn add(&mut self, pose: f64, twist: f64, apart: f64, supposed: [(f64, f64); N], moving: f64) {
        if pose.max(twist) < moving {
            return;
        }
        if self.moving >= MOST_SEGMENTS {
            let Self { moving, agree, by_pose, by_twist, apart, .. } = self;
            [moving, agree, by_pose, by_twist, apart].into_iter().chain(&mut self.supposed).for_each(|x| *x *= 0.5);
        }
        let agrees = |other: f64, apart: f64| f64::from(u8::from(apart <= ABSOLUTE + RELATIVE * pose.max(other)));
        self.moving += 1.0;
        self.agree += agrees(twist, apart);
        (self.by_pose, self.by_twist, self.apart) = (self.by_pose + pose, self.by_twist + twist, self.apart + apart);
        self.supposed.iter_mut().zip(supposed).for_each(|(sum, (twist, apart))| *sum += agrees(twist, apart));
    }

    fn contradicts(&self) -> bool {
        self.moving >= LEAST_SEGMENTS && self.agree < 0.5 * self.moving
    }

    /// Means of what the pose and the twist say, and by how much they are apart.
    fn means(&self) -> [f64; 3] {
        [self.by_pose, self.by_twist, self.apart].map(|sum| sum / self.moving)
    }

    /// Whether pose or twist says that nothing ever moves.
    fn stands_still(&self) -> bool {
        let [pose, twist, _] = self.means();
        pose.min(twist) <= STILL
    }

    /// Which of the suppositions fits; none where one of the two stands still, which fits any small number.
    fn supposed<T>(&self, suppositions: &[Supposition<T>; N]) -> Option<&'static str> {
        let mut counted = self.supposed.iter().zip(suppositions);
        let fitting = counted.find(|&(&agree, _)| agree > 0.8 * self.moving);
        fitting.filter(|_| !self.stands_still()).map(|(_, (cause, _))| *cause)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Variances {
    /// Messages, and those that state 0 in the plane beside something else.
    messages: u64,
    zero: u64,
    /// Moving messages that state a covariance, with absurdly small and absurdly large variances.
    stated: u64,
    small: u64,
    large: u64,
    /// The last absurdly small and large variances, and the greatest speed stated with the small ones.
    least: f64,
    greatest: f64,
    speed: f64,
}

impl OdometryCheck {
    /// Takes a message, in whatever frames: pose and twist are of the same one. What cannot be read counts as a gap.
    pub fn add(&mut self, message: &Odometry) {
        let Ok(stamp) = stamp_of(&message.header.stamp) else { return };
        let twist = &message.twist.twist;
        let is_known = message.pose.covariance.0[0] != -1.0 && message.pose.covariance.0[0] < UNKNOWN_POSE;
        let pose = pose_of(&message.pose.pose).ok().filter(|pose| is_known && pose.p.iter().all(|x| x.is_finite()));
        let sample =
            Sample { stamp, pose, velocity: Vector2::new(twist.linear.x, twist.linear.y), yaw_rate: twist.angular.z };
        if ![sample.velocity.x, sample.velocity.y, sample.yaw_rate].iter().all(|x| x.is_finite()) {
            return;
        }
        let all = &message.twist.covariance.0;
        self.variances.add(
            &sample,
            &planar_block(&message.twist.covariance),
            all[0] == -1.0,
            all.iter().any(|&x| x != 0.0),
        );
        match self.previous.replace(sample) {
            Some(previous) => self.compare(&previous, &sample),
            None => self.segment = Segment { start: pose, ..Segment::default() },
        }
    }

    fn compare(&mut self, before: &Sample, now: &Sample) {
        let dt = now.stamp.since(before.stamp);
        let (Some(first), Some(last), Some(start)) = (before.pose, now.pose, self.segment.start) else {
            self.segment = Segment { start: now.pose, ..Segment::default() };
            return;
        };
        if !(dt > 0.0 && dt < GAP_S) {
            self.segment = Segment { start: now.pose, ..Segment::default() };
            return;
        }
        let turned = wrap_angle(last.theta - first.theta);
        // The mean of both ends, with the heading between them: whichever interval a message speaks of.
        let (velocity, yaw_rate) = (0.5 * (before.velocity + now.velocity), 0.5 * (before.yaw_rate + now.yaw_rate));
        let heading = first.theta + 0.5 * turned;
        let along = Rotation2::new(heading - start.theta);
        let segment = &mut self.segment;
        segment.duration_s += dt;
        segment.turned += turned;
        segment.twist += dt * (along * velocity);
        for (sum, (_, meant)) in segment.supposed.iter_mut().zip(LINEAR) {
            *sum += dt * (along * meant(velocity, heading));
        }
        segment.twist_turned += dt * yaw_rate;
        if segment.duration_s >= SEGMENT_S {
            let Segment { duration_s, turned, twist, supposed, twist_turned, .. } = *segment;
            let moved = Rotation2::new(-start.theta) * (last.p - start.p) / duration_s;
            let twist = twist / duration_s;
            let supposed = supposed.map(|twist| twist / duration_s).map(|twist| (twist.norm(), (twist - moved).norm()));
            self.linear.add(moved.norm(), twist.norm(), (twist - moved).norm(), supposed, MOVING[0]);
            let (pose_rate, rate) = (turned / duration_s, twist_turned / duration_s);
            let supposed = ANGULAR.map(|(_, meant)| (meant(rate).abs(), (meant(rate) - pose_rate).abs()));
            self.angular.add(pose_rate.abs(), rate.abs(), (rate - pose_rate).abs(), supposed, MOVING[1]);
            self.segment = Segment { start: now.pose, ..Segment::default() };
        }
    }

    /// What was found so far of the messages of `topic`.
    pub fn findings(&self, topic: &str) -> Vec<Finding> {
        let linear = self.linear.contradicts().then(|| {
            let [pose, twist, apart] = self.linear.means();
            let cause = self.linear.supposed(&LINEAR).map_or_else(|| one_stands_still(pose, twist), str::to_owned);
            format!(
                "twist and pose of {topic} disagree: the pose moves at {pose:.2} m/s, the twist says {twist:.2} m/s, \
                 and they are {apart:.2} m/s apart (means while it moves); the filter believes the twist: {cause}"
            )
        });
        // One of the two that says nothing is named once.
        let is_said = linear.is_some() && self.linear.stands_still() && self.angular.stands_still();
        let angular = (self.angular.contradicts() && !is_said).then(|| {
            let [pose, twist, apart] = self.angular.means();
            let cause = self.angular.supposed(&ANGULAR).map_or_else(|| one_stands_still(pose, twist), str::to_owned);
            format!(
                "twist and pose of {topic} disagree: the pose turns at {pose:.2} rad/s, the twist says {twist:.2} \
                 rad/s, and they are {apart:.2} rad/s apart (means while it turns); the filter believes the twist: \
                 {cause}"
            )
        });
        let found = |sentence| Finding::new(topic, "twist_against_pose", sentence);
        linear.into_iter().chain(angular).map(found).chain(self.variances.findings(topic)).collect()
    }
}

fn one_stands_still(pose: f64, twist: f64) -> String {
    if twist <= STILL {
        "the driver does not fill in the twist".to_owned()
    } else if pose <= STILL {
        "the driver does not fill in the pose; whoever makes odom -> base_link of it, or of `odometry/filtered`, \
         should know. A variance of the pose of 1e6 or more says that it is not known"
            .to_owned()
    } else {
        "repair the driver".to_owned()
    }
}

impl Variances {
    fn add(&mut self, sample: &Sample, block: &Matrix3<f64>, is_absent: bool, is_any: bool) {
        self.messages += 1;
        if is_absent || !is_any {
            return;
        }
        let (forward, turning) = (block.m11, block.m33);
        if forward == 0.0 || turning == 0.0 {
            self.zero += 1;
            return;
        }
        let speed = sample.velocity.norm();
        // Drivers state less while the robot stands, rightly.
        if speed < MOVING[0] && sample.yaw_rate.abs() < MOVING[1] {
            return;
        }
        self.stated += 1;
        if forward.min(turning) > 0.0 && forward.min(turning) <= ABSURDLY_SMALL {
            self.small += 1;
            (self.least, self.speed) = (forward.min(turning), self.speed.max(speed));
        }
        let greatest = forward.max(turning).max(block.m22);
        if greatest >= ABSURDLY_LARGE {
            self.large += 1;
            self.greatest = greatest;
        }
    }

    fn findings(&self, topic: &str) -> Vec<Finding> {
        let Self { messages, zero, stated, small, large, .. } = *self;
        let remedy = "state true variances, or set motion.use_message_covariance: false";
        let mut found = Vec::new();
        if zero > 0 && 2 * zero >= messages {
            let sentence = format!(
                "{zero} of {messages} messages of {topic} state a variance of 0 for the velocity forward or the yaw \
                 rate beside variances that are not 0: 0 is read as not stated, and motion.velocity_x_std, \
                 velocity_y_std and yaw_rate_std hold instead; {remedy}"
            );
            found.push(Finding::new(topic, "variance_zero", sentence));
        }
        if small > 0 && 2 * small >= stated {
            let sentence = format!(
                "{topic} states a standard deviation of {:.1e} (variance {:.1e}, m/s or rad/s) at speeds of up to \
                 {:.2} m/s: no wheel is that exact, so it is read as not stated while the robot moves, and \
                 motion.velocity_x_std, velocity_y_std and yaw_rate_std hold instead; {remedy}",
                self.least.sqrt(),
                self.least,
                self.speed
            );
            found.push(Finding::new(topic, "variance_tiny", sentence));
        }
        if large > 0 && 2 * large >= stated {
            let sentence = format!(
                "{topic} states a standard deviation of {:.1e} (variance {:.1e}, m/s or rad/s) for a velocity in the \
                 plane, which says that it knows nothing of it; {remedy}",
                self.greatest.sqrt(),
                self.greatest
            );
            found.push(Finding::new(topic, "variance_huge", sentence));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::{header, pose_message};

    /// A robot on a circle at 1 m/s and 0.4 rad/s, and what its driver makes of it.
    fn found(change: impl Fn(&mut Odometry, &Se2)) -> Vec<Finding> {
        let mut check = OdometryCheck::default();
        for i in 0..600 {
            let t = 0.05 * f64::from(i);
            let pose = Se2::exp(&(t * nalgebra::Vector3::new(1.0, 0.0, 0.4)));
            let mut message = Odometry { header: header(Stamp::from_secs(t), "odom"), ..Odometry::default() };
            message.pose.pose = pose_message(&pose);
            (message.twist.twist.linear.x, message.twist.twist.angular.z) = (1.0, 0.4);
            change(&mut message, &pose);
            check.add(&message);
        }
        check.findings("/odom")
    }

    fn sentence(found: &[Finding]) -> &str {
        assert_eq!(found.len(), 1, "{found:?}");
        &found[0].sentence
    }

    #[test]
    fn a_driver_that_is_right_or_states_no_pose_is_not_named() {
        assert_eq!(found(|_, _| ()), []);
        let lagging = |m: &mut Odometry, _: &Se2| m.twist.twist.linear.x = 0.9;
        assert_eq!(found(lagging), []);
        assert_eq!(found(|m, _| m.pose = Default::default()), [], "no orientation is no pose");
        let unknown = |m: &mut Odometry, _: &Se2| {
            m.pose.pose = pose_message(&Se2::identity());
            m.pose.covariance.0[0] = 1e9;
        };
        assert_eq!(found(unknown), []);
    }

    #[test]
    fn what_disagrees_is_named_with_both_numbers_and_its_cause() {
        let still = found(|m, _| m.twist = Default::default());
        assert!(still[0].sentence.contains("moves at 1.00 m/s, the twist says 0.00 m/s"), "{still:?}");
        assert!(sentence(&still).contains("does not fill in the twist"), "{still:?}");
        let identity = found(|m, _| m.pose.pose = pose_message(&Se2::identity()));
        assert!(identity[0].sentence.contains("moves at 0.00 m/s, the twist says 1.00 m/s"), "{identity:?}");
        assert!(sentence(&identity).contains("does not fill in the pose"), "{identity:?}");
        let millimetres = found(|m, _| m.twist.twist.linear.x = 1000.0);
        assert!(sentence(&millimetres).contains("mm/s"), "{millimetres:?}");
        let world = found(|m, pose| {
            let v = Rotation2::new(pose.theta) * Vector2::x();
            (m.twist.twist.linear.x, m.twist.twist.linear.y) = (v.x, v.y);
        });
        assert!(sentence(&world).contains("header.frame_id"), "{world:?}");
        let sign = found(|m, _| m.twist.twist.angular.z = -0.4);
        assert!(sentence(&sign).contains("turns at 0.40 rad/s, the twist says 0.40 rad/s, and they are 0.80"));
        assert!(sentence(&sign).contains("sign of twist.angular.z"), "{sign:?}");
        let degrees = found(|m, _| m.twist.twist.angular.z = 0.4_f64.to_degrees());
        assert!(sentence(&degrees).contains("degrees per second"), "{degrees:?}");
        let backwards = found(|m, _| m.twist.twist.linear.x = -1.0);
        assert!(sentence(&backwards).contains("reversed"), "{backwards:?}");
    }

    #[test]
    fn variances_that_cannot_be_meant_are_named_with_both_numbers() {
        let with =
            |variances: [f64; 6]| found(move |m, _| (0..6).for_each(|k| m.twist.covariance.0[7 * k] = variances[k]));
        assert_eq!(with([0.0; 6]), [], "nothing is stated");
        assert_eq!(with([1e-4, 0.0, 0.0, 0.0, 0.0, 1e-4]), []);
        for zeros in
            [[0.0, 0.0, 1e12, 1e12, 1e12, 0.0], [0.0, 0.0, 1e-3, 0.0, 0.0, 0.0], [0.1, 0.1, 0.0, 0.0, 0.0, 0.0]]
        {
            let found = with(zeros);
            assert!(sentence(&found).starts_with("600 of 600 messages of /odom state a variance of 0"), "{found:?}");
        }
        let tiny = with([1e-9; 6]);
        assert!(
            sentence(&tiny).contains("3.2e-5 (variance 1.0e-9") && sentence(&tiny).contains("1.00 m/s"),
            "{tiny:?}"
        );
        let huge = with([1e6, 1e6, 0.0, 0.0, 0.0, 1e6]);
        assert_eq!((huge.len(), huge[0].word), (1, "variance_huge"));
    }
}
