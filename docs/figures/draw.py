#!/usr/bin/env python3
"""Draws the figures of the documentation: `python3 docs/figures/draw.py` writes them, `--check` compares them.

Each figure is one function; all of them use the classes of STYLE, which follow the light or dark theme of the reader.
"""

import math
import pathlib
import random
import sys

STYLE = """
text { font: 15px system-ui, 'DejaVu Sans', sans-serif; fill: #24292f }
.small { font-size: 13px }
.muted { fill: #57606a }
.ink { stroke: #24292f } .grey { stroke: #8c959f } .blue { stroke: #0969da } .orange { stroke: #bc4c00 }
.green { stroke: #1a7f37 } .red { stroke: #cf222e }
.fill-ink { fill: #24292f } .fill-grey { fill: #8c959f } .fill-blue { fill: #0969da } .fill-orange { fill: #bc4c00 }
.fill-green { fill: #1a7f37 } .fill-red { fill: #cf222e }
.line { fill: none; stroke-width: 2 } .thin { fill: none; stroke-width: 1.2 } .dashed { stroke-dasharray: 6 4 }
.faint { fill-opacity: 0.12; stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.muted { fill: #9198a1 }
.ink { stroke: #e6edf3 } .grey { stroke: #767e88 } .blue { stroke: #58a6ff } .orange { stroke: #f0883e }
.green { stroke: #3fb950 } .red { stroke: #ff7b72 }
.fill-ink { fill: #e6edf3 } .fill-grey { fill: #767e88 } .fill-blue { fill: #58a6ff } .fill-orange { fill: #f0883e }
.fill-green { fill: #3fb950 } .fill-red { fill: #ff7b72 }
}
"""


class Figure:
    """An SVG of a size, with what the figures have in common."""

    def __init__(self, width, height, title):
        self.size, self.title, self.parts = (width, height), title, []

    def add(self, name, classes, body='', **attributes):
        pairs = ''.join(f' {key.replace("_", "-")}="{number(value)}"' for key, value in attributes.items())
        self.parts.append(f'<{name} class="{classes}"{pairs}' + (f'>{body}</{name}>' if body else '/>'))

    def text(self, x, y, words, classes='', anchor='middle'):
        self.add('text', classes, words, x=x, y=y, text_anchor=anchor)

    def line(self, points, classes):
        self.add('path', f'line {classes}', d='M' + ' L'.join(f'{number(x)} {number(y)}' for x, y in points))

    def curve(self, commands, classes):
        self.add('path', f'line {classes}', d=commands)

    def arrow(self, start, end, colour, classes=''):
        """A line from start to end with a head at its end."""
        angle = math.atan2(end[1] - start[1], end[0] - start[0])
        back = (end[0] - 9 * math.cos(angle), end[1] - 9 * math.sin(angle))
        self.line([start, back], f'{colour} {classes}')
        self.head(end, angle, colour)

    def head(self, at, angle, colour):
        sides = [(at[0] - 10 * math.cos(angle + d), at[1] - 10 * math.sin(angle + d)) for d in (-0.4, 0.4)]
        self.add('polygon', f'fill-{colour}', points=' '.join(f'{number(x)},{number(y)}' for x, y in [at, *sides]))

    def ellipse(self, at, axes, colour, turn=0.0, classes='', filled=True):
        spin = {'transform': f'rotate({number(turn)} {number(at[0])} {number(at[1])})'} if turn else {}
        shape = {'cx': at[0], 'cy': at[1], 'rx': axes[0], 'ry': axes[1], **spin}
        if filled:
            self.add('ellipse', f'faint fill-{colour}', **shape)
        self.add('ellipse', f'line {colour} {classes}', **shape)

    def dot(self, at, colour, radius=5):
        self.add('circle', f'fill-{colour}', cx=at[0], cy=at[1], r=radius)

    def cross(self, at, colour, size=6):
        for sign in (-1, 1):
            self.line([(at[0] - size, at[1] - sign * size), (at[0] + size, at[1] + sign * size)], colour)

    def robot(self, at, heading, colour, size=15):
        """A triangle that points where the robot drives; heading in degrees, counterclockwise."""
        turns = [math.radians(heading + turn) for turn in (0, 140, 220)]
        corners = [(at[0] + size * math.cos(turn), at[1] - size * math.sin(turn)) for turn in turns]
        points = ' '.join(f'{number(x)},{number(y)}' for x, y in corners)
        self.add('polygon', f'fill-{colour}', points=points)

    def axes(self, at, heading, name, size=44, below=22):
        """A frame: x and y, and its name."""
        turn = math.radians(heading)
        self.arrow(at, (at[0] + size * math.cos(turn), at[1] - size * math.sin(turn)), 'red')
        self.arrow(at, (at[0] - size * math.sin(turn), at[1] - size * math.cos(turn)), 'green')
        self.text(at[0], at[1] + below, name)

    def render(self):
        width, height = self.size
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        label = f' role="img" aria-label="{self.title}">\n<title>{self.title}</title>\n<style>{STYLE}</style>\n'
        return head + label + '\n'.join(self.parts) + '\n</svg>\n'


