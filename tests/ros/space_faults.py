"""Runs simulator_node and slam3d_node under a list of faults, and prints what became of each.

usage: space_faults.py SLAM3D_NODE SIMULATOR_NODE [--long] [--jobs N] [--domains A,B,…] [--only FAULT …] [--json FILE]

Each fault has nodes of its own, in a ROS domain of its own: the body stands for two seconds and then flies circles, the
fault happens, and it flies on. A row of the table says how far off the estimate was at most before the fault, from its
beginning on, and at the end; by how many of its own standard deviations; how long after the fault it was off by more than
the bound, or silent; and what /diagnostics reported. `cargo xtask faults --space` does it.
"""

import math
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from fault_table import recovery, run
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from peer import nanos, stamp_into, yaw_of
from rclpy.node import Node
from robot import LEVELS, ros_arguments
from sensor_msgs.msg import Imu, PointCloud2

SECOND = 1_000_000_000
# Outside of a fault an estimate is expected within this, m: five times what is usual here.
BOUND_M = 0.25
# An error of more than so many standard deviations, and of more than what a frame begun in motion is off, is wrong and sure.
MOST_DEVIATIONS, FLOOR_M = 5.0, 0.05
# The short form runs several faults at once on machines that do other things: there a node may take so long, s.
PATIENCE_S = 15.0
# As the simulator makes it.
FILTER = {
    'imu.gyro_noise': 0.00017,
    'imu.accelerometer_noise': 0.002,
    'imu.gyro_walk': 0.000019,
    'imu.accelerometer_walk': 0.003,
    'imu.interpolation': 'cubic',
    'sensor.baseline_m': 0.12,
}

FAULTS = {}


def fault(words='', recovers_s=2.0, jumps=0, seconds=60, long_only=False):
    """Declare a fault: what /diagnostics has to say, how soon all is well again, how often time was set back, and the
    length of the run; `jumps` is None where both may be.
    """

    def declare(function):
        FAULTS[function.__name__] = dict(
            function=function, words=words, recovers_s=recovers_s, jumps=jumps, seconds=seconds, long_only=long_only
        )
        return function

    return declare


