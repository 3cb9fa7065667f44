"""How good slam_node says its pose is, while what speaks for it comes and goes.

usage: quality.py MAP
"""

import math
import sys

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from peer import WORLD, Peer, cloud
from rclpy.parameter import Parameter
from rcl_interfaces.srv import SetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import SetBool, Trigger

with open(sys.argv[1], 'w') as out:
    out.write('lienav_map: 1\nsigma_m: 0.02\nlandmarks:\n')
    for i, (x, y) in WORLD.items():
        out.write(f'- {{id: {i}, x_m: {x}, y_m: {y}}}\n')

rclpy.init()
peer = Peer()
said = []
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
peer.create_subscription(DiagnosticStatus, 'slam_node/pose_quality', said.append, latched)


def call(kind, name, **fields):
    """Call a service of the node."""
    client = peer.create_client(kind, f'slam_node/{name}')
    assert client.wait_for_service(5.0), name
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(peer, future, timeout_sec=5.0)
    assert future.done(), f'{name} does not answer'
    return future.result()


def step(seen=None):
    """Drive on for one odometry message; `seen` makes the cloud."""
    peer.k += 1
    peer.odom.publish(peer.odometry())
    if seen is not None and peer.k % 5 == 0:
        peer.features.publish(seen())
    rclpy.spin_once(peer, timeout_sec=0.01)


def becomes(word, reason, seen=None, drive=True):
    """Wait for a word with its reason; its level and the status in diagnostics are the same."""
    said.clear()
    peer.diagnostics.clear()

    def reached():
        if drive:
            step(seen)
        return any(s.message == word and reason in values(s)['reason'] for s in said)

    try:
        peer.until(reached, f'{word}: {reason}', 15.0)
    except AssertionError as error:
        raise AssertionError(f'{error}; x = {peer.x}; the last words: {[values(s) for s in said[-3:]]}') from None
    status = next(s for s in said if s.message == word and reason in values(s)['reason'])
    assert status.name == 'slam_node: pose quality'
    level = status.level[0] if isinstance(status.level, bytes) else status.level
    assert level == {'ok': 0, 'degraded': 1, 'lost': 2}[word], status
    return values(status)


def values(status):
    """By key."""
    return {v.key: v.value for v in status.values}


def confused():
    """Each landmark where another one is: there is no place from which they look so."""
    places = list(WORLD.values())
    others = dict(zip(WORLD, places[1:] + places[:1]))
    rows = [(i, math.hypot(x - peer.x, y), math.atan2(y, x - peer.x)) for i, (x, y) in others.items()]
    return cloud(peer.now_ns, rows)


# Said at once to those who come later, and the same in diagnostics.
becomes('lost', 'no odometry yet', drive=False)
names = lambda: [s.name for d in peer.diagnostics for s in d.status]
peer.until(lambda: 'slam_node: pose quality' in names(), 'the status in diagnostics')
peer.connect()
peer.running = True
becomes('degraded', 'no landmark was used yet')
good = becomes('ok', '', peer.seen)
assert 0.0 <= float(good['feature_age_s']) < 0.5 and float(good['position_std_m']) < 0.5, good
assert good['searching'] == 'false' and int(good['readings.used']) >= 5 and good['readings.gated'] == '0', good
becomes('degraded', 'odometry alone')
becomes('ok', '', peer.seen)
becomes('lost', 'no odometry for', drive=False)
becomes('ok', '', peer.seen)
worse = becomes('lost', 'outside their gates', confused)
assert int(worse['readings.gated']) >= 8 and worse['readings.used'] == '0', worse
becomes('ok', '', peer.seen)
assert call(SetBool, 'set_enabled', data=False).success
becomes('lost', 'switched off')
assert call(SetBool, 'set_enabled', data=True).success
becomes('ok', '', peer.seen)
parameter = Parameter('quality.max_position_std_m', value=1e-4).to_parameter_msg()
assert call(SetParameters, 'set_parameters', parameters=[parameter]).results[0].successful
becomes('degraded', 'is asked for', peer.seen)
parameter = Parameter('quality.max_position_std_m', value=0.0).to_parameter_msg()
assert call(SetParameters, 'set_parameters', parameters=[parameter]).results[0].successful
becomes('ok', '', peer.seen)
# A search for the robot.
assert call(Trigger, 'load_map').success
parameter = Parameter('map.mode', value='localization').to_parameter_msg()
assert call(SetParameters, 'set_parameters', parameters=[parameter]).results[0].successful
assert call(Trigger, 'relocalize').success
assert becomes('lost', 'searched for', drive=False)['searching'] == 'true'
becomes('ok', '', peer.seen)
print(good)
