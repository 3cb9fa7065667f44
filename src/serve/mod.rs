//! A small HTTP server for pages on this machine: `lienav serve`, and the page of a run that is going on.
//!
//! It answers GET and HEAD, and nothing that it is sent changes anything. A browser is a door through which strangers'
//! pages knock at loopback: what names another host than this machine (DNS rebinding) is refused, and answers forbid
//! that they are read as anything else than what they are.

pub mod folder;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// What is answered to a request for a path.
#[derive(Debug)]
pub struct Answer {
    /// As HTTP has it.
    pub status: u16,
    /// What it is: the media type.
    pub kind: &'static str,
    /// Its bytes.
    pub body: Body,
    /// More headers.
    pub headers: Vec<(&'static str, &'static str)>,
}

/// The bytes of an answer. A file is read when there is room for it.
#[derive(Debug)]
pub enum Body {
    /// At hand.
    Bytes(Vec<u8>),
    /// A file, with its length.
    File(File, u64),
}

impl Body {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// The bytes; of a file that has grown meanwhile, its length of before.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::File(file, length) => {
                let mut bytes = Vec::new();
                file.take(length).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

impl<T: Into<Vec<u8>>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl Answer {
    /// Something that was found.
    pub fn found(kind: &'static str, body: impl Into<Body>) -> Self {
        Self { status: 200, kind, body: body.into(), headers: Vec::new() }
    }

    /// A sentence that says why there is nothing.
    pub fn refused(status: u16, why: &str) -> Self {
        Self { status, kind: TEXT, body: format!("{why}\n").into(), headers: Vec::new() }
    }
}

/// The media type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// The media type of a page.
pub const HTML: &str = "text/html; charset=utf-8";
/// The media type of data.
pub const JSON: &str = "application/json";

/// So many connections are open at a time; for another one, the oldest is closed.
const MOST_CONNECTIONS: usize = 64;
/// A request that is not complete by then is dropped.
const PATIENCE: Duration = Duration::from_secs(10);
/// So long may a connection last, whatever it is doing.
const LONGEST: Duration = Duration::from_secs(60);
/// Answers that wait to be sent take no more memory, kB.
const MOST_WAITING_KB: usize = 256 << 10;

/// A server that has its address, and answers nobody yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes an address; port 0 is any that is free.
    ///
    /// # Errors
    /// The address is taken, or not one of this machine.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers with what `answer` gives for the path of a request, `/` in front and still encoded; does not come back.
    ///
    /// # Errors
    /// There is no thread, or the address is lost.
    pub fn run(self, answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> io::Result<Infallible> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(self.accept(Arc::new(answer)))
    }

    async fn accept(self, answer: Arc<impl Fn(&str) -> Answer + Send + Sync + 'static>) -> io::Result<Infallible> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let room = Arc::new(Semaphore::new(MOST_WAITING_KB));
        let mut open: VecDeque<AbortHandle> = VecDeque::new();
        let is_local = self.address.ip().is_loopback();
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                // Too many open files, or a peer that has gone: others may come.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            open.retain(|connection| !connection.is_finished());
            if open.len() >= MOST_CONNECTIONS
                && let Some(oldest) = open.pop_front()
            {
                // Whoever opens connections and says nothing does not keep others out.
                oldest.abort();
            }
            let (answer, room) = (answer.clone(), room.clone());
            let connection = tokio::spawn(async move {
                // Held until the answer is sent.
                let held = Arc::new(Mutex::new(None));
                let service = service_fn(|request: Request<Incoming>| {
                    let (answer, room, held) = (answer.clone(), room.clone(), held.clone());
                    async move {
                        let given = answer_to(&request, is_local, &*answer);
                        let kilobytes = u32::try_from(given.body.length().div_ceil(1 << 10)).unwrap_or(u32::MAX);
                        let given = match room.try_acquire_many_owned(kilobytes) {
                            Ok(permit) => {
                                *held.lock().unwrap_or_else(PoisonError::into_inner) = Some(permit);
                                given
                            }
                            Err(_) => Answer::refused(503, "too many answers wait to be sent; ask again later"),
                        };
                        // An error closes the connection.
                        respond(given)
                    }
                });
                let mut connection = http1::Builder::new();
                connection.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
                // A peer that breaks off has its reasons, and one that takes no answer gets none.
                let _ = tokio::time::timeout(LONGEST, connection.serve_connection(TokioIo::new(stream), service)).await;
            });
            open.push_back(connection.abort_handle());
        }
    }
}

fn answer_to(request: &Request<Incoming>, is_local: bool, answer: &impl Fn(&str) -> Answer) -> Answer {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        Answer::refused(405, "only GET and HEAD are answered")
    } else if is_local && !host.is_some_and(is_this_machine) {
        Answer::refused(403, "the request names another host; open the page at 127.0.0.1 or localhost")
    } else {
        answer(request.uri().path())
    }
}

fn respond(given: Answer) -> io::Result<Response<Full<Bytes>>> {
    let mut response = Response::new(Full::new(Bytes::from(given.body.read()?)));
    *response.status_mut() = StatusCode::from_u16(given.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(given.kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    for (name, value) in given.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Whether the `Host` of a request is this machine, as a browser on it says.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    name.is_some_and(|name| {
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpStream;

    /// What a server says to a request, which is sent as it is.
    fn said(server: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(server).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn this_machine_is_answered_and_other_names_and_methods_are_not() {
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.address();
        std::thread::spawn(move || server.run(|path| Answer::found(TEXT, format!("you asked for {path}"))));
        let port = address.port();
        let found = said(address, &format!("GET /a?b HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
        assert!(found.starts_with("HTTP/1.1 200") && found.ends_with("you asked for /a"), "{found}");
        assert!(found.contains("nosniff") && found.contains("no-store"), "{found}");
        let evil = said(address, &format!("GET / HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n"));
        assert!(evil.starts_with("HTTP/1.1 403") && !evil.contains("asked"), "{evil}");
        let post = said(address, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
        assert!(post.starts_with("HTTP/1.1 405"), "{post}");
        let nonsense = said(address, "\u{1}\u{2} nonsense\r\n\r\n");
        assert!(nonsense.is_empty() || nonsense.starts_with("HTTP/1.1 400"), "{nonsense}");
    }

    #[test]
    fn connections_that_say_nothing_keep_nobody_out() {
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.address();
        std::thread::spawn(move || server.run(|_| Answer::found(TEXT, "answered")));
        let _silent: Vec<TcpStream> = (0..3 * MOST_CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let begin = std::time::Instant::now();
        let found = said(address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(found.ends_with("answered") && begin.elapsed() < Duration::from_secs(2), "{found}");
    }

    #[test]
    fn large_answers_that_are_not_taken_are_not_read_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let length = 60_u64 << 20;
        File::create(&path).unwrap().set_len(length).unwrap();
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.address();
        std::thread::spawn(move || {
            server.run(move |asked| match asked {
                "/large" => Answer::found(TEXT, Body::File(File::open(&path).unwrap(), length)),
                _ => Answer::found(TEXT, "answered"),
            })
        });
        let ask = |_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream
        };
        let _never_read: Vec<TcpStream> = (0..400).map(ask).collect();
        let begin = std::time::Instant::now();
        let found = said(address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(found.ends_with("answered") && begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    }

    #[test]
    fn a_host_is_this_machine_or_not() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "127.9.9.9", "[::1]:80"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[fe80::1]", "10.0.0.1"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
