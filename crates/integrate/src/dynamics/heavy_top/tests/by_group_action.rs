//! RKMK and commutator-free methods: orders, embedded pairs, step control.

use super::*;
use crate::EmbeddedMethod;
use crate::adaptive::{StepControl, integrate};
use crate::commutator_free::{CF3, CF4, CF32A, CF32B, CF43, CROUCH_GROSSMAN3};
use crate::rkmk::*;

fn reduced((attitude, momentum): &Canonical) -> LiePoisson {
    Coadjoint(join(&attitude.rotate_back(&momentum.0), &attitude.rotate_back(&top().gravity)))
}

fn methods<M: HomogeneousSpace + 'static>() -> Vec<Box<dyn LieGroupMethod<M, HeavyTop>>>
where
    HeavyTop: VectorField<M>,
{
    vec![
        Box::new(LIE_EULER),
        Box::new(LIE_EULER_HEUN),
        Box::new(RKMK3),
        Box::new(RKMK3_KUTTA),
        Box::new(RKMK4),
        Box::new(RKMK4_SERIES),
        Box::new(Rkmk4TwoCommutators),
        Box::new(RKMK32),
        Box::new(RKMK43),
        Box::new(RKMK54),
        Box::new(CROUCH_GROSSMAN3),
        Box::new(CF3),
        Box::new(CF32B),
        Box::new(CF4),
    ]
}

fn check_orders<M: HomogeneousSpace + 'static>(start: &M)
where
    HeavyTop: VectorField<M>,
{
    let reference = run(&RKMK54, start, 1000);
    for method in methods() {
        let steps = if method.order() == 1 { 400 } else { 60 };
        let [coarse, fine] = [steps, 2 * steps].map(|steps| run(&*method, start, steps).distance(&reference));
        let slope = (coarse / fine).log2();
        assert!((slope - method.order() as f64).abs() < 0.15, "{}: {slope}", method.name());
    }
}

#[test]
fn every_explicit_method_has_its_order_on_both_formulations() {
    check_orders(&start());
    check_orders(&reduced(&start()));
}

#[test]
fn both_formulations_are_one_motion_and_energy_stays() {
    let end = run(&RKMK54, &start(), 1000);
    assert!(run(&RKMK54, &reduced(&start()), 1000).distance(&reduced(&end)) < 1e-11);
    let energy = |(attitude, momentum): &Canonical| CotangentHamiltonian::<So3>::energy(&top(), attitude, &momentum.0);
    assert!((energy(&end) - energy(&start())).abs() < 1e-11);
    let flat = (Translation(*start().0.matrix()), start().1);
    let classical = run(&RKMK54, &flat, 1000);
    assert!((classical.0.0 - end.0.matrix()).norm() < 1e-11);
}

#[test]
fn the_coadjoint_orbit_is_kept_to_rounding() {
    let start = reduced(&start());
    for method in methods() {
        let ((m0, n0), (m, n)) = (split(&start.0), split(&run(&*method, &start, 20).0));
        assert!((n.norm() - n0.norm()).abs() < 1e-14 && (m.dot(&n) - m0.dot(&n0)).abs() < 1e-13);
    }
}

#[test]
fn auxiliary_methods_are_of_the_order_they_say() {
    let methods: [Box<dyn EmbeddedMethod<Canonical, HeavyTop>>; 6] =
        [Box::new(RKMK32), Box::new(RKMK43), Box::new(RKMK54), Box::new(CF32A), Box::new(CF32B), Box::new(CF43)];
    for method in methods {
        let error = |h: f64| method.step_with_error(&top(), &start(), 0.0, h).unwrap().1;
        let slope = (error(0.04) / error(0.02)).log2();
        assert!((slope - (method.auxiliary_order() + 1) as f64).abs() < 0.2, "{}: {slope}", method.name());
    }
}

#[test]
fn step_control_meets_tolerances_or_says_that_it_cannot() {
    let reference = run(&RKMK54, &start(), 1000);
    let mut errors = Vec::new();
    for tolerance in [1e-5, 1e-8] {
        let mut last = 0.0;
        let control = StepControl::new(tolerance);
        let (end, counts) = integrate(&CF43, &top(), &start(), (0.0, 1.0), 0.5, &control, |t, h, _| {
            assert!(t > last && (t - h - last).abs() < 1e-12);
            last = t;
        })
        .unwrap();
        assert!(last == 1.0 && counts.accepted > 3 && counts.rejected > 0);
        errors.push(end.distance(&reference));
    }
    assert!(errors[0] < 1e-3 && errors[1] < 1e-6 && errors[1] > 1e-12, "{errors:?}");
    let control = StepControl::new(0.0);
    assert!(integrate(&RKMK54, &top(), &start(), (0.0, 1.0), 0.5, &control, |_, _, _| ()).is_err());
}
