"""Filters over a recording, and how good they were."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _lienav
from ._data import Errors, Floats, Landmarks, Steps, pandas_module
from ._errors import Failed, WrongCall
from ._recording import Recording, names_of, open, path_of
from ._table import table

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class _Kept:
    """What a copied or pickled evaluation has of the compiled one: numbers and arrays, not the runs themselves."""

    def __init__(self, compiled: _lienav.Evaluation | _Kept) -> None:
        places = range(len(compiled))
        self._text, self._json = compiled.text(), compiled.json()
        self._parts = [
            (compiled.json(k), compiled.steps(k), compiled.errors(k), compiled.landmarks(k), compiled.step_us(k))
            for k in places
        ]

    def __len__(self) -> int:
        return len(self._parts)

    def text(self) -> str:
        return self._text

    def json(self, which: int | None = None) -> str:
        return self._json if which is None else self._parts[which][0]

    def steps(self, which: int) -> Steps:
        return self._parts[which][1]

    def errors(self, which: int) -> Errors:
        return self._parts[which][2]

    def landmarks(self, which: int) -> Landmarks:
        return self._parts[which][3]

    def step_us(self, which: int) -> Floats:
        return self._parts[which][4]

    def write(self, path: str) -> None:
        raise Failed(
            f"{path}: a copied or pickled evaluation has its numbers and arrays, but not the runs that the folder is made "
            "of; write it before, or evaluate again"
        )


def _restored(kept: _Kept, recording: Recording) -> Evaluation:
    return Evaluation(kept, recording)


def _report(evaluation: Evaluation, which: int) -> Report:
    return evaluation[which]


class Report(Mapping[str, Any]):
    """The numbers of one filter, by the keys of the JSON report: `report["position_rmse_m"]`. What cannot be known is
    None. The arrays behind them are :attr:`steps`, :attr:`errors` and :attr:`landmarks`."""

    def __init__(self, evaluation: Evaluation, which: int) -> None:
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
    def recording(self) -> Recording:
        """What it was run on."""
        return self._evaluation.recording

    @property
    def steps(self) -> Steps:
        """All estimates."""
        return self._evaluation._compiled.steps(self._which)

    @property
    def errors(self) -> Errors:
        """The estimates whose true pose is known, beside it."""
        return self._evaluation._compiled.errors(self._which)

    @property
    def landmarks(self) -> Landmarks:
        """The map at the end."""
        return self._evaluation._compiled.landmarks(self._which)

    @property
    def step_us(self) -> Floats:
        """(n,): time of each step, µs; another one each time."""
        return self._evaluation._compiled.step_us(self._which)

    def to_json(self) -> str:
        """As `lienav evaluate --json` prints it."""
        return self._evaluation._compiled.json(self._which)

    def plot(self, *, ax: Axes | None = None, what: str | None = None) -> Figure:
        """Trajectory and map, errors in their 3σ bands, NEES in its band: a matplotlib figure.

        With `ax` or `what`, one panel on axes of your own or new ones: "map", "x", "y", "yaw" or "nees".
        Gives the figure."""
        from ._plot import plot_report

        return plot_report(self, ax, what)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have the same numbers and arrays."""
        return _report, (self._evaluation, self._which)

    def __repr__(self) -> str:
        rmse, nees = self["position_rmse_m"], self["nees_mean"]
        shown = f"position RMSE {rmse:.4g} m" if rmse is not None else "no truth"
        shown += f", NEES {nees:.3g}" if nees is not None else ""
        return f"<lienav.Report {self.filter}: {self['steps']} steps, {shown}>"


