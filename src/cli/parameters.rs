//! `lienav parameters`: everything that can be set.

use super::failure::{Failure, print};
use lienav_eval::study::Study;
use lienav_io::settings_file::{to_markdown, to_ros_yaml};
use lienav_slam::{Config, SPECS};

/// List everything that can be set about the filter, with ranges and defaults
#[derive(clap::Args)]
pub(super) struct Args {
    /// As a Markdown table (the default)
    #[arg(long, conflicts_with = "yaml")]
    markdown: bool,
    /// As a ROS parameter file for slam_node, with the defaults
    #[arg(long)]
    yaml: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let config = Config::default();
    if args.yaml {
        return print(&to_ros_yaml(&config, SPECS));
    }
    let choices = to_markdown(&Study::from(config.clone()), &Study::choices());
    print(&format!(
        "{}\nOf `evaluate` and `monte-carlo` only, to study what each choice does:\n\n{choices}",
        to_markdown(&config, SPECS)
    ))
}
