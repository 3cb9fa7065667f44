"""Planar landmark SLAM by symmetry-reduced Kalman filtering, attitude by Lie group integrators, simulation, evaluation.

- :class:`Slam` is the filter: messages in, steps out. :class:`KalmanFilter` is the same filter, stepped by
  the program, with sensors whose model is written in Python. :class:`Attitude` estimates orientation.
- :func:`open` reads bags and data sets, :func:`simulate` simulates, :class:`Recording` also takes arrays.
- :func:`evaluate` runs filters over a recording and judges them; :func:`batch` is the estimate from all data at once;
  :func:`monte_carlo` does it for many simulated runs, on one machine or many.
- :func:`judge` judges estimates of any program and the covariances that they state.
- :mod:`lienav.lie` has the Lie groups.

Numbers are those of the command line, to the last bit. Errors are :class:`Error`, with the same sentences.
"""

from . import lie
from ._attitude import Attitude, AttitudeReport, evaluate_attitude
from ._data import (
    AttitudeEstimate,
    Attitudes,
    Decisions,
    Errors,
    Features,
    Imu,
    Landmarks,
    Odometry,
    Pose,
    RunMeans,
    Steps,
    to_ns,
)
from ._errors import Error, Failed, WrongCall, WrongType
from ._evaluation import Evaluation, Report, batch, evaluate, filters
from ._judge import Judgement, judge
from ._lienav import Correction, KalmanFilter, Step, __version__
from ._monte_carlo import MonteCarlo, merge_shards, monte_carlo
from ._recording import Recording, open, scenarios, simulate  # noqa: A004
from ._slam import Slam
from ._table import table

__all__ = [
    "Attitude",
    "AttitudeEstimate",
    "AttitudeReport",
    "Attitudes",
    "Correction",
    "Decisions",
    "Error",
    "Errors",
    "Evaluation",
    "Failed",
    "Features",
    "Imu",
    "Judgement",
    "KalmanFilter",
    "Landmarks",
    "MonteCarlo",
    "Odometry",
    "Pose",
    "Recording",
    "Report",
    "RunMeans",
    "Slam",
    "Step",
    "Steps",
    "WrongCall",
    "WrongType",
    "__version__",
    "batch",
    "evaluate",
    "evaluate_attitude",
    "filters",
    "judge",
    "lie",
    "merge_shards",
    "monte_carlo",
    "open",
    "scenarios",
    "simulate",
    "table",
    "to_ns",
]
