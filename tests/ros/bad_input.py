"""Everything that can be wrong with a message, sent to the running node between good messages."""

import math
import sys

import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from peer import STEP_NS, UNKNOWN, Peer, cloud
from sensor_msgs.msg import PointField

SECOND = 1_000_000_000
on_jump_back = sys.argv[1]

rclpy.init()
peer = Peer()
use_imu = on_jump_back == 'reset'
peer.connect(imu=use_imu)
peer.drive(50)
peer.check_pose('before anything bad')
expected = {}


def expect(reason, count=1):
    """Count what the node should count."""
    expected[reason] = expected.get(reason, 0) + count


def bad_odometry(reason, change, ns=None):
    """Send a changed odometry message that would be the next one, then go on as if it had not been."""
    message = peer.odometry(peer.now_ns + STEP_NS // 2 if ns is None else ns)
    change(message)
    peer.odom.publish(message)
    expect(reason)
    peer.drive(5)
    peer.check_pose(f'odometry: {reason}')


def bad_cloud(reason, message, count=1):
    """Send a cloud, then go on as if it had not been."""
    peer.features.publish(message)
    expect(reason, count)
    peer.drive(5)
    peer.check_pose(f'features: {reason}')


def twist(**values):
    """Set components of the velocity."""

    def change(message):
        for name, x in values.items():
            part, axis = name.split('_')
            setattr(getattr(message.twist.twist, part), axis, x)

    return change


def covariance(*places):
    """Set places of the twist's covariance."""

    def change(message):
        for i, x in places:
            message.twist.covariance[i] = x

    return change


def odometry_cases():
    """All that can be wrong with odometry."""
    keep = lambda message: None  # noqa: E731
    for x in (math.nan, math.inf, -math.inf):
        bad_odometry('not_finite', twist(linear_x=x))
    bad_odometry('not_finite', twist(linear_y=math.nan))
    bad_odometry('not_finite', twist(angular_z=math.nan))
    bad_odometry('absurd', twist(linear_x=1e6))
    bad_odometry('absurd', twist(angular_z=-1e6))
    bad_odometry('bad_covariance', covariance((0, -0.1), (7, 0.1), (35, 0.1)))
    bad_odometry('bad_covariance', covariance((0, 0.1), (7, 0.1), (35, 0.1), (1, 0.5), (6, 0.5)))
    bad_odometry('bad_covariance', covariance((0, 0.1), (7, 0.1), (35, 0.1), (1, 0.05)))
    bad_odometry('not_finite', covariance((0, math.nan), (7, 0.1), (35, 0.1)))
    bad_odometry('from_the_future', keep, ns=peer.now_ns + 1000 * SECOND)
    bad_odometry('too_late', keep, ns=peer.now_ns - SECOND - 7)
    bad_odometry('duplicate_stamp', keep, ns=peer.now_ns)

    def frame(message):
        message.header.frame_id = 'world'

    def child(message):
        message.child_frame_id = ''

    def weird(message):
        message.header.frame_id = 'ödom\n\x1b[31m' * 50

    for change in (frame, child, weird):
        bad_odometry('unknown_frame', change)

    def nanoseconds(message):
        message.header.stamp.nanosec = 4_000_000_000

    bad_odometry('bad_stamp', nanoseconds)

    def pose(message):
        message.pose.pose.position.x = math.nan

    # The twist is used all the same; only the transform needs the pose.
    bad_odometry('no_odom_pose', pose)


def field(name, offset, datatype=PointField.FLOAT64):
    """A field of a cloud."""
    return PointField(name=name, offset=offset, datatype=datatype, count=1)


def cloud_cases():
    """All that can be wrong with a cloud as a whole, and with single observations."""

    def layout(**changes):
        message = peer.seen(peer.now_ns)
        for name, x in changes.items():
            setattr(message, name, x)
        return message

    one = [field('id', 0, PointField.UINT32)]
    bad_cloud('bad_layout', layout(fields=[]))
    bad_cloud('bad_layout', layout(fields=one + [field('bearing_left', 4)]))
    bad_cloud('bad_layout', layout(fields=one + [field('range', 4), field('bearing', 4, PointField.INT16)]))
    bad_cloud('bad_layout', layout(fields=one + [field('range', 4), field('bearing', 4_294_967_295)]))
    bad_cloud('bad_layout', layout(data=b'\x00' * 7))
    bad_cloud('bad_layout', layout(width=4_294_967_295, height=4_294_967_295))
    bad_cloud('bad_layout', layout(point_step=1))
    bad_cloud('unknown_frame', peer.seen(frame='camera'))
    bad_cloud('from_the_future', peer.seen(peer.now_ns + 1000 * SECOND))
    bad_cloud('too_late', peer.seen(peer.now_ns - SECOND - 3))
    last_cloud = peer.now_ns - peer.k % 5 * STEP_NS
    bad_cloud('duplicate_stamp', peer.seen(last_cloud))

    def between(rows, names=('range', 'bearing')):
        # An instant of its own, before the next odometry.
        return cloud(peer.now_ns + STEP_NS // 3, rows, names=names)

    bad_cloud('not_finite', between([(1, math.nan, 0.0), (2, 5.0, math.inf)]), count=2)
    bad_cloud('out_of_range', between([(1, 1e9, 0.0), (2, 0.001, 0.0)]), count=2)
    bad_cloud('absurd', between([(1, -4.0, 0.0)]))
    with_covariance = ('range', 'bearing', 'var_range', 'var_bearing', 'cov_range_bearing')
    bad_cloud('bad_covariance', between([(1, 6.0, 0.0, -1.0, 1.0, 0.0), (2, 6.0, 0.0, 1.0, 1.0, 3.0)], with_covariance), 2)
    bad_cloud('gated', between([(1, 30.0, 2.0)]))
    bad_cloud('duplicate_feature', between([(UNKNOWN - 5, 3.0, 0.5), (UNKNOWN - 5, 3.0, 0.5)]))


def imu_cases():
    """All that can be wrong with a gyroscope."""

    def bad(reason, change):
        peer.k += 1
        message = peer.turned()
        peer.k -= 1
        change(message)
        peer.imu.publish(message)
        expect(reason)
        peer.drive(5)
        peer.check_pose(f'imu: {reason}')

    bad('not_finite', lambda m: setattr(m.angular_velocity, 'z', math.nan))
    bad('absurd', lambda m: setattr(m.angular_velocity, 'z', 1e9))
    bad('unknown_frame', lambda m: setattr(m.header, 'frame_id', 'phone'))

    def orientation(message):
        message.orientation_covariance[0] = 0.0
        message.orientation.w = 17.0

    bad('bad_orientation', orientation)


def pose_cases():
    """All that can be wrong with a pose from outside."""

    def bad(reason, change):
        message = PoseWithCovarianceStamped()
        message.header.frame_id = 'map'
        message.pose.pose.position.x = 77.0
        message.pose.pose.orientation.w = 1.0
        change(message)
        peer.initialpose.publish(message)
        expect(reason)
        peer.drive(5)
        peer.check_pose(f'initialpose: {reason}')

    def negative(message):
        message.pose.covariance[0] = -1.0

    bad('unknown_frame', lambda m: setattr(m.header, 'frame_id', 'odom'))
    bad('not_finite', lambda m: setattr(m.pose.pose.position, 'y', math.nan))
    bad('bad_orientation', lambda m: setattr(m.pose.pose.orientation, 'w', math.nan))
    bad('bad_covariance', negative)
    for x in (1e308, -1e308, 1e12):
        bad('absurd', lambda m: setattr(m.pose.pose.position, 'x', x))
    for variance in (1e308, 1e12):
        bad('absurd', lambda m: m.pose.covariance.__setitem__(0, variance))


def time_jump():
    """Time goes back by more than a packet can be late."""
    x = peer.x
    back = peer.now_ns - 100 * SECOND
    seen = len(peer.poses)
    peer.poses.clear()
    if on_jump_back == 'reset':
        peer.start(back)
    else:
        peer.start(back, x=x)
    peer.drive(20, pause=0.02)
    assert seen and peer.poses
    peer.check_pose(f'after time went back ({on_jump_back})', tolerance=0.05)
    assert int(peer.next_status()[2]['time_jumps']) == 1


if on_jump_back == 'reset':
    odometry_cases()
    cloud_cases()
    imu_cases()
    pose_cases()
_, _, values = peer.next_status()
counted = {key.removeprefix('dropped.'): int(n) for key, n in values.items() if key.startswith('dropped.')}
assert {reason: n for reason, n in counted.items() if n} == expected, (counted, expected)
time_jump()
print(f'{sum(expected.values())} pieces of bad input, all counted: {expected}')