def number(value):
    """A coordinate with one digit after the point; everything else as it is."""
    return f'{value:.1f}'.removesuffix('.0') if isinstance(value, float) else value


def middle(a, b, part=0.5):
    return (a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1]))


def frames():
    f = Figure(760, 280, 'Frames: map to odom by slam_node, odom to base_link by the odometry, the sensor by /tf_static')
    places = {'map': (60, 220), 'odom': (230, 190), 'base_link': (450, 150), 'sensor': (560, 128)}
    for a, b in [('map', 'odom'), ('odom', 'base_link'), ('base_link', 'sensor')]:
        f.arrow(middle(places[a], places[b], 0.06), middle(places[a], places[b], 0.95), 'grey', 'dashed')
    landmark = (705, 52)
    f.arrow(places['sensor'], middle(places['sensor'], landmark, 0.92), 'orange')
    f.curve(f'M60 220 C 150 60, 480 10, {landmark[0] - 16} {landmark[1] - 2}', 'blue dashed')
    f.axes(places['map'], 0, 'map')
    f.axes(places['odom'], 9, 'odom')
    f.robot(places['base_link'], 15, 'blue', 17)
    f.axes(places['base_link'], 15, 'base_link', below=30)
    f.axes(places['sensor'], 30, 'sensor', 32)
    f.ellipse(landmark, (20, 12), 'blue', -30)
    f.dot(landmark, 'blue')
    f.text(705, 92, 'landmark')
    f.text(150, 230, 'slam_node', 'small muted')
    f.text(345, 196, 'odometry, drifts', 'small muted')
    f.text(498, 116, '/tf_static', 'small muted')
    f.text(655, 122, 'measurement', 'small muted', 'start')
    f.text(30, 24, 'estimated: pose and landmarks, with joint covariance', 'small muted', 'start')
    return f


def step():
    f = Figure(890, 250, 'A step: propagate, associate, gate, update, augment')
    names = ['propagate', 'associate', 'gate', 'update', 'augment']
    captions = [
        ('odometry moves the robot,', 'its covariance grows'),
        ('which landmark is', 'each measurement of'),
        ('what lies too far off', 'is left out and counted'),
        ('robot and landmarks', 'are corrected together'),
        ('a new landmark gets its', 'correlations at once'),
    ]
    for k, (name, lines) in enumerate(zip(names, captions)):
        x = 98 + 174 * k
        f.text(x, 24, name)
        f.text(x, 218, lines[0], 'small muted')
        f.text(x, 236, lines[1], 'small muted')
        if k:
            f.arrow((x - 98, 110), (x - 78, 110), 'grey')
        robot = (x, 155)
        marks = [(x - 38, 72), (x + 34, 62)]
        if k == 0:
            f.robot((x - 4, 192), 90, 'grey', 8)
            f.line([(x - 4, 188), (x - 1, 166)], 'grey thin dashed')
        f.ellipse(robot, (12, 9) if k >= 3 else (24, 15), 'blue')
        f.robot(robot, 90, 'blue', 11)
        for at in marks:
            f.ellipse(at, (9, 7) if k >= 3 else (17, 13), 'blue')
            f.dot(at, 'blue', 4)
        if k in (1, 2):
            for at, seen in zip(marks, [(x - 28, 80), (x + 42, 54)]):
                f.cross(seen, 'orange', 5)
                f.line([robot, seen], 'orange thin dashed')
        if k == 2:
            f.cross((x + 48, 122), 'red', 5)
            f.line([robot, (x + 48, 122)], 'red thin dashed')
        if k == 4:
            new = (x - 4, 104)
            f.line([robot, new], 'orange thin dashed')
            f.ellipse(new, (12, 9), 'orange')
            f.dot(new, 'orange', 4)
    return f


