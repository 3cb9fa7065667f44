"""A plain EKF in numpy, and iSAM2 and the batch estimate of GTSAM, on a recording in the plane:

    python3 planar.py numpy|gtsam INPUTS ESTIMATES

`lienav reproduce referee` writes INPUTS and reads ESTIMATES. All of them are given the same twists, measurements with
identity, start and noise. The EKF is that of the textbooks: errors in the world frame, one update for each scan, a gate
for each measurement. GTSAM has a pose for each scan; where the recording says that measurements have outliers, it uses
Cauchy's loss. iSAM2 estimates each pose when its scan comes; the batch estimate has all of them."""

import csv
import json
import math
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    sys.exit('numpy is not installed: pip install numpy')

# χ² of two degrees of freedom at 0.999.
GATE = 13.8155


def read(path):
    with open(path, newline='') as file:
        rows = csv.reader(file)
        next(rows)
        return [[float(cell) for cell in row] for row in rows]


def wrap(angle):
    return math.atan2(math.sin(angle), math.cos(angle))


def rotation(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def arc(twist, duration):
    """The motion (x, y, θ) of a twist that is held, and its derivative by the twist."""
    x, y, a = twist * duration
    if abs(a) < 1e-4:
        f, g, df, dg = 1 - a * a / 6, a / 2, -a / 3, 0.5
    else:
        s, c = math.sin(a), math.cos(a)
        f, g, df, dg = s / a, (1 - c) / a, (a * c - s) / (a * a), (a * s - (1 - c)) / (a * a)
    motion = np.array([f * x - g * y, g * x + f * y, a])
    by_twist = np.array([[f, -g, df * x - dg * y], [g, f, dg * x + df * y], [0, 0, 1]]) * duration
    return motion, by_twist


class Odometry:
    """Twists over intervals, taken piece by piece."""

    def __init__(self, rows):
        self.rows, self.at = rows, 0

    def pieces(self, begin, end):
        """Twist, duration, and covariance of the twist over that duration."""
        while self.at > 0 and self.rows[self.at][0] > begin:
            self.at -= 1
        while self.at < len(self.rows):
            row = self.rows[self.at]
            first, last = max(begin, row[0]), min(end, row[1])
            if last > first:
                a, b, c, d, e, f = row[5:]
                whole = np.array([[a, b, c], [b, d, e], [c, e, f]])
                # The mean over a part varies more than that over the whole.
                yield np.array(row[2:5]), last - first, whole * ((row[1] - row[0]) / (last - first))
            if row[1] >= end:
                return
            self.at += 1


def scans(rows):
    """Measurements of one stamp together: (stamp, [(landmark, value, covariance)])."""
    grouped = []
    for stamp, landmark, a, b, r11, r12, r22 in rows:
        if not grouped or grouped[-1][0] != stamp:
            grouped.append((stamp, []))
        if landmark >= 0:
            grouped[-1][1].append((int(landmark), np.array([a, b]), np.array([[r11, r12], [r12, r22]])))
    return grouped


class Estimates:
    """The file that the judge reads."""

    def __init__(self, folder, name):
        self.file = open(pathlib.Path(folder) / f'{name}.csv.part', 'w', newline='')
        self.file.write('stamp_s,x_m,y_m,yaw_rad,var_x,cov_xy,cov_xyaw,var_y,cov_yyaw,var_yaw\n')

    def add(self, stamp, pose, c):
        numbers = [*pose, c[0, 0], c[0, 1], c[0, 2], c[1, 1], c[1, 2], c[2, 2]]
        self.file.write(f'{stamp:.9f},' + ','.join(repr(float(x)) for x in numbers) + '\n')


class Ekf:
    """The state (x, y, θ, landmarks), with errors in the world frame."""

    def __init__(self, setting):
        self.x = np.array(setting['start'], dtype=float)
        self.p = np.diag(np.square(np.array(setting['start_std'], dtype=float)))
        self.sensor = np.array(setting['sensor_on_base'], dtype=float)
        self.is_position = setting['measures'] == 'position'
        self.places = {}

    def predict(self, twist, duration, covariance):
        motion, by_twist = arc(twist, duration)
        turn = rotation(self.x[2])
        moved = turn @ motion[:2]
        f = np.eye(3)
        f[:2, 2] = [-moved[1], moved[0]]
        g = by_twist.copy()
        g[:2] = turn @ by_twist[:2]
        self.x[:2] += moved
        self.x[2] = wrap(self.x[2] + motion[2])
        self.p[:3, :] = f @ self.p[:3, :]
        self.p[:, :3] = self.p[:, :3] @ f.T
        self.p[:3, :3] += g @ covariance @ g.T

    def sensor_pose(self):
        """Where the sensor is, its heading, and the derivative of its place by θ."""
        offset = rotation(self.x[2]) @ self.sensor[:2]
        return self.x[:2] + offset, self.x[2] + self.sensor[2], np.array([-offset[1], offset[0]])

    def expected(self, at):
        """The measurement of the landmark at this place of the state, and its derivatives by pose and landmark."""
        origin, heading, by_turn = self.sensor_pose()
        back = rotation(heading).T
        z = back @ (self.x[at:at + 2] - origin)
        by_pose = np.column_stack([-back, back @ -by_turn + np.array([z[1], -z[0]])])
        if self.is_position:
            return z, by_pose, back
        q = z @ z
        r = math.sqrt(q)
        by_z = np.array([[z[0] / r, z[1] / r], [-z[1] / q, z[0] / q]])
        return np.array([r, math.atan2(z[1], z[0])]), by_z @ by_pose, by_z @ back

    def difference(self, value, expected):
        residual = value - expected
        if not self.is_position:
            residual[1] = wrap(residual[1])
        return residual

    def correct(self, seen):
        rows, residuals, noises = [], [], []
        for landmark, value, noise in seen:
            at = self.places.get(landmark)
            if at is None:
                continue
            expected, by_pose, by_landmark = self.expected(at)
            h = np.zeros((2, len(self.x)))
            h[:, :3], h[:, at:at + 2] = by_pose, by_landmark
            residual = self.difference(value, expected)
            s = h @ self.p @ h.T + noise
            if residual @ np.linalg.solve(s, residual) <= GATE:
                rows.append(h)
                residuals.append(residual)
                noises.append(noise)
        if rows:
            h, residual = np.vstack(rows), np.concatenate(residuals)
            r = np.zeros((len(residual), len(residual)))
            for k, noise in enumerate(noises):
                r[2 * k:2 * k + 2, 2 * k:2 * k + 2] = noise
            ph = self.p @ h.T
            gain = np.linalg.solve(h @ ph + r, ph.T).T
            self.x += gain @ residual
            self.x[2] = wrap(self.x[2])
            self.p -= gain @ ph.T
            self.p = 0.5 * (self.p + self.p.T)
        for landmark, value, noise in seen:
            if landmark not in self.places:
                self.augment(landmark, value, noise)

    def augment(self, landmark, value, noise):
        if self.is_position:
            z, by_value = value, np.eye(2)
        else:
            c, s = math.cos(value[1]), math.sin(value[1])
            z, by_value = value[0] * np.array([c, s]), np.array([[c, -value[0] * s], [s, value[0] * c]])
        origin, heading, by_turn = self.sensor_pose()
        turn = rotation(heading)
        arm = turn @ z
        by_pose = np.column_stack([np.eye(2), by_turn + np.array([-arm[1], arm[0]])])
        n = len(self.x)
        grown = np.zeros((n + 2, n + 2))
        grown[:n, :n] = self.p
        grown[n:, :n] = by_pose @ self.p[:3]
        grown[:n, n:] = grown[n:, :n].T
        by_noise = turn @ by_value
        grown[n:, n:] = by_pose @ self.p[:3, :3] @ by_pose.T + by_noise @ noise @ by_noise.T
        self.x, self.p = np.concatenate([self.x, origin + arm]), grown
        self.places[landmark] = n


def by_numpy(setting, odometry, measured, folder):
    ekf, out, at = Ekf(setting), Estimates(folder, 'numpy-ekf'), setting['start_stamp_s']
    for stamp, seen in measured:
        for piece in odometry.pieces(at, stamp):
            ekf.predict(*piece)
        at = stamp
        ekf.correct(seen)
        out.add(stamp, ekf.x[:3], ekf.p[:3, :3])


def by_gtsam(setting, odometry, measured, folder):
    """Poses of the sensor, as GTSAM's factors have no mount in the plane: x_sensor = x_base s."""
    try:
        import gtsam
    except ImportError:
        sys.exit('gtsam is not installed: pip install gtsam')
    pose_key, landmark_key = (lambda k: gtsam.symbol('x', k)), (lambda k: gtsam.symbol('l', k))
    mount = gtsam.Pose2(*setting['sensor_on_base'])
    to_base = mount.AdjointMap()

    def base(pose, covariance):
        """Pose of the base, and the covariance of (x, y, θ) about fixed axes."""
        found = pose.compose(mount.inverse())
        turn = np.eye(3)
        turn[:2, :2] = rotation(found.theta())
        whole = turn @ to_base
        return [found.x(), found.y(), found.theta()], whole @ covariance @ whole.T

    def measurement(value, noise):
        """Bearing, range, and their covariance."""
        if setting['measures'] == 'position':
            distance = float(np.hypot(*value))
            by_place = np.array([[-value[1], value[0]], [value[0] * distance, value[1] * distance]]) / distance**2
            return math.atan2(value[1], value[0]), distance, by_place @ noise @ by_place.T
        return value[1], value[0], noise[::-1, ::-1]

    loss = gtsam.noiseModel.mEstimator.Cauchy.Create(1.0) if setting['robust_scale'] > 0 else None
    parameters = gtsam.ISAM2Params()
    parameters.setRelinearizeThreshold(0.01)
    parameters.relinearizeSkip = 1
    isam, graph = gtsam.ISAM2(parameters), gtsam.NonlinearFactorGraph()
    out, known, pose = Estimates(folder, 'gtsam-isam2'), set(), gtsam.Pose2(*setting['start']).compose(mount)
    at = setting['start_stamp_s']
    # Node 0 is the start; node k + 1 belongs to scan k. The start is exact, as far as a factor can be.
    std = np.maximum(np.array(setting['start_std'], dtype=float), 1e-6)
    turn = np.eye(3)
    turn[:2, :2] = rotation(setting['start'][2]).T
    back = np.linalg.inv(to_base) @ turn
    first, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
    model = gtsam.noiseModel.Gaussian.Covariance(back @ np.diag(std**2) @ back.T)
    first.add(gtsam.PriorFactorPose2(pose_key(0), pose, model))
    values.insert(pose_key(0), pose)
    isam.update(first, values)
    graph.push_back(first)
    for k, (stamp, seen) in enumerate(measured, start=1):
        new, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
        moved, c = gtsam.Pose2(), np.zeros((3, 3))
        for twist, duration, q in odometry.pieces(at, stamp):
            motion, by_twist = arc(twist, duration)
            step = gtsam.Pose2(*motion)
            # From derivatives about the axes before the step to those behind it.
            turn = np.eye(3)
            turn[:2, :2] = rotation(motion[2]).T
            by_twist = turn @ by_twist
            back = step.inverse().AdjointMap()
            c = back @ c @ back.T + by_twist @ q @ by_twist.T
            moved = moved.compose(step)
        by_mount = mount.inverse().AdjointMap()
        c = by_mount @ c @ by_mount.T + 1e-12 * np.eye(3)
        moved = mount.inverse().compose(moved).compose(mount)
        pose = pose.compose(moved)
        model = gtsam.noiseModel.Gaussian.Covariance(c)
        new.add(gtsam.BetweenFactorPose2(pose_key(k - 1), pose_key(k), moved, model))
        values.insert(pose_key(k), pose)
        for landmark, value, noise in seen:
            bearing, distance, noise = measurement(value, noise)
            model = gtsam.noiseModel.Gaussian.Covariance(noise)
            model = gtsam.noiseModel.Robust.Create(loss, model) if loss else model
            turn = gtsam.Rot2(bearing)
            new.add(gtsam.BearingRangeFactor2D(pose_key(k), landmark_key(landmark), turn, distance, model))
            if landmark not in known:
                known.add(landmark)
                place = pose.transformFrom(np.array([distance * math.cos(bearing), distance * math.sin(bearing)]))
                values.insert(landmark_key(landmark), place)
        isam.update(new, values)
        pose = isam.calculateEstimatePose2(pose_key(k))
        out.add(stamp, *base(pose, isam.marginalCovariance(pose_key(k))))
        graph.push_back(new)
        at = stamp
    whole = gtsam.LevenbergMarquardtOptimizer(graph, isam.calculateEstimate()).optimize()
    marginals, out = gtsam.Marginals(graph, whole), Estimates(folder, 'gtsam-batch')
    for k, (stamp, _) in enumerate(measured, start=1):
        out.add(stamp, *base(whole.atPose2(pose_key(k)), marginals.marginalCovariance(pose_key(k))))


def main():
    method, inputs, folder = sys.argv[1:]
    inputs = pathlib.Path(inputs)
    setting = json.loads((inputs / 'setting.json').read_text())
    odometry, measured = Odometry(read(inputs / 'odometry.csv')), scans(read(inputs / 'scans.csv'))
    {'numpy': by_numpy, 'gtsam': by_gtsam}[method](setting, odometry, measured, folder)


if __name__ == '__main__':
    main()
