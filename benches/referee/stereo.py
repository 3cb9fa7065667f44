"""A plain EKF in numpy, and iSAM2 and the batch estimate of GTSAM, on velocities and a pair of cameras:

    python3 stereo.py numpy|gtsam INPUTS ESTIMATES

`lienav reproduce referee` writes INPUTS and reads ESTIMATES. All of them are given the same velocities, pixels with
identity, start and noise. The EKF is that of the textbooks: errors of position, orientation and landmarks about the
axes of the world, a gate for each measurement. iSAM2 estimates each pose when its frame comes; the batch estimate has
all of them."""

import csv
import json
import math
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    sys.exit('numpy is not installed: pip install numpy')

# χ² of three degrees of freedom at 0.999.
GATE = 16.266
# A landmark is initialized from no smaller disparity, px.
LEAST_DISPARITY = 2.0
# A first measurement of a landmark that is this many times as uncertain as it is far is left out.
FARTHEST = 0.5


def read(path):
    with open(path, newline='') as file:
        rows = csv.reader(file)
        next(rows)
        return [[float(cell) for cell in row] for row in rows]


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def exp(v):
    angle = math.sqrt(v @ v)
    if angle < 1e-12:
        return np.eye(3) + hat(v)
    k = hat(v / angle)
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def left_jacobian(v):
    """∫₀¹ Exp(s v) ds."""
    angle = math.sqrt(v @ v)
    if angle < 1e-6:
        return np.eye(3) + 0.5 * hat(v)
    k = hat(v / angle)
    return np.eye(3) + (1 - math.cos(angle)) / angle * k + (1 - math.sin(angle) / angle) * k @ k


def matrix(q):
    x, y, z, w = np.array(q) / np.linalg.norm(q)
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


class Setting:
    """What is known before the run."""

    def __init__(self, values):
        self.focal, self.centre, self.baseline = values['focal'], values['centre'], values['baseline_m']
        mount = values['body_from_camera']
        self.mount_p, self.mount_r = np.array(mount[:3]), matrix(mount[3:])
        start = values['start_pose']
        self.start_p, self.start_r = np.array(start[:3]), matrix(start[3:])
        rotation, velocity, position, gyro, accelerometer = values['start_std_rotation_velocity_position_biases']
        self.rotation_std, self.velocity_std, self.position_std = rotation, velocity, position
        self.gyro_std, self.accelerometer_std = gyro, accelerometer
        self.start_velocity = np.array(values['start_velocity'])
        self.velocity_variance, self.rate_variance = values['velocity_variance'], values['rate_variance']
        self.gravity, self.imu_noise = values['gravity'], values['imu_noise']
        own, common = np.square(values['pixel_std_own']), np.square(values['pixel_std_common'])
        # Of (u_left, u_right, v), where v is the mean of two.
        self.pixels = np.array([
            [own[0] + common[0], common[0], 0],
            [common[0], own[0] + common[0], 0],
            [0, 0, 0.5 * own[1] + common[1]],
        ])

    def point(self, value):
        """The point in the camera's frame of (u_left, u_right, v), and its derivative."""
        (fx, fy), (cx, cy), b = self.focal, self.centre, self.baseline
        d, u, v = value[0] - value[1], value[0] - cx, value[2] - cy
        z = fx * b / d
        by_d = -z / d
        point = np.array([u * z / fx, v * z / fy, z])
        derivative = np.array([
            [z / fx + u * by_d / fx, -u * by_d / fx, 0],
            [v * by_d / fy, -v * by_d / fy, z / fy],
            [by_d, -by_d, 0],
        ])
        return point, derivative

    def project(self, q):
        """(u_left, u_right, v) of a point in the camera's frame, and its derivative."""
        (fx, fy), (cx, cy), b = self.focal, self.centre, self.baseline
        x, y, z = q
        value = np.array([fx * x / z + cx, fx * (x - b) / z + cx, fy * y / z + cy])
        derivative = np.array([
            [fx / z, 0, -fx * x / z**2], [fx / z, 0, -fx * (x - b) / z**2], [0, fy / z, -fy * y / z**2]
        ])
        return value, derivative

    def is_usable(self, value):
        """Whether a landmark can begin with this measurement."""
        if value[0] - value[1] < LEAST_DISPARITY:
            return False
        point, derivative = self.point(value)
        return np.sqrt((derivative @ self.pixels @ derivative.T)[2, 2]) < FARTHEST * point[2]


def frames(rows):
    """Pixels of one stamp together: {stamp: [(landmark, (u_left, u_right, v))]}."""
    grouped = {}
    for stamp, landmark, ul, vl, ur, vr in rows:
        grouped.setdefault(stamp, []).append((int(landmark), np.array([ul, ur, 0.5 * (vl + vr)])))
    return grouped