def gate():
    f = Figure(640, 270, 'The gate: measurements within and outside of the ellipse of the innovation covariance')
    centre, turn = (220, 140), -24
    for scale, classes in [(1.0, 'dashed'), (3.7, '')]:
        f.ellipse(centre, (46 * scale, 27 * scale), 'blue', turn, classes, filled=scale > 1)
    f.cross(centre, 'blue', 5)
    f.line([centre, (70, 236)], 'grey thin')
    f.text(64, 254, 'predicted', 'small muted')
    f.text(278, 160, '1σ', 'small muted')
    draw = random.Random(4)
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    for _ in range(14):
        u, v = 46 * draw.gauss(0, 1), 27 * draw.gauss(0, 1)
        f.dot((centre[0] + u * cos - v * sin, centre[1] + u * sin + v * cos), 'green', 4)
    for at in [(92, 46), (352, 222)]:
        f.cross(at, 'red')
    f.line([centre, (352, 222)], 'red thin dashed')
    f.text(364, 242, 'gated', 'small', 'start')
    f.text(430, 70, 'innovation ν = z − h(x),', anchor='start')
    f.text(430, 92, 'covariance S = H P Hᵀ + R', anchor='start')
    f.text(430, 128, 'used if νᵀS⁻¹ν ≤ χ²(P),', anchor='start')
    f.text(430, 150, 'P = gate.probability', anchor='start')
    f.text(430, 178, '0.999: 13.8 for two numbers', 'small muted', 'start')
    return f


def fixed_lag():
    f = Figure(760, 250, 'Fixed lag: every ten scans the last twenty are processed again from a kept state')
    left, gap, axis = 60, 21, 130
    place = [left + gap * k for k in range(31)]
    f.arrow((left - 20, axis), (place[30] + 34, axis), 'grey')
    f.add('rect', 'faint fill-blue', x=place[10], y=axis - 24, width=20 * gap, height=48)
    for k, x in enumerate(place):
        f.dot((x, axis), 'blue' if k > 10 else 'grey', 5)
    f.add('rect', 'fill-blue', x=place[10] - 8, y=axis - 8, width=16, height=16)
    f.text(place[10], axis - 36, 'kept state')
    f.text(place[30], axis - 36, 'now')
    f.curve(f'M{place[30]} {axis + 12} C {place[30]} {axis + 80}, {place[10]} {axis + 80}, {place[10]} {axis + 20}', 'orange')
    f.head((place[10], axis + 12), math.radians(-90), 'orange')
    f.text((place[10] + place[30]) / 2, axis + 88, 'processed again, linearized at the newest estimate')
    f.arrow((place[0], axis - 70), (place[10], axis - 70), 'grey')
    f.text(place[5], axis - 80, 'final', 'small muted')
    f.arrow((place[10] + 60, axis - 70), (place[30], axis - 70), 'blue')
    f.text((place[10] + place[30]) / 2 + 30, axis - 80, 'the last 20 scans, every measurement counts once', 'small muted')
    f.text(place[0] - 20, axis + 30, 'scans', 'small muted', 'start')
    return f


def submaps():
    f = Figure(760, 300, 'Submaps: each starts at a base on the path; the landmarks in view are in two of them')
    bases = [(80, 200), (300, 120), (520, 190), (690, 120)]
    f.curve('M80 200 C 150 200, 220 120, 300 120 C 390 120, 430 190, 520 190 C 590 190, 640 150, 690 120', 'grey')
    for k, (x, y, turn) in enumerate([(185, 150, -20), (410, 150, 16), (610, 150, -22)]):
        f.ellipse((x, y), (150, 96), ['blue', 'orange', 'blue'][k], turn, 'thin')
    draw = random.Random(11)
    for x in range(60, 740, 34):
        at = (x + draw.uniform(-8, 8), 150 + draw.choice((-1, 1)) * draw.uniform(34, 64))
        shared = min(abs(at[0] - 300), abs(at[0] - 520)) < 42
        f.dot(at, 'green' if shared else 'ink', 5 if shared else 4)
    for k, at in enumerate(bases[:3]):
        f.axes(at, [20, 0, 8][k], f'base {k + 1}', 30, 20)
    f.robot(bases[3], 30, 'blue')
    f.text(150, 40, 'submap 1, closed', 'small')
    f.text(410, 30, 'submap 2, closed', 'small')
    f.text(650, 30, 'submap 3, open', 'small')
    f.dot((150, 282), 'green')
    f.text(164, 287, 'landmarks in view at the change: in both submaps, counted once', 'small muted', 'start')
    return f


