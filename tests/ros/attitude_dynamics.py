"""attitude_node in mode dynamics: a rigid body under torques, and what is wrong with some of them."""

import math

import rclpy
from attitude_peer import SECOND, Sensor
from geometry_msgs.msg import WrenchStamped
from peer import stamp_into, yaw_of
from tf2_msgs.msg import TFMessage

rclpy.init()
sensor = Sensor()
transforms = []
sensor.create_subscription(TFMessage, '/tf', lambda m: transforms.extend(m.transforms), 1000)
sensor.connect(sensor.wrench)


def wrench(ns, z):
    """A torque about the vertical."""
    message = WrenchStamped()
    stamp_into(message.header.stamp, ns)
    message.header.frame_id = 'imu_link'
    message.wrench.torque.z = z
    return message


# 0.04 kg m², 0.04 N m for half a second, then nothing: 0.5 rad/s, and 0.125 + 0.25 rad after a second.
for step in range(51):
    sensor.now_ns += SECOND // 50
    sensor.wrench.publish(wrench(sensor.now_ns, 0.04 if step < 25 else 0.0))
    sensor.follow(sensor.now_ns)
said = sensor.attitudes[-1]
assert abs(said.angular_velocity.z - 0.5) < 1e-12 and abs(yaw_of(said.orientation) - 0.375) < 1e-4, said
assert said.linear_acceleration_covariance[0] == -1.0, 'it has no accelerometer'
assert said.header.frame_id == 'imu_link' and len(sensor.attitudes) == 51
sensor.until(lambda: len(transforms) == 51, 'transforms')
assert transforms[-1].transform.rotation == said.orientation, transforms[-1]
assert all((t.header.frame_id, t.child_frame_id) == ('world', 'imu_link') for t in transforms), transforms[-1]

expected = {}
for reason, ns, z in (
    ('not_finite', sensor.now_ns + 1, math.nan),
    ('absurd', sensor.now_ns + 1, 1e9),
    ('duplicate_stamp', sensor.now_ns, 0.0),
    ('too_late', sensor.now_ns - 1, 0.0),
):
    sensor.wrench.publish(wrench(ns, z))
    expected[reason] = 1
message = wrench(sensor.now_ns + 1, 0.0)
message.header.frame_id = 'gripper'
sensor.wrench.publish(message)
expected['unknown_frame'] = 1
sensor.now_ns += SECOND // 50
sensor.wrench.publish(wrench(sensor.now_ns, 0.0))
sensor.follow(sensor.now_ns)
assert abs(yaw_of(sensor.attitudes[-1].orientation) - 0.385) < 1e-4, sensor.attitudes[-1]
_, _, values = sensor.next_status()
counted = {key.removeprefix('dropped.'): int(n) for key, n in values.items() if key.startswith('dropped.')}
assert {reason: n for reason, n in counted.items() if n} == expected, (counted, expected)
print('the body turns as it should')
