"""Figures with matplotlib, from the arrays of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import Error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._evaluation import Evaluation, Report
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


def plot_report(report: Report) -> Figure:
    """See Report.plot."""
    plt = _pyplot()
    figure: Figure
    figure, axes = plt.subplot_mosaic(
        [["map", "x"], ["map", "y"], ["map", "yaw"], ["map", "nees"]], figsize=(11, 7), layout="constrained"
    )
    _draw_map(axes["map"], report, report.filter, _ESTIMATE)
    _ellipses(axes["map"], report.landmarks.position, report.landmarks.covariance, color=_ESTIMATE, linewidth=0.6)
    _draw_truth(axes["map"], report)
    axes["map"].legend(loc="best")
    axes["map"].set_title(report.recording.name)
    errors = report.errors
    time = errors.time_s
    for k, (name, unit) in enumerate((("x", "m"), ("y", "m"), ("yaw", "rad"))):
        band = 3.0 * errors.std[:, k]
        axes[name].fill_between(time, -band, band, color=_BAND, linewidth=0.0, label="3σ")
        axes[name].plot(time, errors.error[:, k], color=_ESTIMATE, linewidth=0.8)
        axes[name].set_ylabel(f"{name} error [{unit}]")
        axes[name].tick_params(labelbottom=False)
    axes["nees"].axhspan(*_NEES_BAND, color=_BAND, linewidth=0.0)
    axes["nees"].plot(time, errors.nees, color=_ESTIMATE, linewidth=0.8)
    axes["nees"].set(xlabel="time [s]", ylabel="NEES", ylim=(0.0, None))
    return figure


def plot_evaluation(evaluation: Evaluation) -> Figure:
    """See Evaluation.plot."""
    plt = _pyplot()
    figure: Figure
    figure, axes = plt.subplot_mosaic([["map", "error"], ["map", "nees"]], figsize=(11, 5.5), layout="constrained")
    for k, report in enumerate(evaluation):
        color = f"C{k}"
        _draw_map(axes["map"], report, report.filter, color)
        errors = report.errors
        distance = np.hypot(errors.error[:, 0], errors.error[:, 1])
        axes["error"].plot(errors.time_s, distance, color=color, linewidth=0.8, label=report.filter)
        axes["nees"].plot(errors.time_s, errors.nees, color=color, linewidth=0.8)
    _draw_truth(axes["map"], evaluation[0])
    axes["map"].legend(loc="best")
    axes["error"].set(ylabel="position error [m]")
    axes["nees"].axhspan(*_NEES_BAND, color="#dddddd", linewidth=0.0, zorder=0)
    axes["nees"].set(xlabel="time [s]", ylabel="NEES", yscale="log")
    return figure


def plot_monte_carlo(outcome: MonteCarlo) -> Figure:
    """See MonteCarlo.plot."""
    plt = _pyplot()
    figure: Figure
    figure, axes = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for k, name in enumerate(outcome.filters):
        steps = outcome.steps(name)
        axes[0].plot(steps.time_s, steps.position_rmse_m, color=f"C{k}", linewidth=1.0, label=name)
        axes[1].plot(steps.time_s, steps.nees_mean, color=f"C{k}", linewidth=1.0)
        if k == 0:
            low, high = steps.nees_band.T
            band = {"color": "#dddddd", "linewidth": 0.0, "label": "95 % of a right filter"}
            axes[1].fill_between(steps.time_s, low, high, **band)
    axes[0].set(ylabel="position RMSE over runs [m]", title=f"{outcome['scenario']}, {outcome['runs']} runs")
    axes[0].legend(loc="best")
    axes[1].set(xlabel="time [s]", ylabel="mean NEES (3 is right)")
    axes[1].legend(loc="best")
    return figure
