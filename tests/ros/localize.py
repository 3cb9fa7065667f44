"""A robot that may be anywhere in a map that it has: it is found, and found again when asked.

usage: localize.py MAP
"""

import math
import sys

import rclpy
from peer import WORLD, Peer
from std_srvs.srv import Trigger

with open(sys.argv[1], 'w') as out:
    out.write('lienav_map: 1\nsigma_m: 0.02\nlandmarks:\n')
    for i, (x, y) in WORLD.items():
        out.write(f'- {{id: {i}, x_m: {x}, y_m: {y}}}\n')

rclpy.init()
peer = Peer()
peer.connect()


def call(name):
    """Call a service of the node."""
    client = peer.create_client(Trigger, f'slam_node/{name}')
    assert client.wait_for_service(5.0), name
    future = client.call_async(Trigger.Request())
    rclpy.spin_until_future_complete(peer, future, timeout_sec=5.0)
    assert future.done(), f'{name} does not answer'
    return future.result()


def said():
    """The sentence of the filter's newest status."""
    statuses = [s for d in peer.diagnostics for s in d.status if s.name.endswith('slam_node: filter')]
    return statuses[-1].message if statuses else ''


assert not call('relocalize').success, 'there is no map yet'
assert call('load_map').success
peer.until(lambda: 'searching' in said(), 'the search in diagnostics')
# Nobody has told the node that the robot is at (2, 0).
peer.start(1_000 * 1_000_000_000, x=2.0)
peer.drive(30)
pose = peer.poses[-1].pose.pose.position
assert math.hypot(pose.x - peer.x, pose.y) < 0.1, (pose.x, pose.y, peer.x)
peer.until(lambda: 'searching' not in said(), 'the end of the search in diagnostics')
count = len(peer.poses)
answer = call('relocalize')
assert answer.success, answer.message
peer.drive(30)
assert len(peer.poses) > count
pose = peer.poses[-1].pose.pose.position
assert math.hypot(pose.x - peer.x, pose.y) < 0.1
print(answer.message)