def association():
    f = Figure(760, 290, 'Association: measurements of one scan, landmarks with their ellipses, and joint hypotheses')
    robot = (90, 240)
    f.robot(robot, 35, 'blue')
    marks = [(150, 80), (270, 60), (330, 150), (410, 110)]
    seen = [(166, 94), (287, 73), (346, 166), (428, 122)]
    for at in marks:
        f.ellipse(at, (34, 24), 'blue', -20)
        f.dot(at, 'blue')
    for at, z in zip(marks, seen):
        f.line([robot, z], 'grey thin dashed')
        f.cross(z, 'orange')
        f.line([at, z], 'orange')
    clutter, candidate = (232, 150), (430, 232)
    for at in (clutter, candidate):
        f.line([robot, at], 'grey thin dashed')
    f.cross(clutter, 'red')
    f.text(244, 148, 'clutter?', 'small', 'start')
    f.ellipse(candidate, (26, 18), 'orange', -20, 'dashed')
    f.cross(candidate, 'orange')
    f.text(430, 272, 'candidate', 'small')
    f.text(300, 24, 'all pairs are off alike: the error of the pose, which S contains', 'small muted')
    f.text(500, 74, 'hypotheses of the scan', anchor='start')
    rows = [('A B C D – –', 0.97, 'blue'), ('A B D C – –', 0.02, 'grey'), ('– B C D – –', 0.01, 'grey')]
    for k, (words, weight, colour) in enumerate(rows):
        y = 108 + 34 * k
        f.text(500, y, words, 'small', 'start')
        f.add('rect', f'fill-{colour}', x=600, y=y - 12, width=max(3.0, 110 * weight), height=14)
        f.text(718, y, f'{weight:.2f}', 'small muted', 'start')
    f.text(500, 232, 'weights follow from distances,', 'small muted', 'start')
    f.text(500, 250, 'detection rates, clutter and classes', 'small muted', 'start')
    for name, at in zip('ABCD', marks):
        f.text(at[0] - 14, at[1] - 8, name, 'small')
    return f


def relocalization():
    f = Figure(760, 300, 'Global localization: a constellation, distances that vote for motions, and the pose that is left')
    local = [(-62, 40), (26, 66), (78, -20), (-40, -52)]
    at = (140, 160)
    f.text(140, 30, 'constellation of the robot')
    f.robot(at, 90, 'blue')
    points = [(at[0] + x, at[1] - y) for x, y in local]
    for a, b in [(0, 1), (1, 2), (2, 3), (3, 0)]:
        f.line([points[a], points[b]], 'orange thin dashed')
    for p in points:
        f.cross(p, 'orange')
    f.text(140, 270, 'distances do not depend on the pose', 'small muted')
    f.arrow((270, 160), (320, 160), 'grey')
    f.text(540, 30, 'map: every pair of that length votes')
    draw = random.Random(3)
    turn, to = math.radians(50), (600, 190)
    cos, sin = math.cos(turn), math.sin(turn)
    found = [(to[0] + x * cos - y * sin, to[1] - x * sin - y * cos) for x, y in local]
    others = [(draw.uniform(350, 740), draw.uniform(50, 262)) for _ in range(34)]
    for p in others:
        if all(math.dist(p, q) > 26 for q in [*found, to]):
            f.dot(p, 'grey', 4)
    for a, b in [(0, 1), (1, 2), (2, 3), (3, 0)]:
        f.line([found[a], found[b]], 'orange thin dashed')
    for p in found:
        f.dot(p, 'ink', 5)
    f.ellipse(to, (24, 18), 'blue', -30)
    f.robot(to, 140, 'blue')
    for p, heading in [((400, 110), 30), ((470, 215), 250)]:
        f.robot(p, heading, 'grey', 12)
    f.text(400, 92, '10⁻⁵', 'small muted')
    f.text(470, 244, '10⁻⁷', 'small muted')
    f.text(614, 282, '0.9999: found', 'small')
    return f


FIGURES = {
    'frames': frames,
    'step': step,
    'gate': gate,
    'fixed-lag': fixed_lag,
    'submaps': submaps,
    'association': association,
    'relocalization': relocalization,
}


def main():
    folder, stale = pathlib.Path(__file__).resolve().parent, []
    for name, draw in FIGURES.items():
        path, text = folder / f'{name}.svg', draw().render()
        if '--check' not in sys.argv:
            path.write_text(text, encoding='utf-8')
        elif not path.exists() or path.read_text(encoding='utf-8') != text:
            stale.append(path.name)
    if stale:
        sys.exit(f'not as docs/figures/draw.py draws them: {", ".join(stale)}')


if __name__ == '__main__':
    main()
