"""What a step costs and how good the map is over the number of trees, beside iSAM2 of GTSAM, as a table and a plot.

    cargo build --release --no-default-features --bin lienav
    pip install gtsam numpy matplotlib
    python3 benches/isam2_orchard.py target/release/lienav --only-ours 3000,10000 --plot docs/scale.svg

A robot goes through the lanes of an orchard, a tree every 2 m in rows 4 m apart, 0.2 m a step, and reads what is within
4.5 m, about eight trees, with their identities. The same graph goes to both, in the format of `benches/isam2.py`."""

import argparse
import datetime
import json
import math
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy as np
from isam2 import isam2, truth

STEP_M, REACH_M, DETECTION = 0.2, 4.5, 0.95
# Standard deviations of a step (m, m, rad) and of either coordinate of a reading, m.
STEP_STD, READING_STD = np.array([0.009, 0.002, 0.0018]), 0.05


def way(rows, columns):
    """Where the robot is, (x, y, heading), step by step: through all lanes, round the orchard, and into the first."""
    end, top = 2.0 * (columns - 1) + 4.0, 4.0 * (rows - 1) - 2.0
    corners = [(-4.0, 2.0)]
    for lane in range(rows - 1):
        from_x, to_x = (-4.0, end) if lane % 2 == 0 else (end, -4.0)
        corners += [(from_x, 2.0 + 4.0 * lane), (to_x, 2.0 + 4.0 * lane)]
    outside = end + 4.0 if corners[-1][0] > 0.0 else -8.0
    corners += [(outside, top), (outside, -4.0), (-6.0, -4.0), (-6.0, 2.0), (16.0, 2.0)]
    poses = []
    for (x, y), (to_x, to_y) in zip(corners, corners[1:]):
        length, heading = math.hypot(to_x - x, to_y - y), math.atan2(to_y - y, to_x - x)
        for k in range(round(length / STEP_M)):
            poses.append((x + k * STEP_M * math.cos(heading), y + k * STEP_M * math.sin(heading), heading))
    return np.array(poses)


def relative(pose, x, y):
    """A place as seen from a pose."""
    s, c = math.sin(pose[2]), math.cos(pose[2])
    return c * (x - pose[0]) + s * (y - pose[1]), c * (y - pose[1]) - s * (x - pose[0])


def write(trees, seed, graph, true_graph):
    """The graph of a run with noise, and without; returns how many steps and readings it has."""
    random = np.random.default_rng(seed)
    rows = max(2, round(math.sqrt(0.5 * trees)))
    columns = math.ceil(trees / rows)
    places = np.array([(2.0 * i, 4.0 * j) for j in range(rows) for i in range(columns)])
    places += random.uniform(-0.2, 0.2, places.shape)
    poses, readings = way(rows, columns), 0
    root_step, root_reading = 1.0 / STEP_STD, 1.0 / READING_STD
    with open(graph, 'w') as noisy, open(true_graph, 'w') as exact:
        for k, pose in enumerate(poses):
            if k > 0:
                x, y = relative(poses[k - 1], pose[0], pose[1])
                turn = math.remainder(pose[2] - poses[k - 1][2], math.tau)
                root = f'{root_step[0]} 0 0 {root_step[1]} 0 {root_step[2]}'
                motion = np.array([x, y, turn])
                for file, noise in ((noisy, random.normal(0.0, STEP_STD)), (exact, 0.0)):
                    a, b, c = motion + noise
                    file.write(f'EDGE2 {k - 1} {k} {a} {b} {c} {root}\n')
            near = np.flatnonzero(np.hypot(*(places - pose[:2]).T) < REACH_M)
            for tree in near[random.random(len(near)) < DETECTION]:
                x, y = relative(pose, *places[tree])
                for file, noise in ((noisy, random.normal(0.0, READING_STD, 2)), (exact, np.zeros(2))):
                    a, b = np.array([x, y]) + noise
                    file.write(f'LANDMARK {k} {tree} {a} {b} {root_reading} 0 {root_reading}\n')
                readings += 1
    return len(poses), readings


def ours(program, graph, true_graph, part):
    """The report of `lienav evaluate`."""
    call = [program, 'evaluate', f'g2o:{graph}:{true_graph}', '--json', '--set', f'map.local_features={part}']
    done = subprocess.run(call + (['--set', 'map.max_features=100000'] if part > 0 else []), capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    report = json.loads(done.stdout)
    return report['landmark_rmse_m'], 1e-3 * report['step_us']['mean'], 1e-3 * report['step_us']['p99']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('lienav', help='the program')
    parser.add_argument('--trees', default='100,300,1000', help='numbers of trees, of all methods')
    parser.add_argument('--only-ours', default='', help='numbers of trees, of a map in parts alone')
    parser.add_argument('--part', type=int, default=35, help='landmarks of a part')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--plot', help='where to draw, a file of any format that matplotlib knows')
    arguments = parser.parse_args()
    numbers = lambda text: [int(word) for word in text.split(',') if word]
    methods = {f'map in parts of {arguments.part}': [], 'one map': [], "GTSAM's iSAM2": []}
    print('| trees | steps | readings a step | method | landmarks, at the end | mean step | p99 |')
    print('|---|---|---|---|---|---|---|')
    for trees in sorted(numbers(arguments.trees) + numbers(arguments.only_ours)):
        with tempfile.TemporaryDirectory() as folder:
            graph, true_graph = (str(pathlib.Path(folder) / name) for name in ('run.graph', 'truth.graph'))
            steps, readings = write(trees, arguments.seed, graph, true_graph)
            is_compared = trees in numbers(arguments.trees)
            for name, rows in methods.items():
                if name == "GTSAM's iSAM2":
                    if not is_compared:
                        continue
                    landmarks, times = isam2(graph, 1, 0.1)
                    places = truth(true_graph)
                    errors = [np.sum((place - places[tree]) ** 2) for tree, place in landmarks.items()]
                    times = 1e3 * np.array(times)
                    row = math.sqrt(np.mean(errors)), float(np.mean(times)), float(np.quantile(times, 0.99))
                elif name == 'one map':
                    if not is_compared:
                        continue
                    row = ours(arguments.lienav, graph, true_graph, 0)
                else:
                    row = ours(arguments.lienav, graph, true_graph, arguments.part)
                rows.append((trees, *row))
                print(f'| {trees} | {steps} | {readings / steps:.1f} | {name} | {row[0]:.4f} m | {row[1]:.4f} ms | '
                      f'{row[2]:.3f} ms |', flush=True)
    if arguments.plot:
        draw(methods, arguments.plot)


def draw(methods, path):
    """Cost and error over the number of trees."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, (cost, error) = pyplot.subplots(1, 2, figsize=(10.0, 4.2), layout='constrained')
    for name, rows in methods.items():
        trees, rmse, mean, p99 = np.array(rows).T
        (line,) = cost.loglog(trees, mean, 'o-', label=f'{name}, mean')
        cost.loglog(trees, p99, 'o:', color=line.get_color(), label='p99')
        error.loglog(trees, rmse, 'o-', label=name)
    cost.set(xlabel='trees', ylabel='a step [ms]')
    error.set(xlabel='trees', ylabel='landmarks at the end, RMSE [m]')
    for axes in (cost, error):
        axes.grid(alpha=0.3)
        axes.legend(fontsize='small')
    figure.suptitle(f'An orchard, 0.2 m a step; {platform.machine()}, one core, {datetime.date.today()}', fontsize=10)
    figure.savefig(path)


if __name__ == '__main__':
    main()
