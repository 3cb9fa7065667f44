"""Planar landmark SLAM by symmetry-reduced Kalman filtering, attitude by Lie group integrators, simulation, evaluation.

- :class:`Slam` is the filter: messages in, steps out. :class:`KalmanFilter` is the same filter, stepped by
  the program, with sensors whose model is written in Python. :class:`Attitude` estimates orientation.
- :func:`open` reads bags and data sets, :func:`simulate` simulates, :class:`Recording` also takes arrays.
- :func:`evaluate` runs filters over a recording and judges them; :func:`batch` is the estimate from all data at once;
  :func:`monte_carlo` does it for many simulated runs, on one machine or many.
- :class:`Slam3d` is the filter in space, of an inertial sensor and features; :func:`simulate3d`, :func:`open3d` and
  :func:`evaluate3d` are of recordings in space (so are the functions without 3d, of sources in space).
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
from ._data3d import (
    Errors3d,
    Features3d,
    Imu3d,
    Landmarks3d,
    Map3d,
    Odometry3d,
    Pose3d,
    Poses3d,
    Steps3d,
    Truth3d,
)
from ._errors import Error, Failed, WrongCall, WrongType
from ._evaluation import Evaluation, Report, batch, evaluate, filters
from ._judge import Judgement, judge
from ._lienav import Correction, KalmanFilter, Step, Step3d, __version__
from ._monte_carlo import MonteCarlo, merge_shards, monte_carlo
from ._recording import Recording, open, scenarios, simulate  # noqa: A004
from ._slam import Slam
from ._space import Evaluation3d, Recording3d, Report3d, Slam3d, evaluate3d, open3d, scenarios3d, simulate3d
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
    "Errors3d",
    "Evaluation",
    "Evaluation3d",
    "Failed",
    "Features",
    "Features3d",
    "Imu",
    "Imu3d",
    "Judgement",
    "KalmanFilter",
    "Landmarks",
    "Landmarks3d",
    "Map3d",
    "MonteCarlo",
    "Odometry",
    "Odometry3d",
    "Pose",
    "Pose3d",
    "Poses3d",
    "Recording",
    "Recording3d",
    "Report",
    "Report3d",
    "RunMeans",
    "Slam",
    "Slam3d",
    "Step",
    "Step3d",
    "Steps",
    "Steps3d",
    "Truth3d",
    "WrongCall",
    "WrongType",
    "__version__",
    "batch",
    "evaluate",
    "evaluate3d",
    "evaluate_attitude",
    "filters",
    "judge",
    "lie",
    "merge_shards",
    "monte_carlo",
    "open",
    "open3d",
    "scenarios",
    "scenarios3d",
    "simulate",
    "simulate3d",
    "table",
    "to_ns",
]
