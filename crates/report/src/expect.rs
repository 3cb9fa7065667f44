//! Bounds on the numbers of a report, for tests of a robot's bags: which hold, which do not, as lines and as JUnit XML.
//!
//! ```yaml
//! every_filter:                      # each of these numbers, of each report
//!   dropped.not_finite: {max: 0}
//!   nees_mean: {min: 1.0, max: 10.0}
//! filters:                           # of one
//!   default:
//!     position_rmse_m: {max: 0.04}
//!     step_us.p99: {max: 500}
//! ```
//!
//! A number is named as in the report's JSON, with a point between key and key. A reason that is not listed under
//! `dropped` happened 0 times, if it is one that lienav knows; any other number that is not known does not hold. Of a
//! run without a step nothing holds: it fails by its number of steps, unless bounds of `steps` say something else.

use super::report::Report;
use lienav_io::bag::{BAD_TRUTH, UNREADABLE};
use lienav_io::convert::Refusal;
use lienav_slam::DropReason;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// What is expected of reports.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Expectations {
    /// Of the report of each filter, or of each estimate that is judged.
    #[serde(alias = "every_estimate")]
    every_filter: BTreeMap<String, Bounds>,
    /// Of that of one filter, by its name.
    #[serde(alias = "estimates")]
    filters: BTreeMap<String, BTreeMap<String, Bounds>>,
}

/// Where a number has to lie, ends included.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// The least that is allowed.
    min: Option<f64>,
    /// The most that is allowed.
    max: Option<f64>,
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (Some(min), Some(max)) => write!(f, "{min} … {max}"),
            (Some(min), None) => write!(f, "at least {min}"),
            (None, Some(max)) => write!(f, "at most {max}"),
            (None, None) => write!(f, "any"),
        }
    }
}

/// One number, held against its bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Whose.
    pub filter: String,
    /// Its name, as in the report's JSON.
    pub number: String,
    /// What is allowed.
    pub bounds: Bounds,
    /// What the report says; `None` where it is not known.
    pub found: Option<f64>,
}

impl Check {
    /// Whether the number is known and within its bounds.
    pub fn holds(&self) -> bool {
        let Bounds { min, max } = self.bounds;
        self.found.is_some_and(|found| min.is_none_or(|min| found >= min) && max.is_none_or(|max| found <= max))
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { filter, number, bounds, found } = self;
        match found {
            Some(found) => write!(f, "{filter}: {number} is {found}, expected: {bounds}"),
            None => write!(f, "{filter}: {number} is not known, expected: {bounds}"),
        }
    }
}

/// Expectations that no report can be held against.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpectError {
    /// Nothing is expected.
    #[error("nothing is expected; give bounds under 'every_filter' or 'filters'")]
    Empty,
    /// A filter that did not run.
    #[error("expects something of '{0}', which did not run; it was: {1}")]
    NoSuchFilter(String, String),
    /// A number that no report has.
    #[error("'{0}' is no number of the report; the report has: {1}")]
    NoSuchNumber(String, String),
    /// A reason for which nothing is dropped.
    #[error("'{0}' is no reason for which a message is dropped; the reasons are: {1}")]
    NoSuchReason(String, String),
    /// Bounds that allow nothing, or everything.
    #[error("the bounds of '{0}' are {1}; give min, max or both, finite, min not above max")]
    Bounds(String, String),
}

/// A report by its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Whose it is.
    pub filter: String,
    /// How many steps it is of.
    pub steps: usize,
    /// All of it.
    pub json: Value,
}

impl Expectations {
    /// Holds the reports against what is expected; in the order of the reports, then of the numbers' names.
    ///
    /// # Errors
    /// Expectations that no report can be held against.
    pub fn check(&self, reports: &[Report]) -> Result<Vec<Check>, ExpectError> {
        let of = |report: &Report| Numbers {
            filter: report.filter.clone(),
            steps: report.steps,
            json: serde_json::to_value(report).unwrap_or_default(),
        };
        self.check_numbers(&reports.iter().map(of).collect::<Vec<_>>())
    }

