"""A simulated robot whose slam_node can be hurt: the processes, and a relay between them that tells lies.

simulator_node publishes on sim/odom and sim/features; the relay passes both on to slam_node, and compares what comes back
with the truth.
"""

import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from peer import nanos, stamp_into, yaw_of
from rclpy.node import Node
from sensor_msgs.msg import PointCloud2

# A robot that drives circles of 6 m radius among landmarks, 25 s a lap, with wheels and a sensor of usual quality.
NOISE = {'velocity_x_std': 0.05, 'velocity_y_std': 0.02, 'yaw_rate_std': 0.05}
WORLD = {
    'trajectory.path': 'circle',
    'trajectory.radius_m': 6.0,
    'trajectory.lap_s': 25.0,
    'trajectory.laps': 1000.0,
    'world.density_per_m2': 0.2,
    'odometry.rate_hz': 50.0,
    'odometry.noise': 'per_sample',
    'sensor.kind': 'range_bearing',
    'sensor.rate_hz': 10.0,
    'sensor.max_range_m': 8.0,
    **{f'odometry.{name}': value for name, value in NOISE.items()},
}
FILTER = {'sensor.x_m': 0.0, 'motion.use_message_covariance': 'false', **{f'motion.{name}': value for name, value in NOISE.items()}}
LEVELS = ['OK', 'WARN', 'ERROR', 'STALE']


def ros_arguments(parameters, remaps=()):
    """Arguments of a node."""
    arguments = ['--ros-args']
    for name, value in parameters.items():
        arguments += ['-p', f'{name}:={value}']
    for remap in remaps:
        arguments += ['-r', remap]
    return arguments


def product(a, b):
    """Composition of two poses (x, y, yaw)."""
    c, s = math.cos(a[2]), math.sin(a[2])
    return (a[0] + c * b[0] - s * b[1], a[1] + s * b[0] + c * b[1], a[2] + b[2])


def inverse(a):
    """Inverse of a pose."""
    c, s = math.cos(a[2]), math.sin(a[2])
    return (-c * a[0] - s * a[1], s * a[0] - c * a[1], -a[2])


def planar(pose):
    """(x, y, yaw) of a message."""
    return (pose.position.x, pose.position.y, yaw_of(pose.orientation))


