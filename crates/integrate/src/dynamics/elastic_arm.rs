//! A slender elastic arm of a robot that sets a payload down on a pad.

use super::semilinear::{Oscillators, PoissonError, Potential, Semilinear};
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use thiserror::Error;

/// What the arm is made of. The default is a metre of aluminium strip, 30 mm × 3 mm, with 200 g at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// From the clamp to the tip, m.
    pub length_m: f64,
    /// Young's modulus times the second moment of area, N m².
    pub bending_stiffness_nm2: f64,
    /// kg/m.
    pub mass_per_length_kg_m: f64,
    /// At the tip, kg.
    pub payload_kg: f64,
    /// The pad resists a deflection w of the tip with the force κw³, as soft material that stiffens; κ in N/m³.
    pub pad_n_m3: f64,
    /// Across the arm, towards the pad, m/s².
    pub gravity_m_s2: f64,
    /// Finite elements along the arm; two modes each. The highest frequency grows with their square.
    pub elements: usize,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            length_m: 1.0,
            bending_stiffness_nm2: 4.725,
            mass_per_length_kg_m: 0.243,
            payload_kg: 0.2,
            pad_n_m3: 2e4,
            gravity_m_s2: 9.81,
            elements: 20,
        }
    }
}

/// Why there is no such arm.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum ArmError {
    /// A length, stiffness or mass that has to be positive is not, or there is no element.
    #[error("{name} of the elastic arm has to be positive and finite")]
    NotPositive {
        /// Which.
        name: &'static str,
    },
    /// The numbers are so far apart that no modes can be computed.
    #[error("the modes of the elastic arm cannot be computed: {0}")]
    Modes(#[from] PoissonError),
}

/// The arm as the integrators take it.
pub type ArmSystem = Semilinear<Oscillators, TipPad>;

/// An Euler–Bernoulli beam in the plane, clamped at one end, by cubic finite elements with consistent mass, in modal
/// coordinates (see [`Oscillators`]): bending is the stiff linear part, weight and pad are the potential.
#[derive(Clone, Debug)]
pub struct ElasticArm {
    /// Modes, weight and pad.
    pub system: ArmSystem,
}

/// $V = ℓ\cdot q + \tfrac κ4(c\cdot q)^4$ over the displacements q of the modes (the first half of the state): weight,
/// and the pad at the tip.
#[derive(Clone, Debug, PartialEq)]
pub struct TipPad {
    /// ℓ.
    load: Vec<f64>,
    /// c: the deflection of the tip for each mode, m.
    tip: Vec<f64>,
    /// κ, N/m³.
    pad: f64,
}

impl ElasticArm {
    /// Computes the modes.
    ///
    /// # Errors
    /// Which parameter is not positive.
    pub fn new(parameters: &Parameters) -> Result<Self, ArmError> {
        parameters.check()?;
        let (mass, stiffness, weight) = parameters.assemble();
        let dofs = weight.len();
        // M = LLᵀ: the modes are those of L⁻¹KL⁻ᵀ, carried back by L⁻ᵀ.
        let lower = mass.cholesky().ok_or(PoissonError::NotFinite)?.l();
        let half = lower.solve_lower_triangular(&stiffness).ok_or(PoissonError::NotFinite)?;
        let reduced = lower.solve_lower_triangular(&half.transpose()).ok_or(PoissonError::NotFinite)?;
        let eigen = SymmetricEigen::new((&reduced + reduced.transpose()) * 0.5);
        let modes = lower.tr_solve_lower_triangular(&eigen.eigenvectors).ok_or(PoissonError::NotFinite)?;
        if eigen.eigenvalues.iter().any(|square| !(square.is_finite() && *square > 0.0)) {
            return Err(PoissonError::NotFinite.into());
        }
        let frequencies: Vec<f64> = eigen.eigenvalues.iter().map(|square| square.sqrt()).collect();
        // Displacement η = q/√ω.
        let of_modes = |x: &DVector<f64>| -> Vec<f64> {
            modes.column_iter().zip(&frequencies).map(|(mode, omega)| mode.dot(x) / omega.sqrt()).collect()
        };
        let tip_only = DVector::from_fn(dofs, |i, _| if i + 2 == dofs { 1.0 } else { 0.0 });
        let potential = TipPad { load: of_modes(&-weight), tip: of_modes(&tip_only), pad: parameters.pad_n_m3 };
        Ok(Self { system: Semilinear { linear: Oscillators::new(frequencies)?, potential } })
    }

