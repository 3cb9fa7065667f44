//! `lienav attitude`: an inertial recording through the attitude filter, and how good it was.

use super::failure::{Failure, print, say_removed};
use super::layers::{assignment, frames_in, warn_of_others};
use super::output::refuse_other;
use super::progress;
use clap::builder::PossibleValuesParser;
use lienav_attitude::{Config, SPECS};
use lienav_eval::attitude::drift::drift;
use lienav_eval::attitude::errors::Errors;
use lienav_eval::attitude::report::{Report, write};
use lienav_eval::attitude::{Begin, run as run_filter};
use lienav_eval::folder::remove_leftovers;
use lienav_integrate::attitude::Method;
use lienav_io::bag::Topics;
use lienav_io::convert::Frames;
use lienav_io::files::read_text;
use lienav_io::inertial::open;
use lienav_io::settings_file::{overlay, to_markdown, with};
use std::path::PathBuf;

/// Run the attitude filter over an inertial recording and report errors of the orientation
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(super) struct Args {
    /// broad:FILE, euroc:FOLDER, or a bag with sensor_msgs/Imu
    #[arg(required_unless_present = "list_settings")]
    source: Option<String>,
    /// How angular rates are integrated
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Method::NAMES))]
    method: Option<String>,
    /// Settings from a YAML file or a ROS parameter file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, over those of the file; --list-settings lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    settings: Vec<(String, String)>,
    /// Begin with the first true orientation instead of the first sample
    #[arg(long)]
    first_orientation: bool,
    /// For the gyroscope alone: take off the bias of this long from the first truth on, s
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    bias_window: f64,
    /// sensor_msgs/Imu of a bag [usually: /imu]
    #[arg(long, value_name = "TOPIC")]
    imu_topic: Option<String>,
    /// sensor_msgs/MagneticField of a bag [usually: /mag or /imu/mag]
    #[arg(long, value_name = "TOPIC")]
    mag_topic: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Also write report, errors (CSV) and a figure (SVG) into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// List everything that can be set, as a Markdown table
    #[arg(long)]
    list_settings: bool,
}

const EXAMPLES: &str = "Examples:
  lienav attitude broad:01_undisturbed_slow_rotation_A.csv.gz
  lienav attitude euroc:MH_01_easy --first-orientation --out results
  lienav attitude my_bag --imu-topic /imu/data_raw --method cayley --set gyroscope.delay_s=0 --json

Errors are root mean squares while the sensor is moved. Heading is known but for a constant where no magnetometer shows
north: its first error is taken off.";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let Some(source) = args.source.as_deref().filter(|_| !args.list_settings) else {
        return print(&to_markdown(&Config::default(), SPECS));
    };
    if !(args.bias_window.is_finite() && args.bias_window > 0.0) {
        return Err(Failure::WrongCall(format!("--bias-window is {}; allowed: more than 0", args.bias_window)));
    }
    refuse_other(args.out.as_deref())?;
    let config = config(args)?;
    let frames = match &args.config {
        Some(path) => frames_in(path, "attitude_node")?,
        None => Frames::default(),
    };
    let (imu, mag) = (args.imu_topic.clone(), args.mag_topic.clone());
    let topics = Topics { imu, mag, frames, ..Topics::default() };
    let spinner = progress::spinner(format!("reading {source}"));
    let recording = open(source, &topics);
    spinner.finish_and_clear();
    let mut recording = recording.map_err(Failure::failed)?;
    recording.warnings.extend(recording.remark_on_fields(config.magnetometer.enabled));
    let begin = if args.first_orientation { Begin::FirstOrientation } else { Begin::Cold };
    let outcome = run_filter(&recording, &config, begin).map_err(Failure::failed)?;
    let drift = drift(&recording, config.method, args.bias_window);
    let errors = Errors::new(&outcome, drift.as_ref().map(|drift| drift.bias));
    let report = Report::new(&recording, &config, &outcome, &errors, drift.as_ref());
    if let Some(out) = &args.out {
        say_removed(&remove_leftovers(out));
        write(out, &report, &errors).map_err(Failure::failed)?;
    }
    if args.json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&report).map_err(Failure::failed)?));
    }
    print(&report.to_text())?;
    match &args.out {
        Some(out) => print(&format!("\nwritten to {}\n", out.display())),
        None => Ok(()),
    }
}

/// Defaults, over them the file, over it the single settings.
fn config(args: &Args) -> Result<Config, Failure> {
    let mut config = Config::default();
    if let Some(path) = &args.config {
        let named = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", path.display()));
        let text = read_text(path).map_err(|e| named(&e))?;
        config = overlay(&config, &text, "attitude_node").map_err(|e| named(&e))?;
        warn_of_others(path, &text);
        config.validate().map_err(|e| named(&e))?;
    }
    let method = args.method.iter().map(|method| ("method", method.as_str()));
    for (name, value) in method.chain(args.settings.iter().map(|(n, v)| (n.as_str(), v.as_str()))) {
        config = with(&config, name, value).map_err(|e| Failure::WrongCall(format!("--set: {e}")))?;
    }
    config.validate().map_err(|e| Failure::WrongCall(e.to_string()))?;
    Ok(config)
}