class Evaluation(Sequence[Report]):
    """Filters on one recording: a sequence of :class:`Report`, also by the name of the filter."""

    def __init__(self, compiled: _lienav.Evaluation | _Kept, recording: Recording) -> None:
        self._compiled = compiled
        self.recording = recording
        """What they were run on."""
        self._reports = [Report(self, which) for which in range(len(compiled))]

    @overload
    def __getitem__(self, which: int | str) -> Report: ...
    @overload
    def __getitem__(self, which: slice) -> list[Report]: ...
    def __getitem__(self, which: int | str | slice) -> Report | list[Report]:
        """The report of a filter by its name or its place, or those of a slice."""
        if isinstance(which, str):
            for report in self._reports:
                if report.filter == which:
                    return report
            raise KeyError(f"no filter '{which}'; there are {', '.join(r.filter for r in self._reports)}")
        return self._reports[which]

    def __len__(self) -> int:
        return len(self._reports)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have the same numbers and arrays; :meth:`write` needs the evaluation itself."""
        return _restored, (_Kept(self._compiled), self.recording)

    def __str__(self) -> str:
        return self._compiled.text()

    def __repr__(self) -> str:
        return f"<lienav.Evaluation of {', '.join(report.filter for report in self)} on {self.recording.name!r}>"

    def to_json(self) -> str:
        """As `lienav evaluate --json` prints it: an object for one filter, an array for several."""
        return self._compiled.json()

    def to_frame(self) -> pandas.DataFrame:
        """The numbers that are plain ones, a row for each filter."""
        plain = (int, float, str, type(None))
        rows = [{key: value for key, value in report.items() if isinstance(value, plain)} for report in self]
        return pandas_module().DataFrame(rows).set_index("filter")

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Writes the folder of `lienav evaluate --out`: reports, TUM trajectories, CSV and SVG."""
        self._compiled.write(path_of("folder", folder))

    def plot(self, *, ax: Axes | None = None, what: str | None = None) -> Figure:
        """The filters side by side: trajectories, position errors and NEES over time.

        With `ax` or `what`, one panel on axes of your own or new ones: "map", "error" or "nees". Gives the figure."""
        from ._plot import plot_evaluation

        return plot_evaluation(self, ax, what)

    def to_latex(self, keys: Sequence[str] | None = None, *, digits: int = 3) -> str:
        """A row for each filter as a `tabular`, with the numbers of these keys: :func:`table`."""
        return self._table(keys, "latex", digits)

    def to_csv(self, keys: Sequence[str] | None = None) -> str:
        """The same with all digits, separated by commas."""
        return self._table(keys, "csv", 3)

    def _table(self, keys: Sequence[str] | None, form: str, digits: int) -> str:
        rows = {report.filter: report for report in self}
        return table(rows, form=form, digits=digits) if keys is None else table(rows, keys, form=form, digits=digits)


def _in_space(source: Any, filters: Any, map: Any, map_std_m: float | None, refused: tuple[Any, ...]) -> Any:
    """The evaluation of a source in space; None of any other."""
    from ._space import Recording3d, evaluate3d

    if not isinstance(source, Recording3d) and not _lienav.is_in_space(path_of("source", source)):
        return None
    if refused != (None, False, 1, 0, None):
        raise WrongCall("settings, ignore_ids, every, clutter and max_truth_gap_s are not for recordings in space; leave them out")
    return evaluate3d(source, filters, map=map, map_std_m=map_std_m)


def evaluate(
    source: Recording | str | os.PathLike[str],
    filters: str | Sequence[str] | None = None,
    *,
    settings: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    map: str | os.PathLike[str] | None = None,  # noqa: A002
    map_std_m: float | None = None,
    ignore_ids: bool = False,
    every: int = 1,
    clutter: int = 0,
    clutter_seed: int = 1,
    max_truth_gap_s: float | None = None,
) -> Evaluation:
    """Runs filters over a recording and judges them: `lienav evaluate`, with the same numbers to the last bit.

    `filters` are names of `lienav.filters()`, or of batch estimates; without them, the one that the settings name.
    `settings` lie over what the source says of its sensors. `map` is a map file, or "truth": the true landmarks with
    `map_std_m` of standard deviation, usually 0.02 m. `ignore_ids`, `every` and `clutter` make the source harder. Gaps in the truth of
    up to `max_truth_gap_s` are bridged, usually half a second.
    """
    if not isinstance(source, Recording):
        in_space = _in_space(source, filters, map, map_std_m, (settings, ignore_ids, every, clutter, max_truth_gap_s))
        if in_space is not None:
            return in_space  # type: ignore[no-any-return]
    recording = source if isinstance(source, Recording) else open(path_of("source", source))
    if every != 1 or clutter != 0 or ignore_ids:
        recording = recording.harder(every=every, clutter=clutter, clutter_seed=clutter_seed, ignore_ids=ignore_ids)
    names = [] if filters is None else names_of("filters", filters)
    std_m = 0.02 if map_std_m is None else map_std_m
    compiled = _lienav.evaluate(recording._compiled, names, settings, map, std_m, max_truth_gap_s)
    return Evaluation(compiled, recording)


def batch(
    source: Recording | str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    method: str = "batch",
    **options: Any,
) -> Report:
    """The maximum-likelihood estimate of a whole run, from all data at once: the least error that they allow.

    `method` is "batch", "batch-euler", "batch-cauchy" or "batch-calibrated"; `options` are those of :func:`evaluate`.
    """
    if "filters" in options:
        raise WrongCall("filters is for evaluate: here, method names the batch estimate")
    return evaluate(source, method, settings=settings, **options)[0]


def filters() -> list[str]:
    """The names of filters, then those of batch estimates."""
    return _lienav.filter_names()
