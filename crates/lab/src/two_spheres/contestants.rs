//! The methods of part II. To add one, add a line.

use lienav_integrate::rkmk::RKMK4;
use lienav_integrate::tableau::{GAUSS4, GAUSS6};
use lienav_integrate::two_spheres::{
    Lifted, SphereField, SphereLieNewmark, SphereMethod, SphereRattle, SphereSystem, lifted, lowered,
};
use lienav_integrate::{ImplicitRkmk, IntegrationError, LieGroupMethod};
use lienav_lie::Ts2;

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
        of("RKMK4 by SE(3)", 4, |s, y, t, h| RKMK4.step(&SphereField(s), y, t, h)),
        of("RKMKGL4 by SE(3)", 4, |s, y, t, h| GL4.step(&SphereField(s), y, t, h)),
    ]
}

/// A step by the action of rotations and translations.
fn lift<'a, const N: usize, S: SphereSystem<N>>(
    method: &impl LieGroupMethod<Lifted<N>, SphereField<'a, S>>,
    system: &'a S,
    state: &[Ts2; N],
    time: f64,
    h: f64,
) -> Result<[Ts2; N], IntegrationError> {
    Ok(lowered(&method.step(&SphereField(system), &lifted(state), time, h)?))
}

/// What the others are measured by: order 6.
pub fn gauss6<const N: usize, S: SphereSystem<N>>(
    system: &S,
    state: &[Ts2; N],
    time: f64,
    h: f64,
) -> Result<[Ts2; N], IntegrationError> {
    ImplicitRkmk { tableau: GAUSS6 }.step(&SphereField(system), state, time, h)
}
