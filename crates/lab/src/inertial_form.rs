//! Luo and Sun 2020, (13) and (23): the form dQ ∧ S dQ, measured.

use super::{Experiment, Extent, MethodResult, Table, number};
use lienav_integrate::dynamics::inertial::{luo_sun, pseudo_symplectic_form};
use lienav_integrate::tableau::{
    EULER, EXPLICIT_MIDPOINT, GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, KUTTA3, LOBATTO_IIIA4, RADAU_IIA5, RK4,
};
use lienav_integrate::{IntegrationError, Tableau, linear_rk};
use nalgebra::Matrix3;

/// The form of the matrices that two tangent matrices have become after each step: the equation is linear, so that they
/// obey it, too.
pub(super) fn experiment(extent: Extent) -> Result<Experiment, IntegrationError> {
    let steps = if extent == Extent::Full { 20_000 } else { 1_000 };
    let mut experiment = Experiment {
        name: "pseudo-symplectic-form".into(),
        about: format!(
            "Luo and Sun 2020, (13) and (23): dQ ∧ S dQ, that is 2 tr XᵀSY of tangent matrices X, Y, which obey the same \
             equation as Q; (36), h = 0.1, {steps} steps. form_error_max is the greatest change of it, relative to its \
             size; step_form_defect is ‖PᵀSP − S‖ of the step's matrix P. A method that meets (22) keeps it (theorem \
             3.1), and so does any other whose P has a norm of one, as that of Lobatto IIIA with a constant S."
        ),
        ..Experiment::default()
    };
    let mut table = Table {
        title: "Theorem 3.1: condition (22), and what becomes of dQ ∧ S dQ".into(),
        columns: ["method", "meets (22)", "keeps the form, text", "ours"].map(str::to_owned).into(),
        rows: Vec::new(),
    };
    for of in [
        of(&IMPLICIT_MIDPOINT, steps),
        of(&GAUSS4, steps),
        of(&GAUSS6, steps),
        of(&EXPLICIT_MIDPOINT, steps),
        of(&EULER, steps),
        of(&KUTTA3, steps),
        of(&RK4, steps),
        of(&RADAU_IIA5, steps),
        of(&LOBATTO_IIIA4, steps),
    ] {
        let Form { name, is_symplectic, change, of_step } = of?;
        let claim = if is_symplectic { "yes" } else { "" };
        let row = [name, if is_symplectic { "yes" } else { "no" }, claim, if change < 1e-10 { "yes" } else { "no" }];
        table.rows.push(row.map(str::to_owned).into());
        let values = vec![("form_error_max", change), ("step_form_defect", of_step)];
        experiment.methods.push(MethodResult { name: name.to_owned(), values });
    }
    table.title += &format!(" over {} units of time", number(0.1 * f64::from(steps)));
    experiment.tables.push(table);
    Ok(experiment)
}

struct Form {
    name: &'static str,
    is_symplectic: bool,
    change: f64,
    of_step: f64,
}

fn of<const S: usize>(tableau: &Tableau<S>, steps: u32) -> Result<Form, IntegrationError> {
    let s = luo_sun();
    let increment = linear_rk::increment(tableau, &[s; S], 0.0, 0.1)?;
    let mut pair = [
        Matrix3::from_fn(|i, j| (1.0 + i as f64 - 0.7 * j as f64).sin()),
        Matrix3::from_fn(|i, j| (0.4 * i as f64 + 1.1 * j as f64).cos()),
    ];
    let before = pseudo_symplectic_form(&s, &pair[0], &pair[1]);
    let mut change = 0.0_f64;
    for _ in 0..steps {
        pair = pair.map(|x| linear_rk::apply(&increment, &x));
        change = change.max((pseudo_symplectic_form(&s, &pair[0], &pair[1]) / before - 1.0).abs());
    }
    let p = Matrix3::identity() + increment;
    let of_step = (p.transpose() * s * p - s).norm();
    Ok(Form { name: tableau.name, is_symplectic: tableau.is_symplectic(), change, of_step })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_kept_by_what_meets_22_and_by_lobatto_iiia_where_s_is_constant() {
        let experiment = experiment(Extent::Quick).unwrap();
        for method in &experiment.methods {
            let keeps = ["implicit midpoint", "Gauss 4", "Gauss 6", "Lobatto IIIA 4"].contains(&&*method.name);
            assert_eq!(method.values[0].1 < 1e-11, keeps, "{}: {:e}", method.name, method.values[0].1);
            assert_eq!(method.values[1].1 < 1e-14, keeps, "{}: {:e}", method.name, method.values[1].1);
        }
    }
}
