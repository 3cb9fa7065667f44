//! What a run comes to, in numbers: a table for people, JSON for programs.

use super::associations::Associations;
use super::consistency::{BAND_PROBABILITY, POSE_DOF, chi_squared_band, fraction_inside};
use super::errors::Errors;
use super::fixes::FixErrors;
use super::mean::mean;
use super::motions::MotionConsistency;
use super::run::{Run, StartBelief, Update};
use super::sample::median;
use lienav_slam::{LearnedNoise, LearnedSensor};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The numbers of one run. Serialised, its fields are the keys of the JSON report; what cannot be known (no truth, no
/// landmarks, nothing measured) is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The name of the filter.
    pub filter: String,
    /// Scans of features that were processed: one estimate each.
    pub steps: usize,
    /// Root mean square of the distance to the true position, m; unaligned, as the initial pose was given.
    pub position_rmse_m: Option<f64>,
    /// The same after the rigid motion that fits best.
    pub aligned_position_rmse_m: Option<f64>,
    /// The greatest distance to the true position, m; unaligned.
    pub position_max_m: Option<f64>,
    /// Root mean square of the heading's error, rad; unaligned.
    pub yaw_rmse_rad: Option<f64>,
    /// Root mean square of the distance between landmarks of one identity, m; unaligned.
    pub landmark_rmse_m: Option<f64>,
    /// Mean normalised estimation error squared of (x, y, θ); 3 is right.
    pub nees_mean: Option<f64>,
    /// Its median: 2.37 is right, and a few steps do not move it.
    pub nees_median: Option<f64>,
    /// The greatest: when, s since the first estimate, and how much.
    pub nees_worst: Option<(f64, f64)>,
    /// Time of a step, µs, where it was measured.
    pub step_us: Option<StepTime>,
    /// What was left out, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// How often the gate was opened because it had starved the filter.
    pub gate_openings: u64,
    /// What was calibrated while running, as known at the end; empty where nothing was.
    pub calibration: BTreeMap<&'static str, Calibrated>,
    /// What was learned of the noise, as known at the end; where nothing is learned, the key is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<LearnedNoise>,

    /// What was believed of the start; where it is not known, the key is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<StartBelief>,

    /// Where the input came from.
    pub source: String,
    /// Estimates where no true pose is known; they count in `steps` only.
    pub steps_without_truth: usize,
    /// `landmark_rmse_m` after the motion that aligns the trajectory.
    pub aligned_landmark_rmse_m: Option<f64>,
    /// Features in the map at the end.
    pub landmarks: usize,
    /// How many of them have a true position of the same identity.
    pub landmarks_with_truth: usize,
    /// The part of the steps whose NEES lies in the 95 % band of χ² with 3 degrees of freedom; 0.95 is right.
    pub nees_in_band_fraction: Option<f64>,
    /// Steps without NEES because the covariance was singular.
    pub nees_singular: usize,
    /// Mean normalised innovation squared of the steps that used a measurement; `nis_dof_mean` is right.
    pub nis_mean: Option<f64>,
    /// Its mean degrees of freedom.
    pub nis_dof_mean: Option<f64>,
    /// Measurements used, in all steps together; `null` where it is not known, as for nodes that are listened to.
    pub accepted: Option<usize>,
    /// Measurements that started a feature.
    pub added: Option<usize>,
    /// Measurements that were left out; the reasons are in `dropped`.
    pub rejected: Option<usize>,
    /// What the reader should know; what contradicts itself, and that nothing was used, first.
    pub warnings: Vec<String>,
    /// How many of the warnings are such.
    #[serde(skip)]
    pub contradictions: usize,
    /// How right the associations were, where identities were withheld; otherwise the key is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub associations: Option<Associations>,
    /// How far the way was from position fixes, where the source has some; otherwise the key is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixes: Option<FixErrors>,
    /// How consistent motions over 1, 10 and 60 s are, whatever the start was; where none were kept, the key is not
    /// there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub motions: Vec<MotionConsistency>,
}

/// A calibration parameter at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// Its estimate, in its unit.
    pub value: f64,
    /// Standard deviation of the estimate.
    pub sigma: f64,
}

