"""What slam3d_node costs: CPU time of all its threads, memory, and time from a message to its pose.

    cargo xtask run cargo build --release --features apriltag_msgs --bin slam3d_node
    cargo xtask run python3 benches/slam3d_node.py target/release/slam3d_node

A body stands for two seconds and then goes round on a circle of 3 m. `landmarks`: an inertial sensor at 200 Hz, and frames of
a stereo pair with at most 20 of 100 landmarks at 20 Hz. `tags`: the same sensor, and three cameras with 8 tags each at 20 Hz.
Times inside the node are those of its diagnostics: from a sample of imu to its odometry/filtered, from a frame to its pose.
On loopback, in a ROS domain of its own; Linux only (/proc)."""

import argparse
import json
import math
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import time

from attitude_node import PATIENCE_S, cpu_ns, expect, peer
from slam_node import resident_mb

IMU_HZ, FRAME_EVERY, STANDS_S = 200.0, 10, 2.0
RADIUS_M, SPEED, GRAVITY = 3.0, 1.0, 9.80665
FOCAL_PX, WIDTH_PX, HEIGHT_PX, BASELINE_M = 400.0, 752, 480, 0.12
MOST_IN_VIEW, TAGS_IN_VIEW, TAG_M = 20, 8, 0.3
# Camera axes (z ahead) on the robot's.
OPTICAL = (-0.5, 0.5, -0.5, 0.5)
CAMERAS = ('front', 'left', 'right')
NOISE = {'imu.gyro_noise': '0.001', 'imu.accelerometer_noise': '0.01', 'imu.accelerometer_walk': '0.001'}
SPREAD = random.Random(7)
LANDMARKS = [(8.0 * math.cos(a), 8.0 * math.sin(a), SPREAD.uniform(-2.5, 2.5)) for a in (math.tau * k / 100 for k in range(100))]
# Middles of tags on a round wall; the numbers are where a tag is about the vertical, rad, and its height, m.
TAGS = [(math.tau * k / 40, 0.9 * (k % 3 - 1)) for k in range(40)]


def motion(t):
    """Angle on the circle, speed and acceleration along it, after so many seconds."""
    s = max(t - STANDS_S, 0.0)
    if s < 1.0:
        return 0.5 * SPEED * s * s / RADIUS_M, SPEED * s, SPEED if s > 0.0 else 0.0
    return SPEED * (s - 0.5) / RADIUS_M, SPEED, 0.0


def on_body(t, yaw, place):
    """A place on the axes of what is turned by an angle on the body."""
    angle = motion(t)[0]
    x, y, heading = RADIUS_M * math.cos(angle), RADIUS_M * math.sin(angle), angle + math.pi / 2 + yaw
    c, s, dx, dy = math.cos(heading), math.sin(heading), place[0] - x, place[1] - y
    return c * dx + s * dy, -s * dx + c * dy, place[2]


def pixel(place):
    """Where a camera that looks along x has it, px; None outside of the image."""
    if place[0] < 0.3:
        return None
    u = 0.5 * WIDTH_PX - FOCAL_PX * place[1] / place[0]
    v = 0.5 * HEIGHT_PX - FOCAL_PX * place[2] / place[0]
    return (u, v) if 0.0 < u < WIDTH_PX and 0.0 < v < HEIGHT_PX else None


def stereo(t, noise):
    """Rows of a frame: identity, and pixels in both images."""
    rows = []
    for k, landmark in enumerate(LANDMARKS):
        place = on_body(t, 0.0, landmark)
        seen = pixel(place)
        if seen and len(rows) < MOST_IN_VIEW:
            u, v, disparity = *seen, FOCAL_PX * BASELINE_M / place[0]
            rows.append((u + noise(), v + noise(), u - disparity + noise(), v + noise(), k))
    return rows


