"""`lienav judge` beside independent computations: `python3 tests/judge_peer.py LIENAV`.

It makes a drive in space and one in the plane, from a seed, with errors whose covariance is known, writes them as other
programs do, and computes every number once more: NEES with numpy in three conventions, ATE and RPE with evo where that
is installed. It prints what it skipped, and exits with 1 where a number differs.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    from evo.core import metrics, sync
    from evo.core.trajectory import PoseTrajectory3D
    from evo.tools import file_interface
except ImportError:
    metrics = None

STEPS, PERIOD = 3000, 0.1


def exp(v):
    """The rotation matrix of a rotation vector."""
    angle = np.linalg.norm(v)
    if angle < 1e-12:
        return np.eye(3) + hat(v)
    k = hat(v / angle)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def log(r):
    """The rotation vector of a rotation matrix, for angles below half a turn."""
    q = quaternion(r)
    q = q if q[3] >= 0 else -q
    n = np.linalg.norm(q[:3])
    return q[:3] * (2.0 if n < 1e-12 else 2.0 * np.arctan2(n, q[3]) / n)


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def quaternion(r):
    """(x, y, z, w) of a rotation matrix, by its largest component."""
    m = np.array([
        [r[0, 0] - r[1, 1] - r[2, 2], 0, 0, 0],
        [r[0, 1] + r[1, 0], r[1, 1] - r[0, 0] - r[2, 2], 0, 0],
        [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], r[2, 2] - r[0, 0] - r[1, 1], 0],
        [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], r[0, 0] + r[1, 1] + r[2, 2]],
    ])  # fmt: skip
    values, vectors = np.linalg.eigh(m)
    return vectors[:, -1] if vectors[3, -1] >= 0 else -vectors[:, -1]


def drive(seed, planar):
    """Stamps, true and estimated poses, and the covariances of (position, orientation) about fixed axes."""
    random = np.random.default_rng(seed)
    r, p, error = np.eye(3), np.zeros(3), random.standard_normal(6)
    truth, estimate, covariances = [], [], []
    root = np.diag([0.1, 0.2, 0.05, 0.01, 0.02, 0.03]) @ (np.eye(6) + 0.4 * random.standard_normal((6, 6)))
    if planar:
        root[[2, 3, 4]] = 0
    for k in range(STEPS):
        scale = 1.0 + 0.5 * np.sin(0.003 * k)
        e = scale * root @ error
        truth.append((r, p))
        estimate.append((exp(-e[3:]) @ r, p - e[:3]))
        covariances.append(scale**2 * root @ root.T)
        turn = [0, 0, 0.02 * np.sin(0.01 * k)] if planar else [0.004, 0.01 * np.sin(0.02 * k), 0.02]
        step = [0.1, 0, 0] if planar else [0.1, 0.0, 0.02]
        p, r = p + r @ np.array(step), r @ exp(np.array(turn))
        error = 0.95 * error + np.sqrt(1 - 0.95**2) * random.standard_normal(6)
    return np.arange(STEPS) * PERIOD, truth, estimate, covariances


def tum(path, stamps, poses):
    rows = [[stamp, *p, *quaternion(r)] for stamp, (r, p) in zip(stamps, poses)]
    np.savetxt(path, rows, fmt=["%.9f"] + ["%.17g"] * 7)


def numbered(path, stamps, poses, covariances):
    """A CSV file whose covariance has numbers, and no names."""
    places = [(i, j) for i in range(6) for j in range(i, 6)]
    rows = [[t, *p, *quaternion(r), *(c[i, j] for i, j in places)] for t, (r, p), c in zip(stamps, poses, covariances)]
    header = "stamp_s,x_m,y_m,z_m,qx,qy,qz,qw," + ",".join(f"c{i + 1}{j + 1}" for i, j in places)
    np.savetxt(path, rows, fmt=["%.9f"] + ["%.17g"] * 28, delimiter=",", header=header, comments="")


def mapped(covariances, poses, convention):
    """The same covariances as another program has them: the inverse of the map to fixed axes."""
    made = []
    for c, (r, p) in zip(covariances, poses):
        o, i = np.zeros((3, 3)), np.eye(3)
        to_fixed = {
            "ros": np.block([[i, o], [o, i]]),
            "gtsam": np.block([[o, r], [r, o]]),
            "openvins": np.block([[o, i], [r, o]]),
            "left": np.block([[i, -hat(p)], [o, i]]),
        }[convention]
        back = np.linalg.inv(to_fixed)
        made.append(back @ c @ back.T)
    return made


def nees(truth, estimate, covariances, of):
    values = []
    for (r, p), (re, pe), c in zip(truth, estimate, covariances):
        e = np.concatenate([p - pe, log(r @ re.T)])[of]
        values.append(e @ np.linalg.solve(c[np.ix_(of, of)], e))
    return float(np.mean(values))


def umeyama(estimate, truth, with_scale):
    a, b = (np.array([p for _, p in poses]) for poses in (estimate, truth))
    ma, mb = a.mean(axis=0), b.mean(axis=0)
    u, d, vt = np.linalg.svd((b - mb).T @ (a - ma) / len(a))
    s = np.diag([1, 1, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    r = u @ s @ vt
    c = np.trace(np.diag(d) @ s) / ((a - ma) ** 2).sum(axis=1).mean() if with_scale else 1.0
    return r, mb - c * r @ ma, c


class Checks:
    def __init__(self):
        self.count, self.wrong = 0, []

    def near(self, what, found, expected, tolerance=1e-9):
        self.count += 1
        if not abs(found - expected) <= tolerance * max(1.0, abs(expected)):
            self.wrong.append(f"{what}: {found!r} is not {expected!r}")


def judge(lienav, *words):
    done = subprocess.run([lienav, "judge", *map(str, words), "--json"], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def by_numpy(lienav, folder, checks):
    for name, planar, of in [("space", False, [0, 1, 2, 3, 4, 5]), ("plane", True, [0, 1, 5])]:
        stamps, truth, estimate, covariances = drive(1, planar)
        tum(folder / "truth.tum", stamps, truth)
        position = [k for k in of if k < 3]
        orientation = [k for k in of if k >= 3]
        for convention in ["ros", "gtsam", "openvins", "left"]:
            numbered(folder / "e.csv", stamps, estimate, mapped(covariances, estimate, convention))
            plane = ["--planar"] if planar else []
            report = judge(lienav, folder / "e.csv", "--truth", folder / "truth.tum", "--covariance", convention, *plane)
            label = f"{name}, {convention}"
            for key, part in [("nees_mean", of), ("nees_position_mean", position), ("nees_orientation_mean", orientation)]:
                checks.near(f"{label}: {key}", report[key], nees(truth, estimate, covariances, part), 1e-7)
            if convention == "ros":
                lowest = report["nees_mean"]
            checks.near(f"{label}: the same as ros", report["nees_mean"], lowest, 1e-6)
        # A wrong convention contradicts itself, and is named with the right one.
        if not planar:
            numbered(folder / "e.csv", stamps, estimate, mapped(covariances, estimate, "gtsam"))
            report = judge(lienav, folder / "e.csv", "--truth", folder / "truth.tum")
            said = [warning for warning in report["warnings"] if "--covariance gtsam" in warning]
            checks.count += 1
            if not said:
                checks.wrong.append(f"a wrong convention is not named: {report['warnings']}")
        # An alignment moves the covariance along: NEES is what it was before the frame was turned.
        turn, shift = exp(np.array([0.0, 0.0, 0.7])), np.array([3.0, -2.0, 0.0 if planar else 1.0])
        big = np.block([[turn, np.zeros((3, 3))], [np.zeros((3, 3)), turn]])
        moved = [(turn @ r, turn @ p + shift) for r, p in estimate]
        numbered(folder / "e.csv", stamps, moved, [big @ c @ big.T for c in covariances])
        method = "se2" if planar else "se3"
        report = judge(lienav, folder / "e.csv", "--truth", folder / "truth.tum", "--align", method)
        if not planar:
            r, t, _ = umeyama(moved, truth, False)
            back = np.block([[r, np.zeros((3, 3))], [np.zeros((3, 3)), r]])
            aligned = [(r @ re, r @ pe + t) for re, pe in moved]
            expected = nees(truth, aligned, [back @ (big @ c @ big.T) @ back.T for c in covariances], of)
            checks.near(f"{name}: NEES after alignment", report["nees_mean"], expected, 1e-7)


def by_evo(lienav, folder, checks):
    stamps, truth, estimate, _ = drive(2, False)
    tum(folder / "truth.tum", stamps, truth)
    tum(folder / "e.tum", stamps, estimate)
    reference = file_interface.read_tum_trajectory_file(str(folder / "truth.tum"))
    for method, correct_scale in [("none", False), ("se3", False), ("sim3", True)]:
        theirs = file_interface.read_tum_trajectory_file(str(folder / "e.tum"))
        reference, theirs = sync.associate_trajectories(reference, theirs)
        raw = PoseTrajectory3D(theirs.positions_xyz, theirs.orientations_quat_wxyz, theirs.timestamps)
        if method != "none":
            theirs.align(reference, correct_scale=correct_scale)
        words = [folder / "e.tum", "--truth", folder / "truth.tum", "--align", method, "--over-s", "1,10"]
        report = judge(lienav, *words, "--over-m", "5,20")
        key = "position_rmse_m" if method == "none" else "aligned_position_rmse_m"
        turn = "orientation_rmse_deg" if method == "none" else "aligned_orientation_rmse_deg"
        of = metrics.PoseRelation

        def ape(relation, trajectory):
            metric = metrics.APE(relation)
            metric.process_data((reference, trajectory))
            return metric.get_all_statistics()

        position = ape(of.translation_part, theirs)
        checks.near(f"ATE {method}", report[key], position["rmse"])
        checks.near(f"ATE {method}, raw", report["position_rmse_m"], ape(of.translation_part, raw)["rmse"])
        checks.near(f"ATE {method}, greatest", report["position_max_m"], position["max"])
        checks.near(f"ATE {method}, angle", report[turn], ape(of.rotation_angle_deg, theirs)["rmse"], 1e-8)
        for unit, entries, length, of_unit in [
            (metrics.Unit.frames, report["relative_by_time"], "over_s", 1 / PERIOD),
            (metrics.Unit.meters, report["relative_by_distance"], "over_m", 1.0),
        ]:
            for entry in entries:
                delta = entry[length] * of_unit
                for relation, keys in [
                    (of.translation_part, ["position_rmse_m", "position_mean_m", "position_max_m"]),
                    (of.rotation_angle_deg, ["orientation_rmse_deg", "orientation_mean_deg"]),
                ]:
                    delta = int(round(delta)) if unit == metrics.Unit.frames else delta
                    metric = metrics.RPE(relation, delta, unit, all_pairs=True, pairs_from_reference=True)
                    metric.process_data((reference, theirs))
                    found = metric.get_all_statistics()
                    for key in keys:
                        name = {"rmse": "rmse", "mean": "mean", "max": "max"}[key.split("_")[1]]
                        tolerance = 1e-9 if key.startswith("position") else 1e-8
                        checks.near(f"RPE {method} {delta} {unit.value}: {key}", entry[key], found[name], tolerance)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lienav")
    lienav = str(pathlib.Path(parser.parse_args().lienav).resolve())
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        by_numpy(lienav, pathlib.Path(folder), checks)
        if metrics:
            by_evo(lienav, pathlib.Path(folder), checks)
        else:
            print("skipped: evo is not installed, so that ATE and RPE are not compared with it")
    print(f"{checks.count} numbers compared, {len(checks.wrong)} differ")
    print("\n".join(checks.wrong), end="\n" if checks.wrong else "")
    sys.exit(1 if checks.wrong else 0)


if __name__ == "__main__":
    main()
