"""A robot on a banked track: its gyroscope has a bias and leans; attitude_node mends that, and slam_node drives by it."""

import math
import time

import rclpy
from attitude_peer import BANK, STEP_NS, TURN, Sensor
from nav_msgs.msg import Odometry
from peer import nanos, stamp_into, yaw_of

ODOMETRY_EVERY = 4
SPEED = 1.0

rclpy.init()
sensor = Sensor()
predictions = []
odom = sensor.create_publisher(Odometry, 'odom', 100)
sensor.create_subscription(Odometry, 'odometry/filtered', predictions.append, 100)
sensor.connect(sensor.imu, odom)
# The topic between the two nodes.
sensor.until(lambda: sensor.count_subscribers('attitude') == 2, 'slam_node')
sensor.feed(4.0)


def odometry(speed):
    """What the wheels say; they slip in turns, and say nothing of these."""
    message = Odometry()
    stamp_into(message.header.stamp, sensor.now_ns)
    message.header.frame_id, message.child_frame_id = 'odom', 'base_link'
    message.pose.pose.orientation.w = 1.0
    message.twist.twist.linear.x = speed
    return message


odom.publish(odometry(0.0))
for k in range(500):
    sensor.feed(ODOMETRY_EVERY * STEP_NS * 1e-9, turn=TURN)
    # Messages between the two nodes may be later than this one's; nothing comes after the last to make up for it.
    time.sleep(0.2 if k == 499 else 0.001)
    odom.publish(odometry(SPEED))
sensor.until(lambda: predictions and nanos(predictions[-1].header.stamp) >= sensor.now_ns, 'the newest prediction')
found = predictions[-1].pose.pose
heading = math.remainder(yaw_of(found.orientation) - sensor.heading, 2.0 * math.pi)
assert abs(heading) < 0.02, f'off by {heading}; the rate about its own vertical would be off by 0.10, and its bias by 0.05'
# On a track that is banked about the way ahead, the way is as long as the wheels say.
x, y = SPEED / TURN * math.sin(sensor.heading), SPEED / TURN * (1.0 - math.cos(sensor.heading))
assert math.dist((found.position.x, found.position.y), (x, y)) < 0.05, (found.position, x, y)
assert math.cos(BANK) < 0.99
print(f'heading off by {heading:.1e} rad after {sensor.heading:.1f} rad')
