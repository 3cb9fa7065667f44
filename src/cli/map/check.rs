//! `lienav map check`: everything that is wrong with a map.

use super::super::failure::{Failure, print};
use lienav_io::map_file::{MapFile, MapFileError};
use std::path::PathBuf;

/// Say everything that is wrong with maps, with lines; exit code 1 if something is
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Maps
    #[arg(required = true, value_name = "MAP")]
    maps: Vec<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  lienav map check hall.yaml
  lienav map check maps/*.yaml";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut count = 0;
    for path in &args.maps {
        let problems = match MapFile::read(path) {
            Ok(map) if map.warnings.is_empty() => {
                print(&format!("{}: {} landmarks\n", path.display(), map.map.landmarks.len()))?;
                continue;
            }
            Ok(map) => map.warnings,
            Err(MapFileError::Bad { problems, .. }) => {
                problems.iter().map(|problem| format!("{}: {problem}", path.display())).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        count += problems.len();
        print(&format!("{}\n", problems.join("\n")))?;
    }
    match count {
        0 => Ok(()),
        1 => Err(Failure::Failed("there is one problem".into())),
        _ => Err(Failure::Failed(format!("there are {count} problems"))),
    }
}
