"""Recordings: bags, data sets, simulations and arrays of one's own."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _lienav
from ._data import Features, Floats, Imu, Integers, Odometry, as_floats, as_integers, wrapped
from ._errors import Failed, WrongCall, WrongType
from ._settings import as_pairs



def contiguous(group: str, given: Any, of: type[Any]) -> dict[str, Any] | None:
    """Arrays of a data class as the compiled module takes them."""
    if given is None:
        return None
    if not isinstance(given, of):
        raise WrongType(f"{group} is of type {type(given).__name__}; expected lienav.{of.__name__}")
    found: dict[str, Any] = {}
    for one in fields(of):
        name, value = one.name, getattr(given, one.name)
        if name == "kind":
            found[name] = names_of(f"{group}.kind", value)
        elif name in ("stamp_ns", "first", "ids") or (name == "sensor" and value is not None):
            found[name] = as_integers(value, f"{group}.{name}")
        else:
            found[name] = None if value is None and one.default is None else as_floats(value, f"{group}.{name}")
    return found


def path_of(name: str, given: Any) -> str:
    """A path as text; `name` is that of the argument."""
    if not isinstance(given, (str, os.PathLike)):
        raise WrongType(f"{name} is {given!r}, of type {type(given).__name__}; expected a path")
    return os.fspath(given)


def names_of(name: str, given: Any, what: str = "names") -> list[str]:
    """One name or several, or paths."""
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    if not isinstance(given, Iterable):
        raise WrongType(f"{name} is {given!r}, of type {type(given).__name__}; expected {what}")
    return [path_of(name, one) for one in given]


def recording_of(given: Any) -> Recording:
    """A recording; anything else is refused."""
    if not isinstance(given, Recording):
        kind = type(given).__name__
        raise WrongType(f"recording is of type {kind}; expected a lienav.Recording: lienav.open reads one")
    return given


def input_arrays(
    odometry: Odometry | None, imu: Imu | None, features: Features | None, order: npt.ArrayLike | None
) -> dict[str, Any]:
    """All input, as the compiled module takes it."""
    return {
        "odometry": contiguous("odometry", odometry, Odometry),
        "imu": contiguous("imu", imu, Imu),
        "features": contiguous("features", features, Features),
        "order": None if order is None else as_integers(order, "order"),
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

        def pair(name: str, given: Any, of: tuple[str, str]) -> tuple[Integers, Floats] | None:
            if given is None:
                return None
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise WrongType(f"{name} is of type {type(given).__name__}; expected a pair ({of[0]}, {of[1]})")
            return as_integers(given[0], f"{name}.{of[0]}"), as_floats(given[1], f"{name}.{of[1]}")

        if odometry is None:
            raise WrongType("odometry is None; expected a lienav.Odometry: a recording has at least that")
        arrays = input_arrays(odometry, imu, features, order)
        true_poses = pair("truth", truth, ("stamp_ns", "pose"))
        places = pair("true_landmarks", true_landmarks, ("ids", "position"))
        for name_of, given in (("truth.pose", true_poses), ("true_landmarks.position", places)):
            if given is not None and not np.isfinite(given[1]).all():
                raise WrongCall(f"{name_of} has a number that is not finite")
        if places is not None and len(np.unique(places[0])) < places[0].size:
            raise WrongCall("true_landmarks.ids has an identity twice")
        return cls(_lienav.recording_of_arrays(arrays, name, true_poses, places, settings))

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
        """(stamps (n,) ns, poses (n, 3) of x m, y m, θ rad) of the base in the map frame, θ in (−π, π]; empty where it
        is not known."""
        stamps, poses = self._compiled.truth()
        poses[:, 2] = wrapped(poses[:, 2])
        return stamps, poses

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
        return self._compiled.to_bag(path_of("path", path), replace)

    def harder(
        self, *, every: int = 1, clutter: int = 0, clutter_seed: int = 1, ignore_ids: bool = False
    ) -> Recording:
        """A copy with every n-th cloud only, with so many false readings in each, or without identities: as the options
        --every, --clutter and --ignore-ids of `lienav evaluate`."""
        return Recording(self._compiled.harder(every, clutter, clutter_seed, ignore_ids))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have the same messages, to the last bit; one with further sensors has none."""
        own = self._compiled
        arrays = input_arrays(own.odometry(), own.imu(), own.features(), own.order())
        named = (arrays, own.name, own.truth(), own.true_landmarks(), own.settings_json())
        return _rebuilt, (named, own.rest())

    def __repr__(self) -> str:
        return f"<lienav.Recording {self.name!r}, {len(self)} messages>"


def _rebuilt(named: tuple[Any, ...], rest: dict[str, Any]) -> Recording:
    return Recording(_lienav.recording_of_arrays(*named).with_rest(rest))


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
    Sources in space (`euroc-tracks:FOLDER`, `space:NAME`, …) are read by :func:`lienav.open3d`, a `Recording3d`.

    `config` is a parameter file for slam_node, over the params.yaml of a bag: it states which sensors, tags and sources
    of odometry there are, and in which frames. Settings of the filter in it are not read here.
    """
    topics = {
        "odometry": odom_topic,
        "features": features_topic,
        "imu": imu_topic,
        "truth": truth_topic,
        "landmarks": landmarks_topic,
    }
    for name, topic in topics.items():
        if topic is not None and not isinstance(topic, str):
            raise WrongType(f"the topic of {name} is {topic!r}, of type {type(topic).__name__}; expected its name")
    if config is not None:
        try:
            topics["parameters"] = pathlib.Path(path_of("config", config)).read_text(encoding="utf-8")
        except OSError as error:
            raise Failed(f"config: {config}: {error.strerror or error}") from None
    if _lienav.is_in_space(path_of("source", source)):
        from ._space import open3d

        return open3d(source)  # type: ignore[return-value]
    return Recording(_lienav.open_recording(path_of("source", source), {"parameters": None, **topics}))


def simulate(
    scenario: str | Mapping[str, Any] | os.PathLike[str] = "thesis-circle-10hz-low-q1",
    *,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Recording:
    """What a robot would have recorded: `lienav simulate`.

    `scenario` is the name of a shipped one (`lienav.scenarios()`), a YAML file or text, or a dict; `settings` lie over
    it, nested or by dotted names. All random numbers come from `seed`. `space:NAME` is a scenario in space: a
    `Recording3d`, by :func:`lienav.simulate3d`.
    """
    if isinstance(scenario, str) and scenario.startswith("space:"):
        from ._space import simulate3d

        return simulate3d(scenario, seed=seed, settings=settings)  # type: ignore[return-value]
    return Recording(_lienav.simulate(scenario, seed, as_pairs(settings)))


def scenarios() -> list[str]:
    """The names of the shipped scenarios."""
    return _lienav.scenario_names()
