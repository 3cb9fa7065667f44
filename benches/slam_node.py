"""What slam_node costs: CPU time of all its threads, memory, and time from a cloud to its pose, with few inputs and with all.

    cargo xtask run cargo build --release --bin slam_node
    cargo xtask run python3 benches/slam_node.py target/release/slam_node

A robot drives on a circle among 121 landmarks: odometry at 200 Hz, clouds of ranges and bearings (about 20 in view) at 20 Hz.
`all inputs` has beside them an inertial sensor at 200 Hz, a second sensor at 20 Hz, tags on /tf at 10 Hz, and absolute poses
at 1 Hz. Settings are measured in turns; a node of rclpy that does nothing with odometry and clouds is a yardstick.
On loopback, in a ROS domain of its own; Linux only (/proc)."""

import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import time

from attitude_node import PATIENCE_S, cpu_ns, expect, peer

ODOM_HZ, CLOUD_EVERY, TAGS_EVERY, ABSOLUTE_EVERY = 200.0, 10, 20, 200
RADIUS_M, SPEED, REACH_M = 6.0, 1.0, 5.0
LANDMARKS = [(2.0 * i, 2.0 * j) for i in range(-5, 6) for j in range(-5, 6)]
# What is named `rear` looks back; every fifth landmark carries a tag as well, which a camera that looks ahead sees.
SECOND = {'sensors': '[rear]', 'rear.topic': 'rear', 'rear.x_m': '-0.3', 'rear.y_m': '0.0', 'rear.yaw_rad': str(math.pi)}
ALL = {
    **SECOND,
    'use_imu': 'true',
    'gnss.use_absolute_pose': 'true',
    'tags.frame_patterns': "['tag36h11:{id+5000}']",
    'tags.max_range_m': '30.0',
}
BEGIN = {'initial.x_m': str(RADIUS_M), 'initial.yaw_rad': str(math.pi / 2)}


def in_view(x, y, yaw):
    """Number, and place on the robot's axes, of what is within reach."""
    c, s = math.cos(yaw), math.sin(yaw)
    for i, (u, v) in enumerate(LANDMARKS):
        dx, dy = u - x, v - y
        if dx * dx + dy * dy < REACH_M * REACH_M:
            yield i, c * dx + s * dy, -s * dx + c * dy


