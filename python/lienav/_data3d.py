"""Arrays that go into the filter in space and come out of it. Units are SI; stamps are whole nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ._data import Floats, Integers, _ByContent, _Estimates, _Frame, _shaped, as_floats, as_integers, pandas_module
from ._errors import WrongCall

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

# How many numbers a measurement of each kind has.
_NUMBERS = {"pixel": 2, "normalized": 2, "stereo": 4, "position": 3, "range": 1, "bearing": 3}


@dataclass(frozen=True, eq=False)
class Imu3d(_Frame):
    """Samples of an inertial sensor, in its own axes: those of the body.

    - `stamp_ns`: (n,) int64, ns.
    - `angular_velocity`: (n, 3), rad/s.
    - `specific_force`: (n, 3), m/s²; at rest and level it is (0, 0, 9.81).
    """

    stamp_ns: Integers
    angular_velocity: Floats
    specific_force: Floats


@dataclass(frozen=True, eq=False)
class Odometry3d(_Frame):
    """Velocities of the wheels' frame, in its axes.

    - `stamp_ns`: (n,) int64, ns.
    - `velocity`: (n, 3), m/s.
    - `covariance`: (n, 3, 3), m²/s², or None: as `sensor.velocity_std` in the settings says. Rows of NaN are as None.
    """

    stamp_ns: Integers
    velocity: Floats
    covariance: Floats | None = None


@dataclass(frozen=True, eq=False)
class Poses3d(_Estimates):
    """Poses of the body in the map: estimates, or measurements of another source.

    - `stamp_ns`: (n,) int64, ns.
    - `position`: (n, 3), m.
    - `orientation`: (n, 4): quaternion (x, y, z, w), from the body to the map.
    - `covariance`: (n, 6, 6): of the position, m, then of a small rotation about the axes of the map, rad.
    """

    stamp_ns: Integers
    position: Floats
    orientation: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Features3d(_ByContent):
    """Frames of features: what sensors measured at one instant each. Frame k has the measurements first[k] … first[k + 1].

    - `stamp_ns`: (m,) int64: of each frame, ns.
    - `first`: (m + 1,) int64: where the measurements of each frame begin; the last one is n, as int64. A frame may be
      empty.
    - `ids`: (n,) int64: which landmark each measurement is of, from 0 on.
    - `values`: (n, d): "pixel" (u, v) px; "normalized" (x/z, y/z) in a camera; "stereo" (u_l, v_l, u_r, v_r) px in a
      rectified pair; "position" (x, y, z) m and "bearing" (x, y, z), of any length, in the frame of the sensor;
      "range" m. The numbers of a kind are the first columns.
    - `kind`: what the values are, one word for all frames, or one for each.
    - `sensor`: (n,) int64: the number of each one's sensor, or None: 0 for all.
    - `covariance`: (n, 3, 3) m² of positions, (n, 1, 1) m² of ranges or rad² of bearings, or None: as the settings say.
      The noise of pixels, px, is that of their sensor.
    """

    stamp_ns: Integers
    first: Integers
    ids: Integers
    values: Floats
    kind: Sequence[str] = ("pixel",)
    sensor: Integers | None = None
    covariance: Floats | None = None

    @classmethod
    def of_measurements(
        cls,
        stamp_ns: npt.ArrayLike,
        values: npt.ArrayLike,
        ids: npt.ArrayLike,
        *,
        kind: str = "pixel",
        sensor: npt.ArrayLike | None = None,
        covariance: npt.ArrayLike | None = None,
    ) -> Features3d:
        """Measurements with a stamp each, (n,) ns: successive ones with the same stamp are a frame.

        >>> frames = Features3d.of_measurements([0, 0, 5], [[320.0, 240.0], [100.0, 50.0], [321.0, 240.0]], [7, 8, 7])
        >>> frames.first.tolist()
        [0, 2, 3]
        """
        if kind not in _NUMBERS:
            raise WrongCall(f"kind is {kind!r}; allowed: {' | '.join(_NUMBERS)}")
        stamps = as_integers(stamp_ns, "stamp_ns")
        _shaped("stamp_ns", stamps, ("n",))
        n = len(stamps)
        numbers = as_floats(values, "values")
        if _NUMBERS[kind] == 1 and numbers.ndim == 1:
            numbers = numbers[:, None]
        _shaped("values", numbers, (n, _NUMBERS[kind]))
        known = as_integers(ids, "ids")
        _shaped("ids", known, (n,))
        numbered = None if sensor is None else as_integers(sensor, "sensor")
        if numbered is not None:
            _shaped("sensor", numbered, (n,))
        matrices = None if covariance is None else as_floats(covariance, "covariance")
        starts = np.flatnonzero(np.r_[True, stamps[1:] != stamps[:-1]]) if n else np.zeros(0, np.int64)
        ends = np.r_[starts, n].astype(np.int64)
        return cls(stamps[starts], ends, known, numbers, (kind,), numbered, matrices)


@dataclass(frozen=True, eq=False)
class Steps3d(_Estimates):
    """Estimates, one for each instant with a frame, a velocity or a pose. Frame k has the decisions first[k] … first[k + 1].

    - `stamp_ns`: (n,) int64, ns.
    - `position`: (n, 3): of the body (the frame of the inertial sensor) in the map, m.
    - `orientation`: (n, 4): quaternion (x, y, z, w), from the body to the map.
    - `covariance`: (n, 6, 6): of the position, m, then of a small rotation about the axes of the map, rad.
    - `velocity`: (n, 3), m/s, in the map.
    - `gyro_bias`: (n, 3), rad/s, in the axes of the body.
    - `accelerometer_bias`: (n, 3), m/s², in the axes of the body.
    - `nis`: (n,): normalized innovation squared of all accepted measurements together.
    - `dof`: (n,) int64: its degrees of freedom.
    - `accepted`: (n,) int64: measurements used.
    - `gated`: (n,) int64: measurements beyond the gate.
    - `initialized`: (n,) int64: landmarks that were initialized.
    - `first`: (n + 1,) int64: where the decisions of each step begin.
    - `ids`: (k,) int64: the landmark of each measurement of a frame.
    - `decisions`: (k,) values "used", "gated", "initialized", "waiting" or "unseen", or why it was left out.
    - `distances`: (k,): squared Mahalanobis distance of each from its expectation before the update, or NaN.
    """

    stamp_ns: Integers
    position: Floats
    orientation: Floats
    covariance: Floats
    velocity: Floats
    gyro_bias: Floats
    accelerometer_bias: Floats
    nis: Floats
    dof: Integers
    accepted: Integers
    gated: Integers
    initialized: Integers
    first: Integers
    ids: Integers
    decisions: list[str]
    distances: Floats

    def to_frame(self) -> pandas.DataFrame:
        """The estimates as a pandas frame, a row for each step; decisions are left out."""
        names = ("stamp_ns", "position", "orientation", "nis", "dof", "accepted", "gated", "initialized")
        columns = {"time_s": self.time_s}
        for name in names:
            value = getattr(self, name)
            if value.ndim == 1:
                columns[name] = value
            else:
                axes = ("x", "y", "z", "w")[: value.shape[1]]
                columns.update({f"{name}_{axis}": value[:, k] for k, axis in enumerate(axes)})
        return pandas_module().DataFrame(columns)


@dataclass(frozen=True, eq=False)
class Pose3d(_ByContent):
    """The estimate at one instant.

    - `stamp_ns`: ns.
    - `pose`: (4, 4): the body in the map, [R t; 0 1], m.
    - `orientation`: (4,): quaternion (x, y, z, w), from the body to the map.
    - `covariance`: (6, 6): of the position, m, then of a small rotation about the axes of the map, rad.
    - `velocity`: (3,), m/s, in the map.
    - `velocity_covariance`: (3, 3), m²/s².
    - `angular_velocity`: (3,): without its bias, rad/s, in the axes of the body.
    - `gyro_bias`: (3,), rad/s.
    - `accelerometer_bias`: (3,), m/s².
    """

    stamp_ns: int
    pose: Floats
    orientation: Floats
    covariance: Floats
    velocity: Floats
    velocity_covariance: Floats
    angular_velocity: Floats
    gyro_bias: Floats
    accelerometer_bias: Floats

    @property
    def position(self) -> Floats:
        """(3,): of the body in the map, m."""
        found: Floats = self.pose[:3, 3]
        return found


@dataclass(frozen=True, eq=False)
class Landmarks3d(_ByContent):
    """Landmarks, each with its own covariance.

    - `ids`: (n,) int64.
    - `position`: (n, 3), m, in the map.
    - `covariance`: (n, 3, 3), m².
    """

    ids: Integers
    position: Floats
    covariance: Floats

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Map3d(_ByContent):
    """A map: landmarks with their joint covariance.

    - `ids`: (n,) int64.
    - `position`: (n, 3), m, in the map.
    - `covariance`: (3n, 3n), m²: rows 3k … 3k + 2 are of landmark k.
    """

    ids: Integers
    position: Floats
    covariance: Floats

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Truth3d(_Estimates):
    """True poses of the body, in a frame with z up.

    - `stamp_ns`: (n,) int64, ns.
    - `position`: (n, 3), m.
    - `orientation`: (n, 4): quaternion (x, y, z, w), from the body to that frame.
    - `velocity`: (n, 3), m/s; NaN where it is not known.
    """

    stamp_ns: Integers
    position: Floats
    orientation: Floats
    velocity: Floats


@dataclass(frozen=True, eq=False)
class Errors3d(_Estimates):
    """Errors of estimates where the truth is known.

    - `stamp_ns`: (n,) int64, ns.
    - `error`: (n, 6): truth − estimate of the position, m, then the rotation about the axes of the map that takes the
      estimate to the truth, rad.
    - `std`: (n, 6): standard deviations that the filter states, m and rad.
    - `nees`: (n, 3): NEES of position (3 is right), orientation (3) and pose (6); NaN where a covariance is singular.
    """

    stamp_ns: Integers
    error: Floats
    std: Floats
    nees: Floats