    /// The same of reports of any kind.
    ///
    /// # Errors
    /// As [`Expectations::check`].
    pub fn check_numbers(&self, reports: &[Numbers]) -> Result<Vec<Check>, ExpectError> {
        if let Some(missing) = self.filters.keys().find(|name| !reports.iter().any(|report| report.filter == **name)) {
            let ran: Vec<&str> = reports.iter().map(|report| report.filter.as_str()).collect();
            return Err(ExpectError::NoSuchFilter(missing.clone(), ran.join(", ")));
        }
        let (mut checks, steps) = (Vec::new(), "steps".to_owned());
        for report in reports {
            let json = &report.json;
            // What is said of one filter goes before what is said of all.
            let mut expected: BTreeMap<&String, Bounds> = self.every_filter.iter().map(|(n, b)| (n, *b)).collect();
            expected.extend(self.filters.get(&report.filter).into_iter().flatten().map(|(n, b)| (n, *b)));
            if report.steps == 0 {
                expected.entry(&steps).or_insert(Bounds { min: Some(1.0), max: None });
            }
            for (number, bounds) in expected {
                check_bounds(number, bounds)?;
                let found = number_of(json, number)?;
                checks.push(Check { filter: report.filter.clone(), number: number.clone(), bounds, found });
            }
        }
        let is_empty = self.every_filter.is_empty() && self.filters.values().all(BTreeMap::is_empty);
        if is_empty { Err(ExpectError::Empty) } else { Ok(checks) }
    }
}

fn check_bounds(number: &str, bounds: Bounds) -> Result<(), ExpectError> {
    let Bounds { min, max } = bounds;
    let is_finite = min.iter().chain(&max).all(|bound| bound.is_finite());
    let is_ordered = min.zip(max).is_none_or(|(min, max)| min <= max);
    if is_finite && is_ordered && (min.is_some() || max.is_some()) {
        return Ok(());
    }
    Err(ExpectError::Bounds(number.to_owned(), bounds.to_string()))
}

/// Keys of a report that are there only where there is something to say.
const SOMETIMES: [&str; 2] = ["associations", "fixes"];

/// Reasons of a node and of the reading of data sets, beside those of the filter and of the conversion.
const OTHER_REASONS: [&str; 16] = [
    UNREADABLE,
    BAD_TRUTH,
    "queue_full",
    "stale",
    "standby",
    "no_odom_pose",
    "before_start",
    "repeated_row",
    "unknown_barcode",
    "other_robot",
    "unknown_record",
    "loop_closure",
    "repeated_edge",
    "not_converged",
    "repeated_stamp",
    "out_of_order",
];

/// All reasons for which messages and measurements are dropped.
fn reasons() -> impl Iterator<Item = &'static str> {
    let filter = DropReason::ALL.into_iter().map(DropReason::word);
    filter.chain(Refusal::WORDS).chain(OTHER_REASONS)
}

/// The number of a report by its name, `None` where it is not known.
fn number_of(report: &Value, name: &str) -> Result<Option<f64>, ExpectError> {
    let no_such = || {
        let of = report.as_object().into_iter().flatten();
        let known = of.filter(|(_, value)| !value.is_string() && !value.is_array()).map(|(key, _)| key.as_str());
        ExpectError::NoSuchNumber(name.to_owned(), known.collect::<Vec<_>>().join(", "))
    };
    let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
    let Some(value) = report.get(first) else {
        return if SOMETIMES.contains(&first) { Ok(None) } else { Err(no_such()) };
    };
    match (value, rest) {
        (Value::Number(number), None) => Ok(number.as_f64()),
        (Value::Null, _) => Ok(None),
        (Value::Object(counts), Some(reason)) if first == "dropped" => match counts.get(reason) {
            Some(count) => Ok(count.as_f64()),
            None if reasons().any(|known| known == reason) => Ok(Some(0.0)),
            None => Err(ExpectError::NoSuchReason(name.to_owned(), reasons().collect::<Vec<_>>().join(", "))),
        },
        (Value::Object(_), Some(rest)) => {
            let inner = rest.split('.').try_fold(value, |value, key| value.get(key));
            match inner {
                Some(inner) => Ok(inner.as_f64()),
                // What was not calibrated is not known; any other key is a mistake.
                None if first == "calibration" => Ok(None),
                None => Err(no_such()),
            }
        }
        _ => Err(no_such()),
    }
}

/// Checks as JUnit XML, which shows them beside the other tests of a continuous integration: one test case each.
pub fn junit(suite: &str, checks: &[Check]) -> String {
    let failed = checks.iter().filter(|check| !check.holds()).count();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String cannot fail.
    let _ = writeln!(
        xml,
        "<testsuites tests=\"{n}\" failures=\"{failed}\">\n<testsuite name=\"{}\" tests=\"{n}\" failures=\"{failed}\" \
         errors=\"0\" skipped=\"0\">",
        escaped(suite),
        n = checks.len()
    );
    for check in checks {
        let name = format!("{}: {}", check.number, check.bounds);
        let _ = write!(xml, "<testcase classname=\"lienav.{}\" name=\"{}\"", escaped(&check.filter), escaped(&name));
        if check.holds() {
            xml.push_str("/>\n");
        } else {
            let said = escaped(&check.to_string());
            let _ = writeln!(xml, "><failure type=\"expectation\" message=\"{said}\">{said}</failure></testcase>");
        }
    }
    xml.push_str("</testsuite>\n</testsuites>\n");
    xml
}

