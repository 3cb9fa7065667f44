#!/usr/bin/env python3
"""Runs made like those of MR.CLAM: how far association without identities is from the same filter with them.

Odometry and true way are those of real robots, whose wheels slip; landmarks stand elsewhere, drawn anew, as many as
there were. A camera looks ahead, 0.56 rad to either side and 7 m far, every quarter of a second, and reads what is in
view in one of two looks.

    python3 benches/like_mrclam.py ../shared/data/mrclam --runs 6 --seed 1

With `--groups`, landmarks stand in twos and threes, 0.13 to 0.25 m apart, as those of dataset 6 do; with `--given`,
they and their readings are those of the datasets themselves. The third number of a run is then that of a filter that
knows the identities of groups, and not those of landmarks.

Prints the errors after alignment of each run, and the geometric mean of the factors.

With `--known`, the filter knows the map and no identities, and each run is a piece of a recording, `--minutes` long,
from a random instant on. Prints, of a start that is given and one that is unknown, when the robot was found, which
fraction of the steps since then have a pose within 0.5 m of the truth with a position known to 0.5 m, how many steps
are wrong by 0.25 m and sure (a NEES beyond 30), and the error at the end.

    python3 benches/like_mrclam.py ../shared/data/mrclam --groups --known --runs 3 --minutes 6
"""

import argparse
import bisect
import concurrent.futures
import csv
import json
import math
import pathlib
import random
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROBOTS = [(6, 1), (6, 2), (6, 3), (4, 3)]
# The landmarks have these subjects; robots come before them.
FIRST = 6
LOOK_S = 0.24
HALF_VIEW_RAD, NEAREST_M, FARTHEST_M = 0.56, 0.9, 7.0
READ = 0.5
RANGE_STD_M, RANGE_STD_RATIO, BEARING_STD_RAD = 0.03, 0.03, 0.015
# What is read of a landmark is not its centre.
LANDMARK_STD_M = 0.04
BESIDE_M = 1.0
# How far the landmarks of a group are from its first one, and from each other at least.
IN_GROUP_M, LEAST_IN_GROUP_M = (0.13, 0.25), 0.12
# A pose is wrong and sure beyond this NEES and this error, where its position is known to this standard deviation: 5 sigma
# of one number is a NEES of 25, and that of a right pose is 3. Smaller errors are those of slipping wheels in a turn, and
# come with identities, too.
WRONG_NEES, WRONG_M, SURE_M = 30.0, 0.25, 0.5
# A robot is found within this error, and this long after the start at the latest, s.
RIGHT_M, FOUND_WITHIN_S = 0.5, 180.0
# A robot that is found stays so in this fraction of the steps that follow.
KEPT = 0.9
# Known landmarks are as good as the survey, m.
MAP_STD_M = 0.01
# Landmarks of a dataset that follow each other and are so near to each other are a group.
GROUP_M = 0.6


