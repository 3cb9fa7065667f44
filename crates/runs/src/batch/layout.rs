//! Which unknowns there are, and which of them each element of the normal equations holds.

use super::normal::{AT_CALIBRATION, Columns, WIDTH};
use super::sight::Sight;
use lienav_slam::{CalibrationParameter, MOTION, SENSOR};
use lienav_submaps::sparse::Order;
use std::ops::Range;

/// Unknowns are numbered: the poses, then the features, then the calibration, which is one unknown. Each pose has an
/// element: its sights, and the motion to the next pose. Behind these come one for each known landmark, and one for
/// what is known of the calibration. In which order unknowns are eliminated, [`Order`] finds out.
#[derive(Clone, Debug)]
pub struct Layout {
    poses: usize,
    landmarks: usize,
    start_is_known: bool,
    /// Row of each calibration parameter in the calibration, and their number.
    calibration: [Option<usize>; MOTION + SENSOR],
    parameters: usize,
    /// Where the sights of each pose end, which are in the order of poses.
    sights_end: Vec<usize>,
    /// The unknowns of each element.
    lists: Vec<Vec<usize>>,
}

impl Layout {
    /// Of `poses` poses and `landmarks` features, each of which was seen; `known` are the features that are known
    /// beforehand. Sights are in the order of poses.
    pub fn new(
        poses: usize,
        landmarks: usize,
        (sights, known): (&[Sight], impl Iterator<Item = usize>),
        start_is_known: bool,
        active: &[CalibrationParameter],
    ) -> Self {
        let mut calibration = [None; MOTION + SENSOR];
        active.iter().enumerate().for_each(|(row, parameter)| calibration[*parameter as usize] = Some(row));
        let sights_end = (0..poses).map(|pose| sights.partition_point(|sight| sight.pose <= pose)).collect();
        let mut layout =
            Self { poses, landmarks, start_is_known, calibration, parameters: active.len(), sights_end, lists: vec![] };
        let common: Vec<usize> = (layout.parameters > 0).then(|| layout.of_calibration()).into_iter().collect();
        let of_pose = |pose: usize| {
            let mut seen: Vec<usize> =
                sights[layout.sights(pose)].iter().filter_map(|sight| sight.landmark).map(|i| poses + i).collect();
            seen.sort_unstable();
            seen.dedup();
            let ends = (pose..(pose + 2).min(poses)).filter(|pose| *pose > 0 || !start_is_known);
            ends.chain(seen).chain(common.iter().copied()).collect()
        };
        let known = known.map(|landmark| vec![poses + landmark]);
        layout.lists = (0..poses).map(of_pose).chain(known).chain([common.clone()]).collect();
        layout
    }

    /// The unknowns of each element.
    pub fn lists(&self) -> &[Vec<usize>] {
        &self.lists
    }

    /// The order in which they are eliminated.
    pub fn order(&self) -> Order {
        Order::new(&self.lists, self.of_calibration() + 1, |unknown| self.height(unknown))
    }

    /// The sights of a pose.
    pub fn sights(&self, pose: usize) -> Range<usize> {
        let first = pose.checked_sub(1).map_or(0, |before| self.sights_end[before]);
        first..self.sights_end[pose]
    }

    /// The name of a pose; `None` for a start that is known exactly.
    pub fn of_pose(&self, pose: usize) -> Option<usize> {
        (pose > 0 || !self.start_is_known).then_some(pose)
    }

    /// The name of a feature.
    pub fn of_landmark(&self, landmark: usize) -> usize {
        self.poses + landmark
    }

    /// The name of the calibration.
    pub fn of_calibration(&self) -> usize {
        self.poses + self.landmarks
    }

    /// The row of a parameter in the calibration.
    pub fn parameter(&self, parameter: CalibrationParameter) -> Option<usize> {
        self.calibration[parameter as usize]
    }

    /// Rows of an unknown.
    pub fn height(&self, unknown: usize) -> usize {
        match unknown {
            _ if unknown < self.poses => 3,
            _ if unknown < self.of_calibration() => 2,
            _ => self.parameters,
        }
    }

    /// Numbers that are estimated.
    pub fn numbers(&self) -> usize {
        3 * (self.poses - usize::from(self.start_is_known)) + 2 * self.landmarks + self.parameters
    }

    /// The columns of a row about up to two unknowns of an element, and about the calibration.
    pub fn columns(&self, element: usize, first: Option<usize>, second: Option<usize>) -> Columns {
        let mut columns = [None; WIDTH];
        let mut start = 0;
        for unknown in self.lists[element].iter().copied() {
            let height = self.height(unknown);
            let mut place = |from: usize| (0..height).for_each(|k| columns[from + k] = Some(start + k));
            if Some(unknown) == first {
                place(0);
            }
            if Some(unknown) == second {
                place(3);
            }
            if unknown == self.of_calibration() {
                let of_parameter = self.calibration.iter().map(|row| row.map(|row| start + row));
                columns[AT_CALIBRATION..].iter_mut().zip(of_parameter).for_each(|(column, row)| *column = row);
            }
            start += height;
        }
        columns
    }
}
