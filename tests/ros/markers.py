"""How landmarks are drawn: seen once, estimated, known and frozen, known and no longer there.

usage: markers.py MAP
slam_node runs with map.file:=MAP and display_rate_hz:=50.0.
"""

import sys

import rclpy
from peer import WORLD, Peer
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

MOVED = 2
with open(sys.argv[1], 'w') as out:
    out.write('lienav_map: 1\nsigma_m: 0.02\nlandmarks:\n')
    for i, (x, y) in WORLD.items():
        out.write(f'- {{id: {i}, x_m: {x + (3.0 if i == MOVED else 0.0)}, y_m: {y}}}\n')

rclpy.init()
peer = Peer()
drawn = {}


def draw(message):
    """As rviz does."""
    for m in message.markers:
        if m.action == Marker.ADD:
            drawn[m.ns, m.id] = m
        else:
            assert drawn.pop((m.ns, m.id), None) is not None, f'{m.ns} {m.id} was not there'


def kinds():
    """The identities of each namespace."""
    return {ns: {i for n, i in drawn if n == ns} for ns, _ in drawn}


def call(kind, name, **fields):
    """Call a service of the node."""
    client = peer.create_client(kind, f'slam_node/{name}')
    assert client.wait_for_service(5.0), name
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(peer, future, timeout_sec=5.0)
    assert future.done(), f'{name} does not answer'
    return future.result()


peer.create_subscription(MarkerArray, 'markers', draw, 100)
peer.connect()
everything = set(WORLD)
# One cloud: nothing is confirmed.
peer.drive(5)
peer.until(lambda: kinds() == {'candidates': everything}, 'candidates')
orange = drawn['candidates', 1].color
peer.drive(20)
peer.until(lambda: kinds() == {'landmarks': everything}, f'estimated landmarks, not {kinds()}')
blue = drawn['landmarks', 1].color
assert (orange.r, orange.b) != (blue.r, blue.b) and drawn['landmarks', 1].type == Marker.CYLINDER
# The map has one of them elsewhere.
assert call(Trigger, 'load_map').success
parameter = Parameter('map.mode', value='localization').to_parameter_msg()
assert call(SetParameters, 'set_parameters', parameters=[parameter]).results[0].successful
assert call(Trigger, 'load_map').success
for _ in range(20):
    peer.drive(10)
    if 'lost' in kinds():
        break
peer.until(lambda: kinds() == {'frozen': everything - {MOVED}, 'lost': {MOVED}}, f'frozen and lost, not {kinds()}')
lost, frozen = drawn['lost', MOVED], drawn['frozen', 1]
assert lost.type == Marker.CUBE and lost.color.r > 0.8 and lost.color.g < 0.2, lost
assert abs(lost.pose.position.x - WORLD[MOVED][0] - 3.0) < 1e-6, 'it is drawn where the map has it'
assert frozen.type == Marker.CYLINDER and frozen.color.r == frozen.color.g, frozen.color
print(kinds())
