//! `lienav record`: topics into a bag, for machines without rosbag2.

use super::failure::Failure;
use std::path::PathBuf;

/// Record what slam_node hears and says into an MCAP bag, until SIGINT (Ctrl-C)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Folder of the new bag
    bag: PathBuf,
    /// Only these topics [default: inputs and outputs of slam_node, ground truth, transforms, diagnostics]
    #[arg(long, num_args = 1.., value_name = "TOPIC")]
    topics: Vec<String>,
    /// Every topic there is
    #[arg(short, long, conflicts_with = "topics")]
    all: bool,
    /// Namespace of the robot, for names without a slash in front
    #[arg(long, default_value = "", value_name = "NAME")]
    namespace: String,
    /// Record no longer than this, s
    #[arg(long, value_name = "SECONDS")]
    duration: Option<f64>,
}

const EXAMPLES: &str = "Examples:
  lienav record drive_1
  lienav record drive_2 --topics /wheels/odometry /tags /tf_static --duration 60

The bag can be read while it grows, and after the process was killed, up to the last second.";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(seconds) = args.duration.filter(|seconds| !(*seconds > 0.0 && seconds.is_finite())) {
        return Err(Failure::WrongCall(format!("--duration is {seconds}; allowed: more than 0")));
    }
    recorder::run(args)
}

#[cfg(not(feature = "ros"))]
mod recorder {
    use super::super::failure::{Failure, NO_ROS};

    pub(super) fn run(_: &super::Args) -> Result<(), Failure> {
        Err(Failure::Failed(NO_ROS.into()))
    }
}

#[cfg(feature = "ros")]
mod recorder {
    use super::super::failure::{Failure, print};
    use super::super::progress;
    use crate::ros::record::{Options, record};
    use crate::ros::stop::Stop;
    use std::time::Duration;

    pub(super) fn run(args: &super::Args) -> Result<(), Failure> {
        let duration = args.duration.map(Duration::try_from_secs_f64).transpose();
        let options = Options {
            bag: args.bag.clone(),
            topics: args.topics.clone(),
            namespace: args.namespace.clone(),
            all: args.all,
            duration: duration.map_err(|error| Failure::WrongCall(format!("--duration: {error}")))?,
        };
        let stop = Stop::on_signals().map_err(Failure::failed)?;
        let spinner = progress::spinner("recording".to_owned());
        let recorded =
            record(&options, &stop, |messages| spinner.set_message(format!("recording: {messages} messages")));
        spinner.finish_and_clear();
        let recorded = recorded.map_err(Failure::failed)?;
        for topic in &recorded.missing {
            tracing::warn!("{topic}: nothing was received; nobody publishes it in this ROS_DOMAIN_ID");
        }
        let (count, topics) = (recorded.messages.values().sum::<u64>(), recorded.messages.len());
        print(&format!("{}: {count} messages of {topics} topics\n", args.bag.display()))
    }
}
