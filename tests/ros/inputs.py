"""Sensors, tags and odometry as the packages of others send them, to a running slam_node.

usage: inputs.py place | tilted | sensors | starved | late | tags | silent | survey | found | poses | detections | images | odometry
"""

import math
import sys
import time

import rclpy
from geometry_msgs.msg import Point, Pose, PoseArray, TwistWithCovarianceStamped
from peer import SPEED, STEP_NS, WORLD, Peer, cloud, nanos, stamp_into, transform
from sensor_msgs.msg import CameraInfo, PointCloud2
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

try:
    from apriltag_msgs.msg import AprilTagDetection, AprilTagDetectionArray
    from vision_msgs.msg import Detection3D, Detection3DArray, ObjectHypothesisWithPose
except ImportError as missing:
    if sys.argv[1] in ('detections', 'images'):
        sys.exit(print(f'skipped: {missing}'))

WARN, ERROR = 1, 2


def product(p, q):
    """Composition of two rotations (x, y, z, w)."""
    (a, b, c, d), (e, f, g, h) = p, q
    return (
        d * e + a * h + b * g - c * f,
        d * f - a * g + b * h + c * e,
        d * g + a * f - b * e + c * h,
        d * h - a * e - b * f - c * g,
    )


def turned(q, v):
    """A vector turned by a rotation."""
    x, y, z, _ = product(product(q, (*v, 0.0)), (-q[0], -q[1], -q[2], q[3]))
    return (x, y, z)


def about(axis, angle):
    """The rotation about x, y or z."""
    q = [0.0, 0.0, 0.0, math.cos(angle / 2)]
    q['xyz'.index(axis)] = math.sin(angle / 2)
    return tuple(q)


def inverse(q):
    """The rotation back."""
    return (-q[0], -q[1], -q[2], q[3])


# x to the right, y down, z forward (REP 103), of a camera that looks ahead.
OPTICAL = product(about('z', -math.pi / 2), about('x', -math.pi / 2))


class Robot(Peer):
    """A robot whose features are seen by a sensor at some place, in space."""

    def __init__(self, xyz, rotation, frame, **kwargs):
        """Sit there; nobody is told."""
        super().__init__(seat=None, **kwargs)
        self.xyz, self.rotation, self.frame = xyz, rotation, frame

    def tell(self):
        """Publish where the sensor sits, through a frame between."""
        half = tuple(c / 2 for c in self.xyz)
        self.static.publish(TFMessage(transforms=[transform('base_link', 'mast', half)]))
        self.static.publish(TFMessage(transforms=[transform('mast', self.frame, half, self.rotation)]))

    def in_sensor(self, landmark, height=0.0):
        """Where a landmark is in the frame of the sensor."""
        x, y = WORLD[landmark]
        on_base = (x - self.x, y, height)
        return turned(inverse(self.rotation), [p - t for p, t in zip(on_base, self.xyz)])


def drive_in_vain(robot, reason, beside=lambda: None):
    """Drive on until the diagnostics say why no cloud is used: the level, and what was dropped."""
    heard = len(robot.diagnostics)

    def said():
        statuses = [m.status[0] for m in robot.diagnostics[heard:]]
        found = [s for s in statuses if reason in s.message]
        return found[-1] if found else None

    for _ in range(400):
        robot.k += robot.running
        robot.running = True
        robot.odom.publish(robot.odometry())
        beside()
        if robot.k % 5 == 0:
            robot.features.publish(robot.seen())
        time.sleep(0.02)
        for _ in range(4):
            rclpy.spin_once(robot, timeout_sec=0.0)
        if said():
            break
    status = said()
    assert status, [m.status[0].message for m in robot.diagnostics[heard:]]
    level = status.level[0] if isinstance(status.level, bytes) else status.level
    return level, counted(robot)[3]


class Lidar(Robot):
    """Range and bearing, in the plane of the sensor."""

    def seen(self, ns=None, **kwargs):
        """A cloud of what it sees."""
        places = {i: self.in_sensor(i, self.xyz[2]) for i in WORLD}
        rows = [(i, math.hypot(x, y), math.atan2(y, x)) for i, (x, y, _) in places.items()]
        return cloud(self.now_ns if ns is None else ns, rows, frame=self.frame)


