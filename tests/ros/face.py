"""What slam_node shows of itself: topics, QoS, frames, transforms, parameters, services, time."""

import math

import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Path
from peer import STEP_NS, WORLD, Peer, nanos, stamp_into, yaw_of
from rcl_interfaces.msg import Parameter, ParameterEvent, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import PointCloud2
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

rclpy.init()
peer = Peer('robot1', odom='wheels/odom')
transforms, events, paths, clouds, markers = [], [], [], [], []
peer.create_subscription(TFMessage, '/tf', lambda m: transforms.extend(m.transforms), 100)
peer.create_subscription(ParameterEvent, '/parameter_events', events.append, 100)
peer.create_subscription(Path, 'path', paths.append, 10)
peer.create_subscription(PointCloud2, 'landmarks', clouds.append, 10)
peer.create_subscription(MarkerArray, 'markers', markers.append, 10)
clock = peer.create_publisher(Clock, '/clock', 10)
peer.connect(imu=True)


def call(kind, name, **fields):
    """Call a service of the node."""
    client = peer.create_client(kind, f'slam_node/{name}')
    assert client.wait_for_service(5.0), name
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(peer, future, timeout_sec=5.0)
    assert future.done(), f'{name} does not answer'
    peer.destroy_client(client)
    return future.result()


def value(x):
    """A value as a message has it."""
    if isinstance(x, bool):
        return ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=x)
    if isinstance(x, int):
        return ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=x)
    if isinstance(x, float):
        return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=x)
    return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=x)


def change(**changes):
    """Set parameters, each for itself; dots are written as double underscores."""
    parameters = [Parameter(name=n.replace('__', '.'), value=value(v)) for n, v in changes.items()]
    return call(SetParameters, 'set_parameters', parameters=parameters).results


def qos_of(infos, topic):
    """Quality of service of the node's end of a topic, once the graph has its name."""
    peer.until(lambda: any(i.node_name == 'slam_node' for i in infos(f'/robot1/{topic}')), f'slam_node at {topic}')
    [qos] = [i.qos_profile for i in infos(f'/robot1/{topic}') if i.node_name == 'slam_node']
    return qos


# Quality of service: sensor data in, reliable out.
for topic in ('wheels/odom', 'features', 'imu'):
    qos = qos_of(peer.get_subscriptions_info_by_topic, topic)
    assert qos.reliability == ReliabilityPolicy.BEST_EFFORT, topic
for topic in ('pose', 'odometry/filtered', 'path', 'landmarks', 'markers'):
    qos = qos_of(peer.get_publishers_info_by_topic, topic)
    assert (qos.reliability, qos.durability) == (ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE), topic

# Poses, frames, stamps. Every fifth odometry is sent twice, which must not show.
for _ in range(10):
    peer.drive(5, imu=True)
    peer.odom.publish(peer.odometry())
peer.check_pose('after driving')
peer.until(lambda: nanos(peer.filtered[-1].header.stamp) == peer.now_ns, 'the newest prediction')
for name, messages in (('pose', peer.poses), ('odometry/filtered', peer.filtered)):
    stamps = [nanos(m.header.stamp) for m in messages]
    assert all(a < b for a, b in zip(stamps, stamps[1:])), f'{name}: {stamps}'
    assert all(m.header.frame_id == 'map' for m in messages), name
assert len(peer.poses) == 10 and len(peer.filtered) == 51, (len(peer.poses), len(peer.filtered))
assert all(m.child_frame_id == 'base_link' for m in peer.filtered)
assert all(b - a == STEP_NS for a, b in zip(stamps, stamps[1:]))
for m in peer.poses:
    c = m.pose.covariance
    assert c[0] > 0 and c[7] > 0 and c[35] > 0, c
    assert all(c[6 * i + j] == c[6 * j + i] for i in range(6) for j in range(6)), c
assert abs(peer.filtered[-1].twist.twist.linear.x - 1.0) < 1e-12

# tf: map → odom, which with the odometry's own pose gives the estimate.
peer.until(lambda: len(transforms) >= 51, 'transforms')
assert all(t.header.frame_id == 'map' and t.child_frame_id == 'odom' for t in transforms)
stamps = [nanos(t.header.stamp) for t in transforms]
assert all(a < b for a, b in zip(stamps, stamps[1:])), stamps
last, estimate = transforms[-1].transform, peer.filtered[-1].pose.pose
yaw = yaw_of(last.rotation)
x = last.translation.x + math.cos(yaw) * 5.0 - math.sin(yaw) * peer.x
y = last.translation.y + math.sin(yaw) * 5.0 + math.cos(yaw) * peer.x
assert math.dist((x, y), (estimate.position.x, estimate.position.y)) < 1e-9, (x, y, estimate)
assert abs(yaw + math.pi / 2 - yaw_of(estimate.orientation)) < 1e-9

# What is shown.
peer.until(lambda: paths and clouds and markers, 'path, landmarks and markers')
peer.until(lambda: len(paths[-1].poses) == 10, 'the whole path')
assert clouds[-1].width == 5 and [f.name for f in clouds[-1].fields][:4] == ['x', 'y', 'z', 'id']


def drawn():
    """What rviz has of the markers: what was added and not removed. A landmark is first drawn as a candidate."""
    there = set()
    for m in (m for array in markers for m in array.markers):
        (there.add if m.action == Marker.ADD else there.discard)((m.ns, m.id))
    return there


