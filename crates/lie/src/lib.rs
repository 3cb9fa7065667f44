//! # lienav-lie
//!
//! Filters and integrators for poses and rotations need more of a Lie group than its product: the exponential map, its
//! differential and the inverse of that, their duals, the adjoint, the Cayley map. This crate has them for the groups
//! of navigation and mechanics, behind one trait with one set of conventions, accurate to rounding also at small
//! angles and near half a turn. It is for those who write estimators or geometric integrators. Fixed sizes live on the
//! stack and nothing allocates; SO(n) exists also for n chosen at run time.
//!
//! A robot drives a quarter of a circle. A small change of its twist moves the end as the left differential says:
//!
//! ```
//! use lienav_lie::{LieGroup, Se2};
//! use nalgebra::Vector3;
//! use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};
//!
//! let twist = Vector3::new(1.0, 0.0, FRAC_PI_2);
//! let end = Se2::exp(&twist);
//! assert!((end.p.x - FRAC_2_PI).abs() < 1e-15 && (end.p.y - FRAC_2_PI).abs() < 1e-15);
//!
//! let change = Vector3::new(1e-5, -2e-5, 1e-5);
//! let predicted = Se2::exp(&Se2::dexp(&twist, &change)) * end;
//! assert!((predicted.inverse() * Se2::exp(&(twist + change))).log().norm() < 1e-9);
//! ```
//!
//! # Conventions
//!
//! ```math
//! \begin{array}{lll}
//! \text{left differential} & \exp(\xi + \delta) = \exp(\mathrm{dexp}_\xi(\delta) + O(\delta^2)) \exp(\xi)
//!     & \text{Celledoni et al. 2021, (6)} \\
//! \text{right differential} & \exp(\xi + \delta) = \exp(\xi) \exp(\mathrm{dexp}_{-\xi}(\delta) + O(\delta^2)) \\
//! SE(2) & X = (p, \theta),\quad x \mapsto R(\theta)\, x + p & \text{tangent vectors } (u, a) \text{, linear part first}
//! \end{array}
//! ```
//!
//! A product `a.compose(b)` acts on points as b first, then a.
//!
//! Angles are in radians.
//!
//! # Where to go on
//!
//! - [`LieGroup`] lists what every group offers; [`HomogeneousSpace`] is a manifold that a group acts on, and
//!   [`VectorSpace`] what an algebra is made of.
//! - Groups: [`So2`], [`So3`], [`Quat`], [`Se2`], [`Se3`], [`SoN`] and [`SoDyn`], [`Translation`]; pairs, arrays and
//!   vectors of groups are groups.
//! - Spaces that are not groups: [`S2`], its tangent bundle [`Ts2`], and coadjoint orbits ([`Coadjoint`]).
//! - [`polar`] has the retraction by polar decomposition, [`series`] the maps for algebras without closed forms.
//! - Property tests check the same laws for all groups: associativity, exp and log, dexp against differences, duals.
//! - `lienav-slam` builds planar filters on [`Se2`], `lienav-integrate` one-step methods on [`HomogeneousSpace`].

#![forbid(unsafe_code)]

#[cfg(test)]
mod accuracy;
mod action;
mod angle;
mod group;
#[cfg(test)]
mod laws;
pub mod polar;
mod product;
mod quat;
pub mod se2;
pub mod se3;
pub mod series;
mod so2;
pub mod so3;
mod so_n;
mod sphere;
mod square;
mod vector_space;

pub use action::{Coadjoint, HomogeneousSpace};
pub use group::LieGroup;
pub use product::Translation;
pub use quat::Quat;
pub use se2::{Se2, rotation, skew, v_matrix, wrap_angle};
pub use se3::Se3;
pub use so_n::{Rotation, SoDyn, SoN};
pub use so2::So2;
pub use so3::{So3, hat, vee};
pub use sphere::{S2, Ts2};
pub use square::Square;
pub use vector_space::VectorSpace;
