//! The page of a report, in a browser as a reader opens it; `lienav serve`, `--expect` and `compare` as commands.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn lienav(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lienav")).args(words).env_remove("RUST_LOG").output().unwrap()
}

fn done(words: &[&str]) -> String {
    let output = lienav(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A short simulated run as a bag, and its results through two filters.
fn results(folder: &Path) -> (String, String) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (bag, out) = (path("circle"), path("results/two"));
    done(&["simulate", "--seed", "3", "--set", "trajectory.laps=0.5", "--out", &bag]);
    done(&["evaluate", &bag, "--filter", "default", "--filter", "ekf", "--clutter", "1", "--out", &out]);
    (bag, out)
}

/// Runs the checks of `tests/page.py` and returns what they say.
fn browse(page: &str) -> String {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/page.py");
    let output = Command::new("python3").arg(script).arg(page).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    eprint!("{said}");
    said
}

#[test]
fn a_page_opens_in_a_browser_and_does_what_it_is_told_by_mouse_and_by_keyboard() {
    let folder = tempfile::tempdir().unwrap();
    let (_, out) = results(folder.path());
    let said = browse(&format!("{out}/report.html"));
    assert!(said.contains("as they should be") || said.contains("skipped"), "{said}");
}

#[test]
fn the_page_of_an_experiment_opens_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("mc").to_str().unwrap().to_owned();
    let filters = ["--filters", "reduced,ekf", "--runs", "3"];
    done(&[&["monte-carlo", "thesis-circle-10hz-low-q1", "--out", &out][..], &filters].concat());
    let said = browse(&format!("{out}/report.html"));
    assert!(said.contains("as it should be") || said.contains("skipped"), "{said}");
}

/// A child that does not outlive its test.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn serve_shows_every_report_of_a_folder_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (_, out) = results(folder.path());
    fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    let root = Path::new(&out).parent().unwrap();
    let mut server = Guard(
        Command::new(env!("CARGO_BIN_EXE_lienav"))
            .args(["serve", root.to_str().unwrap(), "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{line}");
    let index = get(&address, "/");
    assert!(index.contains("href=\"two/\"") && index.contains("default<br>ekf"), "{index}");
    assert!(get(&address, "/two/").contains("<title>lienav report</title>"));
    assert!(get(&address, "/two/ekf/errors.csv").contains("stamp_s,"));
    for path in ["/../secret.txt", "/%2e%2e/secret.txt", "/two/../../secret.txt", "/..%2fsecret.txt"] {
        let answer = get(&address, path);
        assert!(answer.starts_with("HTTP/1.1 404") || answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
        assert!(!answer.contains("secret\n"), "{path}");
    }
    let taken = lienav(&["serve", root.to_str().unwrap(), "--port", address.rsplit(':').next().unwrap()]);
    let said = String::from_utf8(taken.stderr).unwrap();
    assert!(taken.status.code() == Some(1) && said.contains("--port"), "{said}");
}

#[test]
fn expectations_that_do_not_hold_are_named_one_a_line_and_the_exit_code_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (bag, _) = results(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (good, bad, xml) = (path("good.yaml"), path("bad.yaml"), path("junit.xml"));
    fs::write(&good, "every_filter:\n  position_rmse_m: {max: 5}\n  dropped.not_finite: {max: 0}\n").unwrap();
    let expected = "every_filter:\n  position_rmse_m: {max: 0.000001}\n  nees_mean: {min: 1000}\n  steps: {min: 1}\n";
    fs::write(&bad, expected).unwrap();
    done(&["evaluate", &bag, "--expect", &good, "--junit", &xml]);
    assert!(fs::read_to_string(&xml).unwrap().contains("failures=\"0\""));
    let output = lienav(&["evaluate", &bag, "--expect", &bad, "--junit", &xml]);
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((output.status.code(), lines.len()), (Some(3), 3), "{said}");
    assert!(lines[0].contains("nees_mean") && lines[0].contains("at least 1000"), "{said}");
    assert!(lines[2].contains("2 of 3 expectations"), "{said}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("position RMSE"));
    assert!(fs::read_to_string(&xml).unwrap().contains("failures=\"2\""));
    fs::write(&bad, "every_filter: {position_rmse: {max: 1}}").unwrap();
    let output = lienav(&["evaluate", &bag, "--expect", &bad]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("position_rmse_m"), "{said}");
}

#[test]
fn compare_finds_what_became_worse() {
    let folder = tempfile::tempdir().unwrap();
    let (bag, two) = results(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (a, b) = (path("a"), path("b"));
    done(&["evaluate", &bag, "--out", &a]);
    done(&["evaluate", &bag, "--every", "8", "--out", &b]);
    let rows: serde_json::Value = serde_json::from_str(&done(&["compare", &a, &b, "--json"])).unwrap();
    let [low, high] = [0, 1].map(|end| rows[0]["interval"][end].as_f64().unwrap());
    assert!(rows[0]["pairs"].as_u64().unwrap() > 10 && low <= high, "{rows}");
    assert!(done(&["compare", &a, &a]).contains("no difference is seen"));
    assert!(done(&["compare", &two, &two]).contains("ekf"));
}