peer.until(lambda: drawn() == {('landmarks', i) for i in (1, 2, 3, 4, 5)}, 'the five landmarks, and no candidate')
assert all(m.header.frame_id == 'map' and m.action in (Marker.ADD, Marker.DELETE) for m in markers[-1].markers)

# use_sim_time: time comes from /clock, and is 0 before.
tick = Clock()
stamp_into(tick.clock, 12_345 * 1_000_000_000)
clock.publish(tick)
peer.diagnostics.clear()
peer.until(lambda: any(m.header.stamp.sec == 12_345 for m in peer.diagnostics), 'simulated time')

# Parameters: all are listed and described, with type and range.
names = call(ListParameters, 'list_parameters').result.names
assert {'filter', 'motion.velocity_x_std', 'sensor.kind', 'map_frame', 'path_length', 'use_sim_time'} <= set(names)
assert call(ListParameters, 'list_parameters', prefixes=['gate']).result.names == [
    'gate.probability',
    'gate.new_feature_probability',
    'gate.robust_scale',
    'gate.starvation_limit_s',
]
descriptors = {d.name: d for d in call(DescribeParameters, 'describe_parameters', names=names).descriptors}
types = dict(zip(names, call(GetParameterTypes, 'get_parameter_types', names=names).types))
assert len(descriptors) == len(names)
assert all(d.description and d.type == types[n] != 0 for n, d in descriptors.items())
gate = descriptors['gate.probability']
assert (gate.floating_point_range[0].from_value, gate.floating_point_range[0].to_value) == (0.5, 1.0)
assert not gate.read_only
features = descriptors['map.max_features']
assert (features.integer_range[0].from_value, features.integer_range[0].to_value) == (1, 1000000)
assert features.read_only
assert 'range_bearing' in descriptors['sensor.kind'].additional_constraints
got = call(GetParameters, 'get_parameters', names=['motion.velocity_x_std', 'path_spacing_m', 'nothing']).values
assert (got[0].double_value, got[1].double_value, got[2].type) == (0.2, 0.0, 0), 'a 0 is a 0.0, too'

# Changes while running: made, or refused with the reason.
[done] = change(gate__probability=0.99)
assert done.successful, done.reason
[got] = call(GetParameters, 'get_parameters', names=['gate.probability']).values
assert got.double_value == 0.99
peer.until(lambda: events and events[-1].changed_parameters[0].name == 'gate.probability', 'the event')
assert events[-1].node == '/robot1/slam_node', events[-1].node
refusals = {
    'gate__probability': (2.0, '0.5 … 1'),
    'map__max_features': (10, 'restart'),
    'sensor__kind': ('stereo_bearings', 'start'),
    'motion__max_speed': ('fast', 'a number'),
    'gate__probabilty': (0.9, "no parameter 'gate.probabilty'"),
    'path_length': (-1, '0 … 100000'),
}
for name, (x, reason) in refusals.items():
    [refused] = change(**{name: x})
    known = reason in refused.reason or reason == 'restart' and 'start' in refused.reason
    assert not refused.successful and known, (name, refused)
assert change(marker_probability=0.5, path_spacing_m=1)[1].successful, 'a whole number does for a double'
both = [Parameter(name='display_rate_hz', value=value(2.0)), Parameter(name='gate.probability', value=value(7.0))]
refused = call(SetParametersAtomically, 'set_parameters_atomically', parameters=both).result
assert not refused.successful and 'gate.probability' in refused.reason
[got] = call(GetParameters, 'get_parameters', names=['display_rate_hz']).values
assert got.double_value == 20.0, 'all or none'

# Services.
assert call(SetBool, 'set_enabled', data=False).success
peer.k += 1
peer.odom.publish(peer.odometry())
peer.until(lambda: int(peer.next_status()[2]['dropped.disabled']) >= 1, 'input to be counted as disabled')
level, sentence, values = peer.next_status()
assert level == 1 and 'switched off' in sentence and values['enabled'] == 'false', (level, sentence)
assert call(SetBool, 'set_enabled', data=True).success
peer.drive(10)
peer.check_pose('after being switched on again', tolerance=0.1)
markers.clear()
assert call(Trigger, 'reset').success
peer.start(peer.now_ns)
peer.drive(10)
peer.check_pose('after a reset')

# A landmark that somebody carries away begins anew where it is, and the robot stays where it was.
WORLD[1] = WORLD[1][0], WORLD[1][1] + 3.0
peer.drive(150)
peer.check_pose('after a landmark was moved', tolerance=0.05)
_, _, values = peer.next_status()
assert values['map.begun_anew'] == '1' and values['map.features'] == str(len(WORLD)), values

# A pose from outside: the map moves along, so that it stays where it was put.
given = PoseWithCovarianceStamped()
given.header.frame_id = 'map'
given.pose.pose.position.x, given.pose.pose.position.y = peer.x + 10.0, -3.0
given.pose.pose.orientation.w = 1.0
given.pose.covariance[0] = given.pose.covariance[7] = given.pose.covariance[35] = 0.01
peer.initialpose.publish(given)
peer.drive(10)
peer.drive(10)
position = peer.poses[-1].pose.pose.position
assert math.dist((position.x, position.y), (peer.x + 10.0, -3.0)) < 0.3, position
print('all as documented')