class Camera(Robot):
    """Publishes tags on /tf as apriltag_ros and aruco_opencv do: one message an image, frames by family and number."""

    def __init__(self, *args, **kwargs):
        """See tags."""
        super().__init__(*args, **kwargs)
        self.features = self.create_publisher(TFMessage, '/tf', 100)

    def seen(self, ns=None, **kwargs):
        """The tags before the camera, upright and facing the robot's start, 0.8 m above the floor."""
        ns = self.now_ns if ns is None else ns
        found = []
        for i in WORLD:
            p = self.in_sensor(i, 0.8)
            if p[2] < 0.5:
                continue
            # Three of apriltag's family, the others aruco's, whose Z axis comes out of the marker.
            child, facing = (f'tag36h11:{i}', (0.0, 0.0, 0.0, 1.0)) if i < 4 else (f'marker_{i}', about('x', math.pi))
            found.append(transform(self.frame, child, p, facing, ns))
        return TFMessage(transforms=found)


class Finder(Robot):
    """Publishes what it finds as poses, without identity."""

    def __init__(self, *args, **kwargs):
        """Find things."""
        super().__init__(*args, **kwargs)
        self.features = self.create_publisher(PoseArray, 'boxes', 100)

    def seen(self, ns=None, **kwargs):
        """All things, in an order that says nothing."""
        message = PoseArray()
        stamp_into(message.header.stamp, self.now_ns if ns is None else ns)
        message.header.frame_id = self.frame
        for i in sorted(WORLD, key=lambda i: (i * (self.k + 3)) % 7):
            pose = Pose()
            pose.position.x, pose.position.y, pose.position.z = self.in_sensor(i, 0.4)
            message.poses.append(pose)
        return message


class Detector(Robot):
    """Publishes what it finds as vision_msgs, trunks and posts with their numbers."""

    def __init__(self, *args, **kwargs):
        """Detect things."""
        super().__init__(*args, **kwargs)
        self.features = self.create_publisher(Detection3DArray, 'detections', 100)

    def seen(self, ns=None, **kwargs):
        """All things, and something that nobody is sure of."""
        message = Detection3DArray()
        stamp_into(message.header.stamp, self.now_ns if ns is None else ns)
        message.header.frame_id = self.frame
        for i in WORLD:
            detection = Detection3D(header=message.header, id=f'post_{i}')
            for word, score in (('person', 0.1), ('post', 0.9)):
                result = ObjectHypothesisWithPose()
                result.hypothesis.class_id, result.hypothesis.score = word, score
                x, y, z = self.in_sensor(i, 0.4)
                result.pose.pose.position = Point(x=x, y=y, z=z if word == 'post' else z + 1.0)
                result.pose.covariance[0] = result.pose.covariance[7] = 1e-4
                result.pose.covariance[14] = 4e-4
                detection.results.append(result)
            message.detections.append(detection)
        doubtful = Detection3D(id='post_99')
        doubtful.results.append(ObjectHypothesisWithPose())
        message.detections.append(doubtful)
        return message


class Imager(Robot):
    """Publishes the corners of tags in its image, as apriltag_ros does beside the transforms."""

    FOCAL, CENTRE, EDGE = (610.0, 590.0), (322.0, 238.0), 0.16

    def __init__(self, *args, **kwargs):
        """Take images."""
        super().__init__(*args, **kwargs)
        self.features = self.create_publisher(AprilTagDetectionArray, '/front/detections', 100)
        self.info = self.create_publisher(CameraInfo, '/front/camera_info', 100)

    def describe(self):
        """Say what the camera is like."""
        info = CameraInfo(width=640, height=480)
        info.header.frame_id = self.frame
        info.p[0], info.p[5], info.p[2], info.p[6] = *self.FOCAL, *self.CENTRE
        self.info.publish(info)

    def seen(self, ns=None, **kwargs):
        """The tags before the camera, upright and turned a little from it."""
        message = AprilTagDetectionArray()
        stamp_into(message.header.stamp, self.now_ns if ns is None else ns)
        message.header.frame_id = self.frame
        turn = about('y', 0.5)
        for i in WORLD:
            centre = self.in_sensor(i, 0.8)
            if centre[2] < 0.5:
                continue
            tag = AprilTagDetection(family='tag36h11', id=i)
            for corner, (u, v) in zip(tag.corners, ((-1, 1), (1, 1), (1, -1), (-1, -1))):
                arm = turned(turn, (0.5 * self.EDGE * u, 0.5 * self.EDGE * v, 0.0))
                x, y, z = (c + a for c, a in zip(centre, arm))
                corner.x, corner.y = (f * p / z + c for f, p, c in zip(self.FOCAL, (x, y), self.CENTRE))
            message.detections.append(tag)
        return message


