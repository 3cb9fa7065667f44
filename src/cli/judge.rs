//! `lienav judge`: how good the estimates of any program are, and whether their covariances say so.

use super::expect::Expect;
use super::failure::{Failure, print, say_removed};
use super::output::refuse_other;
use super::progress;
use clap::builder::PossibleValuesParser;
use lienav_eval::expect::Numbers;
use lienav_eval::folder::remove_leftovers;
use lienav_eval::judge::agreement::Agreement;
use lienav_eval::judge::innovations::Innovations;
use lienav_eval::judge::options::OVER_S;
use lienav_eval::judge::report::{Report, to_json};
use lienav_eval::judge::run::Subject;
use lienav_eval::judge::space::Space;
use lienav_eval::judge::steps::TruthNoise;
use lienav_eval::judge::{Judged, Method, Options, folder, judge, text};
use lienav_io::trajectory::{self, Convention, Order, Trajectory};
use lienav_io::truth::MAX_TRUTH_GAP_S;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Judge trajectories of any program, and the covariances that they state, by a truth
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(super) struct Args {
    /// [NAME=]FILE (TUM, KITTI, EuRoC, OpenVINS or CSV), [NAME=]BAG:TOPIC or [NAME=]BAG:/tf:PARENT:CHILD; several stand
    /// side by side
    #[arg(value_name = "ESTIMATE", required_unless_present = "innovations")]
    estimates: Vec<String>,
    /// What they are judged by, in the same forms; without it, two estimates are compared with each other
    #[arg(long, value_name = "TRUTH")]
    truth: Option<String>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    comparing: Comparing,
    /// Judge the innovations of a filter: a CSV file with stamp_s,innovation,std or stamp_s,nis,dof
    #[arg(long, value_name = "FILE")]
    innovations: Option<PathBuf>,
    /// Print JSON instead of a table: an object for one estimate, an array for several
    #[arg(long)]
    json: bool,
    /// Also write report, page (report.html), aligned trajectories (TUM) and errors (CSV) into this folder
    #[arg(long, value_name = "DIR", requires = "truth")]
    out: Option<PathBuf>,
    #[command(flatten)]
    expect: Expect,
}

/// How files are read.
#[derive(clap::Args)]
#[command(next_help_heading = "What the numbers mean")]
struct Reading {
    /// Axes, order and side of covariances [default: ros, of OpenVINS files openvins]
    #[arg(long, value_name = "CONVENTION", value_parser = PossibleValuesParser::new(Convention::NAMES))]
    covariance: Option<String>,
    /// Which numbers of a covariance come first, where that is not as the convention has it
    #[arg(long, value_name = "FIRST", value_parser = PossibleValuesParser::new(["position", "orientation"]))]
    covariance_order: Option<String>,
    /// The stamps of KITTI poses, one a line, s
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// Only x, y and yaw count [default: where the estimate has nothing else]
    #[arg(long, conflicts_with = "space")]
    planar: bool,
    /// All six numbers count
    #[arg(long)]
    space: bool,
}

/// How estimates and truth are compared.
#[derive(clap::Args)]
#[command(next_help_heading = "Comparing")]
struct Comparing {
    /// Lay each estimate onto the truth before comparing: yaw (turn about the vertical, and shift), se2, se3, sim3
    #[arg(long, value_name = "METHOD", default_value = "none", value_parser = PossibleValuesParser::new(Method::NAMES))]
    align: String,
    /// Gaps of the truth up to this long are bridged, s
    #[arg(long, value_name = "SECONDS", default_value_t = MAX_TRUTH_GAP_S)]
    max_gap: f64,
    /// Added to the stamps of the estimates, s
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    time_offset: f64,
    /// Standard deviation of each coordinate of the truth, m
    #[arg(long, value_name = "METRES", default_value_t = 0.0)]
    truth_std_m: f64,
    /// Standard deviation of the truth about each axis, degrees
    #[arg(long, value_name = "DEGREES", default_value_t = 0.0)]
    truth_std_deg: f64,
    /// Times over which motions are compared, s
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', default_values_t = OVER_S)]
    over_s: Vec<f64>,
    /// Lengths of the path over which motions are compared, m [default: a tenth to a half of the whole]
    #[arg(long, value_name = "METRES", value_delimiter = ',')]
    over_m: Vec<f64>,
}