class Robot(Node):
    """The processes, the relay, and what was heard."""

    def __init__(self, slam_node, simulator_node, seed=1):
        """Nothing runs yet."""
        super().__init__('relay')
        self.programs = {'slam': slam_node, 'simulator': simulator_node}
        self.seed = seed
        self.processes, self.limits, self.environment = {}, {}, {}
        self.slam_parameters, self.slam_stderr = dict(FILTER), None
        self.log = tempfile.TemporaryDirectory(prefix='lienav-faults-')
        self.truth, self.source = {}, {}
        self.samples, self.statuses = [], []
        self.anchor, self.anchor_wanted = (0.0, 0.0, 0.0), True
        self.changes = []  # each gets a message and gives those to send in its place
        self.shift_ns, self.newest_ns = 0, 0
        self.odom = self.create_publisher(Odometry, 'odom', 200)
        self.features = self.create_publisher(PointCloud2, 'features', 50)
        self.initialpose = self.create_publisher(PoseWithCovarianceStamped, 'initialpose', 10)
        self.create_subscription(Odometry, 'sim/odom', lambda m: self.relay(self.odom, m), 1000)
        self.create_subscription(PointCloud2, 'sim/features', lambda m: self.relay(self.features, m), 1000)
        self.create_subscription(PoseStamped, 'ground_truth/pose', self.hear_truth, 1000)
        self.create_subscription(Odometry, 'odometry/filtered', self.hear_estimate, 1000)
        self.create_subscription(DiagnosticArray, '/diagnostics', self.hear_status, 100)

    # The processes.

    def start(self, name):
        """Start one of the two."""
        if name == 'slam':
            arguments = ros_arguments(self.slam_parameters)
        else:
            remaps = ('odom:=sim/odom', 'features:=sim/features')
            arguments = ros_arguments({**WORLD, 'seed': self.seed, 'publish_tf': 'false'}, remaps)
        environment = {**os.environ, 'ROS_LOG_DIR': self.log.name, **self.environment.get(name, {})}
        stderr = self.slam_stderr if name == 'slam' and self.slam_stderr is not None else open(self.log_of(name), 'ab')
        limits = self.limits.get(name, {})

        def prepare():
            for kind, most in limits.items():
                resource.setrlimit(kind, (most, most))
            if resource.RLIMIT_FSIZE in limits:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        self.processes[name] = subprocess.Popen(
            [self.programs[name], *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
            preexec_fn=prepare,
        )

    def log_of(self, name):
        """Where its standard error goes."""
        return Path(self.log.name) / f'{name}.stderr'

    def signal(self, name, which):
        """Send a signal."""
        self.processes[name].send_signal(which)

    def is_running(self, name):
        """Whether it has not ended."""
        return self.processes[name].poll() is None

    def restart(self, name):
        """Kill it as a power cut does, and start it again. A new slam_node begins a map of its own where it is."""
        self.processes[name].kill()
        self.processes[name].wait()
        if name == 'slam':
            self.run(0.3)  # what the old one has said is heard before the new one speaks
            self.anchor_wanted = True
        self.start(name)

    def end(self):
        """End both; gives the exit code of slam_node, or None if it has to be killed."""
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        codes = {}
        for name, process in self.processes.items():
            try:
                codes[name] = process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                codes[name] = None
        return codes.get('slam')

    def memory_mb(self, name='slam'):
        """Resident memory."""
        for line in Path(f'/proc/{self.processes[name].pid}/status').read_text().splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) / 1024
        return 0.0

    def descriptors(self, name='slam'):
        """Open files."""
        return len(os.listdir(f'/proc/{self.processes[name].pid}/fd'))

    # What is heard.

    def relay(self, publisher, message):
        """Pass a message on, as the faults in force change it."""
        sent_ns = nanos(message.header.stamp)
        messages = [message]
        if self.shift_ns:
            stamp_into(message.header.stamp, sent_ns + self.shift_ns)
        self.source[sent_ns + self.shift_ns] = sent_ns
        for change in self.changes:
            messages = [changed for m in messages for changed in change(publisher, m)]
        for m in messages:
            publisher.publish(m)
        if publisher is self.odom:
            self.newest_ns = sent_ns + self.shift_ns

    def hear_truth(self, message):
        """Keep it by its stamp."""
        self.truth[nanos(message.header.stamp)] = planar(message.pose)

    def hear_estimate(self, message):
        """Compare it with the truth of its instant, in the frame the map was begun in."""
        ns = nanos(message.header.stamp)
        truth = self.truth.get(self.source.get(ns))
        if truth is None:
            return
        estimate = planar(message.pose.pose)
        if self.anchor_wanted:
            # What was said before this could be heard is in the estimate.
            self.anchor, self.anchor_wanted = product(truth, inverse(estimate)), False
        expected = product(inverse(self.anchor), truth)
        error = math.hypot(estimate[0] - expected[0], estimate[1] - expected[1])
        variance = message.pose.covariance[0] + message.pose.covariance[7]
        self.samples.append((time.monotonic(), error, math.sqrt(variance) if variance >= 0.0 else math.nan))

    def hear_status(self, message):
        """Keep what slam_node says about itself."""
        for status in message.status:
            if status.name.endswith('slam_node: filter'):
                level = status.level[0] if isinstance(status.level, bytes) else status.level
                self.statuses.append((time.monotonic(), level, status.message, {v.key: v.value for v in status.values}))

    # Time goes on.

    def run(self, seconds):
        """Let time pass."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            rclpy.spin_once(self, timeout_sec=min(left, 0.05))

    def until(self, condition, what, timeout=15.0):
        """Let time pass until something holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f'waited {timeout} s for {what}; {self.last_words()}'
            rclpy.spin_once(self, timeout_sec=0.02)

    def last_words(self):
        """The end of slam_node's log."""
        log = self.log_of('slam')
        return log.read_text(errors='replace')[-500:] if log.exists() else 'no log'

    def begin(self, drive_s):
        """Start both and drive for a while."""
        self.start('slam')
        self.until(lambda: self.count_subscribers('odom') and self.count_publishers('odometry/filtered'), 'slam_node')
        self.start('simulator')
        self.until(lambda: len(self.samples) > 20 and self.statuses, 'estimates')
        self.run(drive_s)

    def errors(self, begin, end=math.inf):
        """Errors of what was heard between two instants."""
        return [error for at, error, _ in self.samples if begin <= at < end]


def main(function):
    """Run with a ROS context, on this machine only."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rclpy.init()
    try:
        sys.exit(function())
    finally:
        rclpy.try_shutdown()
