//! Table 2.1: what integrators of rigid bodies keep, with its question marks and blanks filled in.

use super::contestants::{Contestant, contestants};
use super::stepper::TestBody;
use crate::measure::{drift, largest};
use crate::report::{Experiment, MethodResult, Table};
use lienav_integrate::dynamics::{FreeBody, StabilityBody};
use lienav_integrate::{BodyState, RigidBody, TorqueGradient};
use lienav_lie::{LieGroup, So3};
use nalgebra::{Matrix3, SMatrix, Vector3, Vector6};

/// A row of the text: its name of the algorithm, what is printed of a free body and of a body in a potential
/// (symplectic, energy, momentum of each), and the contestant that it is here.
type Row = (&'static str, [&'static str; 3], [&'static str; 3], Option<&'static str>);

/// "✓", "?", "nearly" and blanks as they survive in the text, whose columns are not always told apart.
const ROWS: [Row; 14] = [
    ("Lie–Newmark, explicit", ["?", "", ""], ["?", "", ""], Some("ELN")),
    ("Lie–Newmark, trapezoidal", ["?", "", ""], ["?", "", ""], Some("TLN")),
    ("Algo_1", ["", "✓", ""], ["", "?", ""], None),
    ("Algo_C1", ["", "✓", "✓"], ["", "?", "?"], Some("energy-momentum, exponential")),
    ("Austin et al.", ["", "✓", "✓"], ["", "?", "?"], Some("energy-momentum, Cayley")),
    ("Lewis & Simo", ["✓", "✓", "✓"], ["", "", ""], None),
    ("RATTLE", ["✓", "✓", "✓"], ["✓", "nearly", "✓"], Some("RATTLE (3.28)")),
    ("Variational", ["✓", "nearly", "✓"], ["✓", "nearly", "✓"], Some("VLV")),
    ("LIEMID(EA)", ["?", "", ""], ["?", "", ""], Some("LIEMID[EA]")),
    ("PRK", ["?", "✓", "✓"], ["?", "?", "?"], Some("PRK")),
    ("MCG", ["?", "✓", ""], ["?", "?", ""], Some("MCG")),
    ("NEW3", ["?", "", "✓"], ["?", "", ""], Some("NEW3")),
    ("not in the table: polar, order 4", ["", "", ""], ["", "", ""], Some("VPD 4")),
    ("not in the table: RKMK4", ["", "", ""], ["", "", ""], Some("RKMK4")),
];

/// A top whose weight hangs on its third axis, not one of inertia: the momentum about the vertical is that of its only
/// symmetry.
#[derive(Clone, Copy)]
struct Top;

impl RigidBody for Top {
    fn moments(&self) -> Vector3<f64> {
        Vector3::new(1.0, 1.4, 0.7)
    }
    fn potential(&self, attitude: &So3) -> f64 {
        (*attitude * ARM).z
    }
    /// −∂U: the weight −e₃ pulls at the arm.
    fn torque(&self, attitude: &So3) -> Vector3<f64> {
        ARM.cross(&-attitude.rotate_back(&Vector3::z()))
    }
}

impl TorqueGradient for Top {
    /// Of Rᵀe₃ the derivative is (Rᵀe₃)^.
    fn torque_gradient(&self, attitude: &So3) -> Matrix3<f64> {
        -ARM.cross_matrix() * attitude.rotate_back(&Vector3::z()).cross_matrix()
    }
}

const ARM: Vector3<f64> = Vector3::new(0.1, 0.0, 0.5);

fn start() -> BodyState {
    BodyState { attitude: So3::exp(&Vector3::new(0.3, -0.2, 0.5)), angular_velocity: Vector3::new(0.4, 0.9, -0.6) }
}