const EXAMPLES: &str = "Examples:
  lienav judge estimate.tum --truth truth.tum                       errors only: TUM files state no covariance
  lienav judge ekf.csv --truth truth.tum                            a CSV file with covariances: docs/judge.md
  lienav judge ekf=ekf.csv ukf=ukf.csv --truth truth.tum --out judged     side by side, with a page
  lienav judge my_bag:/ground_truth/pose --truth my_bag:/ground_truth/pose --json
  lienav judge ov_estimate.txt --truth truth.tum --align yaw        OpenVINS, whose heading is free
  lienav judge poses.csv --covariance gtsam --truth truth.tum --expect judge.yaml --junit judge.xml
  lienav judge ekf.csv ukf.csv                                      without truth: what two estimates say of each other
  lienav judge --innovations innovations.csv                        whether innovations are white and as large as claimed

Positions are in m, orientations in degrees, covariances in m², m rad and rad². NEES is of the errors after --align,
which moves the covariance along; its interval knows that successive errors are not independent. A mean NEES equal to
the degrees of freedom is right (6 in space, 3 in the plane); more is overconfident.";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    refuse_other(args.out.as_deref())?;
    let options = args.options()?;
    let expected = args.expect.read()?;
    let innovations = args.innovations.as_deref().map(Innovations::read).transpose().map_err(Failure::failed)?;
    let Some(truth) = &args.truth else {
        if expected.is_some() {
            return Err(Failure::WrongCall("--expect holds numbers that need a truth; give --truth".to_owned()));
        }
        return without_truth(args, &options, innovations.as_ref());
    };
    if args.estimates.is_empty() {
        return Err(Failure::WrongCall("--truth judges an estimate; name one".to_owned()));
    }
    let mut names = BTreeSet::new();
    let truth = args.open(truth)?;
    let mut judged = Vec::new();
    for source in &args.estimates {
        let mut estimate = args.open(source)?;
        estimate.name = unique(&estimate.name, &mut names);
        let found = judge(&estimate, &truth, &options).map_err(Failure::failed)?;
        judged.push((estimate, found));
    }
    let subject = |(estimate, judged)| Subject { estimate, judged, noise: options.noise };
    let subjects: Vec<Subject<'_>> = judged.iter().map(|(e, j): &(Trajectory, Judged)| (e, j)).map(subject).collect();
    if let Some(out) = &args.out {
        say_removed(&remove_leftovers(out));
        folder::write(out, &subjects).map_err(Failure::failed)?;
    }
    let reports: Vec<Report> = subjects.iter().map(|subject| subject.judged.report.clone()).collect();
    if args.json {
        print(&format!("{}\n", to_json(&reports).map_err(Failure::failed)?))?;
    } else {
        print(&text::to_text(&reports))?;
        said_of(innovations.as_ref())?;
        args.out.as_ref().map_or(Ok(()), |out| print(&format!("\nwritten to {}\n", out.display())))?;
    }
    let numbers: Vec<Numbers> = reports
        .iter()
        .map(|report| Numbers {
            filter: report.filter.clone(),
            steps: report.steps,
            json: serde_json::to_value(report).unwrap_or_default(),
        })
        .collect();
    args.expect.hold_numbers(expected.as_ref(), &truth.name, &numbers)
}

/// What two estimates say of each other, and innovations of a filter.
fn without_truth(args: &Args, options: &Options, innovations: Option<&Innovations>) -> Result<(), Failure> {
    if args.estimates.len() == 1 || (args.estimates.is_empty() && innovations.is_none()) {
        return Err(Failure::WrongCall(
            "one estimate alone says nothing of its errors; give --truth TRUTH, a second estimate, or --innovations FILE"
                .to_owned(),
        ));
    }
    let (mut names, mut estimates) = (BTreeSet::new(), Vec::new());
    for source in &args.estimates {
        let mut estimate = args.open(source)?;
        estimate.name = unique(&estimate.name, &mut names);
        estimates.push(estimate);
    }
    let mut agreements = Vec::new();
    for (k, a) in estimates.iter().enumerate() {
        for b in estimates.iter().skip(k + 1) {
            agreements.push(Agreement::new(a, b, options).ok_or_else(|| {
                let bridged = options.max_gap_s;
                Failure::Failed(format!(
                    "'{}' and '{}' have no instant in common, gaps of {bridged} s bridged; if the clocks differ, give \
                     --time-offset SECONDS",
                    a.name, b.name
                ))
            })?);
        }
    }
    if args.json {
        let json = serde_json::json!({ "agreements": agreements, "innovations": innovations });
        return print(&format!("{}\n", serde_json::to_string_pretty(&json).map_err(Failure::failed)?));
    }
    for agreement in &agreements {
        print(&format!("{}\n", agreement.sentences().join("\n")))?;
    }
    said_of(innovations)
}

