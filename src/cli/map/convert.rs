//! `lienav map convert`: maps as others write them.

use super::super::failure::{Failure, print, warn};
use super::files::{self, not_written, refuse_existing};
use clap::builder::PossibleValuesParser;
use lienav_io::files::{read_text, write_atomically};
use lienav_io::map_file::MapFile;
use lienav_io::map_file::foreign::{self, Format, Options};
use lienav_io::space::tag_map::{TagFormat, TagMap};
use std::path::{Path, PathBuf};

/// Convert a map from and to CSV, GeoJSON, and the files of packages for tags
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The map that is read
    input: PathBuf,
    /// The map that is written
    output: PathBuf,
    /// Format of the input, where neither its name nor its content tells
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(names()))]
    from: Option<String>,
    /// Format of the output, where its name does not tell
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(names()))]
    to: Option<String>,
    /// Standard deviation of either coordinate of landmarks that state none, m
    #[arg(long, value_name = "M")]
    sigma_m: Option<f64>,
    /// Which tag bundle is the map, where there are several
    #[arg(long, value_name = "NAME")]
    bundle: Option<String>,
    /// Size of a tag, m, where the output has to state it
    #[arg(long, value_name = "M")]
    tag_size_m: Option<f64>,
    /// The map has tags in space, each with a place and a rotation, as slam3d_node and packages for tags have them
    #[arg(long, conflicts_with_all = ["from", "sigma_m", "bundle"])]
    space: bool,
    /// Replace the output if there is one
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "Examples:
  lienav map convert survey.csv hall.yaml --sigma-m 0.02
  lienav map convert tags.yaml hall.yaml --sigma-m 0.05      tag_bundles of apriltag_ros
  lienav map convert hall.yaml hall.geojson
  lienav map convert hall.yaml tags.yaml --to apriltag --tag-size-m 0.16
  lienav map convert tags3d.yaml hall.csv --space              tags of slam3d_node as a survey

| format    | what it is                                             | what is lost                                   |
|-----------|--------------------------------------------------------|------------------------------------------------|
| lienav    | a map of lienav                                        |                                                |
| csv       | id,class,x_m,y_m with sigma_m or xx_m2,xy_m2,yy_m2     | joint covariance                               |
| geojson   | points in metres of the map frame, not in degrees      | joint covariance, height                       |
| apriltag  | tag_bundles of apriltag_ros: a bundle is a map         | height, orientation, uncertainty, class        |
| tagslam   | bodies of TagSLAM: the tags of static bodies           | height, orientation, correlation, class        |
| fiducials | map of fiducial_slam: a line for each marker           | height, orientation, correlation, class        |

With --space, six numbers of each tag stay: formats are csv (a survey), apriltag (a bundle), tagslam (tags.yaml),
fiducials, rtabmap (Marker/Priors) and field (WPILib). Input is known by its name and content, output by its name or
--to. Without it, poses in space are projected onto the plane z = 0 of their map. A table has the names of its columns in its first row;
x and easting, y and northing, and sigma are understood, and tracks of cones with their colours. Commas, semicolons or
tabs separate columns. A field layout of WPILib (.json) is read as tags.";

fn names() -> Vec<&'static str> {
    let in_space = TagFormat::TABLE.map(|(name, _)| name);
    let in_space = in_space.into_iter().filter(|name| named(name).is_none());
    std::iter::once(LIENAV).chain(Format::TABLE.map(|(name, _)| name)).chain(in_space).collect()
}

const LIENAV: &str = "lienav";

/// `None` is a map of lienav.
fn named(name: &str) -> Option<Format> {
    Format::TABLE.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    for (option, value) in [("--sigma-m", args.sigma_m), ("--tag-size-m", args.tag_size_m)] {
        if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
            return Err(Failure::WrongCall(format!("{option} is {value}; give a length in m, more than 0")));
        }
    }
    refuse_existing(&args.output, args.force)?;
    if args.space {
        return run_in_space(args);
    }
    let names = [&args.from, &args.to].into_iter().flatten();
    if let Some(name) = names.into_iter().find(|name| *name != LIENAV && named(name).is_none()) {
        return Err(Failure::WrongCall(format!("{name} is a format of tags in space: add --space")));
    }
    let options = Options { sigma_m: args.sigma_m, bundle: args.bundle.clone(), tag_size_m: args.tag_size_m };
    let file = read(&args.input, args.from.as_deref(), &options)?;
    let to = match &args.to {
        Some(name) => named(name),
        None => Format::guess(&args.output, None),
    };
    let count = file.map.landmarks.len();
    match to {
        None => file.write(&args.output).map_err(|error| not_written(&args.output, &error))?,
        Some(format) => {
            let text = foreign::to_text(&file.map, format, &options);
            text.notes.iter().for_each(|note| warn(note));
            let written = write_atomically(&args.output, |out| out.write_all(text.content.as_bytes()));
            written.map_err(|error| not_written(&args.output, &error))?;
        }
    }
    print(&format!("{}: {count} landmarks\n", args.output.display()))
}

/// Tags in space.
fn run_in_space(args: &Args) -> Result<(), Failure> {
    let format = match &args.to {
        None => TagFormat::of(&args.output),
        Some(name) => {
            let known = TagFormat::TABLE.iter().find(|(known, _)| known == name).map(|(_, format)| *format);
            known.ok_or_else(|| Failure::WrongCall(format!("{name} is no format of tags in space")))?
        }
    };
    let map = TagMap::read(&args.input).map_err(|error| Failure::Failed(error.to_string()))?;
    if map.known.is_empty() {
        let why = "has no tags whose places in a map are stated";
        return Err(Failure::Failed(format!("{}: {why}", args.input.display())));
    }
    if map.refused > 0 {
        warn(&format!("{} tags are left out as invalid", map.refused));
    }
    let (text, notes) = map.to_text(format, args.tag_size_m);
    notes.iter().for_each(|note| warn(note));
    let written = write_atomically(&args.output, |out| out.write_all(text.as_bytes()));
    written.map_err(|error| not_written(&args.output, &error))?;
    print(&format!("{}: {} tags\n", args.output.display(), map.known.len()))
}

fn read(path: &Path, from: Option<&str>, options: &Options) -> Result<MapFile, Failure> {
    let text = read_text(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    let is_ours = text.lines().any(|line| line.starts_with("lienav_map:"));
    let format = match from {
        Some(name) => named(name),
        None if is_ours => None,
        None => Format::guess(path, Some(&text)),
    };
    let Some(format) = format else { return files::read(path) };
    let read = foreign::read(&text, format, options).map_err(|problems| {
        let shown: Vec<String> = problems.iter().take(3).map(ToString::to_string).collect();
        let more = problems.len().saturating_sub(shown.len());
        let more = if more > 0 { format!("; and {more} more problems") } else { String::new() };
        Failure::Failed(format!("{}: {}{more}", path.display(), shown.join("; ")))
    })?;
    read.notes.iter().for_each(|note| warn(note));
    Ok(MapFile { map: read.content, ..MapFile::default() })
}