/// How long steps took, µs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepTime {
    /// On average.
    pub mean: f64,
    /// Half of the steps took no longer.
    pub p50: f64,
    /// 99 of 100 steps took no longer.
    pub p99: f64,
}

impl StepTime {
    /// Of the times of all steps, µs; quantiles by nearest rank. `None` without any.
    pub fn new(step_us: &[f64]) -> Option<Self> {
        let mut sorted = step_us.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = |quantile: f64| (quantile * sorted.len() as f64).ceil() as usize;
        let at = |quantile: f64| sorted.get(rank(quantile).saturating_sub(1)).copied();
        Some(Self { mean: mean(sorted.iter().copied())?, p50: at(0.5)?, p99: at(0.99)? })
    }
}

impl Report {
    /// The numbers of a run and its errors.
    pub fn new(run: &Run, errors: &Errors) -> Self {
        let nees: Vec<f64> = errors.nees().collect();
        let updates: Option<Vec<Update>> = run.estimates.iter().map(|estimate| estimate.update).collect();
        let updates = updates.filter(|updates| !updates.is_empty());
        let used = || updates.iter().flatten().filter(|update| update.dof > 0);
        let total = |count: fn(&Update) -> usize| updates.as_ref().map(|all| all.iter().map(count).sum());
        let far_start = of_first(errors, run.start.as_ref());
        let begun = run.estimates.first().map(|estimate| estimate.stamp).unwrap_or_default();
        let timed = errors.steps.iter().filter_map(|step| Some((step.stamp.since(begun), step.nees?)));
        Self {
            filter: run.filter.clone(),
            steps: run.estimates.len(),
            position_rmse_m: errors.position_rmse(),
            aligned_position_rmse_m: errors.aligned_position_rmse(),
            position_max_m: errors.position_max(),
            yaw_rmse_rad: errors.yaw_rmse(),
            landmark_rmse_m: errors.landmark_rmse(),
            nees_mean: mean(nees.iter().copied()),
            nees_median: median(&mut nees.clone()),
            nees_worst: timed.max_by(|(_, a), (_, b)| a.total_cmp(b)),
            step_us: StepTime::new(&run.step_us),
            dropped: run.dropped.clone(),
            gate_openings: run.gate_openings,
            calibration: run
                .calibration
                .iter()
                .map(|c| (c.parameter.word(), Calibrated { value: c.value, sigma: c.std }))
                .collect(),
            noise: run.noise.clone(),
            start: run.start,
            source: run.source.clone(),
            steps_without_truth: errors.steps_without_truth,
            aligned_landmark_rmse_m: errors.aligned_landmark_rmse(),
            landmarks: run.landmarks.len(),
            landmarks_with_truth: errors.landmarks.len(),
            nees_singular: errors.steps.len() - nees.len(),
            nees_in_band_fraction: fraction_inside(nees, chi_squared_band(POSE_DOF, BAND_PROBABILITY)),
            nis_mean: mean(used().map(|update| update.nis)),
            nis_dof_mean: mean(used().map(|update| update.dof as f64)),
            accepted: total(|update| update.accepted),
            added: total(|update| update.added),
            rejected: total(|update| update.rejected),
            contradictions: run.contradictions.len() + usize::from(far_start.is_some()),
            warnings: far_start.iter().chain(&run.contradictions).chain(&run.warnings).cloned().collect(),
            associations: errors.associations,
            fixes: errors.fixes,
            motions: errors.motions.clone(),
        }
    }
}

/// A first estimate is far from the truth if it is off by more than this, m and rad, and by more than five standard
/// deviations: farther than a robot drives from where it starts to its first scan.
const FAR: (f64, f64) = (0.5, 0.2);

/// A sentence where a start that was given is not that of the truth: all errors are off by this.
fn of_first(errors: &Errors, start: Option<&StartBelief>) -> Option<String> {
    let first = errors.steps.first().filter(|_| start.is_some_and(|start| start.is_given))?;
    let (off, turned, std) = (first.error.xy().norm(), first.error.z.abs(), first.std() * 5.0);
    (off > FAR.0.max(std.xy().norm()) || turned > FAR.1.max(std.z)).then(|| {
        format!(
            "the first estimate is {off:.1} m and {turned:.2} rad from the truth: set initial.x_m, .y_m and .yaw_rad"
        )
    })
}

