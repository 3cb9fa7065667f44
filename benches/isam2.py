"""What a step costs and how good it is, beside iSAM2 of GTSAM, on a graph of poses and landmarks with identities.

    cargo build --release --no-default-features --bin lienav
    pip install gtsam numpy
    python3 benches/isam2.py target/release/lienav city_trees/run_0.graph.gz city_trees/truth.graph.gz

The file has EDGE2 (or ODOMETRY) and LANDMARK lines, each with the square root of its information behind, as those of
the iSAM distribution; so has that of the truth, whose chained edges are it. One update of iSAM2 for each pose, with the
readings of that pose; `--every` says how often it linearizes again. Landmarks are judged at the end, not aligned."""

import argparse
import gzip
import json
import math
import subprocess
import sys
import time

import numpy as np

try:
    import gtsam
except ImportError:
    sys.exit('gtsam is not installed: pip install gtsam')


def lines(path):
    """Edges (from, to, motion, root) and readings (pose, landmark, place, root) of a file, by the pose they end at."""
    edges, readings = [], {}
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as file:
        for words in map(str.split, file):
            numbers = [float(word) for word in words[3:]]
            if words[0] in ('EDGE2', 'ODOMETRY'):
                a, b, c, d, e, f = numbers[3:]
                root = np.array([[a, b, c], [0.0, d, e], [0.0, 0.0, f]])
                edges.append((int(words[1]), int(words[2]), numbers[:3], root))
            elif words[0] == 'LANDMARK':
                a, b, c = numbers[2:]
                root = np.array([[a, b], [0.0, c]])
                readings.setdefault(int(words[1]), []).append((int(words[2]), np.array(numbers[:2]), root))
    return edges, readings


def truth(path):
    """Where the landmarks are: the edges of the truth, chained."""
    edges, readings = lines(path)
    poses = {edges[0][0]: gtsam.Pose2()}
    for a, b, motion, _ in edges:
        poses[b] = poses[a].compose(gtsam.Pose2(*motion))
    return {name: poses[k].transformFrom(place) for k, seen in readings.items() for name, place, _ in seen}


def isam2(path, every, threshold):
    """Landmarks at the end, and the time of each update, s."""
    edges, readings = lines(path)
    parameters = gtsam.ISAM2Params()
    parameters.setRelinearizeThreshold(threshold)
    parameters.relinearizeSkip = every
    isam, known, times = gtsam.ISAM2(parameters), set(), []
    pose_key, landmark_key = (lambda k: gtsam.symbol('x', k)), (lambda k: gtsam.symbol('l', k))
    estimate = gtsam.Pose2()
    first = edges[0][0]
    for a, b, motion, root in [(None, first, None, None), *edges]:
        factors, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
        if a is None:
            exact = gtsam.noiseModel.Diagonal.Sigmas(np.full(3, 1e-6))
            factors.add(gtsam.PriorFactorPose2(pose_key(b), estimate, exact))
        else:
            noise = gtsam.noiseModel.Gaussian.SqrtInformation(root)
            factors.add(gtsam.BetweenFactorPose2(pose_key(a), pose_key(b), gtsam.Pose2(*motion), noise))
            estimate = estimate.compose(gtsam.Pose2(*motion))
        values.insert(pose_key(b), estimate)
        for name, place, root in readings.get(b, []):
            # Range and bearing say the same as the place, with its covariance carried over.
            distance, turn = float(np.hypot(*place)), gtsam.Rot2(math.atan2(place[1], place[0]))
            by_place = np.array([[-place[1], place[0]], [place[0] * distance, place[1] * distance]]) / distance**2
            covariance = by_place @ np.linalg.inv(root.T @ root) @ by_place.T
            noise = gtsam.noiseModel.Gaussian.Covariance(covariance)
            factors.add(gtsam.BearingRangeFactor2D(pose_key(b), landmark_key(name), turn, distance, noise))
            if name not in known:
                known.add(name)
                values.insert(landmark_key(name), estimate.transformFrom(place))
        begun = time.perf_counter()
        isam.update(factors, values)
        estimate = isam.calculateEstimatePose2(pose_key(b))
        times.append(time.perf_counter() - begun)
        if len(times) % 500 == 0:
            print(f'\r{len(times)} of {len(edges) + 1} poses', end='', file=sys.stderr, flush=True)
    print('\r', end='', file=sys.stderr)
    last = isam.calculateEstimate()
    return {name: last.atPoint2(landmark_key(name)) for name in known}, times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('lienav', help='the program')
    parser.add_argument('graph')
    parser.add_argument('truth')
    parser.add_argument('--every', type=int, default=1, help='iSAM2 linearizes again at each so many updates')
    parser.add_argument('--threshold', type=float, default=0.1, help='what has moved by so much')
    arguments = parser.parse_args()
    ours = {}
    for name, settings in {'one map': ['map.local_features=0'], 'parts of 50': ['map.local_features=50']}.items():
        call = [arguments.lienav, 'evaluate', f'g2o:{arguments.graph}:{arguments.truth}', '--json']
        done = subprocess.run(call + [word for setting in settings for word in ('--set', setting)], capture_output=True)
        if done.returncode != 0:
            sys.exit(done.stderr.decode())
        ours[name] = json.loads(done.stdout)
    landmarks, times = isam2(arguments.graph, arguments.every, arguments.threshold)
    places = truth(arguments.truth)
    errors = [np.sum((place - places[name]) ** 2) for name, place in landmarks.items() if name in places]
    mean_us = 1e6 * float(np.mean(times))
    print('method       landmarks [m]  step, mean [us]  p99 [us]  by ours')
    for name, report in ours.items():
        step = report['step_us']
        numbers = f"{report['landmark_rmse_m']:13.4f} {step['mean']:16.1f} {step['p99']:9.1f}"
        print(f"{name:12} {numbers} {mean_us / step['mean']:8.0f}")
    p99_us = 1e6 * float(np.quantile(times, 0.99))
    print(f"{'iSAM2':12} {math.sqrt(np.mean(errors)):13.4f} {mean_us:16.1f} {p99_us:9.1f}")


if __name__ == '__main__':
    main()
