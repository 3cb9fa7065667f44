//! The package as a user builds it: with colcon, in a workspace, beside a package of messages; then what was installed
//! is run.

use std::error::Error;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn colcon_builds_and_installs_the_package() -> Outcome {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let colcon = Colcon::found();
    if !colcon.works() {
        println!("skipped: colcon or cargo-ament-build is not installed");
        return Ok(());
    }
    if !python_has_headers() {
        println!("skipped: Python has no headers, which the generators of interfaces want");
        return Ok(());
    }
    let workspace = tempfile::tempdir()?;
    let workspace = workspace.path();
    let sources = workspace.join("src");
    std::fs::create_dir(&sources)?;
    symlink(project, sources.join("lienav"))?;
    symlink(project.join("tests/colcon/lienav_probe_interfaces"), sources.join("lienav_probe_interfaces"))?;
    share_what_cargo_has_built(workspace)?;

    colcon.build(workspace)?;

    let install = workspace.join("install");
    for message_library in ["rosidl_typesupport_c", "rosidl_typesupport_introspection_c"] {
        let file = format!("lienav_probe_interfaces/lib/liblienav_probe_interfaces__{message_library}.so");
        assert!(install.join(&file).is_file(), "{file} was not installed");
    }
    for folder in ["launch", "config"] {
        let installed = install.join("lienav/share/lienav").join(folder);
        assert_eq!(names_in(&installed)?, names_in(&project.join(folder))?, "{}", installed.display());
    }
    let executables = install.join("lienav/lib/lienav");
    assert_eq!(
        names_in(&executables)?,
        ["attitude_node", "landmark_detector_node", "lienav", "simulator_node", "slam3d_node", "slam_node"]
    );

    let version = Command::new(executables.join("lienav")).arg("--version").output()?;
    assert!(version.status.success());
    assert_eq!(String::from_utf8(version.stdout)?.trim(), concat!("lienav ", env!("CARGO_PKG_VERSION")));
    node_starts_and_ends_on_sigterm(&executables.join("slam_node"), workspace)
}

/// colcon, and the variables it is run with.
struct Colcon {
    path: OsString,
}

impl Colcon {
    /// Beside the Python that has rclpy, if one is named, or else on PATH.
    fn found() -> Self {
        let old = std::env::var_os("PATH").unwrap_or_default();
        let python = std::env::var_os("LIENAV_PYTHON").map(PathBuf::from);
        let beside = python.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        let dirs = beside.into_iter().chain(std::env::split_paths(&old));
        Self { path: std::env::join_paths(dirs).unwrap_or(old) }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("env");
        command.arg(program).env("PATH", &self.path).stdin(Stdio::null());
        command
    }

    fn works(&self) -> bool {
        let answers = |program: &str, argument: &str| {
            let output = self.command(program).arg(argument).output();
            output.is_ok_and(|output| output.status.success())
        };
        answers("colcon", "--help") && answers("cargo-ament-build", "--help")
    }

    fn build(&self, workspace: &Path) -> Outcome {
        let mut command = self.command("colcon");
        command.args(["build", "--base-paths", "src", "--event-handlers", "console_cohesion+"]);
        let built = [
            ("lab", cfg!(feature = "lab")),
            ("apriltag_msgs", cfg!(feature = "apriltag_msgs")),
            ("vision_msgs", cfg!(feature = "vision_msgs")),
        ];
        let features: Vec<&str> = built.into_iter().filter_map(|(name, is_built)| is_built.then_some(name)).collect();
        if !features.is_empty() {
            // Those of this test, or the programs that other tests run would be built without them; and that by which
            // the test shares what is compiled.
            command.args(["--cargo-args", "--features", &format!("{},lienav-base/one-build", features.join(","))]);
        }
        if self.command("ninja").arg("--version").output().is_ok_and(|output| output.status.success()) {
            command.env("CMAKE_GENERATOR", "Ninja"); // a machine with wheels need not have make
        }
        let output = command.current_dir(workspace).output()?;
        if !output.status.success() {
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            return Err(format!("colcon build failed ({})\n{out}\n{err}", output.status).into());
        }
        Ok(())
    }
}

fn python_has_headers() -> bool {
    let python = std::env::var_os("LIENAV_PYTHON").unwrap_or_else(|| "python3".into());
    let look = "import pathlib, sysconfig; assert pathlib.Path(sysconfig.get_path('include'), 'Python.h').is_file()";
    Command::new(python).args(["-c", look]).output().is_ok_and(|output| output.status.success())
}

/// colcon gives each package a target folder of its own. This one gets the artefacts of the build that the test belongs
/// to, so that what is tested is colcon's part and not once more the compiler's.
fn share_what_cargo_has_built(workspace: &Path) -> Outcome {
    let built = Path::new(env!("CARGO_BIN_EXE_lienav")).parent().ok_or("an executable without a folder")?;
    if built.file_name().is_some_and(|profile| profile == "debug") {
        let target = workspace.join("build/lienav");
        std::fs::create_dir_all(&target)?;
        symlink(built, target.join("debug"))?;
    }
    Ok(())
}

fn names_in(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    names.retain(|name| name != "__pycache__");
    names.sort();
    Ok(names)
}

/// The node says in its log that it runs, and ends with success when it is told to.
fn node_starts_and_ends_on_sigterm(executable: &Path, home: &Path) -> Outcome {
    let mut command = Command::new(executable);
    command.env("HOME", home).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env_remove("ROS_LOG_DIR");
    if std::env::var_os("LIENAV_PYTHON").is_some() {
        command.env_remove("LD_LIBRARY_PATH"); // libraries found by luck would hide missing ones
    }
    let mut node = Running(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?);
    let log = node.0.stderr.take().ok_or("the node has no stderr")?;
    let (say, heard) = mpsc::channel();
    std::thread::spawn(move || BufReader::new(log).lines().map_while(Result::ok).for_each(|line| drop(say.send(line))));
    let first = heard.recv_timeout(Duration::from_secs(30)).map_err(|_| "the node logged nothing")?;
    assert!(first.contains("INFO"), "the node began with: {first}");

    let told = Command::new("sh").args(["-c", &format!("kill -TERM {}", node.0.id())]).status()?;
    assert!(told.success());
    let status = node.wait(Duration::from_secs(10))?;
    assert!(status.success(), "the node ended with {status}: {:?}", heard.try_iter().collect::<Vec<_>>());
    Ok(())
}

/// A child process that does not outlive the test.
struct Running(Child);

impl Running {
    fn wait(&mut self, patience: Duration) -> Result<ExitStatus, Box<dyn Error>> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("the node did not end".into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
