//! Processes of a test: started, listened to, signalled, and never left behind.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A domain nobody else on this machine is likely to use now; ROS has 101 that are safe on Linux.
pub fn domain() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    (1 + (std::process::id().wrapping_mul(13).wrapping_add(next)) % 100).to_string()
}

/// A program that sees only the nodes of `domain` on this machine.
fn command(program: &str, domain: &str) -> Command {
    let mut command = Command::new(program);
    command.env("ROS_DOMAIN_ID", domain).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    command.env("ROS_LOG_DIR", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// `slam_node` with ROS arguments (after `--ros-args`).
pub fn slam_node(domain: &str, arguments: &[&str]) -> Process {
    start(env!("CARGO_BIN_EXE_slam_node"), domain, &[&["--ros-args"], arguments].concat())
}

/// `simulator_node` with ROS arguments (after `--ros-args`).
pub fn simulator_node(domain: &str, arguments: &[&str]) -> Process {
    start(env!("CARGO_BIN_EXE_simulator_node"), domain, &[&["--ros-args"], arguments].concat())
}

/// `attitude_node` with ROS arguments (after `--ros-args`).
pub fn attitude_node(domain: &str, arguments: &[&str]) -> Process {
    start(env!("CARGO_BIN_EXE_attitude_node"), domain, &[&["--ros-args"], arguments].concat())
}

/// Any program.
pub fn start(program: &str, domain: &str, arguments: &[&str]) -> Process {
    let mut command = command(program, domain);
    command.args(arguments);
    Process::of(command)
}

/// A process that is ended if the test does not wait for its end.
pub struct Process(Option<Child>);

impl Process {
    /// That of a command; what it prints and logs can be read here.
    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"))))
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("a process that was waited for is gone")
    }

    /// Sends a signal, by name.
    pub fn signal(&mut self, name: &str) {
        let pid = self.child().id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success(), "kill -s {name} {pid}");
    }

    /// Reads what is logged until a line holds `text`. The rest stays unread, which is little.
    pub fn wait_for_line(&mut self, text: &str) {
        let stderr = self.child().stderr.as_mut().unwrap();
        let (mut seen, mut byte) = (Vec::new(), [0]);
        while stderr.read(&mut byte).unwrap() == 1 {
            seen.push(byte[0]);
            if byte[0] == b'\n' && String::from_utf8_lossy(&seen).contains(text) {
                return;
            }
        }
        panic!("it ended without saying '{text}':\n{}", String::from_utf8_lossy(&seen));
    }

    /// Waits for the end, which has to come within `limit`: status, what was logged, and how long it took.
    pub fn wait(mut self, limit: Duration) -> (ExitStatus, String, Duration) {
        let took = self.until_end(limit);
        let (status, _, log) = self.output(limit);
        (status, log, took)
    }

    fn until_end(&mut self, limit: Duration) -> Duration {
        let begun = Instant::now();
        while self.child().try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < limit, "still running after {limit:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
        begun.elapsed()
    }

    /// Waits for the end: status, what was printed, and what was logged. Short output only: nobody reads it before.
    pub fn output(mut self, limit: Duration) -> (ExitStatus, String, String) {
        self.until_end(limit);
        let child = self.0.take().expect("it was there a moment ago");
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (status, text(&stdout), text(&stderr))
    }
}

/// Asked first, so that Fast DDS removes its shared memory; killed if that is of no use. Where the test has failed, what
/// the process has logged may say why.
impl Drop for Process {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        let _ = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
        let begun = Instant::now();
        while matches!(child.try_wait(), Ok(None)) && begun.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let status = child.wait();
        if std::thread::panicking() {
            println!("process {} ended with {status:?} and had logged:", child.id());
            let Some(mut stderr) = child.stderr.take() else { return };
            // Children of the process may hold the other end open: their lines are not waited for.
            let (sender, lines) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let mut log = Vec::new();
                let _ = stderr.read_to_end(&mut log);
                let _ = sender.send(log);
            });
            let log = lines.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
            println!("{}", String::from_utf8_lossy(&log));
        }
    }
}

/// A Python that has rclpy: `LIENAV_PYTHON`, or `python3`; `None` if neither has. Tried once, as rclpy takes a second.
pub fn python() -> Option<String> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    FOUND.get_or_init(find_python).clone()
}

fn find_python() -> Option<String> {
    let has_rclpy = |python: &String| {
        let found = Command::new(python).args(["-c", "import rclpy"]).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    [std::env::var("LIENAV_PYTHON").ok(), Some("python3".to_owned())].into_iter().flatten().find(has_rclpy)
}

/// Runs a script of this folder in `domain`, which has to end well; its arguments are passed on. Returns what it
/// printed, or `None` where there is no rclpy.
pub fn run_peer(script: &str, domain: &str, arguments: &[&str]) -> Option<String> {
    let Some(python) = python() else {
        println!("skipped: no Python with rclpy; set LIENAV_PYTHON to one");
        return None;
    };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/ros").join(script);
    let output = command(&python, domain).arg(path).args(arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script} says:\n{out}\n{err}");
    Some(out.into_owned())
}
