"""Arrays that go into lienav and come out of it. Units are SI; stamps are whole nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._errors import Error, WrongCall, WrongType

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_MOST_SECONDS = 2.0**63 / 1e9
# How many numbers a measurement of each kind has.
_NUMBERS = {
    "range_bearing": 2,
    "position": 2,
    "stereo_bearings": 2,
    "range": 1,
    "bearing": 1,
    "world_position": 2,
    "world_pose": 3,
}


def to_ns(seconds: npt.ArrayLike) -> Any:
    """Seconds as whole nanoseconds, int64: what stamps are. A scalar gives an int.

    >>> to_ns(1.5)
    1500000000
    """
    given = as_floats(seconds, "seconds")
    fits = np.abs(given) < _MOST_SECONDS
    if not fits.all():
        first = given[~fits].flat[0]
        most = f"{_MOST_SECONDS:.4g} s, as 64 bits of nanoseconds hold"
        raise WrongCall(f"seconds has {first}; expected finite numbers of up to {most}")
    rounded = np.rint(given * 1e9).astype(np.int64)
    return int(rounded) if rounded.ndim == 0 else rounded


def as_floats(given: Any, name: str) -> Floats:
    """Numbers as float64; `name` is that of the argument."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise WrongType(f"{name} is no array of numbers: {error}") from None


def as_integers(given: Any, name: str) -> Integers:
    """Whole numbers as int64. Floats are refused, unless they are empty: they would lose nanoseconds."""
    array = np.asarray(given)
    if array.size and array.dtype.kind not in "iu":
        kind, is_stamp = array.dtype, "stamp" in name
        remedy = ": lienav.to_ns(seconds) makes them" if is_stamp else ""
        raise WrongType(f"{name} is an array of {kind}; expected whole numbers{remedy}")
    return np.ascontiguousarray(array, dtype=np.int64)


def wrapped(angle: Floats) -> Floats:
    """Angles in (−π, π], rad; those that are there already keep every bit."""
    inside = (angle > -np.pi) & (angle <= np.pi)
    turned = np.mod(angle, 2.0 * np.pi)
    return np.where(inside, angle, np.where(turned > np.pi, turned - 2.0 * np.pi, turned))


def _shaped(name: str, array: npt.NDArray[Any], *shapes: tuple[int | str, ...]) -> None:
    """Refuses an array that has none of these shapes; a size in words is free."""

    def fits(shape: tuple[int | str, ...]) -> bool:
        return len(shape) == array.ndim and all(isinstance(m, str) or n == m for n, m in zip(array.shape, shape))

    if not any(map(fits, shapes)):
        words = " or ".join(str(shape).replace("'", "") for shape in shapes)
        raise WrongCall(f"{name} has the shape {array.shape}; expected: {words}")


def seconds_since_first(stamp_ns: Integers) -> Floats:
    """Seconds since the first of these stamps."""
    since: Integers = stamp_ns - stamp_ns[:1] if len(stamp_ns) else stamp_ns
    return since.astype(np.float64) * 1e-9


def pandas_module() -> Any:
    """pandas, where it is installed."""
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise Error("pandas is not installed; `pip install pandas` gives frames") from None
    return pandas


