"""Readings of one number and positions from outside, of a robot that drives in circles, to a running slam_node.

usage: outside.py poses | fixes | ranges | bearings
"""

import math
import sys

import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from peer import CLOUD_EVERY, SPEED, STEP_NS, WORLD, Peer, cloud, nanos, stamp_into, yaw_of
from sensor_msgs.msg import NavSatFix

YAW_RATE = 0.4
# Of WGS 84, at 48° north: metres on the ground for a radian of latitude and of longitude.
NORTH_M, EAST_M = 6_370_921.0, 6_389_911.0 * math.cos(math.radians(48.0))


class Circler(Peer):
    """A robot on a circle, which is seen from outside, or sees as `names` of a cloud say."""

    def __init__(self, names=None):
        """Sit at the origin, heading east."""
        super().__init__()
        self.names = names

    def place(self, ns=None):
        """Where the robot is at a time, x, y and heading."""
        t = ((self.now_ns if ns is None else ns) - self.begun) * 1e-9
        turned = YAW_RATE * t
        radius = SPEED / YAW_RATE
        return radius * math.sin(turned), radius * (1.0 - math.cos(turned)), turned

    def odometry(self, ns=None):
        """Odometry of a circle."""
        message = super().odometry(ns)
        message.twist.twist.angular.z = YAW_RATE
        return message

    def seen(self, ns=None, **kwargs):
        """A cloud of one field, or of nothing."""
        x, y, heading = self.place()
        rows = []
        for i, (a, b) in WORLD.items() if self.names else ():
            distance, bearing = math.hypot(a - x, b - y), math.atan2(b - y, a - x) - heading
            rows.append((i, distance if self.names == ('range',) else math.remainder(bearing, math.tau)))
        return cloud(self.now_ns, rows, names=self.names or ('range', 'bearing'))

    def error(self):
        """Of the newest pose, in position and heading."""
        message = self.poses[-1]
        x, y, heading = self.place(nanos(message.header.stamp))
        p = message.pose.pose.position
        turn = math.remainder(yaw_of(message.pose.pose.orientation) - heading, math.tau)
        return math.hypot(p.x - x, p.y - y), abs(turn)

    def go(self, steps, beside=lambda: None):
        """Drive on, with something else to send beside each cloud."""
        for _ in range(steps // CLOUD_EVERY):
            beside()
            self.drive(CLOUD_EVERY)


def pose(robot, covariance=0.01, yaw_variance=0.001, x_off=0.0):
    """Where the robot is, as motion capture tells it."""
    message = PoseWithCovarianceStamped()
    stamp_into(message.header.stamp, robot.now_ns)
    message.header.frame_id = 'map'
    x, y, heading = robot.place()
    message.pose.pose.position.x, message.pose.pose.position.y = x + x_off, y
    message.pose.pose.orientation.z, message.pose.pose.orientation.w = math.sin(heading / 2), math.cos(heading / 2)
    message.pose.covariance[0] = message.pose.covariance[7] = covariance
    message.pose.covariance[35] = yaw_variance
    return message


def fix(robot, variance=0.01, status=0, latitude=None):
    """Where the robot is, as a receiver tells it."""
    message = NavSatFix()
    stamp_into(message.header.stamp, robot.now_ns)
    message.header.frame_id = 'gps'
    x, y, _ = robot.place()
    message.latitude = 48.0 + math.degrees(y / NORTH_M) if latitude is None else latitude
    message.longitude = 11.0 + math.degrees(x / EAST_M)
    message.position_covariance[0] = message.position_covariance[4] = variance
    message.position_covariance_type = 2
    message.status.status = status
    return message


def dropped(values, reason):
    """How many were left out for a reason, on all topics."""
    return sum(int(value) for key, value in values.items() if key.startswith('dropped.') and key.endswith(reason))


def begin(robot, publisher=None):
    """Connect, also from a further publisher."""
    robot.connect()
    if publisher:
        robot.until(publisher.get_subscription_count, 'a subscriber')


def poses():
    """Poses put the robot right; one with an impossible covariance is left out, and counted."""
    robot = Circler()
    publisher = robot.create_publisher(PoseWithCovarianceStamped, 'absolute_pose', 100)
    begin(robot, publisher)
    robot.drive(10)
    assert robot.error()[0] > 1.0, robot.error()
    robot.go(100, lambda: publisher.publish(pose(robot)))
    assert robot.error()[0] < 0.15 and robot.error()[1] < 0.05, robot.error()
    robot.go(25, lambda: publisher.publish(pose(robot, covariance=-1.0)))
    robot.go(25, lambda: publisher.publish(pose(robot, x_off=float('nan'))))
    _, _, values = robot.next_status()
    assert dropped(values, 'bad_covariance') >= 4 and dropped(values, 'not_finite') >= 4, values
    # The position alone counts where the variance of the heading is none.
    robot.go(50, lambda: publisher.publish(pose(robot, yaw_variance=0.0)))
    assert robot.error()[0] < 0.15, robot.error()


def fixes():
    """Fixes put the robot right; those that are none are left out, and counted."""
    robot = Circler()
    publisher = robot.create_publisher(NavSatFix, 'fix', 100)
    begin(robot, publisher)
    robot.drive(10)
    assert robot.error()[0] > 1.0, robot.error()
    robot.go(200, lambda: publisher.publish(fix(robot)))
    assert robot.error()[0] < 0.2 and robot.error()[1] < 0.1, robot.error()
    robot.go(25, lambda: publisher.publish(fix(robot, status=-1)))
    # A variance of 0 is not stated: that of the parameters holds.
    robot.go(25, lambda: publisher.publish(fix(robot, variance=0.0)))
    robot.go(25, lambda: publisher.publish(fix(robot, latitude=90.0)))
    _, _, values = robot.next_status()
    assert dropped(values, 'no_fix') >= 4 and 4 <= dropped(values, 'bad_fix') < 8, values
    assert robot.error()[0] < 0.3, robot.error()


def singles(names):
    """Readings of one number map what they are of, and place the robot."""
    robot = Circler(names)
    begin(robot)
    robot.drive(600)
    assert robot.error()[0] < 0.1 and robot.error()[1] < 0.05, robot.error()
    _, sentence, values = robot.next_status()
    assert values['map.features'] == str(len(WORLD)), (values['map.features'], sentence)


def ranges():
    """Beacons, after the circle has told them from their images."""
    singles(('range',))


def bearings():
    """Marks."""
    singles(('bearing',))


assert STEP_NS == 20_000_000
rclpy.init()
{f.__name__: f for f in (poses, fixes, ranges, bearings)}[sys.argv[1]]()
print(f'{sys.argv[1]}: as it should be')