def counted(robot):
    """The values of the next status, and what was dropped."""
    level, sentence, values = robot.next_status()
    dropped = {key.removeprefix('dropped.'): int(n) for key, n in values.items() if key.startswith('dropped.')}
    return level, sentence, values, {reason: n for reason, n in dropped.items() if n}


def place():
    """A lidar that hangs upside down waits for its transform, and is then where it says."""
    rotation = product(about('z', 1.0), about('x', math.pi))
    lidar = Lidar((0.3, -0.1, 0.9), rotation, 'ceiling_lidar')
    lidar.connect()
    level, dropped = drive_in_vain(lidar, 'no_transform')
    assert level == ERROR and not lidar.poses and list(dropped) == ['no_transform'], dropped
    lidar.tell()
    time.sleep(0.3)
    lidar.drive(100)
    lidar.check_pose('with its place from /tf_static', tolerance=1e-3)
    used = int(lidar.next_status()[2]['observations.used'])
    assert used >= 90, used


def tilted():
    """Ranges and bearings of a sensor that leans are refused, with its angle."""
    lidar = Lidar((0.3, 0.0, 0.9), about('y', 0.6), 'nodding_lidar')
    lidar.connect()
    lidar.tell()
    time.sleep(0.3)
    level, dropped = drive_in_vain(lidar, 'tilted_sensor')
    assert level == ERROR and list(dropped) == ['tilted_sensor'], dropped


def front_and_rear():
    """A robot with a second sensor, its publisher, and what that sees now."""
    lidar = Lidar((0.3, 0.0, 0.2), about('z', 0.3), 'front_lidar')
    rear = lidar.create_publisher(PointCloud2, 'radar', 100)
    lidar.until(rear.get_subscription_count, 'the second sensor')

    def behind():
        # The parameters say: 0.5 m behind, 0.1 m to the left, looking back.
        rows = [(100 + i, -(x - lidar.x) - 0.5, -(y - 0.1)) for i, (x, y) in WORLD.items()]
        return cloud(lidar.now_ns, rows, names=('x', 'y'), frame='whatever')

    return lidar, rear, behind


def sensors():
    """Two sensors of two kinds, on two topics, with the same stamps: both count."""
    lidar, rear, behind = front_and_rear()
    whole = lidar.seen

    def seen(ns=None):
        rear.publish(behind())
        return whole(ns)

    lidar.seen = seen
    lidar.tell()
    lidar.connect()
    time.sleep(0.3)
    lidar.drive(100)
    lidar.check_pose('with two sensors')
    _, sentence, values, dropped = counted(lidar)
    assert not dropped, (sentence, dropped)
    clouds = 20
    assert values['map.features'] == '10', values['map.features']
    assert int(values['observations.used']) == 10 * clouds, values['observations.used']
    assert int(values['features.used']) == 2 * clouds and int(values['radar.used']) == clouds, values


def with_a_second_one():
    """What a node says of a second sensor of the same landmarks, with the same stamps, whose place is wrong by half a
    turn."""
    lidar, rear, _ = front_and_rear()
    whole = lidar.seen
    turned_round = Lidar((-0.5, 0.1, 0.0), about('z', math.pi), 'radar')

    def seen(ns=None):
        turned_round.k, turned_round.begun = lidar.k, lidar.begun
        rear.publish(turned_round.seen())
        return whole(ns)

    lidar.tell()
    lidar.connect()
    time.sleep(0.3)
    # The landmarks are known before the second sensor speaks.
    lidar.drive(50)
    lidar.seen = seen
    lidar.drive(100)
    return lidar, *counted(lidar)[:3]


def noisier():
    """Where noise is learned, its errors are, and it is named."""
    _, level, sentence, values = with_a_second_one()
    assert 'measurements of radar in the last' in sentence and 'times as stated, and those of features' in sentence, values
    assert level == WARN, sentence


