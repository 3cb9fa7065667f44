//! Coefficients of Runge–Kutta methods, explicit and implicit, with the questions that can be put to them.

mod coefficients;
mod trees;

pub use coefficients::*;
use trees::{Tree, trees};

/// The coefficients of a Runge–Kutta method of `S` stages:
/// Yᵢ = y₀ + h Σⱼ aᵢⱼ f(Yⱼ), y₁ = y₀ + h Σᵢ bᵢ f(Yᵢ), stage i at time t₀ + cᵢh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tableau<const S: usize> {
    /// The name it is known by.
    pub name: &'static str,
    /// Row i gives stage i.
    pub a: [[f64; S]; S],
    /// Weights of the result.
    pub b: [f64; S],
    /// cᵢ = Σⱼ aᵢⱼ.
    pub c: [f64; S],
    /// The classical order.
    pub order: usize,
    /// Other weights on the same stages, for an estimate of the local error.
    pub embedded: Option<Embedded<S>>,
}

/// The auxiliary method of an embedded pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Embedded<const S: usize> {
    /// Its weights.
    pub b: [f64; S],
    /// Its order, lower than that of the main method.
    pub order: usize,
}

impl<const S: usize> Tableau<S> {
    const fn new(name: &'static str, order: usize, a: [[f64; S]; S], b: [f64; S], c: [f64; S]) -> Self {
        Self { name, a, b, c, order, embedded: None }
    }

    const fn paired(self, order: usize, b: [f64; S]) -> Self {
        Self { embedded: Some(Embedded { b, order }), ..self }
    }

    /// Whether each stage needs only earlier ones.
    pub fn is_explicit(&self) -> bool {
        (0..S).all(|i| self.a[i][i..].iter().all(|&a| a == 0.0))
    }

    /// Whether the last stage is the result, aₛⱼ = bⱼ, so that its slope is the first of the next step where the first
    /// stage is the initial value.
    pub fn is_stiffly_accurate(&self) -> bool {
        S > 0 && self.a[S - 1] == self.b
    }

    /// The largest |bᵢaᵢⱼ + bⱼaⱼᵢ − bᵢbⱼ|: zero, up to rounding, for a method that preserves quadratic invariants and
    /// the symplectic form (Luo and Sun 2020, (22)).
    pub fn symplectic_defect(&self) -> f64 {
        self.partitioned_symplectic_defect(self)
    }

    /// Whether the method meets the symplectic condition up to rounding.
    pub fn is_symplectic(&self) -> bool {
        self.symplectic_defect() < ROUNDING
    }

    /// The largest |bᵢāᵢⱼ + b̄ⱼaⱼᵢ − bᵢb̄ⱼ| and |bᵢ − b̄ᵢ| of a partitioned method: positions by `self`, momenta by
    /// `momenta` (Shen 2019, section 1.3).
    pub fn partitioned_symplectic_defect(&self, momenta: &Self) -> f64 {
        let pairs = (0..S).flat_map(|i| (0..S).map(move |j| (i, j)));
        let condition =
            pairs.map(|(i, j)| self.b[i] * momenta.a[i][j] + momenta.b[j] * self.a[j][i] - self.b[i] * momenta.b[j]);
        let weights = (0..S).map(|i| self.b[i] - momenta.b[i]);
        condition.chain(weights).fold(0.0, |largest, defect| defect.abs().max(largest))
    }

    /// The method for the momenta that makes a symplectic pair with this one for the positions: āᵢⱼ = bⱼ − bⱼaⱼᵢ/bᵢ.
    /// None where a weight vanishes. A symplectic method is its own partner.
    pub fn symplectic_partner(&self) -> Option<Self> {
        if self.b.contains(&0.0) {
            return None;
        }
        let mut partner = Self { name: "symplectic partner", embedded: None, ..*self };
        for i in 0..S {
            for j in 0..S {
                partner.a[i][j] = self.b[j] * (1.0 - self.a[j][i] / self.b[i]);
            }
            partner.c[i] = partner.a[i].iter().sum();
        }
        Some(partner)
    }

    /// Whether the method is its own adjoint, a(s+1−i, s+1−j) + aᵢⱼ = bⱼ: what it does forward it undoes backward.
    pub fn is_symmetric(&self) -> bool {
        (0..S).all(|i| (0..S).all(|j| (self.a[S - 1 - i][S - 1 - j] + self.a[i][j] - self.b[j]).abs() < ROUNDING))
    }

    /// The largest |Φ(τ) − 1/γ(τ)| over the rooted trees τ of `order` vertices (Hairer, Lubich, Wanner 2006, III.1): a
    /// method is of order p if it vanishes, up to rounding, for 1 … p.
    pub fn order_defect(&self, order: usize) -> f64 {
        self.defect_of(&self.b, order)
    }

    /// [`Self::order_defect`] of the embedded weights, if there are any.
    pub fn embedded_order_defect(&self, order: usize) -> Option<f64> {
        self.embedded.map(|embedded| self.defect_of(&embedded.b, order))
    }

