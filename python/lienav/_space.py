"""The filter in space, recordings in space, and filters over these."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy.typing as npt

from . import _lienav
from ._data import Floats, Integers
from ._data3d import Errors3d, Features3d, Imu3d, Map3d, Odometry3d, Poses3d, Steps3d, Truth3d
from ._errors import Failed, WrongCall, WrongType
from ._recording import contiguous, names_of, path_of
from ._settings import as_pairs


if TYPE_CHECKING:
    from typing_extensions import Self


def _resumed(of: type[Slam3d], settings: dict[str, Any], state: bytes) -> Slam3d:
    return of.resume(settings, state)


class Slam3d(_lienav.Slam3d):
    """Pose of a body and map of the landmarks that it sees, from an inertial sensor and features with identities.

    `settings` are a dict, nested or with dotted names, YAML as text, or the path of a YAML or ROS parameter file (its
    section `slam3d_node`); docs/space.md lists them: `imu.gyro_noise` rad/s/√Hz, `imu.accelerometer_noise` m/s²/√Hz,
    `sensor.position_std_m` m, `start.yaw_rad` rad, … `map` is a :class:`Map3d` or the path of a map: the body is then
    localized in it.

    The body is the frame of the inertial sensor. A pose goes in as a (4, 4) matrix or as (position m, quaternion x, y, z,
    w). Covariances of poses are (6, 6): position, m, then a small rotation about the axes of the map, rad.

    Input is given by :meth:`imu`, :meth:`features`, :meth:`odometry` and :meth:`absolute_pose`, in whatever order it
    arrives; then :meth:`poll` gives the next :class:`Step3d` until it gives None. :meth:`run` takes arrays.

    >>> slam = Slam3d({"sensor.position_std_m": 0.02})
    >>> slam.set_sensor(0)
    >>> for k in range(400):
    ...     if k % 10 == 0:
    ...         _ = slam.features(k * 5_000_000, [[4.0, 0.0, 0.0]], [7], kind="position")
    ...     _ = slam.imu(k * 5_000_000, [0.0, 0.0, 0.0], [0.0, 0.0, 9.80665])
    ...     while (step := slam.poll()) is not None:
    ...         pass
    >>> bool(abs(slam.predicted().position).max() < 0.05), slam.quality
    (True, 'ok')
    """

    def run(
        self,
        recording: Recording3d | None = None,
        *,
        imu: Imu3d | None = None,
        features: Features3d | None = None,
        odometry: Odometry3d | None = None,
        poses: Poses3d | None = None,
        mount: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> Steps3d:
        """Takes arrays of messages, which arrive by their stamps, and gives all steps that are due.

        `mount` is the pose of the wheels' frame on the body. With a `recording`, its cameras are set, and the filter
        begins where `lienav.evaluate` has it begin. After Ctrl-C, the filter has taken the messages until then, and the
        next call gives their steps.
        """
        if recording is not None:
            if not isinstance(recording, Recording3d):
                kind = type(recording).__name__
                raise WrongType(f"recording is of type {kind}; expected a lienav.Recording3d: lienav.open3d reads one")
            self.equip(recording._compiled)
            imu, features = recording.imu, recording.features
        arrays = {
            "imu": contiguous("imu", imu, Imu3d),
            "features": contiguous("features", features, Features3d),
            "odometry": contiguous("odometry", odometry, Odometry3d),
            "poses": contiguous("poses", poses, Poses3d),
        }
        return self.run_arrays(arrays, mount, recording is not None)

    def load_map(self, map: Map3d | str | os.PathLike[str]) -> None:
        """Takes a map, or the path of one: its landmarks replace those of the state."""
        super().load_map(contiguous("map", map, Map3d) if isinstance(map, Map3d) else map)

    def __new__(cls, settings: Any = None, *, map: Map3d | str | os.PathLike[str] | None = None) -> Self:
        given = contiguous("map", map, Map3d) if isinstance(map, Map3d) else map
        return super().__new__(cls, settings, map=given)

    def save_map(self, path: str | os.PathLike[str]) -> None:
        """Writes the map as JSON: `Slam3d(map=path)` and slam3d_node read it."""
        target = pathlib.Path(path_of("path", path))
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            beside.write_text(self.map_json(), encoding="utf-8")
            beside.replace(target)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise Failed(f"{target}: {error.strerror or error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles go on where this filter is, to the last bit."""
        return _resumed, (type(self), self.settings, self.save())

    @property
    def settings(self) -> dict[str, Any]:
        """All settings in force."""
        found: dict[str, Any] = json.loads(self.settings_json())
        return found

    @classmethod
    def resume(cls, settings: Mapping[str, Any] | str | os.PathLike[str] | None, state: bytes) -> Slam3d:
        """A filter that goes on where :meth:`save` was called: its estimates are those of the run that was not
        interrupted, to the last bit."""
        slam = cls(settings)
        slam.restore(state)
        return slam


