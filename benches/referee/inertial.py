"""iSAM2 and the batch estimate of GTSAM on an inertial sensor and a pair of cameras:

    python3 inertial.py gtsam INPUTS ESTIMATES

`lienav reproduce referee` writes INPUTS and reads ESTIMATES: the samples, pixels with identity, start and noise that
the filters of lienav are given. Poses, velocities, biases and landmarks are in one graph, with GTSAM's combined factor
of the inertial sensor. iSAM2 estimates each pose at its instant; the batch estimate has all of them."""

import csv
import json
import math
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    sys.exit('numpy is not installed: pip install numpy')

try:
    import gtsam
except ImportError:
    sys.exit('gtsam is not installed: pip install gtsam')

# A landmark is initialized from no smaller disparity, px, and with no larger part of its distance as its σ.
LEAST_DISPARITY, FARTHEST = 2.0, 0.5
# Huber's bound, σ: one pixel in twenty is an outlier.
HUBER = 1.5
# Of the integration of the inertial sensor, m²/s: that of rounding.
INTEGRATION = 1e-8


def read(path):
    with open(path, newline='') as file:
        rows = csv.reader(file)
        next(rows)
        return [[float(cell) for cell in row] for row in rows]


def pose_of(numbers):
    x, y, z, w = numbers[3:]
    return gtsam.Pose3(gtsam.Rot3.Quaternion(w, x, y, z), np.array(numbers[:3]))


class Estimates:
    """The file that the judge reads: covariances of position and orientation about fixed axes."""

    PAIRS = [(i, j) for i in range(6) for j in range(i, 6)]

    def __init__(self, folder, name):
        self.file = open(pathlib.Path(folder) / f'{name}.csv.part', 'w', newline='')
        axes = ['x', 'y', 'z', 'roll', 'pitch', 'yaw']
        names = [f'var_{axes[i]}' if i == j else f'cov_{axes[i]}_{axes[j]}' for i, j in self.PAIRS]
        self.file.write('stamp_s,x_m,y_m,z_m,qx,qy,qz,qw,' + ','.join(names) + '\n')

    def add(self, stamp, pose, covariance):
        r, o = pose.rotation().matrix(), np.zeros((3, 3))
        whole = np.block([[o, r], [r, o]])
        c, q = whole @ covariance @ whole.T, pose.rotation().toQuaternion()
        numbers = [*pose.translation(), q.x(), q.y(), q.z(), q.w(), *(c[i, j] for i, j in self.PAIRS)]
        self.file.write(f'{stamp:.9f},' + ','.join(repr(float(x)) for x in numbers) + '\n')


class Samples:
    """Rate and force between samples are on the straight line."""

    def __init__(self, rows):
        whole = np.array(rows)
        self.stamps, self.values = whole[:, 0], whole[:, 1:]

    def at(self, stamp):
        return np.array([np.interp(stamp, self.stamps, column) for column in self.values.T])

    def integrate(self, begin, end, measured):
        inside = (self.stamps > begin + 1e-9) & (self.stamps < end - 1e-9)
        stamps = np.concatenate([[begin], self.stamps[inside], [end]])
        values = np.vstack([self.at(begin), self.values[inside], self.at(end)])
        for k, duration in enumerate(np.diff(stamps)):
            mean = 0.5 * (values[k] + values[k + 1])
            measured.integrateMeasurement(mean[3:], mean[:3], duration)


