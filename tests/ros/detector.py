"""What landmark_detector_node makes of scans: poles before a wall, seen from a robot that drives; and of scans that are none."""

import math
import struct
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from peer import UNKNOWN, stamp_into, transform
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import LaserScan, PointCloud2
from tf2_msgs.msg import TFMessage

POLES = [(4.0, 1.5), (5.0, -2.0), (7.0, 0.3)]
RADIUS, WALL_X, SPEED = 0.08, 12.0, 0.5
STEP = math.radians(0.25)
# The scanner is ahead of the base, in the frame that its driver gives it.
MOUNT_X = 0.4

rclpy.init()
node = Node('peer')
scans = node.create_publisher(LaserScan, 'scan', 10)
odom = node.create_publisher(Odometry, 'odom', 50)
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
node.create_publisher(TFMessage, '/tf_static', latched).publish(TFMessage(transforms=[transform('base_link', 'laser', (MOUNT_X, 0.0, 0.3))]))
clouds, statuses = [], []
node.create_subscription(PointCloud2, 'features', clouds.append, 10)
node.create_subscription(DiagnosticArray, '/diagnostics', lambda m: statuses.extend(m.status), 10)


def until(condition, what, timeout=10.0):
    """Spin until something holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f'waited {timeout} s for {what}'
        rclpy.spin_once(node, timeout_sec=0.01)


def scan(ns, x):
    """What a scanner at (x, 0) sees."""
    message = LaserScan()
    stamp_into(message.header.stamp, ns)
    message.header.frame_id = 'laser'
    message.angle_min, message.angle_increment = -270 * STEP, STEP
    message.range_min, message.range_max = 0.1, 30.0
    for k in range(541):
        cos, sin = math.cos((k - 270) * STEP), math.sin((k - 270) * STEP)
        nearest = (WALL_X - x) / cos if cos > 0.05 else math.inf
        for px, py in POLES:
            along, across = (px - x) * cos + py * sin, -(px - x) * sin + py * cos
            if along > 0 and abs(across) < RADIUS:
                nearest = min(nearest, along - math.sqrt(RADIUS**2 - across**2))
        message.ranges.append(nearest)
    return message


def motion(ns, x):
    """The robot whose scanner is at (x, 0)."""
    message = Odometry()
    stamp_into(message.header.stamp, ns)
    message.header.frame_id, message.child_frame_id = 'odom', 'base_link'
    message.pose.pose.position.x, message.pose.pose.orientation.w = x - MOUNT_X, 1.0
    message.twist.twist.linear.x = SPEED
    return message


def points(cloud):
    """Class and position of each point."""
    offsets = {field.name: field.offset for field in cloud.fields}
    rows = [bytes(cloud.data[i * cloud.point_step : (i + 1) * cloud.point_step]) for i in range(cloud.width)]
    for row in rows:
        assert struct.unpack_from('<I', row, offsets['id'])[0] == UNKNOWN
        yield struct.unpack_from('<I', row, offsets['class'])[0], struct.unpack_from('<dd', row, offsets['x'])


until(lambda: scans.get_subscription_count() and odom.get_subscription_count(), 'subscribers')
until(lambda: node.count_publishers('features') and statuses, 'publishers')
begun = 1_000 * 1_000_000_000
for k in range(150):
    ns, x = begun + k * 20_000_000, SPEED * k * 0.02
    odom.publish(motion(ns, x))
    if k % 5 == 0:
        scans.publish(scan(ns, x))
    rclpy.spin_once(node, timeout_sec=0.005)
    time.sleep(0.004)
until(lambda: clouds and clouds[-1].header.stamp.nanosec + clouds[-1].header.stamp.sec * 10**9 >= begun + 2_800_000_000, 'features')
cloud = clouds[-1]
assert cloud.header.frame_id == 'laser'
x = SPEED * (cloud.header.stamp.sec + 1e-9 * cloud.header.stamp.nanosec - 1000.0)
found = list(points(cloud))
assert len(found) == len(POLES), found
for px, py in POLES:
    kind, (fx, fy) = min(found, key=lambda p: math.hypot(p[1][0] + x - px, p[1][1] - py))
    assert kind == 2 and math.hypot(fx + x - px, fy - py) < 0.03, (px, py, kind, fx + x, fy)

bad = scan(begun + 3_010_000_000, x)
bad.angle_increment = 0.0
scans.publish(bad)
bad = scan(begun + 3_020_000_000, x)
bad.header.frame_id = 'camera'
scans.publish(bad)
scans.publish(scan(begun + 9_000_000_000, x))
said = lambda word: any(v.key == f'dropped.{word}' and int(v.value) > 0 for s in statuses[-3:] for v in s.values)
for word in ('bad_scan', 'unknown_frame', 'no_odom'):
    until(lambda: said(word), word)
# Neither the stamp ahead nor a speed that nobody has costs what comes after.
absurd = motion(begun + 3_030_000_000, x)
absurd.twist.twist.linear.x = 1e300
odom.publish(absurd)
count = len(clouds)
odom.publish(motion(begun + 3_040_000_000, 1.52))
until(lambda: said('absurd'), 'absurd')
scans.publish(scan(begun + 3_040_000_000, 1.52))
until(lambda: len(clouds) > count and len(list(points(clouds[-1]))) == len(POLES), 'features after bad input')
print(len(clouds), 'clouds')
