//! A report as one page: a single HTML file with everything in it, which a browser opens from a disk, without network.
//!
//! The page shows what a reader asks in this order: how good, where, whether the covariance says so, and why not. Its
//! script, style and markup are plain files in `crates/report/page/`; data go in as JSON (`data`). A long run is
//! reduced to what can be seen, and no extreme is lost (`rows`); sums and the numbers of the report are of all steps.

mod data;
mod experiment;
mod rows;

use super::monte_carlo::{Outcome, Report};
use super::plot::Subject;
use std::fmt::Write as _;

pub use data::significant;
pub use rows::shown;

const MARKUP: &str = include_str!("../../page/page.html");
const STYLE: &str = include_str!("../../page/page.css");
/// What every page needs.
const COMMON: [&str; 3] =
    [include_str!("../../page/elements.js"), include_str!("../../page/theme.js"), include_str!("../../page/chart.js")];

/// What one page has and the other has not.
struct Kind {
    title: &'static str,
    /// The link that a keyboard comes to first.
    skip: &'static str,
    /// Above the heading.
    kicker: &'static str,
    sections: &'static str,
    scripts: &'static [&'static str],
}

const REPORT: Kind = Kind {
    title: "lienav report",
    skip: "<a class=\"skip\" href=\"#map\">Skip to the map</a>",
    kicker: "lienav report <span id=\"live\" hidden role=\"status\"></span>",
    sections: include_str!("../../page/report.html"),
    scripts: &[
        include_str!("../../page/map.js"),
        include_str!("../../page/headline.js"),
        include_str!("../../page/consistency.js"),
        include_str!("../../page/causes.js"),
        include_str!("../../page/report.js"),
    ],
};
const EXPERIMENT: Kind = Kind {
    title: "lienav Monte Carlo",
    skip: "<a class=\"skip\" href=\"#growth\">Skip to the charts</a>",
    kicker: "lienav Monte Carlo",
    sections: include_str!("../../page/experiment.html"),
    scripts: &[include_str!("../../page/experiment.js")],
};

const JUDGED: Kind = Kind {
    title: "lienav judge",
    skip: "<a class=\"skip\" href=\"#time\">Skip to the charts</a>",
    kicker: "lienav judge",
    sections: include_str!("../../page/judged.html"),
    scripts: &[include_str!("../../page/judged.js")],
};

/// What a page is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A file: it may load nothing from anywhere.
    File,
    /// A server that has the newest data beside the page, as `data.json`, while the run goes on.
    Live,
}

/// The page of runs that share one truth, as HTML.
///
/// # Errors
/// None in practice; serde's, should the data ever hold what JSON cannot say.
pub fn html(subjects: &[Subject], used_as: Use) -> serde_json::Result<String> {
    Ok(fill(&REPORT, &data_json(subjects)?, used_as))
}

/// The page of a Monte Carlo experiment, as HTML; `report` is that of the outcome, with or without times.
///
/// # Errors
/// As [`html`].
pub fn experiment(outcome: &Outcome, report: &Report) -> serde_json::Result<String> {
    let json = serde_json::to_string(&experiment::Page::new(outcome, report))?;
    Ok(fill(&EXPERIMENT, &json, Use::File))
}

/// The page of judged estimates with its data, as JSON.
pub fn judged(json: &str) -> String {
    fill(&JUDGED, json, Use::File)
}

/// The data of the page of runs, as JSON.
///
/// # Errors
/// As [`html`].
pub fn data_json(subjects: &[Subject]) -> serde_json::Result<String> {
    serde_json::to_string(&data::Page::new(subjects))
}

