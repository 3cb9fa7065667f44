"""Plays a stream of messages to slam3d_node, as a file has it, and writes what comes back on `pose`.

Arguments: the file of the stream, the file of the answer, the stamp of the last pose, and `plain` or `damaged`.
"""

import json
import math
import sys
import time

import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import Odometry
from peer import nanos, stamp_into
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Imu, PointCloud2, PointField
from tf2_msgs.msg import TFMessage

NAMES = ('u_left', 'v_left', 'u_right', 'v_right')


class Peer(Node):
    """What publishes the stream, and listens."""

    def __init__(self):
        """Connect to the node in both directions."""
        super().__init__('peer')
        deep = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.imu = self.create_publisher(Imu, 'imu', deep)
        self.features = self.create_publisher(PointCloud2, 'features', deep)
        self.info = self.create_publisher(CameraInfo, 'camera_info', latched)
        self.static = self.create_publisher(TFMessage, '/tf_static', latched)
        self.poses, self.filtered = [], []
        self.create_subscription(PoseWithCovarianceStamped, 'pose', self.poses.append, deep)
        self.create_subscription(Odometry, 'odometry/filtered', self.hear, deep)
        self.sent, self.newest = {}, 0

    def hear(self, message):
        """Take the time from a sample to its estimate."""
        ns = self.newest = nanos(message.header.stamp)
        if ns in self.sent:
            self.filtered.append(time.monotonic() - self.sent[ns])

    def keep_pace(self):
        """Wait for a node that is half a second behind: on a busy machine, its queue would run over."""
        deadline = time.monotonic() + 5.0
        while self.newest and max(self.sent) - self.newest > 500_000_000 and time.monotonic() < deadline:
            rclpy.spin_once(self, timeout_sec=0.005)

    def until(self, condition, what, timeout=30.0):
        """Spin until something holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f'waited {timeout} s for {what}'
            rclpy.spin_once(self, timeout_sec=0.01)


def header_into(message, ns, frame):
    """Fill a header."""
    stamp_into(message.header.stamp, ns)
    message.header.frame_id = frame
    return message


def imu_of(ns, numbers):
    """Return a sample."""
    message = header_into(Imu(), ns, 'imu_link')
    message.orientation_covariance[0] = -1.0
    w, f = message.angular_velocity, message.linear_acceleration
    w.x, w.y, w.z, f.x, f.y, f.z = numbers
    return message


def features_of(ns, data):
    """Return a frame of stereo pixels."""
    message = header_into(PointCloud2(), ns, 'camera')
    message.fields = [PointField(name=n, offset=8 * k, datatype=8, count=1) for k, n in enumerate(NAMES)]
    message.fields.append(PointField(name='id', offset=32, datatype=6, count=1))
    message.height, message.width, message.point_step = 1, len(data) // 36, 36
    message.row_step, message.data, message.is_dense = len(data), bytes(data), True
    return message


def robot(stream):
    """Return where the sensors are, and the camera."""
    transforms = []
    for one in stream['transforms']:
        message = TransformStamped(child_frame_id=one['child'])
        message.header.frame_id = 'base_link'
        t, q = message.transform.translation, message.transform.rotation
        t.x, t.y, t.z, q.x, q.y, q.z, q.w = one['numbers']
        transforms.append(message)
    info = CameraInfo(distortion_model='plumb_bob', d=[0.0] * 5)
    info.k, info.p = stream['k'], stream['p']
    return TFMessage(transforms=transforms), info


def damaged(peer, ns):
    """Send what must change nothing."""
    bad = imu_of(ns + 1000, [math.nan] * 6)
    peer.imu.publish(bad)
    peer.imu.publish(imu_of(ns + 2000, [0.0, 0.0, 1e5, 0.0, 0.0, 9.8]))
    peer.imu.publish(imu_of(ns - 10_000_000, [0.0, 0.0, 0.0, 0.0, 0.0, 9.8]))
    peer.imu.publish(header_into(imu_of(ns + 3000, [0.0] * 6), ns + 3000, 'elsewhere'))
    wrong = features_of(ns + 1000, [0] * 36)
    wrong.fields = wrong.fields[:2]
    peer.features.publish(wrong)
    short = features_of(ns + 2000, [0] * 36)
    short.width = 1000
    peer.features.publish(short)
    peer.features.publish(header_into(features_of(ns + 3000, [0] * 36), ns + 3000, 'nowhere'))
    far = features_of(ns + 3_600_000_000_000, [0] * 36)
    peer.features.publish(far)


def main():
    """Play, listen, write."""
    stream_file, answer_file, last, mode = sys.argv[1:]
    with open(stream_file) as file:
        stream = json.load(file)
    rclpy.init()
    peer = Peer()
    peer.until(lambda: peer.imu.get_subscription_count() and peer.features.get_subscription_count(), 'the node')
    peer.until(lambda: peer.count_publishers('/pose') and peer.count_publishers('/odometry/filtered'), 'its topics')
    transforms, info = robot(stream)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        peer.static.publish(transforms)
        peer.info.publish(info)
        rclpy.spin_once(peer, timeout_sec=0.1)
    begun, first = time.monotonic(), stream['messages'][0]['ns']
    speed = 3.0
    for k, message in enumerate(stream['messages']):
        while time.monotonic() - begun < (message['ns'] - first) * 1e-9 / speed:
            rclpy.spin_once(peer, timeout_sec=0.001)
        if 'imu' in message:
            peer.keep_pace()
            peer.sent[message['ns']] = time.monotonic()
            peer.imu.publish(imu_of(message['ns'], message['imu']))
        else:
            peer.features.publish(features_of(message['ns'], message['features']))
        if mode == 'damaged' and k % 100 == 50:
            damaged(peer, message['ns'])
    peer.until(lambda: peer.poses and nanos(peer.poses[-1].header.stamp) >= int(last), f'the pose at {last}')
    rows = []
    for message in peer.poses:
        p, q = message.pose.pose.position, message.pose.pose.orientation
        numbers = [p.x, p.y, p.z, q.x, q.y, q.z, q.w, *message.pose.covariance]
        rows.append((nanos(message.header.stamp), [float(x) for x in numbers]))
    with open(answer_file, 'w') as file:
        json.dump(rows, file)
    peer.filtered.sort()
    count = len(peer.filtered)
    if count:
        median, late = peer.filtered[count // 2], peer.filtered[min(count - 1, count * 99 // 100)]
        print(f'{len(rows)} poses; {count} estimates, {1e3 * median:.2f} ms after their samples, p99 {1e3 * late:.2f} ms')
    rclpy.shutdown()


main()