class Recording3d:
    """An inertial sensor and frames of features, and the truth where it is known. It does not change."""

    def __init__(self, compiled: _lienav.Recording3d, source: tuple[Any, ...]) -> None:
        self._compiled = compiled
        self._source = source

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return self._compiled.name

    @property
    def imu(self) -> Imu3d:
        """All samples of the inertial sensor."""
        return self._compiled.imu()

    @property
    def features(self) -> Features3d:
        """All frames."""
        return self._compiled.features()

    @property
    def truth(self) -> Truth3d:
        """True poses, in a frame with z up; empty where they are not known."""
        return self._compiled.truth()

    @property
    def true_landmarks(self) -> tuple[Integers, Floats]:
        """(ids (n,), positions (n, 3) m), in the frame of the truth; empty where they are not known."""
        return self._compiled.true_landmarks()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings with which `lienav.evaluate` runs a filter over it."""
        found: dict[str, Any] = json.loads(self._compiled.settings_json())
        return found

    @property
    def sensors(self) -> list[dict[str, Any]]:
        """Of each camera, the arguments of `Slam3d.set_sensor`."""
        return self._compiled.sensors()

    @property
    def dropped(self) -> dict[str, int]:
        """How often input could not be read, by reason."""
        return self._compiled.dropped

    @property
    def warnings(self) -> list[str]:
        """What the reader should know, one sentence each."""
        return self._compiled.warnings

    def to_bag(self, path: str | os.PathLike[str], *, replace: bool = False) -> int:
        """Writes a rosbag2 bag (MCAP) as `lienav simulate space:NAME` does, and gives the number of its messages. It reads
        back to the last bit."""
        return self._compiled.to_bag(path_of("path", path), replace)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles simulate again, or read again."""
        return self._source[0], self._source[1:]

    def __repr__(self) -> str:
        return f"<lienav.Recording3d {self.name!r}>"


def open3d(source: str | os.PathLike[str]) -> Recording3d:
    """Reads a recording in space: `euroc-tracks:FOLDER`, `starloc:FOLDER`, `starry:FOLDER`, a bag of :meth:`Recording3d.to_bag`
    or `lienav simulate space:NAME`, or `space:NAME[:SEED]`, a simulated run. `lienav.open` gives the same for these sources."""
    path = path_of("source", source)
    if not _lienav.is_in_space(path):
        raise WrongCall(f"source is '{path}', which names no recording in space; lienav.open reads it")
    return Recording3d(_lienav.open_in_space(path), (open3d, path))


