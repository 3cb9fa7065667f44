"""Figures with matplotlib, from the arrays of reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import Error, WrongCall, WrongType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._evaluation import Evaluation, Report
    from ._judge import Judgement
    from ._monte_carlo import MonteCarlo

# 95 % of χ² with three degrees of freedom, equally likely to be left on either side.
_NEES_BAND = (0.2157952826, 9.3484036)
_ESTIMATE, _TRUTH, _BAND = "#1f6fb4", "#444444", "#b8cfe6"


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise Error("matplotlib is not installed; `pip install matplotlib` gives plots") from None
    return plt


def _ellipses(axes: Any, positions: np.ndarray, covariances: np.ndarray, **style: Any) -> None:
    """Ellipses of 95 % of each position."""
    turn = np.linspace(0.0, 2.0 * np.pi, 40)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    for position, covariance in zip(positions, covariances):
        values, vectors = np.linalg.eigh(covariance)
        shape = vectors @ np.diag(np.sqrt(5.991 * np.maximum(values, 0.0)))
        axes.plot(*(position[:, None] + shape @ circle), **style)


def _draw_map(axes: Any, report: Report, label: str, color: str) -> None:
    steps, landmarks = report.steps, report.landmarks
    axes.plot(steps.pose[:, 0], steps.pose[:, 1], color=color, linewidth=1.2, label=label)
    axes.plot(landmarks.position[:, 0], landmarks.position[:, 1], "+", color=color, markersize=5)


def _draw_truth(axes: Any, report: Report) -> None:
    _, truth = report.recording.truth
    if len(truth):
        axes.plot(truth[:, 0], truth[:, 1], color=_TRUTH, linewidth=0.8, linestyle="--", label="truth")
    _, places = report.recording.true_landmarks
    if len(places):
        axes.plot(places[:, 0], places[:, 1], ".", color=_TRUTH, markersize=3)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="x [m]", ylabel="y [m]")


def _map(axes: Any, report: Report) -> None:
    _draw_map(axes, report, report.filter, _ESTIMATE)
    _ellipses(axes, report.landmarks.position, report.landmarks.covariance, color=_ESTIMATE, linewidth=0.6)
    _draw_truth(axes, report)
    axes.legend(loc="best")
    axes.set_title(report.recording.name)


def _error(axes: Any, report: Report, k: int, name: str) -> None:
    errors = report.errors
    band = 3.0 * errors.std[:, k]
    axes.fill_between(errors.time_s, -band, band, color=_BAND, linewidth=0.0, label="3σ")
    axes.plot(errors.time_s, errors.error[:, k], color=_ESTIMATE, linewidth=0.8)
    axes.set(xlabel="time [s]", ylabel=f"{name} error [{'rad' if name == 'yaw' else 'm'}]")


def _nees(axes: Any, report: Report) -> None:
    errors = report.errors
    axes.axhspan(*_NEES_BAND, color=_BAND, linewidth=0.0)
    axes.plot(errors.time_s, errors.nees, color=_ESTIMATE, linewidth=0.8)
    axes.set(xlabel="time [s]", ylabel="NEES", ylim=(0.0, None))


_OF_REPORT: dict[str, Callable[[Any, Report], None]] = {
    "map": _map,
    "x": lambda axes, report: _error(axes, report, 0, "x"),
    "y": lambda axes, report: _error(axes, report, 1, "y"),
    "yaw": lambda axes, report: _error(axes, report, 2, "yaw"),
    "nees": _nees,
}


def _maps(axes: Any, evaluation: Evaluation) -> None:
    for k, report in enumerate(evaluation):
        _draw_map(axes, report, report.filter, f"C{k}")
    _draw_truth(axes, evaluation[0])
    axes.legend(loc="best")


def _position_errors(axes: Any, evaluation: Evaluation) -> None:
    for k, report in enumerate(evaluation):
        errors = report.errors
        distance = np.hypot(errors.error[:, 0], errors.error[:, 1])
        axes.plot(errors.time_s, distance, color=f"C{k}", linewidth=0.8, label=report.filter)
    axes.set(xlabel="time [s]", ylabel="position error [m]")


def _all_nees(axes: Any, evaluation: Evaluation) -> None:
    for k, report in enumerate(evaluation):
        axes.plot(report.errors.time_s, report.errors.nees, color=f"C{k}", linewidth=0.8, label=report.filter)
    axes.axhspan(*_NEES_BAND, color="#dddddd", linewidth=0.0, zorder=0)
    axes.set(xlabel="time [s]", ylabel="NEES", yscale="log")


_OF_EVALUATION: dict[str, Callable[[Any, Evaluation], None]] = {
    "map": _maps,
    "error": _position_errors,
    "nees": _all_nees,
}


def _rmse_of_runs(axes: Any, outcome: MonteCarlo) -> None:
    for k, name in enumerate(outcome.filters):
        steps = outcome.steps(name)
        axes.plot(steps.time_s, steps.position_rmse_m, color=f"C{k}", linewidth=1.0, label=name)
    axes.set(xlabel="time [s]", ylabel="position RMSE over runs [m]")
    axes.legend(loc="best")


def _nees_of_runs(axes: Any, outcome: MonteCarlo) -> None:
    for k, name in enumerate(outcome.filters):
        steps = outcome.steps(name)
        axes.plot(steps.time_s, steps.nees_mean, color=f"C{k}", linewidth=1.0, label=name)
        if k == 0:
            low, high = steps.nees_band.T
            band = {"color": "#dddddd", "linewidth": 0.0, "label": "95 % of a right filter"}
            axes.fill_between(steps.time_s, low, high, **band)
    axes.set(xlabel="time [s]", ylabel="mean NEES (3 is right)")
    axes.legend(loc="best")


def _seconds(judgement: Judgement) -> np.ndarray:
    stamps = judgement.stamp_ns
    return (stamps - stamps[:1]) * 1e-9


def _distance(axes: Any, judgement: Judgement) -> None:
    distance = np.linalg.norm(judgement.error[:, :3], axis=1)
    axes.plot(_seconds(judgement), distance, color=_ESTIMATE, linewidth=0.8)
    axes.set(xlabel="time [s]", ylabel="position error [m]", ylim=(0.0, None))


def _angle(axes: Any, judgement: Judgement) -> None:
    angle = np.degrees(np.linalg.norm(judgement.error[:, 3:], axis=1))
    axes.plot(_seconds(judgement), angle, color=_ESTIMATE, linewidth=0.8)
    axes.set(xlabel="time [s]", ylabel="orientation error [°]", ylim=(0.0, None))


def _judged_nees(axes: Any, judgement: Judgement) -> None:
    found = judgement["consistency"]["pose"]
    axes.plot(_seconds(judgement), judgement.nees[:, 2], color=_ESTIMATE, linewidth=0.8)
    if found is not None:
        axes.axhline(found["dof"], color=_TRUTH, linewidth=0.8, linestyle="--", label=f"{found['dof']} is right")
        axes.legend(loc="best")
    axes.set(xlabel="time [s]", ylabel="NEES of the pose", ylim=(0.0, None))


def _calibration(axes: Any, judgement: Judgement) -> None:
    axes.plot([0, 1], [0, 1], color=_TRUTH, linewidth=0.8, linestyle="--")
    found = judgement["calibration"]
    if found is not None:
        axes.plot([0, *found["claimed"]], [0, *found["found"]], color=_ESTIMATE, linewidth=1.2)
    axes.set(xlabel="claimed quantile", ylabel="found within", xlim=(0, 1), ylim=(0, 1))


_OF_JUDGEMENT: dict[str, Callable[[Any, Judgement], None]] = {
    "position": _distance,
    "orientation": _angle,
    "nees": _judged_nees,
    "calibration": _calibration,
}


_OF_RUNS: dict[str, Callable[[Any, MonteCarlo], None]] = {"error": _rmse_of_runs, "nees": _nees_of_runs}


def _on(ax: Any, what: str | None, panels: Mapping[str, Callable[[Any, Any], None]], subject: Any) -> Figure:
    """One panel on the axes of a figure that the user has made."""
    what = next(iter(panels)) if what is None else what
    if what not in panels:
        raise WrongCall(f"what is {what!r}; allowed: {' | '.join(panels)}")
    _pyplot()
    if not hasattr(ax, "fill_between"):
        raise WrongType(f"ax is of type {type(ax).__name__}; expected axes of matplotlib")
    panels[what](ax, subject)
    figure: Figure = ax.figure
    return figure


def plot_report(report: Report, ax: Any = None, what: str | None = None) -> Figure:
    """See Report.plot."""
    if ax is not None or what is not None:
        return _on(_pyplot().subplots()[1] if ax is None else ax, what, _OF_REPORT, report)
    figure: Figure
    figure, axes = _pyplot().subplot_mosaic(
        [["map", "x"], ["map", "y"], ["map", "yaw"], ["map", "nees"]], figsize=(11, 7), layout="constrained"
    )
    for name, panel in _OF_REPORT.items():
        panel(axes[name], report)
    for name in ("x", "y", "yaw"):
        axes[name].set_xlabel("")
        axes[name].tick_params(labelbottom=False)
    return figure


def plot_evaluation(evaluation: Evaluation, ax: Any = None, what: str | None = None) -> Figure:
    """See Evaluation.plot."""
    if ax is not None or what is not None:
        return _on(_pyplot().subplots()[1] if ax is None else ax, what, _OF_EVALUATION, evaluation)
    figure: Figure
    figure, axes = _pyplot().subplot_mosaic(
        [["map", "error"], ["map", "nees"]], figsize=(11, 5.5), layout="constrained"
    )
    for name, panel in _OF_EVALUATION.items():
        panel(axes[name], evaluation)
    axes["error"].set_xlabel("")
    return figure


def plot_monte_carlo(outcome: MonteCarlo, ax: Any = None, what: str | None = None) -> Figure:
    """See MonteCarlo.plot."""
    if ax is not None or what is not None:
        return _on(_pyplot().subplots()[1] if ax is None else ax, what, _OF_RUNS, outcome)
    figure: Figure
    figure, axes = _pyplot().subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for panel, one in zip(_OF_RUNS.values(), axes):
        panel(one, outcome)
    axes[0].set(xlabel="", title=f"{outcome['scenario']}, {outcome['runs']} runs")
    return figure


def plot_judgement(judgement: Judgement, ax: Any = None, what: str | None = None) -> Figure:
    """See Judgement.plot."""
    if ax is not None or what is not None:
        return _on(_pyplot().subplots()[1] if ax is None else ax, what, _OF_JUDGEMENT, judgement)
    figure: Figure
    figure, axes = _pyplot().subplot_mosaic(
        [["position", "nees"], ["orientation", "calibration"]], figsize=(10, 6), layout="constrained"
    )
    for name, panel in _OF_JUDGEMENT.items():
        panel(axes[name], judgement)
    return figure
