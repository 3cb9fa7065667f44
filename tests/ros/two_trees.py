"""Somebody else publishes map -> odom beside slam_node, as AMCL that nobody has ended; slam_node runs with tf_rate_hz:=10."""

import rclpy
from peer import Peer, nanos, transform
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

ERROR = 2
rclpy.init()
peer = Peer()
transforms = []
peer.create_subscription(TFMessage, '/tf', lambda m: transforms.extend(m.transforms), 1000)
peer.connect()
peer.drive(100)
level, sentence, _ = peer.next_status()
assert 'somebody else publishes' not in sentence, f'it takes itself for another: {sentence}'
stamps = [nanos(t.header.stamp) for t in transforms if t.child_frame_id == 'odom']
# Ten a second of two seconds of odometry at 50 Hz.
assert 18 <= len(stamps) <= 22, len(stamps)

other = Node('amcl')
tf = other.create_publisher(TFMessage, '/tf', 10)
peer.until(lambda: tf.get_subscription_count() > 1, 'the subscription of slam_node')
peer.diagnostics.clear()


def conflict():
    """Drive on while the other publishes; the status that says so."""
    peer.drive(5)
    tf.publish(TFMessage(transforms=[transform('map', 'odom', (1.0, 2.0, 0.0), ns=peer.now_ns)]))
    found = [s for m in peer.diagnostics for s in m.status if 'others that publish on /tf: /amcl' in s.message]
    return found[-1] if found else None


peer.until(conflict, 'the conflict', 20.0)
status = conflict()
level = status.level[0] if isinstance(status.level, bytes) else status.level
assert level == ERROR and 'somebody else publishes map -> odom on /tf' in status.message, status.message
print(status.message)
