//! Two quadrotors that carry a point mass on rigid massless links (Celledoni et al. 2021, section 6, after Lee,
//! Sreenath and Kumar 2013).
//!
//! The third axis points down, along gravity. Link i has the direction qᵢ from quadrotor i to the load, so quadrotor i
//! is at y − Lᵢqᵢ.

use crate::VectorField;
use lienav_lie::se3::join;
use lienav_lie::{So3, Translation, Ts2};
use nalgebra::{Matrix3, Vector3, Vector6};

/// (y, v), then (Rᵢ, Ωᵢ) of both quadrotors, then (qᵢ, ωᵢ) of both links: ℝ⁶ × (SO(3) × ℝ³)² × (TS²)², with
/// ℝ⁶ × (SO(3) × ℝ³)² × SE(3)² acting (section 6.1).
pub type State = (Translation<Vector6<f64>>, ([(So3, Translation<Vector3<f64>>); 2], [Ts2; 2]));

/// The system and what steers it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quadrotors {
    /// m_y, kg.
    pub load_mass: f64,
    /// Of both quadrotors.
    pub vehicles: [Vehicle; 2],
    /// g, m/s².
    pub gravity: f64,
    /// None for free fall, when energy stays.
    pub control: Option<Control>,
}

/// A quadrotor and its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vehicle {
    /// mᵢ, kg.
    pub mass: f64,
    /// The diagonal of Jᵢ, kg m².
    pub moments: Vector3<f64>,
    /// Lᵢ, m.
    pub link: f64,
}

/// Steers the load along a parabola with the links at a fixed angle to the force on it. Thrusts may point anywhere and
/// moments vanish: as in section 6.2, attitudes are not controlled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Where the load is to be.
    pub path: Parabola,
    /// Half the angle between the links, rad.
    pub spread: f64,
    /// The direction across both links, a unit vector in the horizontal plane.
    pub across: Vector3<f64>,
    /// Of position, 1/s², and velocity, 1/s, of the load.
    pub load_gains: (f64, f64),
    /// Of direction, 1/s², and angular velocity, 1/s, of the links.
    pub link_gains: (f64, f64),
}

/// y_d(t) = y₀ + v t + ½ a t².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parabola {
    /// y₀, m.
    pub start: Vector3<f64>,
    /// v, m/s.
    pub velocity: Vector3<f64>,
    /// a, m/s².
    pub acceleration: Vector3<f64>,
}

impl Parabola {
    /// Position and velocity.
    pub fn at(&self, time: f64) -> (Vector3<f64>, Vector3<f64>) {
        (
            self.start + (self.velocity + self.acceleration * (0.5 * time)) * time,
            self.velocity + self.acceleration * time,
        )
    }
}

/// What the control wants of the links: their directions, and the angular velocities by which these follow the force.
type Wanted = [(Vector3<f64>, Vector3<f64>); 2];

impl Quadrotors {
    /// T + U.
    pub fn energy(&self, (load, (bodies, links)): &State) -> f64 {
        let (y, v) = (load.0.fixed_rows::<3>(0), load.0.fixed_rows::<3>(3));
        let mut energy = self.load_mass * (0.5 * v.norm_squared() - self.gravity * y.z);
        for ((vehicle, body), link) in self.vehicles.iter().zip(bodies).zip(links) {
            let velocity = v - link.velocity() * vehicle.link;
            let height = y.z - vehicle.link * link.q.z;
            energy += vehicle.mass * (0.5 * velocity.norm_squared() - self.gravity * height);
            energy += 0.5 * body.1.0.dot(&vehicle.moments.component_mul(&body.1.0));
        }
        energy
    }

    /// The angles between the links and the directions wanted of them, rad; zero without control.
    pub fn direction_errors(&self, time: f64, state: &State) -> [f64; 2] {
        let Some(control) = &self.control else { return [0.0; 2] };
        let (force, _) = control.force(self, time, state);
        let wanted = control.directions(&force);
        std::array::from_fn(|i| {
            let q = state.1.1[i].q;
            q.cross(&wanted[i]).norm().atan2(q.dot(&wanted[i]))
        })
    }

    /// The thrusts uᵢ, N.
    pub fn thrusts(&self, time: f64, state: &State) -> [Vector3<f64>; 2] {
        let Some(control) = &self.control else { return [Vector3::zeros(); 2] };
        let (force, error_velocity) = control.force(self, time, state);
        let links = &state.1.1;
        let wanted_pulls = control.pulls(&force);
        let pulls: [Vector3<f64>; 2] = std::array::from_fn(|i| links[i].q * links[i].q.dot(&wanted_pulls[i]));
        // The acceleration of the load less gravity that these give, and the rate at which the wanted force then
        // turns.
        let acceleration = (pulls[0] + pulls[1]) / self.load_mass;
        let (position_gain, velocity_gain) = control.load_gains;
        let error_acceleration = acceleration + Vector3::z() * self.gravity - control.path.acceleration;
        let force_rate = (error_velocity * position_gain + error_acceleration * velocity_gain) * -self.load_mass;
        let wanted = control.wanted(&force, &force_rate);
        std::array::from_fn(|i| {
            let (Vehicle { mass, link, .. }, Ts2 { q, omega }) = (self.vehicles[i], links[i]);
            let along = pulls[i] + q * (mass * (link * omega.norm_squared() + q.dot(&acceleration)));
            let (direction, turning) = wanted[i];
            let (direction_gain, turning_gain) = control.link_gains;
            let carried = turning - q * q.dot(&turning);
            let angular = direction.cross(&q) * -direction_gain - (omega - carried) * turning_gain
                + q.cross(&carried) * q.dot(&turning);
            // The ω̇ that is wanted, by u⊥ = m L q × ω̇ less what the load does to the link.
            along + q.cross(&(angular * link - q.cross(&acceleration))) * mass
        })
    }

