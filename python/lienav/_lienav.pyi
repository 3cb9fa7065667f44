"""The compiled part of lienav; `lienav` is its face."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

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
