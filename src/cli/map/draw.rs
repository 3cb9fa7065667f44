//! `lienav map draw`: a picture of a map.

use super::super::failure::{Failure, print};
use super::files::{not_written, read};
use lienav_eval::plot;
use lienav_io::files::write_atomically;
use std::path::PathBuf;

/// Draw a map as SVG: landmarks with their ids and 95 % ellipses
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The map
    map: PathBuf,
    /// Where the picture goes
    #[arg(long, value_name = "FILE.svg")]
    out: PathBuf,
}

const EXAMPLES: &str = "Examples:
  lienav map draw hall.yaml --out hall.svg";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let file = read(&args.map)?;
    let name = args.map.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let svg = plot::landmarks(&name, &file.map).map_err(Failure::failed)?;
    let written = write_atomically(&args.out, |out| out.write_all(svg.as_bytes()));
    written.map_err(|error| not_written(&args.out, &error))?;
    print(&format!("{}: {} landmarks\n", args.out.display(), file.map.landmarks.len()))
}
