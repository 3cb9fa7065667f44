"""All inputs that parameters can name, with damaged messages between, sent to the running node; what was sent is kept.

usage: intake.py FILE
FILE gets a record of each message as damaged.py writes it; the numbers of the topics are those of TOPICS. The last line
printed is JSON: what the node has counted (`dropped`), and its poses (`poses`: second, nanosecond, x, y, z and w of the
quaternion).
"""

import json
import math
import struct
import sys
import time

import rclpy
from geometry_msgs.msg import Pose, PoseArray, TwistWithCovarianceStamped
from inputs import OPTICAL, about, inverse, turned
from nav_msgs.msg import Odometry
from peer import SPEED, STEP_NS, WORLD, Peer, point_cloud, stamp_into, transform
from rclpy.serialization import serialize_message
from sensor_msgs.msg import PointCloud2
from tf2_msgs.msg import TFMessage

SECOND = 1_000_000_000
TOPICS = {
    'odom': Odometry,
    'features': PointCloud2,
    'radar': PointCloud2,
    'boxes': PoseArray,
    'ghost': PointCloud2,
    'visual/twist': TwistWithCovarianceStamped,
    '/tf': TFMessage,
    '/tf_static': TFMessage,
}
# Where each sensor sits: its frame, its place on the base, and how it is turned.
FRONT = ('front_lidar', (0.3, 0.0, 0.2), about('z', 0.3))
REAR = ('radar_link', (-0.5, 0.1, 0.3), about('z', math.pi))
EYE = ('eye_link', (0.2, 0.0, 0.5), about('y', 0.2))
CAMERA = ('camera_optical', (0.2, 0.1, 0.5), OPTICAL)
FOOTPRINT = ('base_footprint', (0.3, 0.0, -0.1), about('z', math.pi / 2))


