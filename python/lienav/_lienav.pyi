"""The compiled part of lienav; `lienav` is its face."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt
from typing_extensions import Self

from ._data import (
    AttitudeEstimate,
    Attitudes,
    Decisions,
    Errors,
    Features,
    Floats,
    Imu,
    Integers,
    Landmarks,
    Odometry,
    Pose,
    RunMeans,
    Steps,
)

from ._data3d import Errors3d, Features3d, Imu3d, Landmarks3d, Map3d, Pose3d, Poses3d, Steps3d, Truth3d

__version__: str

_Settings = Mapping[str, Any] | str | os.PathLike[str] | None
_Scenario = str | Mapping[str, Any] | os.PathLike[str]

class Step:
    """The result of the clouds of one stamp."""

    @property
    def stamp_ns(self) -> int:
        """When, ns."""
    @property
    def x(self) -> float:
        """Position of the base in the map frame, m."""
    @property
    def y(self) -> float:
        """Position of the base in the map frame, m."""
    @property
    def theta(self) -> float:
        """Heading, rad, in (−π, π]."""
    @property
    def pose(self) -> Floats:
        """(3,): x m, y m, θ rad in (−π, π]."""
    @property
    def covariance(self) -> Floats:
        """(3, 3) of (x, y, θ) in the map frame."""
    @property
    def nis(self) -> float:
        """Normalised innovation squared of all accepted readings together."""
    @property
    def dof(self) -> int:
        """Its degrees of freedom."""
    @property
    def accepted(self) -> int:
        """Readings used."""
    @property
    def added(self) -> int:
        """Readings of new landmarks."""
    @property
    def rejected(self) -> int:
        """Readings left out."""
    @property
    def features(self) -> int:
        """Landmarks in the map after the step."""

class KalmanFilter:
    """A Kalman filter that a program steps: `predict` moves the state along a motion, `correct` takes a scan in, and
    `mean`, `covariance` and `blocks` show the state. The steps are those of :class:`Slam`, without its queue and clock."""

    def __new__(cls, settings: _Settings = None) -> KalmanFilter: ...
    def add_sensor(
        self,
        h: Callable[[Floats], npt.ArrayLike],
        jacobian: Callable[[Floats], npt.ArrayLike],
        noise: npt.ArrayLike,
        *,
        components: Sequence[str] | None = None,
        mount: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> str:
        """Adds a sensor of landmarks: h(z) gives (d,) and jacobian(z) gives (d, 2), for a landmark at z = (x, y) m in the
        sensor frame; noise is R, (d, d), d from 1 to 3. `components` are "linear", "range", "bearing" or "angle". Gives
        its kind, for `correct`."""
    def predict(
        self, motion: tuple[float, float, float], covariance: npt.ArrayLike, duration: float = 0.0
    ) -> None:
        """Moves the state along (x m, y m, theta rad), seen from the base before, with its (3, 3) covariance."""
    def predict_twist(self, twist: tuple[float, float, float], duration: float) -> None:
        """Moves the state along a constant twist (m/s, m/s, rad/s) for `duration` s, with the noise of the settings."""
    def correct(
        self,
        values: npt.ArrayLike,
        ids: Sequence[int] | None = None,
        *,
        kind: str = "range_bearing",
        covariance: npt.ArrayLike | None = None,
    ) -> Correction:
        """Takes in n measurements at the pose of now: values (n, d), ids (n,) with -1 for unknown, covariance
        (n, d, d)."""
    @property
    def pose(self) -> Floats:
        """(3,): x m, y m, theta rad in (−π, π]."""
    @property
    def pose_covariance(self) -> Floats:
        """(3, 3) of (x, y, theta) in the map."""
    @property
    def mean(self) -> Floats:
        """(n,): the estimate; `blocks` says what its numbers are."""
    @property
    def covariance(self) -> Floats:
        """(n, n): the joint covariance of `mean`."""
    @property
    def blocks(self) -> dict[str, slice]:
        """The slices of `mean` by name: "pose", "landmark:7", and the calibration parameters."""
    @property
    def time(self) -> float:
        """The seconds that predictions have taken."""

def resumed_kalman_filter(
    state: bytes,
    added: Sequence[
        tuple[
            Callable[[Floats], npt.ArrayLike],
            Callable[[Floats], npt.ArrayLike],
            Sequence[float],
            Sequence[str],
            tuple[float, float, float],
        ]
    ],
) -> KalmanFilter:
    """A filter that goes on where another was copied or pickled."""

class Correction:
    """What a correction did."""

    @property
    def nis(self) -> float:
        """Normalised innovation squared of all measurements that were used."""
    @property
    def dof(self) -> int:
        """Its degrees of freedom."""
    @property
    def accepted(self) -> int:
        """Measurements used."""
    @property
    def added(self) -> int:
        """Measurements that initialized a landmark."""
    @property
    def refused(self) -> dict[str, int]:
        """Measurements left out, by reason."""
    @property
    def innovation(self) -> Floats:
        """(dof,): y - h(x) of the measurements that were used."""
    @property
    def innovation_covariance(self) -> Floats:
        """(dof, dof): its covariance S = H P H^T + R."""
    @property
    def landmarks(self) -> Integers:
        """(n,): the landmarks of the measurements that were associated; -1 for the pose."""
    @property
    def decisions(self) -> list[str]:
        """(n,): what the filter did with each of them: "initialized", "used", "gated" or "held"."""
    @property
    def used(self) -> list[tuple[int | None, int, int]]:
        """Of each measurement that was used: its landmark, None for one of the pose, and where its numbers are."""

class Slam:
    def __new__(cls, settings: _Settings = None, *, map: str | os.PathLike[str] | None = None) -> Slam: ...
    def odometry(
        self,
        stamp_ns: int,
        vx: float,
        vy: float = 0.0,
        yaw_rate: float = 0.0,
        covariance: npt.ArrayLike | None = None,
    ) -> str | None:
        """Takes in a velocity of the base: forward m/s, leftward m/s, rad/s, with its (3, 3) covariance where it is
        known. Gives None, or the word for why it was not used; that is counted in `dropped`."""
    def imu(self, stamp_ns: int, yaw_rate: float, tilt: tuple[float, float] | None = None) -> str | None:
        """Takes in a rate of the heading, rad/s, and (roll, pitch) rad where they are known."""
    def features(
        self,
        stamp_ns: int,
        values: npt.ArrayLike,
        ids: npt.ArrayLike | None = None,
        *,
        kind: str = "range_bearing",
        covariance: npt.ArrayLike | None = None,
    ) -> str | None:
        """Takes in a cloud of n readings: values (n, d), ids (n,) with -1 for unknown, covariances (n, d, d). `kind` is
        "range_bearing" (m, rad), "position" (m, m), "stereo_bearings" (rad, rad), "range" (m) or "bearing" (rad), of
        landmarks; or "world_position" (m, m) or "world_pose" (m, m, rad), of the robot in the world."""
    def poll(self) -> Step | None:
        """The next step that is due; None where there is none."""
    def decisions(self) -> Decisions:
        """What the filter did with each measurement of the steps that the last `poll` or `run` has made."""
    def finish(self) -> None:
        """The input has ended: clouds that still wait for odometry are released."""
    def run_arrays(self, arrays: Mapping[str, Any], finish: bool) -> Steps: ...
    def run_recording(self, recording: Recording, finish: bool) -> Steps: ...
    def predicted(self) -> Pose | None:
        """The pose at the newest odometry; None before any."""
    def landmarks(self) -> Landmarks:
        """The map."""
    def calibration(self) -> dict[str, tuple[float, float]]:
        """What is calibrated while running: estimate and standard deviation, by name."""
    @property
    def dropped(self) -> dict[str, int]:
        """How often input was not used, by reason."""
    @property
    def gate_openings(self) -> int:
        """How often the gate was opened because it had starved the filter."""
    @property
    def late_clouds(self) -> int:
        """How many clouds came late and were taken in by going back (timing.rewind_s)."""
    @property
    def time_jumps(self) -> int:
        """How often time was set back."""
    def settings_json(self) -> str: ...
    def reconfigure(self, settings: Mapping[str, Any] | str | os.PathLike[str]) -> None:
        """Changes settings that may change while running."""
    def set_pose(
        self, x: float, y: float, theta: float, covariance: npt.ArrayLike | None = None
    ) -> str | None:
        """Puts the robot at a pose, m, m, rad, with its (3, 3) covariance; None is exact. A map that is being made
        moves with it."""
    def reset(self) -> None:
        """Begins anew: the initial pose, and an empty map."""
    def save(self) -> bytes:
        """All that `resume` needs to go on from here."""
    def restore(self, state: bytes) -> None:
        """Goes on where `save` was called; what this filter has estimated is forgotten."""
    def save_map(self, path: str | os.PathLike[str]) -> None:
        """Writes the map as a file, with the state of the filter beside it: slam_node can go on from there."""

_Pose = npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike]

class Step3d:
    """The result of an instant: a frame, a velocity, a pose, or an instant that was asked for."""

    @property
    def stamp_ns(self) -> int:
        """When, ns."""
    @property
    def pose(self) -> Floats:
        """(4, 4): the body in the map, [R t; 0 1], m."""
    @property
    def position(self) -> Floats:
        """(3,): of the body in the map, m."""
    @property
    def orientation(self) -> Floats:
        """(4,): quaternion x, y, z, w, from the body to the map."""
    @property
    def covariance(self) -> Floats:
        """(6, 6): of the position, m, then of a small rotation about the axes of the map, rad."""
    @property
    def velocity(self) -> Floats:
        """(3,), m/s, in the map."""
    @property
    def gyro_bias(self) -> Floats:
        """(3,), rad/s, in the axes of the body."""
    @property
    def accelerometer_bias(self) -> Floats:
        """(3,), m/s², in the axes of the body."""
    @property
    def has_frame(self) -> bool:
        """Whether features came in."""
    @property
    def is_at_rest(self) -> bool:
        """Whether the body was taken to be at rest."""
    @property
    def nis(self) -> float:
        """Normalized innovation squared of all accepted measurements together."""
    @property
    def dof(self) -> int:
        """Its degrees of freedom."""
    @property
    def accepted(self) -> int:
        """Measurements used."""
    @property
    def gated(self) -> int:
        """Measurements beyond the gate."""
    @property
    def initialized(self) -> int:
        """Landmarks that were initialized."""
    @property
    def removed(self) -> int:
        """Landmarks that were removed, because their measurements failed the gate again and again."""
    @property
    def is_widened(self) -> bool:
        """Whether the covariance was widened, because most measurements were beyond the gate."""
    @property
    def landmarks(self) -> int:
        """Landmarks in the state after the step."""
    @property
    def ids(self) -> Integers:
        """(k,): the landmark of each measurement of the frame."""
    @property
    def decisions(self) -> list[str]:
        """What the filter did with each of them: "used", "gated", "initialized", "waiting" or "unseen", or the reason for
        which it was left out, as in `dropped`."""
    @property
    def distances(self) -> Floats:
        """(k,): squared Mahalanobis distance of each from its expectation before the update, or NaN."""

class Slam3d:
    def __new__(cls, settings: _Settings = None, *, map: Any = None) -> Self: ...
    def set_sensor(
        self,
        number: int = 0,
        *,
        pose: _Pose | None = None,
        focal: tuple[float, float] | None = None,
        centre: tuple[float, float] = (0.0, 0.0),
        baseline_m: float = 0.0,
        pixel_std: tuple[float, float] | None = None,
        common_pixel_std: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """States where sensor `number`, 0 … 15, is on the body (`pose`, x_body = R x_sensor + t, m), and how it is read:
        focal lengths (f_x, f_y) px and centre (c_x, c_y) px of a pinhole camera without distortion, or of the left one of
        a rectified pair whose right one is at (baseline_m, 0, 0) m; axes x right, y down, z forward. `pixel_std` (u, v) px
        is what each image has alone, `common_pixel_std` what both have in common."""
    def set_base(self, pose: _Pose) -> None:
        """States where the frame is on the body whose position and heading `start` in the settings gives."""
    def begin(
        self,
        stamp_ns: int,
        pose: _Pose,
        velocity: npt.ArrayLike,
        std: tuple[float, float, float, float, float],
    ) -> str | None:
        """Begins in motion, at a pose and a velocity (3,) m/s in the map, with standard deviations of rotation rad,
        velocity m/s, position m, and of the biases rad/s and m/s²."""
    def imu(self, stamp_ns: int, angular_velocity: npt.ArrayLike, specific_force: npt.ArrayLike) -> str | None:
        """Takes in a sample of the inertial sensor: (3,) rad/s and (3,) m/s², in its own axes. Gives None, or the word for
        why it was not used; that is counted in `dropped`."""
    def features(
        self,
        stamp_ns: int,
        values: npt.ArrayLike,
        ids: Sequence[int] | Integers,
        *,
        kind: str = "pixel",
        sensor: int = 0,
        covariance: npt.ArrayLike | None = None,
    ) -> str | None:
        """Takes in a frame of n features of one sensor: values (n, d), ids (n,), covariance (n, 3, 3) m² of positions,
        (n, 1, 1) m² of ranges or rad² of bearings. `kind` is "pixel" (u, v) px, "normalized" (x/z, y/z), "stereo"
        (u_l, v_l, u_r, v_r) px, "position" (x, y, z) m, "range" m, or "bearing", a vector (x, y, z) of any length."""
    def odometry(
        self,
        stamp_ns: int,
        velocity: npt.ArrayLike,
        covariance: npt.ArrayLike | None = None,
        *,
        mount: _Pose | None = None,
    ) -> str | None:
        """Takes in a velocity (3,) m/s in the axes of the wheels' frame, which is at `mount` on the body, with its (3, 3)
        covariance m²/s² where that is known."""
    def absolute_pose(self, stamp_ns: int, pose: _Pose, covariance: npt.ArrayLike) -> str | None:
        """Takes in a pose of the body in the map that another source measures, with its (6, 6) covariance: position, m,
        then rotation about the axes of the map, rad. It passes the gate as every measurement."""
    def instant(self, stamp_ns: int) -> str | None:
        """Asks for a step at an instant, ns."""
    def poll(self) -> Step3d | None:
        """The next step that is due; None where there is none."""
    def finish(self) -> None:
        """The input has ended: frames that wait for those of other cameras are due."""
    def run_arrays(self, arrays: Mapping[str, Any], mount: _Pose | None, finish: bool) -> Steps3d: ...
    def equip(self, recording: Recording3d) -> None:
        """Sets the cameras and the start of a recording."""
    def predicted(self) -> Pose3d | None:
        """The estimate at the newest sample of the inertial sensor; None before the start."""
    @property
    def quality(self) -> str:
        """How good the pose is: "ok", "wide", "lost" or "starting"."""
    @property
    def start_problem(self) -> str | None:
        """A sentence about samples that no start can be made of, while the filter waits for its start: an inertial sensor in g."""
    def landmarks(self) -> Landmarks3d:
        """The landmarks of the state, each with its own covariance."""
    def map(self) -> Map3d:
        """The landmarks with their joint covariance."""
    def load_map(self, map: Any) -> None:
        """Takes a map, or the path of one: its landmarks replace those of the state."""
    def map_json(self) -> str:
        """The map as text."""
    @property
    def dropped(self) -> dict[str, int]:
        """How often input was not used, by reason."""
    @property
    def time_jumps(self) -> int:
        """How often time was set back."""
    @property
    def widened(self) -> int:
        """How often the covariance was widened, because most measurements were beyond the gate."""
    def settings_json(self) -> str: ...
    def set_pose(self, pose: _Pose, covariance: npt.ArrayLike) -> str | None:
        """Puts the body at a pose with its (6, 6) covariance: before the start, or later. A map that is being made moves
        with it; of the rotation, the heading counts."""
    def reset(self) -> None:
        """Forgets the estimate; settings, sensors and the known map stay."""
    def save(self) -> bytes:
        """All that `resume` needs to go on from here."""
    def restore(self, state: bytes) -> None:
        """Goes on where `save` was called; what this filter has estimated is forgotten."""

class Recording3d:
    @property
    def name(self) -> str: ...
    @property
    def dropped(self) -> dict[str, int]: ...
    @property
    def warnings(self) -> list[str]: ...
    def settings_json(self) -> str: ...
    def imu(self) -> Imu3d: ...
    def features(self) -> Features3d: ...
    def truth(self) -> Truth3d: ...
    def true_landmarks(self) -> tuple[Integers, Floats]: ...
    def to_bag(self, path: str | os.PathLike[str], replace: bool) -> int: ...
    def sensors(self) -> list[dict[str, Any]]: ...

class Evaluation3d:
    def __len__(self) -> int: ...
    def text(self) -> str: ...
    def json(self, which: int | None = None) -> str: ...
    def write(self, path: str | os.PathLike[str]) -> None: ...
    def steps(self, which: int) -> Poses3d: ...
    def errors(self, which: int) -> Errors3d: ...

def is_in_space(source: str) -> bool: ...
def open_in_space(source: str) -> Recording3d: ...
def simulate_in_space(given: _Scenario, seed: int | None, settings: Sequence[tuple[str, str]]) -> Recording3d: ...
def scenario_names_in_space() -> list[str]: ...
def evaluate_in_space(
    recording: Recording3d, filters: Sequence[str], has_map: bool, map_std_m: float | None
) -> Evaluation3d: ...

class Recording:
    @property
    def name(self) -> str: ...
    @property
    def dropped(self) -> dict[str, int]: ...
    @property
    def warnings(self) -> list[str]: ...
    def settings_json(self) -> str | None: ...
    def __len__(self) -> int: ...
    def odometry(self) -> Odometry: ...
    def imu(self) -> Imu: ...
    def features(self) -> Features: ...
    def order(self) -> Integers: ...
    def truth(self) -> tuple[Integers, Floats]: ...
    def true_landmarks(self) -> tuple[Integers, Floats]: ...
    def to_bag(self, path: str | os.PathLike[str], replace: bool) -> int: ...
    def rest(self) -> dict[str, Any]: ...
    def with_rest(self, rest: Mapping[str, Any]) -> Recording: ...
    def harder(self, every: int, clutter: int, clutter_seed: int, ignore_ids: bool) -> Recording: ...

class Evaluation:
    def __len__(self) -> int: ...
    def text(self) -> str: ...
    def json(self, which: int | None = None) -> str: ...
    def write(self, path: str | os.PathLike[str]) -> None: ...
    def steps(self, which: int) -> Steps: ...
    def errors(self, which: int) -> Errors: ...
    def landmarks(self, which: int) -> Landmarks: ...
    def step_us(self, which: int) -> Floats: ...

class Experiment:
    def __new__(
        cls,
        given: _Scenario,
        filters: Sequence[str],
        settings: Sequence[tuple[str, str]],
        filter_settings: Sequence[tuple[str, str]],
        runs: int,
        seed: int,
    ) -> Experiment: ...
    @staticmethod
    def from_spec(spec: str) -> Experiment: ...
    def spec(self) -> str: ...
    @property
    def runs(self) -> int: ...
    def run(self, threads: int) -> Outcome: ...
    def run_some(self, runs: Sequence[int], threads: int) -> list[str]: ...
    def merge(self, lines: Sequence[str]) -> Outcome: ...

class Outcome:
    def text(self, times: bool) -> str: ...
    def json(self, times: bool) -> str: ...
    def write(self, path: str | os.PathLike[str], times: bool) -> None: ...
    def filters(self) -> list[str]: ...
    def steps(self, which: int) -> RunMeans: ...
    def runs(self, which: int) -> dict[str, Floats]: ...

class Attitude:
    def __new__(cls, settings: _Settings = None) -> Attitude: ...
    def save(self) -> bytes:
        """All that `restore` needs to go on from here."""
    def restore(self, state: bytes) -> None:
        """Goes on where `save` was called, to the last bit; its settings are those of the state."""
    def imu(
        self, stamp_ns: int, angular_velocity: npt.ArrayLike, specific_force: npt.ArrayLike
    ) -> str | None:
        """Takes in a sample: rad/s (3,), m/s² (3,), in the body frame. Gives None, or why it was not used."""
    def magnetic_field(self, stamp_ns: int, field: npt.ArrayLike) -> str | None:
        """Takes in a magnetic field (3,) in any unit, in the body frame."""
    def run(
        self,
        stamp_ns: npt.ArrayLike,
        angular_velocity: npt.ArrayLike,
        specific_force: npt.ArrayLike,
        field_stamp_ns: npt.ArrayLike | None = None,
        field: npt.ArrayLike | None = None,
    ) -> Attitudes:
        """Takes arrays of samples, (n,) ns, (n, 3) rad/s, (n, 3) m/s², with magnetic fields in between by their stamps:
        the estimate after each sample."""
    def estimate(self) -> AttitudeEstimate | None:
        """The estimate at the newest sample; None before any."""
    def set_orientation(self, orientation: npt.ArrayLike, std_rad: float) -> str | None:
        """Puts the body to an orientation, quaternion (x, y, z, w), with the standard deviation of each axis."""
    @property
    def dropped(self) -> dict[str, int]:
        """How often input was not used, by reason."""
    def reset(self) -> None:
        """Begins anew."""

def open_recording(source: str, topics: Mapping[str, str | None]) -> Recording: ...
def simulate(
    given: _Scenario, seed: int | None, settings: Sequence[tuple[str, str]]
) -> Recording: ...
def recording_of_arrays(
    arrays: Mapping[str, Any],
    name: str,
    truth: tuple[Integers, Floats] | None,
    true_landmarks: tuple[Integers, Floats] | None,
    settings: _Settings,
) -> Recording: ...
def evaluate(
    recording: Recording,
    filters: Sequence[str],
    settings: _Settings,
    map: str | os.PathLike[str] | None,
    map_std_m: float,
    max_truth_gap_s: float | None,
) -> Evaluation: ...
class Judgement:
    """A judged estimate."""

    def json(self) -> str:
        """The report, as the command line prints it."""
    def text(self) -> str:
        """The table."""
    def stamp_ns(self) -> Integers:
        """(n,) int64: the stamps of the poses that have a truth, ns."""
    def error(self) -> Floats:
        """(n, 6): estimate − truth, m and rad about fixed axes."""
    def nees(self) -> Floats:
        """(n, 3): NEES of position, orientation and pose."""

def judge(
    estimate: tuple[str | None, Any, Any],
    truth: tuple[str | None, Any, Any],
    covariance: npt.ArrayLike | None,
    options: Mapping[str, Any],
) -> Judgement: ...
def filter_names() -> list[str]: ...
def scenario_names() -> list[str]: ...
def merge_shards(paths: Sequence[str | os.PathLike[str]]) -> Outcome: ...
def evaluate_attitude(
    source: str, settings: _Settings, first_orientation: bool, bias_window_s: float, imu_topic: str | None
) -> tuple[str, str]: ...
def lie(group: str, operation: str, a: npt.ArrayLike, b: npt.ArrayLike | None = None) -> Floats: ...
