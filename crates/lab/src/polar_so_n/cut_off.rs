//! Figure 5 once more: VRKMK 6 where the series of dexp and dexp⁻¹ are cut off, as programs have them that do not know
//! the closed forms.

use super::dipole::start;
use crate::figures::{absolute, over_time, thin};
use crate::measure::{drift, largest};
use crate::{Experiment, Extent, MethodResult};
use lienav_integrate::cotangent::CotangentHamiltonian;
use lienav_integrate::tableau::GAUSS6;
use lienav_integrate::vrkmk::{Spatial, Vrkmk};
use lienav_lie::{LieGroup, Rotation, So3};
use nalgebra::Vector3;

/// Bₖ/k! of dexp⁻¹ = Σ Bₖ adᵏ/k!.
const BERNOULLI: [f64; 11] =
    [1.0, -0.5, 1.0 / 12.0, 0.0, -1.0 / 720.0, 0.0, 1.0 / 30_240.0, 0.0, -1.0 / 1_209_600.0, 0.0, 1.0 / 47_900_160.0];

pub(super) fn experiment(extent: Extent) -> Experiment {
    let steps = if extent == Extent::Full { 100_000 } else { 5_000 };
    let mut experiment = Experiment {
        name: "vrkmk-6-cut-off".into(),
        about: format!(
            "Shen, Tran and Leok 2022, figure 5: the energy of VRKMK 6 rises slowly there. Here {steps} steps of h = 1/26 \
             on the dipole with dexp, its inverse, their duals and the gradient as series up to a power of ad, plain and \
             projected on the group. Each of these maps is right to that power, but one is not the inverse of the \
             other any more: the method is not symplectic, and the energy error grows with time: fast up \
             to the fourth power, which is what order 6 asks for, slowly up to the sixth, and below what one sees from the \
             eighth on. Projection changes little."
        ),
        ..Experiment::default()
    };
    let runs = [run::<4>, run::<6>, run::<8>, run::<10>];
    let mut lines = Vec::new();
    for (color, run) in runs.into_iter().enumerate() {
        for projected in [false, true] {
            let (result, errors) = run(steps, projected);
            let mut line = absolute(&result.name, &thin(&errors));
            line.look = Some(lienav_eval::plot::Look { color, stroke: usize::from(projected) });
            lines.push(line);
            experiment.methods.push(result);
        }
    }
    let title = "Figure 5: energy error of VRKMK 6 with series that are cut off";
    experiment.figures = vec![over_time("figure-5-cut-off", title, ("t", "|H − H(0)|"), true, lines)];
    experiment
}

/// So many steps with series up to the power `N`: what is reported, and the energy error over time.
fn run<const N: usize>(steps: usize, projected: bool) -> (MethodResult, Vec<(f64, f64)>) {
    let h = 1.0 / 26.0;
    let system = Spatial(start().body);
    let (attitude, momentum) = system.state(&start().attitude, &start().angular_velocity);
    let energy = system.energy(&attitude, &momentum);
    let mut state = (CutOff::<N>(attitude), momentum);
    let mut errors = Vec::new();
    for k in 0..steps {
        let next = Vrkmk::new(&GAUSS6).and_then(|method| method.step(&OnCutOff(system), &state, k as f64 * h, h).ok());
        // A run that does not go on has no drift.
        let Some((next, _)) = next else { break };
        state = next;
        if let Some(nearest) = Rotation::nearest(state.0.0.matrix()).filter(|_| projected) {
            state.0.0 = So3::from_matrix_unchecked(*nearest.matrix());
        }
        errors.push(((k + 1) as f64 * h, system.energy(&state.0.0, &state.1) - energy));
    }
    let trend = drift(&errors).filter(|_| errors.len() == steps);
    let values = vec![
        ("energy_error_max", largest(errors.iter().map(|e| e.1))),
        ("energy_drift_per_time", trend.map_or(f64::NAN, |fit| fit.slope)),
        ("energy_drift_standard_error", trend.map_or(f64::NAN, |fit| fit.standard_error)),
    ];
    let name = format!("VRKMK 6{}, series up to ad^{N}", if projected { ", projected" } else { "" });
    (MethodResult { name, values }, errors)
}

/// A rotation whose dexp, dexp⁻¹ and their duals and gradients are series in ad up to the power `N`.
#[derive(Clone, Debug)]
pub struct CutOff<const N: usize>(pub So3);

/// Σ cₖ adᵏ_ξ η up to the power `N`; with −ξ, the dual.
fn series<const N: usize>(coefficient: impl Fn(usize) -> f64, xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
    let (mut sum, mut term) = (eta * coefficient(0), *eta);
    for k in 1..=N {
        term = xi.cross(&term);
        sum += term * coefficient(k);
    }
    sum
}

/// 1/(k + 1)! of dexp = Σ adᵏ/(k + 1)!.
fn of_dexp(k: usize) -> f64 {
    (1..=k).fold(1.0, |c, i| c / (i + 1) as f64)
}

