"""What a user sees of the module: documentation, types, notebooks."""

import ast
import doctest
import importlib
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import lienav

PACKAGE = pathlib.Path(lienav.__file__).parent
SOURCE = pathlib.Path(__file__).resolve().parents[1]


def public():
    for name in lienav.__all__:
        value = getattr(lienav, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, value


def test_everything_public_is_documented():
    bare = [name for name, value in public() if not inspect.getdoc(value)]
    for name, value in public():
        if inspect.isclass(value):
            members = [m for m in dir(value) if not m.startswith("_") and callable(getattr(value, m))]
            helpers = {"run_arrays", "run_recording", "settings_json", "map_json", "equip", "with_traceback", "add_note"}
            bare += [f"{name}.{m}" for m in members if m not in helpers and not inspect.getdoc(getattr(value, m))]
    assert bare == []


@pytest.mark.parametrize("name", ["lienav._data", "lienav._data3d", "lienav._slam", "lienav._space", "lienav._attitude", "lienav._judge", "lienav._table", "lienav.lie"])
def test_examples_in_the_documentation_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0 and result.attempted > 0


def test_the_stubs_are_those_of_the_compiled_module():
    """Every class, function and parameter of the stub is there, and the other way round."""
    from lienav import _lienav

    stub = ast.parse((PACKAGE / "_lienav.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    there = {name for name in dir(_lienav) if not name.startswith("__")}
    assert there == functions.keys() | classes.keys()

    def parameters(node):
        arguments = node.args
        return [a.arg for a in arguments.args + arguments.kwonlyargs if a.arg not in ("self", "cls")]

    def found(value):
        return [name for name in inspect.signature(value).parameters if name != "self"]

    for name, node in functions.items():
        assert parameters(node) == found(getattr(_lienav, name)), name
    for name, node in classes.items():
        value = getattr(_lienav, name)
        members = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        there = {m for m in vars(value) if not m.startswith("_")}
        assert there == {m for m in members if not m.startswith("_")}, name
        for member, one in members.items():
            if not one.decorator_list and not member.startswith("__"):
                assert parameters(one) == found(getattr(value, member)), (name, member)


DATA = [name for name, value in public() if hasattr(value, "__dataclass_fields__")]


@pytest.mark.parametrize("name", DATA)
def test_help_of_data_says_shapes_and_units(name):
    value = getattr(lienav, name)
    text = inspect.getdoc(value)
    for field in value.__dataclass_fields__:
        line = re.search(rf"^- `{field}`: (.*?)(?=^- |\Z)", text, flags=re.DOTALL | re.MULTILINE)
        assert line, f"{name}.{field}"
        assert re.search(r"\bm\b|m²|rad|\bns\b|quaternion|int64|NEES|squared|\d %|whether|values", line[1]), line[0]


SCRIPT = '''
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import lienav

odometry = lienav.Odometry(np.arange(3) * 10**8, np.zeros((3, 3)))
imu = lienav.Imu(np.arange(3) * 10**8, np.zeros(3))
features = lienav.Features(np.arange(3) * 10**8, np.arange(4), np.ones(3, np.int64), np.ones((3, 2)))
recording: lienav.Recording = lienav.Recording.from_arrays(odometry=odometry, features=features, imu=imu)
slam = lienav.Slam({"gate.probability": 0.99})
steps: lienav.Steps = slam.run(recording)
step: lienav.Step | None = slam.poll()
pose: lienav.Pose | None = slam.predicted()
landmarks: lienav.Landmarks = slam.landmarks()
of_gate: lienav.Decisions = slam.decisions()
evaluation: lienav.Evaluation = lienav.evaluate(recording, ["default", "ekf"])
report: lienav.Report = evaluation["ekf"]
first: lienav.Report = evaluation[0]
some: list[lienav.Report] = evaluation[:1]
errors: lienav.Errors = report.errors
value: float = report["position_rmse_m"]
filter = lienav.KalmanFilter()
correction: lienav.Correction = filter.correct([[1.0, 0.0]], [1])
decisions: list[str] = correction.decisions
attitude = lienav.Attitude()
attitudes: lienav.Attitudes = attitude.run(np.arange(3), np.zeros((3, 3)), np.ones((3, 3)))
estimate: lienav.AttitudeEstimate | None = attitude.estimate()
outcome: lienav.MonteCarlo = lienav.monte_carlo("esde", runs=1)
means: lienav.RunMeans = outcome.steps("default")
judgement: lienav.Judgement = lienav.judge(np.zeros((2, 4)), np.zeros((2, 4)))
numbers: Mapping[str, Any] = judgement
swing: lienav.AttitudeReport = lienav.evaluate_attitude("broad:01.hdf5")
stamp: int | np.ndarray[Any, np.dtype[np.int64]] = lienav.to_ns([0.5])
imu3d = lienav.Imu3d(np.arange(3), np.zeros((3, 3)), np.ones((3, 3)))
features3d = lienav.Features3d.of_measurements([0], [[1.0, 2.0, 3.0]], [7], kind="position")
odometry3d = lienav.Odometry3d(np.arange(3), np.zeros((3, 3)))
poses3d = lienav.Poses3d(np.arange(1), np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0, 1.0]]), np.eye(6)[None])
slam3d = lienav.Slam3d({"imu.gyro_noise": 1e-3})
slam3d.set_sensor(0, pose=np.eye(4), focal=(400.0, 400.0), pixel_std=(1.0, 1.0))
steps3d: lienav.Steps3d = slam3d.run(imu=imu3d, features=features3d, odometry=odometry3d, poses=poses3d)
reason: str | None = slam3d.imu(10, [0.0, 0.0, 0.0], [0.0, 0.0, 9.8])
step3d: lienav.Step3d | None = slam3d.poll()
pose3d: lienav.Pose3d | None = slam3d.predicted()
landmarks3d: lienav.Landmarks3d = slam3d.landmarks()
map3d: lienav.Map3d = slam3d.map()
slam3d.load_map(map3d)
again: lienav.Slam3d = lienav.Slam3d.resume(slam3d.settings, slam3d.save())
run3d: lienav.Recording3d = lienav.simulate3d("rest-stereo-industrial", seed=1)
truth3d: lienav.Truth3d = run3d.truth
judged3d: lienav.Evaluation3d = lienav.evaluate3d(run3d, ["default"])
report3d: lienav.Report3d = judged3d["default"]
errors3d: lienav.Errors3d = report3d.errors
ends = lienav.lie.SE2.exp(np.zeros((4, 3)))
try:
    lienav.open("nowhere")
except (lienav.WrongType, lienav.WrongCall, lienav.Failed) as error:
    refusal: lienav.Error = error
'''


@pytest.fixture(scope="session")
def mypy(tmp_path_factory):
    """Runs mypy, which then knows the types of numpy; what it says, and whether it found nothing."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("mypy")
    call = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", str(folder)]

    def run(*words: object) -> tuple[str, bool]:
        done = subprocess.run([*call, *map(str, words)], capture_output=True, text=True, cwd=folder)
        return done.stdout + done.stderr, done.returncode == 0

    return run


def test_the_types_are_consistent(mypy):
    said, passed = mypy("-p", "lienav")
    assert passed, said


def test_a_script_with_every_class_is_typed_strictly(mypy, tmp_path):
    classes = {name for name, value in public() if inspect.isclass(value)}
    assert {name for name in classes if f"lienav.{name}" not in SCRIPT} == set()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    said, passed = mypy(script)
    assert passed, said
    wrong = tmp_path / "wrong.py"
    wrong.write_text(SCRIPT + "\nnot_a_report: int = evaluation[0]\n")
    said, passed = mypy(wrong)
    assert not passed and "Incompatible types in assignment" in said, said


def blocks(page):
    text = (SOURCE.parent / "docs" / page).read_text()
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", ["python.md", "lab/own-ekf.md"])
def test_the_examples_of_the_page_run(page, tmp_path, monkeypatch):
    """From its first block to its last, but those that want another engine."""
    monkeypatch.chdir(tmp_path)
    names = {}
    assert len(blocks(page)) > 5
    for block in blocks(page):
        if not any(engine in block for engine in ("import ray", "mpi4py", "distributed")):
            exec(compile(block, f"docs/{page}", "exec"), names)


NOTEBOOKS = sorted((SOURCE / "notebooks").glob("*.ipynb"))


def test_there_are_five_notebooks_without_output():
    assert len(NOTEBOOKS) == 5
    for path in NOTEBOOKS:
        assert '"outputs": []' in path.read_text() and "image/png" not in path.read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    try:
        nbclient.NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
        ).execute()
    finally:
        os.environ["MPLBACKEND"] = "agg"
    kinds = {kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})}
    assert "image/png" in kinds
