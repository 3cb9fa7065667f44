"""Listens to the simulator and to slam_node, and compares."""

import math
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from peer import nanos
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import PointCloud2

rclpy.init()
node = Node('listener')
# Kept, since `rclpy.spin_once` takes the node in and out again at every call.
executor = SingleThreadedExecutor()
executor.add_node(node)
truth, odometry, estimates, clouds, reports = {}, [], {}, [], []


def keep(store):
    """Position of a pose, by its stamp."""

    def callback(message):
        pose = message.pose.pose if hasattr(message.pose, 'pose') else message.pose
        store[nanos(message.header.stamp)] = (pose.position.x, pose.position.y)

    return callback


node.create_subscription(PoseStamped, 'ground_truth/pose', keep(truth), 1000)
node.create_subscription(PoseWithCovarianceStamped, 'pose', keep(estimates), 1000)
node.create_subscription(DiagnosticArray, '/diagnostics', reports.append, 10)
while not node.count_publishers('pose'):
    executor.spin_once(timeout_sec=0.05)
# The simulator waits for these, and so for slam_node to be found as well. They are counted and not read.
node.create_subscription(Odometry, 'odom', odometry.append, 1000, raw=True)
node.create_subscription(PointCloud2, 'features', clouds.append, 1000, raw=True)

deadline, heard, count = time.monotonic() + 60.0, time.monotonic(), 0
while min(len(truth), len(odometry), len(clouds), len(estimates)) < 401 and time.monotonic() < deadline:
    executor.spin_once(timeout_sec=0.1)
    if count != len(truth) + len(odometry) + len(clouds) + len(estimates):
        count, heard = len(truth) + len(odometry) + len(clouds) + len(estimates), time.monotonic()
    if truth and time.monotonic() > heard + 5.0:
        break
# Nothing may come twice.
end = time.monotonic() + 1.0
while time.monotonic() < end:
    executor.spin_once(timeout_sec=0.1)

errors = [math.dist(truth[stamp], estimates[stamp]) for stamp in estimates]
rmse = math.sqrt(sum(e * e for e in errors) / len(errors))
print(f'{len(truth)} true poses, {len(clouds)} clouds, {len(estimates)} estimates, rmse {rmse:.3f} m')
if len(estimates) < 401:
    # The simulation is over. What the node says of itself now tells whether it goes on, and where clouds have gone.
    reports.clear()
    end = time.monotonic() + 20.0
    while not reports and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    assert reports, 'the node does not say anything any more'
    said = {value.key: value.value for value in reports[-1].status[0].values}
    print(f'{len(odometry)} odometry messages; the node says {said}')
    received, used, steps = (int(said[key]) for key in ('features.received', 'features.used', 'steps'))
    late = sum(int(said[f'dropped.{reason}']) for reason in ('stale', 'too_late', 'queue_full'))
    assert received - used <= late, 'clouds were dropped for another reason than load, or without being counted'
    is_waiting = int(said['odom.received']) < 401  # for odometry that is still on its way
    assert is_waiting or used <= steps + 2, 'clouds wait although their odometry is there'
    assert len(estimates) >= 200 and list(estimates) == sorted(estimates) and rmse < 0.5
    print('incomplete: this machine has not carried all messages at this rate')
    raise SystemExit(0)
assert len(truth) == len(odometry) == 401, (len(truth), len(odometry))
assert len(estimates) == len(clouds) == 401, (len(estimates), len(clouds))
assert list(estimates) == sorted(estimates)
assert rmse < 0.5, rmse
travelled = math.dist(min(truth.items())[1], truth[sorted(truth)[200]])
assert travelled > 10.0, travelled