class Body(Node):
    """The processes, the relay between them, and what was heard."""

    def __init__(self, slam3d_node, simulator_node, scenario):
        """Nothing runs yet."""
        super().__init__('relay')
        self.programs = {'slam': slam3d_node, 'simulator': simulator_node}
        self.scenario = scenario
        self.processes, self.log = {}, tempfile.TemporaryDirectory(prefix='lienav-faults-')
        self.truth, self.source, self.samples, self.statuses = {}, {}, [], []
        self.anchor, self.anchor_wanted = None, False
        self.shift_ns, self.silent, self.changes = 0, set(), []
        self.imu = self.create_publisher(Imu, 'imu', 400)
        self.features = self.create_publisher(PointCloud2, 'features', 50)
        self.create_subscription(Imu, 'sim/imu', lambda m: self.relay(self.imu, m), 1000)
        self.create_subscription(PointCloud2, 'sim/features', lambda m: self.relay(self.features, m), 100)
        self.create_subscription(PoseStamped, 'ground_truth/pose', self.hear_truth, 1000)
        self.create_subscription(Odometry, 'odometry/filtered', self.hear_estimate, 1000)
        self.create_subscription(DiagnosticArray, '/diagnostics', self.hear_status, 100)

    def start(self, name):
        """Start one of the two."""
        if name == 'slam':
            arguments = ros_arguments(FILTER)
        else:
            parameters = {'scenario': self.scenario, 'publish_tf': 'false'}
            arguments = ros_arguments(parameters, ('imu:=sim/imu', 'features:=sim/features'))
        log = open(Path(self.log.name) / f'{name}.stderr', 'ab')
        environment = {**os.environ, 'ROS_LOG_DIR': self.log.name}
        self.processes[name] = subprocess.Popen(
            [self.programs[name], *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )

    def relay(self, publisher, message):
        """Pass a message on, as the faults in force change it."""
        sent_ns = nanos(message.header.stamp)
        if publisher in self.silent:
            return
        if self.shift_ns:
            stamp_into(message.header.stamp, sent_ns + self.shift_ns)
        self.source[sent_ns + self.shift_ns] = sent_ns
        publisher.publish(message)
        for change in self.changes:
            change(publisher, message)

    def hear_truth(self, message):
        """Keep it by its stamp."""
        p = message.pose.position
        self.truth[nanos(message.header.stamp)] = (p.x, p.y, p.z, yaw_of(message.pose.orientation))

    def hear_estimate(self, message):
        """Compare it with the truth of its instant; a filter that began anew, in the frame that it began with."""
        truth = self.truth.get(self.source.get(nanos(message.header.stamp)))
        if truth is None:
            return
        p, c = message.pose.pose.position, message.pose.covariance
        own = (p.x, p.y, p.z, yaw_of(message.pose.pose.orientation))
        sigma = math.sqrt(max(c[0] + c[7] + c[14], 0.0))
        if self.anchor_wanted and sigma < FLOOR_M:
            self.anchor, self.anchor_wanted = (truth, own, sigma, math.sqrt(max(c[35], 0.0))), False
        expected = truth[:3]
        if self.anchor is not None:
            at, begun, place_std, yaw_std = self.anchor
            cos, sin = math.cos(begun[3] - at[3]), math.sin(begun[3] - at[3])
            x, y = truth[0] - at[0], truth[1] - at[1]
            expected = (begun[0] + cos * x - sin * y, begun[1] + sin * x + cos * y, begun[2] + truth[2] - at[2])
            # It is compared with an estimate of its own, which was as uncertain as it said.
            sigma = math.hypot(sigma, place_std, yaw_std * math.hypot(x, y))
        error = math.inf if self.anchor_wanted else math.dist(own[:3], expected)
        self.samples.append((time.monotonic(), error, sigma))

    def hear_status(self, message):
        """Keep what slam3d_node says about itself."""
        for status in message.status:
            if status.name.endswith(': slam3d'):
                level = status.level[0] if isinstance(status.level, bytes) else status.level
                values = {v.key: v.value for v in status.values}
                self.statuses.append((time.monotonic(), level, status.message, values))

    def run(self, seconds):
        """Let time pass."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            rclpy.spin_once(self, timeout_sec=min(left, 0.05))

    def until(self, condition, what, timeout=30.0):
        """Let time pass until something holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f'waited {timeout} s for {what}; {self.last_words()}'
            rclpy.spin_once(self, timeout_sec=0.02)

    def last_words(self):
        """The end of the log of slam3d_node."""
        return (Path(self.log.name) / 'slam.stderr').read_text(errors='replace')[-500:]

    def begin(self):
        """Start both, and fly for a while."""
        self.start('slam')
        self.until(lambda: self.count_subscribers('imu') and self.count_publishers('odometry/filtered'), 'slam3d_node')
        self.start('simulator')
        self.until(lambda: len(self.samples) > 10 and self.statuses, 'estimates')
        # The pose of the start may have come before the filter could hear it.
        self.run(2.0)
        self.anchor_wanted = True
        self.run(3.0)

    def reinitialized(self):
        """The filter is reinitialized where it is: its estimates are in another frame from here on."""
        self.run(0.3)
        self.anchor_wanted = True

    def memory_mb(self):
        """Resident memory of slam3d_node."""
        for line in Path(f'/proc/{self.processes["slam"].pid}/status').read_text().splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) / 1024
        return 0.0

    def end(self):
        """End both; gives the exit code of slam3d_node, or None if it has to be killed."""
        codes = {}
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for name, process in self.processes.items():
            try:
                codes[name] = process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                codes[name] = None
        return codes.get('slam')

    def between(self, begin, end=math.inf):
        """Error and standard deviation of what was heard between two instants."""
        return [(error, sigma) for at, error, sigma in self.samples if begin <= at < end]


def silence(body, seconds, *publishers):
    """Pass on nothing of these for a while."""
    body.silent = set(publishers)
    body.run(seconds)
    body.silent = set()
    return f'{seconds:g} s of silence'


@fault()
def imu_silent_05(body, long):
    """The inertial sensor is silent for half a second."""
    return silence(body, 0.5, body.imu)


@fault(long_only=True)
def imu_silent_2(body, long):
    """The inertial sensor is silent for two seconds."""
    return silence(body, 2.0, body.imu)


@fault(words='no imu', long_only=True)
def imu_silent_10(body, long):
    """The inertial sensor is silent for ten seconds."""
    return silence(body, 10.0, body.imu)


@fault(words='features', seconds=120)
def frames_silent(body, long):
    """No landmarks are seen."""
    return silence(body, 60.0 if long else 5.0, body.features)


@fault(words='imu|features', jumps=1)
def all_silent(body, long):
    """Nothing comes; the filter finds itself in its map."""
    return silence(body, 30.0 if long else 3.0, body.imu, body.features)


@fault(words='was set', jumps=1)
def clock_set_ahead(body, long):
    """The clock of all sensors is set an hour ahead; the filter finds itself in its map."""
    body.shift_ns += 3600 * SECOND
    body.run(1.0)
    return 'all stamps an hour later'


@fault(words='was set', jumps=1)
def clock_set_back(body, long):
    """The clock of all sensors is set back; the filter finds itself in its map."""
    body.shift_ns -= 60 * SECOND
    body.run(1.0)
    return 'all stamps 60 s earlier'


