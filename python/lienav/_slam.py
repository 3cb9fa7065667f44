"""The filter, message by message or many at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from . import _lienav
from ._data import Features, Imu, Landmarks, Odometry, Pose, Steps
from ._errors import WrongCall
from ._recording import Recording, input_arrays, recording_of


def _resumed(of: type[Slam], settings: dict[str, Any], state: bytes) -> Slam:
    return of.resume(settings, state)


class Slam(_lienav.Slam):
    """Pose of a robot and map of the landmarks that it sees, from odometry and readings.

    `settings` are a dict, nested or with dotted names, YAML as text, or the path of a YAML or ROS parameter file;
    docs/parameters.md lists them. `map` is a map file: the robot is then localized in it, unless `map.mode` says
    otherwise.

    Input is given by :meth:`odometry`, :meth:`imu` and :meth:`features`, in whatever order it arrives; then
    :meth:`poll` gives the next :class:`Step` until it gives None. :meth:`run` takes arrays of messages. An instance
    belongs to one thread at a time. Work on clouds releases the interpreter's lock.

    >>> slam = Slam({"motion.velocity_x_std": 0.2, "sensor": {"range_std_m": 0.01}})
    >>> for k in range(11):
    ...     _ = slam.odometry(k * 100_000_000, 1.1)
    ...     _ = slam.features(k * 100_000_000, [[5.0 - 0.1 * k, 0.0]], [7])
    ...     while (step := slam.poll()) is not None:
    ...         pass
    >>> bool(abs(slam.predicted().pose[0] - 1.0) < 0.02)
    True
    """

    def run(
        self,
        recording: Recording | None = None,
        *,
        odometry: Odometry | None = None,
        features: Features | None = None,
        imu: Imu | None = None,
        order: npt.ArrayLike | None = None,
        finish: bool = True,
    ) -> Steps:
        """Takes a recording, or arrays of messages, and gives all steps that are due.

        Without `order` (0 odometry, 1 imu, 2 features, in the order of arrival), arrays arrive by their stamps.
        `finish` says that the input has ended: clouds that still wait for odometry are then released. After Ctrl-C, the filter
        has taken the messages until then, and the next call gives their steps.
        """
        if recording is not None:
            beside = {"odometry": odometry, "features": features, "imu": imu, "order": order}
            if given := [name for name, value in beside.items() if value is not None]:
                raise WrongCall(f"{given[0]} is given beside a recording, which has its own: give one of them")
            return self.run_recording(recording_of(recording)._compiled, finish)
        return self.run_arrays(input_arrays(odometry, imu, features, order), finish)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles go on where this filter is, to the last bit."""
        return _resumed, (type(self), self.settings, self.save())

    @property
    def settings(self) -> dict[str, Any]:
        """All settings in force."""
        found: dict[str, Any] = json.loads(self.settings_json())
        return found

    @classmethod
    def resume(
        cls, settings: Mapping[str, Any] | str | os.PathLike[str] | None, state: bytes
    ) -> Slam:
        """A filter that goes on where :meth:`save` was called: its estimates are those of the run that was not
        interrupted, to the last bit."""
        slam = cls(settings)
        slam.restore(state)
        return slam
