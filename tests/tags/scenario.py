"""A robot in a hall with tags, seen by a camera and a real detector: `python3 tests/tags/scenario.py FOLDER [--seed 1]`.

It renders the images of a drive, detects their tags with AprilTag 3, and writes what `lienav evaluate tagslam:FOLDER`
reads (corners.csv, cameras.yaml, tags.yaml, odometry.csv, reference.csv), the truth (truth.tum), and what a test plays to
slam3d_node (stream.json).
"""

import argparse
import json
import multiprocessing
import pathlib
import sys

import numpy as np
import render

RATE, ODOMETRY_RATE, EXPOSURE = 20.0, 50.0, 0.008
FOCAL, SIZE = 500.0, 0.2
BEGIN = 1000.0
"""Of the stamps, s."""
SURVEY = (0.003, 0.005)
"""Standard deviations of the places of the map, m and rad."""
INSTANTS = 8
"""Poses of a moving camera while its shutter is open."""


def turn(axis, angle):
    """Return the rotation matrix about an axis of length one."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def rotation_of(vector):
    """Return the rotation matrix of a rotation vector."""
    angle = np.linalg.norm(vector)
    return np.eye(3) if angle < 1e-12 else turn(vector / angle, angle)


def quaternion(r):
    """Return (x, y, z, w) of a rotation matrix, by its largest component."""
    m = np.array([
        [r[0, 0] - r[1, 1] - r[2, 2], 0, 0, 0],
        [r[0, 1] + r[1, 0], r[1, 1] - r[0, 0] - r[2, 2], 0, 0],
        [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], r[2, 2] - r[0, 0] - r[1, 1], 0],
        [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], r[0, 0] + r[1, 1] + r[2, 2]],
    ])  # fmt: skip
    _, vectors = np.linalg.eigh(m)
    return vectors[:, -1] if vectors[3, -1] >= 0 else -vectors[:, -1]


def body(t):
    """Return where the robot is: on a closed curve in a hall of 9 m by 7 m, rocking by 2°."""
    s = 0.3 * t
    place = np.array([2.2 * np.sin(s), 1.2 * np.sin(2 * s) * 0.7, 0.02 * np.sin(1.1 * t)])
    ahead = np.arctan2(1.68 * np.cos(2 * s), 2.2 * np.cos(s))
    rock = np.radians(2.0)
    tilt = turn([0, 1.0, 0], rock * np.sin(2.3 * t)) @ turn([1.0, 0, 0], rock * np.sin(1.7 * t + 1))
    return turn([0, 0, 1.0], ahead) @ tilt, place


MOUNT = (np.array([[0, 0, 1.0], [-1, 0, 0], [0, -1, 0]]), np.array([0.2, 0.0, 0.5]))
"""Of the camera on the robot: it looks ahead."""


def hall():
    """Return the tags on the walls by identity: x to the right, y up, z into the hall."""
    tags, number = {}, 0
    for side in range(4):
        out = turn([0, 0, 1.0], 0.5 * np.pi * side) @ np.array([-1.0, 0, 0])
        along = np.cross([0, 0, 1.0], out)
        far, wide = (4.5, 3.5) if side % 2 == 0 else (3.5, 4.5)
        for k, at in enumerate(np.arange(-wide + 0.6, wide, 1.15)):
            place = -far * out + at * along + np.array([0, 0, 0.35 + 0.35 * (k % 3)])
            tags[number] = (np.column_stack([along, [0, 0, 1.0], out]), place)
            number += 1
    return tags


def camera_at(t):
    """Return the pose of the camera."""
    rotation, place = body(t)
    return rotation @ MOUNT[0], rotation @ MOUNT[1] + place


def seen_from(eye, tag):
    """Return the pose of a tag in the axes of a camera."""
    return eye[0].T @ tag[0], eye[0].T @ (tag[1] - eye[1])


def photograph(job):
    """Return the corners of the tags of one image, as detected."""
    t, seed = job
    camera, cells, finder, tags = photograph.tools
    generator = np.random.default_rng([seed, int(round(t * 1000))])
    eyes = [camera_at(t + EXPOSURE * ((k + 0.5) / INSTANTS - 0.5)) for k in range(INSTANTS)]
    chosen, poses = [], []
    for number, tag in tags.items():
        by_instant = [seen_from(eye, tag) for eye in eyes]
        rotation, place = by_instant[0]
        if place[2] > 0.3 and rotation[:, 2] @ place < 0:
            chosen.append((number, SIZE))
            poses.append(by_instant)
    light = 0.5 * np.sin([0.4 * t, 0.7 * t])
    found = render.detect(finder, camera.image(chosen, poses, cells, generator, light))
    return {number: found[number] for number in sorted(found)}


def prepare():
    """Make what every image needs, once a process."""
    camera = render.Camera(focal=FOCAL, samples=21)
    photograph.tools = (camera, render.patterns(hall()), render.detector(), hall())


def photographs(seconds, seed, shift):
    """Return stamps and detected corners, px; `shift` is subtracted from what the detector says."""
    times = np.arange(int(seconds * RATE)) / RATE
    with multiprocessing.Pool(initializer=prepare) as pool:
        found = pool.map(photograph, [(t, seed) for t in times], chunksize=20)
    return [(t, {number: points - shift for number, points in tags.items()}) for t, tags in zip(times, found)]


def odometry(seconds, generator):
    """Return stamps, the pose by dead reckoning, and the measured forward speed and yaw rate."""
    step = 1.0 / ODOMETRY_RATE
    ahead, place, rows = 0.4, np.array([3.0, -1.0]), []
    for k in range(int(seconds * ODOMETRY_RATE)):
        t = k * step
        (r0, p0), (r1, p1) = body(t), body(t + step)
        local = r0.T @ (p1 - p0) / step
        relative = r0.T @ r1
        speed = local[0] + 0.02 * generator.standard_normal()
        rate = np.arctan2(relative[1, 0], relative[0, 0]) / step + 0.01 * generator.standard_normal()
        rows.append((t, ahead, place.copy(), speed, rate))
        place += step * speed * np.array([np.cos(ahead + 0.5 * rate * step), np.sin(ahead + 0.5 * rate * step)])
        ahead += rate * step
    return rows


def surveyed(tags, generator):
    """Return the tags where a survey has them."""
    off = {number: generator.standard_normal(6) for number in tags}
    return {
        number: (rotation_of(SURVEY[1] * off[number][3:]) @ rotation, place + SURVEY[0] * off[number][:3])
        for number, (rotation, place) in tags.items()
    }


def numbers(values, digits=9):
    """Return numbers as a list of YAML and JSON."""
    return '[' + ', '.join(f'{x:.{digits}g}' for x in values) + ']'


def write(folder, seen, wheels, known):
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = ['t_s,camera,tag_id,hamming,' + ','.join(f'{c}{k}_px' for k in range(4) for c in 'uv')]
    for t, tags in seen:
        for number, points in tags.items():
            rows.append(f'{BEGIN + t:.9f},front,{number},0,' + ','.join(f'{x:.6f}' for x in points.ravel()))
    (folder / 'corners.csv').write_text('\n'.join(rows) + '\n')
    middle = render.Camera().centre
    (folder / 'cameras.yaml').write_text(
        'front:\n  distortion_model: radtan\n  distortion_coeffs: []\n'
        f'  intrinsics_fx_fy_cx_cy_px: {numbers([FOCAL, FOCAL, *middle])}\n  T_body_cam_given:\n'
        f'    t_m: {numbers(MOUNT[1])}\n    q_xyzw: {numbers(quaternion(MOUNT[0]))}\n'
    )
    text = f'default_sizes_m: {{all: {SIZE}}}\nknown_tags:\n'
    for number, (rotation, place) in known.items():
        text += f'  {number}:\n    t_m: {numbers(place)}\n    q_xyzw: {numbers(quaternion(rotation), 12)}\n'
        text += f'    t_sigma_m: {numbers([SURVEY[0]] * 3)}\n    rot_sigma_rad: {numbers([SURVEY[1]] * 3)}\n'
    (folder / 'tags.yaml').write_text(text)
    head = 't_s,p_x_m,p_y_m,p_z_m,qx,qy,qz,qw'
    rows, ahead = [head], [turn([0, 0, 1.0], row[1]) for row in wheels]
    for (t, _, place, _, _), rotation in zip(wheels, ahead):
        rows.append(f'{BEGIN + t:.9f},{place[0]:.9f},{place[1]:.9f},0,' + numbers(quaternion(rotation), 12)[1:-1])
    (folder / 'odometry.csv').write_text('\n'.join(rows) + '\n')
    blocks = [f'cov_{a}{b}' for k, a in enumerate(AXES) for b in AXES[k:]]
    rows, tum = [head + ',' + ','.join(blocks)], []
    # The truth is exact but for this.
    exact = [1e-10 if name[4:] in [a + a for a in AXES] else 0.0 for name in blocks]
    for t in np.arange(len(wheels)) / ODOMETRY_RATE:
        rotation, place = body(t)
        pose = [*place, *quaternion(rotation)]
        rows.append(f'{BEGIN + t:.9f},' + ','.join(f'{x:.12g}' for x in [*pose, *exact]))
        tum.append(f'{BEGIN + t:.9f} ' + ' '.join(f'{x:.12g}' for x in pose))
    (folder / 'reference.csv').write_text('\n'.join(rows) + '\n')
    (folder / 'truth.tum').write_text('\n'.join(tum) + '\n')
    (folder / 'stream.json').write_text(json.dumps(stream(seen, wheels, middle)))


AXES = ['x', 'y', 'z', 'rx', 'ry', 'rz']


def stream(seen, wheels, middle):
    """Return the messages in the order of their stamps."""
    def nanos(t):
        return int(round((BEGIN + t) * 1e9))

    messages = [
        {'ns': nanos(t), 'camera': 0, 'tags': [{'id': n, 'corners': p.tolist()} for n, p in tags.items()]}
        for t, tags in seen
    ]
    for t, ahead, place, speed, rate in wheels:
        pose = [*place.tolist(), 0.0, 0.0, 0.0, float(np.sin(0.5 * ahead)), float(np.cos(0.5 * ahead))]
        messages.append({'ns': nanos(t), 'pose': pose, 'twist': [float(speed), float(rate)]})
    messages.sort(key=lambda message: message['ns'])
    return {
        'transforms': [{'child': 'front_camera', 'numbers': [*MOUNT[1].tolist(), *quaternion(MOUNT[0]).tolist()]}],
        'frames': ['front_camera'],
        'topics': ['front/detections'],
        'p': [FOCAL, 0.0, middle[0], 0.0, 0.0, FOCAL, middle[1], 0.0, 0.0, 0.0, 1.0, 0.0],
        'size': [640, 480],
        'messages': messages,
    }


def main():
    """Render, detect, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--seconds', type=float, default=30.0)
    parser.add_argument('--shift', type=float, default=0.0, help='subtracted from every coordinate of a corner, px')
    arguments = parser.parse_args()
    if not render.is_installed():
        sys.exit('skipped: apriltag-python is not installed')
    generator = np.random.default_rng(arguments.seed)
    known = surveyed(hall(), generator)
    wheels = odometry(arguments.seconds, generator)
    seen = photographs(arguments.seconds, arguments.seed, arguments.shift)
    write(arguments.folder, seen, wheels, known)
    print(f'{len(seen)} images, {sum(len(tags) for _, tags in seen) / len(seen):.1f} tags each')


if __name__ == '__main__':
    main()
