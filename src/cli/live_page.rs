//! The page of a run that is going on: the newest data are beside it, and it asks for them.

use super::failure::{Failure, warn};
use crate::serve::{Answer, HTML, JSON, Server};
use lienav_eval::errors::Errors;
use lienav_eval::page::{Use, data_json, html};
use lienav_eval::plot::Subject;
use lienav_eval::run::Run;
use lienav_io::truth::Truth;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

/// A page that is being shown, as long as this process lives.
pub(super) struct LivePage {
    data: Arc<Mutex<String>>,
    /// Where it is; a test asks.
    #[cfg(test)]
    address: SocketAddr,
}

impl LivePage {
    /// Starts to show a page without any run, and says where.
    ///
    /// # Errors
    /// The port is taken.
    pub(super) fn start(port: u16) -> Result<Self, Failure> {
        let server = Server::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let server = server.map_err(|error| {
            Failure::Failed(format!("--page at port {port}: {error}; give another --port, or 0 for one that is free"))
        })?;
        let page = html(&[], Use::Live).map_err(Failure::failed)?;
        let data = Arc::new(Mutex::new(data_json(&[]).map_err(Failure::failed)?));
        let (shown, address) = (data.clone(), server.address());
        // Not joined: it ends with the process.
        let started = std::thread::Builder::new().name("page".into()).spawn(move || {
            let ended = server.run(move |path| match path {
                "/" => Answer::found(HTML, page.clone()),
                "/data.json" => Answer::found(JSON, shown.lock().unwrap_or_else(PoisonError::into_inner).clone()),
                _ => Answer::refused(404, "the page is at /"),
            });
            let Err(error) = ended;
            warn(&format!("the page has ended: {error}"));
        });
        started.map_err(|error| Failure::Failed(format!("--page: no thread: {error}")))?;
        warn(&format!("page at http://{address}/ until the run ends"));
        Ok(Self {
            data,
            #[cfg(test)]
            address,
        })
    }

    /// Shows these runs from now on.
    pub(super) fn show(&self, runs: &[Run], truth: &Truth) {
        let errors: Vec<Errors> = runs.iter().map(|run| Errors::new(run, truth)).collect();
        let subjects: Vec<Subject> =
            runs.iter().zip(&errors).map(|(run, errors)| Subject { run, truth, errors }).collect();
        if let Ok(json) = data_json(&subjects) {
            *self.data.lock().unwrap_or_else(PoisonError::into_inner) = json;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_eval::run::Estimate;
    use lienav_io::truth::MAX_TRUTH_GAP_S;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn get(page: &LivePage, path: &str) -> String {
        let mut stream = TcpStream::connect(page.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", page.address).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_page_has_no_run_at_first_and_then_what_was_heard() {
        let page = LivePage::start(0).unwrap();
        assert!(get(&page, "/").contains("connect-src 'self'"));
        assert!(get(&page, "/data.json").ends_with(r#""filters":[]}"#));
        let estimate = Estimate {
            stamp: lienav_base::stamp::Stamp::from_secs(1.0),
            pose: lienav_lie::Se2::new(1.0, 2.0, 0.5),
            covariance: nalgebra::Matrix3::identity(),
            update: None,
        };
        let run = Run { filter: "slam".into(), estimates: vec![estimate; 3], ..Run::default() };
        page.show(&[run], &Truth::new(&[], &[], MAX_TRUTH_GAP_S));
        let data = get(&page, "/data.json");
        assert!(data.contains(r#""steps":3"#) && data.contains(r#""name":"slam""#), "{data}");
        assert!(get(&page, "/../etc/passwd").starts_with("HTTP/1.1 404"));
    }
}
