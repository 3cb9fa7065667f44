//! Plots as SVG: of runs, where the robot went, how far it was off, and whether it knew; of integrators, any lines in
//! a plane.

mod canvas;
mod colors;
mod comparison;
mod figure;
mod growth;
mod map;
pub(crate) mod points;
mod series;

pub use comparison::comparison;
pub use figure::{Figure, Line, Look, figure};
pub use growth::{error_growth, numbered_error_growth, run_mean_nees};
pub use map::{landmarks, numbered_trajectory, trajectory};
pub use series::{errors, nees};

use super::errors::Errors;
use super::run::Run;
use lienav_io::truth::Truth;

/// What a plot shows: a run, its truth, and the errors between them.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The run.
    pub run: &'a Run,
    /// What is true.
    pub truth: &'a Truth,
    /// The run beside the truth.
    pub errors: &'a Errors,
}

impl Subject<'_> {
    fn title(&self, what: &str) -> String {
        format!("{what}: {} on {}", self.run.filter, self.run.source)
    }
}

/// A plot that could not be drawn.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the plot could not be drawn: {0}")]
pub struct PlotError(String);

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;
    use lienav_slam::{LandmarkMap, MapLandmark};
    use nalgebra::{Matrix2, Vector2};

    fn is_svg(text: &str) -> bool {
        text.starts_with("<svg") && text.trim_end().ends_with("</svg>") && !text.contains("NaN")
    }

    #[test]
    fn every_plot_is_drawn_names_source_and_filter_and_is_small_also_for_a_long_run() {
        let (run, truth) = synthetic::run(20_000, 5);
        let errors = Errors::new(&run, &truth);
        let subject = Subject { run: &run, truth: &truth, errors: &errors };
        for plot in [trajectory, super::errors, nees] {
            let svg = plot(&subject).unwrap();
            assert!(is_svg(&svg) && svg.contains("reduced") && svg.contains("synthetic"));
            assert!(svg.len() < 1_000_000, "{}", svg.len());
        }
        let svg = comparison(&[subject, subject]).unwrap();
        assert!(is_svg(&svg));
    }

    #[test]
    fn a_map_is_drawn_with_its_ids() {
        let landmark = |id: u32| MapLandmark {
            id,
            class: 0,
            position: Vector2::new(f64::from(id), 0.5 * f64::from(id % 7)),
            covariance: Matrix2::new(0.04, 0.01, 0.01, 0.09),
        };
        let map = |count: u32| LandmarkMap { landmarks: (0..count).map(landmark).collect(), joint: None, near: None };
        let svg = landmarks("hall.yaml", &map(30)).unwrap();
        assert!(is_svg(&svg) && svg.contains("hall.yaml") && svg.contains("\n29\n"));
        let svg = landmarks("hall.yaml", &map(20_000)).unwrap();
        assert!(is_svg(&svg) && svg.len() < 2_000_000, "{}", svg.len());
        assert!(is_svg(&landmarks("empty", &map(0)).unwrap()));
    }

    #[test]
    fn a_run_without_steps_or_truth_or_with_numbers_that_are_none_is_drawn_all_the_same() {
        let empty = (Run::default(), Truth::default());
        let (mut wild, truth) = synthetic::run(30, 5);
        wild.estimates[7].pose.p.x = f64::NAN;
        wild.estimates[8].covariance[(0, 0)] = -1.0;
        wild.landmarks[2].covariance[(0, 1)] = f64::INFINITY;
        for (run, truth) in [empty, (wild.clone(), truth), (wild, Truth::default())] {
            let errors = Errors::new(&run, &truth);
            let subject = Subject { run: &run, truth: &truth, errors: &errors };
            for plot in [trajectory, super::errors, nees] {
                assert!(is_svg(&plot(&subject).unwrap()));
            }
            assert!(is_svg(&comparison(&[subject]).unwrap()));
        }
        assert!(is_svg(&comparison(&[]).unwrap()));
    }
}
