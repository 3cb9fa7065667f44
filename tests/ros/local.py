"""Odometry without corrections: it never jumps, while the pose in the map does.

slam_node runs with local_odometry:=tf, transform_tolerance_s:=0.25 and a velocity that is calibrated by 1.1.
"""

import math

import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from peer import Peer, nanos, yaw_of
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

TOLERANCE_NS = 250_000_000
rclpy.init()
peer = Peer()
local, transforms = [], []
peer.create_subscription(Odometry, 'odometry/local', local.append, 1000)
peer.create_subscription(TFMessage, '/tf', lambda m: transforms.extend(m.transforms), 1000)
peer.connect()


def planar(position, rotation):
    """As numbers."""
    return position.x, position.y, yaw_of(rotation)


def chained(a, b):
    """Pose b in the frame of pose a."""
    c, s = math.cos(a[2]), math.sin(a[2])
    return a[0] + c * b[0] - s * b[1], a[1] + s * b[0] + c * b[1], a[2] + b[2]


peer.drive(50)
given = PoseWithCovarianceStamped()
given.header.frame_id = 'map'
given.pose.pose.position.x, given.pose.pose.position.y = peer.x + 10.0, -3.0
given.pose.pose.orientation.w = 1.0
given.pose.covariance[0] = given.pose.covariance[7] = given.pose.covariance[35] = 0.01
peer.initialpose.publish(given)
peer.drive(50)
client = peer.create_client(Trigger, 'slam_node/reset')
assert client.wait_for_service(5.0)
future = client.call_async(Trigger.Request())
rclpy.spin_until_future_complete(peer, future, timeout_sec=5.0)
assert future.result().success
peer.start(peer.now_ns + 20_000_000, x=peer.x)
peer.drive(50)
peer.until(lambda: nanos(local[-1].header.stamp) == peer.now_ns, 'the newest message')
peer.until(lambda: nanos(transforms[-1].header.stamp) == peer.now_ns + TOLERANCE_NS, 'the newest transform')

assert all((m.header.frame_id, m.child_frame_id) == ('odom', 'base_link') for m in local)
stamps = [nanos(m.header.stamp) for m in local]
assert len(stamps) >= 150 and all(a < b for a, b in zip(stamps, stamps[1:])), stamps
poses = [planar(m.pose.pose.position, m.pose.pose.orientation) for m in local]
# It begins where the odometry is, and drives in its direction.
assert math.dist(poses[0][:2], (5.0, 0.0)) < 1e-9 and abs(poses[0][2] - math.pi / 2) < 1e-9, poses[0]
steps = [math.dist(a[:2], b[:2]) for a, b in zip(poses, poses[1:])]
assert max(steps) < 0.0221, max(steps)
assert sum(step > 0.0219 for step in steps) >= len(steps) - 2, steps
assert all(abs(m.twist.twist.linear.x - 1.1) < 1e-9 for m in local[1:50]), local[1].twist.twist
variances = [m.pose.covariance[0] + m.pose.covariance[7] for m in local]
assert all(a <= b for a, b in zip(variances, variances[1:])) and variances[-1] > 0.0
assert all(m.twist.covariance[0] > 0.0 for m in local[1:50])
# The pose in the map jumped meanwhile.
filtered = {nanos(m.header.stamp): planar(m.pose.pose.position, m.pose.pose.orientation) for m in peer.filtered}
places = list(filtered.values())
assert max(math.dist(a[:2], b[:2]) for a, b in zip(places, places[1:])) > 3.0

# Transforms: odom → base_link is this odometry, map → odom is stamped ahead, and the two make the pose in the map.
to_base = {nanos(t.header.stamp): t.transform for t in transforms if t.child_frame_id == 'base_link'}
to_odom = {nanos(t.header.stamp): t.transform for t in transforms if t.child_frame_id == 'odom'}
assert all(t.header.frame_id == {'base_link': 'odom', 'odom': 'map'}[t.child_frame_id] for t in transforms)
compared = 0
for stamp, pose in zip(stamps, poses):
    base = planar(to_base[stamp].translation, to_base[stamp].rotation)
    assert math.dist(base, pose) < 1e-9
    ahead = to_odom.get(stamp + TOLERANCE_NS)
    if ahead is not None and stamp in filtered:
        found = chained(planar(ahead.translation, ahead.rotation), base)
        assert math.dist(found[:2], filtered[stamp][:2]) < 1e-6, (stamp, found, filtered[stamp])
        compared += 1
assert compared > 100, compared
print(f'{len(steps)} steps, the longest {max(steps):.4f} m; {compared} transforms')
