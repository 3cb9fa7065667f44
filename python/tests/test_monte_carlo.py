"""Many runs: on threads, in processes, on Dask; the bytes of one machine."""

import concurrent.futures
import os
import signal

import numpy as np
import pytest

import lienav
from lienav import _lienav
from lienav._monte_carlo import run_part

SHORT = {"trajectory.laps": 0.2}
EXPERIMENT = {"filters": ["default", "ekf"], "runs": 12, "seed": 4, "settings": SHORT}
CIRCLE = "thesis-circle-10hz-low-q1"


@pytest.fixture(scope="module")
def whole():
    return lienav.monte_carlo(CIRCLE, **EXPERIMENT)


def bytes_of(outcome, folder):
    outcome.write(folder, times=False)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_numbers_are_those_of_the_command_line(whole, command, tmp_path):
    words = ["monte-carlo", CIRCLE, "--filters", "default,ekf", "--runs", 12, "--seed", 4]
    words += ["--set", "trajectory.laps=0.2", "--no-times"]
    assert whole.to_json(times=False) + "\n" == command(*words, "--json")
    command(*words, "--out", tmp_path / "theirs")
    theirs = {path.name: path.read_bytes() for path in sorted((tmp_path / "theirs").iterdir())}
    assert bytes_of(whole, tmp_path / "ours") == theirs
    assert {"report.html", "report.json", "runs.csv", "steps.csv", "nees.svg"} < set(theirs)
    for k in (1, 2):
        command(*words[:-1], "--shard", f"{k}/2", "--out", tmp_path / "parts")
    assert lienav.merge_shards(tmp_path / "parts").to_json(times=False) == whole.to_json(times=False)
    (tmp_path / "parts" / "shard-2-of-2.jsonl").unlink()
    theirs = command("merge", tmp_path / "parts", fails=1)
    with pytest.raises(lienav.Failed) as raised:
        lienav.merge_shards(tmp_path / "parts")
    assert str(raised.value) == theirs and "missing: shard 2" in theirs


def test_threads_and_processes_give_the_same_bytes(whole, tmp_path):
    expected = bytes_of(whole, tmp_path / "whole")
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        outcome = lienav.monte_carlo(CIRCLE, **EXPERIMENT, executor=threads, parts=5)
    assert bytes_of(outcome, tmp_path / "threads") == expected
    with concurrent.futures.ProcessPoolExecutor(2) as processes:
        outcome = lienav.monte_carlo(CIRCLE, **EXPERIMENT, executor=processes)
    assert bytes_of(outcome, tmp_path / "processes") == expected


class Unreliable(concurrent.futures.Executor):
    """Loses every task so many times before it does it."""

    def __init__(self, losses):
        self.losses, self.calls = losses, {}

    def submit(self, function, /, spec, runs, threads):
        future = concurrent.futures.Future()
        self.calls[runs[0]] = self.calls.get(runs[0], 0) + 1
        if self.calls[runs[0]] <= self.losses:
            future.set_exception(ConnectionError("the worker has gone"))
        else:
            future.set_result(function(spec, runs, threads))
        return future


def test_a_task_that_is_lost_is_given_away_again_and_counted_once(whole):
    unreliable = Unreliable(losses=2)
    outcome = lienav.monte_carlo(CIRCLE, **EXPERIMENT, executor=unreliable, parts=3)
    assert outcome.to_json(times=False) == whole.to_json(times=False)
    assert unreliable.calls == {0: 3, 1: 3, 2: 3}
    with pytest.raises(lienav.Failed, match=r"runs 0, 3, … were lost 2 times with their worker: the worker has gone"):
        lienav.monte_carlo(CIRCLE, **EXPERIMENT, executor=Unreliable(losses=9), parts=3, retries=1)
    with pytest.raises(lienav.WrongCall, match="gate.probability"):
        wrong = {**EXPERIMENT, "filter_settings": {"gate.probability": 7}}
        lienav.monte_carlo(CIRCLE, **wrong, executor=Unreliable(losses=0))


