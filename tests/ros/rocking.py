"""A robot that rocks and sees tags on /tf, to a running slam_node: how far off its pose is, and whether it knows.

usage: rocking.py walls|ceiling DEGREES [SECONDS]

Roll and pitch swing by so many degrees about a point of the floor below the base. Tags have the noise of a fit to their
corners. Prints the root mean square of the error of the position, and the mean NEES of the pose (3 is right), both
after the first 5 s; fails where they are worse than 0.06 m, or the NEES is above 6.
"""

import math
import random
import sys

import rclpy
from inputs import OPTICAL, Robot, about, inverse, product, turned
from nav_msgs.msg import Odometry
from peer import STEP_NS, nanos, stamp_into, transform, yaw_of
from tf2_msgs.msg import TFMessage

RADIUS, SPEED = 2.0, 0.5
RATE = SPEED / RADIUS
STD = (0.02, 0.01, 0.02)  # of a sample of odometry: m/s, m/s, rad/s
PIXEL, SIZE = 0.4 / 600, 0.16  # of a corner, rad; of a tag, m
SETTLED = 5.0


def walls():
    """Upright around the way, 4.5 m from its centre, 0.6 m to 1.8 m high."""
    turns = [2 * math.pi * i / 20 for i in range(20)]
    heights = (0.6, 1.4, 1.0, 1.8)
    return {i: (4.5 * math.cos(a), RADIUS + 4.5 * math.sin(a), heights[i % 4]) for i, a in enumerate(turns)}


def ceiling():
    """Overhead, 2.6 m high, 1.2 m apart."""
    grid = [(1.2 * i, RADIUS + 1.2 * j, 2.6) for i in range(-3, 4) for j in range(-3, 4)]
    return dict(enumerate(grid))


class Rocker(Robot):
    """On a circle, with a camera that looks ahead or up."""

    def __init__(self, place, degrees):
        """See walls and ceiling."""
        rotation = OPTICAL if place == 'walls' else about('z', -math.pi / 2)
        super().__init__((0.2, 0.0, 0.6), rotation, 'camera_optical')
        self.features = self.create_publisher(TFMessage, '/tf', 100)
        self.tags, self.amplitude = {'walls': walls, 'ceiling': ceiling}[place](), math.radians(degrees)
        self.noise = random.Random(7)

    def truth(self, t):
        """Where it is on the circle: x, y, heading."""
        angle = RATE * t
        return RADIUS * math.sin(angle), RADIUS * (1 - math.cos(angle)), angle

    def odometry(self, ns=None):
        """With noise that it states."""
        message = Odometry()
        stamp_into(message.header.stamp, self.now_ns)
        message.header.frame_id, message.child_frame_id = 'odom', 'base_link'
        message.pose.pose.orientation.w = 1.0
        v, w = message.twist.twist.linear, message.twist.twist.angular
        v.x, v.y, w.z = (x + self.noise.gauss(0, std) for x, std in zip((SPEED, 0.0, RATE), STD))
        for place, std in zip((0, 7, 35), STD):
            message.twist.covariance[place] = std * std
        return message

    def seen(self, ns=None, **kwargs):
        """The tags in the image, in the frame of the camera."""
        t = 1e-9 * self.k * STEP_NS
        x, y, heading = self.truth(t)
        roll, pitch = self.amplitude * math.sin(3.14 * t), self.amplitude * math.cos(2.3 * t)
        base = product(about('z', heading), product(about('y', pitch), about('x', roll)))
        found = []
        for i, (a, b, c) in self.tags.items():
            on_base = turned(inverse(base), (a - x, b - y, c))
            p = turned(inverse(self.rotation), [u - v for u, v in zip(on_base, self.xyz)])
            if p[2] < 0.5 or abs(p[0]) > 0.53 * p[2] or abs(p[1]) > 0.4 * p[2]:
                continue
            d = math.hypot(*p)
            along = 1 + self.noise.gauss(0, d * PIXEL / (math.sqrt(2) * SIZE))
            p = [along * u + self.noise.gauss(0, d * PIXEL / 2) for u in p]
            found.append(transform(self.frame, f'tag36h11:{i}', p, ns=self.now_ns))
        return TFMessage(transforms=found)

    def judge(self):
        """The root mean square of the error of the position, m, and the mean NEES."""
        square = nees = count = 0.0
        for message in self.poses:
            t = 1e-9 * (nanos(message.header.stamp) - self.begun)
            if t < SETTLED:
                continue
            x, y, heading = self.truth(t)
            pose, c = message.pose.pose, message.pose.covariance
            turn = yaw_of(pose.orientation) - heading
            turn = math.atan2(math.sin(turn), math.cos(turn))
            error = (pose.position.x - x, pose.position.y - y, turn)
            rows = [[c[6 * i + j] for j in (0, 1, 5)] for i in (0, 1, 5)]
            nees += sum(e * s for e, s in zip(error, solved(rows, error)))
            square += error[0] ** 2 + error[1] ** 2
            count += 1
        return math.sqrt(square / count), nees / count


def solved(rows, right):
    """The solution of three linear equations, by Gauss with the greatest pivot."""
    rows = [[*row, b] for row, b in zip(rows, right)]
    for k in range(3):
        pivot = max(range(k, 3), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(3):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    return [rows[k][3] / rows[k][k] for k in range(3)]


def main():
    """Drive, and say how it went."""
    place, degrees = sys.argv[1], float(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 40.0
    rclpy.init()
    robot = Rocker(place, degrees)
    robot.tell()
    robot.connect()
    for _ in range(int(seconds)):
        robot.drive(50)
    rms, nees = robot.judge()
    print(f'{place}, rocking by {degrees}°: {1e3 * rms:.1f} mm, NEES {nees:.2f}, {len(robot.poses)} poses')
    assert rms < 0.06 and nees < 6.0, (rms, nees)


if __name__ == '__main__':
    main()