def held(twists, begin, end):
    """Twist and duration of the pieces of an interval."""
    for row in twists:
        first, last = max(begin, row[0]), min(end, row[1])
        if last > first + 1e-9:
            yield np.array(row[2:5]), np.array(row[5:8]), last - first


class Estimates:
    """The file that the judge reads: covariances of position and orientation about fixed axes."""

    PAIRS = [(i, j) for i in range(6) for j in range(i, 6)]

    def __init__(self, folder, name):
        self.file = open(pathlib.Path(folder) / f'{name}.csv.part', 'w', newline='')
        axes = ['x', 'y', 'z', 'roll', 'pitch', 'yaw']
        names = [f'var_{axes[i]}' if i == j else f'cov_{axes[i]}_{axes[j]}' for i, j in self.PAIRS]
        self.file.write('stamp_s,x_m,y_m,z_m,qx,qy,qz,qw,' + ','.join(names) + '\n')

    def add(self, stamp, r, p, c):
        numbers = [*p, *quaternion(r), *(c[i, j] for i, j in self.PAIRS)]
        self.file.write(f'{stamp:.9f},' + ','.join(repr(float(x)) for x in numbers) + '\n')


def by_numpy(setting, twists, instants, seen_at, folder):
    r, p, places = setting.start_r, np.zeros(0), {}
    x = setting.start_p.copy()
    c = np.diag([setting.position_std**2] * 3 + [setting.rotation_std**2] * 3)
    out, at = Estimates(folder, 'numpy-ekf'), instants[0]
    for stamp in instants:
        for velocity, rate, duration in held(twists, at, stamp):
            turn = left_jacobian(rate * duration)
            moved = r @ turn @ velocity * duration
            f = np.eye(6)
            f[:3, 3:] = -hat(moved)
            c[:6, :] = f @ c[:6, :]
            c[:, :6] = c[:, :6] @ f.T
            whole = r @ turn * duration
            q = np.zeros((6, 6))
            # Twists come one at a time: their noise is that of a sample.
            q[:3, :3] = whole @ np.diag(setting.velocity_variance) @ whole.T
            q[3:, 3:] = whole @ np.diag(setting.rate_variance) @ whole.T
            c[:6, :6] += q
            x = x + moved
            r = r @ exp(rate * duration)
        at = stamp
        rows, residuals = [], []
        seen = seen_at.get(stamp, [])
        camera_r, camera_p = r @ setting.mount_r, x + r @ setting.mount_p
        for landmark, value in seen:
            k = places.get(landmark)
            if k is None:
                continue
            place = p[3 * k:3 * k + 3]
            q = camera_r.T @ (place - camera_p)
            if q[2] < 0.1:
                continue
            expected, derivative = setting.project(q)
            by_point = derivative @ camera_r.T
            h = np.zeros((3, len(c)))
            # l − p_camera turns with the body about its origin: l − x is what the error of the orientation moves.
            h[:, :3], h[:, 3:6] = -by_point, by_point @ hat(place - x)
            h[:, 6 + 3 * k:9 + 3 * k] = by_point
            residual = value - expected
            s = h @ c @ h.T + setting.pixels
            if residual @ np.linalg.solve(s, residual) <= GATE:
                rows.append(h)
                residuals.append(residual)
        if rows:
            h, residual = np.vstack(rows), np.concatenate(residuals)
            noise = np.kron(np.eye(len(rows)), setting.pixels)
            ch = c @ h.T
            gain = np.linalg.solve(h @ ch + noise, ch.T).T
            step = gain @ residual
            c = c - gain @ ch.T
            c = 0.5 * (c + c.T)
            x, r, p = x + step[:3], exp(step[3:6]) @ r, p + step[6:]
        for landmark, value in seen:
            if landmark in places or not setting.is_usable(value):
                continue
            point, derivative = setting.point(value)
            arm = r @ (setting.mount_p + setting.mount_r @ point)
            by_pose = np.hstack([np.eye(3), -hat(arm)])
            by_value = r @ setting.mount_r @ derivative
            n = len(c)
            grown = np.zeros((n + 3, n + 3))
            grown[:n, :n] = c
            grown[n:, :n] = by_pose @ c[:6]
            grown[:n, n:] = grown[n:, :n].T
            grown[n:, n:] = by_pose @ c[:6, :6] @ by_pose.T + by_value @ setting.pixels @ by_value.T
            places[landmark] = len(p) // 3
            p, c = np.concatenate([p, x + arm]), grown
        out.add(stamp, r, x, c[:6, :6])


