//! Several filters on one recording, side by side.

use super::canvas::{Entry, GREY, HEAD_HEIGHT, Mark, PALETTE, TRUE_COLOR, draw, pt};
use super::colors::colors;
use super::map::draw_map;
use super::series::{COMPONENTS, Labels, draw_error, error_limit, start};
use super::{PlotError, Subject};
use lienav_io::truth::Truth;

/// Width of the map and of the panels beside it, and height of a filter's row, in points.
const MAP_WIDTH: f64 = 640.0;
const PANELS_WIDTH: f64 = 960.0;
const ROW_HEIGHT: f64 = 220.0;

/// On the left the trajectories with features and their 95 % ellipses, on the right a row for each filter: errors of
/// x, y and yaw with their ±3σ bands, a column's panels to one scale.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn comparison(subjects: &[Subject]) -> Result<String, PlotError> {
    let mut legend = vec![Entry::new("truth", TRUE_COLOR, Mark::Line)];
    let names: Vec<&str> = subjects.iter().map(|subject| subject.run.filter.as_str()).collect();
    let color = |place: usize| PALETTE.get(place % PALETTE.len()).copied().unwrap_or(GREY);
    let colored: Vec<_> = subjects.iter().zip(colors(&names).into_iter().map(color)).collect();
    legend.extend(colored.iter().map(|(subject, color)| Entry::new(&subject.run.filter, *color, Mark::Line)));
    legend.push(Entry::new("feature with 95 % ellipse", GREY, Mark::Ellipse));
    legend.push(Entry::new("true landmark", TRUE_COLOR, Mark::Cross));
    legend.push(Entry::new("±3σ as claimed", GREY, Mark::Band));
    let source = subjects.first().map_or("", |subject| subject.run.source.as_str());
    let title = format!("{} on {source}", names.join(", "));
    let rows = subjects.len().max(1);
    let height = HEAD_HEIGHT + (ROW_HEIGHT * rows as f64 + 20.0).max(560.0);
    draw((MAP_WIDTH + PANELS_WIDTH, height), &title, &legend, |area| {
        let (map, panels) = area.split_horizontally(pt(MAP_WIDTH));
        let nothing = Truth::default();
        let truth = subjects.first().map_or(&nothing, |subject| subject.truth);
        let runs: Vec<_> = colored.iter().map(|(subject, color)| (*subject, *color, *color)).collect();
        draw_map(&map, truth, &runs, false)?;
        let panels = panels.split_evenly((rows, COMPONENTS.len()));
        for (row, (subject, color)) in panels.chunks(COMPONENTS.len()).zip(&colored) {
            for (panel, (component, label)) in row.iter().zip(COMPONENTS) {
                let named = format!("{}: {label}", subject.run.filter);
                let labels = Labels { x: Some("time [s]"), y: Some(&named) };
                let limit = error_limit(subjects, component);
                draw_error(panel, subject, component, start(subject), limit, *color, &labels)?;
            }
        }
        Ok(())
    })
}
