//! What comes in goes to the filter: odometry, features and tags, in frames that `/tf_static` places on the robot.

use super::Worker;
use crate::ros::diagnostics::SILENCE;
use crate::ros::slam_node::pause::{At, Bridge, bridge};
use crate::ros::slam_node::topic::Topic;
use lienav_base::stamp::Stamp;
use lienav_io::bag::UNREADABLE;
use lienav_io::bag::cdr::CdrError;
use lienav_io::convert::Refusal;
use lienav_io::intake::{FeaturesOf, OdometryOf, Placed, STANDBY};
use lienav_io::messages::TfMessage;
use lienav_slam::{DropReason, Measurement, MeasurementKind, Scan};
use std::time::Instant;

impl Worker {
    pub(super) fn odometry(&mut self, received: Instant, source: u8, message: &OdometryOf) {
        self.tally.odometry.received += 1;
        self.odometry_came = Some(received);
        let topic = Topic::Odometry(source);
        let (input, base_in_odom) = match self.inputs.odometry(source, message, &self.settings) {
            Ok(converted) => converted,
            Err(refusal) => return self.refuse_on(topic, &refusal),
        };
        self.statements.stamped(self.inputs.name(topic), input.stamp, received);
        self.statements.odometry(source, message);
        if !self.inputs.counts(source, input.stamp, &self.settings, self.slam.config()) {
            return self.tally.dropped.add(STANDBY);
        }
        let at = At { odometry: input, pose: base_in_odom };
        self.resume(&at);
        // Messages that were held up somewhere and come all at once are no clock that was set.
        self.slam.arrived(received.saturating_duration_since(self.started).as_secs_f64());
        match self.slam.odometry(&input) {
            Ok(()) => {
                self.tally.odometry.used += 1;
                self.known = Some(at);
            }
            Err(reason) => {
                return self.log.warn_of(reason.word(), || format!("{} dropped as {reason}", self.inputs.name(topic)));
            }
        }
        if let Some(switched) = self.inputs.odometry_used(source, input.stamp) {
            self.log.warn(&switched);
        }
        self.note_arrival(input.stamp, received);
        let base_in_odom = self.publish_local(input.stamp, base_in_odom);
        self.publish_steps();
        self.publish_prediction(input.stamp, base_in_odom, self.inputs.has_pose(source));
        self.tally.odometry_answered(received, self.clock.now().since(input.stamp));
    }

    /// Where the filter was switched on again, what the robot has driven meanwhile comes before its odometry.
    fn resume(&mut self, after: &At) {
        if !std::mem::take(&mut self.is_resuming) {
            return;
        }
        let Some(before) = self.known else { return };
        let bridging = match bridge(&before, after, &self.slam.config().motion) {
            Bridge::Odometry(messages, said) => {
                self.log.info(&said);
                messages
            }
            Bridge::Gap(said) => {
                self.log.warn(&format!("{said}; the pose is as uncertain as after a gap of the odometry"));
                vec![before.odometry]
            }
            Bridge::Nothing => return,
        };
        for odometry in &bridging {
            // Counted by the filter.
            let _refused = self.slam.odometry(odometry);
        }
    }

    pub(super) fn features(&mut self, received: Instant, is_newest: bool, sensor: u8, message: &FeaturesOf) {
        self.tally.features.received += 1;
        self.inputs.features_came(sensor);
        self.health.came(Topic::Scan(sensor));
        if !is_newest && self.would_be_late(received) {
            return self.skip(received);
        }
        let topic = Topic::Scan(sensor);
        if !self.is_equipped() {
            return;
        }
        let (input, placed) = match self.inputs.features(sensor, message, &mut self.slam, &self.settings) {
            Ok(converted) => converted,
            Err(refusal) => return self.refuse_on(topic, &refusal),
        };
        match &placed {
            Some(Placed::Stated(said)) => self.log.info(said),
            Some(Placed::Assumed(said)) => self.log.warn(said),
            None => {}
        }
        if self.take_cloud(received, (input.stamp, input.kind, &input.measurements), topic) {
            self.inputs.features_used(sensor);
            self.publish_steps();
        }
    }

    /// A position or a pose from outside.
    pub(super) fn outside(&mut self, received: Instant, features: Result<Scan, Refusal>, topic: Topic) {
        self.health.came(topic);
        match features {
            Err(refusal) => self.refuse_on(topic, &refusal),
            Ok(Scan { stamp, kind, measurements }) => {
                if self.take_cloud(received, (stamp, kind, &measurements), topic) {
                    self.publish_steps();
                }
            }
        }
    }

