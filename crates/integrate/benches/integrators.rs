//! What a step of each integrator of a rigid body costs: on the three balls of Shen 2019, chapter 3, on a free body,
//! the forced step of a turning body; on the body of Ortolan's stability test and on her double spherical pendulum.
//!
//! `cargo bench -p lienav-integrate --bench integrators`

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lienav_integrate::dynamics::heavy_top::HeavyTop;
use lienav_integrate::dynamics::pivoted_body::PivotedBody;
use lienav_integrate::dynamics::three_balls::ThreeBalls;
use lienav_integrate::dynamics::{DoubleSphericalPendulum, FreeBody, StabilityBody};
use lienav_integrate::polar::{PolarState, PolarVariational};
use lienav_integrate::quaternion::{Iteration, LagrangianQuaternionIntegrator, QuaternionIntegrator, Rotation};
use lienav_integrate::rattle::Rattle;
use lienav_integrate::rkmk::RKMK4;
use lienav_integrate::shake::{Shake, ShakeSolver};
use lienav_integrate::stormer_verlet::StormerVerlet;
use lienav_integrate::tableau::GAUSS4;
use lienav_integrate::two_spheres::{SphereLieNewmark, SphereMethod, SphereRattle};
use lienav_integrate::{
    BodyMethod, ExplicitLieNewmark, KoziaraBicanic, LieGroupMethod, LieMidpoint, ModifiedCrouchGrossman,
    PartitionedRkmk, TrapezoidalLieNewmark, VariationalLieVerlet,
};
use lienav_integrate::{Convergence, FloatingBody, FloatingBodyMethod, FloatingBodyState, Inertia, RotationMap};
use lienav_lie::{So3, Translation};
use nalgebra::{UnitQuaternion, Vector3};
use std::hint::black_box;

const H: f64 = 0.01;

fn rigid_bodies(c: &mut Criterion) {
    let balls = ThreeBalls::default();
    on(c, "three balls", &balls, &ThreeBalls::initial_state());
    let inertia = Inertia::principal_unchecked(Vector3::new(1.0, 2.0, 2.5));
    let turning = FloatingBodyState::turning(UnitQuaternion::identity(), Vector3::new(0.5, 1.0, 1.5));
    on(c, "free body", &PivotedBody::free(inertia), &turning);
}

fn on<B: FloatingBody>(c: &mut Criterion, system: &str, body: &B, initial: &FloatingBodyState) {
    let convergence = Convergence::default();
    for iteration in [Iteration::Linear, Iteration::Cross, Iteration::Newton] {
        step(c, system, &QuaternionIntegrator { iteration, convergence }, body, initial);
    }
    step(c, system, &LagrangianQuaternionIntegrator::default(), body, initial);
    step(c, system, &Rattle::default(), body, initial);
    for map in [RotationMap::Cayley, RotationMap::Exponential] {
        step(c, system, &StormerVerlet { map, convergence }, body, initial);
    }
    for solver in [ShakeSolver::Chord, ShakeSolver::Newton] {
        step(c, system, &Shake { solver, convergence }, body, initial);
    }
}

fn step<M: FloatingBodyMethod, B: FloatingBody>(
    c: &mut Criterion,
    system: &str,
    method: &M,
    body: &B,
    initial: &FloatingBodyState,
) {
    let mut state = method.start(body, initial, H).expect("the first step can be made");
    c.bench_function(&format!("{system}/{}", method.name()), |b| {
        b.iter(|| black_box(method.step(black_box(body), &mut state, 0.0, H)));
    });
}

fn forced(c: &mut Criterion) {
    let inertia = Inertia::principal_unchecked(Vector3::new(0.02, 0.03, 0.04));
    let (method, h) = (QuaternionIntegrator::default(), 0.001);
    let mut rotation = Rotation {
        attitude: UnitQuaternion::identity().into(),
        body_angular_momentum: Vector3::new(0.02, -0.03, 0.08),
    };
    let torque = Vector3::new(1e-3, 0.0, -1e-3);
    c.bench_with_input(BenchmarkId::new("forced body", method.name()), &torque, |b, torque| {
        b.iter(|| black_box(method.step_forced(black_box(&inertia), &mut rotation, [*torque; 2], 0.0, h)));
    });
}

fn turning(c: &mut Criterion) {
    turn(c, "ELN", &ExplicitLieNewmark::default());
    turn(c, "TLN", &TrapezoidalLieNewmark::default());
    turn(c, "LIEMID[EA]", &LieMidpoint);
    turn(c, "PRK", &PartitionedRkmk::default());
    turn(c, "MCG", &ModifiedCrouchGrossman);
    turn(c, "NEW3", &KoziaraBicanic);
    turn(c, "VLV", &VariationalLieVerlet);
}

/// With the step of the test, so that implicit methods have as much to do as there.
fn turn(c: &mut Criterion, name: &str, method: &impl BodyMethod<StabilityBody>) {
    let (body, mut state) = (StabilityBody::default(), StabilityBody::initial_state());
    c.bench_function(&format!("stability test/{name}"), |b| {
        b.iter(|| state = method.step(black_box(&body), &state, 0.0, 0.125).expect("the step converges"));
    });
}

fn on_spheres(c: &mut Criterion) {
    swing(c, "ELN", &SphereLieNewmark);
    swing(c, "RATTLE", &SphereRattle);
}

fn swing(c: &mut Criterion, name: &str, method: &impl SphereMethod<2, DoubleSphericalPendulum>) {
    let system = DoubleSphericalPendulum::new([2.0, 1.0], [1.0, 1.0], 9.81);
    let mut state = DoubleSphericalPendulum::initial_state();
    c.bench_function(&format!("double spherical pendulum/{name}"), |b| {
        b.iter(|| state = method.step(black_box(&system), &state, 0.0, H).expect("the step converges"));
    });
}

/// (Q, π) by RKMK, and attitude and momentum by polar decomposition.
fn free(c: &mut Criterion) {
    let moments = Vector3::new(1.0, 2.0, 3.0);
    let (top, momentum) = (HeavyTop::free(moments), Vector3::new(0.6, 1.5, -0.9));
    let mut point = (So3::default(), Translation(momentum));
    c.bench_function("free body/RKMK4", |b| {
        b.iter(|| point = RKMK4.step(black_box(&top), &point, 0.0, H).expect("the step is finite"));
    });
    let body = FreeBody { moments };
    let mut method = PolarVariational::new(&GAUSS4, So3::default().matrix()).expect("no weight of Gauss vanishes");
    let mut state = PolarState::of_body(&body, &So3::default(), &momentum.component_div(&moments));
    c.bench_function("free body/VPD 4, h = 0.2", |b| {
        b.iter(|| black_box(method.step(black_box(&body), &mut state, 0.0, 0.2)));
    });
}

criterion_group!(benches, rigid_bodies, free, forced, turning, on_spheres);
criterion_main!(benches);
