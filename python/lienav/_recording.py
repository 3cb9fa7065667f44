"""Recordings: bags, data sets, simulations and arrays of one's own."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _lienav
from ._data import Features, Floats, Imu, Integers, Odometry
from ._settings import as_pairs



def contiguous(given: Any, of: tuple[str, ...]) -> dict[str, Any] | None:
    """Arrays of a data class as the compiled module takes them."""
    if given is None:
        return None
    found: dict[str, Any] = {}
    for name in of:
        value = getattr(given, name)
        if name == "kind":
            found[name] = [value] if isinstance(value, str) else list(value)
        elif name in ("stamp_ns", "first", "ids"):
            found[name] = as_integers(value)
        else:
            found[name] = value
    return found


def as_integers(value: Any) -> Integers:
    """Whole numbers as int64. Floats are refused, unless they are empty: they would lose nanoseconds."""
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        from ._errors import WrongCall

        raise WrongCall(f"stamps and ids are {array.dtype}; give whole numbers: lienav.to_ns(seconds) makes stamps")
    return np.ascontiguousarray(array, dtype=np.int64)


def input_arrays(
    odometry: Odometry | None, imu: Imu | None, features: Features | None, order: npt.ArrayLike | None
) -> dict[str, Any]:
    """All input, as the compiled module takes it."""
    return {
        "odometry": contiguous(odometry, ("stamp_ns", "twist", "covariance")),
        "imu": contiguous(imu, ("stamp_ns", "yaw_rate", "tilt")),
        "features": contiguous(features, ("stamp_ns", "first", "ids", "values", "kind", "covariance", "label")),
        "order": None if order is None else as_integers(order),
    }


class Recording:
    """The input of a filter in its order of arrival, and the truth where it is known. It does not change."""

    def __init__(self, compiled: _lienav.Recording) -> None:
        self._compiled = compiled

    @classmethod
    def from_arrays(
        cls,
        *,
        odometry: Odometry,
        features: Features | None = None,
        imu: Imu | None = None,
        order: npt.ArrayLike | None = None,
        truth: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        true_landmarks: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        settings: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        name: str = "arrays",
    ) -> Recording:
        """One's own data.

        `order` is of which kind the messages are in their order of arrival, 0 odometry, 1 imu, 2 features; without it
        they arrive by their stamps, features last. `truth` is (stamps (n,) ns, poses (n, 3) of x m, y m, θ rad);
        `true_landmarks` is (ids (n,), positions (n, 2) m). `settings` are those of the sensors, for every run.
        """

        def pair(given: tuple[npt.ArrayLike, npt.ArrayLike] | None) -> tuple[Integers, Floats] | None:
            return None if given is None else (as_integers(given[0]), np.asarray(given[1], np.float64))

        arrays = input_arrays(odometry, imu, features, order)
        return cls(_lienav.recording_of_arrays(arrays, name, pair(truth), pair(true_landmarks), settings))

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return self._compiled.name

    @property
    def odometry(self) -> Odometry:
        """All odometry, in order of arrival."""
        return self._compiled.odometry()

    @property
    def imu(self) -> Imu:
        """All rates of a gyroscope, in order of arrival."""
        return self._compiled.imu()

    @property
    def features(self) -> Features:
        """All clouds of features, in order of arrival."""
        return self._compiled.features()

    @property
    def order(self) -> Integers:
        """(n,) int64: which kind each message is, 0 odometry, 1 imu, 2 features."""
        return self._compiled.order()

    @property
    def truth(self) -> tuple[Integers, Floats]:
        """(stamps (n,) ns, poses (n, 3) of x m, y m, θ rad) of the base in the map frame; empty where nobody knows."""
        return self._compiled.truth()

    @property
    def true_landmarks(self) -> tuple[Integers, Floats]:
        """(ids (n,), positions (n, 2) m) in the map frame; empty where nobody knows."""
        return self._compiled.true_landmarks()

    @property
    def settings(self) -> dict[str, Any] | None:
        """What the source says of its sensors and of the start; None where it says nothing."""
        text = self._compiled.settings_json()
        found: dict[str, Any] | None = None if text is None else json.loads(text)
        return found

    @property
    def dropped(self) -> dict[str, int]:
        """How often input could not be read, by reason."""
        return self._compiled.dropped

    @property
    def warnings(self) -> list[str]:
        """What the reader should know, one sentence each."""
        return self._compiled.warnings

    def __len__(self) -> int:
        """How many messages there are."""
        return len(self._compiled)

    def to_bag(self, path: str | os.PathLike[str], *, replace: bool = False) -> int:
        """Writes a rosbag2 bag (MCAP), and gives the number of its messages. It reads back to the last bit."""
        return self._compiled.to_bag(os.fspath(path), replace)

    def harder(
        self, *, every: int = 1, clutter: int = 0, clutter_seed: int = 1, ignore_ids: bool = False
    ) -> Recording:
        """A copy with every n-th cloud only, with so many false readings in each, or without identities: as the options
        --every, --clutter and --ignore-ids of `lienav evaluate`."""
        return Recording(self._compiled.harder(every, clutter, clutter_seed, ignore_ids))

    def __repr__(self) -> str:
        return f"<lienav.Recording {self.name!r}, {len(self)} messages>"


def open(  # noqa: A001
    source: str | os.PathLike[str],
    *,
    odom_topic: str | None = None,
    features_topic: str | None = None,
    imu_topic: str | None = None,
    truth_topic: str | None = None,
    landmarks_topic: str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> Recording:
    """Reads a bag (its folder, or an .mcap or .db3 file) or a data set as published: `woods:FOLDER`,
    `mrclam:FOLDER:ROBOT`, `victoria:FOLDER` or `g2o:FILE[:TRUTH]`. Topics are needed where they have unusual names.

    `config` is a parameter file for slam_node, over the params.yaml of a bag: it states which sensors, tags and sources
    of odometry there are, and in which frames. Settings of the filter in it are not read here.
    """
    topics = {
        "odometry": odom_topic,
        "features": features_topic,
        "imu": imu_topic,
        "truth": truth_topic,
        "landmarks": landmarks_topic,
        "parameters": None if config is None else pathlib.Path(config).read_text(encoding="utf-8"),
    }
    return Recording(_lienav.open_recording(os.fspath(source), topics))


def simulate(
    scenario: str | Mapping[str, Any] | os.PathLike[str] = "thesis-circle-10hz-low-q1",
    *,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Recording:
    """What a robot would have recorded: `lienav simulate`.

    `scenario` is the name of a shipped one (`lienav.scenarios()`), a YAML file or text, or a dict; `settings` lie over
    it, nested or by dotted names. All random numbers come from `seed`.
    """
    return Recording(_lienav.simulate(scenario, seed, as_pairs(settings)))


def scenarios() -> list[str]:
    """The names of the shipped scenarios."""
    return _lienav.scenario_names()