def rows(path):
    lines = (line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#"))
    return [[float(word) for word in line.split()] for line in lines]


def group(rng, place):
    """Two or three landmarks, of which one is at this place."""
    members, size = [place], rng.choice((2, 3))
    while len(members) < size:
        direction, far = rng.uniform(0, math.tau), rng.uniform(*IN_GROUP_M)
        other = [place[0] + far * math.cos(direction), place[1] + far * math.sin(direction)]
        if all(math.dist(other, member) > LEAST_IN_GROUP_M for member in members):
            members.append(other)
    return members


def places(rng, way, count, apart, in_groups):
    """Groups of landmarks near the way, and as far from each other; a landmark that stands alone is a group."""
    lows = [min(pose[k] for pose in way) - BESIDE_M for k in (1, 2)]
    highs = [max(pose[k] for pose in way) + BESIDE_M for k in (1, 2)]
    found, left = [], count
    while left > 0:
        place = [rng.uniform(low, high) for low, high in zip(lows, highs)]
        if all(math.dist(place, others[0]) > apart for others in found):
            found.append((group(rng, place) if in_groups else [place])[:left])
            left -= len(found[-1])
    return found


def readings(rng, way, landmarks, quiet_s=15.0):
    """Time, landmark, range and bearing of each reading; there are none in the first seconds."""
    times = [pose[0] for pose in way]
    offsets = [(rng.gauss(0.0, LANDMARK_STD_M), rng.gauss(0.0, LANDMARK_STD_M)) for _ in landmarks]
    now = times[0] + quiet_s
    while now < times[-1]:
        now += LOOK_S
        k = bisect.bisect(times, now)
        if k == len(times) or times[k] - times[k - 1] > 0.5:
            continue
        _, x, y, yaw = way[k]
        for number, (place, offset) in enumerate(zip(landmarks, offsets)):
            dx, dy = place[0] + offset[0] - x, place[1] + offset[1] - y
            far, bearing = math.hypot(dx, dy), (math.atan2(dy, dx) - yaw + math.pi) % math.tau - math.pi
            if NEAREST_M < far < FARTHEST_M and abs(bearing) < HALF_VIEW_RAD and rng.random() < READ:
                far += rng.gauss(0.0, math.hypot(RANGE_STD_M, RANGE_STD_RATIO * far))
                yield now, number, far, bearing + rng.gauss(0.0, BEARING_STD_RAD)


def given(source, robot, barcodes):
    """The groups of landmarks of a dataset, and its readings of them."""
    groups = []
    for _, x, y, *_ in rows(source / "Landmark_Groundtruth.dat"):
        if groups and math.dist(groups[-1][0], (x, y)) < GROUP_M:
            groups[-1].append((x, y))
        else:
            groups.append([(x, y)])
    numbers = {barcode: subject - FIRST for subject, barcode in barcodes.items() if subject >= FIRST}
    read = rows(source / f"Robot{robot}_Measurement.dat")
    return groups, [(now, numbers[code], far, bearing) for now, code, far, bearing in read if code in numbers]


def write(source, folders, robot, rng, options):
    """Datasets with the odometry and the true way of this one; in the second, readings tell their group alone."""
    count = len(rows(source / "Landmark_Groundtruth.dat"))
    barcodes = {int(subject): int(barcode) for subject, barcode in rows(source / "Barcodes.dat")}
    if options.given:
        groups, read = given(source, robot, barcodes)
    else:
        way = rows(source / f"Robot{robot}_Groundtruth.dat")
        groups = places(rng, way, count, options.apart, options.groups)
        read = list(readings(rng, way, [place for members in groups for place in members]))
    landmarks = [place for members in groups for place in members]
    own = list(range(count))
    of_group = [sum(map(len, groups[:k])) for k, members in enumerate(groups) for _ in members]
    for folder, names in zip(folders, (own, of_group)):
        for name in (f"Robot{robot}_Odometry.dat", f"Robot{robot}_Groundtruth.dat", "Barcodes.dat"):
            shutil.copy(source / name, folder)
        with open(folder / "Landmark_Groundtruth.dat", "w") as file:
            for number, (x, y) in enumerate(landmarks):
                file.write(f"{FIRST + number} {x:.5f} {y:.5f} 0.0001 0.0001\n")
        with open(folder / f"Robot{robot}_Measurement.dat", "w") as file:
            for now, number, far, bearing in read:
                file.write(f"{now:.3f} {barcodes[FIRST + names[number]]} {far:.4f} {bearing:.4f}\n")


def piece(source, folder, robot, rng, options):
    """A piece of a recording, with landmarks and readings drawn anew or as they are there."""
    way = rows(source / f"Robot{robot}_Groundtruth.dat")
    length = 60.0 * options.minutes
    start = way[0][0] + rng.uniform(0.0, max(way[-1][0] - way[0][0] - length, 0.0))
    barcodes = {int(subject): int(barcode) for subject, barcode in rows(source / "Barcodes.dat")}
    if options.given:
        groups, read = given(source, robot, barcodes)
        read = [reading for reading in read if start <= reading[0] < start + length]
    else:
        groups = places(rng, way, len(rows(source / "Landmark_Groundtruth.dat")), options.apart, options.groups)
    landmarks = [place for members in groups for place in members]
    way = [pose for pose in way if start <= pose[0] < start + length]
    if not options.given:
        read = list(readings(rng, way, landmarks, 0.0))
    shutil.copy(source / "Barcodes.dat", folder)
    with open(folder / "Landmark_Groundtruth.dat", "w") as file:
        for number, (x, y) in enumerate(landmarks):
            file.write(f"{FIRST + number} {x:.5f} {y:.5f} 0.0001 0.0001\n")
    with open(folder / f"Robot{robot}_Measurement.dat", "w") as file:
        for now, number, far, bearing in read:
            file.write(f"{now:.3f} {barcodes[FIRST + number]} {far:.4f} {bearing:.4f}\n")
    odometry = rows(source / f"Robot{robot}_Odometry.dat")
    for name, lines in (("Groundtruth", way), ("Odometry", odometry)):
        with open(folder / f"Robot{robot}_{name}.dat", "w") as file:
            for time, *numbers in lines:
                if start <= time < start + length:
                    file.write(f"{time:.3f} {' '.join(map(str, numbers))}\n")


class Located:
    """What became of a robot in a known map: seconds, a fraction, a count, metres."""

    def __init__(self, steps, read):
        start, times = read[0], sorted(set(read))
        is_wrong = lambda step: step["sure"] and step["nees"] > WRONG_NEES and step["error"] > WRONG_M
        self.wrong = sum(map(is_wrong, steps))
        self.worst = max((step["nees"] for step in steps if step["sure"]), default=0.0)
        right = [step for step in steps if step["sure"] and step["error"] < RIGHT_M]
        self.found_s = right[0]["time"] - start if right else None
        after = sum(time >= right[0]["time"] for time in times) if right else 0
        self.kept = len(right) / after if after else 0.0
        self.end = steps[-1]["error"] if steps and times[-1] - steps[-1]["time"] < 1.0 else None

    def is_good(self):
        is_found = self.found_s is not None and self.found_s < FOUND_WITHIN_S
        return is_found and self.kept > KEPT

    def __str__(self):
        if self.found_s is None:
            return f"not found, {self.wrong} ({self.worst:.0f})"
        end = "lost" if self.end is None else f"{self.end:.2f} m"
        return f"{self.found_s:.0f} s, {100 * self.kept:.0f} %, {self.wrong} ({self.worst:.0f}), {end}"


def locate(lienav, folder, robot, *words):
    """What becomes of the robot in its known map, with these settings."""
    with tempfile.TemporaryDirectory() as out:
        command = [lienav, "evaluate", f"mrclam:{folder}:{robot}", "--filter", "default", "--json", "--out", out]
        command += ["--config", str(ROOT / "config/robot.yaml"), "--map", "truth", "--map-std", str(MAP_STD_M), *words]
        subprocess.run(command, check=False, capture_output=True)
        tables = list(pathlib.Path(out).glob("**/errors.csv"))
        steps = []
        for row in csv.DictReader(open(tables[0])) if tables else ():
            error = math.hypot(float(row["error_x_m"]), float(row["error_y_m"]))
            is_sure = float(row["var_x"]) + float(row["var_y"]) < SURE_M**2
            nees = float(row["nees"] or "inf")
            steps.append({"time": float(row["stamp_s"]), "error": error, "sure": is_sure, "nees": nees})
    return Located(steps, [row[0] for row in rows(folder / f"Robot{robot}_Measurement.dat")])


def locate_all(options):
    """Prints a line for each run, and what all of them come to."""

    def run(job):
        (dataset, robot), number = job
        source = options.folder / f"MRCLAM_Dataset{dataset}"
        with tempfile.TemporaryDirectory() as own:
            made = pathlib.Path(own)
            if options.keep:
                made = options.keep / f"{dataset}_{robot}_{number}"
                made.mkdir(parents=True, exist_ok=True)
            kind = "given " if options.given else "groups " if options.groups else ""
            piece(source, made, robot, random.Random(f"known {kind}{dataset} {robot} {number}"), options)
            unknown = ("--set", "initial.mode=unknown")
            ways = ((), ("--ignore-ids",), ("--ignore-ids", *unknown))
            return [locate(options.lienav, made, robot, *words) for words in ways]

    columns = "found after, steps right since then, wrong and sure (worst NEES), error at the end"
    print(f"{columns}\n\n| run | with identities | without, start given | without, start unknown |\n|---|---|---|---|")
    jobs = [(robot, seed) for seed in range(options.seed, options.seed + options.runs) for robot in ROBOTS]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        for ((dataset, robot), seed), located in zip(jobs, pool.map(run, jobs)):
            results.append(located)
            print(f"| D{dataset} R{robot}, seed {seed} | {' | '.join(map(str, located))} |", flush=True)
    print()
    for name, runs in zip(("with identities", "without, start given", "without, start unknown"), zip(*results)):
        good, wrong = sum(run.is_good() for run in runs), sum(run.wrong > 0 for run in runs)
        print(f"{name}: found and kept in {good} of {len(runs)}, wrong and sure in {wrong}")


def evaluate(lienav, folder, robot, *words):
    """The position's RMSE after alignment, m, and the associations."""
    command = [lienav, "evaluate", f"mrclam:{folder}:{robot}", "--filter", "default", "--json", *words]
    command += ["--config", str(ROOT / "config/robot.yaml")]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = report.get("associations") or {}
    wrong = found.get("wrong", 0) / max(found.get("matched", 1), 1)
    return report["aligned_position_rmse_m"], wrong, report["landmarks"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the datasets are")
    parser.add_argument("--runs", type=int, default=6, help="of each robot")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the others follow")
    parser.add_argument("--apart", type=float, default=1.0, help="the least distance of landmarks, or of groups, m")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--groups", action="store_true", help="landmarks in twos and threes")
    kind.add_argument("--given", action="store_true", help="the landmarks and readings that are there, one run of each")
    parser.add_argument("--known", action="store_true", help="in a known map, without identities")
    parser.add_argument("--minutes", type=float, default=6.0, help="how long a run in a known map is")
    parser.add_argument("--lienav", default=str(ROOT / "target/release/lienav"), help="the program")
    parser.add_argument("--keep", type=pathlib.Path, help="write the datasets into this folder, too")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.known:
        locate_all(options)
        return
    knows_groups = options.groups or options.given

    def run(job):
        (dataset, robot), number = job
        source = options.folder / f"MRCLAM_Dataset{dataset}"
        seed = f"{'g ' if options.groups else ''}{dataset} {robot} {number}"
        with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as of_groups:
            made = pathlib.Path(own)
            if options.keep:
                made = options.keep / f"{dataset}_{robot}_{number}"
                made.mkdir(parents=True, exist_ok=True)
            write(source, (made, pathlib.Path(of_groups)), robot, random.Random(seed), options)
            found = [evaluate(options.lienav, made, robot), evaluate(options.lienav, made, robot, "--ignore-ids")]
            return found + ([evaluate(options.lienav, of_groups, robot)] if knows_groups else [])

    kinds = "with identities, without, with those of groups" if knows_groups else "with identities and without"
    print(f"| run | {kinds} | wrong | landmarks |\n|---|---|---|---|")
    logs, logs_of_groups = [], []
    seeds = range(options.seed, options.seed + (1 if options.given else options.runs))
    jobs = [(robot, seed) for seed in seeds for robot in ROBOTS]
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        for ((dataset, robot), seed), (known, unknown, *of_groups) in zip(jobs, pool.map(run, jobs)):
            name = f"D{dataset} R{robot}, seed {seed}"
            errors = ", ".join(f"{found[0]:.3f}" for found in (known, unknown, *of_groups))
            print(f"| {name} | {errors} m | {100 * unknown[1]:.2f} % | {unknown[2]} |", flush=True)
            logs.append(math.log(unknown[0] / known[0]))
            logs_of_groups += [math.log(found[0] / known[0]) for found in of_groups]
    lost = sum(log > math.log(2.0) for log in logs)
    print(f"\nGeometric mean of {len(logs)} factors: {math.exp(sum(logs) / len(logs)):.3f}; {lost} beyond 2")
    if logs_of_groups:
        print(f"With the identities of groups: {math.exp(sum(logs_of_groups) / len(logs_of_groups)):.3f}")


if __name__ == "__main__":
    main()
