//! The scenarios in space that have a name: MOTION-CAMERA-GRADE, and some with one trouble each.

use super::inertial::Grade;
use super::scenario::{CameraKind, MotionKind, SpaceScenario};

/// A name that no scenario has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no scenario in space is called '{0}'; there are MOTION-CAMERA-GRADE with rest, circle, helix, drone, hand or car, \
     with mono, stereo or several, with consumer, industrial or tactical, as in drone-mono-industrial, and the same \
     with -standing, -gap, -outliers, -late, -false, -misses or -vibration behind it, with -tracks150 for 150 points a \
     frame whose tracks end, or with -120s for a run of 120 s"
)]
pub struct UnknownSpaceScenario(pub String);

/// The word for a trouble, and what it does to a scenario.
type Trouble = (&'static str, fn(&mut SpaceScenario));

/// What troubles a run.
const TROUBLES: [Trouble; 7] = [
    ("standing", |scenario| scenario.start.rest_s = 2.0),
    ("gap", |scenario| scenario.imu.gap_s = 1.5),
    ("outliers", |scenario| scenario.camera.outlier_probability = 0.15),
    ("late", |scenario| scenario.camera.late_s = 0.05),
    ("false", |scenario| scenario.camera.false_per_frame = 3),
    ("misses", |scenario| scenario.camera.miss_probability = 0.3),
    ("vibration", |scenario| (scenario.imu.vibration_m_s2, scenario.imu.vibration_rad_s) = (5.0, 0.2)),
];

/// So many tracks a frame may have.
const MOST_TRACKS: std::ops::RangeInclusive<u64> = 1..=300;
/// So long a run may be, s.
const LONGEST_S: std::ops::RangeInclusive<u64> = 1..=3600;

impl SpaceScenario {
    /// So many points a frame, of which each is followed for 10 frames on average, as by trackers of corners.
    fn follow_tracks(&mut self, tracks: u64) {
        /// The image has a tenth of all landmarks, or more.
        const SHARE: u64 = 10;
        (self.camera.most_in_view, self.landmarks) = (tracks, SHARE * tracks);
        // Some leave the image before.
        self.camera.end_probability = 0.09;
    }

    /// The names without trouble.
    pub fn names() -> Vec<String> {
        let mut names = Vec::new();
        for motion in MotionKind::WORDS {
            for camera in CameraKind::WORDS {
                names.extend(Grade::ALL.map(|(grade, _)| format!("{motion}-{camera}-{grade}")));
            }
        }
        names
    }

    /// A shipped scenario, by name; behind it, `-gap` and the like add a trouble.
    ///
    /// # Errors
    /// [`UnknownSpaceScenario`], which says what names there are.
    pub fn named(name: &str) -> Result<Self, UnknownSpaceScenario> {
        let unknown = || UnknownSpaceScenario(name.to_owned());
        let mut words = name.split('-');
        let mut next = || words.next().unwrap_or_default();
        let (motion, camera, grade) = (next(), next(), next());
        let motion = MotionKind::WORDS.iter().position(|word| *word == motion).ok_or_else(unknown)?;
        let kind = CameraKind::WORDS.iter().position(|word| *word == camera).ok_or_else(unknown)?;
        let (_, grade) = Grade::ALL.iter().find(|(word, _)| *word == grade).ok_or_else(unknown)?;
        let motions = [
            MotionKind::Rest,
            MotionKind::Circle,
            MotionKind::Helix,
            MotionKind::Drone,
            MotionKind::Hand,
            MotionKind::Car,
        ];
        let kinds = [CameraKind::Mono, CameraKind::Stereo, CameraKind::Several];
        let mut scenario =
            Self { name: name.to_owned(), motion: motions[motion], imu: grade.config(), ..Self::default() };
        scenario.camera.kind = kinds[kind];
        if scenario.motion == MotionKind::Helix {
            // Its walls are high.
            scenario.landmarks = 150;
        }
        for word in words {
            let tracks = word.strip_prefix("tracks").and_then(|number| number.parse().ok());
            if let Some(tracks) = tracks.filter(|tracks| MOST_TRACKS.contains(tracks)) {
                scenario.follow_tracks(tracks);
                continue;
            }
            let seconds = word.strip_suffix('s').and_then(|number| number.parse().ok());
            if let Some(seconds) = seconds.filter(|seconds| LONGEST_S.contains(seconds)) {
                scenario.duration_s = seconds as f64;
                continue;
            }
            let (_, trouble) = TROUBLES.iter().find(|(name, _)| *name == word).ok_or_else(unknown)?;
            trouble(&mut scenario);
        }
        Ok(scenario)
    }
}
