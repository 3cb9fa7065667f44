//! `lienav evaluate`: a recording through one filter or several, and how good they were.

use super::arguments::{at_least_one, refuse_twins};
use super::expect::Expect;
use super::failure::{Failure, print, say_removed};
use super::layers::Layers;
use super::output::refuse_other;
use super::progress;
use super::source::{TopicArgs, open_stream};
use super::space;
use clap::builder::PossibleValuesParser;
use lienav_eval::errors::Errors;
use lienav_eval::expect::Expectations;
use lienav_eval::method::Method;
use lienav_eval::motions::motions_of;
use lienav_eval::plot::Subject;
use lienav_eval::report::{Report, to_json, to_text};
use lienav_eval::run::{Run, run_in_map, run_stream, run_study, run_watched, true_map};
use lienav_eval::space::robot;
use lienav_eval::space::run::Options;
use lienav_eval::study::Study;
use lienav_eval::{folder, harder};
use lienav_io::bag::Topics;
use lienav_io::files::remedy;
use lienav_io::map_file::MapFile;
use lienav_io::recording::{Input, Recording, Stream};
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_slam::{Filter, LandmarkMap, MapLandmark, MapMode};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Names of filters that the plane does not have.
const ONLY_IN_SPACE: [&str; 2] = ["group", "window"];

/// Run filters over a recording, or listen to the nodes, and report errors and consistency
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(super) struct Args {
    /// Bag (folder, .mcap or .db3), woods:FOLDER, mrclam:FOLDER:ROBOT, victoria:FOLDER, plaza:FOLDER or
    /// g2o:FILE[:TRUTH]; in space euroc-tracks:, starloc:, starry:, tagslam: or frc:FOLDER, space:NAME[:SEED], or a bag
    /// with what slam3d_node hears: pixels as features, or space-bag:BAG
    #[arg(required_unless_present = "live")]
    source: Option<String>,
    /// Which filter, or the batch estimate; may be given several times
    #[arg(long = "filter", value_name = "NAME",
          value_parser = PossibleValuesParser::new(Method::names().chain(ONLY_IN_SPACE)))]
    filters: Vec<String>,
    /// Several filters at once; in space default, reduced, ekf, fe-ekf, oc-ekf, group and window
    #[arg(long = "filters", value_name = "NAME,…", value_delimiter = ',', conflicts_with_all = ["filters", "live"])]
    several: Vec<String>,
    /// Of starry:FOLDER, which steps, counted from 1 [default: 1215..1715, the published ones]
    #[arg(long, value_name = "FIRST..LAST", value_parser = space::steps, conflicts_with = "live")]
    steps: Option<RangeInclusive<usize>>,
    /// Of frc:FOLDER, speeds of the chassis over the whole log, or increments where the log has them
    #[arg(long, value_enum, default_value_t, conflicts_with = "live")]
    odometry: space::OdometryArg,
    #[command(flatten)]
    layers: Layers,
    /// Gaps in the ground truth up to this long are bridged, s
    #[arg(long, value_name = "SECONDS", default_value_t = MAX_TRUTH_GAP_S)]
    max_truth_gap: f64,
    #[command(flatten)]
    map: MapArgs,
    #[command(flatten)]
    harder: Harder,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    expect: Expect,
    #[command(flatten)]
    live: LiveArgs,
    #[command(flatten)]
    topics: TopicArgs,
}

/// Standard deviation of the true landmarks on the plane, m.
const MAP_STD_M: f64 = 0.02;

/// What is known before the run.
#[derive(clap::Args)]
#[command(next_help_heading = "In a known map")]
struct MapArgs {
    /// A map file, or `truth`: the true landmarks of the source. map.mode is `localization` unless it is set
    #[arg(long, value_name = "FILE", conflicts_with_all = ["live", "save_map"])]
    map: Option<PathBuf>,
    /// Standard deviation of the true landmarks, m [default: 0.02; of starloc:FOLDER 0.05]
    #[arg(long, value_name = "METRES", requires = "map")]
    map_std: Option<f64>,
    /// Take the identities of measurements away, and report how right the associations were
    #[arg(long, conflicts_with_all = ["live", "save_map"])]
    ignore_ids: bool,
}

impl MapArgs {
    /// The map that is known, if there is one.
    fn known(&self, recording: &Recording) -> Result<Option<LandmarkMap>, Failure> {
        let Some(path) = &self.map else { return Ok(None) };
        if path.as_os_str() == "truth" {
            let map_std = self.std()?.unwrap_or(MAP_STD_M);
            if recording.true_landmarks.is_empty() {
                return Err(Failure::Failed("--map truth: the source has no true landmarks; give a map file".into()));
            }
            return Ok(Some(true_map(recording, map_std)));
        }
        let file = MapFile::read(path).map_err(Failure::failed)?;
        file.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        match file.parts {
            Some(parts) => Ok(Some(parts.known_map().map_err(Failure::failed)?)),
            None => Ok(Some(file.map)),
        }
    }