def by_gtsam(setting, twists, instants, seen_at, folder):
    """Poses of the left camera, which the stereo factor is of."""
    try:
        import gtsam
    except ImportError:
        sys.exit('gtsam is not installed: pip install gtsam')
    pose_key, landmark_key = (lambda k: gtsam.symbol('x', k)), (lambda k: gtsam.symbol('l', k))
    mount = gtsam.Pose3(gtsam.Rot3(setting.mount_r), setting.mount_p)
    (fx, fy), (cx, cy) = setting.focal, setting.centre
    camera = gtsam.Cal3_S2Stereo(fx, fy, 0.0, cx, cy, setting.baseline)
    pixels = gtsam.noiseModel.Gaussian.Covariance(setting.pixels)
    pixels = gtsam.noiseModel.Robust.Create(gtsam.noiseModel.mEstimator.Huber.Create(3.0), pixels)

    def base(pose, covariance):
        """R, p and the covariance of (position, orientation) about fixed axes."""
        body = pose.compose(mount.inverse())
        r = body.rotation().matrix()
        c = mount.AdjointMap() @ covariance @ mount.AdjointMap().T
        whole = np.block([[np.zeros((3, 3)), r], [r, np.zeros((3, 3))]])
        return r, body.translation(), whole @ c @ whole.T

    def moved(begin, end):
        """The motion of the body, and its covariance in GTSAM's order."""
        motion, c = gtsam.Pose3(), np.zeros((6, 6))
        for velocity, rate, duration in held(twists, begin, end):
            xi = np.concatenate([rate, velocity]) * duration
            step = gtsam.Pose3.Expmap(xi)
            back = step.inverse().AdjointMap()
            noise = np.diag(np.concatenate([setting.rate_variance, setting.velocity_variance])) * duration**2
            right = gtsam.Pose3.ExpmapDerivative(xi)
            c = back @ c @ back.T + right @ noise @ right.T
            motion = motion.compose(step)
        return motion, c

    isam, graph = gtsam.ISAM2(), gtsam.NonlinearFactorGraph()
    out, known = Estimates(folder, 'gtsam-isam2'), set()
    pose = gtsam.Pose3(gtsam.Rot3(setting.start_r), setting.start_p).compose(mount)
    for k, stamp in enumerate(instants):
        new, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
        if k == 0:
            std = np.maximum([setting.rotation_std] * 3 + [setting.position_std] * 3, 1e-6)
            turn = np.kron(np.eye(2), setting.start_r.T)
            back = mount.inverse().AdjointMap() @ turn
            c = back @ np.diag(np.square(std)) @ back.T
            new.add(gtsam.PriorFactorPose3(pose_key(0), pose, gtsam.noiseModel.Gaussian.Covariance(c)))
        else:
            motion, c = moved(instants[k - 1], stamp)
            motion = mount.inverse().compose(motion).compose(mount)
            c = mount.inverse().AdjointMap() @ c @ mount.inverse().AdjointMap().T + 1e-12 * np.eye(6)
            pose = pose.compose(motion)
            model = gtsam.noiseModel.Gaussian.Covariance(c)
            new.add(gtsam.BetweenFactorPose3(pose_key(k - 1), pose_key(k), motion, model))
        values.insert(pose_key(k), pose)
        for landmark, value in seen_at.get(stamp, []):
            if landmark not in known:
                if not setting.is_usable(value):
                    continue
                known.add(landmark)
                values.insert(landmark_key(landmark), pose.transformFrom(setting.point(value)[0]))
            point = gtsam.StereoPoint2(value[0], value[1], value[2])
            new.add(gtsam.GenericStereoFactor3D(point, pixels, pose_key(k), landmark_key(landmark), camera))
        isam.update(new, values)
        # Twice more: with measurements as rough as these, one linearization is not enough.
        isam.update()
        isam.update()
        pose = isam.calculateEstimatePose3(pose_key(k))
        out.add(stamp, *base(pose, isam.marginalCovariance(pose_key(k))))
        graph.push_back(new)
    whole = gtsam.LevenbergMarquardtOptimizer(graph, isam.calculateEstimate()).optimize()
    marginals, out = gtsam.Marginals(graph, whole), Estimates(folder, 'gtsam-batch')
    for k, stamp in enumerate(instants):
        out.add(stamp, *base(whole.atPose3(pose_key(k)), marginals.marginalCovariance(pose_key(k))))


def main():
    method, inputs, folder = sys.argv[1:]
    inputs = pathlib.Path(inputs)
    setting = Setting(json.loads((inputs / 'setting.json').read_text()))
    instants = [row[0] for row in read(inputs / 'instants.csv')]
    seen_at = frames(read(inputs / 'pixels.csv'))
    arguments = setting, read(inputs / 'twists.csv'), instants, seen_at, folder
    {'numpy': by_numpy, 'gtsam': by_gtsam}[method](*arguments)


if __name__ == '__main__':
    main()
