"""Pauses a bag that `lienav play --start-paused` plays, and lets it go on."""

import time

import rclpy
from nav_msgs.msg import Odometry
from peer import nanos
from rclpy.node import Node
from std_srvs.srv import Trigger

rclpy.init()
node = Node('listener')
heard = []
node.create_subscription(Odometry, '/odom', heard.append, 1000)


def run(seconds):
    """Let time pass."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        rclpy.spin_once(node, timeout_sec=0.02)


def call(name):
    """Call a service of the player."""
    client = node.create_client(Trigger, f'/lienav_player/{name}')
    assert client.wait_for_service(10.0), name
    future = client.call_async(Trigger.Request())
    rclpy.spin_until_future_complete(node, future, timeout_sec=5.0)
    assert future.done() and future.result().success, name
    return future.result().message


deadline = time.monotonic() + 10.0
while not node.count_publishers('/odom'):
    assert time.monotonic() < deadline, 'no player'
    run(0.05)
run(1.5)
assert not heard, 'it begins with a pause'
assert call('resume') == 'playing'
run(1.0)
assert call('toggle_paused') == 'paused'
run(0.3)
count = len(heard)
assert count > 10, count
run(1.0)
assert len(heard) == count, 'played during a pause'
call('pause')
assert call('toggle_paused') == 'playing'
run(1.0)
assert len(heard) > count + 10
stamps = [nanos(m.header.stamp) for m in heard]
assert stamps == sorted(set(stamps)) and max(b - a for a, b in zip(stamps, stamps[1:])) < 150_000_000, 'nothing is skipped'
print(len(heard), 'messages')