    /// The standard deviation that was given.
    fn std(&self) -> Result<Option<f64>, Failure> {
        match self.map_std {
            Some(std) if !(std.is_finite() && std >= 0.0) => {
                Err(Failure::WrongCall(format!("--map-std is {std}; allowed: 0 or more")))
            }
            std => Ok(std),
        }
    }

    /// Puts the map in force, unless a mode is set.
    fn set_mode(&self, study: &mut Study) {
        if self.map.is_some() && study.map.mode == MapMode::Mapping {
            study.map.mode = MapMode::Localization;
        }
    }

    /// Hides what is to be hidden of the input; what is hidden is there for the judge.
    fn hide(&self, recording: &mut Recording) {
        if !self.ignore_ids {
            return;
        }
        let identities = recording.identities.get_or_insert_default();
        for input in &mut recording.inputs {
            if let Input::Scan(features) = input {
                identities.hide(features);
            }
        }
    }
}

/// What makes the source harder.
#[derive(clap::Args)]
#[command(next_help_heading = "Made harder")]
struct Harder {
    /// Use only every N-th cloud of features
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one(),
          conflicts_with_all = ["live", "save_map"])]
    every: u64,
    /// Add so many false measurements to every cloud, as far and wide as the true ones
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=10_000),
          conflicts_with_all = ["live", "save_map"])]
    clutter: u64,
    /// Where these come from
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "clutter")]
    clutter_seed: u64,
}

impl Harder {
    fn is_asked_for(&self) -> bool {
        self.every > 1 || self.clutter > 0
    }

    fn make(&self, recording: &mut Recording) {
        if self.every > 1 {
            harder::keep_every(recording, usize::try_from(self.every).unwrap_or(usize::MAX));
        }
        if self.clutter > 0 {
            harder::add_clutter(recording, usize::try_from(self.clutter).unwrap_or(usize::MAX), self.clutter_seed);
        }
    }
}

/// Where the report goes.
#[derive(clap::Args)]
struct Output {
    /// Print JSON instead of a table: an object for one filter, an array for several
    #[arg(long)]
    json: bool,
    /// Also write the map at the end of the run, and the filter as it is then: slam_node can go on from there
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    save_map: Option<PathBuf>,
    /// Also write report, page (report.html), trajectories (TUM), errors (CSV) and plots (SVG) into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What is listened to.
#[derive(clap::Args)]
#[command(next_help_heading = "Listening to running nodes")]
struct LiveArgs {
    /// Listen to running nodes instead of reading a SOURCE
    #[arg(long, conflicts_with_all = ["source", "filters", "config", "settings"])]
    live: bool,
    /// A pose topic to judge, under this name; may be given several times [default: slam=pose]
    #[arg(long = "pose", value_name = "NAME=TOPIC", requires = "live", value_parser = named_topic)]
    poses: Vec<(String, String)>,
    /// Stop listening after this long, s; otherwise Ctrl-C ends it, or 5 s of silence
    #[arg(long, value_name = "SECONDS", requires = "live")]
    duration: Option<f64>,
    /// Show the report as a page on this machine while it listens
    #[arg(long, requires = "live")]
    page: bool,
    /// The port of that page; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 8033, requires = "page")]
    port: u16,
    /// Keep what was heard as a bag: a folder that is made
    #[arg(long, value_name = "DIR", requires = "live")]
    bag: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  lienav evaluate my_bag                                   with the filter and sensors that params.yaml in the bag names
  lienav evaluate woods:lost_in_the_woods --filter ekf --filter reduced --out results
  lienav evaluate woods:lost_in_the_woods --filter default --filter batch
  lienav evaluate mrclam:MRCLAM_Dataset6:1 --set gate.probability=0.99 --json
  lienav evaluate my_bag --map hall.yaml --set initial.mode=unknown   where in this map the robot is
  lienav evaluate victoria:victoria_park --clutter 10       trunks without identity, judged by the GPS fixes
  lienav evaluate g2o:run_0.graph.gz:truth.graph.gz --ignore-ids
  lienav evaluate starloc:eight_s2 --filters default,ekf --json               in space, with an inertial sensor
  lienav evaluate drone_1 --config slam3d.yaml               in space, what slam3d_node makes of this bag
  lienav evaluate my_bag --expect expectations.yaml --junit lienav.xml     as a test: docs/report.md
  lienav evaluate my_bag --save-map hall.yaml                the map at the end, for slam_node's map.file
  lienav evaluate --live --page                               the page of the report while the robot drives
  lienav evaluate --live --pose ekf=/ekf/pose --pose reduced=/reduced/pose --duration 60 --out results

Errors are in the map frame without alignment, which supposes that the initial pose is given; the numbers \"after
alignment\" are after the rigid motion that fits the trajectory best. A NEES of 3 is right; more is overconfident.
The names batch… are no filters: they estimate the whole run at once, after its end. batch uses what the default filter
accepts; batch-euler moves by Euler's steps; batch-cauchy uses gated observations too, under Cauchy's loss;
batch-calibrated also fits the scales of both velocities and the biases of range and bearing.";

impl Args {
    /// Whether it listens to running nodes.
    pub(super) fn is_live(&self) -> bool {
        self.live.live
    }