    /// v̇ and ω̇ᵢ under these thrusts: (37) solved for M_q(v̇ − g e₃) = Σ uᵢ∥ − mᵢLᵢ|ωᵢ|²qᵢ, M_q = m_y I + Σ mᵢqᵢqᵢᵀ,
    /// Lᵢω̇ᵢ = qᵢ × (v̇ − g e₃) − qᵢ × uᵢ/mᵢ.
    fn accelerations(&self, links: &[Ts2; 2], thrusts: &[Vector3<f64>; 2]) -> (Vector3<f64>, [Vector3<f64>; 2]) {
        let (mut inertia, mut force) = (Matrix3::identity() * self.load_mass, Vector3::zeros());
        for ((vehicle, link), thrust) in self.vehicles.iter().zip(links).zip(thrusts) {
            inertia += link.q * link.q.transpose() * vehicle.mass;
            force += link.q * (link.q.dot(thrust) - vehicle.mass * vehicle.link * link.omega.norm_squared());
        }
        // Positive definite for masses that are positive; otherwise the numbers stop being finite, and the step with
        // them.
        let acceleration =
            inertia.cholesky().map_or_else(|| Vector3::repeat(f64::NAN), |inertia| inertia.solve(&force));
        let angular = std::array::from_fn(|i| {
            let (vehicle, link) = (&self.vehicles[i], &links[i]);
            link.q.cross(&(acceleration - thrusts[i] / vehicle.mass)) / vehicle.link
        });
        (acceleration + Vector3::z() * self.gravity, angular)
    }
}

impl Control {
    /// The force wanted on the load besides gravity, and the error of its velocity.
    fn force(&self, system: &Quadrotors, time: f64, (load, _): &State) -> (Vector3<f64>, Vector3<f64>) {
        let (position, velocity) = self.path.at(time);
        let error = load.0.fixed_rows::<3>(0) - position;
        let error_velocity = load.0.fixed_rows::<3>(3) - velocity;
        let (position_gain, velocity_gain) = self.load_gains;
        let acceleration = self.path.acceleration - error * position_gain - error_velocity * velocity_gain;
        ((acceleration - Vector3::z() * system.gravity) * system.load_mass, error_velocity)
    }

    /// The links' directions, against the force and turned by ± the spread about an axis across it.
    fn directions(&self, force: &Vector3<f64>) -> [Vector3<f64>; 2] {
        let along = -force.normalize();
        let axis = (self.across - along * along.dot(&self.across)).normalize();
        let side = axis.cross(&along) * self.spread.sin();
        [along * self.spread.cos() + side, along * self.spread.cos() - side]
    }

    /// The forces along the directions wanted that add up to `force`.
    fn pulls(&self, force: &Vector3<f64>) -> [Vector3<f64>; 2] {
        self.directions(force).map(|direction| direction * (-force.norm() / (2.0 * self.spread.cos())))
    }

    /// Directions, and the angular velocity of the force, F × Ḟ/|F|², with which they turn.
    fn wanted(&self, force: &Vector3<f64>, rate: &Vector3<f64>) -> Wanted {
        let turning = force.cross(rate) / force.norm_squared();
        self.directions(force).map(|direction| (direction, turning - direction * direction.dot(&turning)))
    }
}

