"""A plain multiplicative EKF in numpy, and VQF, on the samples of an inertial sensor:

    python3 attitude.py numpy|vqf INPUTS ESTIMATES

`lienav reproduce referee` writes INPUTS and reads ESTIMATES. Both begin with the first true orientation: nothing shows
north. The EKF has the orientation and the bias of the gyroscope, and takes the direction of the specific force for the
vertical, the less the more its size differs from gravity. VQF (Laidig, Seel 2023) is its authors' implementation with
their parameters; it states no covariance of the orientation."""

import csv
import json
import math
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    sys.exit('numpy is not installed: pip install numpy')

GRAVITY = 9.81
# Of the gyroscope, rad/s/√Hz, and the walk of its bias, rad/s²/√Hz: what data sheets of such sensors state.
GYRO_NOISE, BIAS_WALK = 2e-3, 1e-5
# Of the direction that the specific force shows, m/s², and how much of the difference of its size from gravity is added.
FORCE_STD, FORCE_SHARE = 1.0, 1.0
# Of the first orientation, rad, and of the bias, rad/s.
START_STD, BIAS_STD = 2e-3, 0.02


def read(path):
    with open(path, newline='') as file:
        rows = csv.reader(file)
        next(rows)
        return np.array([[float(cell) for cell in row] for row in rows])


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def exp(v):
    angle = math.sqrt(v @ v)
    if angle < 1e-12:
        return np.eye(3) + hat(v)
    k = hat(v / angle)
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def matrix(q):
    x, y, z, w = q / np.linalg.norm(q)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])


def quaternion(r):
    """(x, y, z, w) by its largest component."""
    trace = np.trace(r)
    squares = np.array([1 + 2 * r[0, 0] - trace, 1 + 2 * r[1, 1] - trace, 1 + 2 * r[2, 2] - trace, 1 + trace])
    k = int(np.argmax(squares))
    q = [
        [squares[0], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[2, 1] - r[1, 2]],
        [r[0, 1] + r[1, 0], squares[1], r[1, 2] + r[2, 1], r[0, 2] - r[2, 0]],
        [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], squares[2], r[1, 0] - r[0, 1]],
        [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], squares[3]],
    ][k]
    return np.array(q) / np.linalg.norm(q)


class Estimates:
    """The file that the judge reads."""

    def __init__(self, folder, name, has_covariance):
        self.file = open(pathlib.Path(folder) / f'{name}.csv.part', 'w', newline='')
        self.has_covariance = has_covariance
        names = ',var_roll,cov_roll_pitch,cov_roll_yaw,var_pitch,cov_pitch_yaw,var_yaw' if has_covariance else ''
        self.file.write(f'stamp_s,x_m,y_m,z_m,qx,qy,qz,qw{names}\n')

    def add(self, stamp, q, c=None):
        numbers = [0.0, 0.0, 0.0, *q]
        if self.has_covariance:
            numbers += [c[0, 0], c[0, 1], c[0, 2], c[1, 1], c[1, 2], c[2, 2]]
        self.file.write(f'{stamp:.9f},' + ','.join(repr(float(x)) for x in numbers) + '\n')


def by_numpy(imu, start, folder):
    """R_true = Exp(δ) R with δ about fixed axes, and the bias."""
    r, bias, out = matrix(start), np.zeros(3), Estimates(folder, 'numpy-mekf', True)
    p = np.diag([START_STD**2] * 3 + [BIAS_STD**2] * 3)
    vertical = np.array([0.0, 0.0, 1.0])
    for k, row in enumerate(imu):
        if k > 0:
            dt = row[0] - imu[k - 1][0]
            f = np.eye(6)
            f[:3, 3:] = -r * dt
            r = r @ exp((0.5 * (row[1:4] + imu[k - 1][1:4]) - bias) * dt)
            p = f @ p @ f.T
            p[:3, :3] += np.eye(3) * GYRO_NOISE**2 * dt
            p[3:, 3:] += np.eye(3) * BIAS_WALK**2 * dt
        force = row[4:7]
        size = math.sqrt(force @ force)
        if size > 0.5 * GRAVITY:
            std = (FORCE_STD + FORCE_SHARE * abs(size - GRAVITY)) / GRAVITY
            # One sample in four milliseconds is no new evidence: accelerations last for half a second.
            std *= math.sqrt(0.5 / max(row[0] - imu[k - 1][0], 1e-3)) if k > 0 else 1.0
            measured = r @ force / size
            h = np.zeros((2, 6))
            h[:, :3] = hat(measured)[:2]
            residual = (measured - vertical)[:2]
            s = h @ p @ h.T + np.eye(2) * std**2
            gain = np.linalg.solve(s, h @ p).T
            x = gain @ residual
            p = p - gain @ h @ p
            p = 0.5 * (p + p.T)
            r, bias = exp(x[:3]) @ r, bias + x[3:]
        out.add(row[0], quaternion(r), p[:3, :3])


def by_vqf(imu, start, folder):
    try:
        from vqf import VQF
    except ImportError:
        sys.exit('vqf is not installed: pip install vqf')
    period = float(np.median(np.diff(imu[:, 0])))
    found = VQF(period).updateBatch(np.ascontiguousarray(imu[:, 1:4]), np.ascontiguousarray(imu[:, 4:7]))['quat6D']
    orientations = [matrix(q[[1, 2, 3, 0]]) for q in found]
    # Its heading begins at zero: it is turned about the vertical to that of the start.
    apart = matrix(start) @ orientations[0].T
    heading = math.atan2(apart[1, 0] - apart[0, 1], apart[0, 0] + apart[1, 1])
    turn = exp(np.array([0.0, 0.0, heading]))
    out = Estimates(folder, 'vqf', False)
    for stamp, r in zip(imu[:, 0], orientations):
        out.add(stamp, quaternion(turn @ r))


def main():
    method, inputs, folder = sys.argv[1:]
    inputs = pathlib.Path(inputs)
    start = np.array(json.loads((inputs / 'setting.json').read_text())['start_xyzw'])
    {'numpy': by_numpy, 'vqf': by_vqf}[method](read(inputs / 'imu.csv'), start, folder)


if __name__ == '__main__':
    main()