@fault(words='from_the_future|too_late|unconfirmed_jump')
def stray_stamps(body, long):
    """Beside the true samples, some with a wrong stamp."""
    left = [0, -3 * SECOND, 5 * SECOND // 2, 4 * SECOND, 3600 * SECOND]

    def change(publisher, message):
        if publisher is body.imu and left:
            offset = left.pop()
            stamp_into(message.header.stamp, nanos(message.header.stamp) + offset if offset else 0)
            body.imu.publish(message)

    body.changes.append(change)
    body.run(1.0)
    body.changes.clear()
    return '5 samples: stamp 0, 3 s late, 2.5 s to an hour ahead'


@fault(words='unreadable')
def undecodable(body, long):
    """Bytes that are no messages."""
    for k in range(300):
        (body.imu, body.features)[k % 2].publish(b'\x00\x01\x00\x00' + bytes((7 * k + j) % 256 for j in range(k % 60 + 1)))
        body.run(0.003)
    return '300 pieces of bytes on imu and features'


@fault(jumps=None)
def slam_stopped(body, long):
    """slam3d_node gets no processor time."""
    seconds = 5.0 if long else 2.0
    body.processes['slam'].send_signal(signal.SIGSTOP)
    body.run(seconds)
    body.processes['slam'].send_signal(signal.SIGCONT)
    return f'SIGSTOP of slam3d_node for {seconds:g} s'


@fault(recovers_s=6.0)
def slam_killed(body, long):
    """slam3d_node is killed and started again; it begins a new map where it is."""
    body.processes['slam'].kill()
    body.processes['slam'].wait()
    body.reinitialized()
    body.start('slam')
    return 'SIGKILL, and started again'


def examine(name, slam3d_node, simulator_node, long):
    """Run one fault: a row of the table."""
    declared, complaints = FAULTS[name], []
    scenario = f"space:circle-stereo-industrial-standing-{declared['seconds']}s:2"
    body = Body(slam3d_node, simulator_node, scenario)
    try:
        body.begin()
        begun, memory = time.monotonic(), body.memory_mb()
        happened = declared['function'](body, long)
        ended = time.monotonic()
        body.run(4.0)
        recovers_s = declared['recovers_s'] if long else max(declared['recovers_s'], PATIENCE_S)
        # Within the bound for a second, at the end.
        while recovery(body.samples, ended, time.monotonic(), BOUND_M) > time.monotonic() - ended - 1.0 and time.monotonic() < ended + recovers_s:
            body.run(0.5)
        finished = time.monotonic()
        if body.processes['slam'].poll() is not None:
            raise AssertionError(f'slam3d_node has ended: {body.last_words()}')
        heard = [one for one in body.between(begun) if math.isfinite(one[0])]
        worst = max((s for s in body.statuses if begun < s[0]), key=lambda s: s[1], default=(0, 3, 'no diagnostics', {}))
        reported = '; '.join(s[2] for s in body.statuses if begun < s[0])
        row = {
            'fault': name,
            'happened': happened,
            'before_m': max((e for e, _ in body.between(begun - 2.0, begun)), default=math.nan),
            'worst_m': max((e for e, _ in heard), default=math.nan),
            'deviations': max((max(e - FLOOR_M, 0.0) / max(s, 1e-6) for e, s in heard), default=math.nan),
            'after_m': max((e for e, _ in body.between(finished - 1.0)), default=math.nan),
            'recovers_s': recovery(body.samples, ended, finished, BOUND_M),
            'level': LEVELS[worst[1]],
            'words': worst[2],
            'memory_mb': (memory, body.memory_mb()),
        }
        if not re.search(declared['words'], reported):
            complaints.append(f"diagnostics do not say '{declared['words']}'")
        if not row['deviations'] <= MOST_DEVIATIONS:
            complaints.append('wrong and sure')
        if not row['recovers_s'] <= recovers_s:
            complaints.append(f'not well again within {recovers_s:g} s')
        if not row['after_m'] < BOUND_M:
            complaints.append('lost')
        jumps = int(body.statuses[-1][3].get('time_jumps', 0))
        if declared['jumps'] not in (None, jumps):
            complaints.append(f'{jumps} jumps of time')
        if row['memory_mb'][1] > memory + 60.0:
            complaints.append('memory grows')
    except AssertionError as error:
        row = {'fault': name, 'happened': str(error)}
        complaints.append('failed')
    if body.end() is None:
        complaints.append('slam3d_node did not end when asked to')
    row['verdict'] = ', '.join(complaints) or 'ok'
    return row


def table(rows):
    """All rows as text."""
    lines = [
        f'{"fault":16} {"what happened":50} {"before":>7} {"worst":>7} {"sigmas":>6} {"end":>7} {"recovers":>8} level  verdict'
    ]
    for row in rows:
        number = lambda key, form: format(row[key], form) if key in row else '-'
        lines.append(
            f'{row["fault"]:16} {row["happened"][:50]:50} {number("before_m", "5.2f"):>5} m {number("worst_m", "5.2f"):>5} m '
            f'{number("deviations", "6.1f"):>6} {number("after_m", "5.2f"):>5} m {number("recovers_s", "6.1f"):>6} s '
            f'{row.get("level", "-"):6} {row["verdict"]}'
        )
        lines.append(f'{"":16} {row.get("words", "")[:150]}')
    return '\n'.join(lines)


run(__doc__.splitlines()[0], 'slam3d_node', FAULTS, examine, table)