    /// The arm at rest, bent by a force at the tip until that is deflected by so much (m; positive is the way of
    /// gravity).
    pub fn bent(&self, deflection_m: f64) -> Vec<f64> {
        let (tip, frequencies) = (&self.system.potential.tip, self.system.linear.frequencies());
        // Dq = Fc, with the force F such that c·q is the deflection.
        let flexibility: f64 = tip.iter().zip(frequencies).map(|(c, omega)| c * c / omega).sum();
        let force = deflection_m / flexibility;
        let displacements = tip.iter().zip(frequencies).map(|(c, omega)| force * c / omega);
        displacements.chain(frequencies.iter().map(|_| 0.0)).collect()
    }

    /// Deflection of the tip, m.
    pub fn tip(&self, state: &[f64]) -> f64 {
        self.system.potential.deflection(state)
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ArmError> {
        let positive = [
            ("length_m", self.length_m),
            ("bending_stiffness_nm2", self.bending_stiffness_nm2),
            ("mass_per_length_kg_m", self.mass_per_length_kg_m),
            ("elements", self.elements as f64),
        ];
        let at_least_zero = [("payload_kg", self.payload_kg), ("pad_n_m3", self.pad_n_m3)];
        let wrong = positive.into_iter().find(|(_, x)| !(x.is_finite() && *x > 0.0));
        let wrong = wrong.or(at_least_zero.into_iter().find(|(_, x)| !(x.is_finite() && *x >= 0.0)));
        let wrong = wrong.or((!self.gravity_m_s2.is_finite()).then_some(("gravity_m_s2", self.gravity_m_s2)));
        wrong.map_or(Ok(()), |(name, _)| Err(ArmError::NotPositive { name }))
    }

    /// Mass and stiffness matrix and the weight, of deflection and slope at every node but the clamp.
    fn assemble(&self) -> (DMatrix<f64>, DMatrix<f64>, DVector<f64>) {
        let l = self.length_m / self.elements as f64;
        let element_mass = [
            [156.0, 22.0 * l, 54.0, -13.0 * l],
            [22.0 * l, 4.0 * l * l, 13.0 * l, -3.0 * l * l],
            [54.0, 13.0 * l, 156.0, -22.0 * l],
            [-13.0 * l, -3.0 * l * l, -22.0 * l, 4.0 * l * l],
        ];
        let element_stiffness = [
            [12.0, 6.0 * l, -12.0, 6.0 * l],
            [6.0 * l, 4.0 * l * l, -6.0 * l, 2.0 * l * l],
            [-12.0, -6.0 * l, 12.0, -6.0 * l],
            [6.0 * l, 2.0 * l * l, -6.0 * l, 4.0 * l * l],
        ];
        let element_load = [6.0, l, 6.0, -l];
        let (per_mass, per_stiffness) = (self.mass_per_length_kg_m * l / 420.0, self.bending_stiffness_nm2 / l.powi(3));
        let per_load = self.mass_per_length_kg_m * self.gravity_m_s2 * l / 12.0;
        let dofs = 2 * self.elements;
        let (mut mass, mut stiffness) = (DMatrix::zeros(dofs, dofs), DMatrix::zeros(dofs, dofs));
        let mut weight = DVector::zeros(dofs);
        for element in 0..self.elements {
            // The first node's deflection and slope are held by the clamp.
            let free = |local: usize| (2 * element + local).checked_sub(2);
            for row in 0..4 {
                let Some(i) = free(row) else { continue };
                weight[i] += per_load * element_load[row];
                for column in 0..4 {
                    let Some(k) = free(column) else { continue };
                    mass[(i, k)] += per_mass * element_mass[row][column];
                    stiffness[(i, k)] += per_stiffness * element_stiffness[row][column];
                }
            }
        }
        mass[(dofs - 2, dofs - 2)] += self.payload_kg;
        weight[dofs - 2] += self.payload_kg * self.gravity_m_s2;
        (mass, stiffness, weight)
    }
}

impl TipPad {
    fn deflection(&self, state: &[f64]) -> f64 {
        self.tip.iter().zip(state).map(|(c, q)| c * q).sum()
    }