/// The page with data in it.
fn fill(kind: &Kind, json: &str, used_as: Use) -> String {
    let connect = match used_as {
        Use::File => "'none'",
        Use::Live => "'self'",
    };
    let mut page = String::with_capacity(MARKUP.len() + STYLE.len() + json.len() + 100_000);
    let mut rest = MARKUP;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page.push_str(before);
        match name {
            "connect" => page.push_str(connect),
            "title" => page.push_str(kind.title),
            "skip" => page.push_str(kind.skip),
            "kicker" => page.push_str(kind.kicker),
            "sections" => page.push_str(kind.sections),
            "style" => page.push_str(STYLE),
            "live" => page.push_str(if used_as == Use::Live { "data.json" } else { "" }),
            // Names of topics and files come from whoever has made a bag: none of them ends the element.
            "data" => page.push_str(&json.replace('<', "\\u003c")),
            "script" => COMMON.iter().chain(kind.scripts).for_each(|script| {
                // Writing to a String cannot fail.
                let _ = writeln!(page, "{script}");
            }),
            _ => {}
        }
        rest = after;
    }
    page.push_str(rest);
    page
}

#[cfg(test)]
mod tests {
    use super::super::errors::Errors;
    use super::super::run::Run;
    use super::super::synthetic;
    use super::*;
    use lienav_io::truth::Truth;
    use serde_json::Value;

    fn data_of(page: &str) -> Value {
        let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn a_page_is_one_file_that_asks_nobody() {
        let (run, truth) = synthetic::run(50, 3);
        let errors = Errors::new(&run, &truth);
        let subject = Subject { run: &run, truth: &truth, errors: &errors };
        let page = html(&[subject], Use::File).unwrap();
        assert!(page.contains("connect-src 'none'"));
        for name in ["connect", "title", "skip", "kicker", "sections", "style", "live", "data", "script"] {
            assert!(!page.contains(&format!("{{{{{name}}}}}")), "{name}");
        }
        for outside in ["http://", "https://", "src=\"", "@import", "url("] {
            let found = page.replace("http://www.w3.org/2000/svg", "").replace("url(#", "").find(outside);
            assert_eq!(found, None, "{outside}");
        }
        assert!(html(&[subject], Use::Live).unwrap().contains("connect-src 'self'"));
    }

    #[test]
    fn a_name_cannot_end_the_data() {
        let (mut run, truth) = synthetic::run(5, 3);
        run.source = "</script><script>alert(1)</script>{{style}}<!--".into();
        let errors = Errors::new(&run, &truth);
        let page = html(&[Subject { run: &run, truth: &truth, errors: &errors }], Use::File).unwrap();
        assert!(!page.contains("<script>alert"));
        assert_eq!(data_of(&page)["source"], Value::from(run.source));
    }

    #[test]
    fn a_run_without_steps_truth_or_sense_has_a_page() {
        let (mut wild, truth) = synthetic::run(30, 5);
        wild.estimates[7].pose.p.x = f64::NAN;
        wild.estimates[8].covariance[(0, 0)] = -1.0;
        wild.landmarks[2].covariance[(0, 1)] = f64::INFINITY;
        for (run, truth) in [(Run::default(), Truth::default()), (wild.clone(), truth), (wild, Truth::default())] {
            let errors = Errors::new(&run, &truth);
            let page = html(&[Subject { run: &run, truth: &truth, errors: &errors }], Use::File).unwrap();
            assert_eq!(data_of(&page)["filters"][0]["steps"], Value::from(run.estimates.len()));
        }
        assert_eq!(data_of(&html(&[], Use::File).unwrap())["filters"], Value::Array(Vec::new()));
    }

    #[test]
    fn a_long_run_of_several_filters_fits_into_five_megabytes_and_keeps_its_extremes() {
        let (mut run, truth) = synthetic::run(60_000, 5);
        run.estimates[31_234].pose.p.x += 5.0;
        let errors = Errors::new(&run, &truth);
        let subject = Subject { run: &run, truth: &truth, errors: &errors };
        let page = html(&[subject; 8], Use::File).unwrap();
        assert!(page.len() < 5_000_000, "{}", page.len());
        let data = data_of(&page);
        let greatest = errors.steps.iter().map(|step| step.error.x).fold(0.0, f64::max);
        let shown = data["filters"][0]["rows"]["ex"].as_array().unwrap().iter().filter_map(Value::as_f64);
        let shown = shown.fold(0.0, f64::max);
        assert!((shown - greatest).abs() < 1e-3 && greatest > 4.0, "{shown} {greatest}");
        assert_eq!(data["filters"][0]["steps"], 60_000);
    }
}
