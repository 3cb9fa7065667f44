//! The methods of part II. To add one, add a line.

use crate::integrate::rkmk::RKMK4;
use crate::integrate::tableau::GAUSS4;
use crate::integrate::two_spheres::{
    Lifted, SphereLieNewmark, SphereMethod, SphereRattle, SphereSystem, isotropy_free_field, lifted, lifted_field,
    lowered,
};
use crate::integrate::{ImplicitRkmk, IntegrationError, LieGroupMethod};
use crate::lie::Ts2;

/// From a state at a time by a step size to the next state.
pub type Step<const N: usize, S> = fn(&S, &[Ts2; N], f64, f64) -> Result<[Ts2; N], IntegrationError>;

/// A method on (TS²)ⁿ.
pub struct Contestant<const N: usize, S> {
    /// As the text calls it.
    pub name: &'static str,
    /// Its order of accuracy.
    pub order: u32,
    /// What it does.
    pub step: Step<N, S>,
}

/// The four of the text in the order of its tables; then its two RKMK methods with the action of SE(3) on TS².
pub fn contestants<const N: usize, S: SphereSystem<N>>() -> Vec<Contestant<N, S>> {
    const GL4: ImplicitRkmk<2> = ImplicitRkmk { tableau: GAUSS4 };
    let of = |name, order, step| Contestant { name, order, step };
    vec![
        of("ELN", 2, |s, y, t, h| SphereLieNewmark.step(s, y, t, h)),
        of("RKMK4", 4, |s, y, t, h| lift(&RKMK4, s, y, t, h)),
        of("RKMKGL4", 4, |s, y, t, h| lift(&GL4, s, y, t, h)),
        of("RATTLE", 2, |s, y, t, h| SphereRattle.step(s, y, t, h)),
        of("RKMK4 by SE(3)", 4, |s, y, t, h| RKMK4.step(&IsotropyFree(s), y, t, h)),
        of("RKMKGL4 by SE(3)", 4, |s, y, t, h| GL4.step(&IsotropyFree(s), y, t, h)),
    ]
}
