"""Orientation from an inertial sensor."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _lienav


def _resumed(of: type[Attitude], state: bytes) -> Attitude:
    attitude = of()
    attitude.restore(state)
    return attitude


class Attitude(_lienav.Attitude):
    """Orientation and gyroscope bias from rates and specific forces, with their covariances.

    `settings` are a dict, YAML as text, or the path of a file; docs/attitude.md lists them. :meth:`imu` and
    :meth:`magnetic_field` take one sample, :meth:`run` takes arrays of them. An instance belongs to one thread at a
    time.

    >>> attitude = Attitude()
    >>> for k in range(100):
    ...     _ = attitude.imu(k * 10_000_000, [0.0, 0.0, 0.0], [0.0, 0.0, 9.80665])
    >>> [round(abs(float(x)), 3) for x in attitude.estimate().orientation]
    [0.0, 0.0, 0.0, 1.0]
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles go on where this filter is, to the last bit."""
        return _resumed, (type(self), self.save())


class AttitudeReport(Mapping[str, Any]):
    """The numbers of a run, by the keys of the JSON report of `lienav attitude`."""

    def __init__(self, numbers: dict[str, Any], text: str) -> None:
        self._numbers = numbers
        self._text = text

    def __getitem__(self, key: str) -> Any:
        return self._numbers[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __str__(self) -> str:
        return self._text


def evaluate_attitude(
    source: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    first_orientation: bool = False,
    bias_window_s: float = 2.0,
    imu_topic: str | None = None,
) -> AttitudeReport:
    """Runs the attitude filter over `broad:FILE`, `euroc:FOLDER` or a bag with sensor_msgs/Imu: `lienav attitude`.

    `first_orientation` begins with the first true orientation; `bias_window_s` is for the gyroscope alone: the bias of
    this long from the first truth on is taken off.
    """
    text, table = _lienav.evaluate_attitude(
        os.fspath(source), settings, first_orientation, bias_window_s, imu_topic
    )
    return AttitudeReport(json.loads(text), table)