def corners(t, yaw, noise):
    """Tags of an image: identity, and corners counterclockwise in it."""
    found = []
    for k, (angle, height) in enumerate(TAGS):
        c, s, half, tag = math.cos(angle), math.sin(angle), 0.5 * TAG_M, []
        for across, up in ((-half, -half), (half, -half), (half, half), (-half, half)):
            # Seen from inside, right is against the angle.
            tag.append(pixel(on_body(t, yaw, (6.0 * c + across * s, 6.0 * s - across * c, height + up))))
        if all(tag) and len(found) < TAGS_IN_VIEW:
            found.append((k, [(u + noise(), v + noise()) for u, v in tag]))
    return found


def send(with_tags, seconds):
    """Go round by the clock; say `go` before, and how many frames after."""
    import rclpy
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import CameraInfo, Imu, PointCloud2, PointField
    from tf2_msgs.msg import TFMessage

    sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../tests/ros'))
    from peer import stamp_into, transform

    rclpy.init()
    node, random_numbers = rclpy.create_node('sender'), random.Random(1)
    noise = lambda: random_numbers.gauss(0.0, 0.3)  # noqa: E731
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    static = node.create_publisher(TFMessage, '/tf_static', latched)
    yaws = [math.tau * k / len(CAMERAS) for k in range(len(CAMERAS))]

    def turned(yaw):
        (x, y, z, w), (c, s) = OPTICAL, (math.cos(yaw / 2), math.sin(yaw / 2))
        return (c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z)

    static.publish(TFMessage(transforms=[transform('base_link', name, (0.0, 0.0, 0.0), turned(yaw)) for name, yaw in zip(CAMERAS, yaws)]))
    imu = node.create_publisher(Imu, 'imu', 100)
    info = CameraInfo(width=WIDTH_PX, height=HEIGHT_PX, distortion_model='plumb_bob', d=[0.0] * 5)
    info.k = [FOCAL_PX, 0.0, 0.5 * WIDTH_PX, 0.0, FOCAL_PX, 0.5 * HEIGHT_PX, 0.0, 0.0, 1.0]
    info.p = [*info.k[:3], 0.0, *info.k[3:6], 0.0, *info.k[6:], 0.0]
    if with_tags:
        from apriltag_msgs.msg import AprilTagDetection, AprilTagDetectionArray

        frames = [node.create_publisher(AprilTagDetectionArray, f'{name}/detections', 20) for name in CAMERAS]
        about = [node.create_publisher(CameraInfo, f'{name}/camera_info', latched) for name in CAMERAS]
    else:
        frames = [node.create_publisher(PointCloud2, 'features', 20)]
        about = [node.create_publisher(CameraInfo, 'camera_info', latched)]
        names = ('u_left', 'v_left', 'u_right', 'v_right')
        fields = [PointField(name=n, offset=8 * k, datatype=PointField.FLOAT64, count=1) for k, n in enumerate(names)]
        fields.append(PointField(name='id', offset=32, datatype=PointField.UINT32, count=1))
    begun = time.monotonic()
    while not all(publisher.get_subscription_count() for publisher in [imu, *frames, *about]):
        if time.monotonic() - begun > PATIENCE_S:
            sys.exit('slam3d_node does not subscribe')
        time.sleep(0.05)
    for publisher in about:
        publisher.publish(info)
    time.sleep(1.0)

    def tags_of(t, yaw):
        message = AprilTagDetectionArray()
        for k, found in corners(t, yaw, noise):
            one = AprilTagDetection(family='tag36h11', id=k)
            for corner, (u, v) in zip(one.corners, found):
                corner.x, corner.y = u, v
            message.detections.append(one)
        return message

    def features_of(t):
        rows = stereo(t, noise)
        message = PointCloud2(fields=fields, height=1, width=len(rows), point_step=36, row_step=36 * len(rows), is_dense=True)
        message.data = b''.join(struct.pack('<ddddI', *row) for row in rows)
        return message

    # Filled in advance: this process shall not be what is measured.
    count = round(IMU_HZ * (STANDS_S + seconds))
    at = [k / IMU_HZ for k in range(0, count, FRAME_EVERY)]
    images = [[tags_of(t, yaw) for yaw in yaws] if with_tags else [features_of(t)] for t in at]
    sample, images_sent, is_said = Imu(), 0, False
    sample.header.frame_id, sample.orientation_covariance[0] = 'base_link', -1.0
    begun, epoch = time.monotonic(), time.time_ns()
    for k in range(count):
        t = k / IMU_HZ
        time.sleep(max(0.0, begun + t - time.monotonic()))
        if t >= STANDS_S and not is_said:
            print('go', flush=True)
            is_said = True
        ns, (_, speed, along) = epoch + round(t * 1e9), motion(t)
        stamp_into(sample.header.stamp, ns)
        w, f = sample.angular_velocity, sample.linear_acceleration
        w.x, w.y, w.z = (random_numbers.gauss(0.0, 0.005) for _ in range(3))
        f.x, f.y, f.z = (random_numbers.gauss(0.0, 0.05) for _ in range(3))
        w.z += speed / RADIUS_M
        f.x, f.y, f.z = f.x + along, f.y + speed * speed / RADIUS_M, f.z + GRAVITY
        imu.publish(sample)
        if k % FRAME_EVERY == 0:
            for publisher, name, image in zip(frames, CAMERAS, images[k // FRAME_EVERY]):
                stamp_into(image.header.stamp, ns)
                image.header.frame_id = name
                publisher.publish(image)
                images_sent += is_said
    print(images_sent, flush=True)
    time.sleep(1.0)


def listen():
    """Note how late poses come, and how far off their circle; what the node says of itself; say it at SIGTERM."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import PoseWithCovarianceStamped
    from nav_msgs.msg import Odometry

    rclpy.init()
    node = rclpy.create_node('listener')
    late, off, own, last, stop = {'samples': [], 'frames': []}, [], {}, {}, []

    def heard(kind, message):
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        late[kind].append(1e-6 * (time.time_ns() - stamp))
        if kind == 'frames':
            place = message.pose.pose.position
            # It begins at the origin and looks along x, to the left of which the middle of the circle is.
            off.append(abs(math.hypot(place.x, place.y - RADIUS_M) - RADIUS_M))

    def said(message):
        last.update({v.key: v.value for v in message.status[0].values})
        for key in ('sample_us.p50', 'sample_us.p99', 'step_us.p50', 'step_us.p99'):
            if float(last.get(key, 0.0)) > 0.0:
                own.setdefault(key, []).append(1e-3 * float(last[key]))

    node.create_subscription(Odometry, 'odometry/filtered', lambda m: heard('samples', m), 500)
    node.create_subscription(PoseWithCovarianceStamped, 'pose', lambda m: heard('frames', m), 100)
    node.create_subscription(DiagnosticArray, '/diagnostics', said, 10)
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    print('ready', flush=True)
    while not stop:
        rclpy.spin_once(node, timeout_sec=0.1)
    at = lambda of, part: sorted(of)[int(part * (len(of) - 1))] if of else math.nan  # noqa: E731
    print(json.dumps({
        'heard': {kind: [len(of), at(of, 0.5), at(of, 0.99)] for kind, of in late.items()},
        'inside': {key: statistics.median(of) for key, of in own.items()},
        'off': max(off, default=math.nan),
        'landmarks': last.get('landmarks', '?'),
        'used': {key: n for key, n in last.items() if key.endswith('.used')},
        'dropped': {key: n for key, n in last.items() if key.startswith('dropped.') and n != '0'},
    }))


def measure(command, with_tags, seconds):
    """One run: percent of a core, of that Fast DDS's threads, MB, frames that were sent, and what the listener heard."""
    processes = [node := subprocess.Popen(command, stdout=subprocess.DEVNULL)]
    try:
        processes.append(listener := peer('listen', script=__file__))
        expect(listener, 'ready')
        processes.append(sender := peer('send', int(with_tags), seconds, script=__file__))
        expect(sender, 'go')
        before, begun = cpu_ns(node.pid), time.monotonic()
        sent = int(sender.stdout.readline())
        after, lasted = cpu_ns(node.pid), time.monotonic() - begun
        memory = resident_mb(node.pid)
        sender.wait()
        time.sleep(1.2)  # for the diagnostics of the last second
        listener.terminate()
        heard = json.loads(listener.communicate()[0])
        own, dds = ((b - a) / lasted * 1e-7 for a, b in zip(before, after))
        return own + dds, dds, memory, sent, heard
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT if process is node else signal.SIGTERM)
                process.wait(5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('executable', nargs='?', help='slam3d_node, built for release')
    parser.add_argument('--seconds', type=float, default=20.0, help='of each run [default: 20]')
    parser.add_argument('--rounds', type=int, default=3, help='runs of each kind [default: 3]')
    parser.add_argument('--peer', nargs='+', help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        task, *arguments = given.peer
        return {'send': lambda a, s: send(a == '1', float(s)), 'listen': listen}[task](*arguments)
    if not given.executable or not os.access(given.executable, os.X_OK):
        parser.error('which executable? cargo xtask run cargo build --release --features apriltag_msgs --bin slam3d_node')
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))

    def node(**parameters):
        return [given.executable, '--ros-args', *(w for n, v in {**NOISE, **parameters}.items() for w in ('-p', f'{n}:={v}'))]

    topics = {'tags.detections': 'detections', 'tags.camera_infos': 'camera_info'}
    of_tags = {name: f'[{", ".join(f"{camera}/{topic}" for camera in CAMERAS)}]' for name, topic in topics.items()}
    of_tags |= {'tags.use_imu': 'true', 'tags.size_m': str(TAG_M)}
    kinds = {
        'landmarks': (node(**{'sensor.baseline_m': str(BASELINE_M)}), False),
        'tags': (node(**of_tags), True),
    }
    runs = {}
    for k in range(given.rounds * len(kinds)):
        name = list(kinds)[k % len(kinds)]
        print(f'\r{k + 1} of {given.rounds * len(kinds)} ', end='', file=sys.stderr, flush=True)
        runs.setdefault(name, []).append(measure(*kinds[name], given.seconds))
    print('\r', end='', file=sys.stderr)
    print('| | % of a core | of that Fast DDS | MB | inside, ms: sample p50, p99, frame p50, p99 | sent to heard, ms: the same | frames sent, poses |')
    print('|---|---|---|---|---|---|---|')
    for name, of in runs.items():
        cpu = [run[0] for run in of]
        of_dds, memory = (statistics.median(run[i] for run in of) for i in (1, 2))
        keys = ('sample_us.p50', 'sample_us.p99', 'step_us.p50', 'step_us.p99')
        inside = ', '.join(f'{statistics.median(run[4]["inside"].get(key, math.nan) for run in of):.2f}' for key in keys)
        places = [(kind, k) for kind in ('samples', 'frames') for k in (1, 2)]
        outside = ', '.join(f'{statistics.median(run[4]["heard"][kind][k] for run in of):.2f}' for kind, k in places)
        print(
            f'| {name} | {statistics.median(cpu):.1f} [{min(cpu):.1f}, {max(cpu):.1f}] | {of_dds:.1f} | {memory:.1f} '
            f'| {inside} | {outside} | {of[-1][3]}, {of[-1][4]["heard"]["frames"][0]} |'
        )
    for name, of in runs.items():
        heard = of[-1][4]
        said = f'{heard["off"]:.3f} m off the circle at most, used {heard["used"]}, dropped {heard["dropped"]}'
        print(f'{name}: {heard["landmarks"]} landmarks, {said}', file=sys.stderr)
    return 0


if __name__ == '__main__':
    main()
