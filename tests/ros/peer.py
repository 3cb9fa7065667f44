"""A robot as rclpy plays it: it drives straight on among features that it sees exactly."""

import math
import struct
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, PointCloud2, PointField
from tf2_msgs.msg import TFMessage

STEP_NS = 20_000_000  # odometry at 50 Hz
CLOUD_EVERY = 5
SPEED = 1.0
WORLD = {1: (6.0, 2.0), 2: (8.0, -3.0), 3: (14.0, 4.0), 4: (-3.0, -2.0), 5: (20.0, -1.0)}
UNKNOWN = 0xFFFFFFFF


def nanos(stamp):
    """As one number."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def stamp_into(stamp, ns):
    """Set a message's time."""
    stamp.sec, stamp.nanosec = divmod(ns, 1_000_000_000)


def yaw_of(q):
    """Heading of a planar orientation."""
    return 2.0 * math.atan2(q.z, q.w)


def point_cloud(ns, rows, names=('range', 'bearing'), frame='feature_sensor'):
    """A PointCloud2 of rows (id, values…), FLOAT64."""
    message = PointCloud2()
    stamp_into(message.header.stamp, ns)
    message.header.frame_id = frame
    message.fields = [PointField(name='id', offset=0, datatype=PointField.UINT32, count=1)]
    for i, name in enumerate(names):
        message.fields.append(PointField(name=name, offset=4 + 8 * i, datatype=PointField.FLOAT64, count=1))
    message.height, message.width = 1, len(rows)
    message.point_step = 4 + 8 * len(names)
    message.row_step = message.point_step * len(rows)
    message.data = b''.join(struct.pack('<I' + 'd' * len(names), *row) for row in rows)
    message.is_dense = True
    return message


cloud = point_cloud


def transform(parent, child, xyz=(0.0, 0.0, 0.0), quaternion=(0.0, 0.0, 0.0, 1.0), ns=0):
    """A transform from one frame to another."""
    message = TransformStamped()
    stamp_into(message.header.stamp, ns)
    message.header.frame_id, message.child_frame_id = parent, child
    t, q = message.transform.translation, message.transform.rotation
    t.x, t.y, t.z = xyz
    q.x, q.y, q.z, q.w = quaternion
    return message


class Peer(Node):
    """A driver that feeds slam_node, and listens to what it says."""

    def __init__(self, namespace='', odom='odom', use_sim_time=False, seat=transform('base_link', 'feature_sensor')):
        """Connect to the node in both directions; the sensor sits as `seat` says."""
        overrides = [Parameter('use_sim_time', value=use_sim_time)]
        super().__init__('peer', namespace=namespace, parameter_overrides=overrides)
        self.odom = self.create_publisher(Odometry, odom, 100)
        self.features = self.create_publisher(PointCloud2, 'features', 100)
        self.imu = self.create_publisher(Imu, 'imu', 100)
        self.initialpose = self.create_publisher(PoseWithCovarianceStamped, 'initialpose', 10)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.static = self.create_publisher(TFMessage, '/tf_static', latched)
        if seat:
            self.static.publish(TFMessage(transforms=[seat]))
        self.poses, self.filtered, self.diagnostics = [], [], []
        self.create_subscription(PoseWithCovarianceStamped, 'pose', self.poses.append, 100)
        self.create_subscription(Odometry, 'odometry/filtered', self.filtered.append, 100)
        self.create_subscription(DiagnosticArray, '/diagnostics', self.diagnostics.append, 10)
        self.start(1_000 * 1_000_000_000)

    def start(self, ns, x=0.0):
        """Begin a new line of time, at a place."""
        self.begun, self.k, self.x0, self.running = ns, 0, x, False

    @property
    def now_ns(self):
        """Stamp of the newest odometry."""
        return self.begun + self.k * STEP_NS

    @property
    def x(self):
        """Where the robot is; y and heading are 0."""
        return self.x0 + SPEED * self.k * STEP_NS * 1e-9

    def until(self, condition, what, timeout=10.0):
        """Spin until something holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f'waited {timeout} s for {what}'
            rclpy.spin_once(self, timeout_sec=0.01)

    def connect(self, imu=False):
        """Wait until every publisher has its subscriber, and the other way round."""
        publishers = [self.odom, self.features, self.initialpose] + ([self.imu] if imu else [])
        self.until(lambda: all(p.get_subscription_count() for p in publishers), 'subscribers')
        topics = [s.topic_name for s in self.subscriptions]
        wanted = [t for t in topics if t.endswith(('pose', 'filtered', 'diagnostics', '/tf', 'path', 'markers', 'landmarks'))]
        self.until(lambda: all(self.count_publishers(t) for t in wanted), 'publishers')
        # Names are known before all ends have found each other; a node that is heard for a second has found ours, too.
        self.next_status()

    def odometry(self, ns=None):
        """An odometry message as it should be; its pose is off by a constant, as odometry's is."""
        message = Odometry()
        stamp_into(message.header.stamp, self.now_ns if ns is None else ns)
        message.header.frame_id, message.child_frame_id = 'odom', 'base_link'
        message.pose.pose.position.x = 5.0
        message.pose.pose.position.y = self.x
        message.pose.pose.orientation.z = math.sin(math.pi / 4)
        message.pose.pose.orientation.w = math.cos(math.pi / 4)
        message.twist.twist.linear.x = SPEED
        return message

    def seen(self, ns=None, **kwargs):
        """A cloud as it should be."""
        rows = [(i, math.hypot(x - self.x, y), math.atan2(y, x - self.x)) for i, (x, y) in WORLD.items()]
        return cloud(self.now_ns if ns is None else ns, rows, **kwargs)

    def turned(self):
        """An inertial message as it should be."""
        message = Imu()
        stamp_into(message.header.stamp, self.now_ns)
        message.header.frame_id = 'imu_link'
        message.orientation_covariance[0] = -1.0
        return message

    def drive(self, steps=10, imu=False, pause=0.0):
        """Drive on, and wait for the pose of the last scan. The first odometry of a line of time begins it.

        With a pause, s, messages come no faster than that: a clock that is set is believed when it lasts.
        """
        cloud_ns = None
        for _ in range(steps + (not self.running)):
            self.k += self.running
            self.running = True
            if imu:
                self.imu.publish(self.turned())
            self.odom.publish(self.odometry())
            if self.k and self.k % CLOUD_EVERY == 0:
                self.features.publish(self.seen())
                cloud_ns = self.now_ns
            rclpy.spin_once(self, timeout_sec=0.002)
            time.sleep(pause)
        if cloud_ns is not None:
            self.until(lambda: any(nanos(p.header.stamp) == cloud_ns for p in self.poses), f'the pose at {cloud_ns}')

    def check_pose(self, when, tolerance=1e-3):
        """The newest pose is where the robot was."""
        message = self.poses[-1]
        position = message.pose.pose.position
        expected = self.x0 + SPEED * (nanos(message.header.stamp) - self.begun) * 1e-9
        error = math.hypot(position.x - expected, position.y) + abs(yaw_of(message.pose.pose.orientation))
        assert error < tolerance, f'{when}: off by {error}: {position} instead of x = {expected}'
        assert all(math.isfinite(c) for c in message.pose.covariance), when

    def next_status(self):
        """The level, sentence and values of a diagnostic message that is wholly later than now."""
        self.diagnostics.clear()
        self.until(lambda: len(self.diagnostics) > 1, 'diagnostics')
        status = self.diagnostics[-1].status[0]
        level = status.level[0] if isinstance(status.level, bytes) else status.level
        return level, status.message, {v.key: v.value for v in status.values}
