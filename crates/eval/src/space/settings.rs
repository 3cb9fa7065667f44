//! What is taken for the noise of a recording, by its layout.

use lienav_inertial::imu::{GRAVITY, ImuNoise};
use lienav_inertial::measurement::RangePrior;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_io::space::data::{Camera, Image, Layout, SpaceRecording};
use lienav_space::config::Between;
use lienav_space::{Config, PixelNoise, Sensor};
use nalgebra::Vector4;

/// Noise and start of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of the inertial sensor.
    pub imu: ImuNoise,
    /// How rate and force run between samples. Real ones are means over an interval, simulated ones are values.
    pub interpolation: Interpolation,
    /// Gravity, m/s².
    pub gravity: f64,
    /// Of the pixels.
    pub pixels: PixelNoise,
    /// How far landmarks are where a measurement does not say so.
    pub ranges: RangePrior,
    /// Standard deviation of true landmarks as a map, m.
    pub map_sigma: f64,
    /// Standard deviations of the truth by axis, m and rad, as its source states them.
    pub truth_sigma: (f64, f64),
    /// Standard deviations at a start from the truth, by axis: rotation, rad; velocity, m/s; position, m; biases, rad/s
    /// and m/s².
    pub start_sigma: [f64; 5],
    /// By how much a state that is lost is uncertain, by axis: rotation, rad; velocity, m/s; position, m.
    pub lost_sigma: [f64; 3],
    /// Whether a start at rest is looked for; otherwise the run starts with the truth.
    pub starts_at_rest: bool,
    /// Whether a landmark that a frame does not see is removed, as a track that has ended does not come back.
    pub tracks_end: bool,
    /// Estimates between frames so often, Hz; zero for none.
    pub grid_hz: f64,
}

/// A state with more landmarks takes in no new ones: a frame would take too long.
pub const MOST_LANDMARKS: usize = 200;

/// In a hall of a few metres.
const ROOM: RangePrior = RangePrior { range_m: 3.0, log_sigma: 0.7 };

impl Settings {
    /// Those of a recording.
    pub fn of(recording: &SpaceRecording) -> Self {
        match recording.layout {
            // Densities by windows of 0.25 to 1 s against the truth; the data sheet has a sixth of it.
            Layout::EurocTracks => Self {
                imu: ImuNoise { gyro: 1e-3, accelerometer: 1.2e-2, gyro_walk: 2e-5, accelerometer_walk: 1e-3 },
                interpolation: Interpolation::Linear,
                gravity: 9.807,
                pixels: PixelNoise { own: [2.0; 2], common: [0.0; 2] },
                ranges: ROOM,
                map_sigma: 0.02,
                // 0.4° in all.
                truth_sigma: (0.005, 0.4_f64.to_radians() / 3_f64.sqrt()),
                start_sigma: [0.23_f64.to_radians(), 0.05, 0.005, 0.1, 0.1],
                lost_sigma: [0.05, 0.5, 0.3],
                starts_at_rest: true,
                tracks_end: true,
                grid_hz: 0.0,
            },
            Layout::Starloc => Self {
                imu: ImuNoise { gyro: 2e-3, accelerometer: 2e-2, gyro_walk: 1e-5, accelerometer_walk: 1e-4 },
                interpolation: Interpolation::Linear,
                gravity: 9.81,
                pixels: PixelNoise { own: [0.7; 2], common: [4.0; 2] },
                // Pixels of the true map are off by 4 px at 1077 px and some metres.
                ranges: ROOM,
                map_sigma: 0.05,
                truth_sigma: (0.002, 0.15_f64.to_radians()),
                start_sigma: [0.005, 0.05, 0.003, 0.003, 0.1],
                lost_sigma: [0.05, 0.5, 0.3],
                starts_at_rest: false,
                tracks_end: false,
                grid_hz: 5.0,
            },
            Layout::Starry => Self {
                imu: ImuNoise::default(),
                interpolation: Interpolation::Linear,
                gravity: 0.0,
                pixels: stereo_noise(recording),
                ranges: ROOM,
                map_sigma: 0.02,
                truth_sigma: (0.002, 0.15_f64.to_radians()),
                start_sigma: [0.15_f64.to_radians(), 0.0, 0.002, 0.0, 0.0],
                lost_sigma: [0.05, 0.0, 0.1],
                starts_at_rest: false,
                tracks_end: false,
                grid_hz: 0.0,
            },
            Layout::Simulated => Self {
                imu: stated_imu(recording),
                interpolation: Interpolation::Cubic,
                gravity: recording.gravity.map_or(GRAVITY, |gravity| gravity.norm()),
                pixels: PixelNoise { own: stated_pixels(recording), common: [0.0; 2] },
                ranges: RangePrior::UNKNOWN,
                map_sigma: 0.01,
                truth_sigma: (0.0, 0.0),
                start_sigma: recording.start.map_or([0.01, 0.05, 0.01, 0.01, 0.1], |start| start.std),
                lost_sigma: [0.05, 0.5, 0.3],
                starts_at_rest: false,
                tracks_end: recording.tracks_end,
                grid_hz: 0.0,
            },
            // The author's noise of corners is 1 px; a stated covariance of the truth comes before this one.
            Layout::Tagslam => Self {
                pixels: PixelNoise { own: [1.0; 2], common: [0.0; 2] },
                truth_sigma: (0.01, 0.3_f64.to_radians()),
                start_sigma: [0.003, 1.0, 0.003, 1.0, 0.0],
                lost_sigma: [0.2, 0.5, 0.5],
                ..Self::without_inertial()
            },
            // Corners against the true poses: 0.35 to 0.40 px.
            Layout::Frc => Self {
                pixels: PixelNoise { own: [0.4; 2], common: [0.0; 2] },
                truth_sigma: (0.001, 0.02_f64.to_radians()),
                lost_sigma: [0.5, 0.0, 1.0],
                ..Self::without_inertial()
            },
        }
    }
}

