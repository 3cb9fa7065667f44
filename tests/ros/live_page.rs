//! The page of `lienav evaluate --live --page`, in a browser, while a robot drives.

use super::bags::free_port;
use super::process::{domain, simulator_node, slam_node, start};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

/// What the page is drawn from, at this moment.
fn data(port: &str) -> String {
    let mut text = String::new();
    let address = format!("127.0.0.1:{port}");
    if let Ok(mut stream) = TcpStream::connect(&address) {
        let asked = write!(stream, "GET /data.json HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let _ = asked.and_then(|()| stream.read_to_string(&mut text));
    }
    text
}

#[test]
fn a_browser_shows_the_run_while_the_robot_drives() {
    let on = domain();
    let port = free_port();
    let mut listener = start(env!("CARGO_BIN_EXE_lienav"), &on, &["evaluate", "--live", "--page", "--port", &port]);
    listener.wait_for_line("page at");
    let parameters = concat!(env!("CARGO_MANIFEST_DIR"), "/config/simulation.yaml");
    let node = slam_node(&on, &["--params-file", parameters]);
    let robot = simulator_node(&on, &["--params-file", parameters]);
    // Also where there is no browser to look at it: the data of the page are those of a robot that drives.
    let begun = Instant::now();
    while !data(&port).contains(r#""steps":"#) {
        assert!(begun.elapsed() < Duration::from_secs(60), "no run on the page: {}", data(&port));
        std::thread::sleep(Duration::from_millis(100));
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page.py");
    let seen = Command::new("python3").arg(script).arg(format!("http://127.0.0.1:{port}/")).output().unwrap();
    drop((robot, node));
    let said = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(seen.status.success(), "{said}{}", String::from_utf8_lossy(&seen.stderr));
    assert!(said.contains("live: ") || said.contains("skipped"), "{said}");
    print!("{said}");
    listener.signal("INT");
    let (status, log, _) = listener.wait(Duration::from_secs(20));
    assert!(status.success(), "{log}");
}
