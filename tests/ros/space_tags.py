"""Plays tags of several cameras and odometry to slam3d_node, and writes what comes back on `pose`.

Arguments: the file of the stream, the file of the answer, the stamp of the last pose, and `plain` or `damaged`.
"""

import copy
import json
import math
import sys
import time

import rclpy
from apriltag_msgs.msg import AprilTagDetection, AprilTagDetectionArray
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from nav_msgs.msg import Odometry
from peer import nanos, stamp_into
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Imu
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

DAMAGE = {'hamming': 1, 'mirrored_tag': 1, 'camera_resolution': 1, 'unnumbered_tag': 1, 'repeated_tag': 2}


class Peer(Node):
    """What publishes the stream, and listens."""

    def __init__(self, topics):
        """Connect to the node in both directions."""
        super().__init__('peer')
        deep = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.tags = [self.create_publisher(AprilTagDetectionArray, topic, deep) for topic in topics]
        beside = [topic.rsplit('/', 1)[0] + '/camera_info' for topic in topics]
        self.info = [self.create_publisher(CameraInfo, topic, latched) for topic in beside]
        self.odom = self.create_publisher(Odometry, 'odom', deep)
        self.imu = self.create_publisher(Imu, 'imu', deep)
        self.static = self.create_publisher(TFMessage, '/tf_static', latched)
        self.poses, self.transforms, self.markers, self.counted = [], [], [], {}
        self.newest = None
        self.create_subscription(PoseWithCovarianceStamped, 'pose', self.hear_pose, deep)
        self.create_subscription(TFMessage, '/tf', self.transforms.append, deep)
        self.create_subscription(MarkerArray, 'markers', self.markers.append, deep)
        self.create_subscription(DiagnosticArray, '/diagnostics', self.hear, deep)
        self.save = self.create_client(Trigger, '/slam3d_node/save_map')

    def hear(self, message):
        """Keep what the node has counted."""
        for status in message.status:
            self.counted.update({value.key: value.value for value in status.values})

    def hear_pose(self, message):
        """Keep it, and how far the node is."""
        self.poses.append(message)
        self.newest = nanos(message.header.stamp)

    def keep_pace(self, ns):
        """Wait for a node that is a second behind: no topic may get further ahead of another than messages are sorted."""
        deadline = time.monotonic() + 5.0
        while self.newest and ns - self.newest > 1_000_000_000 and time.monotonic() < deadline:
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


def tags_of(ns, frame, tags):
    """Return the tags of an image."""
    message = header_into(AprilTagDetectionArray(), ns, frame)
    for tag in tags:
        one = AprilTagDetection(family='tag36h11', id=tag['id'])
        for corner, (u, v) in zip(one.corners, tag['corners']):
            corner.x, corner.y = u, v
        message.detections.append(one)
    return message


def odometry_of(ns, pose, twist):
    """Return odometry."""
    message = header_into(Odometry(child_frame_id='base_link'), ns, 'odom')
    p, q = message.pose.pose.position, message.pose.pose.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = pose
    message.twist.twist.linear.x, message.twist.twist.angular.z = twist
    return message


def sample_of(ns, numbers):
    """Return a sample of the inertial sensor."""
    message = header_into(Imu(), ns, 'imu_link')
    w, f = message.angular_velocity, message.linear_acceleration
    w.x, w.y, w.z, f.x, f.y, f.z = numbers
    return message


def robot(stream):
    """Return where the cameras are, and how they image."""
    transforms = []
    for one in stream['transforms']:
        message = TransformStamped(child_frame_id=one['child'])
        message.header.frame_id = 'base_link'
        t, q = message.transform.translation, message.transform.rotation
        t.x, t.y, t.z, q.x, q.y, q.z, q.w = one['numbers']
        transforms.append(message)
    width, height = stream['size']
    info = CameraInfo(width=width, height=height)
    info.p = stream['p']
    return TFMessage(transforms=transforms), info