    /// The filters that were named, by either option.
    fn named_filters(&self) -> &[String] {
        if self.several.is_empty() { &self.filters } else { &self.several }
    }
}

/// The same for a recording in space, with the options that it has.
fn run_in_space(source: &str, args: &Args) -> Result<(), Failure> {
    let refused = [
        ("--config and --set", args.layers.is_asked_for()),
        ("--every and --clutter", args.harder.is_asked_for()),
        ("--ignore-ids", args.map.ignore_ids),
        ("--save-map", args.output.save_map.is_some()),
        ("--expect", args.expect.is_asked_for()),
        ("--map with a file", args.map.map.as_ref().is_some_and(|map| map.as_os_str() != "truth")),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, is_asked_for)| *is_asked_for) {
        return Err(Failure::WrongCall(format!("{option}: not for recordings in space; leave it out")));
    }
    space::evaluate(&space::Evaluation {
        source,
        filters: args.named_filters().to_vec(),
        options: Options {
            has_map: args.map.map.is_some(),
            map_sigma: args.map.std()?,
            steps: args.steps.clone(),
            window: 0,
            odometry: args.odometry.into(),
        },
        json: args.output.json,
        out: args.output.out.as_deref(),
    })
}

/// The same for a bag of a robot in space: its node, offline.
fn run_robot(source: &str, topics: &Topics, args: &Args) -> Result<(), Failure> {
    let refused = [
        ("--every and --clutter", args.harder.is_asked_for()),
        ("--ignore-ids", args.map.ignore_ids),
        ("--save-map", args.output.save_map.is_some()),
        ("--expect", args.expect.is_asked_for()),
        ("--map truth", args.map.map.as_ref().is_some_and(|map| map.as_os_str() == "truth")),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, is_asked_for)| *is_asked_for) {
        return Err(Failure::WrongCall(format!("{option}: not for bags of a robot in space; leave it out")));
    }
    let bag = Path::new(source.strip_prefix(robot::PREFIX).unwrap_or(source));
    let mut parameters = args.layers.of_robot(bag)?;
    if let Some(map) = &args.map.map {
        parameters.node.map.file = map.display().to_string();
        parameters.config.map.mode = lienav_space::MapMode::Localization;
    }
    let (filters, out) = (args.named_filters().to_vec(), args.output.out.as_deref());
    space::evaluate_robot(space::RobotEvaluation { bag, topics, parameters, filters, json: args.output.json, out })
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.max_truth_gap.is_nan() || args.max_truth_gap < 0.0 {
        return Err(Failure::WrongCall(format!("--max-truth-gap is {}; allowed: 0 or more", args.max_truth_gap)));
    }
    refuse_other(args.output.out.as_deref())?;
    refuse_twins(args.named_filters().iter().chain(args.live.poses.iter().map(|(name, _)| name)))?;
    let expected = args.expect.read()?;
    let told = |runs: &[Run], truth: &Truth| report(runs, truth, args, expected.as_ref());
    let Some(source) = &args.source else {
        let (runs, truth) = live::run(args)?;
        return told(&runs, &truth);
    };
    if space::is_in_space(source) {
        return run_in_space(source, args);
    }
    if robot::is_bag(source, &(&args.topics).into()) {
        return run_robot(source, &(&args.topics).into(), args);
    }
    if args.odometry != space::OdometryArg::default() {
        return Err(Failure::WrongCall("--odometry is for frc:FOLDER alone".to_owned()));
    }
    if args.steps.is_some() {
        return Err(Failure::WrongCall("--steps is for starry:FOLDER alone".to_owned()));
    }
    let topics = Topics { frames: args.layers.frames()?, parameters: args.layers.inputs()?, ..(&args.topics).into() };
    let mut stream = open_stream(source, &topics)?;
    let mut study = args.layers.over(stream.recording().config.as_ref())?;
    args.map.set_mode(&mut study);
    let filters = args.named_filters();
    if let Some(unknown) = args.several.iter().find(|name| Method::names().all(|known| known != name.as_str())) {
        let names: Vec<&str> = Method::names().collect();
        return Err(Failure::WrongCall(format!("there is no filter '{unknown}'; there are {}", names.join(", "))));
    }
    let filters = if filters.is_empty() { std::slice::from_ref(&study.filter) } else { filters };
    let studies: Vec<Study> = filters.iter().map(|filter| Study { filter: filter.clone(), ..study.clone() }).collect();
    if let Some(path) = &args.output.save_map {
        let (recording, run) = run_saving(stream, &studies, path)?;
        let truth = Truth::of(&recording, args.max_truth_gap);
        return told(&[run], &truth);
    }
    let inputs: Vec<Input> = stream.by_ref().take(MOST_HELD).collect();
    let (recording, runs) = if inputs.len() < MOST_HELD {
        let mut recording = Recording { inputs, ..stream.finish() };
        args.harder.make(&mut recording);
        args.map.hide(&mut recording);
        let map = args.map.known(&recording)?;
        let run = |study| run_one(&recording, study, map.as_ref(), args.output.out.is_some());
        let runs = studies.iter().map(run).collect::<Result<Vec<_>, _>>()?;
        (recording, runs)
    } else if args.map.map.is_some() || args.map.ignore_ids || args.harder.is_asked_for() {
        let options = "--map, --ignore-ids, --every and --clutter";
        let refused = format!("{options} take recordings of up to {MOST_HELD} messages; cut this one");
        return Err(Failure::WrongCall(refused));
    } else {
        run_together(inputs, stream, &studies)?
    };
    let truth = Truth::of(&recording, args.max_truth_gap);
    told(&runs, &truth)
}

