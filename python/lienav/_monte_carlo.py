"""Many simulated runs: on this machine, or on any executor."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future
from concurrent.futures import wait as wait_for
from typing import TYPE_CHECKING, Any

from . import _lienav
from ._data import Floats, RunMeans, pandas_module
from ._errors import Error, Failed, WrongCall, WrongType
from ._recording import names_of, path_of
from ._settings import as_pairs

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class MonteCarlo(Mapping[str, Any]):
    """What many runs came to, by the keys of the JSON report: `outcome["filters"]["ekf"]["position_rmse_m"]`."""

    def __init__(self, compiled: _lienav.Outcome) -> None:
        self._compiled = compiled
        self._numbers: dict[str, Any] = json.loads(compiled.json(True))

    def __getitem__(self, key: str) -> Any:
        return self._numbers[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def filters(self) -> list[str]:
        """Their names, in the order of the experiment; the others are compared with the first."""
        return self._compiled.filters()

    def _which(self, name: str) -> int:
        if name not in self.filters:
            raise KeyError(f"no filter '{name}'; there are {', '.join(self.filters)}")
        return self.filters.index(name)

    def steps(self, name: str) -> RunMeans:
        """One filter at each step, over the runs."""
        return self._compiled.steps(self._which(name))

    def runs(self, name: str) -> dict[str, Floats]:
        """One filter in each run, over its steps: arrays (runs,) by the keys of the report; NaN where there is no
        number. `seed` is that of the scenario."""
        return self._compiled.runs(self._which(name))

    def to_json(self, *, times: bool = True) -> str:
        """As `lienav monte-carlo --json` prints it; without times, it is the same every time, to the last byte."""
        return self._compiled.json(times)

    def write(self, folder: str | os.PathLike[str], *, times: bool = True) -> None:
        """Writes the folder of `lienav monte-carlo --out`: reports, CSV and SVG."""
        self._compiled.write(path_of("folder", folder), times)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each run of each filter."""
        pandas = pandas_module()
        frames = [pandas.DataFrame(self.runs(name)).assign(filter=name) for name in self.filters]
        return pandas.concat(frames, ignore_index=True)

    def plot(self, *, ax: Axes | None = None, what: str | None = None) -> Figure:
        """Error and NEES over time, over the runs: a matplotlib figure.

        With `ax` or `what`, one panel on axes of your own or new ones: "error" or "nees". Gives the figure."""
        from ._plot import plot_monte_carlo

        return plot_monte_carlo(self, ax, what)

    def __str__(self) -> str:
        return self._compiled.text(True)

    def __repr__(self) -> str:
        return f"<lienav.MonteCarlo of {self['scenario']!r}: {self['runs']} runs of {', '.join(self.filters)}>"


def run_part(spec: str, runs: Sequence[int], threads: int = 1) -> list[str]:
    """Some runs of an experiment, each as a line of text with its check sum: what an executor's worker does."""
    return _lienav.Experiment.from_spec(spec).run_some(list(runs), threads)


def monte_carlo(
    scenario: str | Mapping[str, Any] | os.PathLike[str],
    filters: str | Sequence[str] = ("default",),
    *,
    runs: int = 50,
    seed: int = 1,
    settings: Mapping[str, Any] | None = None,
    filter_settings: Mapping[str, Any] | None = None,
    threads: int = 0,
    executor: Executor | None = None,
    parts: int | None = None,
    retries: int = 2,
) -> MonteCarlo:
    """Simulates many runs of a scenario and runs filters over them: `lienav monte-carlo`, with the same numbers to the
    last bit, however many threads, processes or machines make them.

    `settings` are of the scenario, `filter_settings` of every filter over those. Without `executor`, the runs are made
    on `threads` threads of this process; 0 is as many as there are processors.

    `executor` is anything with the interface of `concurrent.futures.Executor`: a ProcessPoolExecutor,
    `dask.distributed.Client(…).get_executor()`, `mpi4py.futures.MPIPoolExecutor()`. The runs go to it in `parts` tasks
    (as many as there are runs, up to 256), each on `threads` threads (1 if it is 0). A task that is lost with its
    worker is given to the executor again, up to `retries` times; each run is counted once, and what is missing in the
    end is an error that names it.
    """
    experiment = _lienav.Experiment(scenario, names_of("filters", filters), as_pairs(settings), as_pairs(filter_settings), runs, seed)
    if executor is None:
        return MonteCarlo(experiment.run(threads))
    if not hasattr(executor, "submit"):
        raise WrongType(f"executor is of type {type(executor).__name__}; expected one as in concurrent.futures")
    if retries < 0:
        raise WrongCall(f"retries is {retries}; allowed: 0 or more")
    count = min(runs, 256) if parts is None else parts
    if not 1 <= count <= runs:
        raise WrongCall(f"parts is {count}; allowed: 1 … {runs}, the number of runs")
    tasks = [range(first, runs, count) for first in range(count)]
    lines = _gather(executor, experiment.spec(), tasks, max(threads, 1), retries)
    return MonteCarlo(experiment.merge(lines))


def _gather(executor: Executor, spec: str, tasks: list[range], threads: int, retries: int) -> list[str]:
    """The lines of all tasks, each task's once."""
    waiting: dict[Future[list[str]], range] = {}
    tries = dict.fromkeys(tasks, 0)
    lines: list[str] = []

    def submit(task: range) -> None:
        try:
            waiting[executor.submit(run_part, spec, list(task), threads)] = task
        except RuntimeError as error:  # a pool whose process has died takes nothing more
            problem = f"the executor takes no more tasks: {error or type(error).__name__}; make a new one"
            raise Failed(problem) from error

    try:
        for task in tasks:
            submit(task)
        while waiting:
            # By hand, as an executor's futures need not be those of the standard library.
            for future, task in list(waiting.items()):
                if not future.done():
                    continue
                del waiting[future]
                error = None if future.cancelled() else future.exception()
                if error is None and not future.cancelled():
                    lines += future.result()
                elif isinstance(error, Error):
                    raise error
                elif tries[task] < retries:
                    tries[task] += 1
                    submit(task)
                else:
                    first = error or "it was cancelled"
                    raise Failed(
                        f"runs {task.start}, {task.start + task.step}, … were lost {retries + 1} times with their "
                        f"worker: {first}; look at the log of the workers, or raise retries"
                    ) from error
            _wait(waiting)
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
    return lines


def _wait(waiting: Mapping[Future[list[str]], range]) -> None:
    """Until one is done, or for a moment; Ctrl-C is heard in between."""
    if waiting and all(isinstance(future, Future) for future in waiting):
        wait_for(list(waiting), timeout=0.2, return_when=FIRST_COMPLETED)
    elif waiting and not any(future.done() for future in waiting):
        time.sleep(0.02)


def merge_shards(paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str]) -> MonteCarlo:
    """The parts that `lienav monte-carlo … --shard K/N --out FOLDER` has made, added up: `lienav merge`."""
    files: list[str] = []
    for path in names_of("paths", paths, "paths"):
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.startswith("shard-") and name.endswith(".jsonl"))
            files += [os.path.join(path, name) for name in names]
        else:
            files.append(path)
    return MonteCarlo(_lienav.merge_shards(files))
