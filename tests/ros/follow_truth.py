"""Listens to the simulator and to slam_node, and compares."""

import math

import rclpy
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from peer import nanos
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import PointCloud2

rclpy.init()
node = Node('listener')
truth, odometry, estimates, clouds = {}, [], {}, []


def keep(store):
    """Position of a pose, by its stamp."""

    def callback(message):
        pose = message.pose.pose if hasattr(message.pose, 'pose') else message.pose
        store[nanos(message.header.stamp)] = (pose.position.x, pose.position.y)

    return callback


node.create_subscription(PoseStamped, 'ground_truth/pose', keep(truth), 1000)
node.create_subscription(PoseWithCovarianceStamped, 'pose', keep(estimates), 1000)
node.create_subscription(Odometry, 'odom', odometry.append, 1000)
node.create_subscription(PointCloud2, 'features', clouds.append, 1000)

silent = 0
while silent < 20:
    before = len(truth) + len(estimates)
    rclpy.spin_once(node, timeout_sec=0.1)
    running = bool(truth) or node.count_publishers('ground_truth/pose') == 0
    silent = silent + 1 if running and before == len(truth) + len(estimates) else 0
    assert silent < 20 or truth, 'nothing was heard'

errors = [math.dist(truth[stamp], estimates[stamp]) for stamp in estimates]
rmse = math.sqrt(sum(e * e for e in errors) / len(errors))
print(f'{len(truth)} true poses, {len(clouds)} clouds, {len(estimates)} estimates, rmse {rmse:.3f} m')
assert len(truth) == len(odometry) == 401, (len(truth), len(odometry))
# The listener may find slam_node a moment after the simulator has begun.
assert len(clouds) - 5 <= len(estimates) <= len(clouds), (len(estimates), len(clouds))
assert list(estimates) == sorted(estimates)
assert rmse < 0.5, rmse
travelled = math.dist(min(truth.items())[1], truth[sorted(truth)[200]])
assert travelled > 10.0, travelled