/// Reports as JSON, indented: an object for one report, an array of such objects otherwise.
///
/// # Errors
/// None in practice; serde's, should a report ever hold what JSON cannot say.
pub fn to_json(reports: &[Report]) -> serde_json::Result<String> {
    match reports {
        [one] => serde_json::to_string_pretty(one),
        many => serde_json::to_string_pretty(many),
    }
}

/// Reports as a table with units, one column a filter; then what was dropped, and the warnings.
pub fn to_text(reports: &[Report]) -> String {
    let mut text = String::new();
    let Some(first) = reports.first() else { return text };
    let columns: Vec<Vec<String>> = reports.iter().map(column).collect();
    let width = |column: &Vec<String>| column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(width).collect();
    // Writing to a String cannot fail, so the results carry nothing.
    let _ = writeln!(text, "source: {}", first.source);
    let mut shown: Vec<&String> = Vec::new();
    for warning in reports.iter().flat_map(|report| report.warnings.iter().take(report.contradictions)) {
        if !shown.contains(&warning) {
            let _ = writeln!(text, "warning: {warning}");
            shown.push(warning);
        }
    }
    text.push('\n');
    for (row, label) in ROWS.iter().enumerate() {
        let _ = write!(text, "{label:<40}");
        for (column, width) in columns.iter().zip(&widths) {
            let _ = write!(text, "  {:>width$}", column[row]);
        }
        text.push('\n');
    }
    for report in reports {
        let reasons: Vec<String> = report.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let reasons = if reasons.is_empty() { "nothing".to_owned() } else { reasons.join(", ") };
        let _ = writeln!(text, "\ndropped by {}: {reasons}", report.filter);
        text += &report.start.map(|start| of_start(&report.filter, &start)).unwrap_or_default();
        if !report.calibration.is_empty() {
            let one = |(word, c): (&&str, &Calibrated)| format!("{word} {:.4} ± {:.4}", c.value, c.sigma);
            let found: Vec<String> = report.calibration.iter().map(one).collect();
            let _ = writeln!(text, "calibrated by {}: {}", report.filter, found.join(", "));
        }
        text += &report.noise.as_ref().map(|noise| of_noise(&report.filter, noise)).unwrap_or_default();
        for warning in report.warnings.iter().skip(report.contradictions) {
            let _ = writeln!(text, "warning: {warning}");
        }
        text += &report.associations.as_ref().map(|found| of_associations(&report.filter, found)).unwrap_or_default();
        text += &report.fixes.as_ref().map(|found| of_fixes(&report.filter, found)).unwrap_or_default();
        text += &of_motions(&report.filter, &report.motions);
    }
    text
}

/// What was believed of the start, as a sentence.
fn of_start(filter: &str, start: &StartBelief) -> String {
    let StartBelief { is_given, position_std_m, yaw_std_rad } = *start;
    let belief = match (is_given, position_std_m == 0.0, yaw_std_rad == 0.0) {
        (false, ..) => "unknown: the robot was searched for in the map".to_owned(),
        (_, true, true) => "exact".to_owned(),
        _ => format!("known to {position_std_m} m and {yaw_std_rad} rad"),
    };
    format!("the start, as {filter} was told: {belief}\n")
}

/// What was learned of the noise, in sentences.
fn of_noise(filter: &str, noise: &LearnedNoise) -> String {
    let [forward, leftward, turning] = noise.odometry;
    let mut text = format!(
        "\nnoise learned by {filter}: standard deviations of odometry × {forward:.2} forward, × {leftward:.2} leftward, × \
         {turning:.2} turning\n"
    );
    for LearnedSensor { sensor, std, correlation_s, time_correlated_share: lasting_share } in &noise.sensors {
        let kind =
            ["relative positions", "ranges and bearings", "stereo bearings"].get(*sensor).unwrap_or(&"added sensor");
        let factors = std.map(|factor| format!("× {factor:.2}")).join(", ");
        let lasting = std::iter::zip(lasting_share, correlation_s);
        let lasting = lasting
            .map(|(share, time)| format!("{:.0} % for {time:.2} s", 100.0 * share))
            .collect::<Vec<_>>()
            .join(", ");
        let _ = writeln!(text, "  of {kind} {factors}; of their variances last {lasting}");
    }
    text
}

