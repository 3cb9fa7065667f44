//! `lienav convert`: any source as a rosbag2 bag.

use super::failure::{Failure, print, say_removed};
use super::progress;
use super::source::Source;
use lienav_io::bag;
use lienav_io::files::remove_leftovers;
use lienav_io::recording::Recording;
use lienav_io::to_bag::to_bag;
use std::path::{Path, PathBuf};

/// Write a recording as a rosbag2 bag (MCAP) with ground truth and params.yaml
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,
    /// The bag: a folder that is made
    out: PathBuf,
    #[command(flatten)]
    existing: Existing,
}

/// What happens to a bag that is there already.
#[derive(Clone, Copy, clap::Args)]
pub(super) struct Existing {
    /// Replace the bag if there is one
    #[arg(long)]
    force: bool,
}

impl Existing {
    /// The same for a writer.
    pub(super) fn choice(self) -> bag::Existing {
        if self.force { bag::Existing::Replace } else { bag::Existing::Refuse }
    }
}

const EXAMPLES: &str = "Examples:
  lienav convert woods:lost_in_the_woods woods_bag
  lienav convert mrclam:MRCLAM_Dataset6:1 d6r1 --force
  lienav convert old.db3 new_bag

The bag has /odom, /imu where there is one, /features, /ground_truth/pose and /ground_truth/landmarks.
A folder for `woods:` holds odometry.csv, measurements.csv, groundtruth.csv, landmarks.csv and parameters.csv, one for
`mrclam:` the .dat files of the data set, one for `victoria:` inputs.dat (t, speed, steering), measurements.dat (t,
range, bearing, diameter) and gps.dat (t, x, y).";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    write(&args.source.open()?, &args.out, args.existing)
}

/// Writes a recording as a bag and says what was written.
pub(super) fn write(recording: &Recording, out: &Path, existing: Existing) -> Result<(), Failure> {
    let replace = existing.choice();
    say_removed(&remove_leftovers(out, &|_| true));
    let bar = progress::bar(recording.inputs.len(), "writing");
    let result = to_bag(recording, out, replace, &mut |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let converted = result.map_err(Failure::failed)?;
    let mut text = format!("{}: {} messages of {}\n", out.display(), converted.messages, recording.name);
    text.extend(recording.dropped.iter().map(|(reason, count)| format!("left out: {count} × {reason}\n")));
    text.extend(converted.before_the_epoch.iter().map(|(topic, (count, first))| {
        let cause = format!("stamped before 1970 (the first at {first} s), which a bag cannot store");
        format!("left out: {count} × {topic}, {cause}\n")
    }));
    text.extend(recording.warnings.iter().map(|warning| format!("warning: {warning}\n")));
    print(&text)
}