class Robot(Peer):
    """A robot with all of them, whose messages are kept."""

    def __init__(self, file):
        """Advertise every topic."""
        super().__init__('', 'odom', False, None)
        self.file = file
        known = {'odom': self.odom, 'features': self.features, '/tf_static': self.static}
        self.out = {name: known.get(name) or self.create_publisher(kind, name, 100) for name, kind in TOPICS.items()}

    def send(self, topic, message):
        """Keep a message and send it; the order of sending is the order of arrival."""
        data = message if isinstance(message, bytes) else serialize_message(message)
        self.file.write(struct.pack('<BI', list(TOPICS).index(topic), len(data)) + data)
        self.out[topic].publish(data)
        for _ in range(3):
            rclpy.spin_once(self, timeout_sec=0.008)

    def local(self, sensor, height):
        """Where the landmarks are in the frame of a sensor."""
        _, xyz, rotation = sensor
        on_base = {i: (x - self.x, y, height) for i, (x, y) in WORLD.items()}
        return {i: turned(inverse(rotation), [a - t for a, t in zip(p, xyz)]) for i, p in on_base.items()}

    def of_footprint(self):
        """Odometry of a frame beside the base, which drives to its right."""
        message = self.odometry()
        message.child_frame_id = 'base_footprint'
        message.twist.twist.linear.x, message.twist.twist.linear.y = 0.0, -SPEED
        return message

    def twist(self, speed=SPEED):
        """The velocities of the other source, a little later."""
        message = TwistWithCovarianceStamped()
        stamp_into(message.header.stamp, self.now_ns + STEP_NS // 4)
        message.header.frame_id = 'base_link'
        message.twist.twist.linear.x = speed
        return message

    def ranges(self, sensor, first, **kwargs):
        """What a sensor of ranges and bearings sees."""
        places = self.local(sensor, sensor[1][2])
        rows = [(first + i, math.hypot(x, y), math.atan2(y, x)) for i, (x, y, _) in places.items()]
        return point_cloud(self.now_ns, rows, **{'frame': sensor[0], **kwargs})

    def boxes(self):
        """Positions without identity, of a sensor that leans."""
        message = PoseArray()
        stamp_into(message.header.stamp, self.now_ns)
        message.header.frame_id = EYE[0]
        for place in self.local(EYE, 0.3).values():
            pose = Pose()
            pose.position.x, pose.position.y, pose.position.z = place
            message.poses.append(pose)
        return message

    def tags(self, camera=CAMERA[0]):
        """Tags before the camera, among the frames of the robot."""
        seen = {i: p for i, p in self.local(CAMERA, 0.8).items() if p[2] > 0.5}
        found = [transform(camera, f'tag36h11:{200 + i}', p, ns=self.now_ns) for i, p in seen.items()]
        return TFMessage(transforms=[transform('odom', 'base_footprint', ns=self.now_ns), *found])

    def step(self, sources, scans=True):
        """Drive on by one step."""
        self.k += self.running
        self.running = True
        if 'odom' in sources:
            self.send('odom', self.of_footprint())
        if scans and self.k % 5 == 0:
            self.send('features', self.ranges(FRONT, 0))
            self.send('radar', self.ranges(REAR, 100))
            self.send('/tf', self.tags())
            self.send('boxes', self.boxes())
        if 'visual' in sources:
            self.send('visual/twist', self.twist())


def damage(robot):
    """What cannot be used of each input."""

    def stamped(message):
        message.header.stamp.nanosec = SECOND
        return message

    def renamed(message, frame):
        message.header.frame_id = frame
        return message

    wheel = robot.of_footprint()
    wheel.child_frame_id = 'wheel'
    robot.send('odom', wheel)
    robot.send('odom', renamed(robot.of_footprint(), 'world'))
    robot.send('visual/twist', renamed(robot.twist(), 'wheel'))
    robot.send('visual/twist', stamped(robot.twist()))
    robot.send('radar', robot.ranges(REAR, 100, frame=FRONT[0]))
    robot.send('boxes', stamped(robot.boxes()))
    robot.send('ghost', robot.ranges(REAR, 100, frame='nowhere'))
    robot.send('/tf', robot.tags('unknown_camera'))
    lost = robot.tags()
    lost.transforms[-1].transform.translation.z = math.nan
    lost.transforms[-1].child_frame_id = 'tag36h11:299'
    robot.send('/tf', lost)
    robot.send('/tf_static', TFMessage(transforms=[transform('base_link', 'arm', quaternion=(0.0, 0.0, 0.0, 3.0))]))
    robot.send('/tf_static', TFMessage(transforms=[transform('base_link', 'base_link')]))
    for topic, message in (('radar', robot.ranges(REAR, 100)), ('boxes', robot.boxes()), ('visual/twist', robot.twist())):
        robot.send(topic, serialize_message(message)[:7])
    robot.send('/tf', serialize_message(robot.tags())[:9])


rclpy.init()
with open(sys.argv[1], 'wb') as file:
    robot = Robot(file)
    robot.connect()
    robot.until(lambda: all(p.get_subscription_count() for p in robot.out.values()), 'subscribers')
    places = [transform('base_link', *sensor) for sensor in (FRONT, REAR, EYE, CAMERA, FOOTPRINT)]
    robot.send('/tf_static', TFMessage(transforms=places))
    time.sleep(0.3)
    for _ in range(60):
        robot.step(('odom', 'visual'))
    damage(robot)
    for _ in range(20):
        robot.step(('odom', 'visual'))
    for k in range(40):
        # While odom is silent, the other source counts; what cannot be used of odom does not keep it out.
        if k == 20:
            broken = robot.of_footprint()
            broken.twist.twist.linear.x = math.nan
            robot.send('odom', broken)
        robot.step(('visual',))
    for _ in range(30):
        robot.step(('odom', 'visual'))
    for _ in range(10):
        robot.step(('odom',), scans=False)
    _, _, values = robot.next_status()
    _, _, values = robot.next_status()
dropped = {k.removeprefix('dropped.'): int(n) for k, n in values.items() if k.startswith('dropped.') and int(n)}
assert values['odom.source'] == 'odom' and int(values['odom.switches']) == 2, values


def row(message):
    """A pose as numbers."""
    p, q, stamp = message.pose.pose.position, message.pose.pose.orientation, message.header.stamp
    return [stamp.sec, stamp.nanosec, p.x, p.y, q.z, q.w]


print(json.dumps({'dropped': dropped, 'poses': [row(message) for message in robot.poses]}))