/// How right the associations were, in sentences.
fn of_associations(filter: &str, found: &Associations) -> String {
    let part = |part: Option<f64>, digits: usize| part.map_or("–".to_owned(), |part| format!("{part:.digits$}"));
    let percent = |part: Option<f64>| part.map_or("–".to_owned(), |part| format!("{:.3} %", 100.0 * part));
    format!(
        "associations by {filter}: precision {} and recall {} of pairs of readings ({} of those used); {} of {} matches \
         wrong ({}); {} of {} readings used, {} of clutter\nmap by {filter}: {} landmarks for {} true ones ({}), {} \
         duplicates, {} of clutter; recognized {} of {} that came back\n",
        part(found.pair_precision, 4),
        part(found.pair_recall, 4),
        part(found.used_pair_recall, 4),
        found.wrong,
        found.matched,
        percent(found.wrong_fraction()),
        found.used,
        found.measurements,
        found.clutter,
        found.map_landmarks,
        found.true_landmarks,
        part(found.landmarks_per_true(), 3),
        found.duplicates,
        found.false_landmarks,
        found.returns_found,
        found.returns,
    )
}

/// How far the way was from position fixes, in a sentence.
fn of_fixes(filter: &str, found: &FixErrors) -> String {
    format!(
        "GPS fixes by {filter}: median {:.3} m, RMS of the nearest 90 % {:.3} m, after the rigid motion that fits these \
         best; {} fixes, {} without estimate\n",
        found.median_m, found.nearest_90_rms_m, found.count, found.without_estimate
    )
}

/// How consistent motions are, in a sentence; nothing where there are none.
fn of_motions(filter: &str, found: &[MotionConsistency]) -> String {
    if found.is_empty() {
        return String::new();
    }
    let one = |found: &MotionConsistency| {
        format!("{:.2} over {:.0} s ({} motions)", found.nees_mean, found.over_s, found.count)
    };
    let all: Vec<String> = found.iter().map(one).collect();
    format!("NEES of motions by {filter} (3 is right, whatever the start was): {}\n", all.join(", "))
}

/// The first column of the table; [`column`] fills the others in this order.
const ROWS: [&str; 17] = [
    "",
    "steps",
    "  without truth",
    "position RMSE [m]",
    "  after rigid alignment [m]",
    "  greatest [m]",
    "yaw RMSE [rad]",
    "landmark RMSE [m]",
    "  after the same alignment [m]",
    "landmarks (with truth)",
    "NEES of the pose, mean (3 is right)",
    "  median (2.37 is right)",
    "  steps in the 95 % band (0.95 is right)",
    "NIS, mean (expected)",
    "observations used / added / left out",
    "time of a step, mean [µs]",
    "  p50 / p99 [µs]",
];