/// Text as XML has it; what XML cannot say at all becomes a question mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::errors::Errors;
    use super::super::synthetic;
    use super::*;

    fn expecting(json: &str) -> Expectations {
        serde_json::from_str(json).unwrap()
    }

    fn reports() -> Vec<Report> {
        let (run, truth) = synthetic::run(40, 2);
        let errors = Errors::new(&run, &truth);
        vec![Report::new(&run, &errors), Report { filter: "ekf".into(), ..Report::new(&run, &errors) }]
    }

    #[test]
    fn numbers_are_held_against_their_bounds_also_nested_ones_and_reasons_that_did_not_happen() {
        let text = r#"{"every_filter": {"steps": {"min": 40, "max": 40}, "dropped.gated": {"max": 2},
            "dropped.absurd": {"max": 0}, "step_us.p99": {"max": 100}, "calibration.range_bias.value": {"max": 1},
            "fixes.median_m": {"max": 1}}, "filters": {"ekf": {"dropped.gated": {"max": 3}}}}"#;
        let checks = expecting(text).check(&reports()).unwrap();
        assert_eq!(checks.len(), 12);
        let failed: Vec<String> = checks.iter().filter(|check| !check.holds()).map(Check::to_string).collect();
        let unknown = |filter| {
            ["calibration.range_bias.value", "fixes.median_m"]
                .map(|number| format!("{filter}: {number} is not known, expected: at most 1"))
        };
        let [a, b] = unknown("reduced");
        let [c, d] = unknown("ekf");
        assert_eq!(failed, [a, "reduced: dropped.gated is 3, expected: at most 2".to_owned(), b, c, d]);
    }

    #[test]
    fn what_cannot_be_held_against_a_report_is_refused_with_what_there_is() {
        let refused = |text: &str| expecting(text).check(&reports()).unwrap_err().to_string();
        assert!(refused("{}").contains("every_filter"));
        assert!(refused(r#"{"filters": {"kalman": {}}}"#).contains("reduced, ekf"));
        let typo = refused(r#"{"every_filter": {"position_rmse": {"max": 1}}}"#);
        assert!(typo.contains("position_rmse_m") && !typo.contains("source"), "{typo}");
        assert!(refused(r#"{"every_filter": {"step_us.p98": {"max": 1}}}"#).contains("step_us.p98"));
        assert!(refused(r#"{"every_filter": {"filter": {"max": 1}}}"#).contains("'filter'"));
        assert!(refused(r#"{"every_filter": {"steps": {"min": 2, "max": 1}}}"#).contains("2 … 1"));
        assert!(refused(r#"{"every_filter": {"steps": {}}}"#).contains("any"));
        assert!(serde_json::from_str::<Expectations>(r#"{"all": {}}"#).is_err());
        assert!(serde_json::from_str::<Expectations>(r#"{"every_filter": {"steps": {"maximum": 1}}}"#).is_err());
    }

    #[test]
    fn an_unknown_reason_is_refused_and_a_run_without_a_step_fails() {
        let typo = expecting(r#"{"every_filter": {"dropped.not_finit": {"max": 0}}}"#).check(&reports()).unwrap_err();
        assert!(
            typo.to_string().contains("'dropped.not_finit' is no reason") && typo.to_string().contains("not_finite")
        );
        let known = r#"{"every_filter": {"dropped.not_finite": {"max": 0}, "dropped.unknown_frame": {"max": 0}}}"#;
        assert!(expecting(known).check(&reports()).unwrap().iter().all(Check::holds));
        let empty: Vec<Report> = reports().into_iter().map(|report| Report { steps: 0, ..report }).collect();
        let checks = expecting(known).check(&empty).unwrap();
        let failed: Vec<String> = checks.iter().filter(|check| !check.holds()).map(Check::to_string).collect();
        assert_eq!(failed[0], "reduced: steps is 0, expected: at least 1");
        let expected = r#"{"every_filter": {"steps": {"max": 0}}}"#;
        assert!(expecting(expected).check(&empty).unwrap().iter().all(Check::holds));
    }

    #[test]
    fn junit_counts_what_failed_and_no_name_breaks_it() {
        let checks = expecting(r#"{"every_filter": {"steps": {"max": 10}, "nees_mean": {"min": 0}}}"#);
        let xml = junit("bag <\"&\u{1b}>", &checks.check(&reports()).unwrap());
        assert!(
            xml.contains("tests=\"4\" failures=\"2\"") && xml.contains("name=\"bag &lt;&quot;&amp;?&gt;\""),
            "{xml}"
        );
        assert_eq!(xml.matches("<failure ").count(), 2);
        assert_eq!(xml.matches("<testcase ").count(), 4);
    }
}