def simulate3d(
    scenario: str | Mapping[str, Any] | os.PathLike[str] = "drone-mono-industrial",
    *,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Recording3d:
    """What an inertial sensor and cameras would have recorded.

    `scenario` is a name (`lienav.scenarios3d()`, with or without `space:` before it), a YAML file or text, or a dict;
    `settings` lie over it, nested or by dotted names. All random numbers come from `seed`.
    `lienav.simulate("space:NAME")` gives the same.
    """
    return _simulated(scenario, seed, settings)


def _simulated(scenario: Any, seed: int | None, settings: Mapping[str, Any] | None) -> Recording3d:
    compiled = _lienav.simulate_in_space(scenario, seed, as_pairs(settings))
    return Recording3d(compiled, (_simulated, scenario, seed, settings))


def scenarios3d() -> list[str]:
    """The names of the scenarios in space; behind each, -standing, -gap, -outliers, -late, -false, -misses or -vibration
    adds a trouble."""
    return _lienav.scenario_names_in_space()


class Report3d(Mapping[str, Any]):
    """The numbers of one filter in space, by the keys of the JSON report: `report["position_rmse_m"]`. What cannot be known
    is None. The arrays behind them are :attr:`steps` and :attr:`errors`."""

    def __init__(self, evaluation: Evaluation3d, which: int) -> None:
        self._evaluation = evaluation
        self._which = which
        self._numbers: dict[str, Any] = json.loads(evaluation._compiled.json(which))

    def __getitem__(self, key: str) -> Any:
        return self._numbers[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def filter(self) -> str:
        """The name of the filter."""
        return str(self._numbers["filter"])

    @property
    def steps(self) -> Poses3d:
        """All estimates."""
        return self._evaluation._compiled.steps(self._which)

    @property
    def errors(self) -> Errors3d:
        """The errors of the estimates whose true pose is known."""
        return self._evaluation._compiled.errors(self._which)

    def to_json(self) -> str:
        """As `lienav evaluate --json` prints it."""
        return self._evaluation._compiled.json(self._which)

    def __repr__(self) -> str:
        rmse, nees = self["position_rmse_m"], self["nees_mean"]
        shown = f"position RMSE {rmse:.4g} m" if rmse is not None else "no truth"
        shown += f", NEES {nees:.3g}" if nees is not None else ""
        return f"<lienav.Report3d {self.filter}: {self['steps']} steps, {shown}>"


class Evaluation3d(Sequence[Report3d]):
    """Filters on one recording in space: a sequence of :class:`Report3d`, also by the name of the filter."""

    def __init__(self, compiled: _lienav.Evaluation3d, recording: Recording3d) -> None:
        self._compiled = compiled
        self.recording = recording
        """What they were run on."""
        self._reports = [Report3d(self, which) for which in range(len(compiled))]

    @overload
    def __getitem__(self, which: int | str) -> Report3d: ...
    @overload
    def __getitem__(self, which: slice) -> list[Report3d]: ...
    def __getitem__(self, which: int | str | slice) -> Report3d | list[Report3d]:
        """The report of a filter by its name or its place, or those of a slice."""
        if isinstance(which, str):
            for report in self._reports:
                if report.filter == which:
                    return report
            raise KeyError(f"no filter '{which}'; there are {', '.join(r.filter for r in self._reports)}")
        return self._reports[which]

    def __len__(self) -> int:
        return len(self._reports)

    def __str__(self) -> str:
        return self._compiled.text()

    def __repr__(self) -> str:
        return f"<lienav.Evaluation3d of {', '.join(report.filter for report in self)} on {self.recording.name!r}>"

    def to_json(self) -> str:
        """As `lienav evaluate --json` prints it: an object for one filter, an array for several."""
        return self._compiled.json()

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes the folder of `lienav evaluate --out`: reports, TUM trajectories, CSV and SVG."""
        self._compiled.write(path_of("folder", folder))


def evaluate3d(
    source: Recording3d | str | os.PathLike[str],
    filters: str | Sequence[str] | None = None,
    *,
    map: str | None = None,
    map_std_m: float | None = None,
) -> Evaluation3d:
    """Runs filters over a recording in space, and judges them: `lienav evaluate`.

    `filters` are default, reduced, ekf, fe-ekf, oc-ekf or group. `map` is "truth": the true landmarks, with
    `map_std_m` of standard deviation. `lienav.evaluate` gives the same for these sources.
    """
    recording = source if isinstance(source, Recording3d) else open3d(source)
    names = [] if filters is None else names_of("filters", filters)
    if map not in (None, "truth"):
        raise WrongCall(f"map is {map!r}; in space it is 'truth' or None")
    return Evaluation3d(_lienav.evaluate_in_space(recording._compiled, names, map is not None, map_std_m), recording)