/// So many messages are held in memory and given to one filter after the other; a longer recording is read once, by
/// all of them together.
const MOST_HELD: usize = 400_000;

/// Runs all filters over the input that was read and the rest of the stream.
fn run_together(read: Vec<Input>, mut stream: Stream, studies: &[Study]) -> Result<(Recording, Vec<Run>), Failure> {
    let spinner = progress::spinner("evaluating".to_owned());
    let equipment = stream.recording().equipment.clone();
    let runs = run_stream(read.into_iter().chain(stream.by_ref()), &equipment, studies);
    spinner.finish_and_clear();
    let (mut runs, recording) = (runs.map_err(Failure::failed)?, stream.finish());
    runs.iter_mut().for_each(|run| run.name_source(&recording));
    Ok((recording, runs))
}

/// Runs one filter over a stream, and saves its map.
fn run_saving(mut stream: Stream, studies: &[Study], path: &Path) -> Result<(Recording, Run), Failure> {
    let [study] = studies else {
        return Err(Failure::WrongCall("--save-map saves the map of one filter; give --filter once".to_owned()));
    };
    let mut method = Method::of_study(study, &stream.recording().equipment).map_err(Failure::failed)?;
    method.keep_timeline();
    let spinner = progress::spinner(study.filter.clone());
    stream.by_ref().for_each(|input| method.feed(&input));
    spinner.finish_and_clear();
    let (mut run, file) = method.finish_saving();
    let file = match file {
        Some(file) => file,
        // Parts that cannot be joined: robots can drive in the last map that could be.
        None if run.parts.is_some() && Filter::named(&study.filter).is_ok() => {
            let map = LandmarkMap {
                landmarks: run.landmarks.iter().map(MapLandmark::from).collect(),
                joint: None,
                near: None,
            };
            MapFile { map, ..MapFile::default() }
        }
        None => {
            let what = format!("'{}' is no filter, and has no map that a run could go on with", study.filter);
            return Err(Failure::WrongCall(format!("{what}; give the name of a filter to --save-map")));
        }
    };
    let written = file.write(path);
    written.map_err(|error| Failure::Failed(format!("{}: {error}{}", path.display(), remedy(&error))))?;
    let recording = stream.finish();
    run.name_source(&recording);
    Ok((recording, run))
}