impl Settings {
    /// What recordings without an inertial sensor have in common.
    fn without_inertial() -> Self {
        Self {
            imu: ImuNoise::default(),
            interpolation: Interpolation::Linear,
            gravity: 0.0,
            pixels: PixelNoise { own: [1.0; 2], common: [0.0; 2] },
            ranges: RangePrior::UNKNOWN,
            map_sigma: 0.02,
            truth_sigma: (0.002, 0.15_f64.to_radians()),
            start_sigma: [0.15_f64.to_radians(), 0.0, 0.002, 0.0, 0.0],
            lost_sigma: [0.05, 0.0, 0.1],
            starts_at_rest: false,
            tracks_end: false,
            grid_hz: 0.0,
        }
    }
}

impl Settings {
    /// The same as settings of the pipeline, for the filter of this name.
    pub fn config(&self, filter: &str) -> Config {
        let mut config = Config { filter: filter.to_owned(), ..Config::default() };
        let noise = &self.imu;
        (config.imu.gyro_noise, config.imu.accelerometer_noise) = (noise.gyro, noise.accelerometer);
        (config.imu.gyro_walk, config.imu.accelerometer_walk) = (noise.gyro_walk, noise.accelerometer_walk);
        config.imu.gravity = self.gravity;
        config.imu.interpolation = match self.interpolation {
            Interpolation::Linear => Between::Linear,
            Interpolation::Cubic => Between::Cubic,
        };
        let is_known = self.ranges.log_sigma.is_finite();
        config.sensor.typical_range_m = if is_known { self.ranges.range_m } else { 0.0 };
        (config.map.max_landmarks, config.map.tracks_end) = (MOST_LANDMARKS, self.tracks_end);
        config
    }

    /// A camera as a sensor of the pipeline.
    pub fn sensor(&self, camera: &Camera) -> Sensor {
        let Camera { focal, centre, baseline_m, on_body } = *camera;
        Sensor { mount: on_body, focal, centre, baseline_m, pixels: self.pixels }
    }
}

/// The inertial sensor as a recording states it.
fn stated_imu(recording: &SpaceRecording) -> ImuNoise {
    let stated = recording.stated.inertial;
    stated.map_or_else(ImuNoise::default, |[gyro, accelerometer, gyro_walk, accelerometer_walk]| ImuNoise {
        gyro,
        accelerometer,
        gyro_walk,
        accelerometer_walk,
    })
}

/// Standard deviations of (u, v) as a recording states them, px.
fn stated_pixels(recording: &SpaceRecording) -> [f64; 2] {
    recording.stated.pixels.map_or([1.0; 2], |variances| [variances.x.sqrt(), variances.y.sqrt()])
}

/// The stated variances of pixels, divided into what the images have alone and in common. In a rectified pair v_l − v_r
/// is zero but for the noise that they have alone; in u it is taken to be the same, but no more than is stated.
fn stereo_noise(recording: &SpaceRecording) -> PixelNoise {
    /// Of a recording that states nothing, px².
    const USUAL: f64 = 4.0;
    /// Standard deviation of rounded pixels, px.
    const LEAST: f64 = 0.29;
    /// Farther apart are not two views of one point, px.
    const FARTHEST: f64 = 100.0;
    let stated = recording.stated.pixels.unwrap_or(Vector4::repeat(USUAL));
    let seen = recording.frames.iter().flat_map(|frame| &frame.seen);
    let apart = seen.filter_map(|seen| if let Image::Stereo(z) = seen.at { Some(z.y - z.w) } else { None });
    let square = crate::mean::mean(apart.filter(|d| d.abs() < FARTHEST).map(|d| 0.5 * d * d)).unwrap_or(0.0);
    let both = [0.5 * (stated.x + stated.z), 0.5 * (stated.y + stated.w)];
    let own = both.map(|variance| square.max(LEAST * LEAST).min(variance).sqrt());
    let common = [0, 1].map(|k| (both[k] - own[k] * own[k]).max(0.0).sqrt());
    PixelNoise { own, common }
}
