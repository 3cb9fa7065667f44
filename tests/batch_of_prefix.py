#!/usr/bin/env python3
"""What a filter can have of Plaza: the batch estimate of all data up to an instant, at that instant.

python3 tests/batch_of_prefix.py LIENAV FOLDER [COUNT]

The run is cut at COUNT instants (30). Of each piece, the last pose of `batch` and that of `default` are kept; both are
aligned with the truth at these instants by one rigid motion, and their root mean squares printed.
"""
import math
import pathlib
import subprocess
import sys
import tempfile


def rows(path):
    lines = path.read_text().splitlines()
    return lines[0], lines[1:]


def time_of(row):
    return float(row.split(",")[0])


def poses(path):
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    return [[float(value) for value in line[:3]] for line in lines]


def cut(source, folder, end):
    for name in ("odometry", "ranges"):
        head, body = rows(source / f"{name}.csv")
        kept = [head] + [row for row in body if time_of(row) <= end]
        (folder / f"{name}.csv").write_text("\n".join(kept) + "\n")
    for name in ("groundtruth", "landmarks"):
        (folder / f"{name}.csv").write_text((source / f"{name}.csv").read_text())


def aligned_rms(estimates, truths):
    """The root mean square distance after the rigid motion that fits best."""
    a, b = ([complex(x, y) for x, y in points] for points in (estimates, truths))
    a_mean, b_mean = sum(a) / len(a), sum(b) / len(b)
    turn = sum((q - b_mean) * (p - a_mean).conjugate() for p, q in zip(a, b))
    turn /= abs(turn)
    squares = [abs(turn * (p - a_mean) + b_mean - q) ** 2 for p, q in zip(a, b)]
    return math.sqrt(sum(squares) / len(squares))


def main():
    lienav, source = sys.argv[1], pathlib.Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    _, odometry = rows(source / "odometry.csv")
    first, last = time_of(odometry[0]), time_of(odometry[-1])
    ends = {"default": [], "batch": []}
    truths = []
    for k in range(2, count + 1):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            cut(source, place, first + (last - first) * k / count)
            call = [lienav, "evaluate", f"plaza:{place}", "--filter", "batch", "--filter", "default"]
            subprocess.run([*call, "--out", str(place / "out")], check=True, stdout=subprocess.DEVNULL)
            for name, kept in ends.items():
                kept.append(poses(place / "out" / name / "estimate.tum")[-1])
            at = ends["default"][-1][0]
            truth = poses(place / "out" / "default" / "truth.tum")
            truths.append(min(truth, key=lambda pose: abs(pose[0] - at))[1:])
    for name, kept in ends.items():
        print(f"{name}: {aligned_rms([pose[1:] for pose in kept], truths):.3f} m at {len(kept)} instants")


if __name__ == "__main__":
    main()