fn run_one(recording: &Recording, study: &Study, map: Option<&LandmarkMap>, is_watched: bool) -> Result<Run, Failure> {
    let bar = progress::bar(recording.inputs.len(), &study.filter);
    let observer = |done| {
        // The bar's own bookkeeping would show in the time of a step.
        if done % 1000 == 0 {
            bar.set_position(done as u64);
        }
    };
    let result = match map {
        // A page shows what happened over time.
        map if is_watched => run_watched(recording, study, map, observer).map_err(Failure::failed),
        Some(map) => run_in_map(recording, study, map, observer).map_err(Failure::failed),
        None => run_study(recording, study, observer).map_err(Failure::failed),
    };
    bar.finish_and_clear();
    let mut run = result?;
    if !recording.truth.is_empty() {
        let bar = progress::bar(recording.inputs.len(), &format!("{}, motions", study.filter));
        let observer = |done| {
            bar.set_position(done as u64);
            true
        };
        run.motions = motions_of(recording, study, map, observer).map_err(Failure::failed)?;
        bar.finish_and_clear();
    }
    Ok(run)
}

/// Prints the report of runs that share one truth, writes the folder where one is asked for, and holds the numbers
/// against what is expected.
fn report(runs: &[Run], truth: &Truth, args: &Args, expected: Option<&Expectations>) -> Result<(), Failure> {
    let output = &args.output;
    let errors: Vec<Errors> = runs.iter().map(|run| Errors::new(run, truth)).collect();
    let subjects: Vec<Subject> = runs.iter().zip(&errors).map(|(run, errors)| Subject { run, truth, errors }).collect();
    if let Some(out) = &output.out {
        say_removed(&folder::remove_leftovers(out));
        folder::write(out, &subjects).map_err(Failure::failed)?;
    }
    let reports: Vec<Report> = runs.iter().zip(&errors).map(|(run, errors)| Report::new(run, errors)).collect();
    if output.json {
        print(&format!("{}\n", to_json(&reports).map_err(Failure::failed)?))?;
    } else {
        print(&to_text(&reports))?;
        output.out.as_ref().map_or(Ok(()), |out| print(&format!("\nwritten to {}\n", out.display())))?;
    }
    args.expect.hold(expected, &reports)
}

/// The name becomes that of a folder and of a column.
fn named_topic(text: &str) -> Result<(String, String), String> {
    let word = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    match text.split_once('=') {
        Some((name, topic)) if word(name) && !topic.is_empty() => Ok((name.to_owned(), topic.to_owned())),
        _ => Err("give NAME=TOPIC with a NAME of letters, digits, - and _, as in reduced=/reduced/pose".to_owned()),
    }
}

#[cfg(not(feature = "ros"))]
mod live {
    use super::super::failure::{Failure, NO_ROS};

    use lienav_eval::run::Run;
    use lienav_io::truth::Truth;

    pub(super) fn run(_: &super::Args) -> Result<(Vec<Run>, Truth), Failure> {
        Err(Failure::Failed(NO_ROS.into()))
    }
}

#[cfg(feature = "ros")]
mod live {
    use super::super::failure::Failure;
    use super::super::live_page::LivePage;
    use super::super::progress;
    use crate::ros::live::{Options, listen};
    use crate::ros::stop::Stop;
    use lienav_eval::run::Run;
    use lienav_io::bag::Existing;
    use lienav_io::recording::Recording;
    use lienav_io::truth::Truth;
    use std::time::Duration;

    /// A run is over when nothing has come for this long.
    const SILENCE: Duration = Duration::from_secs(5);

    pub(super) fn run(args: &super::Args) -> Result<(Vec<Run>, Truth), Failure> {
        let live = &args.live;
        let duration = live.duration.map(Duration::try_from_secs_f64).transpose();
        let duration = duration.map_err(|error| Failure::WrongCall(format!("--duration: {error}")))?;
        let usual = || vec![("slam".to_owned(), "pose".to_owned())];
        let options = Options {
            poses: if live.poses.is_empty() { usual() } else { live.poses.clone() },
            topics: (&args.topics).into(),
            duration,
            silence: SILENCE,
            bag: live.bag.clone().map(|path| (path, Existing::Refuse)),
        };
        let stop = Stop::on_signals().map_err(Failure::failed)?;
        let page = live.page.then(|| LivePage::start(live.port)).transpose()?;
        let mut tell = |runs: &[Run], heard: &Recording| {
            if let Some(page) = &page {
                page.show(runs, &Truth::of(heard, args.max_truth_gap));
            }
        };
        let spinner = progress::spinner("listening".to_owned());
        let heard = listen(&options, &stop, page.is_some().then_some(&mut tell));
        spinner.finish_and_clear();
        let heard = heard.map_err(Failure::failed)?;
        let truth = Truth::new(&heard.recording.truth, &heard.recording.true_landmarks, args.max_truth_gap);
        Ok((heard.runs, truth))
    }
}
