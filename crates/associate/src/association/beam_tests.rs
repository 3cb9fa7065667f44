//! The search beside all hypotheses one by one.

use super::*;
use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

struct Dense(DMatrix<f64>);

impl Joint for Dense {
    fn covariance(&self, a: usize, b: usize) -> Matrix3<f64> {
        let mut block = Matrix3::zeros();
        block.fixed_view_mut::<2, 2>(0, 0).copy_from(&self.0.view((2 * a, 2 * b), (2, 2)));
        block
    }
}

/// The logarithm of the weight of a hypothesis, from the dense matrix.
fn weight(pairs: &[Pair], joint: &DMatrix<f64>, chosen: &[usize]) -> f64 {
    let rows: Vec<usize> = chosen.iter().flat_map(|pair| [2 * pair, 2 * pair + 1]).collect();
    let s = joint.select_rows(&rows).select_columns(&rows);
    let r = DVector::from_iterator(rows.len(), rows.iter().map(|row| pairs[row / 2].residual[row % 2]));
    let prior: f64 = chosen.iter().map(|pair| pairs[*pair].weight).sum();
    if chosen.is_empty() {
        return 0.0;
    }
    let factor = s.cholesky().unwrap();
    prior
        - 0.5 * (r.dot(&factor.solve(&r)) + factor.determinant().ln() + rows.len() as f64 * std::f64::consts::TAU.ln())
}

#[test]
fn shares_are_those_of_all_hypotheses_one_by_one() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..40 {
        // Three items, each of which may be of three targets, with a common error.
        let mut draw = |width: f64| random.random_range(-width..width);
        let common = DMatrix::from_fn(18, 3, |_, _| draw(1.0));
        let joint = &common * common.transpose() + DMatrix::identity(18, 18) * 0.3;
        let pairs: Vec<Pair> = (0..9)
            .map(|k| {
                let residual = Vector3::new(draw(2.0), draw(2.0), 0.0);
                Pair::new(k % 3, (residual, Dense(joint.clone()).covariance(k, k)), 2, 3.0 + draw(1.0)).unwrap()
            })
            .collect();
        let items = [0, 3, 6].map(|first| Item { first, last: first + 3, is_clear: false });
        let mut beam = Beam::default();
        beam.search((&pairs, &items), &Dense(joint.clone()), &[f64::INFINITY; 3], |_| 0.0);

        let (mut whole, mut shares, mut best) = (0.0, [0.0; 9], f64::NEG_INFINITY);
        for choice in 0..64 {
            let chosen: Vec<usize> =
                (0..3).filter_map(|i| Some((choice >> (2 * i)) & 3).filter(|t| *t < 3).map(|t| 3 * i + t)).collect();
            let mut targets: Vec<usize> = chosen.iter().map(|pair| pairs[*pair].target).collect();
            targets.sort_unstable();
            targets.dedup();
            if targets.len() < chosen.len() {
                continue;
            }
            let own = weight(&pairs, &joint, &chosen);
            best = f64::max(best, own);
            whole += own.exp();
            chosen.iter().for_each(|pair| shares[*pair] += own.exp());
        }
        for (share, expected) in beam.shares.iter().zip(shares) {
            assert!((share - expected / whole).abs() < 2e-3, "{share} is not {}", expected / whole);
        }
        let found = weight(&pairs, &joint, &beam.best);
        assert!((found - best).abs() < 1e-9, "{found} is not {best}");
    }
}

#[test]
fn what_one_pair_adds_to_the_evidence_is_limited_unless_it_says_so_alone() {
    let pair = |target, covariance: f64| {
        let s = Matrix3::from_diagonal_element(covariance);
        Pair::new(target, (Vector3::zeros(), s), 2, 2.0).unwrap()
    };
    let item = |first| Item { first, last: first + 1, is_clear: false };
    // One common error: the second pair says much given the first.
    let mut joint = DMatrix::from_element(4, 4, 0.0);
    for d in 0..2 {
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            joint[(2 * a + d, 2 * b + d)] = if a == b { 1.0001 } else { 1.0 };
        }
    }
    let pairs = [pair(0, 1.0001), pair(1, 1.0001)];
    let mut beam = Beam::default();
    beam.search((&pairs, &[item(0), item(1)]), &Dense(joint), &[14.0; 3], |_| 0.0);
    assert_eq!(beam.best, [0, 1]);
    assert!((beam.evidence - pairs[0].alone - TEN_TO_ONE.ln).abs() < 1e-9, "{}", beam.evidence);
    assert_eq!(beam.log_ratio.len(), 2);
    // One that is certain by itself.
    let sure = [pair(0, 1e-4)];
    beam.search((&sure, &[item(0)]), &Dense(DMatrix::zeros(2, 2)), &[14.0; 3], |_| 0.0);
    assert!((beam.evidence - sure[0].alone).abs() < 1e-9 && beam.evidence > 2.0 * TEN_TO_ONE.ln);
}