fn said_of(innovations: Option<&Innovations>) -> Result<(), Failure> {
    innovations.map_or(Ok(()), |found| print(&format!("{}\n", found.sentences().join("\n"))))
}

impl Args {
    fn options(&self) -> Result<Options, Failure> {
        let given = &self.comparing;
        let at_least_0 = [
            ("--max-gap", given.max_gap),
            ("--truth-std-m", given.truth_std_m),
            ("--truth-std-deg", given.truth_std_deg),
        ];
        if let Some((name, value)) = at_least_0.into_iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
            return Err(Failure::WrongCall(format!("{name} is {value}; allowed: 0 or more")));
        }
        let lengths =
            given.over_s.iter().map(|s| ("--over-s", *s)).chain(given.over_m.iter().map(|m| ("--over-m", *m)));
        if let Some((name, value)) = lengths.into_iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
            return Err(Failure::WrongCall(format!("{name} is {value}; allowed: more than 0")));
        }
        if !given.time_offset.is_finite() {
            return Err(Failure::WrongCall(format!("--time-offset is {}; allowed: seconds", given.time_offset)));
        }
        Ok(Options {
            align: Method::named(&given.align).unwrap_or_default(),
            max_gap_s: given.max_gap,
            offset_s: given.time_offset,
            space: match (self.reading.planar, self.reading.space) {
                (true, _) => Some(Space::Planar),
                (_, true) => Some(Space::Space),
                _ => None,
            },
            noise: TruthNoise { std_m: given.truth_std_m, std_rad: given.truth_std_deg.to_radians() },
            over_s: given.over_s.clone(),
            over_m: given.over_m.clone(),
        })
    }

    /// Reads a trajectory, under the name that is given for it.
    fn open(&self, source: &str) -> Result<Trajectory, Failure> {
        let (name, source) = named(source);
        let options = trajectory::Options {
            convention: self.reading.covariance.as_deref().and_then(Convention::named),
            order: self.reading.covariance_order.as_deref().map(|first| match first {
                "orientation" => Order::OrientationFirst,
                _ => Order::PositionFirst,
            }),
            times: self.reading.times.clone(),
        };
        let length = std::fs::metadata(source).ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
        let bar = match length {
            Some(length) => progress::bar(usize::try_from(length).unwrap_or(usize::MAX), source),
            None => progress::spinner(source.to_owned()),
        };
        let opened = trajectory::open(source, &options, &mut |done| bar.set_position(done));
        bar.finish_and_clear();
        let mut trajectory = opened.map_err(Failure::failed)?;
        if let Some(name) = name {
            trajectory.name = name.to_owned();
        }
        Ok(trajectory)
    }
}

/// NAME=SOURCE, unless that is a path.
fn named(source: &str) -> (Option<&str>, &str) {
    let is_word = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    match source.split_once('=') {
        Some((name, rest)) if is_word(name) && !Path::new(source).exists() => (Some(name), rest),
        _ => (None, source),
    }
}

/// A name that is that of a folder, too, and that no other estimate has.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let word: String = name.chars().map(plain).collect();
    let word = word.trim_start_matches('.');
    let is_file = lienav_eval::folder::is_name_of_result(word);
    let first = if word.is_empty() || is_file { format!("estimate_{word}") } else { word.to_owned() };
    let mut candidates = (2..).map(|k| format!("{first}_{k}"));
    let mut chosen = first.clone();
    while !taken.insert(chosen.clone()) {
        chosen = candidates.next().unwrap_or_default();
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders_and_differ() {
        let mut taken = BTreeSet::new();
        let all = ["a b/c", "a_b_c", "..", "report.json", "a_b_c"].map(|name| unique(name, &mut taken));
        assert_eq!(all, ["a_b_c", "a_b_c_2", "estimate_", "estimate_report.json", "a_b_c_3"]);
        assert_eq!(named("ekf=bag:/odom"), (Some("ekf"), "bag:/odom"));
        assert_eq!(named("a/b=c.tum"), (None, "a/b=c.tum"));
    }
}
