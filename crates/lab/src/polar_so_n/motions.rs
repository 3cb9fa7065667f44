//! The polar methods and their hypotheses on one body, as motions that can be run side by side.

use crate::figures::thin;
use crate::measure::{drift, largest, time_step};
use lienav_integrate::polar::{PolarState, PolarVariational};
use lienav_integrate::tableau::{GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, KUTTA3};
use lienav_integrate::vrkmk::{Spatial, Vrkmk};
use lienav_integrate::{IntegrationError, RigidBody, Tableau};
use lienav_lie::{Rotation, So3, vee};
use nalgebra::{Matrix3, Vector3};
use std::time::Duration;

/// A body on its way, by one method.
pub(crate) trait Motion {
    /// Makes a step; how often the stages were evaluated.
    fn step(&mut self, time: f64, h: f64) -> Result<usize, IntegrationError>;
    fn attitude(&self) -> Matrix3<f64>;
    /// In the body.
    fn momentum(&self) -> Vector3<f64>;
}

/// A method on a body, ready to start.
pub(crate) struct Method {
    pub name: String,
    pub order: usize,
    pub start: Box<dyn Fn() -> Box<dyn Motion>>,
}

/// How a tableau is made a method.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Vpd,
    VpdLagrangian,
    Vrkmk,
    /// With the attitude projected on SO(3) after each step.
    VrkmkProjected,
}

/// Body, R and Ω at time zero.
#[derive(Clone, Copy)]
pub(crate) struct Start<B> {
    pub body: B,
    pub attitude: So3,
    pub angular_velocity: Vector3<f64>,
}

impl<B: RigidBody + Copy + 'static> Start<B> {
    /// The methods of the four tableaux of Shen, Tran & Leok 2022, table 1.
    pub fn of_all_orders(self, kind: Kind) -> Vec<Method> {
        let methods = [
            self.method(&IMPLICIT_MIDPOINT, kind),
            self.method(&KUTTA3, kind),
            self.method(&GAUSS4, kind),
            self.method(&GAUSS6, kind),
        ];
        methods.into_iter().flatten().collect()
    }

    /// `None` where the tableau has a weight that vanishes.
    pub fn method<const S: usize>(self, tableau: &Tableau<S>, kind: Kind) -> Option<Method> {
        let order = tableau.order;
        let Self { body, attitude, angular_velocity } = self;
        let (name, start): (_, Box<dyn Fn() -> Box<dyn Motion>>) = match kind {
            Kind::Vpd | Kind::VpdLagrangian => {
                let method = PolarVariational::new(tableau, attitude.matrix())?;
                let state = PolarState::of_body(&body, &attitude, &angular_velocity);
                let lagrangian = kind == Kind::VpdLagrangian;
                let name = if lagrangian { format!("VPD {order}, Lagrangian") } else { format!("VPD {order}") };
                (name, Box::new(move || Box::new(Vpd { body, method: method.clone(), state, lagrangian })))
            }
            Kind::Vrkmk | Kind::VrkmkProjected => {
                let (method, system) = (Vrkmk::new(tableau)?, Spatial(body));
                let state = system.state(&attitude, &angular_velocity);
                let projected = kind == Kind::VrkmkProjected;
                let name = if projected { format!("VRKMK {order}, projected") } else { format!("VRKMK {order}") };
                (name, Box::new(move || Box::new(Rival { system, method, state, projected })))
            }
        };
        Some(Method { name, order, start })
    }
}

struct Vpd<B, const S: usize> {
    body: B,
    method: PolarVariational<Matrix3<f64>, S>,
    state: PolarState<Matrix3<f64>>,
    lagrangian: bool,
}

impl<B: RigidBody, const S: usize> Motion for Vpd<B, S> {
    fn step(&mut self, time: f64, h: f64) -> Result<usize, IntegrationError> {
        let Self { body, method, state, lagrangian } = self;
        if *lagrangian { method.step_lagrangian(body, state, time, h) } else { method.step(body, state, time, h) }
    }
    fn attitude(&self) -> Matrix3<f64> {
        self.state.attitude
    }
    fn momentum(&self) -> Vector3<f64> {
        vee(&self.state.momentum)
    }
}

struct Rival<B, const S: usize> {
    system: Spatial<B>,
    method: Vrkmk<S>,
    state: (So3, Vector3<f64>),
    projected: bool,
}

impl<B: RigidBody, const S: usize> Motion for Rival<B, S> {
    fn step(&mut self, time: f64, h: f64) -> Result<usize, IntegrationError> {
        let (state, iterations) = self.method.step(&self.system, &self.state, time, h)?;
        self.state = state;
        if self.projected {
            let nearest = Rotation::nearest(self.state.0.matrix());
            let nearest = nearest.ok_or(IntegrationError::NotFinite { time, step: h })?;
            self.state.0 = So3::from_matrix_unchecked(*nearest.matrix());
        }
        Ok(iterations)
    }
    fn attitude(&self) -> Matrix3<f64> {
        *self.state.0.matrix()
    }
    fn momentum(&self) -> Vector3<f64> {
        self.state.0.rotate_back(&self.state.1)
    }
}

