"""What can be set of any node: the clock while it runs, and the quality of service of its topics at the start.

usage: settings.py NODE [NODE …]
slam_node is remapped and has a namespace, with overrides of two of its topics.
"""

import sys
import time

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

rclpy.init()
peer = rclpy.create_node('peer')
stamps = {}


def hear(message):
    """Keep the stamp of the newest status of each node."""
    for status in message.status:
        stamps.setdefault(status.name.split(':')[0].split('/')[-1], []).append(message.header.stamp.sec)


peer.create_subscription(DiagnosticArray, '/diagnostics', hear, 10)
clock = peer.create_publisher(Clock, '/clock', QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE))


def until(condition, what, tick=None):
    """Spin until something holds, telling the time meanwhile."""
    deadline = time.monotonic() + 15.0
    while not condition():
        assert time.monotonic() < deadline, f'waited for {what}'
        if tick is not None:
            message = Clock()
            message.clock.sec = tick
            clock.publish(message)
        rclpy.spin_once(peer, timeout_sec=0.02)


def call(node, kind, name, **fields):
    """Call a service."""
    client = peer.create_client(kind, f'{node}/{name}')
    assert client.wait_for_service(10.0), (node, name)
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(peer, future, timeout_sec=5.0)
    assert future.done(), (node, name)
    return future.result()


def simulate(node, use):
    """Switch the clock."""
    parameter = Parameter('use_sim_time', value=use).to_parameter_msg()
    [result] = call(node, SetParameters, 'set_parameters', parameters=[parameter]).results
    assert result.successful, (node, result.reason)


for full in sys.argv[1:]:
    node = full.split('/')[-1]
    is_heard = lambda second: lambda: second in stamps.get(node, [])
    is_now = lambda: any(abs(second - time.time()) < 100 for second in stamps.get(node, []))
    until(is_now, f'{node} by the clock of the system')
    for round_ in (1, 2):
        tick = 10_000 * round_
        simulate(full, True)
        until(is_heard(tick), f'{node} by /clock', tick)
        stamps.clear()
        simulate(full, False)
        until(is_now, f'{node} by the clock of the system again', tick + 1)
        stamps.clear()
    print(f'{node}: /clock and back, twice')


def qos(infos, topic, name='slam_node'):
    """Of the node's end of a topic."""
    found = lambda: [i.qos_profile for i in infos(topic) if i.node_name == name]
    until(found, f'{name} at {topic}')
    return found()[0]


# By full names, as remapped.
odom = qos(peer.get_subscriptions_info_by_topic, '/wheels/odom')
assert odom.reliability == ReliabilityPolicy.RELIABLE, odom
assert qos(peer.get_subscriptions_info_by_topic, '/robot1/features').reliability == ReliabilityPolicy.BEST_EFFORT
pose = qos(peer.get_publishers_info_by_topic, '/robot1/pose')
assert (pose.durability, pose.reliability) == (DurabilityPolicy.TRANSIENT_LOCAL, ReliabilityPolicy.BEST_EFFORT), pose
slam = '/robot1/slam_node'
names = call(slam, ListParameters, 'list_parameters', prefixes=['qos_overrides']).result.names
expected = {'qos_overrides./wheels/odom.subscription.depth', 'qos_overrides./robot1/pose.publisher.history'}
assert expected <= set(names) and 'qos_overrides./robot1/odom.subscription.depth' not in names, names
wanted = [
    'qos_overrides./wheels/odom.subscription.reliability',
    'qos_overrides./wheels/odom.subscription.depth',
    'qos_overrides./robot1/pose.publisher.durability',
    'qos_overrides./tf.publisher.reliability',
]
values = call(slam, GetParameters, 'get_parameters', names=wanted).values
said = [v.string_value or v.integer_value for v in values]
assert said == ['reliable', 17, 'transient_local', 'reliable'], said
assert all(d.read_only for d in call(slam, DescribeParameters, 'describe_parameters', names=wanted).descriptors)
parameter = Parameter(wanted[0], value='best_effort').to_parameter_msg()
[result] = call(slam, SetParameters, 'set_parameters', parameters=[parameter]).results
assert not result.successful and 'set it at start' in result.reason, result
print(len(names), 'policies of slam_node')
