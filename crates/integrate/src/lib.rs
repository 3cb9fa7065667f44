//! # lienav-integrate
//!
//! A Runge–Kutta step leaves a sphere, a rotation group or an energy surface that the true solution stays on. The
//! one-step methods of this crate stay: they move along group actions, or derive from a variational principle, and
//! keep orthogonality, momenta or symplectic structure to rounding. The crate is for those who simulate mechanical
//! systems over a long time, and for those who compare such methods. A method is written once against the structure
//! that it needs, and runs on every system of [`dynamics`] that offers it.
//!
//! The angular momentum of a free rigid body stays on a sphere, whatever the method does along it:
//!
//! ```
//! use lienav_integrate::rkmk::RKMK4;
//! use lienav_integrate::{LieGroupMethod, VectorField};
//! use lienav_lie::{Coadjoint, So3};
//! use nalgebra::Vector3;
//!
//! struct FreeBody { moments: Vector3<f64> }
//!
//! impl VectorField<Coadjoint<So3>> for FreeBody {
//!     /// Euler's equations, Π̇ = Π × J⁻¹Π.
//!     fn generator(&self, _: f64, momentum: &Coadjoint<So3>) -> Vector3<f64> {
//!         -momentum.0.component_div(&self.moments)
//!     }
//! }
//!
//! let body = FreeBody { moments: Vector3::new(1.0, 2.0, 3.0) };
//! let (h, mut momentum) = (0.05, Coadjoint::<So3>(Vector3::new(0.6, 0.8, 0.1)));
//! let energy = |momentum: &Vector3<f64>| 0.5 * momentum.dot(&momentum.component_div(&body.moments));
//! let (norm, start) = (momentum.0.norm(), energy(&momentum.0));
//! for k in 0..1000 {
//!     momentum = RKMK4.step(&body, &momentum, f64::from(k) * h, h)?;
//! }
//! assert!((momentum.0.norm() - norm).abs() < 1e-13);
//! assert!((energy(&momentum.0) - start).abs() < 1e-7);
//! # Ok::<(), lienav_integrate::IntegrationError>(())
//! ```
//!
//! # Equations
//!
//! ```math
//! \begin{array}{lll}
//! \text{on a homogeneous space} & \dot x = f(t, x) \cdot x,\; f \in \mathfrak{g}
//!     & \text{a step } x_{k+1} = \exp(h\, \Theta_k) \cdot x_k \\
//! \text{rigid body about a point} & \dot R = R\, \hat\omega,\; \dot \Pi = \Pi \times \mathbb{J}^{-1} \Pi + \tau
//!     & \Pi = \mathbb{J}\, \omega \text{ in the axes of the body} \\
//! \text{variational} & 0 = D_2 L_d(x_{k-1}, x_k) + D_1 L_d(x_k, x_{k+1})
//!     & L_d \text{ approximates the action of one step}
//! \end{array}
//! ```
//!
//! # Where to go on
//!
//! - Problems: [`VectorField`] on a homogeneous space, [`RigidBody`] about a fixed point, [`FloatingBody`],
//!   [`exponential`] for stiff Hamiltonian systems, [`two_spheres`] for products of spheres.
//! - Methods on homogeneous spaces ([`LieGroupMethod`]): [`rkmk`], [`commutator_free`], [`ImplicitRkmk`], and
//!   [`adaptive`] steps with an [`EmbeddedMethod`].
//! - Methods for rigid bodies ([`BodyMethod`], [`FloatingBodyMethod`]): [`VariationalLieVerlet`], [`LieMidpoint`],
//!   [`rattle`], [`shake`], [`quaternion`], [`polar`], [`vrkmk`], and others.
//! - The basics on vector spaces, also with constraints and with Poisson structures: [`canonical`].
//! - Orientation from the samples of a gyroscope: [`mod@attitude`].
//! - An implicit step that does not converge is an [`IntegrationError`] with its residual.
//! - `docs/lab/integrators.md` and `docs/lab/exponential.md` have equations and sources; `lienav-lab` runs the
//!   published experiments. `lienav-attitude` uses these methods in a filter; `examples/05_attitude.rs` shows it.

#![forbid(unsafe_code)]

pub mod adaptive;
pub mod attitude;
pub mod canonical;
pub mod commutator_free;
mod convected;
mod convergence;
pub mod cotangent;
pub mod dynamics;
mod energy_momentum;
mod error;
pub mod exponential;
mod field;
pub mod fixed_point;
pub mod floating_body;
#[cfg(test)]
mod floating_body_tests;
mod implicit_rkmk;
mod lie_newmark;
mod lie_verlet;
pub mod linear_rk;
mod partitioned_rkmk;
pub mod polar;
#[cfg(test)]
mod printed_tests;
pub mod quaternion;
pub mod rattle;
mod rigid_body;
#[cfg(test)]
mod rigid_body_tests;
pub mod rkmk;
mod rotation_map;
mod settling;
pub mod shake;
pub mod stormer_verlet;
pub mod tableau;
pub mod two_spheres;
pub mod vrkmk;

pub use convected::{KoziaraBicanic, LieMidpoint, ModifiedCrouchGrossman};
pub use convergence::Convergence;
pub use energy_momentum::EnergyMomentum;
pub use error::IntegrationError;
pub use field::{AlgebraOf, EmbeddedMethod, LieGroupMethod, VectorField};
pub use floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Inertia, InertiaError, Load};
pub use implicit_rkmk::ImplicitRkmk;
pub use lie_newmark::{ExplicitLieNewmark, TrapezoidalLieNewmark};
pub use lie_verlet::VariationalLieVerlet;
pub use partitioned_rkmk::PartitionedRkmk;
pub use rigid_body::{BodyMethod, BodyState, RigidBody, TorqueGradient};
pub use rotation_map::RotationMap;
pub use tableau::Tableau;
