//! The demo: a simulated robot on a circle, the three filters of the thesis beside the default one, and the evaluator,
//! each in a process of its own over ROS 2. In its second act a node is switched on in the middle of a lap, with the map
//! of the lap before, and without a start or identities: it has to find itself. The third is in [`space`].

mod space;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::processes::Processes;
use crate::ros::Ros;
use crate::{checks, setup, steps};

/// Names of filters, and of the namespaces that their nodes get.
const FILTERS: [(&str, &str); 4] =
    [("default", "default_filter"), ("reduced", "reduced"), ("ekf", "ekf"), ("fe-ekf", "fe_ekf")];
/// What the simulator of the second act has instead of a stereo pair.
const LIDAR: [&str; 3] = ["sensor.kind:=range_bearing", "sensor.range_std_m:=0.05", "sensor.bearing_std_rad:=0.02"];
/// The map of the second act, in the folder of the results.
const MAP: &str = "map.yaml";
/// Simulated seconds in a second: the 40 s of a lap in 8.
const RATE: &str = "5.0";
/// The run takes a tenth of this.
const PATIENCE: Duration = Duration::from_secs(120);
/// The lap has gone on for so long before the localizer is switched on: a quarter of it.
const LATE: Duration = Duration::from_secs(2);
/// What was sent last may still be on its way for this long.
const SETTLING: Duration = Duration::from_secs(1);

/// Runs the demo and prints the report of the evaluator; a bag and plots go to `out`.
pub fn run(root: &Path, out: &Path, seed: u64) -> Result<()> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::SeqCst)).context("no handler for Ctrl-C")?;

    let ros = setup::ready(root)?;
    let executables = built(root, &ros)?;
    let out = prepared(out)?;
    let mut cast = Cast { ros: &ros, executables, out: &out, running: Processes::default() };

    steps::quiet("a circle of 40 s, simulated, filtered and judged by six processes", || {
        cast.start_evaluator()?;
        for (filter, namespace) in FILTERS {
            cast.start_filter(filter, namespace, &root.join("config/simulation.yaml"))?;
        }
        cast.start_simulator(seed, FILTERS.len() + 1, &[])?;
        cast.running.wait_for("simulator_node", PATIENCE, &interrupted)?;
        std::thread::sleep(SETTLING);
        cast.running.interrupt("evaluate")?;
        cast.running.wait_for("evaluate", PATIENCE, &interrupted)
    })?;
    cast.running.stop()?;
    second_act(&mut cast, &root.join("config/simulation.yaml"), seed, &interrupted)?;
    space::act(&mut cast, seed, &interrupted)?;

    print!("\n{}", fs::read_to_string(out.join("report.txt")).context("the evaluator wrote no report")?);
    println!(
        "\nSwitched on in the middle of the lap, without a start and without identities, in the map of the lap before:"
    );
    print!("\n{}", fs::read_to_string(out.join("found/report.txt")).context("the evaluator wrote no report")?);
    println!("\nIn space, with an inertial sensor and a pair of cameras, from the bag of what slam3d_node heard:");
    print!("\n{}", fs::read_to_string(out.join("space/report.txt")).context("the evaluator wrote no report")?);
    println!("\nmap    {}", out.join(MAP).display());
    println!("bag    {}", out.join("bag").display());
    println!("plots  {}", out.join("comparison.svg").display());
    for (filter, _) in FILTERS {
        println!("       {}/{{trajectory,errors,nees}}.svg", out.join(filter).display());
    }
    println!("       {}/{{trajectory,errors,nees}}.svg", out.join("found").display());
    Ok(())
}

/// A lap with a lidar, of which the map is saved; and the same lap again, without identities: a localizer is switched on
/// somewhere on the way, and has nothing but the map.
fn second_act(cast: &mut Cast<'_>, parameters: &Path, seed: u64, interrupted: &AtomicBool) -> Result<()> {
    let map = cast.map();
    steps::quiet("the lap again with a lidar, and its map saved", || {
        cast.start_on_lidar("mapper", parameters, &["map.forget_after_s:=0.0", "map.autosave_s:=5.0"])?;
        cast.start_simulator(seed, 1, &LIDAR)?;
        cast.running.wait_for("simulator_node", PATIENCE, interrupted)?;
        std::thread::sleep(SETTLING);
        cast.running.interrupt("mapper")?;
        cast.running.wait_for("mapper", PATIENCE, interrupted)
    })?;
    if !map.is_file() {
        bail!("no map was saved: see {}", cast.out.join("logs").display());
    }
    steps::quiet("and again: a localizer is switched on somewhere, with this map and without identities", || {
        cast.start_judge_of_localizer()?;
        cast.start_simulator(seed, 1, &[&LIDAR[..], &["sensor.identified:=false"]].concat())?;
        std::thread::sleep(LATE);
        cast.start_on_lidar("localizer", parameters, &["map.mode:=localization", "initial.mode:=unknown"])?;
        cast.running.wait_for("simulator_node", PATIENCE, interrupted)?;
        std::thread::sleep(SETTLING);
        cast.running.interrupt("evaluate-found")?;
        cast.running.wait_for("evaluate-found", PATIENCE, interrupted)
    })?;
    cast.running.stop()
}

