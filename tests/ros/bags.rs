//! A bag through the player and the node gives what the evaluator gets from the bag itself.

use super::process::{Process, domain, run_peer, start};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

const LIENAV: &str = env!("CARGO_BIN_EXE_lienav");

fn lienav(domain: &str, arguments: &[&str]) -> Process {
    start(LIENAV, domain, arguments)
}

fn run_to_end(process: Process) -> String {
    let (status, out, log) = process.output(Duration::from_secs(60));
    assert!(status.success(), "{log}");
    out
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A port that nobody listens at.
pub fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// The data of a live page.
fn page_data(port: &str) -> Value {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(stream, "GET /data.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    json(text.split_once("\r\n\r\n").unwrap().1)
}

#[test]
fn a_bag_played_twenty_times_as_fast_gives_the_numbers_of_the_bag_itself() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (bag, heard, domain) = (path("circle"), path("heard"), domain());
    run_to_end(lienav(&domain, &["simulate", "--seed", "5", "--out", &bag]));
    let parameters = &path("circle/params.yaml");
    let offline = json(&run_to_end(lienav(&domain, &["evaluate", &bag, "--json"])));
    // Streams are best effort: a machine that is too slow for this rate loses messages, and is given more time.
    let (shown, live) = [20, 5, 1]
        .into_iter()
        .map(|rate| heard_at(rate, &bag, parameters, &heard, &offline["steps"]))
        .find(|(_, live)| live["steps"] == offline["steps"])
        .expect("all is heard at some rate");
    // The page had been told the same while it listened.
    let shown = &shown["filters"][0];
    assert_eq!((&shown["steps"], &shown["name"]), (&live["steps"], &Value::from("slam")));
    assert_eq!(shown["report"]["position_rmse_m"], live["position_rmse_m"]);

    assert_eq!(live["dropped"], offline["dropped"]);
    for key in ["position_rmse_m", "position_max_m", "yaw_rmse_rad", "landmark_rmse_m", "nees_mean"] {
        let (live, offline) = (live[key].as_f64().unwrap(), offline[key].as_f64().unwrap());
        assert!((live - offline).abs() < 1e-9, "{key}: {live} live, {offline} offline");
    }
    // What was heard is a bag like any other, with all the input in it.
    let mut again = json(&run_to_end(lienav(&domain, &["evaluate", &heard, "--config", parameters, "--json"])));
    for key in ["position_rmse_m", "nees_mean", "steps"] {
        assert_eq!(again[key].take(), offline[key], "{key}");
    }
}

/// What the page shows and what is reported in the end, of a bag that is played to a node at `rate`.
fn heard_at(rate: u32, bag: &str, parameters: &str, heard: &str, steps: &Value) -> (Value, Value) {
    let _ = std::fs::remove_dir_all(heard);
    let domain = domain();
    let node = start(
        env!("CARGO_BIN_EXE_slam_node"),
        &domain,
        // Every cloud is to be used, however long this machine takes: half a second would be 25 ms of it.
        &["--ros-args", "--params-file", parameters, "-p", "use_sim_time:=true", "-p", "max_latency_s:=60.0"],
    );
    let port = free_port();
    let mut listener = lienav(&domain, &["evaluate", "--live", "--page", "--port", &port, "--json", "--bag", heard]);
    run_to_end(lienav(&domain, &["play", bag, "--clock", "--rate", &rate.to_string(), "--delay", "1.5"]));
    // The clouds that still wait for odometry at the end are released after the reorder window.
    let begun = std::time::Instant::now();
    let mut shown = page_data(&port);
    while shown["filters"][0]["steps"] != *steps && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(200));
        shown = page_data(&port);
    }
    listener.signal("INT");
    let live = json(&run_to_end(listener));
    drop(node);
    println!("at rate {rate}: {} of {steps} steps", live["steps"]);
    (shown, live)
}

#[test]
fn a_bag_that_is_played_can_be_paused_and_ends_after_its_duration() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bag = folder.path().join("circle").to_str().unwrap().to_owned();
    let domain = domain();
    run_to_end(lienav(&domain, &["simulate", "--seed", "5", "--out", &bag]));
    let mut player = lienav(&domain, &["play", &bag, "--rate", "2", "--start-paused"]);
    let Some(said) = run_peer("playback.py", &domain, &[]) else { return };
    println!("{said}");
    player.signal("INT");
    run_to_end(player);

    let begun = std::time::Instant::now();
    run_to_end(lienav(&domain, &["play", &bag, "--start-offset", "3", "--playback-duration", "2"]));
    let took = begun.elapsed().as_secs_f64();
    assert!((2.0..20.0).contains(&took), "{took} s for 2 s of 40");
}
