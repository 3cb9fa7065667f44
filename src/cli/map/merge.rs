//! `lienav map merge`: maps of one place as one.

use super::super::failure::{Failure, print, warn};
use super::files::{not_written, read, refuse_existing};
use lienav_io::map_file::MapFile;
use lienav_slam::SharedLandmark;
use std::path::PathBuf;

/// Fuse maps of one place, in one frame, into one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Two maps or more, whose errors are independent of each other
    #[arg(required = true, num_args = 2.., value_name = "MAP")]
    maps: Vec<PathBuf>,
    /// Where the map goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Landmarks that differ by more than their covariances explain with this probability disagree
    #[arg(long, value_name = "P", default_value_t = 0.9999)]
    probability: f64,
    /// Write the map although landmarks disagree, and replace a file that is there
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "Examples:
  lienav map merge monday.yaml tuesday.yaml --out hall.yaml
  lienav map merge north.yaml south.yaml east.yaml --out site.yaml

Landmarks with the same id are one landmark, estimated from all maps: their informations (inverse covariances) add up.
With joint covariances, the other landmarks of a map move along. Landmarks of one map alone are kept as they are.

Where two maps put one landmark farther apart than their covariances explain, it is listed with its squared Mahalanobis
distance (chi square, two degrees of freedom), and nothing is written: the landmark was moved, or the maps are not in
one frame. Remove the landmark from one of them, or fuse it all the same with --force.

Landmarks without an id were numbered, and numbers of different maps mean nothing to each other: give them ids first.";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if !(0.0..1.0).contains(&args.probability) {
        return Err(Failure::WrongCall(format!("--probability is {}; allowed: 0 … 1, without 1", args.probability)));
    }
    refuse_existing(&args.out, args.force)?;
    let bound = -2.0 * (-args.probability).ln_1p();
    let mut all: Option<MapFile> = None;
    let (mut text, mut disagreeing) = (String::new(), 0);
    for path in &args.maps {
        let next = read(path)?;
        let Some(so_far) = all.take() else {
            all = Some(MapFile { filter: None, parts: None, ..next });
            continue;
        };
        if let (Some(one), Some(other)) = (&so_far.frame, &next.frame)
            && one != other
        {
            let what = format!("{}: its frame is '{other}', and that of the maps before is '{one}'", path.display());
            return Err(Failure::Failed(format!("{what}; maps have to be in one frame")));
        }
        let merged =
            so_far.map.merged_with(&next.map).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))?;
        let known = so_far.map.landmarks.len();
        text.push_str(&format!(
            "{}: {} landmarks shared, {} new; chi square of all differences {:.1}, {} degrees of freedom\n",
            path.display(),
            merged.shared.len(),
            merged.map.landmarks.len() - known,
            merged.chi_square,
            2 * merged.shared.len()
        ));
        for SharedLandmark { id, difference, chi_square } in &merged.shared {
            if *chi_square > bound {
                disagreeing += 1;
                let (x, y) = (difference.x, difference.y);
                text.push_str(&format!("  landmark {id} differs by ({x:.3}, {y:.3}) m: chi square {chi_square:.1}\n"));
            }
        }
        all = Some(MapFile { map: merged.map, frame: so_far.frame.or(next.frame), ..MapFile::default() });
    }
    print(&text)?;
    if disagreeing > 0 && !args.force {
        return Err(Failure::Failed(format!(
            "{disagreeing} landmarks disagree, and nothing is written; remove them from one of the maps, or use --force"
        )));
    }
    let Some(file) = all else { return Ok(()) };
    if disagreeing > 0 {
        warn(&format!("{disagreeing} landmarks disagree, and are fused all the same"));
    }
    file.write(&args.out).map_err(|error| not_written(&args.out, &error))?;
    print(&format!("{}: {} landmarks\n", args.out.display(), file.map.landmarks.len()))
}