/// f = (v, v̇, RᵢΩᵢ, Ω̇ᵢ, ωᵢ, qᵢ × ω̇ᵢ) of section 6.1.
impl VectorField<State> for Quadrotors {
    fn generator(
        &self,
        time: f64,
        state: &State,
    ) -> (Vector6<f64>, ([(Vector3<f64>, Vector3<f64>); 2], [Vector6<f64>; 2])) {
        let (load, (bodies, links)) = state;
        let (acceleration, angular) = self.accelerations(links, &self.thrusts(time, state));
        let bodies = std::array::from_fn(|i| {
            let ((attitude, omega), moments) = (&bodies[i], &self.vehicles[i].moments);
            let momentum = moments.component_mul(&omega.0);
            (*attitude * omega.0, momentum.cross(&omega.0).component_div(moments))
        });
        let links = std::array::from_fn(|i| join(&links[i].omega, &links[i].q.cross(&angular[i])));
        (join(&load.0.fixed_rows::<3>(3).into_owned(), &acceleration), (bodies, links))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LieGroupMethod;
    use crate::commutator_free::CF4;
    use crate::rkmk::{LIE_EULER_HEUN, RKMK3, RKMK4, RKMK54};
    use lienav_lie::{HomogeneousSpace, LieGroup};

    fn system(control: Option<Control>) -> Quadrotors {
        let vehicle = |link: f64| Vehicle { mass: 0.75, moments: Vector3::new(0.03, 0.05, 0.08), link };
        Quadrotors { load_mass: 0.5, vehicles: [vehicle(1.0), vehicle(0.8)], gravity: 9.81, control }
    }

    fn control() -> Control {
        let path = Parabola {
            start: Vector3::zeros(),
            velocity: Vector3::new(1.0, 0.5, -2.0),
            acceleration: Vector3::new(0.0, 0.0, 0.8),
        };
        Control { path, spread: 0.5, across: Vector3::y(), load_gains: (4.0, 3.0), link_gains: (60.0, 12.0) }
    }

    fn start() -> State {
        let body = |x: f64| (So3::exp(&Vector3::new(x, 0.2, 0.0)), Translation(Vector3::new(0.5, x, -1.0)));
        let link = |q: Vector3<f64>, omega: Vector3<f64>| {
            let q = q.normalize();
            Ts2 { q, omega: omega - q * q.dot(&omega) }
        };
        let links = [
            link(Vector3::new(0.5, 0.1, 1.0), Vector3::new(0.3, -0.4, 0.0)),
            link(Vector3::new(-0.4, 0.2, 1.0), Vector3::new(-0.2, 0.5, 0.3)),
        ];
        (Translation(Vector6::new(0.3, -0.2, 0.1, 0.5, 0.0, 0.0)), ([body(0.3), body(-0.6)], links))
    }

    fn run(system: &Quadrotors, method: &dyn LieGroupMethod<State, Quadrotors>, end: f64, steps: u32) -> State {
        let h = end / f64::from(steps);
        (0..steps).fold(start(), |y, k| method.step(system, &y, f64::from(k) * h, h).unwrap())
    }

    #[test]
    fn without_thrust_energy_stays_and_the_whole_falls() {
        let system = system(None);
        let end = run(&system, &RKMK54, 1.0, 200);
        assert!((system.energy(&end) - system.energy(&start())).abs() < 1e-9);
        let centre = |state: &State| {
            let y = state.0.0.fixed_rows::<3>(0).into_owned();
            let moment = |i: usize| (y - state.1.1[i].q * system.vehicles[i].link) * system.vehicles[i].mass;
            (y * system.load_mass + moment(0) + moment(1)) / 2.0
        };
        let rate = (centre(&run(&system, &RKMK54, 1e-4, 1)) - centre(&start())) / 1e-4;
        let fallen = centre(&end) - centre(&start()) - rate;
        assert!((fallen - Vector3::z() * (0.5 * 9.81)).norm() < 1e-3, "{fallen}");
    }

    #[test]
    fn work_of_the_thrusts_is_what_energy_gains() {
        let system = system(Some(control()));
        let power = |time: f64, state: &State| -> f64 {
            let v = state.0.0.fixed_rows::<3>(3).into_owned();
            let velocity = |i: usize| v - state.1.1[i].velocity() * system.vehicles[i].link;
            system.thrusts(time, state).iter().enumerate().map(|(i, thrust)| thrust.dot(&velocity(i))).sum()
        };
        let (h, mut y) = (1e-3, start());
        let mut work = 0.0;
        for k in 0..500 {
            let t = f64::from(k) * h;
            let next = RKMK4.step(&system, &y, t, h).unwrap();
            work += 0.5 * h * (power(t, &y) + power(t + h, &next));
            y = next;
        }
        let gained = system.energy(&y) - system.energy(&start());
        assert!((gained - work).abs() < 1e-4 * work.abs().max(1.0), "{gained} {work}");
    }

    #[test]
    fn the_load_finds_its_parabola_and_the_links_their_directions() {
        let system = system(Some(control()));
        let end = run(&system, &RKMK4, 8.0, 1600);
        let (position, _) = control().path.at(8.0);
        assert!((end.0.0.fixed_rows::<3>(0) - position).norm() < 1e-3);
        assert!(system.direction_errors(8.0, &end).iter().all(|error| *error < 1e-3));
        assert!(end.1.1.iter().all(|link| link.constraint_error() < 1e-12));
        assert!(end.1.0.iter().all(|body| body.0.orthogonality_error() < 1e-12));
    }

    #[test]
    fn methods_have_their_orders() {
        let system = system(Some(control()));
        let reference = run(&system, &RKMK54, 0.5, 1000);
        let methods: [&dyn LieGroupMethod<State, Quadrotors>; 4] = [&LIE_EULER_HEUN, &RKMK3, &RKMK4, &CF4];
        for method in methods {
            let errors = [50, 100].map(|steps| run(&system, method, 0.5, steps).distance(&reference));
            let slope = (errors[0] / errors[1]).log2();
            assert!((slope - method.order() as f64).abs() < 0.15, "{}: {slope}", method.name());
        }
    }
}
