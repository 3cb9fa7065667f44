//! Landmarks as others see them: their places in the map, with the covariance of these.

use crate::filter::Coordinates;
use crate::output::Landmark;
use crate::state::{State, StateLandmark, lever};
use lienav_map::{LandmarkMap, MapLandmark};
use nalgebra::{DMatrix, Matrix2, Matrix2x3, Vector2};

impl State {
    /// Appends a landmark x = C·pose + Σ A_i x_i + e that depends on others: `Covariance::append_given`.
    #[inline]
    pub fn append_given(
        &mut self,
        landmark: StateLandmark,
        sources: &[(usize, Matrix2<f64>)],
        from_pose: &Matrix2x3<f64>,
        own: &Matrix2<f64>,
    ) {
        self.covariance.append_given(sources, from_pose, own);
        self.index.insert(landmark.id, self.landmarks.len());
        self.landmarks.push(landmark);
    }

    /// Landmark `i` in the map frame, with its covariance there.
    pub fn landmark(&self, i: usize) -> Landmark {
        let StateLandmark { id, last_seen, measurements, .. } = self.landmarks[i];
        let own = self.covariance.landmark_block(i, i);
        let covariance = match self.coordinates {
            Coordinates::World => own,
            Coordinates::Robot | Coordinates::Invariant => {
                // δp_i = L·(pose error) + B·(landmark error).
                let (lever, b) = self.position_error(i);
                let cross: Matrix2<f64> = lever * self.covariance.cross_block(i).transpose() * b.transpose();
                let pose = lever * self.covariance.pose_block() * lever.transpose();
                pose + cross + cross.transpose() + b * own * b.transpose()
            }
        };
        Landmark { id, position: self.in_map(i), covariance, last_seen, measurements }
    }

    /// Position of landmark `i` in the map.
    pub fn in_map(&self, i: usize) -> Vector2<f64> {
        match self.coordinates {
            Coordinates::World | Coordinates::Invariant => self.landmarks[i].x,
            Coordinates::Robot => self.pose.transform(&self.landmarks[i].x),
        }
    }

    /// L and B of δp_i = L·(pose error) + B·(landmark error), the error of landmark `i` in the map.
    pub fn position_error(&self, i: usize) -> (Matrix2x3<f64>, Matrix2<f64>) {
        let x = &self.landmarks[i].x;
        match self.coordinates {
            Coordinates::World => (Matrix2x3::zeros(), Matrix2::identity()),
            Coordinates::Invariant if self.is_frozen => (Matrix2x3::zeros(), Matrix2::identity()),
            Coordinates::Robot => {
                let r = self.pose.rotation();
                (lever(&(r * x)), r)
            }
            Coordinates::Invariant => (lever(x), Matrix2::identity()),
        }
    }

    /// The landmarks that `counts` says of, in the map frame, with their joint covariance there: P_ik = L_i P_NN L_kᵀ +
    /// L_i P_Nk Bᵀ + B P_iN L_kᵀ + B P_ik Bᵀ.
    pub fn landmark_map(&self, counts: impl Fn(u32) -> bool) -> LandmarkMap {
        let chosen: Vec<usize> = (0..self.landmarks.len()).filter(|i| counts(self.landmarks[*i].id)).collect();
        let pose = self.covariance.pose_block();
        let errors: Vec<_> = chosen.iter().map(|i| self.position_error(*i)).collect();
        let mut joint = DMatrix::zeros(2 * chosen.len(), 2 * chosen.len());
        for (c, (k, (lever_k, b_k))) in chosen.iter().zip(&errors).enumerate() {
            let cross_k = self.covariance.cross_block(*k).transpose() * b_k.transpose();
            let with_pose = pose * lever_k.transpose() + cross_k;
            for (r, (i, (lever_i, b_i))) in chosen.iter().zip(&errors).enumerate().skip(c) {
                let own = self.covariance.landmark_block(*i, *k) * b_k.transpose();
                let crossed = self.covariance.cross_block(*i) * lever_k.transpose();
                let block: Matrix2<f64> = lever_i * with_pose + b_i * (crossed + own);
                joint.fixed_view_mut::<2, 2>(2 * r, 2 * c).copy_from(&block);
            }
            let own: Matrix2<f64> = joint.fixed_view::<2, 2>(2 * c, 2 * c).into_owned();
            joint.fixed_view_mut::<2, 2>(2 * c, 2 * c).copy_from(&(0.5 * (own + own.transpose())));
        }
        joint.fill_upper_triangle_with_lower_triangle();
        let landmark = |(r, i): (usize, &usize)| MapLandmark {
            id: self.landmarks[*i].id,
            class: 0,
            position: self.in_map(*i),
            covariance: joint.fixed_view::<2, 2>(2 * r, 2 * r).into_owned(),
        };
        LandmarkMap { landmarks: chosen.iter().enumerate().map(landmark).collect(), joint: Some(joint), near: None }
    }

