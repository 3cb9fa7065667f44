//! One look for one method, in whichever figure it is drawn.

use lienav_eval::plot::{Figure, Line, Look};

/// Beginnings of names, as long ones before short ones as they have to be found: colour and stroke.
const LOOKS: &[(&str, usize, usize)] = &[
    // Ortolan 2011.
    ("ELN, exp", 5, 1),
    ("ELN", 5, 0),
    ("TLN, exp", 1, 1),
    ("TLN", 1, 0),
    ("LIEMID[EA]", 2, 0),
    ("PRK", 3, 0),
    ("MCG", 4, 0),
    ("NEW3", 0, 1),
    ("VLV", 6, 0),
    ("energy-momentum, exponential", 3, 0),
    ("energy-momentum", 6, 1),
    // Shen 2019, chapter 3.
    ("quaternion (3.23), by (3.25)", 0, 1),
    ("quaternion (3.23), by (3.26)", 0, 0),
    ("quaternion (3.23), by Newton", 0, 2),
    ("quaternion (3.22)", 5, 0),
    ("RATTLE", 1, 0),
    ("SHAKE, |q| = 1, by Newton", 4, 1),
    ("SHAKE, by Newton", 4, 1),
    ("SHAKE", 4, 0),
    ("Störmer–Verlet, exp", 6, 1),
    ("Störmer–Verlet", 6, 0),
    // Shen, Tran and Leok 2022.
    ("VPD 2, Lagrangian", 3, 2),
    ("VPD 3, Lagrangian", 0, 2),
    ("VPD 4, Lagrangian", 1, 2),
    ("VPD 6, Lagrangian", 2, 2),
    ("VPD 2", 3, 0),
    ("VPD 3", 0, 0),
    ("VPD 4", 1, 0),
    ("VPD 6", 2, 0),
    ("VRKMK 6, projected", 0, 1),
    ("VRKMK 2", 5, 1),
    ("VRKMK 3", 6, 1),
    ("VRKMK 4", 4, 1),
    ("VRKMK 6", 3, 1),
    // Celledoni et al. 2021.
    ("SLGI θ = 0", 4, 0),
    ("SLGI θ = 1/2", 2, 0),
    ("SLGI θ = 1", 0, 0),
    ("SLGIKK", 1, 1),
    ("RKMK Euler", 6, 1),
    ("RKMK Heun 2", 5, 1),
    ("RKMK Heun 3", 0, 1),
    ("RKMK Kutta 3", 1, 1),
    ("RKMK 3(2)", 2, 1),
    ("RKMK Bogacki–Shampine 3(2)", 2, 1),
    ("Crouch–Grossman 3", 3, 1),
    ("CF 3(2) A", 6, 2),
    ("CF 3(2) B", 5, 2),
    ("CF 3", 4, 1),
    ("RKMK implicit midpoint", 6, 0),
    ("RKMK Gauss 2", 6, 0),
    ("RKMK RK 4, series", 0, 2),
    ("RKMK RK 4, two commutators", 5, 0),
    ("RKMK RK 4", 0, 0),
    ("RKMK4, series", 0, 2),
    ("RKMK4, two commutators", 5, 0),
    ("RKMK4 by SE(3)", 0, 1),
    ("RKMK4", 0, 0),
    ("RKMK 4(3)", 4, 2),
    ("RKMK Zonneveld 4(3)", 4, 2),
    ("RKMK Dormand–Prince 5(4)", 1, 0),
    ("RKMK 5(4)", 1, 0),
    ("RKMK 5, constant", 1, 1),
    ("CF 4(3)", 3, 2),
    ("CF 4", 3, 0),
    ("RKMK Gauss 4", 2, 0),
    ("RKMK Gauss 6", 4, 0),
    ("RKMKGL4 by SE(3)", 2, 1),
    ("RKMKGL4", 2, 0),
    ("RKMKGL6", 4, 0),
    ("classical RK 4", 0, 2),
    ("ODE45", 6, 2),
    // Vector spaces.
    ("symplectic Euler A", 5, 0),
    ("symplectic Euler B", 5, 1),
    ("Lobatto IIIA 4 with Lobatto IIIB 4", 3, 0),
    ("Lobatto IIIA 4", 1, 0),
    ("Strang splitting", 3, 0),
    ("implicit midpoint", 6, 0),
    ("explicit midpoint", 5, 1),
    ("Gauss 4", 2, 0),
    ("Gauss 6", 4, 0),
    ("Radau IIA 5", 3, 0),
    ("Kutta 3", 1, 1),
    ("RK 4", 0, 0),
    ("Euler", 6, 1),
    // Shen 2019, chapter 2.
    ("midpoint, fixed point", 6, 0),
    ("midpoint, quasi-Newton", 6, 1),
    ("midpoint, linear part solved", 6, 2),
    ("exponential midpoint", 0, 0),
    ("discrete gradient", 1, 0),
    ("energy-preserving exponential", 2, 0),
    ("DISEX", 3, 0),
];

/// Gives each line of a method its look. Where a figure has a method several times, the next stroke of its colour that
/// is free.
pub(super) fn assign(figure: &mut Figure) {
    let mut taken: Vec<Look> = Vec::new();
    for line in figure.lines.iter_mut().filter(|line| !line.is_guide && line.look.is_none()) {
        let Some(known) = of(line) else { continue };
        let strokes = (0..Look::STROKES).map(|k| Look { stroke: (known.stroke + k) % Look::STROKES, ..known });
        line.look = strokes.into_iter().find(|look| !taken.contains(look));
        taken.extend(line.look);
    }
}

fn of(line: &Line) -> Option<Look> {
    let known = LOOKS.iter().find(|(name, ..)| {
        line.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ' ', '(']))
    });
    known.map(|&(_, color, stroke)| Look { color, stroke })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stability_test::{Family, contestants};
    use lienav_integrate::dynamics::StabilityBody;
    use std::collections::BTreeSet;

    fn drawn(names: &[&str]) -> Vec<Look> {
        let lines = names.iter().map(|name| Line { name: (*name).into(), ..Line::default() }).collect();
        let mut figure = Figure { lines, ..Figure::default() };
        assign(&mut figure);
        figure.lines.iter().map(|line| line.look.unwrap_or_else(|| panic!("{}", line.name))).collect()
    }

    #[test]
    fn a_method_has_one_look_in_every_figure_and_no_two_of_a_figure_have_the_same() {
        let all = contestants::<StabilityBody>();
        for family in Family::ALL {
            let names: Vec<_> = all.iter().filter(|c| c.family() == family).map(|c| c.name).collect();
            let looks = drawn(&names);
            let distinct: BTreeSet<_> = looks.iter().map(|look| (look.color, look.stroke)).collect();
            assert_eq!(distinct.len(), names.len(), "{names:?}");
            for (name, look) in names.iter().zip(&looks) {
                assert_eq!(drawn(&[name]), [*look], "{name}");
            }
        }
    }

    #[test]
    fn a_longer_name_is_not_taken_for_a_shorter_one_that_it_begins_with() {
        for (name, color, stroke) in LOOKS {
            let line = Line { name: (*name).into(), ..Line::default() };
            assert_eq!(of(&line), Some(Look { color: *color, stroke: *stroke }), "{name}");
        }
        assert_ne!(drawn(&["ELN"]), drawn(&["ELN, exp"]));
        assert_eq!(drawn(&["SLGI θ = 0, x", "SLGI θ = 0, y", "SLGI θ = 0, z"]).len(), 3);
    }
}
