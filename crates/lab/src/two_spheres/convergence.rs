//! The figures of errors against step sizes.

use super::contestants::{Step, gauss6};
use super::long_run::title;
use crate::figures::{marked, of_errors};
use crate::measure::order_observed;
use lienav_eval::plot::Figure;
use lienav_integrate::IntegrationError;
use lienav_integrate::two_spheres::SphereSystem;
use lienav_lie::Ts2;
use std::ops::RangeInclusive;

/// (h, error) of directions and of angular velocities at T = 1, Euclidean over all of them.
pub struct Errors {
    direction: Vec<(f64, f64)>,
    velocity: Vec<(f64, f64)>,
}

impl Errors {
    pub fn values(&self, order: u32) -> Vec<(&'static str, f64)> {
        let at = |h: f64| self.direction.iter().find(|e| e.0 == h).map_or(f64::NAN, |e| e.1);
        vec![
            ("order_expected", f64::from(order)),
            ("order_observed", order_observed(&self.direction)),
            ("order_observed_velocity", order_observed(&self.velocity)),
            ("direction_error_at_h_1_64", at(0.5_f64.powi(6))),
        ]
    }
}

/// By Gauss 6 in se(3)ⁿ with h = 2⁻¹⁰.
pub fn reference<const N: usize, S: SphereSystem<N>>(
    system: &S,
    start: &[Ts2; N],
) -> Result<[Ts2; N], IntegrationError> {
    run(system, start, gauss6, 10)
}

/// Steps of 2⁻ᵏ for k of the range; where one cannot be made its point is left out.
pub fn errors<const N: usize, S: SphereSystem<N>>(
    system: &S,
    start: &[Ts2; N],
    step: Step<N, S>,
    truth: &[Ts2; N],
    powers: RangeInclusive<i32>,
) -> Errors {
    let mut errors = Errors { direction: Vec::new(), velocity: Vec::new() };
    for k in powers {
        let Ok(end) = run(system, start, step, k) else { continue };
        let pairs = || end.iter().zip(truth);
        let direction: f64 = pairs().map(|(a, b)| (a.q - b.q).norm_squared()).sum();
        let velocity: f64 = pairs().map(|(a, b)| (a.omega - b.omega).norm_squared()).sum();
        errors.direction.push((0.5_f64.powi(k), direction.sqrt()));
        errors.velocity.push((0.5_f64.powi(k), velocity.sqrt()));
    }
    errors
}

/// To T = 1 in 2ᵏ steps.
fn run<const N: usize, S: SphereSystem<N>>(
    system: &S,
    start: &[Ts2; N],
    step: Step<N, S>,
    power: i32,
) -> Result<[Ts2; N], IntegrationError> {
    let h = 0.5_f64.powi(power);
    (0..1_u32 << power).try_fold(*start, |state, k| step(system, &state, f64::from(k) * h, h))
}

pub fn figures(number: &str, errors: &[(&str, u32, Errors)]) -> Vec<Figure> {
    let figure = |part: &str, what: &str, y_label: &str, of: fn(&Errors) -> &Vec<(f64, f64)>| {
        let lines = errors.iter().map(|(name, order, errors)| (*order as usize, marked(name, of(errors).clone())));
        let what = format!("global error of the {what} at T = 1 s");
        of_errors(&format!("figure-{number}-{part}"), &title(number, part, &what), ("h [s]", y_label), lines.collect())
    };
    vec![
        figure("a", "directions", "error of q", |e| &e.direction),
        figure("b", "angular velocities", "error of ω [1/s]", |e| &e.velocity),
    ]
}
