"""What attitude_node shows of itself: topics, QoS, frames, orientation, bias, transforms, parameters, services, time."""

import math

import rclpy
from attitude_peer import BIAS, STEP_NS, TURN, Sensor, angle_between, on_platform
from peer import nanos, stamp_into
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, ListParameters, SetParameters
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

rclpy.init()
sensor = Sensor('robot1', imu='imu/data_raw')
transforms = []
sensor.create_subscription(TFMessage, '/tf', lambda m: transforms.extend(m.transforms), 1000)
clock = sensor.create_publisher(Clock, '/clock', 10)
sensor.connect(sensor.imu)


def call(kind, name, **fields):
    """Call a service of the node."""
    client = sensor.create_client(kind, f'attitude_node/{name}')
    assert client.wait_for_service(5.0), name
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(sensor, future, timeout_sec=5.0)
    assert future.done(), f'{name} does not answer'
    sensor.destroy_client(client)
    return future.result()


def qos_of(infos, topic):
    """Quality of service of the node's end of a topic, once the graph has its name."""
    ends = lambda: [i for i in infos(topic) if i.node_name == 'attitude_node']  # noqa: E731
    sensor.until(ends, f'attitude_node at {topic}')
    [end] = ends()
    return end.qos_profile, end.topic_type


# Quality of service: sensor data in, reliable out.
qos, kind = qos_of(sensor.get_subscriptions_info_by_topic, '/robot1/imu/data_raw')
assert (qos.reliability, kind) == (ReliabilityPolicy.BEST_EFFORT, 'sensor_msgs/msg/Imu')
for topic, expected in (
    ('/robot1/attitude', 'sensor_msgs/msg/Imu'),
    ('/robot1/gyro_bias', 'geometry_msgs/msg/Vector3Stamped'),
    ('/tf', 'tf2_msgs/msg/TFMessage'),
):
    qos, kind = qos_of(sensor.get_publishers_info_by_topic, topic)
    assert (qos.reliability, qos.durability) == (ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE), topic
    assert kind == expected, topic
for topic in ('/robot1/wrench', '/robot1/mag'):
    ends = [i for i in sensor.get_subscriptions_info_by_topic(topic) if i.node_name == 'attitude_node']
    assert not ends, f'{topic} is not wanted in this mode'

# At rest the bank is seen at once, and the bias after a while.
said = sensor.feed(4.0)
assert angle_between(on_platform(0.0), said) < 5e-3, said.orientation
assert math.dist((sensor.biases[-1].vector.x, sensor.biases[-1].vector.y, sensor.biases[-1].vector.z), BIAS) < 5e-4
_, _, values = sensor.next_status()
assert values['at_rest'] == 'true', values
assert values['input.used'] == values['input.received'] == '800' and values['gaps'] == '0', values

# A turn about the vertical: heading, tilt and the rate without bias.
said = sensor.feed(6.0, turn=TURN)
assert angle_between(on_platform(sensor.heading), said) < 1e-2, (angle_between(on_platform(sensor.heading), said), said)
rate, (sin, cos) = said.angular_velocity, (math.sin(0.2), math.cos(0.2))
assert math.dist((rate.x, rate.y, rate.z), (0.0, TURN * sin, TURN * cos)) < 2e-3, rate
assert abs(math.hypot(said.orientation.w, said.orientation.x, said.orientation.y, said.orientation.z) - 1) < 1e-12
covariance = list(said.orientation_covariance)
assert all(abs(covariance[3 * i + j] - covariance[3 * j + i]) < 1e-15 for i in range(3) for j in range(3)), covariance
assert all(0.0 < covariance[4 * i] < 0.1 for i in range(3)), covariance
assert said.angular_velocity_covariance[0] > 1e-6, 'that of the sensor, and of the bias'
assert said.linear_acceleration_covariance[0] == 4e-4, 'that of the sensor'

# Every sample has its estimate, with the stamp and the frame of the sensor; the bias comes less often.
stamps = [nanos(m.header.stamp) for m in sensor.attitudes]
assert len(stamps) == 2000 and all(b - a == STEP_NS for a, b in zip(stamps, stamps[1:])), len(stamps)
assert all(m.header.frame_id == 'imu_link' for m in sensor.attitudes + sensor.biases)
assert 95 <= len(sensor.biases) <= 101, len(sensor.biases)