fn column(report: &Report) -> Vec<String> {
    let number = |value: Option<f64>, digits: usize| match value {
        Some(value) => format!("{value:.digits$}"),
        None => "–".to_owned(),
    };
    let count = |value: Option<usize>| value.map_or("–".to_owned(), |value| value.to_string());
    let time = report.step_us;
    let quantiles = time.map(|time| format!("{:.1} / {:.1}", time.p50, time.p99));
    vec![
        report.filter.clone(),
        report.steps.to_string(),
        report.steps_without_truth.to_string(),
        number(report.position_rmse_m, 4),
        number(report.aligned_position_rmse_m, 4),
        number(report.position_max_m, 4),
        number(report.yaw_rmse_rad, 5),
        number(report.landmark_rmse_m, 4),
        number(report.aligned_landmark_rmse_m, 4),
        format!("{} ({})", report.landmarks, report.landmarks_with_truth),
        number(report.nees_mean, 2),
        number(report.nees_median, 2),
        number(report.nees_in_band_fraction, 3),
        format!("{} ({})", number(report.nis_mean, 2), number(report.nis_dof_mean, 2)),
        format!("{} / {} / {}", count(report.accepted), count(report.added), count(report.rejected)),
        number(time.map(|time| time.mean), 1),
        quantiles.unwrap_or("–".into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;
    use lienav_io::truth::Truth;

    #[test]
    fn a_consistent_run_is_reported_as_consistent() {
        let (run, truth) = synthetic::run(2000, 3);
        let report = Report::new(&run, &Errors::new(&run, &truth));
        let (low, high) = chi_squared_band(3 * 2000, 0.999);
        let nees = report.nees_mean.unwrap() * 2000.0;
        assert!((low..high).contains(&nees), "{nees}");
        assert!((report.nees_in_band_fraction.unwrap() - 0.95).abs() < 0.02);
        assert!((report.position_rmse_m.unwrap() - 0.13_f64.sqrt()).abs() < 0.02);
        assert!((report.yaw_rmse_rad.unwrap() - 0.02).abs() < 0.001);
        assert_eq!((report.nis_mean, report.nis_dof_mean, report.accepted), (Some(4.0), Some(4.0), Some(4000)));
    }

    #[test]
    fn one_wild_step_moves_the_mean_and_not_the_median_and_is_named() {
        let (run, truth) = synthetic::run(2000, 3);
        let mut errors = Errors::new(&run, &truth);
        let stamp = errors.steps[700].stamp;
        errors.steps[700].nees = Some(1e6);
        let report = Report::new(&run, &errors);
        assert!(report.nees_mean.unwrap() > 500.0 && (report.nees_median.unwrap() - 2.37).abs() < 0.3);
        let time_s = stamp.since(run.estimates[0].stamp);
        assert_eq!(report.nees_worst, Some((time_s, 1e6)));
    }

    #[test]
    fn a_start_that_is_not_that_of_the_truth_is_named_first() {
        let (mut run, truth) = synthetic::run(50, 3);
        run.start = Some(StartBelief { is_given: true, position_std_m: 0.0, yaw_std_rad: 0.0 });
        run.contradictions = vec!["two statements differ".into()];
        assert_eq!(Report::new(&run, &Errors::new(&run, &truth)).contradictions, 1);
        run.estimates.iter_mut().for_each(|estimate| estimate.pose.p.x += 5.0);
        let report = Report::new(&run, &Errors::new(&run, &truth));
        assert!(report.contradictions == 2 && report.warnings[0].contains("set initial.x_m"), "{:?}", report.warnings);
        run.start = Some(StartBelief { is_given: false, position_std_m: 0.0, yaw_std_rad: 0.0 });
        assert_eq!(Report::new(&run, &Errors::new(&run, &truth)).contradictions, 1);
    }

    #[test]
    fn without_truth_the_keys_stay_and_are_null() {
        let (run, _) = synthetic::run(5, 3);
        let report = Report::new(&run, &Errors::new(&run, &Truth::default()));
        let json: serde_json::Value = serde_json::from_str(&to_json(&[report]).unwrap()).unwrap();
        for key in ["position_rmse_m", "aligned_position_rmse_m", "position_max_m", "yaw_rmse_rad", "nees_mean"] {
            assert_eq!(json.get(key), Some(&serde_json::Value::Null), "{key}");
        }
        assert_eq!(json["dropped"]["gated"], 3);
        assert_eq!(json["step_us"]["p99"], 5.0);
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let times: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(StepTime::new(&times), Some(StepTime { mean: 100.5, p50: 100.0, p99: 198.0 }));
        assert_eq!(StepTime::new(&[]), None);
    }

    #[test]
    fn the_table_has_a_column_for_each_filter_and_a_row_for_each_label() {
        let (run, truth) = synthetic::run(50, 3);
        let report = Report::new(&run, &Errors::new(&run, &truth));
        assert_eq!(column(&report).len(), ROWS.len());
        let mut other = report.clone();
        other.filter = "ekf".into();
        other.warnings.push("the bag ends in the middle of a record at byte 17".into());
        let text = to_text(&[report, other]);
        assert!(text.contains("reduced") && text.contains("dropped by ekf: gated 3"), "{text}");
        assert!(text.contains("warning: the bag ends"), "{text}");
    }
}