def test_runs_that_are_missing_twice_or_damaged_are_refused():
    experiment = _lienav.Experiment(CIRCLE, ["ekf"], [("trajectory.laps", "0.1")], [], 3, 1)
    lines = run_part(experiment.spec(), [0, 1, 2])
    assert experiment.merge(lines[::-1]).json(False) == experiment.run(1).json(False)
    for given, what in [
        (lines[:2], "run 2 of the experiment is missing"),
        ([*lines, lines[1]], "run 1 of the experiment is there twice"),
        ([lines[0], lines[1], lines[2].replace("stamps", "stamqs")], "damaged"),
    ]:
        with pytest.raises(lienav.Failed, match=what):
            experiment.merge(given)
    with pytest.raises(lienav.Failed, match="install the same version on every machine"):
        _lienav.Experiment.from_spec(experiment.spec().replace(f'"{lienav.__version__}"', '"0.0.1"'))


def test_arrays_of_runs_and_steps(whole):
    steps, runs = whole.steps("ekf"), whole.runs("ekf")
    assert whole.filters == ["default", "ekf"] == list(whole["filters"])
    number = whole["filters"]["ekf"]
    assert np.mean(runs["nees_mean"]) == pytest.approx(number["nees_mean"], rel=1e-12)
    assert len(runs["seed"]) == 12 == len(set(runs["seed"].tolist()))
    assert len(steps.stamp_ns) == whole["steps"] and steps.nees_band.shape == (whole["steps"], 2)
    in_band = (steps.nees_mean >= steps.nees_band[:, 0]) & (steps.nees_mean <= steps.nees_band[:, 1])
    assert np.mean(in_band[~np.isnan(steps.nees_mean)]) == pytest.approx(number["nees_in_band_fraction"])
    assert len(whole.to_frame()) == 24
    assert len(whole.plot().axes[0].lines) == 2
    with pytest.raises(KeyError, match="there are default, ekf"):
        whole.steps("kalman")


def test_wrong_calls_name_what_is_wrong(command):
    for arguments, what in [
        ({"filters": ["ekf", "ekf"]}, "'ekf' is given twice"),
        ({"runs": 0}, "runs is 0; allowed: 1"),
        ({"settings": {"trajectory.lap": 1}}, "there is no setting 'trajectory.lap'"),
        ({"filter_settings": {"filter": "ekf"}}, "give it to filters"),
        ({"filters": ["kalman"]}, "kalman"),
        ({"settings": 3}, "settings are a int"),
        ({"executor": Unreliable(0), "parts": 9, "runs": 3}, "parts is 9; allowed: 1 … 3"),
    ]:
        with pytest.raises(lienav.WrongCall) as raised:
            lienav.monte_carlo(CIRCLE, **arguments)
        assert what in str(raised.value)
    theirs = command("monte-carlo", "thesis-square", fails=2)
    with pytest.raises(lienav.WrongCall) as raised:
        lienav.monte_carlo("thesis-square")
    assert str(raised.value) == theirs


def test_dask_gives_the_bytes_of_one_machine_though_a_worker_is_killed(tmp_path):
    """A scheduler and two worker processes on loopback; one is killed when it has given back some tasks."""
    distributed = pytest.importorskip("distributed")
    runs = int(os.environ.get("LIENAV_DASK_RUNS", "60"))
    experiment = {**EXPERIMENT, "runs": runs}
    done, killed = [], []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())
        assert len(set(workers)) == 2 and os.getpid() not in workers
        dask = client.get_executor()

        class Watched(concurrent.futures.Executor):
            """Dask's executor; when a third of the tasks is done, a worker is killed."""

            def submit(self, function, /, *arguments):
                future = dask.submit(function, *arguments)
                future.add_done_callback(self.count)
                return future

            def count(self, future):
                done.append(future)
                if len(done) >= runs // 3 and not killed:
                    killed.append(workers[0])
                    os.kill(workers[0], signal.SIGKILL)

        outcome = lienav.monte_carlo(CIRCLE, **experiment, executor=Watched(), parts=runs)
        now = client.run(os.getpid).values()
    assert killed and killed[0] not in now and len(done) == runs
    whole = lienav.monte_carlo(CIRCLE, **experiment)
    assert bytes_of(outcome, tmp_path / "dask") == bytes_of(whole, tmp_path / "whole")
