"""Publishes a known number of messages for `lienav record`, beside a running slam_node.

usage: record.py BAG LIENAV: starts the recorder, drives, and ends it; the counts are printed, one topic a line
"""

import signal
import subprocess
import sys
import time

import rclpy
from peer import Peer
from sensor_msgs.msg import CameraInfo

BAG, LIENAV = sys.argv[1:3]
STEPS = 1000

rclpy.init()
peer = Peer()
info = peer.create_publisher(CameraInfo, 'camera_info', 100)


def is_recorded(publisher):
    """Whether the recorder listens, too, beside slam_node where it does."""
    names = {i.node_name for i in peer.get_subscriptions_info_by_topic(publisher.topic_name)}
    return 'lienav_record' in names


peer.connect()
recorder = subprocess.Popen([LIENAV, 'record', BAG], stdout=subprocess.PIPE)
peer.until(lambda: all(is_recorded(p) for p in (peer.odom, peer.features, info, peer.static)), 'the recorder')
time.sleep(1.0)
# Twenty times as fast as a robot, and in bursts.
for k in range(STEPS):
    peer.k += 1
    peer.odom.publish(peer.odometry())
    if k % 5 == 0:
        peer.features.publish(peer.seen())
    if k % 50 == 0:
        info.publish(CameraInfo(width=640, height=480))
        time.sleep(0.05)
    rclpy.spin_once(peer, timeout_sec=0.0)
time.sleep(1.5)
if len(sys.argv) > 3:
    # What is on the disk now is what a killed recorder leaves.
    recorder.kill()
    recorder.wait()
else:
    begun = time.monotonic()
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate(timeout=5.0)[0].decode()
    took = time.monotonic() - begun
    assert recorder.returncode == 0 and took < 1.0, (recorder.returncode, took, said)
    print(f'ended after {took:.2f} s: {said.strip()}')
print(f'/odom {STEPS}')
print(f'/features {STEPS // 5}')
print(f'/camera_info {STEPS // 50}')
print('/tf_static 1')
