//! Two maps of one place as one.

use super::{LandmarkMap, LandmarkMapError, MapLandmark};
use nalgebra::{DMatrix, DVector, Matrix2, SymmetricEigen, Vector2};
use std::collections::HashMap;

/// A landmark that both maps have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedLandmark {
    /// Its identity.
    pub id: u32,
    /// Its position in the second map minus that in the first, m.
    pub difference: Vector2<f64>,
    /// The squared Mahalanobis distance of this difference; χ² with two degrees of freedom if the maps agree.
    pub chi_square: f64,
}

/// Two maps as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The landmarks of the first map, then those that only the second one has.
    pub map: LandmarkMap,
    /// Those that both have, in the order of the first.
    pub shared: Vec<SharedLandmark>,
    /// The squared Mahalanobis distance of all differences together, with their correlations; χ² with two degrees of
    /// freedom for each shared landmark if the maps agree.
    pub chi_square: f64,
}

/// Why two maps cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// One of them is no map.
    #[error(transparent)]
    NoMap(#[from] LandmarkMapError),
    /// No covariance explains a difference.
    #[error(
        "both maps say exactly where landmark {0} is, and differ: correct one of them, or state how uncertain it is"
    )]
    Exact(u32),
}

impl LandmarkMap {
    /// Fuses two maps in the same frame whose errors are independent of each other. Landmarks with the same identity
    /// are one landmark: the estimate that both maps together give, Λ = Λ₁ + Λ₂ for independent landmarks, and with
    /// joint covariances the one that makes use of them. Other landmarks are kept, and with joint covariances move
    /// along with their neighbours.
    ///
    /// # Errors
    /// [`MergeError`].
    pub fn merged_with(&self, other: &Self) -> Result<Merged, MergeError> {
        self.check()?;
        other.check()?;
        let place: HashMap<u32, usize> = self.landmarks.iter().enumerate().map(|(i, l)| (l.id, i)).collect();
        let mut pairs: Vec<(usize, usize)> =
            other.landmarks.iter().enumerate().filter_map(|(k, l)| Some((*place.get(&l.id)?, k))).collect();
        pairs.sort_unstable();
        let mut landmarks = self.landmarks.clone();
        let others = other.landmarks.iter().filter(|landmark| !place.contains_key(&landmark.id));
        landmarks.extend(others.cloned());
        let exact = |pair: usize| MergeError::Exact(self.landmarks[pairs[pair].0].id);

        let mut shared = Vec::with_capacity(pairs.len());
        for (number, &(i, k)) in pairs.iter().enumerate() {
            let (one, two) = (&self.landmarks[i], &other.landmarks[k]);
            let mut pair = Estimate::of([one, two].into_iter());
            let chi_square = pair.equate(&[(0, 1)]).map_err(|_| exact(number))?;
            let class = if one.class == 0 { two.class } else { one.class };
            landmarks[i] = MapLandmark { class, ..pair.landmark(0, one) };
            shared.push(SharedLandmark { id: one.id, difference: two.position - one.position, chi_square });
        }
        let mut chi_square = shared.iter().map(|landmark| landmark.chi_square).sum();
        let mut joint = None;
        if self.joint.is_some() || other.joint.is_some() {
            let count = self.landmarks.len();
            let mut all = Estimate::of(self.landmarks.iter().chain(&other.landmarks));
            for (map, first) in [(self, 0), (other, 2 * count)] {
                if let Some(known) = &map.joint {
                    all.covariance.view_mut((first, first), known.shape()).copy_from(known);
                }
            }
            let equal: Vec<(usize, usize)> = pairs.iter().map(|(i, k)| (*i, count + k)).collect();
            chi_square = all.equate(&equal).map_err(exact)?;
            let unshared = (0..other.landmarks.len()).filter(|k| !place.contains_key(&other.landmarks[*k].id));
            let kept: Vec<usize> = (0..count).chain(unshared.map(|k| count + k)).collect();
            for (landmark, i) in landmarks.iter_mut().zip(&kept) {
                *landmark = all.landmark(*i, landmark);
            }
            let rows: Vec<usize> = kept.iter().flat_map(|i| [2 * i, 2 * i + 1]).collect();
            joint = Some(DMatrix::from_fn(rows.len(), rows.len(), |i, j| all.covariance[(rows[i], rows[j])]));
        }
        Ok(Merged { map: LandmarkMap { landmarks, joint, near: None }, shared, chi_square })
    }
}