/// Builds the executables, with the variables of the tests: what those have built is not built again.
fn built(root: &Path, ros: &Ros) -> Result<PathBuf> {
    eprintln!("Building the nodes (minutes the first time, seconds later).");
    let mut build = checks::environment(root, Some(ros))?;
    // As the tests build them, or each would build what the other has built once more.
    build.args(["build", "--bins", "--features", &ros.features().join(",")]);
    let status = build.status().context("cargo could not be started")?;
    if !status.success() {
        bail!("the nodes could not be built: see above, and `cargo xtask doctor` for what this machine lacks");
    }
    Ok(checks::target(root).join("debug"))
}

/// The folder for the results, absolute and without the bag of an earlier demo.
fn prepared(out: &Path) -> Result<PathBuf> {
    let logs = out.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("could not make {}", logs.display()))?;
    let out = out.canonicalize()?;
    for bag in ["bag", "found/bag", "space/bag"].map(|bag| out.join(bag)) {
        if bag.join("metadata.yaml").is_file() {
            fs::remove_dir_all(&bag).with_context(|| format!("could not remove {}", bag.display()))?;
        }
    }
    for old in [MAP.to_owned(), format!("{MAP}.state")] {
        match fs::remove_file(out.join(&old)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("could not remove {old}"));
            }
            _ => {}
        }
    }
    Ok(out)
}

/// Who takes part.
struct Cast<'a> {
    ros: &'a Ros,
    executables: PathBuf,
    out: &'a Path,
    running: Processes,
}

impl Cast<'_> {
    fn start_evaluator(&mut self) -> Result<()> {
        let mut arguments = vec!["evaluate".to_owned(), "--live".to_owned()];
        for (filter, namespace) in FILTERS {
            arguments.extend(["--pose".to_owned(), format!("{filter}=/{namespace}/pose")]);
        }
        for (option, path) in [("--bag", self.out.join("bag")), ("--out", self.out.to_path_buf())] {
            arguments.extend([option.to_owned(), path.display().to_string()]);
        }
        self.start("evaluate", "lienav", &arguments)
    }

    fn map(&self) -> PathBuf {
        self.out.join(MAP)
    }

    fn start_judge_of_localizer(&mut self) -> Result<()> {
        let out = self.out.join("found");
        fs::create_dir_all(&out).with_context(|| format!("could not make {}", out.display()))?;
        // The simulator begins when the bag is listening, and not when the localizer is there.
        let (bag, out) = (out.join("bag").display().to_string(), out.display().to_string());
        let arguments = ["evaluate", "--live", "--pose", "found=/localizer/pose", "--bag", &bag, "--out", &out];
        let arguments = arguments.map(str::to_owned);
        self.start("evaluate-found", "lienav", &arguments)
    }

    /// A slam_node that knows the lidar and has the map of the second act.
    fn start_on_lidar(&mut self, name: &str, parameters: &Path, settings: &[&str]) -> Result<()> {
        let mut arguments = ros_arguments(&[
            "--params-file",
            &parameters.display().to_string(),
            "-p",
            &format!("map.file:={}", self.map().display()),
            "-p",
            "publish_tf:=false",
            "-p",
            "max_latency_s:=60.0",
            "-r",
            &format!("__ns:=/{name}"),
            "-r",
            "odom:=/odom",
            "-r",
            "features:=/features",
        ]);
        // Without identities, gates tell landmarks apart.
        let sensor = LIDAR.iter().chain(&["gate.probability:=0.999"]).chain(settings);
        arguments.extend(sensor.flat_map(|setting| ["-p".to_owned(), (*setting).to_owned()]));
        self.start(name, "slam_node", &arguments)
    }

    fn start_filter(&mut self, filter: &str, namespace: &str, parameters: &Path) -> Result<()> {
        let arguments = ros_arguments(&[
            "--params-file",
            &parameters.display().to_string(),
            "-p",
            &format!("filter:={filter}"),
            "-p",
            "publish_tf:=false", // one transform is one node's business
            "-p",
            "max_latency_s:=60.0", // it plays faster than a robot, and every cloud is to be used
            "-r",
            &format!("__ns:=/{namespace}"),
            "-r",
            "odom:=/odom",
            "-r",
            "features:=/features",
        ]);
        self.start(&format!("slam_node-{filter}"), "slam_node", &arguments)
    }

    /// The run of `seed`; it begins when there are so many listeners.
    fn start_simulator(&mut self, seed: u64, listeners: usize, parameters: &[&str]) -> Result<()> {
        let mut arguments = ros_arguments(&[
            "-p",
            &format!("seed:={seed}"),
            "-p",
            &format!("rate:={RATE}"),
            "-p",
            &format!("wait_for_subscribers:={listeners}"),
            "-p",
            "exit_at_end:=true",
        ]);
        arguments.extend(parameters.iter().flat_map(|parameter| ["-p".to_owned(), (*parameter).to_owned()]));
        self.start("simulator_node", "simulator_node", &arguments)
    }

    fn start(&mut self, name: &str, executable: &str, arguments: &[String]) -> Result<()> {
        let log = self.out.join("logs").join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
        let mut command = self.ros.command(self.executables.join(executable));
        command.args(arguments).stdout(file.try_clone()?).stderr(file);
        command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env("ROS_LOG_DIR", self.out.join("logs"));
        if std::env::var_os("ROS_DOMAIN_ID").is_none() {
            command.env("ROS_DOMAIN_ID", checks::own_domain().to_string());
        }
        self.running.start(name, command, log)
    }
}

fn ros_arguments(arguments: &[&str]) -> Vec<String> {
    std::iter::once(&"--ros-args").chain(arguments).map(|argument| (*argument).to_owned()).collect()
}