def damaged(peer, ns, frame, good):
    """Send what must change nothing; say how often."""
    def sent(k, change):
        tags = [copy.deepcopy(good.detections[0])]
        change(tags)
        message = header_into(AprilTagDetectionArray(detections=tags), ns + 1000 * k, frame)
        peer.tags[0].publish(message)

    def wrong_bits(tags):
        tags[0].hamming = 2

    def mirrored(tags):
        tags[0].corners = list(reversed(tags[0].corners))

    def elsewhere(tags):
        tags[0].corners[0].x = 1900.0

    def unnumbered(tags):
        tags[0].id = -1

    def twice(tags):
        tags.append(copy.deepcopy(tags[0]))

    for k, change in enumerate((wrong_bits, mirrored, elsewhere, unnumbered, twice)):
        sent(k + 1, change)
    nan = odometry_of(ns + 1000, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [math.nan, 0.0])
    peer.odom.publish(nan)
    lost = tags_of(ns + 7000, 'nowhere', [])
    peer.tags[1].publish(lost)
    peer.tags[0].publish(tags_of(ns + 3_600_000_000_000, frame, []))


def check_transforms(peer):
    """Find map -> odom without jumps once the robot is found."""
    places = []
    for message in peer.transforms:
        for one in message.transforms:
            if (one.header.frame_id, one.child_frame_id) == ('map', 'odom'):
                t = one.transform.translation
                places.append((nanos(one.header.stamp), t.x, t.y))
    assert len(places) > 100, f'{len(places)} transforms from map to odom'
    settled = [place for place in places if place[0] > places[0][0] + 2_000_000_000]
    jumps = [math.hypot(b[1] - a[1], b[2] - a[2]) for a, b in zip(settled, settled[1:])]
    assert max(jumps) < 0.05, f'map -> odom jumps by {max(jumps)} m'
    return max(jumps)


def main():
    """Play, listen, write."""
    stream_file, answer_file, last, mode = sys.argv[1:]
    with open(stream_file) as file:
        stream = json.load(file)
    rclpy.init()
    peer = Peer(stream['topics'])
    heard = [*peer.tags, *peer.info, peer.odom]
    if any('imu' in message for message in stream['messages']):
        heard.append(peer.imu)
    peer.until(lambda: all(p.get_subscription_count() for p in heard), 'the node')
    peer.until(lambda: peer.count_publishers('/pose') and peer.count_publishers('/tf'), 'its topics')
    transforms, info = robot(stream)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        peer.static.publish(transforms)
        for publisher in peer.info:
            publisher.publish(info)
        rclpy.spin_once(peer, timeout_sec=0.1)
    begun, first = time.monotonic(), stream['messages'][0]['ns']
    speed, damages, good = 2.0, 0, None
    for k, message in enumerate(stream['messages']):
        while time.monotonic() - begun < (message['ns'] - first) * 1e-9 / speed:
            rclpy.spin_once(peer, timeout_sec=0.001)
        peer.keep_pace(message['ns'])
        if 'tags' in message:
            camera = message['camera']
            seen = tags_of(message['ns'], stream['frames'][camera], message['tags'])
            peer.tags[camera].publish(seen)
            if camera == 0 and seen.detections:
                good = seen
                if mode == 'damaged' and k % 10 == 5 and k > 100:
                    damaged(peer, message['ns'], stream['frames'][0], good)
                    damages += 1
        elif 'imu' in message:
            peer.imu.publish(sample_of(message['ns'], message['imu']))
        else:
            peer.odom.publish(odometry_of(message['ns'], message['pose'], message['twist']))
    peer.until(lambda: peer.poses and nanos(peer.poses[-1].header.stamp) >= int(last), f'the pose at {last}')
    jump = check_transforms(peer)
    squares = {m.id for array in peer.markers for m in array.markers if m.ns == 'tags' and m.action == 0}
    assert len(squares) > 15, f'{len(squares)} squares'
    if mode == 'damaged':
        assert damages > 5
        for word, each in DAMAGE.items():
            wanted = str(each * damages)
            key = f'dropped.{word}'
            peer.until(lambda: peer.counted.get(key) == wanted, f'{wanted} of {word}: {peer.counted}')
        answer = peer.save.call_async(Trigger.Request())
        peer.until(answer.done, 'save_map')
        assert answer.result().success, answer.result().message
    rows = []
    for message in peer.poses:
        p, q = message.pose.pose.position, message.pose.pose.orientation
        numbers = [p.x, p.y, p.z, q.x, q.y, q.z, q.w, *message.pose.covariance]
        rows.append((nanos(message.header.stamp), [float(x) for x in numbers]))
    with open(answer_file, 'w') as file:
        json.dump(rows, file)
    took = (rows[0][0] - first) * 1e-9
    print(f'{len(rows)} poses, the first after {took:.2f} s; {len(squares)} squares; '
          f'map -> odom moves by {jump:.4f} m at most; step p99 {peer.counted.get("step_us.p99")} us')
    rclpy.shutdown()


main()