class _ByContent:
    """Two are the same if all their numbers are; not-a-number is the same as itself."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_is_same(getattr(self, of.name), getattr(other, of.name)) for of in fields(self))  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


class _Frame(_ByContent):
    """Columns for pandas: a matrix becomes one column for each of its numbers."""

    def to_frame(self) -> pandas.DataFrame:
        """The arrays as a pandas frame, a row for each stamp; `time_s` is counted from the first."""
        columns: dict[str, Any] = {}
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if not isinstance(value, np.ndarray):
                continue
            names = _NAMES.get((one.name, value.shape[1:]))
            if value.ndim == 1:
                columns[one.name] = value
            elif names is not None:
                flat = value.reshape(len(value), -1)
                columns.update({name: flat[:, k] for k, name in names})
        if "stamp_ns" in columns and len(columns["stamp_ns"]):
            columns = {"time_s": seconds_since_first(columns["stamp_ns"]), **columns}
        return pandas_module().DataFrame(columns)


_UPPER = [(0, "xx"), (1, "xy"), (2, "xyaw"), (4, "yy"), (5, "yyaw"), (8, "yawyaw")]
_NAMES: dict[tuple[str, tuple[int, ...]], list[tuple[int, str]]] = {
    ("pose", (3,)): [(0, "x_m"), (1, "y_m"), (2, "yaw_rad")],
    ("truth", (3,)): [(0, "true_x_m"), (1, "true_y_m"), (2, "true_yaw_rad")],
    ("error", (3,)): [(0, "error_x_m"), (1, "error_y_m"), (2, "error_yaw_rad")],
    ("std", (3,)): [(0, "std_x_m"), (1, "std_y_m"), (2, "std_yaw_rad")],
    ("twist", (3,)): [(0, "vx_m_s"), (1, "vy_m_s"), (2, "yaw_rate_rad_s")],
    ("covariance", (3, 3)): [(k, f"cov_{name}") for k, name in _UPPER],
    ("covariance", (2, 2)): [(0, "cov_xx"), (1, "cov_xy"), (3, "cov_yy")],
    ("position", (2,)): [(0, "x_m"), (1, "y_m")],
    ("nees_band", (2,)): [(0, "nees_band_low"), (1, "nees_band_high")],
    ("orientation", (4,)): [(0, "qx"), (1, "qy"), (2, "qz"), (3, "qw")],
    ("gyro_bias", (3,)): [(0, "bias_x_rad_s"), (1, "bias_y_rad_s"), (2, "bias_z_rad_s")],
}


@dataclass(frozen=True, eq=False)
class Odometry(_Frame):
    """Velocities of the base, in the base frame: x forward, y left (REP 103).

    - `stamp_ns`: (n,) int64: when each was measured, ns.
    - `twist`: (n, 3): forward velocity m/s, leftward velocity m/s, yaw rate rad/s.
    - `covariance`: (n, 3, 3) of the twist, m²/s², m·rad/s² and rad²/s², or None: as `motion` in the settings says.
      Rows of NaN are as None.
    """

    stamp_ns: Integers
    twist: Floats
    covariance: Floats | None = None


@dataclass(frozen=True, eq=False)
class Imu(_Frame):
    """Rates of the heading, which replace those of the odometry while they are fresh.

    - `stamp_ns`: (n,) int64, ns.
    - `yaw_rate`: (n,): about the vertical, rad/s.
    - `tilt`: (n, 2): roll and pitch of the base, rad, or None.
    """

    stamp_ns: Integers
    yaw_rate: Floats
    tilt: Floats | None = None


@dataclass(frozen=True, eq=False)
class Features(_ByContent):
    """Clouds of readings: what a sensor saw at one instant each. Cloud k has the readings first[k] … first[k + 1].

    - `stamp_ns`: (m,) int64: of each cloud, ns.
    - `first`: (m + 1,) int64: where the readings of each cloud begin; the last one is n. A cloud may be empty.
    - `ids`: (n,) int64: which landmark each reading is of; -1 is unknown.
    - `values`: (n, 2): (range m, bearing rad), or (x, y) m, or (left bearing, right bearing) rad, in the sensor
      frame. Of kinds of one number the first column counts; of "world_pose", (x m, y m, yaw rad), there are three.
    - `kind`: What the values are: "range_bearing", "position", "stereo_bearings", "range", "bearing",
      "world_position" or "world_pose"; one for all clouds, or one for each.
    - `covariance`: (n, 2, 2) of the values, in the squares of their units, as many rows and columns as those have
      columns, or None: as `sensor` in
      the settings says.
    - `label`: (n, 3): class, diameter m, its standard deviation m; 0 is unknown. Or None.
    - `height_m`: (n,): height above the base, m, of kind "position". Or None.
    """

    stamp_ns: Integers
    first: Integers
    ids: Integers
    values: Floats
    kind: Sequence[str] = ("range_bearing",)
    covariance: Floats | None = None
    label: Floats | None = None
    height_m: Floats | None = None

    @classmethod
    def of_readings(
        cls,
        stamp_ns: npt.ArrayLike,
        values: npt.ArrayLike,
        ids: npt.ArrayLike | None = None,
        *,
        kind: str = "range_bearing",
        covariance: npt.ArrayLike | None = None,
    ) -> Features:
        """Measurements with a stamp each, (n,) ns: successive ones with the same stamp are a scan.

        `values` is (n, d), with the d numbers of a measurement of this kind (of one number, (n,) will do), `ids` is
        (n,), and `covariance` is (n, d, d).
        """
        if kind not in _NUMBERS:
            raise WrongCall(f"kind is {kind!r}; allowed: {' | '.join(_NUMBERS)}")
        stamps, d = as_integers(stamp_ns, "stamp_ns"), _NUMBERS[kind]
        _shaped("stamp_ns", stamps, ("n",))
        n = len(stamps)
        numbers = as_floats(values, "values")
        if n == 0 and numbers.size == 0:
            numbers = numbers.reshape(0, d)
        if d == 1 and numbers.ndim == 1:
            numbers = numbers[:, None]
        # Of kinds of one number the first column counts.
        _shaped("values", numbers, *((n, width) for width in ((1, 2) if d == 1 else (d,))))
        starts = np.flatnonzero(np.r_[True, stamps[1:] != stamps[:-1]]) if n else np.zeros(0, np.int64)
        known = np.full(n, -1, np.int64) if ids is None else as_integers(ids, "ids")
        _shaped("ids", known, (n,))
        width = numbers.shape[1]
        matrices = None if covariance is None else as_floats(covariance, "covariance")
        if matrices is not None:
            _shaped("covariance", matrices, (n, width, width))
        return cls(stamps[starts], np.r_[starts, n].astype(np.int64), known, numbers, (kind,), matrices)

    def to_frame(self) -> pandas.DataFrame:
        """The readings as a pandas frame, a row for each."""
        stamps = np.repeat(self.stamp_ns, np.diff(self.first))
        columns: dict[str, Any] = {"time_s": seconds_since_first(stamps), "stamp_ns": stamps, "id": self.ids}
        columns.update({f"value_{k}": self.values[:, k] for k in range(self.values.shape[1])})
        return pandas_module().DataFrame(columns)


class _Estimates(_Frame):
    """Frames with a row for each stamp."""

    stamp_ns: Integers

    def __len__(self) -> int:
        return len(self.stamp_ns)

    @property
    def time_s(self) -> Floats:
        """(n,): seconds since the first."""
        return seconds_since_first(self.stamp_ns)


@dataclass(frozen=True, eq=False)
class Steps(_Estimates):
    """Estimates, one for each stamp of clouds.

    - `stamp_ns`: (n,) int64, ns.
    - `pose`: (n, 3): x m, y m, θ rad in (−π, π] of the base in the map frame.
    - `covariance`: (n, 3, 3) of (x, y, θ) in the map frame, m², m·rad and rad².
    - `nis`: (n,): normalised innovation squared of all accepted readings together; NaN where it is not known.
    - `dof`: (n,) int64: its degrees of freedom.
    - `accepted`: (n,) int64: readings used.
    - `added`: (n,) int64: readings of new landmarks.
    - `rejected`: (n,) int64: readings left out.
    """

    stamp_ns: Integers
    pose: Floats
    covariance: Floats
    nis: Floats
    dof: Integers
    accepted: Integers
    added: Integers
    rejected: Integers


@dataclass(frozen=True, eq=False)
class Errors(_Estimates):
    """Estimates beside the truth, where it is known.

    - `stamp_ns`: (n,) int64, ns.
    - `pose`: (n, 3): x m, y m, θ rad in (−π, π], estimated.
    - `truth`: (n, 3): x m, y m, θ rad in (−π, π], true.
    - `error`: (n, 3): estimate − truth, m, m, rad; the heading's is wrapped to (−π, π].
    - `std`: (n, 3): standard deviations that the filter claims, m, m, rad.
    - `nees`: (n,): normalised estimation error squared of (x, y, θ); NaN where the covariance is singular. 3 is
      right.
    - `group_nees`: (n,): the NEES in the coordinates ξ of the group, X_true = Exp(ξ)X̂.
    """

    stamp_ns: Integers
    pose: Floats
    truth: Floats
    error: Floats
    std: Floats
    nees: Floats
    group_nees: Floats


@dataclass(frozen=True, eq=False)
class Decisions(_Frame):
    """What a filter did with measurements.

    - `stamp_ns`: (n,) int64: of their scans, ns.
    - `landmark`: (n,) int64: the landmark that each was taken for; -1 for a measurement of the pose.
    - `decision`: (n,) str: whether it was "initialized", "used", "gated" or "held". What was left out before it could be
      associated is counted in `dropped` alone.
    """

    stamp_ns: Integers
    landmark: Integers
    decision: npt.NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.stamp_ns)


@dataclass(frozen=True, eq=False)
class Landmarks(_Frame):
    """A map.

    - `ids`: (n,) int64.
    - `position`: (n, 2): x, y in the map frame, m.
    - `covariance`: (n, 2, 2), m².
    - `observations`: (n,) int64: how many readings went into each.
    - `last_seen_ns`: (n,) int64: when each was last seen, ns.
    """

    ids: Integers
    position: Floats
    covariance: Floats
    observations: Integers
    last_seen_ns: Integers

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Pose(_ByContent):
    """A pose at one instant.

    - `stamp_ns`: ns.
    - `pose`: (3,): x m, y m, θ rad in (−π, π].
    - `covariance`: (3, 3) of (x, y, θ), m², m·rad and rad².
    - `twist`: (3,): forward m/s, leftward m/s, yaw rate rad/s.
    """

    stamp_ns: int
    pose: Floats
    covariance: Floats
    twist: Floats


@dataclass(frozen=True, eq=False)
class RunMeans(_Frame):
    """One filter at each step, over the runs of a Monte Carlo.

    - `stamp_ns`: (n,) int64, ns.
    - `position_error_mean_m`: (n,): mean position error, m.
    - `position_rmse_m`: (n,): root of the mean square position error, m.
    - `yaw_error_mean_rad`: (n,): mean yaw error, rad.
    - `yaw_rmse_rad`: (n,): root of the mean square yaw error, rad.
    - `nees_mean`: (n,): mean NEES of (x, y, θ); 3 is right.
    - `nees_band`: (n, 2): 95 % of a consistent filter's means are between these.
    - `group_nees_mean`: (n,): mean NEES in the group's coordinates.
    """

    stamp_ns: Integers
    position_error_mean_m: Floats
    position_rmse_m: Floats
    yaw_error_mean_rad: Floats
    yaw_rmse_rad: Floats
    nees_mean: Floats
    nees_band: Floats
    group_nees_mean: Floats

    @property
    def time_s(self) -> Floats:
        """(n,): seconds since the first."""
        return seconds_since_first(self.stamp_ns)


@dataclass(frozen=True, eq=False)
class Attitudes(_Estimates):
    """Orientations, one for each inertial sample; NaN before the first that could be used.

    - `stamp_ns`: (n,) int64, ns.
    - `orientation`: (n, 4): quaternion (x, y, z, w), from the body frame to the world frame, z up.
    - `orientation_covariance`: (n, 3, 3): of small rotations about the world's axes, rad².
    - `gyro_bias`: (n, 3): rad/s.
    - `at_rest`: (n,): whether the sensor is at rest.
    """

    stamp_ns: Integers
    orientation: Floats
    orientation_covariance: Floats
    gyro_bias: Floats
    at_rest: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class AttitudeEstimate(_ByContent):
    """An orientation at one instant.

    - `stamp_ns`: ns.
    - `orientation`: (4,): quaternion (x, y, z, w), from the body frame to the world frame, z up.
    - `orientation_covariance`: (3, 3): of small rotations about the world's axes, rad².
    - `angular_velocity`: (3,): without its bias, rad/s.
    - `gyro_bias`: (3,): rad/s.
    - `gyro_bias_covariance`: (3, 3), rad²/s².
    - `at_rest`: whether the sensor is at rest.
    """

    stamp_ns: int
    orientation: Floats
    orientation_covariance: Floats
    angular_velocity: Floats
    gyro_bias: Floats
    gyro_bias_covariance: Floats
    at_rest: bool = field(default=False)