    /// Tags that a detector has published on `/tf`.
    pub(super) fn transforms(&mut self, received: Instant, message: &TfMessage) {
        if self.settings.publish_tf && self.tree.take(message, &self.settings, Instant::now()) {
            let conflict = self.tree.conflict(&self.settings, Instant::now());
            self.log.error(&conflict.unwrap_or_default());
        }
        let (clouds, refusals) = self.inputs.tags(message, &self.settings);
        if let Some(missed) = self.inputs.tags_missed(&self.settings) {
            self.log.warn(&missed);
        }
        if clouds.is_empty() && refusals.is_empty() || !self.is_equipped() {
            return;
        }
        self.tally.features.received += clouds.len().max(1) as u64;
        self.health.came(Topic::Transforms);
        for refusal in &refusals {
            self.refuse_on(Topic::Transforms, refusal);
        }
        let mut is_used = false;
        for (kind, cloud) in &clouds {
            is_used |= self.take_cloud(received, (cloud.stamp, *kind, &cloud.measurements), Topic::Transforms);
        }
        if is_used {
            self.inputs.tags_used();
            self.publish_steps();
        }
    }

    /// Where sensors sit.
    pub(super) fn static_transforms(&mut self, message: &TfMessage) {
        for refusal in self.inputs.take_static(message) {
            self.refuse_on(Topic::StaticTransforms, &refusal);
        }
    }

    /// Whether the filter has all sensors: one that was made anew gets them first.
    fn is_equipped(&mut self) -> bool {
        let equipped = self.inputs.equip(&mut self.slam);
        if let Err(error) = &equipped {
            self.log.error(&error.to_string());
        }
        equipped.is_ok()
    }

    /// Gives a cloud to the filter; says whether it was taken.
    fn take_cloud(
        &mut self,
        received: Instant,
        (stamp, kind, measurements): (Stamp, MeasurementKind, &[Measurement]),
        topic: Topic,
    ) -> bool {
        self.statements.stamped(self.inputs.name(topic), stamp, received);
        let late_scans = self.slam.late_scans();
        let at = stamp + -self.delay_s(kind);
        match self.slam.features(stamp, kind, measurements) {
            Ok(()) if self.slam.late_scans() > late_scans => {
                self.tally.cloud_was_late();
                self.health.taken(topic, at, kind);
                true
            }
            Ok(()) => {
                self.tally.cloud_waits(stamp, received);
                self.health.taken(topic, at, kind);
                self.note_arrival(stamp, received);
                true
            }
            // Without odometry, all others run ahead of it: what is missing is the odometry, which the quality says.
            Err(DropReason::FromTheFuture) if self.odometry_came.is_none_or(|at| at.elapsed() > SILENCE) => false,
            Err(reason) => {
                self.log.warn_of(reason.word(), || format!("{} dropped as {reason}", self.inputs.name(topic)));
                false
            }
        }
    }

    /// How long before its stamp a measurement of this kind was made, s.
    fn delay_s(&self, kind: MeasurementKind) -> f64 {
        let config = self.slam.config();
        match kind {
            MeasurementKind::WorldPosition | MeasurementKind::WorldPose => config.absolute.delay_s,
            _ => config.sensor.delay_s,
        }
    }

    /// Counted with those that came, so that a topic of nothing else is an error.
    pub(super) fn unreadable(&mut self, topic: Topic, error: &CdrError) {
        match topic {
            Topic::Odometry(_) => self.tally.odometry.received += 1,
            Topic::Imu => self.tally.imu.received += 1,
            Topic::Scan(sensor) => {
                self.tally.features.received += 1;
                self.inputs.features_came(sensor);
            }
            Topic::InitialPose
            | Topic::Transforms
            | Topic::StaticTransforms
            | Topic::AbsolutePose
            | Topic::Fix
            | Topic::CameraInfo(_) => (),
        }
        self.tally.dropped.add(UNREADABLE);
        self.log.warn_of(UNREADABLE, || format!("{} dropped as {UNREADABLE}: {error}", self.inputs.name(topic)));
    }

    fn refuse_on(&mut self, topic: Topic, refusal: &Refusal) {
        let word = refusal.word();
        self.tally.dropped.add(word);
        self.log.warn_of(word, || format!("{} dropped as {word}: {refusal}", self.inputs.name(topic)));
    }
}
