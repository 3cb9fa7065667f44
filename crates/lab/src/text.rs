//! A report as people read it.

use super::report::{Experiment, Failure, Report, Table};
use lienav_eval::monte_carlo::table;

/// Experiment by experiment: what it is, a table of what was measured of each method, what
/// could not be run to its end, and further tables.
pub fn to_text(report: &Report) -> String {
    report.experiments.iter().map(experiment_to_text).collect::<Vec<_>>().join("\n\n")
}

fn experiment_to_text(experiment: &Experiment) -> String {
    let mut text = format!("{}\n{}\n", experiment.name, experiment.about);
    if !experiment.methods.is_empty() {
        text += &format!("\n{}", table(&results(experiment)));
    }
    if !experiment.failures.is_empty() {
        text += "\nNot run to the end, so that its numbers are missing:\n\n";
    }
    for Failure { method, during, error } in &experiment.failures {
        text += &format!("{method}, {during}: {error}\n");
    }
    for Table { title, columns, rows } in &experiment.tables {
        let rows: Vec<_> = std::iter::once(columns).chain(rows).cloned().collect();
        text += &format!("\n{title}\n\n{}", table(&rows));
    }
    text
}

/// A line for each method, a column for each key that any of them has, in the order of their first appearance.
fn results(experiment: &Experiment) -> Vec<Vec<String>> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in experiment.methods.iter().flat_map(|method| &method.values) {
        if !keys.contains(key) {
            keys.push(key);
        }
    }
    let head = std::iter::once("method").chain(keys.iter().copied()).map(str::to_owned).collect();
    let rows = experiment.methods.iter().map(|method| {
        let value =
            |key: &&str| method.values.iter().find(|(k, _)| k == key).map_or("–".to_owned(), |(_, x)| number(*x));
        std::iter::once(method.name.clone()).chain(keys.iter().map(value)).collect()
    });
    std::iter::once(head).chain(rows).collect()
}

/// A number in a table: whole ones as they are, others with four digits, in powers of ten where they are small or
/// large; a dash for what is not finite.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        "–".to_owned()
    } else if size < 1e7 && x.fract() == 0.0 {
        format!("{x:.0}")
    } else if (1e-3..1e5).contains(&size) {
        let digits = 3 - size.log10().floor() as i32;
        let rounded = format!("{x:.*}", digits.max(0) as usize);
        if rounded.contains('.') { rounded.trim_end_matches('0').trim_end_matches('.').to_owned() } else { rounded }
    } else {
        format!("{x:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::MethodResult;
    use super::*;
    use lienav_integrate::IntegrationError;

    #[test]
    fn numbers_are_short_and_never_lose_their_size() {
        let cases = [
            (0.0, "0"),
            (2.0, "2"),
            (-3.0, "-3"),
            (1.999_96, "2"),
            (0.05, "0.05"),
            (123.456, "123.5"),
            (12_345.6, "12346"),
            (3.217e-14, "3.22e-14"),
            (-4.5e8, "-4.50e8"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ];
        for (x, text) in cases {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn columns_are_the_keys_of_all_methods_and_what_a_method_lacks_is_a_dash() {
        let method =
            |name: &str, values: &[(&'static str, f64)]| MethodResult { name: name.into(), values: values.into() };
        let experiment = Experiment {
            name: "top".into(),
            about: "A heavy top.".into(),
            methods: vec![method("a", &[("order_observed", 2.01)]), method("long name", &[("step_ns", 120.0)])],
            tables: vec![Table {
                title: "Table 1".into(),
                columns: vec!["n".into(), "h".into()],
                rows: vec![vec!["11".into(), "0.02".into()]],
            }],
            failures: vec![Failure {
                method: "a".into(),
                during: "long run".into(),
                error: IntegrationError::NotFinite { time: 3.5, step: 0.5 },
            }],
            ..Experiment::default()
        };
        let text = to_text(&Report { experiments: vec![experiment] });
        let expected = "top\nA heavy top.\n\n\
                        method     order_observed  step_ns\n\
                        a                    2.01        –\n\
                        long name               –      120\n\n\
                        Not run to the end, so that its numbers are missing:\n\n\
                        a, long run: the step of h = 0.5 at t = 3.5 gave numbers that are not finite; take a smaller step\n\n\
                        Table 1\n\n\
                        n      h\n\
                        11  0.02\n";
        assert_eq!(text, expected);
    }
}