impl<const N: usize> LieGroup for CutOff<N> {
    type Algebra = Vector3<f64>;

    fn identity_like(&self) -> Self {
        Self(So3::identity())
    }
    fn compose(&self, other: &Self) -> Self {
        Self(self.0.compose(&other.0))
    }
    fn inverse(&self) -> Self {
        Self(self.0.inverse())
    }
    fn exp(xi: &Vector3<f64>) -> Self {
        Self(<So3 as LieGroup>::exp(xi))
    }
    fn log(&self) -> Vector3<f64> {
        LieGroup::log(&self.0)
    }
    fn cayley(xi: &Vector3<f64>) -> Self {
        Self(So3::cayley(xi))
    }
    fn cayley_inv(&self) -> Vector3<f64> {
        self.0.cayley_inv()
    }
    fn dexp(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
        series::<N>(of_dexp, xi, eta)
    }
    fn dexp_inv(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
        series::<N>(|k| BERNOULLI[k], xi, eta)
    }
    fn dexp_dual(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
        series::<N>(of_dexp, &-xi, mu)
    }
    fn dexp_inv_dual(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
        series::<N>(|k| BERNOULLI[k], &-xi, mu)
    }
    fn ad(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
        xi.cross(eta)
    }
    fn coad(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
        mu.cross(xi)
    }
    fn adjoint_apply(&self, xi: &Vector3<f64>) -> Vector3<f64> {
        self.0.adjoint_apply(xi)
    }
    fn coadjoint_apply(&self, mu: &Vector3<f64>) -> Vector3<f64> {
        self.0.coadjoint_apply(mu)
    }
    /// Of the series that is cut off: Σₖ 1/(k + 1)! Σⱼ ⟨ad*ʲ_ξ μ, [δ, adᵏ⁻¹⁻ʲ_ξ η]⟩.
    fn dexp_gradient(xi: &Vector3<f64>, eta: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
        let powers = |start: &Vector3<f64>, sign: f64| {
            std::iter::successors(Some(*start), move |v| Some(xi.cross(v) * sign)).take(N).collect::<Vec<_>>()
        };
        let (of_eta, of_mu) = (powers(eta, 1.0), powers(mu, -1.0));
        let of_power = |k: usize| (0..k).map(|j| of_eta[k - 1 - j].cross(&of_mu[j])).sum::<Vector3<f64>>();
        (1..=N).map(|k| of_power(k) * of_dexp(k)).sum()
    }
}

/// A system on SO(3) where its series are cut off.
#[derive(Clone, Copy, Debug)]
pub struct OnCutOff<H>(pub H);

impl<const N: usize, H: CotangentHamiltonian<So3>> CotangentHamiltonian<CutOff<N>> for OnCutOff<H> {
    fn energy(&self, g: &CutOff<N>, mu: &Vector3<f64>) -> f64 {
        self.0.energy(&g.0, mu)
    }
    fn velocity(&self, g: &CutOff<N>, mu: &Vector3<f64>) -> Vector3<f64> {
        self.0.velocity(&g.0, mu)
    }
    fn force(&self, g: &CutOff<N>, mu: &Vector3<f64>) -> Vector3<f64> {
        self.0.force(&g.0, mu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is cut off makes the energy grow; with what is not, nothing does.
    #[test]
    fn the_energy_grows_where_the_series_are_short() {
        let experiment = experiment(Extent::Quick);
        let error = |name: &str| experiment.methods.iter().find(|m| m.name == name).unwrap().values[0].1;
        let [four, six, ten] = [4, 6, 10].map(|n| error(&format!("VRKMK 6, series up to ad^{n}")));
        assert!(four > 1e3 * six && six > 10.0 * ten && ten < 1e-10, "{four:e} {six:e} {ten:e}");
    }

    /// Cut off behind the sixth power, the series are the closed forms to the seventh or eighth order.
    #[test]
    fn the_series_are_those_of_the_closed_forms() {
        let (xi, eta, mu) =
            (Vector3::new(0.02, -0.01, 0.03), Vector3::new(1.0, 2.0, -0.5), Vector3::new(-0.3, 0.7, 1.1));
        type Map = fn(&Vector3<f64>, &Vector3<f64>) -> Vector3<f64>;
        let maps: [(Map, Map); 4] = [
            (CutOff::<6>::dexp, So3::dexp),
            (CutOff::<6>::dexp_inv, So3::dexp_inv),
            (CutOff::<6>::dexp_dual, So3::dexp_dual),
            (CutOff::<6>::dexp_inv_dual, So3::dexp_inv_dual),
        ];
        for (cut, whole) in maps {
            assert!((cut(&xi, &eta) - whole(&xi, &eta)).norm() < 1e-14);
        }
        let gradient = CutOff::<6>::dexp_gradient(&xi, &eta, &mu);
        assert!((gradient - So3::dexp_gradient(&xi, &eta, &mu)).norm() < 1e-11, "{gradient}");
    }
}
