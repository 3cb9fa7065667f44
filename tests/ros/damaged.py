"""Damaged messages between good ones, sent to the running node; what was sent is kept as it went over the wire.

usage: damaged.py FILE
FILE gets a record of each message: number of its topic (odom, features, imu; one byte), length (four bytes, little
endian), serialised message. The last line printed is what the node has counted, as JSON.
"""

import copy
import json
import math
import struct
import sys

import rclpy
from peer import STEP_NS, UNKNOWN, Peer, cloud, stamp_into
from rclpy.serialization import serialize_message
from sensor_msgs.msg import PointField

SECOND = 1_000_000_000
NAN, INF = math.nan, math.inf


class Recorded:
    """A publisher whose messages are kept."""

    def __init__(self, publisher, number, file):
        """Keep them under `number` in `file`."""
        self.publisher, self.number, self.file, self.sent = publisher, number, file, 0

    def get_subscription_count(self):
        """As the publisher has it."""
        return self.publisher.get_subscription_count()

    def publish(self, message):
        """Keep a message and send it: the same bytes both ways."""
        data = message if isinstance(message, bytes) else serialize_message(message)
        self.file.write(struct.pack('<BI', self.number, len(data)) + data)
        self.publisher.publish(data)
        self.sent += 1


def let_it_arrive():
    """Leave the node time to take what was sent, so that the order of sending is the order of arrival."""
    for _ in range(4):
        rclpy.spin_once(peer, timeout_sec=0.01)


def changed(message, *changes):
    """A message with places set: 'a.b' or 'a.b[i]' to a value."""
    message = copy.deepcopy(message)
    for place, value in changes:
        *path, last = place.split('.')
        owner = message
        for name in path:
            owner = getattr(owner, name)
        if last.endswith(']'):
            name, index = last[:-1].split('[')
            getattr(owner, name)[int(index)] = value
        else:
            setattr(owner, last, value)
    return message


def send(publisher, message):
    """Send a message that may be damaged, then drive on; without a gyroscope, which might be late for a cloud."""
    publisher.publish(message)
    let_it_arrive()
    peer.drive(5)
    let_it_arrive()


