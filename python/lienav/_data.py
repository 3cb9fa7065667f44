"""Arrays that go into lienav and come out of it. Units are SI; stamps are whole nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._errors import Error

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def to_ns(seconds: npt.ArrayLike) -> Any:
    """Seconds as whole nanoseconds, int64: what stamps are. A scalar gives an int.

    >>> to_ns(1.5)
    1500000000
    """
    rounded = np.rint(np.asarray(seconds, dtype=np.float64) * 1e9).astype(np.int64)
    return int(rounded) if rounded.ndim == 0 else rounded


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


class _Frame:
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


@dataclass(frozen=True)
class Odometry(_Frame):
    """Velocities of the base, in the base frame: x forward, y left (REP 103)."""

    stamp_ns: Integers
    """(n,) int64: when each was measured, ns."""
    twist: Floats
    """(n, 3): forward velocity m/s, leftward velocity m/s, yaw rate rad/s."""
    covariance: Floats | None = None
    """(n, 3, 3) of the twist, or None: as `motion` in the settings says. Rows of NaN are as None."""


@dataclass(frozen=True)
class Imu(_Frame):
    """Rates of the heading, which replace those of the odometry while they are fresh."""

    stamp_ns: Integers
    """(n,) int64, ns."""
    yaw_rate: Floats
    """(n,): about the vertical, rad/s."""
    tilt: Floats | None = None
    """(n, 2): roll and pitch of the base, rad, or None."""


@dataclass(frozen=True)
class Features:
    """Clouds of readings: what a sensor saw at one instant each. Cloud k has the readings first[k] … first[k + 1]."""

    stamp_ns: Integers
    """(m,) int64: of each cloud, ns."""
    first: Integers
    """(m + 1,) int64: where the readings of each cloud begin; the last one is n. A cloud may be empty."""
    ids: Integers
    """(n,) int64: which landmark each reading is of; -1 is unknown."""
    values: Floats
    """(n, 2): (range m, bearing rad), or (x, y) m, or (left bearing, right bearing) rad, in the sensor frame. Of kinds of
    one number the first column counts; of "world_pose", (x m, y m, yaw rad), there are three."""
    kind: Sequence[str] = ("range_bearing",)
    """What the values are: "range_bearing", "position", "stereo_bearings", "range", "bearing", "world_position" or
    "world_pose"; one for all clouds, or one for each."""
    covariance: Floats | None = None
    """(n, 2, 2) of the values, as many rows and columns as those have columns, or None: as `sensor` in the settings
    says."""
    label: Floats | None = None
    """(n, 3): class, diameter m, its standard deviation m; 0 is unknown. Or None."""

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
        """Readings with a stamp each, (n,): successive ones with the same stamp are a cloud."""
        stamps = np.asarray(stamp_ns, dtype=np.int64)
        starts = np.flatnonzero(np.r_[True, stamps[1:] != stamps[:-1]]) if len(stamps) else np.zeros(0, np.int64)
        return cls(
            stamps[starts],
            np.r_[starts, len(stamps)].astype(np.int64),
            np.full(len(stamps), -1, np.int64) if ids is None else np.asarray(ids, dtype=np.int64),
            np.asarray(values, dtype=np.float64).reshape(len(stamps), -1 if len(stamps) else 2),
            (kind,),
            None if covariance is None else np.asarray(covariance, dtype=np.float64),
        )

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


@dataclass(frozen=True)
class Steps(_Estimates):
    """Estimates, one for each stamp of clouds."""

    stamp_ns: Integers
    """(n,) int64, ns."""
    pose: Floats
    """(n, 3): x m, y m, θ rad of the base in the map frame."""
    covariance: Floats
    """(n, 3, 3) of (x, y, θ) in the map frame."""
    nis: Floats
    """(n,): normalised innovation squared of all accepted readings together; NaN where it is not known."""
    dof: Integers
    """(n,) int64: its degrees of freedom."""
    accepted: Integers
    """(n,) int64: readings used."""
    added: Integers
    """(n,) int64: readings of new landmarks."""
    rejected: Integers
    """(n,) int64: readings left out."""


@dataclass(frozen=True)
class Errors(_Estimates):
    """Estimates beside the truth, where it is known."""

    stamp_ns: Integers
    """(n,) int64, ns."""
    pose: Floats
    """(n, 3): x m, y m, θ rad, estimated."""
    truth: Floats
    """(n, 3): the same, true."""
    error: Floats
    """(n, 3): estimate − truth; the heading's is wrapped to (−π, π]."""
    std: Floats
    """(n, 3): standard deviations that the filter claims."""
    nees: Floats
    """(n,): normalised estimation error squared of (x, y, θ); NaN where the covariance is singular. 3 is right."""
    group_nees: Floats
    """(n,): the same in the coordinates ξ of the group, X_true = Exp(ξ)X̂."""


@dataclass(frozen=True)
class Landmarks(_Frame):
    """A map."""

    ids: Integers
    """(n,) int64."""
    position: Floats
    """(n, 2): x, y in the map frame, m."""
    covariance: Floats
    """(n, 2, 2), m²."""
    observations: Integers
    """(n,) int64: how many readings went into each."""
    last_seen_ns: Integers
    """(n,) int64: when each was last seen, ns."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Pose:
    """A pose at one instant."""

    stamp_ns: int
    pose: Floats
    """(3,): x m, y m, θ rad."""
    covariance: Floats
    """(3, 3)."""
    twist: Floats
    """(3,): forward m/s, leftward m/s, yaw rate rad/s."""


@dataclass(frozen=True)
class RunMeans(_Frame):
    """One filter at each step, over the runs of a Monte Carlo."""

    stamp_ns: Integers
    """(n,) int64, ns."""
    position_error_mean_m: Floats
    position_rmse_m: Floats
    yaw_error_mean_rad: Floats
    yaw_rmse_rad: Floats
    nees_mean: Floats
    """(n,): mean NEES of (x, y, θ); 3 is right."""
    nees_band: Floats
    """(n, 2): 95 % of a consistent filter's means are between these."""
    group_nees_mean: Floats
    """(n,): the same in the group's coordinates."""

    @property
    def time_s(self) -> Floats:
        """(n,): seconds since the first."""
        return seconds_since_first(self.stamp_ns)


@dataclass(frozen=True)
class Attitudes(_Estimates):
    """Orientations, one for each inertial sample; NaN before the first that could be used."""

    stamp_ns: Integers
    """(n,) int64, ns."""
    orientation: Floats
    """(n, 4): quaternion (x, y, z, w), from the body frame to the world frame, z up."""
    orientation_covariance: Floats
    """(n, 3, 3): of small rotations about the world's axes, rad²."""
    gyro_bias: Floats
    """(n, 3): rad/s."""
    at_rest: npt.NDArray[np.bool_]
    """(n,): whether the sensor is at rest."""


@dataclass(frozen=True)
class AttitudeEstimate:
    """An orientation at one instant."""

    stamp_ns: int
    orientation: Floats
    """(4,): quaternion (x, y, z, w), from the body frame to the world frame, z up."""
    orientation_covariance: Floats
    """(3, 3): of small rotations about the world's axes, rad²."""
    angular_velocity: Floats
    """(3,): without its bias, rad/s."""
    gyro_bias: Floats
    """(3,): rad/s."""
    gyro_bias_covariance: Floats
    """(3, 3), rad²/s²."""
    at_rest: bool = field(default=False)
