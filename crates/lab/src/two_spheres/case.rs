//! What is done with each of the systems.

use super::contestants::contestants;
use super::long_run::{LongRun, SPAN, STEP};
use super::{convergence, long_run};
use crate::measure::time_step;
use crate::report::{Experiment, Extent, MethodResult, Progress, Table};
use crate::text::number;
use lienav_integrate::IntegrationError;
use lienav_integrate::two_spheres::SphereSystem;
use lienav_lie::Ts2;
use std::hint::black_box;
use std::time::Duration;

/// One system of part II with the data of its section.
pub struct Case<const N: usize, S> {
    /// For JSON and files.
    pub name: &'static str,
    /// System and parameters.
    pub about: &'static str,
    /// The text's figures of energy, of constraints, and of errors.
    pub figures: [&'static str; 3],
    /// The text's table of running times.
    pub table: &'static str,
    /// The system.
    pub system: S,
    /// Its initial state.
    pub start: [Ts2; N],
    /// What the text says of the energy under these four, where "bounded" and "drift" are its words.
    pub printed_energy: [&'static str; 4],
    /// Running times of the table, s, of ELN, RKMK4, RKMKGL4 and RATTLE.
    pub printed_s: [f64; 4],
    /// The largest step of the figure of errors is 2 to minus this.
    pub coarsest: i32,
    /// Whether the momentum about the vertical is constant.
    pub has_vertical_symmetry: bool,
}

/// How long a method is timed.
const BUDGET: Duration = Duration::from_millis(60);

impl<const N: usize, S: SphereSystem<N>> Case<N, S> {
    pub fn experiment(&self, extent: Extent, progress: Progress<'_>) -> Result<Experiment, IntegrationError> {
        let (steps, finest) = match extent {
            Extent::Full => ((SPAN / STEP).round() as usize, 9),
            Extent::Quick => (1_000, 8),
        };
        let mut experiment = Experiment {
            name: self.name.to_owned(),
            about: format!(
                "{}. Long runs with h = {STEP} s to T = {} s; errors at T = 1 s against Gauss 6.",
                self.about,
                steps as f64 * STEP
            ),
            ..Experiment::default()
        };
        let truth = convergence::reference(&self.system, &self.start)?;
        let (mut runs, mut errors, mut times_s) = (Vec::new(), Vec::new(), Vec::new());
        let all = contestants::<N, S>();
        for (index, contestant) in all.iter().enumerate() {
            let run = LongRun::new(&self.system, &self.start, contestant.step, steps);
            experiment.note(contestant.name, "long run", run.failed);
            let error = convergence::errors(&self.system, &self.start, contestant.step, &truth, self.coarsest..=finest);
            let step_ns = self.step_ns(contestant.step).unwrap_or(f64::NAN);
            let mut values = error.values(contestant.order);
            values.extend(run.values(self.has_vertical_symmetry));
            values.push(("step_ns", step_ns));
            experiment.methods.push(MethodResult { name: contestant.name.to_owned(), values });
            runs.push((contestant.name, contestant.order, run));
            errors.push((contestant.name, contestant.order, error));
            times_s.push((contestant.name, step_ns * 1e-9 * SPAN / STEP));
            progress((index + 1) as f64 / all.len() as f64);
        }
        experiment.tables.push(self.claims(&runs));
        experiment.tables.push(self.running_times(&times_s));
        experiment.figures = long_run::figures(self.figures, self.has_vertical_symmetry, &runs);
        experiment.figures.extend(convergence::figures(self.figures[2], &errors));
        Ok(experiment)
    }

    fn step_ns(&self, step: super::contestants::Step<N, S>) -> Result<f64, IntegrationError> {
        let mut state = self.start;
        let mut failed = None;
        let time = time_step(BUDGET, || match step(&self.system, black_box(&state), 0.0, STEP) {
            Ok(next) => state = next,
            Err(error) => failed = Some(error),
        });
        failed.map_or(Ok(time.least_ns), Err)
    }

    fn claims(&self, runs: &[(&str, u32, LongRun)]) -> Table {
        const ORTHOGONALITY: [&str; 4] = ["kept", "drift", "drift", "not drawn"];
        let rows = runs.iter().enumerate().map(|(index, (name, _, run))| {
            let text = |claims: &[&str; 4]| claims.get(index).map_or("–", |claim| *claim).to_owned();
            let found = |is_so: bool, yes, no| match run.failed {
                None if is_so => yes,
                None => no,
                Some(_) => "not run to the end",
            };
            let energy = found(run.drifts(), "drift", "bounded");
            let orthogonality = found(run.is_orthogonal(), "kept", "drift");
            vec![
                (*name).to_owned(),
                text(&self.printed_energy),
                energy.to_owned(),
                text(&ORTHOGONALITY),
                orthogonality.to_owned(),
            ]
        });
        let columns = ["method", "energy, text", "ours", "q·ω, text", "ours"].map(str::to_owned).into();
        let [energy, constraints, _] = self.figures;
        Table { title: format!("Figures {energy} and {constraints}: what stays"), columns, rows: rows.collect() }
    }

    fn running_times(&self, times_s: &[(&str, f64)]) -> Table {
        let eln_s = times_s.first().map_or(f64::NAN, |t| t.1);
        let rows = times_s.iter().enumerate().map(|(index, (name, time_s))| {
            let printed = self.printed_s.get(index);
            let text = |x: Option<f64>| x.map_or("–".to_owned(), number);
            let cells = [text(printed.copied()), text(printed.map(|s| s / self.printed_s[0]))];
            let ours = [number(*time_s), number(time_s / eln_s)];
            std::iter::once((*name).to_owned()).chain(cells).chain(ours).collect()
        });
        let columns = ["method", "text, s", "× ELN", "ours, s", "× ELN"].map(str::to_owned).into();
        let title =
            format!("Table {}: running time of {SPAN} s of simulation (the text's in MATLAB, 2009)", self.table);
        Table { title, columns, rows: rows.collect() }
    }
}