# tf: from the world to the sensor, a rotation alone, no more often than wanted.
sensor.until(lambda: len(transforms) >= 198, 'transforms')
assert len(transforms) <= 202, len(transforms)
assert all((t.header.frame_id, t.child_frame_id) == ('odom', 'imu_link') for t in transforms)
stamps = [nanos(t.header.stamp) for t in transforms]
assert all(a < b for a, b in zip(stamps, stamps[1:])), stamps
by_stamp = {nanos(m.header.stamp): m.orientation for m in sensor.attitudes}
for t in transforms:
    assert t.transform.rotation == by_stamp[nanos(t.header.stamp)]
    assert t.transform.translation.x == t.transform.translation.y == t.transform.translation.z == 0.0

# Diagnostics name the node, and say of every reason how often it happened.
_, _, values = sensor.next_status()
assert sensor.diagnostics[-1].status[0].name == 'robot1/attitude_node: attitude'
assert all(int(n) == 0 for key, n in values.items() if key.startswith('dropped.') and 'not_' not in key), values
assert abs(float(values['gyro_bias.y']) - BIAS[1]) < 1e-3 and float(values['step_us.max']) >= 0.0

# use_sim_time: time comes from /clock.
tick = Clock()
stamp_into(tick.clock, 12_345 * 1_000_000_000)
clock.publish(tick)
sensor.diagnostics.clear()
sensor.until(lambda: any(m.header.stamp.sec == 12_345 for m in sensor.diagnostics), 'simulated time')

# Parameters: described; changed while running, or refused with the reason.
names = call(ListParameters, 'list_parameters').result.names
assert {'method', 'gyroscope.noise_density', 'mode', 'imu_frame', 'body.ixx', 'use_sim_time'} <= set(names), names
assert all(d.description for d in call(DescribeParameters, 'describe_parameters', names=names).descriptors)


def change(name, **value):
    """Set one parameter."""
    kinds = {'string_value': ParameterType.PARAMETER_STRING, 'double_value': ParameterType.PARAMETER_DOUBLE}
    [key] = value
    parameter = Parameter(name=name, value=ParameterValue(type=kinds[key], **value))
    return call(SetParameters, 'set_parameters', parameters=[parameter]).results[0]


for method in ('midpoint', 'cayley', 'rkmk4', 'commutator_free4', 'magnus4'):
    assert change('method', string_value=method).successful
    said = sensor.feed(0.5, turn=TURN)
    assert angle_between(on_platform(sensor.heading), said) < 1e-2, method
for name, value, reason in (
    ('method', {'string_value': 'euler'}, 'magnus4'),
    ('gyroscope.delay_s', {'double_value': 7.0}, '0 … 0.1'),
    ('accelerometer.gravity', {'double_value': 1.62}, 'start'),
    ('world_frame', {'string_value': 'map'}, 'start'),
):
    refused = change(name, **value)
    assert not refused.successful and reason in refused.reason, (name, refused.reason)

# Services: off and on, and anew.
assert call(SetBool, 'set_enabled', data=False).success
count = len(sensor.attitudes)
for _ in range(5):
    sensor.now_ns += STEP_NS
    sensor.imu.publish(sensor.sample())
sensor.until(lambda: int(sensor.next_status()[2]['dropped.disabled']) == 5, 'input to be counted as disabled')
level, sentence, values = sensor.next_status()
assert level == 1 and 'switched off' in sentence and values['enabled'] == 'false', (level, sentence)
assert len(sensor.attitudes) == count
assert call(SetBool, 'set_enabled', data=True).success
said = sensor.feed(1.0)
assert angle_between(on_platform(0.0), said) < 1e-2, 'heading starts anew, the bias is kept'
assert call(Trigger, 'reset').success
sensor.now_ns -= 500 * 1_000_000_000
sensor.biases.clear()
said = sensor.feed(0.1)
assert angle_between(on_platform(0.0), said) < 1e-2
assert math.hypot(sensor.biases[0].vector.x, sensor.biases[0].vector.y) < 5e-3, 'nothing is known of the bias'
print('all as documented')
