//! Systems on spheres as vector fields of group actions, for the methods that want those.

use super::SphereSystem;
use crate::lie::{S2, Translation, Ts2};
use nalgebra::{Unit, Vector3, Vector6};

/// A point of (TS²)ⁿ as (SO(3) × ℝ³)ⁿ moves it: q by a rotation, ω by adding to it (Ortolan 2011, (6.7) and 7.1.2). The
/// action keeps |q|, and q·ω only as far as the method is accurate.
pub type Lifted<const N: usize> = [(S2, Translation<Vector3<f64>>); N];

/// The state as a point of the lifted space.
pub fn lifted<const N: usize>(state: &[Ts2; N]) -> Lifted<N> {
    state.map(|s| (S2(Unit::new_unchecked(s.q)), Translation(s.omega)))
}

/// And back.
pub fn lowered<const N: usize>(point: &Lifted<N>) -> [Ts2; N] {
    point.map(|(q, omega)| Ts2 { q: q.0.into_inner(), omega: omega.0 })
}

/// The field (ω, ω̇) in the algebra (so(3) × ℝ³)ⁿ.
pub fn lifted_field<const N: usize, S: SphereSystem<N>>(
    system: &S,
    point: &Lifted<N>,
) -> [(Vector3<f64>, Vector3<f64>); N] {
    let state = lowered(point);
    let acceleration = system.angular_acceleration(&state);
    std::array::from_fn(|i| (state[i].omega, acceleration[i]))
}

/// The same field in se(3)ⁿ, which acts on TS² by (A, a)·(q, ω) = (Aq, Aω + a × Aq) and so keeps q·ω too: (ω, q × ω̇)
/// (Celledoni et al. 2021, section 5.1).
pub fn isotropy_free_field<const N: usize, S: SphereSystem<N>>(system: &S, state: &[Ts2; N]) -> [Vector6<f64>; N] {
    let acceleration = system.angular_acceleration(state);
    std::array::from_fn(|i| {
        let (u, v) = (state[i].omega, state[i].q.cross(&acceleration[i]));
        Vector6::new(u.x, u.y, u.z, v.x, v.y, v.z)
    })
}
