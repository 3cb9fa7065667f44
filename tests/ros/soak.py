"""Lets simulator_node and slam_node run for long, and holds memory, descriptors and losses against bounds.

usage: soak.py SLAM_NODE SIMULATOR_NODE [--minutes M] [--json FILE]

Bounds: resident memory of either node grows by no more than 4 MB and 2 MB an hour after the first eighth of the time; no
descriptor more; no odometry and no cloud that was sent is lost, and each is answered; diagnostics stay OK; the estimate stays
within 1 m. `cargo xtask soak --minutes 60` does it.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from geometry_msgs.msg import PoseWithCovarianceStamped
from peer import nanos
from robot import LEVELS, Robot, main

GROWTH_MB, GROWTH_MB_PER_HOUR = 4.0, 2.0


class Soak(Robot):
    """Counts what was sent and what was answered, and keeps nothing else."""

    def __init__(self, slam_node, simulator_node):
        """Nothing runs yet."""
        super().__init__(slam_node, simulator_node)
        self.sent, self.answered, self.worst_m = {'odom': 0, 'features': 0}, {'odom': 0, 'features': 0}, 0.0
        self.levels, self.worst_words, self.is_over = {}, '', False
        self.create_subscription(PoseWithCovarianceStamped, 'pose', lambda m: self.count(self.answered, 'features'), 1000)

    def count(self, where, what):
        """One more."""
        where[what] += 1

    def relay(self, publisher, message):
        """Pass on, count, and forget what is old."""
        super().relay(publisher, message)
        self.count(self.sent, 'odom' if publisher is self.odom else 'features')
        old = nanos(message.header.stamp) - 5_000_000_000
        for kept in (self.source, self.truth):
            while kept and (first := next(iter(kept))) < old:
                del kept[first]

    def hear_estimate(self, message):
        """Only the worst is of interest."""
        super().hear_estimate(message)
        self.count(self.answered, 'odom')
        if len(self.samples) > 100:
            self.worst_m = max([self.worst_m] + [error for _, error, _ in self.samples])
            del self.samples[:-30]

    def hear_status(self, message):
        """Count the levels."""
        before = len(self.statuses)
        super().hear_status(message)
        for _, level, words, _ in self.statuses[before:]:
            self.levels[LEVELS[level]] = self.levels.get(LEVELS[level], 0) + 1
            if level and self.sent['odom'] > 200 and not self.is_over:
                self.worst_words = words
        del self.statuses[:-3]


def soak(arguments):
    """Run, measure, judge."""
    robot = Soak(arguments.slam_node, arguments.simulator_node)
    robot.begin(1.0)
    seconds, begun = 60.0 * arguments.minutes, time.monotonic()
    warm, measured = begun + seconds / 8.0, []
    every = max(1.0, min(10.0, seconds / 20.0))
    while time.monotonic() < begun + seconds and robot.is_running('slam'):
        robot.run(every)
        if time.monotonic() >= warm:
            at = (time.monotonic() - begun) / 3600.0
            measured.append((at, *[(robot.memory_mb(name), robot.descriptors(name)) for name in ('slam', 'simulator')]))
    assert robot.is_running('slam'), robot.last_words()
    # No more is sent: what is on its way arrives.
    robot.is_over = True
    robot.processes['simulator'].terminate()
    robot.run(1.5)
    values = robot.statuses[-1][3]
    received = {topic: int(values[f'{topic}.received']) for topic in ('odom', 'features')}
    used = {topic: int(values[f'{topic}.used']) for topic in ('odom', 'features')}
    dropped = {k.removeprefix('dropped.'): int(n) for k, n in values.items() if k.startswith('dropped.') and int(n)}
    complaints = []
    hours = measured[-1][0] - measured[0][0]
    report = {'minutes': arguments.minutes, 'sent': robot.sent, 'received': received, 'used': used, 'answered': robot.answered}
    for place, name in ((1, 'slam_node'), (2, 'simulator_node')):
        first, last = measured[0][place], measured[-1][place]
        report[name] = {'memory_mb': [first[0], last[0]], 'descriptors': [first[1], last[1]]}
        if last[0] - first[0] > GROWTH_MB + GROWTH_MB_PER_HOUR * hours:
            complaints.append(f'{name} grew from {first[0]:.1f} MB to {last[0]:.1f} MB')
        if last[1] > first[1]:
            complaints.append(f'{name} has {last[1]} descriptors instead of {first[1]}')
    for topic in ('odom', 'features'):
        # The first odometry starts the clock; it is answered by no motion.
        if not robot.sent[topic] == received[topic] == used[topic] or robot.sent[topic] - robot.answered[topic] > 1:
            complaints.append(f'of {robot.sent[topic]} {topic}: received {received[topic]}, used {used[topic]}, answered {robot.answered[topic]}')
    if robot.worst_m > 1.0:
        complaints.append(f'{robot.worst_m:.2f} m off')
    if robot.worst_words:
        complaints.append(f'diagnostics: {robot.worst_words}')
    if robot.end() != 0:
        complaints.append('slam_node did not end well')
    report.update(dropped=dropped, worst_m=robot.worst_m, levels=robot.levels, complaints=complaints)
    print(json.dumps(report))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1))
    print('soak: ' + ('; '.join(complaints) or 'ok'))
    return 1 if complaints else 0


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument('slam_node')
parser.add_argument('simulator_node')
parser.add_argument('--minutes', type=float, default=60.0)
parser.add_argument('--json', help='a file for all that was found')
arguments = parser.parse_args()
main(lambda: soak(arguments))
