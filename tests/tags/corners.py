"""How noisy the corners of a real detector are: `python3 tests/tags/corners.py [--views 150] [--seed 1]`.

It renders single tags by size, slant, motion, defocus and noise, detects them with AprilTag 3, and prints the residuals
as a table. Needs numpy and apriltag-python.
"""

import argparse
import sys

import numpy as np
import render
from scenario import turn

FOCAL, SIZE = 600.0, 0.16
USUAL = {'edge': 40.0, 'slant': 20.0, 'motion': 0.0, 'defocus': 0.5, 'noise': 3.0}
CASES = [
    {},
    {'edge': 12.0},
    {'edge': 16.0},
    {'edge': 20.0},
    {'edge': 28.0},
    {'edge': 80.0},
    {'edge': 160.0},
    {'slant': 0.0},
    {'slant': 40.0},
    {'slant': 60.0},
    {'slant': 70.0},
    {'motion': 1.0},
    {'motion': 2.0},
    {'motion': 4.0},
    {'motion': 8.0},
    {'defocus': 0.0},
    {'defocus': 1.0},
    {'defocus': 2.0},
    {'noise': 1.0},
    {'noise': 8.0},
    {'noise': 16.0},
    {'edge': 20.0, 'motion': 2.0},
    {'edge': 20.0, 'slant': 60.0},
]
INSTANTS = 16


def view(case, generator):
    """Return where a tag is in the camera at the instants of an exposure."""
    about, across = generator.uniform(0, 2 * np.pi, 2)
    facing = np.diag([1.0, -1.0, -1.0])
    slanted = turn([np.cos(across), np.sin(across), 0.0], np.radians(case['slant']))
    rotation = slanted @ facing @ turn([0, 0, 1.0], about)
    place = np.array([*generator.uniform(-0.5, 0.5, 2) / FOCAL, 1.0]) * FOCAL * SIZE / case['edge']
    # The image moves by so many pixels while the shutter is open.
    to = generator.uniform(0, 2 * np.pi)
    shift = np.array([np.cos(to), np.sin(to), 0.0]) * case['motion'] / FOCAL * place[2]
    return [(rotation, place + shift * ((k + 0.5) / INSTANTS - 0.5)) for k in range(INSTANTS)]


def measure(case, views, generator, finder, cells):
    """Return the residuals of corners, by view, repetition, corner and coordinate, px, and the share of tags found."""
    side = int(2.2 * case['edge'] + 2 * case['motion'] + 60)
    camera = render.Camera(side, side, FOCAL, case['defocus'], case['noise'], samples=55)
    residuals, missed = [], 0
    for _ in range(views):
        poses = view(case, generator)
        rotation, place = view_at_middle(poses)
        expected = camera.project(render.corners(SIZE) @ rotation.T + place)
        light = generator.uniform(-0.6, 0.6, 2)
        both = []
        for _ in range(2):
            image = camera.image([(5, SIZE)], [poses], cells, generator, light)
            found = render.detect(finder, image).get(5)
            if found is None:
                missed += 1
            else:
                both.append(found - expected)
        if len(both) == 2:
            residuals.append(both)
    return np.array(residuals), 1.0 - missed / (2.0 * views), expected


def view_at_middle(poses):
    """Return the pose in the middle of the exposure."""
    return poses[0][0], np.mean([place for _, place in poses], axis=0)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--views', type=int, default=150)
    parser.add_argument('--seed', type=int, default=1)
    arguments = parser.parse_args()
    if not render.is_installed():
        sys.exit('skipped: apriltag-python is not installed')
    finder, cells = render.detector(), render.patterns([5])
    print('edge slant motion defocus noise | found  shift u     v | sigma  white  p99/sigma')
    for k, change in enumerate(CASES):
        case = {**USUAL, **change}
        generator = np.random.default_rng([arguments.seed, k])
        residuals, share, _ = measure(case, arguments.views, generator, finder, cells)
        line = '{edge:4.0f} {slant:5.0f} {motion:6.1f} {defocus:7.1f} {noise:5.0f}'.format(**case)
        if len(residuals) < 10:
            print(f'{line} | {share:5.2f}')
            continue
        shift = residuals.mean((0, 1, 2))
        off = residuals - shift
        sigma = np.sqrt(np.mean(off**2))
        white = np.sqrt(np.mean((residuals[:, 0] - residuals[:, 1]) ** 2) / 2)
        tail = np.quantile(np.abs(off), 0.99) / sigma
        print(f'{line} | {share:5.2f}  {shift[0]:7.3f} {shift[1]:5.3f} | {sigma:5.3f}  {white:5.3f}  {tail:5.2f}')


if __name__ == '__main__':
    main()