/// ½ΠᵀJ⁻¹Π + U(R).
pub(crate) fn energy(body: &impl RigidBody, motion: &dyn Motion) -> f64 {
    let momentum = motion.momentum();
    let kinetic = 0.5 * momentum.dot(&momentum.component_div(&body.moments()));
    kinetic + body.potential(&So3::from_matrix_unchecked(motion.attitude()))
}

/// ‖Π − Π'‖₂ + ‖R − R'‖₂, the error of the text's figure 1.
pub(crate) fn distance(a: &dyn Motion, b: &dyn Motion) -> f64 {
    let difference = a.attitude() - b.attitude();
    (a.momentum() - b.momentum()).norm() + difference.svd_unordered(false, false).singular_values.max()
}

/// After `steps` steps from time 0.
pub(crate) fn advance(method: &Method, h: f64, steps: usize) -> Result<Box<dyn Motion>, IntegrationError> {
    let mut motion = (method.start)();
    for k in 0..steps {
        motion.step(k as f64 * h, h)?;
    }
    Ok(motion)
}

/// Step sizes and errors at `end`, against a motion there. A step that is too large to converge gives an error that is
/// no number, which orders and figures leave out.
pub(crate) fn errors(method: &Method, end: f64, counts: &[usize], reference: &dyn Motion) -> Vec<(f64, f64)> {
    let error = |&steps: &usize| {
        let h = end / steps as f64;
        (h, advance(method, h, steps).map_or(f64::NAN, |motion| distance(&*motion, reference)))
    };
    counts.iter().map(error).collect()
}

/// What a long run gives: keys and numbers, and (t, error) of energy and of orthogonality for figures. Where it ended
/// before its time there are no numbers, and figures go up to there.
pub(crate) struct LongRun {
    pub values: Vec<(&'static str, f64)>,
    pub energy: Vec<(f64, f64)>,
    pub orthogonality: Vec<(f64, f64)>,
    pub failed: Option<IntegrationError>,
}

/// `steps` steps of h.
pub(crate) fn long_run(body: &impl RigidBody, method: &Method, h: f64, steps: usize) -> LongRun {
    let mut motion = (method.start)();
    let before = energy(body, &*motion);
    let spatial = |motion: &dyn Motion| motion.attitude() * motion.momentum();
    let (start, mut iterations, mut failed) = (spatial(&*motion), 0, None);
    let (mut energies, mut orthogonality, mut momentum_error) = (Vec::new(), Vec::new(), 0.0f64);
    for k in 0..steps {
        let time = (k + 1) as f64 * h;
        match motion.step(k as f64 * h, h) {
            Ok(of_step) => iterations += of_step,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        energies.push((time, energy(body, &*motion) - before));
        orthogonality.push((time, So3::from_matrix_unchecked(motion.attitude()).orthogonality_error()));
        momentum_error = momentum_error.max((spatial(&*motion) - start).norm());
    }
    let trend = drift(&energies);
    let mut values = vec![
        ("energy_error_max", largest(energies.iter().map(|point| point.1))),
        ("energy_drift_per_time", trend.map_or(f64::NAN, |fit| fit.slope)),
        ("energy_drift_standard_error", trend.map_or(f64::NAN, |fit| fit.standard_error)),
        ("constraint_error_max", largest(orthogonality.iter().map(|point| point.1))),
    ];
    // Constant only where nothing turns the body.
    if body.torque(&So3::from_matrix_unchecked(motion.attitude())) == Vector3::zeros() {
        values.push(("momentum_error_max", momentum_error));
    }
    values.push(("iterations_mean", iterations as f64 / steps as f64));
    values.push(("step_ns", step_ns(method, h)));
    if failed.is_some() {
        values.iter_mut().for_each(|value| value.1 = f64::NAN);
    }
    LongRun { values, energy: thin(&energies), orthogonality: thin(&orthogonality), failed }
}

/// The time of a step of h, ns.
pub(crate) fn step_ns(method: &Method, h: f64) -> f64 {
    let mut motion = (method.start)();
    let step = || {
        // The motions of the experiments converge at every step size they are timed with.
        let _ = std::hint::black_box(motion.step(0.0, h));
    };
    time_step(Duration::from_millis(10), step).least_ns
}

/// Numbers of steps for a test of order: n, 2n, 4n … of order 4, of order 6 from larger steps on, for it soon meets
/// rounding, and of order 3 from smaller ones, for Kutta's method becomes asymptotic late.
pub(crate) fn counts(n: usize, doublings: u32, order: usize) -> Vec<usize> {
    let first = match order {
        3 => 8 * n,
        6 => n.div_ceil(4),
        _ => n,
    };
    (0..doublings).map(|k| first << k).collect()
}