    /// Freezes the landmarks: their errors become those of their places in the map, with the covariance that they have.
    pub fn freeze(&mut self) {
        match self.coordinates {
            _ if self.is_frozen => {}
            Coordinates::World => {}
            Coordinates::Invariant => {
                let levers: Vec<_> = self.landmarks.iter().map(|landmark| lever(&landmark.x)).collect();
                self.covariance.change_landmarks(&Matrix2::identity(), |i| levers[i]);
            }
            Coordinates::Robot => {
                let r = self.pose.rotation();
                let levers: Vec<_> = self.landmarks.iter().map(|landmark| lever(&(r * landmark.x))).collect();
                self.covariance.change_landmarks(&r, |i| levers[i]);
                for landmark in &mut self.landmarks {
                    landmark.x = self.pose.transform(&landmark.x);
                }
                self.coordinates = Coordinates::World;
            }
        }
        self.is_frozen = true;
        for landmark in &mut self.landmarks {
            (landmark.first, landmark.is_mapped, landmark.is_vague) = (landmark.x, true, false);
        }
    }

    /// The opposite of [`State::freeze`], to errors in `coordinates`.
    pub fn thaw(&mut self, coordinates: Coordinates) {
        if !self.is_frozen {
            return;
        }
        match coordinates {
            Coordinates::World => {}
            Coordinates::Invariant => {
                let levers: Vec<_> = self.landmarks.iter().map(|landmark| -lever(&landmark.x)).collect();
                self.covariance.change_landmarks(&Matrix2::identity(), |i| levers[i]);
            }
            Coordinates::Robot => {
                let back = self.pose.rotation().transpose();
                let levers: Vec<_> =
                    self.landmarks.iter().map(|landmark| -back * lever(&(landmark.x - self.pose.p))).collect();
                self.covariance.change_landmarks(&back, |i| levers[i]);
                for landmark in &mut self.landmarks {
                    landmark.x = self.pose.transform_back(&landmark.x);
                }
            }
        }
        (self.coordinates, self.is_frozen) = (coordinates, false);
    }

    /// The joint covariance of the places of these landmarks in the map; rows of zeros for those that are not there.
    pub fn joint_of_places(&self, ids: impl Iterator<Item = u32>) -> DMatrix<f64> {
        let mut state = self.clone();
        state.freeze();
        let rows: Vec<Option<usize>> =
            ids.flat_map(|id| [0, 1].map(|axis| state.find(id).map(|i| state.covariance.row_of(i) + axis))).collect();
        DMatrix::from_fn(rows.len(), rows.len(), |i, j| match (rows[i], rows[j]) {
            (Some(i), Some(j)) => state.covariance.get(i, j),
            _ => 0.0,
        })
    }
}

/// The covariance of x_a − x_b with x_c − x_d.
#[inline]
pub fn difference(state: &State, (a, b): (usize, usize), (c, d): (usize, usize)) -> Matrix2<f64> {
    let p = &state.covariance;
    p.landmark_block(a, c) - p.landmark_block(a, d) - p.landmark_block(b, c) + p.landmark_block(b, d)
}
