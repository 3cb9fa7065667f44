"""A robot whose wheels slip among posts without identity: it is found where it is, and the node says so.

usage: slip.py
"""

import math
import random

import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from peer import STEP_NS, UNKNOWN, Peer, cloud, stamp_into

SPEED, TURN = 1.0, 0.5
ROUND = round(math.tau / TURN / (STEP_NS * 1e-9))
# In the second round, in one tenth of a second: far more than wheels of usual quality have room for.
SLIP_AT, SLIP_STEPS, SLIPPED = ROUND + ROUND // 2, 5, 0.45
chance = random.Random(3)


def posts():
    """Around the way, and apart from each other."""
    found = []
    while len(found) < 16:
        post = (chance.uniform(-6.0, 6.0), chance.uniform(-4.0, 8.0))
        if all(math.dist(post, other) > 1.2 for other in found):
            found.append(post)
    return found


POSTS = posts()


class Round(Peer):
    """A robot that drives in a circle, and turns further than its wheels say."""

    place, yaw = (0.0, 0.0), 0.0

    def odometry(self, ns=None):
        """One step on. The wheels do not know of the slip."""
        dt = STEP_NS * 1e-9
        if self.k > 0:
            slipped = SLIPPED / SLIP_STEPS if SLIP_AT <= self.k < SLIP_AT + SLIP_STEPS else 0.0
            middle = self.yaw + 0.5 * TURN * dt
            (x, y), step = self.place, SPEED * dt
            self.place = (x + step * math.cos(middle), y + step * math.sin(middle))
            self.yaw += TURN * dt + slipped
        message = Odometry()
        stamp_into(message.header.stamp, self.now_ns)
        message.header.frame_id, message.child_frame_id = 'odom', 'base_link'
        message.pose.pose.orientation.w = 1.0
        message.twist.twist.linear.x = SPEED + chance.gauss(0.0, 0.02)
        message.twist.twist.angular.z = TURN + chance.gauss(0.0, 0.02)
        return message

    def seen(self, ns=None, **kwargs):
        """The posts ahead, four of five."""
        rows = []
        for x, y in POSTS:
            far = math.dist((x, y), self.place)
            bearing = math.remainder(math.atan2(y - self.place[1], x - self.place[0]) - self.yaw, math.tau)
            if far < 6.0 and abs(bearing) < 0.9 and chance.random() < 0.8:
                rows.append((UNKNOWN, far + chance.gauss(0.0, 0.03), bearing + chance.gauss(0.0, 0.01)))
        return cloud(self.now_ns, rows, **kwargs)


def error(message: PoseWithCovarianceStamped):
    """Of the newest pose, which is of the last cloud."""
    p = message.pose.pose.position
    return math.dist((p.x, p.y), robot.place)


rclpy.init()
robot = Round()
robot.connect()
robot.drive(SLIP_AT // 5 * 5)
before = error(robot.poses[-1])
assert before < 0.2, before
assert robot.next_status()[2]['association.slips'] == '0'
robot.drive((2 * ROUND) // 5 * 5)
after, (_, _, values) = error(robot.poses[-1]), robot.next_status()
assert values['association.slips'] == '1', values
assert after < 0.2, after
stamps = [p.header.stamp for p in robot.poses]
assert all((a.sec, a.nanosec) < (b.sec, b.nanosec) for a, b in zip(stamps, stamps[1:])), 'a pose came twice'
print(f'off by {before:.3f} m before the slip and by {after:.3f} m after it')
