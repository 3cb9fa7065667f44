//! How many maps the names of the list are: methods that give the same numbers to rounding are one.

use super::contestants::{Contestant, contestants};
use crate::report::{Experiment, MethodResult, Table};
use lienav_integrate::BodyState;
use lienav_integrate::dynamics::StabilityBody;
use lienav_lie::{LieGroup, So3};
use nalgebra::Vector3;

/// What two runs of the same map may differ by, after [`STEPS`] steps.
const ROUNDING: f64 = 1e-11;
const STEPS: u32 = 4;
const STEP: f64 = 0.25;

/// States without any symmetry.
fn starts() -> [BodyState; 2] {
    [([0.3, 0.8, -0.5], [0.7, -0.2, 1.1]), ([-0.6, 0.2, 0.9], [-0.4, 0.9, 0.3])].map(|(turn, rate)| BodyState {
        attitude: So3::exp(&Vector3::from(turn)),
        angular_velocity: Vector3::from(rate),
    })
}

/// The states after some steps; `None` of a method that cannot make them.
fn ends(contestant: &Contestant<StabilityBody>) -> Option<Vec<BodyState>> {
    let end = |start: &BodyState| {
        let mut stepper = (contestant.start)(&StabilityBody::default(), start, STEP).ok()?;
        (0..STEPS).try_fold(*start, |_, k| stepper(f64::from(k) * STEP).ok())
    };
    starts().iter().map(end).collect()
}

fn distance(a: &[BodyState], b: &[BodyState]) -> f64 {
    let of = |(a, b): (&BodyState, &BodyState)| {
        (a.attitude.matrix() - b.attitude.matrix()).norm() + (a.angular_velocity - b.angular_velocity).norm()
    };
    a.iter().zip(b).map(of).fold(0.0, f64::max)
}

/// A map: its names, and whether it is symplectic.
pub(super) struct Map {
    pub names: Vec<&'static str>,
    pub is_symplectic: bool,
    ends: Vec<BodyState>,
}

/// All maps of the list, in its order; and the least distance of two of them.
pub(super) fn maps() -> (Vec<Map>, f64) {
    let mut maps: Vec<Map> = Vec::new();
    for contestant in contestants::<StabilityBody>() {
        let Some(ends) = ends(&contestant) else { continue };
        match maps.iter_mut().find(|map| distance(&map.ends, &ends) < ROUNDING) {
            Some(map) => map.names.push(contestant.name),
            None => {
                let (names, is_symplectic) = (vec![contestant.name], contestant.is_symplectic);
                maps.push(Map { names, is_symplectic, ends });
            }
        }
    }
    let pairs = (0..maps.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let least = pairs.map(|(i, j)| distance(&maps[i].ends, &maps[j].ends)).fold(f64::INFINITY, f64::min);
    (maps, least)
}

pub(super) fn experiment() -> Experiment {
    let (maps, least) = maps();
    let names = maps.iter().map(|map| map.names.len()).sum::<usize>();
    let symplectic = maps.iter().filter(|map| map.is_symplectic).count();
    let rows = maps.iter().filter(|map| map.names.len() > 1).map(|map| vec![map.names.join("; ")]);
    let table = Table { title: "Names of one map".to_owned(), columns: vec!["names".to_owned()], rows: rows.collect() };
    Experiment {
        name: "distinct-maps".to_owned(),
        about: format!(
            "Not in the text: which of the {names} names are one map: after {STEPS} steps of h = {STEP} from two states in \
             the potential (3.2) they agree to {ROUNDING:e}. {} maps are distinct (the closest two differ by {least:.1e}), \
             {symplectic} of them symplectic.",
            maps.len()
        ),
        methods: vec![MethodResult {
            name: "all".to_owned(),
            values: vec![
                ("names", names as f64),
                ("distinct_maps", maps.len() as f64),
                ("symplectic_maps", symplectic as f64),
                ("least_distance", least),
            ],
        }],
        tables: vec![table],
        ..Experiment::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_one_map_give_the_same_numbers_and_all_others_do_not() {
        let (maps, least) = maps();
        let same: Vec<_> = maps.iter().filter(|map| map.names.len() > 1).map(|map| map.names.join("; ")).collect();
        let expected = [
            "VLV; Störmer–Verlet, Cayley",
            "quaternion (3.23), by (3.25); quaternion (3.23), by (3.26); quaternion (3.23), by Newton; quaternion (3.22); \
             RATTLE (3.28); SHAKE; SHAKE, by Newton",
            "VPD 2; VPD 2, Lagrangian",
            "VPD 3; VPD 3, Lagrangian",
            "VPD 4; VPD 4, Lagrangian",
            "VPD 6; VPD 6, Lagrangian",
            "VRKMK 2; SLGI θ = 1/2",
            "CF 3; CF 3(2) A",
            "RKMK4; RKMK 4(3)",
            "CF 4; CF 4(3)",
        ];
        assert_eq!(same, expected);
        assert_eq!((maps.len(), maps.iter().filter(|map| map.is_symplectic).count()), (39, 13));
        assert!(least > 1e3 * ROUNDING, "{least:e}");
    }
}