/// Positions with their joint covariance.
struct Estimate {
    positions: DVector<f64>,
    covariance: DMatrix<f64>,
}

impl Estimate {
    /// Of independent landmarks.
    fn of<'a>(landmarks: impl Iterator<Item = &'a MapLandmark>) -> Self {
        let landmarks: Vec<&MapLandmark> = landmarks.collect();
        let rows = 2 * landmarks.len();
        let mut covariance = DMatrix::zeros(rows, rows);
        for (i, landmark) in landmarks.iter().enumerate() {
            covariance.fixed_view_mut::<2, 2>(2 * i, 2 * i).copy_from(&landmark.covariance);
        }
        let positions = DVector::from_iterator(rows, landmarks.iter().flat_map(|l| [l.position.x, l.position.y]));
        Self { positions, covariance }
    }

    /// Landmark `i`, otherwise as `before`.
    fn landmark(&self, i: usize, before: &MapLandmark) -> MapLandmark {
        let own: Matrix2<f64> = self.covariance.fixed_view::<2, 2>(2 * i, 2 * i).into_owned();
        let position = self.positions.fixed_rows::<2>(2 * i).into_owned();
        MapLandmark { position, covariance: 0.5 * (own + own.transpose()), ..*before }
    }

    /// Takes in that the landmarks of each pair are one, and returns the squared Mahalanobis distance of their
    /// differences. With H x the differences: S = H P Hᵀ, K = P Hᵀ S⁺, x ← x − K H x, P ← P − K S Kᵀ. S is singular
    /// where both are exact.
    ///
    /// # Errors
    /// The pair that differs although both are exact.
    fn equate(&mut self, pairs: &[(usize, usize)]) -> Result<f64, usize> {
        let (rows, numbers) = (self.positions.len(), 2 * pairs.len());
        let mut crossed = DMatrix::zeros(rows, numbers);
        let mut difference = DVector::zeros(numbers);
        for (number, (i, k)) in pairs.iter().enumerate() {
            for a in 0..2 {
                let column = self.covariance.column(2 * k + a) - self.covariance.column(2 * i + a);
                crossed.set_column(2 * number + a, &column);
                difference[2 * number + a] = self.positions[2 * k + a] - self.positions[2 * i + a];
            }
        }
        let innovation = DMatrix::from_fn(numbers, numbers, |m, n| {
            let (i, k) = pairs[m / 2];
            crossed[(2 * k + m % 2, n)] - crossed[(2 * i + m % 2, n)]
        });
        let eigen = SymmetricEigen::new(0.5 * (&innovation + innovation.transpose()));
        let least = 1e-12 * eigen.eigenvalues.amax();
        let along = eigen.eigenvectors.transpose() * &difference;
        let inverse = eigen.eigenvalues.map(|value| if value > least { 1.0 / value } else { 0.0 });
        for (which, (part, weight)) in along.iter().zip(&inverse).enumerate() {
            if *weight == 0.0 && part.abs() > 1e-9 {
                let direction = eigen.eigenvectors.column(which);
                return Err(direction.iamax() / 2);
            }
        }
        let gain = &crossed * &eigen.eigenvectors * DMatrix::from_diagonal(&inverse);
        self.positions -= &gain * &along;
        let reduced = &self.covariance - &gain * (&crossed * &eigen.eigenvectors).transpose();
        self.covariance = 0.5 * (&reduced + reduced.transpose());
        Ok(along.component_mul(&along).dot(&inverse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn landmark(id: u32, x: f64, y: f64, covariance: Matrix2<f64>) -> MapLandmark {
        MapLandmark { id, class: 0, position: Vector2::new(x, y), covariance }
    }

    fn map(landmarks: Vec<MapLandmark>) -> LandmarkMap {
        LandmarkMap { landmarks, joint: None, near: None }
    }

    #[test]
    fn information_adds_up_and_what_one_map_has_alone_stays() {
        let (p, q) = (Matrix2::new(0.04, 0.01, 0.01, 0.09), Matrix2::new(0.02, -0.005, -0.005, 0.01));
        let one = map(vec![landmark(1, 1.0, 2.0, p), landmark(2, 5.0, 5.0, p)]);
        let two = map(vec![landmark(3, -1.0, 0.0, q), MapLandmark { class: 4, ..landmark(1, 1.1, 1.9, q) }]);
        let merged = one.merged_with(&two).unwrap();
        let ids: Vec<u32> = merged.map.landmarks.iter().map(|l| l.id).collect();
        assert_eq!(ids, [1, 2, 3]);
        let (lambda, mu) = (p.try_inverse().unwrap(), q.try_inverse().unwrap());
        let fused = (lambda + mu).try_inverse().unwrap();
        let expected = fused * (lambda * Vector2::new(1.0, 2.0) + mu * Vector2::new(1.1, 1.9));
        let found = &merged.map.landmarks[0];
        assert!((found.covariance - fused).amax() < 1e-12 && (found.position - expected).norm() < 1e-12);
        assert_eq!(
            (found.class, &merged.map.landmarks[1], &merged.map.landmarks[2]),
            (4, &one.landmarks[1], &two.landmarks[0])
        );
        let difference = Vector2::new(0.1, -0.1);
        let chi_square = difference.dot(&((p + q).try_inverse().unwrap() * difference));
        assert!(
            (merged.chi_square - chi_square).abs() < 1e-9 && (merged.shared[0].chi_square - chi_square).abs() < 1e-9
        );
    }

    /// A map with the error of its frame: landmarks that it has alone move with those that another map corrects.
    #[test]
    fn with_joint_covariances_the_rest_of_a_map_moves_along() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let rows = 6;
        let joint =
            DMatrix::from_fn(rows, rows, |i, j| f64::from(u8::from(i % 2 == j % 2)) + if i == j { 1e-4 } else { 0.0 });
        let landmarks =
            (0..3_u32).map(|id| landmark(id, random.random_range(-9.0..9.0), 0.0, Matrix2::identity() * 1.0001));
        let one = LandmarkMap { landmarks: landmarks.collect(), joint: Some(joint), near: None };
        let exact = map(vec![landmark(0, one.landmarks[0].position.x + 0.7, 0.2, Matrix2::zeros())]);
        let merged = one.merged_with(&exact).unwrap();
        for (before, after) in one.landmarks.iter().zip(&merged.map.landmarks) {
            assert!((after.position - before.position - Vector2::new(0.7, 0.2)).norm() < 1e-3);
            assert!(after.covariance[(0, 0)] < 3e-4, "{}", after.covariance);
        }
        merged.map.check().unwrap();
        // The order does not matter.
        let turned = exact.merged_with(&one).unwrap();
        let find = |map: &LandmarkMap, id: u32| map.landmarks.iter().find(|l| l.id == id).unwrap().clone();
        for id in 0..3 {
            let (a, b) = (find(&merged.map, id), find(&turned.map, id));
            assert!((a.position - b.position).norm() < 1e-9 && (a.covariance - b.covariance).amax() < 1e-9);
        }
        assert!((merged.chi_square - turned.chi_square).abs() < 1e-9);
    }

    #[test]
    fn what_is_exact_in_both_maps_has_to_be_the_same() {
        let one = map(vec![landmark(5, 1.0, 2.0, Matrix2::zeros()), landmark(6, 0.0, 0.0, Matrix2::identity())]);
        let merged = one.merged_with(&one).unwrap();
        assert_eq!((merged.map.landmarks[0].position, merged.chi_square), (Vector2::new(1.0, 2.0), 0.0));
        let mut other = one.clone();
        other.landmarks[0].position.x = 1.1;
        assert_eq!(one.merged_with(&other), Err(MergeError::Exact(5)));
        other.landmarks[1].id = 5;
        assert_eq!(one.merged_with(&other), Err(MergeError::NoMap(LandmarkMapError::DuplicateId(5))));
    }
}
