"""The referee: estimates of any program beside a truth, and what their covariances are worth."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from . import _lienav
from ._data import Floats, Integers, as_floats, as_integers, to_ns
from ._errors import WrongCall

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Trajectory = Union[str, "os.PathLike[str]", npt.ArrayLike, "tuple[npt.ArrayLike, npt.ArrayLike]"]


class _Kept:
    """What a copied or pickled judgement has of the compiled one."""

    def __init__(self, compiled: _lienav.Judgement | _Kept) -> None:
        self._texts = compiled.json(), compiled.text()
        self._arrays = compiled.stamp_ns(), compiled.error(), compiled.nees()

    def json(self) -> str:
        return self._texts[0]

    def text(self) -> str:
        return self._texts[1]

    def stamp_ns(self) -> Integers:
        return self._arrays[0]

    def error(self) -> Floats:
        return self._arrays[1]

    def nees(self) -> Floats:
        return self._arrays[2]


class Judgement(Mapping[str, Any]):
    """The numbers of an estimate, by the keys of the JSON report of `lienav judge`: `judgement["nees_mean"]`. Where
    something cannot be known, they hold `None`; `print(judgement)` gives the table."""

    def __init__(self, compiled: _lienav.Judgement | _Kept) -> None:
        self._compiled = compiled
        self._numbers: dict[str, Any] = json.loads(compiled.json())

    def __getitem__(self, key: str) -> Any:
        return self._numbers[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __str__(self) -> str:
        return self._compiled.text()

    def __repr__(self) -> str:
        return f"<lienav.Judgement of {self['steps']} poses: {self['verdict'] or 'no covariance'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have the same numbers and arrays."""
        return type(self), (_Kept(self._compiled),)

    def plot(self, *, ax: Axes | None = None, what: str | None = None) -> Figure:
        """Errors of position and orientation, NEES in its band, and calibration: a matplotlib figure.

        With `ax` or `what`, one panel on axes of your own or new ones: "position", "orientation", "nees" or
        "calibration". Gives the figure."""
        from ._plot import plot_judgement

        return plot_judgement(self, ax, what)

    @property
    def stamp_ns(self) -> Integers:
        """(n,) int64: the poses that have a truth, ns."""
        return self._compiled.stamp_ns()

    @property
    def error(self) -> Floats:
        """(n, 6): estimate − truth, (x, y, z) in m and rotations about the fixed axes X, Y, Z in rad."""
        return self._compiled.error()

    @property
    def nees(self) -> Floats:
        """(n, 3): NEES of position, orientation and pose; NaN where no covariance is stated, or a singular one."""
        return self._compiled.nees()


def _arrays(name: str, given: Trajectory) -> tuple[str | None, Any, Any]:
    """A path as it is, otherwise stamps in ns and poses."""
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given), None, None
    if isinstance(given, tuple):
        if len(given) != 2:
            raise WrongCall(f"{name} is a tuple of {len(given)}; expected: (stamp_ns, poses)")
        return None, as_integers(given[0], f"the stamps of {name}"), as_floats(given[1], f"the poses of {name}")
    whole = as_floats(given, name)
    if whole.ndim != 2 or whole.shape[1] not in (4, 8):
        raise WrongCall(
            f"{name} has the shape {whole.shape}; expected: (n, 8) of stamp_s x y z qx qy qz qw, (n, 4) of "
            "stamp_s x y yaw, a tuple (stamp_ns, poses), or a path"
        )
    if not np.isfinite(whole[:, 0]).all():
        raise WrongCall(f"{name} has stamps that are not finite")
    return None, to_ns(whole[:, 0]), whole[:, 1:]


def judge(
    estimate: Trajectory,
    truth: Trajectory,
    covariance: npt.ArrayLike | None = None,
    *,
    align: str = "none",
    convention: str | None = None,
    space: bool | None = None,
    max_gap_s: float | None = None,
    time_offset_s: float = 0.0,
    truth_std_m: float = 0.0,
    truth_std_deg: float = 0.0,
    over_s: Sequence[float] | None = None,
    over_m: Sequence[float] | None = None,
) -> Judgement:
    """Judges an estimate by a truth: `lienav judge`, with the same numbers to the last bit.

    Each of the two is a path (TUM, KITTI, EuRoC, OpenVINS, CSV, or BAG:TOPIC), an array (n, 8) of stamp_s x y z qx qy
    qz qw or (n, 4) of stamp_s x y yaw, or a tuple of stamps in whole nanoseconds and poses. `covariance` is (n, 6, 6) of
    position and rotations about the fixed axes, or (n, 3, 3) of x, y, yaw; `convention` is "ros", "gtsam", "openvins" or
    "left" where its axes or order are others. `align` is "none", "yaw", "se2", "se3" or "sim3"; `space` says whether all
    six numbers count, which otherwise the estimate does. The other options are those of the command line.

    >>> t = np.arange(100.0)
    >>> truth = np.column_stack([t, t, 0 * t, 0 * t])
    >>> estimate = truth + [0.0, 0.1, 0.0, 0.0]
    >>> judgement = judge(estimate, truth, np.tile(np.diag([0.04, 0.04, 0.01]), (100, 1, 1)))
    >>> round(judgement["position_rmse_m"], 6), round(judgement["nees_mean"], 6)
    (0.1, 0.25)
    """
    options = {
        "align": align,
        "convention": convention,
        "space": space,
        "max_gap_s": max_gap_s,
        "time_offset_s": time_offset_s,
        "truth_std_m": truth_std_m,
        "truth_std_deg": truth_std_deg,
        "over_s": list(over_s) if over_s is not None else None,
        "over_m": list(over_m) if over_m is not None else None,
    }
    matrices = as_floats(covariance, "covariance") if covariance is not None else None
    compiled = _lienav.judge(_arrays("estimate", estimate), _arrays("truth", truth), matrices, options)
    return Judgement(compiled)
