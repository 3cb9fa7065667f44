//! Where the sensors of a bag sit, as `/tf_static` in it says: read before the input, so that the filter knows it from
//! the first measurement on.

use super::decode::{decode_features, decode_odometry};
use super::plan::Part;
use super::read::BagReader;
use crate::cdr;
use lienav_base::stamp::Stamp;
use lienav_intake::convert::{Extrinsics, Frames, Refusal};
use lienav_intake::intake::{Intake, OdometryOf};
use lienav_intake::messages::TfMessage;
use lienav_intake::transforms::plain;
use lienav_lie::Se2;

/// Transforms are looked for until so long after the first message with measurements, s: who starts later is no part
/// of the robot.
const LOOK_S: f64 = 10.0;

/// What was found before the input.
#[derive(Debug, Default)]
pub struct Ahead {
    /// The frame of the robot: as stated, or that of the first odometry.
    pub base: Option<String>,
    /// The frame of the first message of each sensor.
    pub frames: Vec<Option<String>>,
    refused: Option<Refusal>,
}

/// What `/tf_static` says of the sensor without a name.
#[derive(Debug)]
pub enum StatedExtrinsics {
    /// It sits there.
    At(Extrinsics, String),
    /// Nothing; a sentence where that is a surprise.
    Nothing(Option<String>),
}

/// Reads as much of a bag as is needed, gives its transforms to the intake, and goes back to its beginning. `frames`
/// are those that are stated; `is_placed` says whether parameters state the mount of the sensor without a name.
pub fn look_ahead(
    bag: &mut BagReader,
    parts: &[Option<Part>],
    intake: &mut Intake,
    frames: &Frames,
    is_placed: bool,
) -> Ahead {
    let wanted = |part: &Option<Part>| matches!(part, Some(Part::Odometry(_) | Part::Scan(_) | Part::StaticTransforms));
    bag.select(&parts.iter().map(wanted).collect::<Vec<_>>());
    let sensors: Vec<_> = intake.feature_topics().map(|(_, message)| message).collect();
    let sources: Vec<_> = intake.odometry_sources().iter().map(|source| source.message).collect();
    let needs = |k: usize| {
        let is_stated = if k == 0 { is_placed } else { intake.stated_mount(k as u8).is_some() };
        !is_stated && parts.contains(&Some(Part::Scan(k as u8)))
    };
    let needed: Vec<usize> = (0..sensors.len()).filter(|&k| needs(k)).collect();
    let heard: Vec<usize> = (0..sources.len()).filter(|&k| parts.contains(&Some(Part::Odometry(k as u8)))).collect();
    let has_scans = parts.iter().any(|part| matches!(part, Some(Part::Scan(_))));
    let mut ahead = Ahead { base: frames.base_frame.clone(), frames: vec![None; sensors.len()], refused: None };
    let (mut of_odometry, mut first) = (vec![None; sources.len()], None);
    for record in bag.by_ref() {
        // What cannot be read is counted where the bag is.
        match parts.get(record.topic).copied().flatten() {
            Some(Part::StaticTransforms) => {
                let refused = cdr::decode::<TfMessage>(&record.data).map(|message| intake.take_static(&message));
                ahead.refused = refused.ok().and_then(|mut refused| refused.pop()).or(ahead.refused);
            }
            Some(Part::Scan(k)) => {
                if let (Some(frame @ None), Some(&message)) =
                    (ahead.frames.get_mut(usize::from(k)), sensors.get(usize::from(k)))
                    && let Ok(message) = decode_features(message, &record.data)
                {
                    *frame = Some(message.header().frame_id.clone());
                    first.get_or_insert(record.log_time);
                }
            }
            Some(Part::Odometry(k)) => {
                if let (Some(frame @ None), Some(&message)) =
                    (of_odometry.get_mut(usize::from(k)), sources.get(usize::from(k)))
                    && let Ok(message) = decode_odometry(message, &record.data)
                {
                    *frame = Some(match message {
                        OdometryOf::Odometry(message) => message.child_frame_id.clone(),
                        OdometryOf::Twist(message) => message.header.frame_id.clone(),
                    });
                    if k == 0 {
                        ahead.base = ahead.base.or_else(|| frame.clone());
                    }
                    if !has_scans {
                        first.get_or_insert(record.log_time);
                    }
                }
            }
            _ => {}
        }
        let Some(base) = &ahead.base else { continue };
        let joined = |frames: &[Option<String>], k: usize| {
            frames.get(k).and_then(Option::as_ref).is_some_and(|frame| ahead.joins(base, frame, intake))
        };
        let are_placed =
            needed.iter().all(|&k| joined(&ahead.frames, k)) && heard.iter().all(|&k| joined(&of_odometry, k));
        let is_over = first.is_some_and(|first| record.log_time.since(first) > LOOK_S);
        if are_placed && !intake.wants_tags() || is_over {
            break;
        }
    }
    bag.seek(Stamp::MIN);
    ahead
}

impl Ahead {
    fn joins(&self, base: &str, frame: &str, intake: &Intake) -> bool {
        plain(base) == plain(frame) || intake.tree().between(base, frame).is_some()
    }

    /// Where the sensor without a name sits, whose mount no parameter states.
    pub fn main(&self, intake: &Intake) -> StatedExtrinsics {
        let (Some(base), Some(frame)) = (&self.base, self.frames.first().and_then(Option::as_ref)) else {
            return StatedExtrinsics::Nothing(None);
        };
        if plain(base) == plain(frame) {
            return StatedExtrinsics::Nothing(None);
        }
        let Some(pose) = intake.tree().between(base, frame) else {
            let why = self.refused.as_ref().map_or_else(String::new, |refusal| format!(" ({refusal})"));
            return StatedExtrinsics::Nothing(Some(format!(
                "nothing on /tf_static joins '{base}' to '{frame}'{why}: the sensor is taken to sit at the base; if it \
                 does not, set sensor.x_m, sensor.y_m and sensor.yaw_rad"
            )));
        };
        let extrinsics = Extrinsics::of(&pose);
        let (p, over) = (extrinsics.mount.p, if extrinsics.is_upside_down() { ", upside down" } else { "" });
        let sentence = format!(
            "the sensor sits at x {:.3} y {:.3} yaw {:.3}{over}, as /tf_static says ({base} -> {frame})",
            p.x, p.y, extrinsics.mount.theta
        );
        StatedExtrinsics::At(extrinsics, sentence)
    }

    /// The mount of a sensor that has a name; `None` where neither parameters nor transforms state it.
    pub fn mount(&self, sensor: u8, intake: &Intake) -> Option<Se2> {
        let by_transform = || {
            let frame = self.frames.get(usize::from(sensor))?.as_ref()?;
            Some(Extrinsics::of(&intake.tree().between(self.base.as_ref()?, frame)?).mount)
        };
        intake.stated_mount(sensor).or_else(by_transform)
    }
}