def send(everything, seconds):
    """Drive by the clock; say `go` before, and how many clouds after."""
    import random

    import rclpy
    from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
    from nav_msgs.msg import Odometry
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import Imu, PointCloud2
    from tf2_msgs.msg import TFMessage

    sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../tests/ros'))
    from peer import cloud, stamp_into, transform

    rclpy.init()
    node, noise = rclpy.create_node('sender'), random.Random(1)
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    static = node.create_publisher(TFMessage, '/tf_static', latched)
    optical = (-0.5, 0.5, -0.5, 0.5)
    static.publish(TFMessage(transforms=[transform('base_link', 'lidar'), transform('base_link', 'camera', (0.2, 0.0, 0.0), optical)]))
    odom, features = node.create_publisher(Odometry, 'odom', 100), node.create_publisher(PointCloud2, 'features', 20)
    wanted = [odom, features]
    if everything:
        imu, rear = node.create_publisher(Imu, 'imu', 100), node.create_publisher(PointCloud2, 'rear', 20)
        tags = node.create_publisher(TFMessage, '/tf', 20)
        absolute = node.create_publisher(PoseWithCovarianceStamped, 'absolute_pose', 10)
        wanted += [imu, rear, absolute]
    begun = time.monotonic()
    while not all(publisher.get_subscription_count() for publisher in wanted):
        if time.monotonic() - begun > PATIENCE_S:
            sys.exit('slam_node does not subscribe')
        time.sleep(0.05)
    time.sleep(1.0)
    # Messages are filled in advance where that can be: this process shall not be what is measured.
    twist, turn = Odometry(), Imu()
    twist.header.frame_id, twist.child_frame_id, twist.twist.twist.linear.x = 'odom', 'base_link', SPEED
    twist.twist.twist.angular.z = SPEED / RADIUS_M
    turn.header.frame_id, turn.orientation_covariance[0] = 'base_link', -1.0
    turn.angular_velocity.z = SPEED / RADIUS_M
    turn.linear_acceleration.z = 9.81
    where = PoseWithCovarianceStamped()
    where.header.frame_id = 'map'
    for i in (0, 7, 35):
        where.pose.covariance[i] = 0.01
    clouds, count = 0, round(ODOM_HZ * seconds)
    print('go', flush=True)
    begun, epoch = time.monotonic(), time.time_ns()
    for k in range(count):
        time.sleep(max(0.0, begun + k / ODOM_HZ - time.monotonic()))
        ns = epoch + round(k / ODOM_HZ * 1e9)
        stamp_into(twist.header.stamp, ns)
        odom.publish(twist)
        if everything:
            stamp_into(turn.header.stamp, ns)
            imu.publish(turn)
        if k % CLOUD_EVERY:
            continue
        angle = SPEED / RADIUS_M * k / ODOM_HZ
        x, y, yaw = RADIUS_M * math.cos(angle), RADIUS_M * math.sin(angle), angle + math.pi / 2
        seen = list(in_view(x, y, yaw))
        polar = [(i, math.hypot(u, v) + noise.gauss(0.0, 0.05), math.atan2(v, u) + noise.gauss(0.0, 0.02)) for i, u, v in seen]
        features.publish(cloud(ns, polar, frame='lidar'))
        clouds += 1
        if everything:
            behind = [(i, noise.gauss(-(u + 0.3), 0.1), noise.gauss(-v, 0.1)) for i, u, v in seen if u < -0.5]
            rear.publish(cloud(ns, behind, names=('x', 'y'), frame='back'))
            if k % TAGS_EVERY == 0:
                found = [(i, u - 0.2, v) for i, u, v in seen if i % 5 == 0 and u > 0.7]
                tags.publish(TFMessage(transforms=[transform('camera', f'tag36h11:{i}', (-v, 0.0, u), ns=ns) for i, u, v in found]))
            if k % ABSOLUTE_EVERY == 0:
                stamp_into(where.header.stamp, ns)
                position, turned = where.pose.pose.position, where.pose.pose.orientation
                position.x, position.y = x + noise.gauss(0.0, 0.1), y + noise.gauss(0.0, 0.1)
                turned.z, turned.w = math.sin(yaw / 2), math.cos(yaw / 2)
                absolute.publish(where)
    print(clouds, flush=True)
    time.sleep(1.0)


def listen():
    """Note how far off each pose is and how late it comes, and what the node says of itself; say them at SIGTERM."""
    import json

    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import PoseWithCovarianceStamped

    rclpy.init()
    node = rclpy.create_node('listener')
    late, off, own, last, stop = [], [], {}, {}, []

    def heard(message):
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        late.append(1e-6 * (time.time_ns() - stamp))
        off.append(abs(math.hypot(message.pose.pose.position.x, message.pose.pose.position.y) - RADIUS_M))

    def said(message):
        last.update({v.key: v.value for v in message.status[0].values})
        if float(last.get('latency_ms.p99', 0.0)) > 0.0:
            own.setdefault('p50', []).append(float(last['latency_ms.p50']))
            own.setdefault('p99', []).append(float(last['latency_ms.p99']))

    node.create_subscription(PoseWithCovarianceStamped, 'pose', heard, 100)
    node.create_subscription(DiagnosticArray, '/diagnostics', said, 10)
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    print('ready', flush=True)
    while not stop:
        rclpy.spin_once(node, timeout_sec=0.1)
    late.sort()
    at = lambda part: late[int(part * (len(late) - 1))] if late else math.nan  # noqa: E731
    inside = [statistics.median(own[key]) if own.get(key) else math.nan for key in ('p50', 'p99')]
    print(json.dumps({
        'poses': len(late),
        'outside': [at(0.5), at(0.99)],
        'inside': inside,
        'off': max(off, default=math.nan),
        'landmarks': last.get('map.features', '?'),
        'used': {key: n for key, n in last.items() if key.endswith('.used')},
        'dropped': {key: n for key, n in last.items() if key.startswith('dropped.') and n != '0'},
    }))


