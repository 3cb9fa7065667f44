//! `lienav play`: a bag on its topics, for machines without rosbag2.

use super::failure::Failure;
use std::path::PathBuf;

/// Publish a bag on its topics, with options named as those of `ros2 bag play`
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(super) struct Args {
    /// Bag: its folder, or an .mcap or .db3 file
    bag: PathBuf,
    /// How many times faster than it was recorded
    #[arg(short, long, default_value_t = 1.0, value_name = "FACTOR")]
    rate: f64,
    /// Publish /clock at this rate, Hz, so that nodes with use_sim_time follow the bag
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "40")]
    clock: Option<f64>,
    /// Only these topics
    #[arg(long, num_args = 1.., value_name = "TOPIC")]
    topics: Vec<String>,
    /// Publish a topic under another name
    #[arg(short = 'm', long, num_args = 1.., value_name = "FROM:=TO", value_parser = remapping)]
    remap: Vec<(String, String)>,
    /// Start again at the end
    #[arg(short = 'l', long = "loop")]
    repeat: bool,
    /// Begin this far into the bag, s
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    start_offset: f64,
    /// Wait this long before the first message, s
    #[arg(short, long, default_value_t = 0.0, value_name = "SECONDS")]
    delay: f64,
    /// Play so much of the bag, s
    #[arg(long, value_name = "SECONDS")]
    playback_duration: Option<f64>,
    /// Begin with a pause
    #[arg(short = 'p', long)]
    start_paused: bool,
    /// Listen to no keys (space: pause; left, right: 5 s; up, down: speed)
    #[arg(long)]
    disable_keyboard_controls: bool,
    /// YAML file: reliability, durability, history, depth by topic
    #[arg(long, value_name = "FILE")]
    qos_profile_overrides_path: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  lienav play circle --clock --rate 2
  lienav play circle --start-offset 10 --playback-duration 20
  lienav play circle --topics /odom /features --remap /odom:=/robot1/odom";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    for (name, value, positive) in [
        ("--rate", Some(args.rate), true),
        ("--clock", args.clock, true),
        ("--playback-duration", args.playback_duration, true),
        ("--start-offset", Some(args.start_offset), false),
        ("--delay", Some(args.delay), false),
    ] {
        let Some(value) = value else { continue };
        let allowed = value.is_finite() && if positive { value > 0.0 } else { value >= 0.0 };
        if !allowed {
            let bound = if positive { "more than 0" } else { "0 or more" };
            return Err(Failure::WrongCall(format!("{name} is {value}; allowed: {bound}")));
        }
    }
    player::run(args)
}

fn remapping(text: &str) -> Result<(String, String), String> {
    match text.split_once(":=") {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("give FROM:=TO, as in /odom:=/robot1/odom".to_owned()),
    }
}

#[cfg(not(feature = "ros"))]
mod player {
    use super::super::failure::{Failure, NO_ROS};

    pub(super) fn run(_: &super::Args) -> Result<(), Failure> {
        Err(Failure::Failed(NO_ROS.into()))
    }
}

#[cfg(feature = "ros")]
mod player {
    use super::super::failure::Failure;
    use super::super::progress;
    use crate::ros::player::{Options, QosOverride, play};
    use crate::ros::stop::Stop;
    use lienav_io::files::read_text;
    use lienav_io::yaml;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Quality of service by topic, from a file.
    fn overrides(path: &Path) -> Result<BTreeMap<String, QosOverride>, Failure> {
        let wrong = |error: &dyn std::fmt::Display| Failure::WrongCall(format!("{}: {error}", path.display()));
        let text = read_text(path).map_err(|error| wrong(&error))?;
        yaml::from_str(&text).map_err(|error| wrong(&error))
    }

    /// The bar counts thousandths.
    const WHOLE: usize = 1000;

    pub(super) fn run(args: &super::Args) -> Result<(), Failure> {
        let stop = Stop::on_signals().map_err(Failure::failed)?;
        let options = Options {
            bag: args.bag.clone(),
            rate: args.rate,
            clock_hz: args.clock,
            topics: args.topics.clone(),
            remap: args.remap.clone(),
            repeat: args.repeat,
            start_offset_s: args.start_offset,
            delay_s: args.delay,
            duration_s: args.playback_duration,
            start_paused: args.start_paused,
            has_keys: !args.disable_keyboard_controls,
            qos: args.qos_profile_overrides_path.as_deref().map_or_else(|| Ok(BTreeMap::new()), overrides)?,
        };
        let bar = progress::bar(WHOLE, "playing");
        let played = play(&options, &stop, |part| bar.set_position((part * WHOLE as f64) as u64));
        bar.finish_and_clear();
        let played = played.map_err(Failure::failed)?;
        for warning in &played.warnings {
            tracing::warn!("{warning}");
        }
        Ok(())
    }
}
