"""An inertial sensor as rclpy plays it: it rests on a banked platform, which then turns steadily about the vertical."""

import math
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Vector3Stamped, WrenchStamped
from peer import nanos, stamp_into
from rclpy.node import Node
from sensor_msgs.msg import Imu, MagneticField

STEP_NS = 5_000_000  # 200 Hz
SECOND = 1_000_000_000
GRAVITY = 9.81
BANK = 0.2  # roll of the platform, rad
TURN = 0.5  # rad/s
BIAS = (0.01, -0.02, 0.005)


def product(a, b):
    """Of quaternions (w, x, y, z)."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def on_platform(heading):
    """Orientation of what stands on the platform: heading about the vertical, then its bank."""
    about_z = (math.cos(heading / 2), 0.0, 0.0, math.sin(heading / 2))
    return product(about_z, (math.cos(BANK / 2), math.sin(BANK / 2), 0.0, 0.0))


def angle_between(q, message):
    """Angle from an orientation to that of a message, rad."""
    m = message.orientation
    w, *v = product((q[0], -q[1], -q[2], -q[3]), (m.w, m.x, m.y, m.z))
    return 2.0 * math.atan2(math.hypot(*v), abs(w))


class Sensor(Node):
    """A driver that feeds attitude_node, and listens to what it says."""

    def __init__(self, namespace='', imu='imu'):
        """Connect to the node in both directions."""
        super().__init__('sensor', namespace=namespace)
        self.imu = self.create_publisher(Imu, imu, 1000)
        self.mag = self.create_publisher(MagneticField, 'mag', 100)
        self.wrench = self.create_publisher(WrenchStamped, 'wrench', 100)
        self.attitudes, self.biases, self.diagnostics = [], [], []
        self.create_subscription(Imu, 'attitude', self.attitudes.append, 1000)
        self.create_subscription(Vector3Stamped, 'gyro_bias', self.biases.append, 1000)
        self.create_subscription(DiagnosticArray, '/diagnostics', self.diagnostics.append, 10)
        self.now_ns, self.heading = 1_000 * SECOND, 0.0

    def until(self, condition, what, timeout=20.0):
        """Spin until something holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f'waited {timeout} s for {what}'
            rclpy.spin_once(self, timeout_sec=0.01)

    def connect(self, *publishers):
        """Wait until the node is there, in both directions."""
        self.until(lambda: all(p.get_subscription_count() for p in publishers), 'subscribers')
        topics = [s.topic_name for s in self.subscriptions if not s.topic_name.startswith('/parameter')]
        wanted = [t for t in topics if t.endswith(('attitude', 'gyro_bias', 'diagnostics', '/tf'))]
        self.until(lambda: all(self.count_publishers(t) for t in wanted), 'publishers')
        # Names are known before all ends have found each other. Readers are announced in the order they were made in, so that
        # a node that is heard on the last of them has found the others; a second later its own readers have found us.
        self.next_status()

    def sample(self, turn=0.0, ns=None):
        """What the sensor measures now, with a constant bias of its gyroscope."""
        message = Imu()
        stamp_into(message.header.stamp, self.now_ns if ns is None else ns)
        message.header.frame_id = 'imu_link'
        message.orientation_covariance[0] = -1.0
        message.angular_velocity_covariance[0] = message.angular_velocity_covariance[4] = 1e-6
        message.angular_velocity_covariance[8] = 1e-6
        message.linear_acceleration_covariance[0] = 4e-4
        rate, force = message.angular_velocity, message.linear_acceleration
        sin, cos = math.sin(BANK), math.cos(BANK)
        rate.x, rate.y, rate.z = BIAS[0], BIAS[1] + turn * sin, BIAS[2] + turn * cos
        force.x, force.y, force.z = 0.0, GRAVITY * sin, GRAVITY * cos
        return message

    def field(self, ns=None):
        """Return a magnetic field as it should be at heading 0: north along the world's y axis, and down."""
        message = MagneticField()
        stamp_into(message.header.stamp, self.now_ns if ns is None else ns)
        message.header.frame_id = 'imu_link'
        # The heading is 0 here, so only the bank turns it.
        sin, cos = math.sin(BANK), math.cos(BANK)
        north, up = 2e-5, -4e-5
        message.magnetic_field.y = cos * north + sin * up
        message.magnetic_field.z = -sin * north + cos * up
        return message

    def feed(self, seconds, turn=0.0):
        """Go on for a while, no faster than the node follows; returns what it said of the last sample."""
        steps = round(seconds * SECOND / STEP_NS)
        for k in range(steps):
            self.now_ns += STEP_NS
            self.heading += turn * STEP_NS * 1e-9
            self.imu.publish(self.sample(turn))
            if k % 5 == 4 or k + 1 == steps:
                self.follow(self.now_ns)
        return self.attitudes[-1]

    def follow(self, ns):
        """Wait for the estimate of a stamp."""
        self.until(lambda: self.attitudes and nanos(self.attitudes[-1].header.stamp) == ns, f'the estimate at {ns}')

    def next_status(self):
        """The level, sentence and values of a diagnostic message that is wholly later than now."""
        self.diagnostics.clear()
        self.until(lambda: len(self.diagnostics) > 1, 'diagnostics')
        status = self.diagnostics[-1].status[0]
        level = status.level[0] if isinstance(status.level, bytes) else status.level
        return level, status.message, {v.key: v.value for v in status.values}