    fn defect_of(&self, b: &[f64; S], order: usize) -> f64 {
        let defect = |tree: &Tree| {
            let weight: f64 = b.iter().zip(self.stage_weights(tree)).map(|(b, phi)| b * phi).sum();
            (weight - 1.0 / tree.density()).abs()
        };
        trees(order).iter().map(defect).fold(0.0, f64::max)
    }

    /// The elementary weights of the stages: the product over the branches of A times those of the branch.
    fn stage_weights(&self, tree: &Tree) -> [f64; S] {
        let mut weights = [1.0; S];
        for branch in &tree.branches {
            let inner = self.stage_weights(branch);
            for (weight, row) in weights.iter_mut().zip(&self.a) {
                *weight *= row.iter().zip(inner).map(|(a, phi)| a * phi).sum::<f64>();
            }
        }
        weights
    }
}

const ROUNDING: f64 = 1e-14;

#[cfg(test)]
mod tests {
    use super::*;

    /// As much order as is claimed and no more, consistent c, and an embedded method of just its own order.
    fn check<const S: usize>(tableau: &Tableau<S>) {
        let name = tableau.name;
        for order in 1..=tableau.order {
            let defect = tableau.order_defect(order);
            assert!(defect < 1e-14, "{name}: {defect:e} in the conditions of order {order}");
        }
        assert!(tableau.order_defect(tableau.order + 1) > 1e-4, "{name} is of higher order than it says");
        for (row, c) in tableau.a.iter().zip(tableau.c) {
            assert!((row.iter().sum::<f64>() - c).abs() < 1e-14, "{name}: c are not the row sums");
        }
        if let Some(embedded) = tableau.embedded {
            assert!(embedded.order < tableau.order);
            for order in 1..=embedded.order + 1 {
                let defect = tableau.embedded_order_defect(order).unwrap();
                assert_eq!(defect < 1e-14, order <= embedded.order, "{name}: {defect:e} of order {order}, embedded");
            }
        }
    }

    #[test]
    fn every_tableau_has_the_order_it_says() {
        check(&EULER);
        check(&EXPLICIT_MIDPOINT);
        check(&HEUN2);
        check(&HEUN3);
        check(&KUTTA3);
        check(&RK4);
        check(&BOGACKI_SHAMPINE32);
        check(&ZONNEVELD43);
        check(&DORMAND_PRINCE54);
        check(&IMPLICIT_EULER);
        check(&IMPLICIT_MIDPOINT);
        check(&GAUSS4);
        check(&GAUSS6);
        check(&LOBATTO_IIIA2);
        check(&LOBATTO_IIIA4);
        check(&LOBATTO_IIIA6);
        check(&LOBATTO_IIIB4);
        check(&RADAU_IIA3);
        check(&RADAU_IIA5);
    }

    #[test]
    fn gauss_is_symplectic_and_symmetric_and_the_others_are_not() {
        assert!(IMPLICIT_MIDPOINT.is_symplectic() && GAUSS4.is_symplectic() && GAUSS6.is_symplectic());
        assert!(IMPLICIT_MIDPOINT.is_symmetric() && GAUSS4.is_symmetric() && GAUSS6.is_symmetric());
        assert!(LOBATTO_IIIA4.is_symmetric() && LOBATTO_IIIB4.is_symmetric() && !RADAU_IIA5.is_symmetric());
        for defect in [RK4.symplectic_defect(), LOBATTO_IIIA4.symplectic_defect(), RADAU_IIA5.symplectic_defect()] {
            assert!(defect > 1e-2);
        }
        assert!(!EXPLICIT_MIDPOINT.is_symplectic() && !EULER.is_symplectic() && !KUTTA3.is_symplectic());
    }

    #[test]
    fn lobatto_iiia_and_iiib_are_symplectic_together() {
        assert!(LOBATTO_IIIA2.partitioned_symplectic_defect(&LOBATTO_IIIB2) < 1e-15);
        assert!(LOBATTO_IIIA4.partitioned_symplectic_defect(&LOBATTO_IIIB4) < 1e-15);
        let partner = LOBATTO_IIIA4.symplectic_partner().unwrap();
        for (ours, known) in partner.a.as_flattened().iter().zip(LOBATTO_IIIB4.a.as_flattened()) {
            assert!((ours - known).abs() < 1e-15);
        }
        let gauss = GAUSS6.symplectic_partner().unwrap();
        assert!(gauss.a.as_flattened().iter().zip(GAUSS6.a.as_flattened()).all(|(x, y)| (x - y).abs() < 1e-15));
        assert!(KUTTA3.partitioned_symplectic_defect(&KUTTA3.symplectic_partner().unwrap()) < 1e-15);
        assert_eq!(HEUN3.symplectic_partner(), None);
    }

    #[test]
    fn which_are_explicit() {
        assert!(RK4.is_explicit() && DORMAND_PRINCE54.is_explicit() && !GAUSS4.is_explicit());
        assert!(!LOBATTO_IIIA2.is_explicit());
        assert!(DORMAND_PRINCE54.is_stiffly_accurate() && RADAU_IIA5.is_stiffly_accurate());
        assert!(!RK4.is_stiffly_accurate() && !GAUSS6.is_stiffly_accurate());
    }
}