def main():
    _, inputs, folder = sys.argv[1:]
    inputs = pathlib.Path(inputs)
    setting = json.loads((inputs / 'setting.json').read_text())
    instants = [row[0] for row in read(inputs / 'instants.csv')]
    samples, seen_at = Samples(read(inputs / 'imu.csv')), {}
    for stamp, landmark, ul, vl, ur, vr in read(inputs / 'pixels.csv'):
        seen_at.setdefault(stamp, []).append((int(landmark), ul, ur, 0.5 * (vl + vr)))
    (fx, fy), (cx, cy), baseline = setting['focal'], setting['centre'], setting['baseline_m']
    camera = gtsam.Cal3_S2Stereo(fx, fy, 0.0, cx, cy, baseline)
    mount = pose_of(setting['body_from_camera'])
    own, common = np.square(setting['pixel_std_own']), np.square(setting['pixel_std_common'])
    pixels = np.array([
        [own[0] + common[0], common[0], 0],
        [common[0], own[0] + common[0], 0],
        [0, 0, 0.5 * own[1] + common[1]],
    ])
    model = gtsam.noiseModel.Gaussian.Covariance(pixels)
    model = gtsam.noiseModel.Robust.Create(gtsam.noiseModel.mEstimator.Huber.Create(HUBER), model)
    gyro, accelerometer, gyro_walk, accelerometer_walk = setting['imu_noise']
    noise = gtsam.PreintegrationCombinedParams.MakeSharedU(setting['gravity'])
    noise.setGyroscopeCovariance(np.eye(3) * gyro**2)
    noise.setAccelerometerCovariance(np.eye(3) * accelerometer**2)
    noise.setBiasOmegaCovariance(np.eye(3) * gyro_walk**2)
    noise.setBiasAccCovariance(np.eye(3) * accelerometer_walk**2)
    noise.setIntegrationCovariance(np.eye(3) * INTEGRATION)

    def is_usable(ul, ur):
        disparity = ul - ur
        sigma = math.sqrt(2 * own[0])
        return disparity >= LEAST_DISPARITY and sigma < FARTHEST * disparity

    def key(letter):
        return lambda k: gtsam.symbol(letter, k)

    x, v, b, l = key('x'), key('v'), key('b'), key('l')
    parameters = gtsam.ISAM2Params()
    # Some instants are milliseconds apart, which Cholesky's factors do not bear.
    parameters.setFactorization('QR')
    isam, graph, known = gtsam.ISAM2(parameters), gtsam.NonlinearFactorGraph(), set()
    out = Estimates(folder, 'gtsam-isam2')
    pose, velocity = pose_of(setting['start_pose']), np.array(setting['start_velocity'])
    bias = gtsam.imuBias.ConstantBias()
    for k, stamp in enumerate(instants):
        new, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
        if k == 0:
            rotation, speed, position, rate, force = setting['start_std_rotation_velocity_position_biases']
            diagonal = gtsam.noiseModel.Diagonal.Sigmas
            new.add(gtsam.PriorFactorPose3(x(0), pose, diagonal(np.array([rotation] * 3 + [position] * 3))))
            new.add(gtsam.PriorFactorVector(v(0), velocity, diagonal(np.full(3, speed))))
            sigmas = diagonal(np.array([force] * 3 + [rate] * 3))
            new.add(gtsam.PriorFactorConstantBias(b(0), bias, sigmas))
        else:
            measured = gtsam.PreintegratedCombinedMeasurements(noise, bias)
            samples.integrate(instants[k - 1], stamp, measured)
            predicted = measured.predict(gtsam.NavState(pose, velocity), bias)
            pose, velocity = predicted.pose(), predicted.velocity()
            new.add(gtsam.CombinedImuFactor(x(k - 1), v(k - 1), x(k), v(k), b(k - 1), b(k), measured))
        values.insert(x(k), pose)
        values.insert(v(k), velocity)
        values.insert(b(k), bias)
        for landmark, ul, ur, row in seen_at.get(stamp, []):
            if landmark not in known:
                if not is_usable(ul, ur):
                    continue
                known.add(landmark)
                z = fx * baseline / (ul - ur)
                point = np.array([(ul - cx) * z / fx, (row - cy) * z / fy, z])
                place = pose.compose(mount).transformFrom(point)
                values.insert(l(landmark), place)
                # So wide that it says nothing, but the system stays regular where the loss leaves a measurement out.
                new.add(gtsam.PriorFactorPoint3(l(landmark), place, gtsam.noiseModel.Isotropic.Sigma(3, 20.0)))
            new.add(gtsam.GenericStereoFactor3D(gtsam.StereoPoint2(ul, ur, row), model, x(k), l(landmark), camera, mount))
        isam.update(new, values)
        isam.update()
        pose, velocity = isam.calculateEstimatePose3(x(k)), isam.calculateEstimateVector(v(k))
        bias = isam.calculateEstimateConstantBias(b(k))
        out.add(stamp, pose, isam.marginalCovariance(x(k)))
        graph.push_back(new)
    optimizing = gtsam.LevenbergMarquardtParams()
    optimizing.setLinearSolverType('MULTIFRONTAL_QR')
    whole = gtsam.LevenbergMarquardtOptimizer(graph, isam.calculateEstimate(), optimizing).optimize()
    # GTSAM's Marginals factorizes by Cholesky: those of a tree of all factors at the estimate are the same.
    marginals, out = gtsam.ISAM2(parameters), Estimates(folder, 'gtsam-batch')
    marginals.update(graph, whole)
    for k, stamp in enumerate(instants):
        out.add(stamp, whole.atPose3(x(k)), marginals.marginalCovariance(x(k)))


if __name__ == '__main__':
    main()
