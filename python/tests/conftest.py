"""What the tests share: the command line that Python has to agree with, and a short recording."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import lienav

ROOT = Path(__file__).resolve().parents[2]


def find_command() -> str | None:
    given = os.environ.get("LIENAV_COMMAND")
    built = [ROOT / "target" / profile / "lienav" for profile in ("release", "debug")]
    return given or next((str(path) for path in built if path.exists()), None)


@pytest.fixture(scope="session")
def command():
    """Runs the command line, and gives what it prints; with `fails`, the sentence that it fails with."""
    program = find_command()
    if program is None:
        pytest.skip("no command line to compare with: cargo build --no-default-features --bin lienav")

    def run(*words: object, fails: int = 0) -> str:
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=300)
        assert done.returncode == fails, done.stderr
        return done.stderr.strip().removeprefix("lienav: ") if fails else done.stdout

    return run


@pytest.fixture(scope="session")
def recording() -> lienav.Recording:
    """A robot on a circle, some hundred clouds."""
    return lienav.simulate(seed=3, settings={"trajectory.laps": 0.5})


@pytest.fixture(scope="session")
def bag(recording, tmp_path_factory) -> str:
    """The same as a bag."""
    path = tmp_path_factory.mktemp("bags") / "circle"
    assert recording.to_bag(path) > len(recording)
    return str(path)


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