/// Defect of the symplectic form of one step of h = 0.25, by differences in the left trivialization.
fn symplectic_defect<B: TestBody>(contestant: &Contestant<B>, body: &B, at: &BodyState) -> Option<f64> {
    const STEP: f64 = 0.25;
    let step = |state: &BodyState| (contestant.start)(body, state, STEP).ok()?(0.0).ok();
    let image = step(at)?;
    let moved = |x: &Vector6<f64>| {
        let shift = x.fixed_rows::<3>(3).component_div(&body.moments());
        let attitude = at.attitude.compose(&So3::exp(&x.fixed_rows::<3>(0).into_owned()));
        let end = step(&BodyState { attitude, angular_velocity: at.angular_velocity + shift })?;
        let (turn, momentum) =
            (image.attitude.inverse().compose(&end.attitude).log(), body.momentum(&end.angular_velocity));
        Some(Vector6::new(turn.x, turn.y, turn.z, momentum.x, momentum.y, momentum.z))
    };
    let mut jacobian = SMatrix::<f64, 6, 6>::zeros();
    for i in 0..6 {
        let mut x = Vector6::zeros();
        x[i] = 1e-5;
        jacobian.set_column(i, &((moved(&x)? - moved(&-x)?) / 2e-5));
    }
    let form = |state: &BodyState| {
        let mut form = SMatrix::<f64, 6, 6>::zeros();
        form.fixed_view_mut::<3, 3>(0, 0).copy_from(&-body.momentum(&state.angular_velocity).cross_matrix());
        form.fixed_view_mut::<3, 3>(0, 3).copy_from(&Matrix3::identity());
        form.fixed_view_mut::<3, 3>(3, 0).copy_from(&-Matrix3::identity());
        form
    };
    Some((jacobian.transpose() * form(&image) * jacobian - form(at)).amax())
}

/// What a body keeps: greatest energy error, whether it drifts, greatest error of the momentum.
struct Kept {
    symplectic_defect: f64,
    energy_error: f64,
    drifts: bool,
    momentum_error: f64,
}

/// 4000 steps of h = 0.1.
fn kept<B: TestBody>(
    contestant: &Contestant<B>,
    body: &B,
    at: &BodyState,
    momentum: fn(&B, &BodyState) -> Vector3<f64>,
) -> Option<Kept> {
    const STEP: f64 = 0.1;
    let mut stepper = (contestant.start)(body, at, STEP).ok()?;
    let (mut errors, mut momentum_error) = (Vec::new(), 0.0_f64);
    for k in 0..4000 {
        let state = stepper(f64::from(k) * STEP).ok()?;
        errors.push((f64::from(k + 1) * STEP, body.energy(&state) - body.energy(at)));
        momentum_error = momentum_error.max((momentum(body, &state) - momentum(body, at)).norm());
    }
    let trend = drift(&errors)?;
    Some(Kept {
        symplectic_defect: symplectic_defect(contestant, body, at)?,
        energy_error: largest(errors.iter().map(|e| e.1)),
        drifts: trend.slope.abs() > super::SIGNIFICANCE * trend.standard_error,
        momentum_error,
    })
}

impl Kept {
    fn words(&self) -> [&'static str; 3] {
        let energy = match () {
            () if self.energy_error < EXACT => "✓",
            () if self.drifts => "drifts",
            () => "nearly",
        };
        let sign = |is_so: bool| if is_so { "✓" } else { "no" };
        [sign(self.symplectic_defect < DIFFERENCES), energy, sign(self.momentum_error < EXACT)]
    }
}

/// What rounding leaves of an invariant, and what differences leave of the form.
const EXACT: f64 = 1e-10;
const DIFFERENCES: f64 = 1e-7;

