#!/usr/bin/env python3
"""How many matches on a track of cones are wrong by chance: of a car that knows its pose and all cones exactly.

Each cone in view is read with probability 0.9, within 20 m and 180°, to 0.1 m and 0.02 rad; false readings are 5 % of
what is in view, anywhere in it. The nearest pairs of readings and cones within a squared distance of 20 are matched,
which is about where a reading of a cone that was not read otherwise is as likely as a false one. What is wrong then is
wrong with any rule: a false reading beside a cone, or nearer to it than its own.

    python3 benches/matches_by_chance.py config/scenarios/cones.yaml ../shared/data/cone_tracks/FSE22.yaml
"""

import argparse
import math
import random

import yaml

DETECTION, CLUTTER, REACH_M, RANGE_STD_M, BEARING_STD = 0.9, 0.05, 20.0, 0.1, 0.02
WITHIN, ROUNDS = 20.0, 200


def cones(path):
    """The left cones, the right ones, and others."""
    with open(path) as file:
        data = yaml.safe_load(file)
    if "world" in data:
        world = data["world"]
        places = list(zip(world["features_x_m"], world["features_y_m"]))
        by_class = list(zip(places, world["features_class"]))
        left, right = ([place for place, kind in by_class if kind == own] for own in (1.0, 2.0))
        return left, right, []
    track = data["track"]
    lists = {name: items for name, items in track.items() if isinstance(items, list)}
    places = {
        name: [tuple(item["position"][:2]) for item in items if isinstance(item, dict) and "position" in item]
        for name, items in lists.items()
    }
    others = [place for name, items in places.items() if name not in ("left", "right") for place in items]
    return places["left"], places["right"], others


def count_of(mean, rng):
    """How many of a Poisson distribution."""
    count, product, least = 0, rng.random(), math.exp(-mean)
    while product > least:
        count, product = count + 1, product * rng.random()
    return count


def cloud(view, rng):
    """Readings, and the cone of each."""
    readings = [
        (distance + rng.gauss(0.0, RANGE_STD_M), bearing + rng.gauss(0.0, BEARING_STD), k)
        for k, (distance, bearing) in enumerate(view)
        if rng.random() < DETECTION
    ]
    for _ in range(count_of(CLUTTER * len(view), rng)):
        readings.append((REACH_M * math.sqrt(rng.random()), rng.uniform(-0.5, 0.5) * math.pi, None))
    return readings


def matches(view, readings):
    """The cone of each reading and the one that it is matched with, nearest pairs first."""
    pairs = []
    for j, (distance, bearing, _) in enumerate(readings):
        for k, (there, towards) in enumerate(view):
            square = ((distance - there) / RANGE_STD_M) ** 2 + ((bearing - towards) / BEARING_STD) ** 2
            if square < WITHIN:
                pairs.append((square, j, k))
    used, taken = set(), set()
    for _, j, k in sorted(pairs):
        if j not in used and k not in taken:
            used.add(j)
            taken.add(k)
            yield readings[j][2], k


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("tracks", nargs="+", help="scenario or track files")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    print("| track | matches | wrong |\n|---|---|---|")
    for path in options.tracks:
        rng = random.Random(options.seed)
        left, right, others = cones(path)
        everything, wrong, matched = left + right + others, 0, 0
        for _ in range(ROUNDS):
            for own, after in zip(left, left[1:] + left[:1]):
                beside = min(right, key=lambda cone: math.dist(cone, own))
                here = [(a + b) / 2.0 for a, b in zip(own, beside)]
                heading = math.atan2(after[1] - own[1], after[0] - own[0])
                seen = [
                    (math.dist(cone, here), math.remainder(
                        math.atan2(cone[1] - here[1], cone[0] - here[0]) - heading, math.tau))
                    for cone in everything
                ]
                view = [(distance, bearing) for distance, bearing in seen
                        if 0.5 < distance < REACH_M and abs(bearing) < math.pi / 2.0]
                for of, to in matches(view, cloud(view, rng)):
                    matched, wrong = matched + 1, wrong + (of != to)
        print(f"| {path.rsplit('/', 1)[-1]} | {matched} | {100.0 * wrong / matched:.3f} % |")


if __name__ == "__main__":
    main()