    /// `out` ← (a·ℓ + b·c, 0).
    fn combine(&self, a: f64, b: f64, out: &mut [f64]) {
        let (displacements, momenta) = out.split_at_mut(self.tip.len());
        for ((out, l), c) in displacements.iter_mut().zip(&self.load).zip(&self.tip) {
            *out = a * l + b * c;
        }
        momenta.fill(0.0);
    }
}

impl Potential for TipPad {
    fn value(&self, state: &[f64]) -> f64 {
        let weight: f64 = self.load.iter().zip(state).map(|(l, q)| l * q).sum();
        weight + 0.25 * self.pad * self.deflection(state).powi(4)
    }

    fn gradient(&self, state: &[f64], out: &mut [f64]) {
        self.combine(1.0, self.pad * self.deflection(state).powi(3), out);
    }

    fn hessian_apply(&self, state: &[f64], v: &[f64], out: &mut [f64]) {
        self.combine(0.0, 3.0 * self.pad * self.deflection(state).powi(2) * self.deflection(v), out);
    }

    fn discrete_gradient(&self, from: &[f64], to: &[f64], out: &mut [f64]) {
        let (a, b) = (self.deflection(from), self.deflection(to));
        // (b⁴ − a⁴)/(b − a), without the division.
        self.combine(1.0, 0.25 * self.pad * (a + b) * (a * a + b * b), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_those_of_a_cantilever_and_the_highest_grows_with_the_square_of_the_elements() {
        let bare = Parameters { payload_kg: 0.0, ..Parameters::default() };
        let frequencies = |elements: usize| {
            let arm = ElasticArm::new(&Parameters { elements, ..bare }).unwrap();
            let mut frequencies = arm.system.linear.frequencies().to_vec();
            frequencies.sort_by(f64::total_cmp);
            frequencies
        };
        let unit = (bare.bending_stiffness_nm2 / bare.mass_per_length_kg_m).sqrt();
        // The roots βL of cos(x)cosh(x) = −1.
        for (frequency, root) in frequencies(20).iter().zip([1.875_104_068_7, 4.694_091_133, 7.854_757_438_2_f64]) {
            assert!((frequency / (unit * root * root) - 1.0).abs() < 1e-4, "{frequency}");
        }
        let highest = |elements| frequencies(elements).last().copied().unwrap();
        assert!((highest(40) / highest(20) - 4.0).abs() < 0.1 && highest(20) > 1e4);
    }

    #[test]
    fn the_arm_bends_as_a_beam_under_a_force_at_its_end_and_hangs_still_under_its_weight() {
        let arm = ElasticArm::new(&Parameters::default()).unwrap();
        let state = arm.bent(0.05);
        assert!((arm.tip(&state) - 0.05).abs() < 1e-12);
        // ½Fw with F = 3EIw/L³.
        let energy = crate::dynamics::semilinear::LinearPart::energy(&arm.system.linear, &state, &mut ());
        assert!((energy / (1.5 * 4.725 * 0.05 * 0.05) - 1.0).abs() < 1e-9, "{energy}");
        let weight = Parameters { pad_n_m3: 0.0, ..Parameters::default() };
        let hanging = ElasticArm::new(&weight).unwrap();
        let rest: f64 = {
            let TipPad { load, tip, .. } = &hanging.system.potential;
            let frequencies = hanging.system.linear.frequencies();
            load.iter().zip(tip).zip(frequencies).map(|((l, c), omega)| -l * c / omega).sum()
        };
        // ρAgL⁴/8EI + mgL³/3EI.
        let expected = 9.81 * (0.243 / 8.0 + 0.2 / 3.0) / 4.725;
        assert!((rest / expected - 1.0).abs() < 1e-9, "{rest} {expected}");
    }

    #[test]
    fn impossible_arms_are_refused_by_name() {
        for (parameters, name) in [
            (Parameters { length_m: 0.0, ..Parameters::default() }, "length_m"),
            (Parameters { elements: 0, ..Parameters::default() }, "elements"),
            (Parameters { payload_kg: -1.0, ..Parameters::default() }, "payload_kg"),
            (Parameters { gravity_m_s2: f64::NAN, ..Parameters::default() }, "gravity_m_s2"),
        ] {
            assert_eq!(ElasticArm::new(&parameters).err(), Some(ArmError::NotPositive { name }));
        }
    }
}
