"""What slam_node logs: on /rosout, at the level of the command line, without rcl's own."""

import rclpy
from peer import Peer
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile

rclpy.init()
peer = Peer('robot1')
lines = []
latched = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
peer.create_subscription(Log, '/rosout', lines.append, latched)
peer.connect()
peer.until(lambda: peer.get_publishers_info_by_topic('/rosout'), 'a publisher of /rosout')
mine = lambda: [line for line in lines if line.name == 'robot1.slam_node']
# The node began to log before anybody listened.
peer.until(lambda: any("filter 'default'" in line.msg and line.level == 20 for line in mine()), 'the first line')
peer.drive(20)
peer.until(lambda: any('left out' in line.msg and line.level == 10 for line in mine()), 'a line of debug')
bad = peer.odometry()
bad.header.frame_id = 'odom2'
peer.odom.publish(bad)
peer.until(lambda: any('unknown_frame' in line.msg and line.level == 30 for line in mine()), 'a warning')
assert all(line.stamp.sec > 1_600_000_000 for line in mine())
print(len(mine()), 'lines on /rosout')
