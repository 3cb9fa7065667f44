//! Systems on spheres as vector fields of group actions, for the methods that want those.

use super::SphereSystem;
use crate::{AlgebraOf, VectorField};
use lienav_lie::{S2, Translation, Ts2};
use nalgebra::{Unit, Vector3, Vector6};

/// A point of (TS²)ⁿ as (SO(3) × ℝ³)ⁿ moves it: q by a rotation, ω by adding to it (Ortolan 2011, (6.7) and 7.1.2).
/// The action keeps |q|, and q·ω only as far as the method is accurate.
pub type Lifted<const N: usize> = [(S2, Translation<Vector3<f64>>); N];

/// The state as a point of the lifted space.
pub fn lifted<const N: usize>(state: &[Ts2; N]) -> Lifted<N> {
    state.map(|s| (S2(Unit::new_unchecked(s.q)), Translation(s.omega)))
}

/// And back.
pub fn lowered<const N: usize>(point: &Lifted<N>) -> [Ts2; N] {
    std::array::from_fn(|i| {
        let (S2(q), Translation(omega)) = point[i];
        Ts2 { q: q.into_inner(), omega }
    })
}

/// A system under either action: (SO(3) × ℝ³)ⁿ on [`Lifted`], where the field is (ω, ω̇), or SE(3)ⁿ on TS²,
/// (A, a)·(q, ω) = (Aq, Aω + a × Aq), which keeps q·ω too and where the field is (ω, q × ω̇) (Celledoni et al. 2021,
/// section 5.1).
#[derive(Clone, Copy, Debug)]
pub struct SphereField<'a, S>(
    /// The system.
    pub &'a S,
);

impl<const N: usize, S: SphereSystem<N>> VectorField<Lifted<N>> for SphereField<'_, S> {
    fn generator(&self, _: f64, point: &Lifted<N>) -> AlgebraOf<Lifted<N>> {
        let state = lowered(point);
        let acceleration = self.0.angular_acceleration(&state);
        std::array::from_fn(|i| (state[i].omega, acceleration[i]))
    }
}

impl<const N: usize, S: SphereSystem<N>> VectorField<[Ts2; N]> for SphereField<'_, S> {
    fn generator(&self, _: f64, state: &[Ts2; N]) -> [Vector6<f64>; N] {
        let acceleration = self.0.angular_acceleration(state);
        std::array::from_fn(|i| {
            let (u, v) = (state[i].omega, state[i].q.cross(&acceleration[i]));
            Vector6::new(u.x, u.y, u.z, v.x, v.y, v.z)
        })
    }
}