def subscribe():
    """Take odometry and clouds and do nothing with them, as a node that stays at the defaults of rclpy."""
    import rclpy
    from nav_msgs.msg import Odometry
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import PointCloud2

    rclpy.init()
    node = rclpy.create_node('subscriber')
    node.create_subscription(Odometry, 'odom', lambda _: None, qos_profile_sensor_data)
    node.create_subscription(PointCloud2, 'features', lambda _: None, qos_profile_sensor_data)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass


def resident_mb(pid):
    """Memory of a process that is in use."""
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        return next(int(line.split()[1]) / 1024.0 for line in status if line.startswith('VmRSS'))


def measure(command, everything, seconds):
    """One run: percent of a core, of that Fast DDS's threads, MB, and what the listener heard."""
    import json

    processes = [node := subprocess.Popen(command, stdout=subprocess.DEVNULL)]
    try:
        processes.append(listener := peer('listen', script=__file__))
        expect(listener, 'ready')
        processes.append(sender := peer('send', int(everything), seconds, script=__file__))
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
    parser.add_argument('executable', nargs='?', help='slam_node, built for release')
    parser.add_argument('--seconds', type=float, default=20.0, help='of each run [default: 20]')
    parser.add_argument('--rounds', type=int, default=3, help='runs of each kind [default: 3]')
    parser.add_argument('--peer', nargs='+', help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        task, *arguments = given.peer
        tasks = {'send': lambda a, s: send(a == '1', float(s)), 'listen': listen, 'subscribe': subscribe}
        return tasks[task](*arguments)
    if not given.executable or not os.access(given.executable, os.X_OK):
        parser.error('which executable? cargo xtask run cargo build --release --bin slam_node')
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))

    def node(**parameters):
        return [given.executable, '--ros-args', *(w for n, v in {**BEGIN, **parameters}.items() for w in ('-p', f'{n}:={v}'))]

    kinds = {
        'odometry and clouds': (node(), False),
        'the same, `iterated`': (node(filter='iterated'), False),
        'all inputs': (node(**ALL), True),
        'all inputs, `iterated`': (node(filter='iterated', **ALL), True),
        'a node of rclpy that does nothing with odometry and clouds': ([sys.executable, __file__, '--peer', 'subscribe'], False),
    }
    runs = {}
    for k in range(given.rounds * len(kinds)):
        name = list(kinds)[k % len(kinds)]
        print(f'\r{k + 1} of {given.rounds * len(kinds)} ', end='', file=sys.stderr, flush=True)
        runs.setdefault(name, []).append(measure(*kinds[name], given.seconds))
    print('\r', end='', file=sys.stderr)
    print('| | % of a core | of that Fast DDS | MB | inside the node: p50, p99, ms | cloud sent to pose heard: p50, p99, ms | sent, poses |')
    print('|---|---|---|---|---|---|---|')
    for name, of in runs.items():
        cpu = [run[0] for run in of]
        of_dds, memory = (statistics.median(run[i] for run in of) for i in (1, 2))
        inside, outside = ([statistics.median(run[4][key][i] for run in of) for i in (0, 1)] for key in ('inside', 'outside'))
        print(
            f'| {name} | {statistics.median(cpu):.1f} [{min(cpu):.1f}, {max(cpu):.1f}] | {of_dds:.1f} | {memory:.1f} '
            f'| {inside[0]:.2f}, {inside[1]:.2f} | {outside[0]:.2f}, {outside[1]:.2f} | {of[-1][3]}, {of[-1][4]["poses"]} |'
        )
    for name, of in runs.items():
        heard = of[-1][4]
        if heard['poses']:
            said = f'{heard["off"]:.3f} m off the circle at most, used {heard["used"]}, dropped {heard["dropped"]}'
            print(f'{name}: {heard["landmarks"]} landmarks, {said}', file=sys.stderr)
    return 0


if __name__ == '__main__':
    main()
