#!/usr/bin/env python3
"""Runs made like city_trees: how far association without identities is from the same filter with them.

The way is that of city_trees (10,000 poses, streets 5 m apart); the noise of motions and readings is drawn anew, and so
are the trees where asked: 100 of the 400 places between the streets. Every fifth pose reads all trees within 8.2 m.

    python3 benches/like_city_trees.py ../shared/data/city_trees --runs 12 --seed 1 --trees other

Prints the errors of each run, and the geometric mean of the factors.
"""

import argparse
import concurrent.futures
import gzip
import json
import math
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
READS_M = 8.2
EVERY = 5
# Square roots of information, as city_trees states them.
MOTION = (50.0, 50.0, 100.0)
READING = 10.0


def truth(folder):
    """Motions, poses that follow from them, and places of the trees."""
    motions, readings = [], []
    with gzip.open(folder / "truth.graph.gz", "rt") as file:
        for line in file:
            kind, one, other, *numbers = line.split()
            numbers = [float(number) for number in numbers]
            if kind == "EDGE2":
                motions.append(numbers[:3])
            else:
                readings.append((int(one), int(other), numbers[0], numbers[1]))
    poses = [(0.0, 0.0, 0.0)]
    for x, y, turn in motions:
        x, y = in_map(poses[-1], x, y)
        poses.append((x, y, poses[-1][2] + turn))
    trees = {}
    for pose, tree, x, y in readings:
        trees.setdefault(tree, in_map(poses[pose], x, y))
    return motions, poses, list(trees.values())


def in_map(pose, x, y):
    c, s = math.cos(pose[2]), math.sin(pose[2])
    return pose[0] + c * x - s * y, pose[1] + s * x + c * y


def in_robot(pose, place):
    c, s = math.cos(pose[2]), math.sin(pose[2])
    x, y = place[0] - pose[0], place[1] - pose[1]
    return c * x + s * y, -s * x + c * y


def write(path, motions, poses, trees, draw):
    """One graph; `draw` gives what is added to a number that has this root of information."""
    with gzip.open(path, "wt") as file:
        for k, pose in enumerate(poses):
            for tree, place in enumerate(trees):
                if k % EVERY == 0 and math.dist(place, pose[:2]) < READS_M:
                    x, y = (number + draw(READING) for number in in_robot(pose, place))
                    file.write(f"LANDMARK {k} {tree} {x} {y} {READING} 0 {READING}\n")
            if k < len(motions):
                x, y, turn = (number + draw(root) for number, root in zip(motions[k], MOTION))
                a, b, c = MOTION
                file.write(f"EDGE2 {k} {k + 1} {x} {y} {turn} {a} 0 0 {b} 0 {c}\n")


def evaluate(lienav, graph, true, *words):
    """Position and landmark RMSE, m, and how many landmarks there are."""
    command = [lienav, "evaluate", f"g2o:{graph}:{true}", "--filter", "default", "--json", *words]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return report["position_rmse_m"], report["landmark_rmse_m"], report["landmarks"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where city_trees is")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the others follow")
    parser.add_argument("--trees", choices=["same", "other"], default="same", help="those of city_trees, or others")
    parser.add_argument("--lienav", default=str(ROOT / "target/release/lienav"), help="the program")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    motions, poses, trees = truth(options.folder)

    def run(seed):
        rng = random.Random(seed)
        places = [(-47.5 + 5 * i, -47.5 + 5 * k) for i in range(20) for k in range(20)]
        standing = trees if options.trees == "same" else rng.sample(places, 100)
        with tempfile.TemporaryDirectory() as folder:
            graph, true = pathlib.Path(folder, "run.graph.gz"), pathlib.Path(folder, "truth.graph.gz")
            write(graph, motions, poses, standing, lambda root: rng.gauss(0.0, 1.0 / root))
            write(true, motions, poses, standing, lambda _: 0.0)
            return (evaluate(options.lienav, graph, true), evaluate(options.lienav, graph, true, "--ignore-ids"))

    print("| seed | poses, with identities and without | landmarks at the end | landmarks |\n|---|---|---|---|")
    logs = []
    seeds = range(options.seed, options.seed + options.runs)
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        for seed, (known, unknown) in zip(seeds, pool.map(run, seeds)):
            both = [f"{known[k]:.2f}, {unknown[k]:.2f} m" for k in range(2)]
            print(f"| {seed} | {both[0]} | {both[1]} | {unknown[2]} |")
            logs.append([math.log(unknown[k] / known[k]) for k in range(2)])
    poses, landmarks = (math.exp(sum(log[k] for log in logs) / len(logs)) for k in range(2))
    print(f"\nGeometric mean of {len(logs)} factors: poses {poses:.3f}, landmarks {landmarks:.3f}")


if __name__ == "__main__":
    main()
