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
"""

import argparse
import bisect
import concurrent.futures
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


def readings(rng, way, landmarks):
    """Time, landmark, range and bearing of each reading."""
    times = [pose[0] for pose in way]
    offsets = [(rng.gauss(0.0, LANDMARK_STD_M), rng.gauss(0.0, LANDMARK_STD_M)) for _ in landmarks]
    now = times[0] + 15.0
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
    parser.add_argument("--lienav", default=str(ROOT / "target/release/lienav"), help="the program")
    parser.add_argument("--keep", type=pathlib.Path, help="write the datasets into this folder, too")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
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
