//! Reproductions that are run part by part, so that what is finished can be kept while the rest is under way.

use super::report::{Experiment, Extent, Progress, Report};
use lienav_integrate::IntegrationError;

/// An experiment to be run, and roughly its share of the work, in [0, 1].
pub type Part = (fn(Extent, Progress<'_>) -> Result<Experiment, IntegrationError>, f64);

/// Something that can be run again.
pub struct Reproduction {
    /// As `lienav reproduce` takes it.
    pub name: &'static str,
    /// A line for `lienav reproduce list`.
    pub about: &'static str,
    parts: &'static [Part],
}

impl Reproduction {
    pub(super) const fn of_parts(name: &'static str, about: &'static str, parts: &'static [Part]) -> Self {
        Self { name, about, parts }
    }

    /// How many parts it has.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Runs one part alone, counted from 0; nothing where there is no such part.
    ///
    /// # Errors
    /// An [`IntegrationError`] where it cannot be run at all.
    pub fn run_part(&self, part: usize, extent: Extent, progress: Progress<'_>) -> Result<Report, IntegrationError> {
        let experiment = self.parts.get(part).map(|(run, _)| run(extent, progress)).transpose()?;
        Ok(Report { experiments: experiment.into_iter().collect() })
    }

    /// Runs it. `finished` is called after each part with all experiments up to there and how many of them are new.
    ///
    /// # Errors
    /// An [`IntegrationError`] where a part cannot be run at all, such as when its reference cannot be computed; and
    /// what `finished` returns.
    pub fn run<E: From<IntegrationError>>(
        &self,
        extent: Extent,
        progress: Progress<'_>,
        mut finished: impl FnMut(&Report, usize) -> Result<(), E>,
    ) -> Result<Report, E> {
        let (mut report, mut done) = (Report::default(), 0.0);
        for (run, share) in self.parts {
            report.experiments.push(run(extent, &|of_part| progress(done + share * of_part))?);
            done += share;
            progress(done);
            finished(&report, 1)?;
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const ERROR: IntegrationError = IntegrationError::NotFinite { time: 1.0, step: 0.5 };

    fn named(name: &str, progress: Progress<'_>) -> Experiment {
        progress(0.5);
        Experiment { name: name.into(), ..Experiment::default() }
    }

    #[test]
    fn what_is_finished_before_a_failure_was_told() {
        const PARTS: &[Part] = &[
            (|_, progress| Ok(named("first", progress)), 0.25),
            (|_, progress| Ok(named("second", progress)), 0.5),
            (|_, _| Err(ERROR), 0.25),
        ];
        let (seen, mut told) = (Mutex::new(Vec::new()), Vec::new());
        let progress = |done: f64| seen.lock().unwrap().push(done);
        let result = Reproduction::of_parts("test", "A test", PARTS).run(Extent::Quick, &progress, |report, new| {
            let names: Vec<_> = report.experiments.iter().map(|experiment| experiment.name.clone()).collect();
            told.push((names, new));
            Ok::<_, IntegrationError>(())
        });
        assert_eq!(result.unwrap_err(), ERROR);
        assert_eq!(told, [(vec!["first".to_owned()], 1), (vec!["first".to_owned(), "second".to_owned()], 1)]);
        assert_eq!(*seen.lock().unwrap(), [0.125, 0.25, 0.5, 0.75]);
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        for reproduction in super::super::REPRODUCTIONS {
            let sum: f64 = reproduction.parts.iter().map(|part| part.1).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{}: {sum}", reproduction.name);
        }
    }
}