def starved():
    """Where noise is as stated, its measurements are left out, and it is named."""
    lidar, level, sentence, values = with_a_second_one()
    assert 'measurements of radar in the last' in sentence and 'those of features are used' in sentence, sentence
    assert level == WARN and int(values['radar.recent.used']) == 0 and int(values['radar.recent.gated']) >= 90, values
    assert int(values['features.recent.gated']) == 0, values
    lidar.check_pose('beside a sensor that is turned round')


def late():
    """Clouds of a second sensor come 0.6 s after those of the first: all count, and none is waited for."""
    lidar, rear, behind = front_and_rear()
    whole, held = lidar.seen, []

    def seen(ns=None):
        held.append(behind())
        if len(held) > 6:
            rear.publish(held.pop(0))
        return whole(ns)

    lidar.seen = seen
    lidar.tell()
    lidar.connect()
    time.sleep(0.3)
    lidar.drive(100)
    lidar.check_pose('with a sensor that is late')
    _, sentence, values, dropped = counted(lidar)
    assert not dropped, (sentence, dropped)
    clouds = 20
    assert int(values['radar.used']) == int(values['features.late']) == clouds - 6, values
    assert int(values['features.used']) == 2 * clouds - 6, values
    assert values['map.features'] == '10', values['map.features']


def tags():
    """Tags on /tf, of a camera that looks a little up and to the side."""
    rotation = product(product(about('z', 0.2), about('y', -0.15)), OPTICAL)
    camera = Camera((0.2, 0.05, 0.6), rotation, 'camera_optical')
    camera.connect()
    level, dropped = drive_in_vain(camera, 'no_transform')
    assert level == ERROR and list(dropped) == ['no_transform'], dropped
    camera.tell()
    time.sleep(0.3)
    camera.drive(60)
    camera.check_pose('by tags', tolerance=0.01)
    _, _, values, _ = counted(camera)
    # The fourth landmark is behind the robot; the fifth is an aruco marker.
    assert values['map.features'] == '4', values['map.features']
    assert int(values['tags.used']) >= 10, values
    # Again the same image, as a relay or a second detector sends it.
    image = camera.seen()
    before = counted(camera)[3]
    for _ in range(3):
        camera.features.publish(image)
    camera.drive(50)
    camera.check_pose('after the same image thrice', tolerance=0.01)
    assert counted(camera)[3] == before, 'a tag that comes again is not a fault'


def camera_ahead():
    """A camera as docs/apriltag.md has it: 0.2 m ahead, 0.6 m high, level."""
    camera = Camera((0.2, 0.0, 0.6), OPTICAL, 'camera_optical')
    camera.tell()
    camera.connect()
    time.sleep(0.3)
    return camera


def silent():
    """Tags go on where odometry stops for longer than stamps may be ahead of it, and it comes again."""
    camera = camera_ahead()
    camera.drive(60)
    for k in range(350):
        camera.k += 1
        camera.features.publish(camera.seen())
        time.sleep(0.02)
        rclpy.spin_once(camera, timeout_sec=0.0)
    _, sentence, _, dropped = counted(camera)
    assert 'no odometry for' in sentence and 'from_the_future' not in sentence, sentence
    assert dropped['from_the_future'] > 10, dropped
    camera.drive(100)


def survey():
    """Tags are mapped, and the map is saved."""
    camera = camera_ahead()
    camera.drive(150)
    camera.check_pose('while the map is made', tolerance=0.01)
    client = camera.create_client(Trigger, 'slam_node/save_map')
    assert client.wait_for_service(5.0)
    saved = client.call_async(Trigger.Request())
    rclpy.spin_until_future_complete(camera, saved, timeout_sec=5.0)
    assert saved.result().success, saved.result().message


def found():
    """A robot that begins elsewhere in this map, and is not told where, finds itself."""
    camera = camera_ahead()
    camera.start(2_000 * 1_000_000_000, x=2.0)
    camera.drive(150)
    pose = camera.poses[-1].pose.pose.position
    assert math.hypot(pose.x - camera.x, pose.y) < 0.05, (pose.x, pose.y, camera.x)


def poses():
    """A PoseArray of a camera's frame: positions without identity."""
    finder = Finder((0.2, 0.0, 0.5), OPTICAL, 'camera_optical')
    finder.tell()
    finder.connect()
    time.sleep(0.3)
    finder.drive(100)
    finder.check_pose('by poses', tolerance=0.02)
    _, sentence, values, dropped = counted(finder)
    assert values['map.features'] == '5' and not dropped, (values['map.features'], dropped, sentence)


