"""Whether two builds of the command line give the same numbers, byte for byte.

    python3 tests/same_numbers.py OLD NEW [--data ../shared/data] [--data3d ../shared/data3d]
    python3 tests/same_numbers.py --record DIR NEW
    python3 tests/same_numbers.py --against DIR NEW

OLD and NEW are executables of `lienav`. Each runs `evaluate` with every filter on Lost in the Woods and on four runs of
MR.CLAM, and `monte-carlo --no-times` with every filter on six scenarios; the default filter also runs without identities,
in known maps, with submaps, with noise that is estimated, with scans that come late, and on the scenarios with cones, a
hall, beacons and positions from satellites. In space, each recording runs with the filters that can read it, and a scenario
with all of them; the attitude filter runs on BROAD and EuRoC. Reports, trajectories and errors are compared as bytes, after the times of
steps have been taken out. It exits with 1 where anything differs, and names it. --record keeps what one build gives, for
--against to compare a later build with. --only NAME runs the cases whose name contains NAME.

Run it before and after a change that is meant to move code and not numbers. It takes about four minutes for each build.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

FILTERS = [
    "default", "invariant", "cartesian", "log-range", "inverse-range", "unsplit", "iterated", "anchored",
    "reduced", "ekf", "fe-ekf", "thesis-reduced", "thesis-ekf", "thesis-fe-ekf",
    # oc-ekf and thesis-oc-ekf are newer than some of what is compared with.
]  # fmt: skip
RECORDINGS = {
    "woods": ("woods:{data}/lost_in_the_woods", "config/lost_in_the_woods.yaml"),
    "mrclam6-1": ("mrclam:{data}/mrclam/MRCLAM_Dataset6:1", "config/mrclam.yaml"),
    "mrclam6-2": ("mrclam:{data}/mrclam/MRCLAM_Dataset6:2", "config/mrclam.yaml"),
    "mrclam6-3": ("mrclam:{data}/mrclam/MRCLAM_Dataset6:3", "config/mrclam.yaml"),
    "mrclam4-3": ("mrclam:{data}/mrclam/MRCLAM_Dataset4:3", "config/mrclam.yaml"),
}
# The default filter where its other mechanisms act: a name, a source and the options.
MECHANISMS = {
    "woods-no-ids": ("woods:{data}/lost_in_the_woods", "--config config/robot.yaml --ignore-ids"),
    "woods-robot": ("woods:{data}/lost_in_the_woods", "--config config/robot.yaml"),
    "woods-known-map": ("woods:{data}/lost_in_the_woods", "--config config/lost_in_the_woods.yaml --map truth"),
    "woods-known-map-no-ids": (
        "woods:{data}/lost_in_the_woods", "--config config/lost_in_the_woods.yaml --map truth --ignore-ids"
    ),
    "woods-known-map-unknown-start": (
        "woods:{data}/lost_in_the_woods",
        "--config config/lost_in_the_woods.yaml --map truth --ignore-ids --set initial.mode=unknown",
    ),
    "woods-submaps": (
        "woods:{data}/lost_in_the_woods", "--config config/lost_in_the_woods.yaml --set map.local_features=8"
    ),
    "mrclam4-3-no-ids": ("mrclam:{data}/mrclam/MRCLAM_Dataset4:3", "--config config/robot.yaml --ignore-ids"),
    "mrclam4-3-robot": ("mrclam:{data}/mrclam/MRCLAM_Dataset4:3", "--config config/robot.yaml"),
    "mrclam6-1-no-ids": ("mrclam:{data}/mrclam/MRCLAM_Dataset6:1", "--config config/robot.yaml --ignore-ids"),
    "mrclam6-2-no-ids": ("mrclam:{data}/mrclam/MRCLAM_Dataset6:2", "--config config/robot.yaml --ignore-ids"),
    "mrclam6-3-no-ids": ("mrclam:{data}/mrclam/MRCLAM_Dataset6:3", "--config config/robot.yaml --ignore-ids"),
    "mrclam6-1-known-map-no-ids": (
        "mrclam:{data}/mrclam/MRCLAM_Dataset6:1", "--config config/mrclam.yaml --map truth --ignore-ids"
    ),
    "city-trees-no-ids": (
        "g2o:{data}/city_trees/run_0.graph.gz:{data}/city_trees/truth.graph.gz", "--filter default --ignore-ids"
    ),
    "victoria": ("victoria:{data}/victoria_park", "--config config/victoria.yaml"),
    "victoria-every-15": ("victoria:{data}/victoria_park", "--config config/victoria.yaml --every 15"),
    "victoria-every-15-submaps": (
        "victoria:{data}/victoria_park", "--config config/victoria.yaml --every 15 --set map.local_features=50"
    ),
}  # fmt: skip
# Scenarios of these mechanisms, with as many runs as take seconds.
MECHANISM_SCENARIOS = {
    "clouds-late": "--runs 4 --filter-set timing.rewind_s=2",
    "cones": "--runs 1 --set sensor.classified=false",
    "hall": "--runs 1",
    "beacons": "--runs 2",
    "gnss": "--runs 2",
    "heading-uncertainty": "--runs 4",
}
# In space: a source, its options, and the filters where a choice of them applies.
SPACE_FILTERS = "default,reduced,ekf,fe-ekf,oc-ekf,group,window"
SPACE = {
    **{f"starloc-{run}": (f"starloc:{{data}}/starloc/{run}", f"--filters {SPACE_FILTERS}")
       for run in ("eight_s2", "loop-2d-fast_s1", "loop-3d_s5")},
    "starloc-eight_s2-known-map": ("starloc:{data}/starloc/eight_s2", "--map truth"),
    "euroc-v101": ("euroc-tracks:{data}/euroc_v101_30s", f"--filters {SPACE_FILTERS}"),
    "starry-3": ("starry:{data}/starry_night/dataset3", f"--filters {SPACE_FILTERS.removesuffix(',window')}"),
    **{f"tagslam-{k}": (f"tagslam:{{data}}/tagslam/test_{k}", "") for k in (5, 9, 11, 13)},
    "frc-053443": ("frc:{data}/frc/FRC_20241012_053443", ""),
    "frc-184342": ("frc:{data}/frc/FRC_20241012_184342", ""),
}  # fmt: skip
ATTITUDE = {
    "broad-01": "broad:{data}/broad/01_undisturbed_slow_rotation_A.csv.gz",
    "broad-06": "broad:{data}/broad/06_undisturbed_fast_rotation_A.csv.gz",
    "broad-21": "broad:{data}/broad/21_undisturbed_fast_combined.csv.gz",
    "euroc-mh01": "euroc:{data}/euroc_mh01",
}
SPACE_SCENARIO = "space:circle-stereo-industrial-standing-30s"
SCENARIOS = [
    "thesis-line-10hz-low-q1", "thesis-circle-20hz-low-q4", "esde", "range-bearing", "relative-position", "close-pass",
]  # fmt: skip


def run(command, out):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    (out / "stdout").write_text(done.stdout)


def record(lienav, out, data, data3d, only):
    """What `lienav` gives, into the folder `out`."""
    jobs = []
    for name, (source, options) in MECHANISMS.items():
        folder = out / f"mechanism-{name}"
        options = [*options.split(), "--json", "--out", folder / "out"]
        jobs.append(([lienav, "evaluate", source.format(data=data), *options], folder))
    for scenario, options in MECHANISM_SCENARIOS.items():
        folder = out / f"mechanism-{scenario}"
        options = [*options.split(), "--filters", "default", "--no-times", "--json", "--out", folder / "out"]
        jobs.append(([lienav, "monte-carlo", scenario, *options], folder))
    for name, (source, config) in RECORDINGS.items():
        for filter_ in FILTERS:
            folder = out / f"evaluate-{name}-{filter_}"
            options = ["--config", config, "--filter", filter_, "--json", "--out", folder / "out"]
            jobs.append(([lienav, "evaluate", source.format(data=data), *options], folder))
    for scenario in SCENARIOS:
        folder = out / f"monte-carlo-{scenario}"
        options = ["--runs", "6", "--filters", ",".join(FILTERS), "--no-times", "--json", "--out", folder / "out"]
        jobs.append(([lienav, "monte-carlo", scenario, *options], folder))
    for name, (source, options) in SPACE.items() if data3d.is_dir() else ():
        folder = out / f"space-{name}"
        options = [*options.split(), "--json", "--out", folder / "out"]
        jobs.append(([lienav, "evaluate", source.format(data=data3d), *options], folder))
    folder = out / "space-monte-carlo"
    options = ["--runs", "2", "--filters", SPACE_FILTERS, "--no-times", "--json", "--out", folder / "out"]
    jobs.append(([lienav, "monte-carlo", SPACE_SCENARIO, *options], folder))
    for name, source in ATTITUDE.items():
        folder = out / f"attitude-{name}"
        jobs.append(([lienav, "attitude", source.format(data=data), "--json", "--out", folder / "out"], folder))
    jobs = [job for job in jobs if only in job[1].name]
    for _, folder in jobs:
        folder.mkdir(parents=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: run(*job), jobs))


def without_times(text):
    """JSON without the times of steps; anything else as it is."""
    try:
        tree = json.loads(text)
    except ValueError:
        return text
    for report in tree if isinstance(tree, list) else [tree]:
        if isinstance(report, dict):
            report.pop("step_us", None)
            report.pop("sample_ns", None)
    return json.dumps(tree, indent=1)


def contents(folder):
    files = {}
    # Texts and pages show the same numbers again, with times.
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix not in (".txt", ".html")):
        raw = path.read_bytes()
        is_text = path.suffix in ("", ".json")
        files[str(path.relative_to(folder))] = without_times(raw.decode()) if is_text else raw
    return files


def compare(old, new):
    """The names of what differs."""
    old, new = contents(old), contents(new)
    return [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)], len(old)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executables", nargs="+", type=pathlib.Path, metavar="LIENAV")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    parser.add_argument("--data3d", type=pathlib.Path, default=pathlib.Path("../shared/data3d"))
    parser.add_argument("--record", type=pathlib.Path, metavar="DIR", help="only keep what one build gives")
    parser.add_argument("--only", default="", metavar="NAME", help="only cases whose name contains this")
    parser.add_argument("--against", type=pathlib.Path, metavar="DIR", help="what an earlier build gave")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"skipped: there are no recordings in {arguments.data}; --data says where they are")
        return 0
    if not arguments.data3d.is_dir():
        print(f"there are no recordings in {arguments.data3d}: those in space are left out; --data3d says where they are")
    executables = [path.resolve() for path in arguments.executables]
    if arguments.record:
        record(executables[0], arguments.record, arguments.data, arguments.data3d, arguments.only)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        old = arguments.against or scratch / "old"
        if not arguments.against:
            if len(executables) != 2:
                parser.error("give two executables, or one with --against or --record")
            record(executables[0], old, arguments.data, arguments.data3d, arguments.only)
        record(executables[-1], scratch / "new", arguments.data, arguments.data3d, arguments.only)
        different, total = compare(old, scratch / "new")
    for name in different:
        print(f"differs: {name}")
    print(f"{total} files compared, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
