#!/usr/bin/env python3
"""Runs made like those of MR.CLAM: how far association without identities is from the same filter with them.

Odometry and true way are those of real robots, whose wheels slip; landmarks stand elsewhere, drawn anew, as many as
there were. A camera looks ahead, 0.56 rad to either side and 7 m far, every quarter of a second, and reads what is in
view in one of two looks.

    python3 benches/like_mrclam.py ../shared/data/mrclam --runs 6 --seed 1

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


def rows(path):
    lines = (line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#"))
    return [[float(word) for word in line.split()] for line in lines]


def places(rng, way, count, apart):
    """Landmarks near the way, and as far from each other."""
    lows = [min(pose[k] for pose in way) - BESIDE_M for k in (1, 2)]
    highs = [max(pose[k] for pose in way) + BESIDE_M for k in (1, 2)]
    found = []
    while len(found) < count:
        place = [rng.uniform(low, high) for low, high in zip(lows, highs)]
        if all(math.dist(place, other) > apart for other in found):
            found.append(place)
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


def write(source, folder, robot, rng, apart):
    """A dataset with the odometry and the true way of this one."""
    shutil.copy(source / f"Robot{robot}_Odometry.dat", folder)
    shutil.copy(source / f"Robot{robot}_Groundtruth.dat", folder)
    shutil.copy(source / "Barcodes.dat", folder)
    count = len(rows(source / "Landmark_Groundtruth.dat"))
    barcodes = {int(subject): int(barcode) for subject, barcode in rows(source / "Barcodes.dat")}
    way = rows(source / f"Robot{robot}_Groundtruth.dat")
    landmarks = places(rng, way, count, apart)
    with open(folder / "Landmark_Groundtruth.dat", "w") as file:
        for number, (x, y) in enumerate(landmarks):
            file.write(f"{FIRST + number} {x:.5f} {y:.5f} 0.0001 0.0001\n")
    with open(folder / f"Robot{robot}_Measurement.dat", "w") as file:
        for now, number, far, bearing in readings(rng, way, landmarks):
            file.write(f"{now:.3f} {barcodes[FIRST + number]} {far:.4f} {bearing:.4f}\n")


def evaluate(lienav, folder, robot, *words):
    """The position's RMSE after alignment, m, and the associations."""
    command = [lienav, "evaluate", f"mrclam:{folder}:{robot}", "--filter", "default", "--json", *words]
    command += ["--config", str(ROOT / "config/robot.yaml")]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = report.get("associations") or {}
    return report["aligned_position_rmse_m"], found.get("wrong", 0) / max(found.get("matched", 1), 1), report["landmarks"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the datasets are")
    parser.add_argument("--runs", type=int, default=6, help="of each robot")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the others follow")
    parser.add_argument("--apart", type=float, default=1.0, help="the least distance of landmarks, m")
    parser.add_argument("--lienav", default=str(ROOT / "target/release/lienav"), help="the program")
    parser.add_argument("--keep", type=pathlib.Path, help="write the datasets into this folder, too")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()

    def run(job):
        (dataset, robot), seed = job
        source = options.folder / f"MRCLAM_Dataset{dataset}"
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder)
            if options.keep:
                made = options.keep / f"{dataset}_{robot}_{seed}"
                made.mkdir(parents=True, exist_ok=True)
            write(source, made, robot, random.Random(f"{dataset} {robot} {seed}"), options.apart)
            return (evaluate(options.lienav, made, robot), evaluate(options.lienav, made, robot, "--ignore-ids"))

    print("| run | with identities and without | wrong | landmarks |\n|---|---|---|---|")
    logs = []
    seeds = range(options.seed, options.seed + options.runs)
    jobs = [(robot, seed) for seed in seeds for robot in ROBOTS]
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        for ((dataset, robot), seed), (known, unknown) in zip(jobs, pool.map(run, jobs)):
            name = f"D{dataset} R{robot}, seed {seed}"
            print(f"| {name} | {known[0]:.3f}, {unknown[0]:.3f} m | {100 * unknown[1]:.2f} % | {unknown[2]} |", flush=True)
            logs.append(math.log(unknown[0] / known[0]))
    lost = sum(log > math.log(2.0) for log in logs)
    print(f"\nGeometric mean of {len(logs)} factors: {math.exp(sum(logs) / len(logs)):.3f}; {lost} beyond 2")


if __name__ == "__main__":
    main()