def detections():
    """Detections in space, with words for classes and numbers in their ids."""
    detector = Detector((0.2, 0.0, 0.5), OPTICAL, 'camera_optical')
    detector.tell()
    detector.connect()
    time.sleep(0.3)
    detector.drive(100)
    detector.check_pose('by detections', tolerance=0.02)
    _, sentence, values, dropped = counted(detector)
    assert values['map.features'] == '5' and not dropped, (values['map.features'], dropped, sentence)
    assert int(values['detections.used']) >= 15, values


def images():
    """Corners of tags in images: nothing without the camera's description, then positions."""
    imager = Imager((0.2, 0.05, 0.6), product(product(about('z', 0.2), about('y', -0.15)), OPTICAL), 'front_optical')
    imager.tell()
    imager.connect()
    level, dropped = drive_in_vain(imager, 'no_camera_info')
    assert level == ERROR and list(dropped) == ['no_camera_info'], dropped
    imager.describe()
    time.sleep(0.3)
    imager.drive(60)
    imager.check_pose('by corners', tolerance=0.01)
    _, _, values, _ = counted(imager)
    assert values['map.features'] == '4', values['map.features']


def odometry():
    """Odometry of a frame beside the base; it falls silent, and velocities of another source stand in for it."""
    robot = Peer()
    plain = robot.odometry

    def of_footprint(ns=None):
        # 0.3 m ahead of the base, turned by a right angle: driving ahead is driving to the right there.
        message = plain(ns)
        message.child_frame_id = 'base_footprint'
        message.twist.twist.linear.x, message.twist.twist.linear.y = 0.0, -SPEED
        return message

    robot.odometry = of_footprint
    other = robot.create_publisher(TwistWithCovarianceStamped, 'visual/twist', 100)
    robot.until(other.get_subscription_count, 'the other source')
    robot.connect()

    def stand_in():
        message = TwistWithCovarianceStamped()
        stamp_into(message.header.stamp, robot.now_ns)
        message.header.frame_id = 'base_link'
        message.twist.twist.linear.x = SPEED
        other.publish(message)

    # The transform is unknown at first: the other source is all there is.
    level, dropped = drive_in_vain(robot, 'visual/twist', stand_in)
    values = counted(robot)[2]
    assert values['odom.source'] == 'visual/twist' and dropped['unknown_frame'] == robot.k + 1, (values, dropped)
    assert level == WARN and int(values['odom.switches']) == 0, values
    robot.check_pose('by the other source', tolerance=1e-3)

    # From the footprint to the base: its parent is the frame of the odometry, as robots with a footprint have it.
    robot.static.publish(TFMessage(transforms=[transform('base_footprint', 'base_link', (0.0, -0.3, 0.1), about('z', -math.pi / 2))]))
    time.sleep(0.3)
    footprint = robot.odom.publish

    def both(message):
        footprint(message)
        stand_in()

    robot.odom.publish = both
    robot.drive(60)
    robot.check_pose('by odometry of the footprint', tolerance=1e-3)
    _, _, values, dropped = counted(robot)
    assert values['odom.source'] == 'odom' and int(values['odom.switches']) == 1, values
    assert dropped['standby'] >= 59, dropped

    robot.odom.publish = lambda message: stand_in()
    silent_since = robot.now_ns
    robot.drive(60)
    robot.check_pose('while odom is silent', tolerance=1e-3)
    level, sentence, values, _ = counted(robot)
    assert values['odom.source'] == 'visual/twist' and level == WARN, (sentence, values)
    assert nanos(robot.filtered[-1].header.stamp) > silent_since + 50 * STEP_NS
    robot.odom.publish = both
    robot.drive(60)
    robot.check_pose('with odom again', tolerance=1e-3)
    _, sentence, values, _ = counted(robot)
    assert values['odom.source'] == 'odom' and int(values['odom.switches']) == 3, (sentence, values)


PARTS = (place, tilted, sensors, starved, noisier, late, tags, silent, survey, found, poses, detections, images, odometry)

if __name__ == '__main__':
    rclpy.init()
    {f.__name__: f for f in PARTS}[sys.argv[1]]()
    print(f'{sys.argv[1]}: as it should be')
