//! `lienav serve`: reports in a browser.

use super::failure::{Failure, print, warn};
use crate::serve::Server;
use crate::serve::folder::Folder;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Show all reports of a folder in a browser on this machine
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A folder of results, or one above several: of `evaluate --out` and `monte-carlo --out`
    folder: PathBuf,
    #[command(flatten)]
    place: Place,
}

/// Where pages are shown.
#[derive(clap::Args)]
pub(super) struct Place {
    /// The port of the page; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 8032)]
    port: u16,
    /// The address of the page. Any other than one of this machine itself shows it to the network, to everybody there
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
}

const EXAMPLES: &str = "Examples:
  lienav evaluate my_bag --out results/monday && lienav serve results
  lienav serve results --port 0                      on a port that is free; its address is printed

Nothing that a browser sends changes anything. Files outside of the folder, hidden ones, and links out of it are not
shown.";

impl Place {
    /// A server that has this address.
    ///
    /// # Errors
    /// It is taken, or not one of this machine.
    pub(super) fn bind(&self) -> Result<Server, Failure> {
        let address = SocketAddr::new(self.address, self.port);
        let server = Server::bind(address);
        let server = server.map_err(|error| {
            Failure::Failed(format!("{address}: {error}; give another --port, or 0 for one that is free"))
        })?;
        if !self.address.is_loopback() {
            warn(&format!(
                "{} is not only of this machine: everybody on its network can read the reports",
                self.address
            ));
        }
        Ok(server)
    }
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let folder = Folder::open(&args.folder)
        .map_err(|error| Failure::Failed(format!("{}: {error}; give a folder of results", args.folder.display())))?;
    let server = args.place.bind()?;
    print(&format!("reports of {} at http://{}/, until Ctrl-C\n", args.folder.display(), server.address()))?;
    match server.run(move |path| folder.answer(path)) {
        Err(error) => Err(Failure::failed(error)),
    }
}