def odometry_between():
    """An odometry message that could be the next one."""
    return peer.odometry(peer.now_ns + STEP_NS // 2)


def damaged_odometry():
    """All that can be wrong with odometry, and two that are well."""
    twist, covariance = 'twist.twist.', 'twist.covariance'
    diagonal = [(f'{covariance}[{i}]', 0.1) for i in (0, 7, 35)]
    for changes in (
        *[[(twist + axis, x)] for axis in ('linear.x', 'linear.y', 'angular.z') for x in (NAN, INF, -INF)],
        [(twist + 'linear.x', 1e6)],
        [(twist + 'angular.z', -1e6)],
        [*diagonal, (f'{covariance}[0]', -0.1)],
        [*diagonal, (f'{covariance}[1]', 0.5), (f'{covariance}[6]', 0.5)],
        [*diagonal, (f'{covariance}[1]', 0.05)],
        [*diagonal, (f'{covariance}[7]', NAN)],
        [*diagonal, (f'{covariance}[35]', INF)],
        [(f'{covariance}[0]', -1.0), (f'{covariance}[1]', NAN)],
        [('header.frame_id', 'world')],
        [('header.frame_id', '')],
        [('header.frame_id', '//odom')],
        [('header.frame_id', 'ödom\n\x1b[31m' * 50)],
        [('child_frame_id', 'base_footprint')],
        [('child_frame_id', '')],
        [('header.frame_id', '/odom'), ('child_frame_id', '/base_link')],
        [('header.stamp.nanosec', SECOND)],
        [('header.stamp.nanosec', 2**32 - 1)],
        [('header.frame_id', 'world'), ('header.stamp.nanosec', SECOND)],
        [('pose.pose.orientation.w', 3.0)],
        [('pose.pose.position.x', NAN)],
    ):
        send(peer.odom, changed(odometry_between(), *changes))
    for ns in (peer.now_ns, peer.now_ns - SECOND - 7, peer.now_ns + 1000 * SECOND):
        send(peer.odom, peer.odometry(ns))


def field(name, offset, datatype=PointField.FLOAT64, count=1):
    """A field of a cloud."""
    return PointField(name=name, offset=offset, datatype=datatype, count=count)


def damaged_clouds():
    """All that can be wrong with a cloud as a whole and with single observations, and four that are well."""
    one = [field('id', 0, PointField.UINT32), field('range', 4)]
    both = [*one, field('bearing', 12)]
    for changes in (
        [('fields', [])],
        [('fields', one)],
        [('fields', [*one, field('bearing', 12, PointField.INT16)])],
        [('fields', [*one, field('bearing', 12, count=3)])],
        [('fields', [*one, field('bearing', 2**32 - 1)])],
        [('fields', [field('id', 0, PointField.FLOAT32), *both[1:]])],
        [('fields', [*both, field('var_range', 4)])],
        [('data', b'\x00' * 7)],
        [('data', b'')],
        [('width', 2**32 - 1), ('height', 2**32 - 1)],
        [('height', 2), ('width', 2), ('row_step', 21)],
        [('point_step', 1)],
        [('header.frame_id', 'camera')],
        [('header.frame_id', '')],
        [('header.stamp.nanosec', SECOND)],
        [('header.frame_id', 'camera'), ('fields', [])],
    ):
        send(peer.features, changed(peer.seen(), *changes))
    for ns in (peer.now_ns, peer.now_ns - SECOND - 3, peer.now_ns + 1000 * SECOND):
        send(peer.features, peer.seen(ns))
    full = ('range', 'bearing', 'var_range', 'var_bearing', 'cov_range_bearing')
    for rows, names in (
        ([(1, NAN, 0.0), (2, 5.0, INF)], full[:2]),
        ([(1, 1e9, 0.0), (2, 0.001, 0.0)], full[:2]),
        ([(1, -4.0, 0.0), (2, 4.0, 1e9)], full[:2]),
        ([(1, 6.0, 0.0, -1.0, 1.0, 0.0), (2, 6.0, 0.0, 1.0, 1.0, 3.0)], full),
        ([(1, 6.0, 0.0, NAN, 1.0, 0.0), (2, 6.0, 0.0, INF, 1.0, 0.0)], full),
        ([(1, 30.0, 2.0)], full[:2]),
        ([(UNKNOWN - 5, 3.0, 0.5)] * 3, full[:2]),
        ([], full[:2]),
        ([], full),
    ):
        # An instant of its own, before the next odometry.
        send(peer.features, cloud(peer.now_ns + STEP_NS // 3, rows, names=names))
    send(peer.features, cloud(peer.now_ns + STEP_NS // 3, [], frame='base_link'))
    send(peer.features, cloud(peer.now_ns + STEP_NS // 3, [], frame='/feature_sensor'))


def damaged_imu():
    """All that can be wrong with a gyroscope, and three that are well, the first of all among them."""
    known = ('orientation_covariance[0]', 0.0)
    for changes in (
        [],
        *[[('angular_velocity.z', x)] for x in (NAN, INF, 1e9)],
        [('header.frame_id', 'phone')],
        [('header.frame_id', 'base_link')],
        [('header.stamp.nanosec', SECOND)],
        [('angular_velocity_covariance[0]', -1.0)],
        [known, ('orientation.w', 17.0)],
        [known, ('orientation.w', 0.9)],
        [known, ('orientation.x', NAN)],
        [known, ('orientation.x', INF)],
        [known, ('orientation.w', 0.0)],
        [('header.frame_id', 'phone'), known, ('orientation.w', 17.0)],
    ):
        message = changed(peer.turned(), *changes)
        if message.header.stamp.nanosec < SECOND:
            stamp_into(message.header.stamp, peer.now_ns + STEP_NS // 2)
        send(peer.imu, message)


def no_messages():
    """Bytes that are no message of the topic's type: cut off, without header, of another encoding, of wild lengths."""
    for publisher, message in ((peer.odom, peer.odometry()), (peer.features, peer.seen()), (peer.imu, peer.turned())):
        whole = serialize_message(message)
        for data in (whole[:4], whole[:7], whole[:-9], b'\x00\x01\x00\x00' + b'\xff' * 64, b'\x7f\x7f' + whole[2:]):
            send(publisher, data)


def before_the_epoch():
    """Negative seconds are stamps like others; these are so old that time was set back."""
    for publisher, message in ((peer.imu, peer.turned()), (peer.features, peer.seen()), (peer.odom, peer.odometry())):
        publisher.publish(changed(message, ('header.stamp.sec', -3)))
        let_it_arrive()


rclpy.init()
peer = Peer()
peer.connect(imu=True)
with open(sys.argv[1], 'wb') as file:
    peer.odom = Recorded(peer.odom, 0, file)
    peer.features = Recorded(peer.features, 1, file)
    peer.imu = Recorded(peer.imu, 2, file)
    # Before anything good: a frame that is not to be taken for the right one.
    peer.odom.publish(changed(peer.odometry(), ('header.frame_id', 'world')))
    peer.features.publish(peer.seen(peer.now_ns - 5 * STEP_NS))
    let_it_arrive()
    peer.drive(50)
    damaged_odometry()
    damaged_clouds()
    damaged_imu()
    no_messages()
    before_the_epoch()


def all_heard():
    """Whether the node has had everything that was sent."""
    _, _, values = peer.next_status()
    publishers = {'odom': peer.odom, 'features': peer.features, 'imu': peer.imu}
    return values if all(int(values[f'{name}.received']) == p.sent for name, p in publishers.items()) else None


values = None
for _ in range(10):
    values = values or all_heard()
assert values, 'the node has not had everything that was sent'
print(json.dumps({k.removeprefix('dropped.'): int(n) for k, n in values.items() if k.startswith('dropped.') and int(n)}))