pub(super) fn experiment() -> Experiment {
    let mut experiment = Experiment {
        name: "table-2.1".to_owned(),
        about: "Ortolan 2011, table 2.1, complete: free body J = diag(1, 2, 2.5), and heavy top J = diag(1, 1.4, 0.7) with \
                its weight off all axes, whose only momentum is the vertical one; 4000 steps of h = 0.1, symplectic form by \
                differences of a step of 0.25; \"drifts\" is also taken from the potential (3.2), where any drift shows. \
                Of Algo_1 and of the family of Lewis and Simo the text gives a name and no equations, so that they cannot \
                be run; Algo_C1 and Austin et al. are built from its words (midpoint rule, momentum preserving, Cayley)."
            .to_owned(),
        ..Experiment::default()
    };
    let mut rows = Vec::new();
    for (name, free_printed, potential_printed, ours) in ROWS {
        let (mut free_found, mut potential_found) = (["not defined in the text"; 3], ["not defined in the text"; 3]);
        if let Some(ours) = ours {
            let mut values = Vec::new();
            let free_body = FreeBody { moments: Vector3::new(1.0, 2.0, 2.5) };
            if let Some(kept) = of_name::<FreeBody>(ours)
                .and_then(|c| kept(&c, &free_body, &start(), |body, s| s.attitude * body.momentum(&s.angular_velocity)))
            {
                free_found = kept.words();
                values.extend([
                    ("free_symplectic_defect", kept.symplectic_defect),
                    ("free_energy_error_max", kept.energy_error),
                    ("free_momentum_error_max", kept.momentum_error),
                ]);
            }
            let vertical: fn(&Top, &BodyState) -> Vector3<f64> =
                |body, s| Vector3::z() * (s.attitude * body.momentum(&s.angular_velocity)).z;
            if let Some(kept) = of_name::<Top>(ours).and_then(|c| kept(&c, &Top, &start(), vertical)) {
                potential_found = kept.words();
                if drifts_in_the_test(ours) {
                    potential_found[1] = match potential_found[1] {
                        "✓" => "✓ of a weight, drifts in (3.2)",
                        _ => "drifts",
                    };
                }
                values.extend([
                    ("top_symplectic_defect", kept.symplectic_defect),
                    ("top_energy_error_max", kept.energy_error),
                    ("top_momentum_error_max", kept.momentum_error),
                ]);
            }
            experiment.methods.push(MethodResult { name: ours.to_owned(), values });
        }
        let mut row = vec![name.to_owned()];
        for (printed, found) in free_printed.iter().zip(free_found).chain(potential_printed.iter().zip(potential_found))
        {
            row.push(format!("{found} ({})", if printed.is_empty() { "–" } else { printed }));
        }
        rows.push(row);
    }
    let columns =
        ["algorithm", "free: symplectic", "energy", "momentum", "potential: symplectic", "energy", "momentum"];
    experiment.tables.push(Table {
        title: "Table 2.1: ours, and the text's in brackets (a dash: blank)".to_owned(),
        columns: columns.map(str::to_owned).into(),
        rows,
    });
    experiment
}

fn of_name<B: TestBody>(name: &str) -> Option<Contestant<B>> {
    contestants::<B>().into_iter().find(|contestant| contestant.name == name)
}

/// The drift of the long-time test, in a tenth of its time.
fn drifts_in_the_test(name: &str) -> bool {
    let Some(contestant) = of_name::<StabilityBody>(name) else { return false };
    let stepper = (contestant.start)(&StabilityBody::default(), &StabilityBody::initial_state(), 0.125);
    stepper.is_ok_and(|stepper| super::stability_test(stepper, 0.125, 1_500.0).drifts())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_has_the_torque_of_its_potential_and_the_table_is_what_the_text_knows() {
        let r = start().attitude;
        for i in 0..3 {
            let mut e = Vector3::zeros();
            e[i] = 1e-5;
            let (a, b) = (r.compose(&So3::exp(&e)), r.compose(&So3::exp(&-e)));
            assert!(((Top.potential(&b) - Top.potential(&a)) / 2e-5 - Top.torque(&r)[i]).abs() < 1e-9);
            assert!(((Top.torque(&a) - Top.torque(&b)) / 2e-5 - Top.torque_gradient(&r).column(i)).norm() < 1e-8);
        }
        let table = &experiment().tables[0];
        let row = |name: &str| table.rows.iter().find(|row| row[0] == name).unwrap()[1..].to_vec();
        let found =
            |name: &str| row(name).iter().map(|cell| cell.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(found("RATTLE"), ["✓", "✓", "✓", "✓", "nearly", "✓"]);
        assert_eq!(found("Variational"), ["✓", "nearly", "✓", "✓", "nearly", "✓"]);
        assert_eq!(found("Austin et al.")[1..3], ["✓", "✓"]);
        assert_eq!(found("PRK")[1..3], ["✓", "✓"]);
        assert_eq!(found("NEW3")[2], "✓");
        assert!(table.rows.iter().all(|row| row.iter().all(|cell| !cell.starts_with('?'))));
    }
}
