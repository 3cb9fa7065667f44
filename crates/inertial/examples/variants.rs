//! scratch
mod simulator;
use lienav_inertial::filter::Filter;
use lienav_inertial::chart::{Centre, Chart};
use lienav_inertial::measurement::Measurement;
use lienav_inertial::delayed::{Delay, Delayed};
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::state::State;
use lienav_inertial::step::Step;
use lienav_lie::LieGroup;
use nalgebra::Vector6;
use simulator::{Run, Scenario, pixels, simulate};

fn run(scenario: &Scenario, run: &Run, filter: Filter, delay: Delay) -> (f64, f64, f64, f64) {
    let mut step = Step::new(filter);
    step.delayed = Delayed::new(delay);
    let mut state = State::new(run.start, &scenario.start_covariance(), 80, &filter);
    state.gravity = scenario.gravity;
    let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Linear);
    let mut frames = run.frames.iter().peekable();
    let mut out = (0.0, 0.0, 0.0, 0.0);
    for sample in &run.samples {
        integrator.push(*sample).unwrap();
        while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
            let measurements = pixels(scenario, frame);
            let measurements: Vec<&dyn Measurement> = measurements.iter().map(|one| one as &dyn Measurement).collect();
            let increment = integrator.take(frame.stamp).unwrap();
            step.predict(&mut state, &increment);
            let _ = step.correct(&mut state, &measurements).unwrap();
            integrator.set_biases(state.nav.biases);
            let position = frame.truth.position - state.nav.position;
            let turn = (frame.truth.rotation * state.nav.rotation.inverse()).log();
            let error = Vector6::new(position.x, position.y, position.z, turn.x, turn.y, turn.z);
            let nees = state.pose_covariance(&filter).cholesky().map_or(f64::NAN, |f| error.dot(&f.solve(&error)));
            out.0 += position.norm_squared(); out.1 += turn.norm_squared(); out.2 += nees; out.3 += 1.0;
        }
    }
    out
}
fn main() {
    let runs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5_u64);
    let motions = std::env::args().nth(2).unwrap_or("circle,line".into());
    for motion in motions.split(',') {
        let scenario = Scenario::new(motion);
        let all: Vec<Run> = (0..runs).map(|seed| simulate(&scenario, 100 + seed)).collect();
        for (chart, centre) in [(Chart::Cartesian, Centre::FirstSight), (Chart::LogRange, Centre::Sensor), (Chart::InverseRange, Centre::FirstSight)] {
            for (frames, range_sigma) in [(1, 0.1), (2, 0.1), (4, 0.1), (2, 0.05), (4, 0.05), (2, 0.2), (4, 0.2)] {
                    let filter = Filter { chart, centre, ..Filter::DEFAULT };
                    let mut per = vec![];
                    let mut s = (0.0, 0.0, 0.0, 0.0);
                    for one in &all {
                        let r = run(&scenario, one, filter, Delay { frames, range_sigma, ..Delay::default() });
                        per.push((r.2 / r.3 * 10.0).round() / 10.0);
                        s.0 += r.0; s.1 += r.1; s.2 += r.2; s.3 += r.3;
                    }
                    println!("{motion} {chart:?} {centre:?} {frames} {range_sigma}: {:.4} m {:.3}° nees {:.2} {:?}", (s.0/s.3).sqrt(), (s.1/s.3).sqrt().to_degrees(), s.2/s.3, per);
            }
        }
    }
}
