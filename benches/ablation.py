"""What each mechanism of the filter is worth: the errors without it, beside those with all of them.

    python3 benches/ablation.py ../shared/data --runs 2 --seed 1
    python3 benches/ablation.py ../shared/data --only cuts,slips

Recordings and runs made like them, with landmarks drawn anew (`like_mrclam.py`, `like_city_trees.py`), run without
identities and with all mechanisms; then with each left out by `choices.without`, or with a setting that turns it off.
Prints, for each kind of run, the geometric mean of the factors by which the position error grows (aligned, where a map
is made), and of how many runs the error grows and shrinks by more than 3 %. 1.00 everywhere: the mechanism is worth
nothing there. Then, for all runs together, the median NEES of the pose in units of what is right (3).
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import statistics
import subprocess
import tempfile

import like_city_trees
import like_mrclam

ROOT = pathlib.Path(__file__).resolve().parent.parent
MECHANISMS = [
    "cuts", "slips", "undo_loop", "refilter", "duplicates", "field_of_view", "loops", "after_gap",
    "carried", "wide_prior", "pose_hypotheses", "gaussian_sum",
]  # fmt: skip
# What is left out by a setting: its name, and the setting.
SETTINGS = {
    "learning": "learning.enabled=false",
}
# A factor of this is a change.
CHANGE = 1.03


class Case:
    """A run: of what kind it is, and the words after `lienav evaluate`."""

    def __init__(self, kind, name, source, *words, is_known=False):
        self.kind, self.name, self.is_known = kind, name, is_known
        self.words = [source, "--filter", "default", "--json", "--ignore-ids", *words]

    def run(self, lienav, *settings):
        words = [word for setting in settings for word in ("--set", setting)]
        done = subprocess.run([lienav, "evaluate", *self.words, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None
        report = json.loads(done.stdout)
        errors = [report.get("aligned_position_rmse_m"), report.get("position_rmse_m")]
        error = errors[self.is_known] or errors[not self.is_known]
        return error and (error, report.get("nees_mean"))


def recordings(data):
    """Those that are there."""
    robot = ("--config", str(ROOT / "config/robot.yaml"))
    for dataset, number in like_mrclam.ROBOTS:
        source, name = f"mrclam:{data}/mrclam/MRCLAM_Dataset{dataset}:{number}", f"D{dataset} R{number}"
        yield Case("MR.CLAM", name, source, *robot)
        yield Case("MR.CLAM, known map", name, source, *robot, "--map", "truth", is_known=True)
    woods = f"woods:{data}/lost_in_the_woods"
    yield Case("woods", "woods", woods, *robot)
    yield Case("woods", "woods, known map", woods, *robot, "--map", "truth", is_known=True)
    truth = f"{data}/city_trees/truth.graph.gz"
    yield Case("city_trees", "run 0", f"g2o:{data}/city_trees/run_0.graph.gz:{truth}")
    yield Case("Victoria Park", "whole", f"victoria:{data}/victoria_park", "--config", str(ROOT / "config/victoria.yaml"))


def made(data, folder, runs, seed):
    """Runs like the recordings, with landmarks drawn anew."""
    robot = ("--config", str(ROOT / "config/robot.yaml"))
    options = argparse.Namespace(given=False, groups=False, apart=1.0, minutes=6.0)
    for number in range(seed, seed + runs):
        for dataset, of in like_mrclam.ROBOTS:
            source = pathlib.Path(data, "mrclam", f"MRCLAM_Dataset{dataset}")
            for options.groups in (False, True):
                kind = "like MR.CLAM, groups" if options.groups else "like MR.CLAM"
                own, other = folder / f"{kind} {dataset} {of} {number}", folder / "unused"
                own.mkdir()
                other.mkdir(exist_ok=True)
                rng = random.Random(f"ablation {kind} {dataset} {of} {number}")
                like_mrclam.write(source, (own, other), of, rng, options)
                yield Case(kind, f"D{dataset} R{of} {number}", f"mrclam:{own}:{of}", *robot)
            own = folder / f"known {dataset} {of} {number}"
            own.mkdir()
            like_mrclam.piece(source, own, of, random.Random(f"ablation known {dataset} {of} {number}"), options)
            name = f"D{dataset} R{of} {number}"
            yield Case("like MR.CLAM, known map", name, f"mrclam:{own}:{of}", *robot, "--map", "truth", is_known=True)
        motions, poses, _ = like_city_trees.truth(pathlib.Path(data, "city_trees"))
        rng = random.Random(f"ablation trees {number}")
        places = [(-47.5 + 5 * i, -47.5 + 5 * k) for i in range(20) for k in range(20)]
        trees = rng.sample(places, 100)
        graph, true = folder / f"{number}.graph.gz", folder / f"{number}.truth.graph.gz"
        like_city_trees.write(graph, motions, poses, trees, lambda root: rng.gauss(0.0, 1.0 / root))
        like_city_trees.write(true, motions, poses, trees, lambda _: 0.0)
        yield Case("like city_trees", f"{number}", f"g2o:{graph}:{true}")


def compare(cases, before, after):
    """For each kind: the mean factor, and how many errors grow and shrink."""
    kinds = {}
    for case, one, other in zip(cases, before, after):
        if one and other:
            kinds.setdefault(case.kind, []).append(other[0] / one[0])
    cells = []
    for factors in kinds.values():
        mean = math.exp(statistics.fmean(map(math.log, factors)))
        grown, shrunk = sum(x > CHANGE for x in factors), sum(x < 1 / CHANGE for x in factors)
        cells.append(f"{mean:.2f} (+{grown} −{shrunk} of {len(factors)})")
    return list(kinds), cells


def nees(results):
    values = [result[1] for result in results if result and result[1] is not None]
    return f"{statistics.median(values) / 3:.2f}, {sum(value > 30 for value in values)} beyond 10"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, help="where the recordings are")
    parser.add_argument("--runs", type=int, default=2, help="runs made like each recording")
    parser.add_argument("--seed", type=int, default=1, help="of the first one")
    parser.add_argument("--only", default="", help="these mechanisms, with commas between them")
    parser.add_argument("--set", action="append", default=[], help="a setting of all runs, as NAME=VALUE")
    parser.add_argument("--lienav", default=str(ROOT / "target/release/lienav"), help="the program")
    parser.add_argument("--beside", action="append", default=[], help="another program, beside the first one")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, help="every error, as JSON")
    options = parser.parse_args()
    variants = {name: (f"choices.without={name}",) for name in MECHANISMS}
    variants |= {name: (setting,) for name, setting in SETTINGS.items()}
    if options.only or options.beside:
        variants = {name: variants[name] for name in options.only.split(",") if name}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        cases = [*recordings(options.data), *made(options.data, pathlib.Path(folder), options.runs, options.seed)]

        def all_of(words, lienav=options.lienav):
            return list(pool.map(lambda case: case.run(lienav, *options.set, *words), cases))

        before = all_of(())
        kinds, _ = compare(cases, before, before)
        print(f"| without | {' | '.join(kinds)} | NEES / 3, runs |")
        print(f"|---|{'---|' * (len(kinds) + 1)}")
        print(f"| nothing | {'| ' * len(kinds)}{nees(before)} |", flush=True)
        results = {"nothing": before}
        others = [(name, words, options.lienav) for name, words in variants.items()]
        for name, words, lienav in others + [(program, (), program) for program in options.beside]:
            results[name] = all_of(words, lienav)
            print(f"| {name} | {' | '.join(compare(cases, before, results[name])[1])} | {nees(results[name])} |", flush=True)
        if options.out:
            names = [f"{case.kind}: {case.name}" for case in cases]
            table = {name: dict(zip(names, values)) for name, values in results.items()}
            options.out.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
