"""A robot that drives on while slam_node is paused: the pose goes on where the robot is, as its odometry has it.

usage: pause.py lifecycle | switch
"""

import math
import sys

import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from peer import Peer, nanos
from std_srvs.srv import SetBool

rclpy.init()
peer = Peer()


def call(kind, name, request):
    """Call a service of the node."""
    client = peer.create_client(kind, f'slam_node/{name}')
    assert client.wait_for_service(5.0), name
    future = client.call_async(request)
    rclpy.spin_until_future_complete(peer, future, timeout_sec=5.0)
    assert future.done() and future.result().success, name


def switch(on):
    """Pause the node, or let it go on."""
    if sys.argv[1] == 'switch':
        return call(SetBool, 'set_enabled', SetBool.Request(data=on))
    wanted = Transition.TRANSITION_ACTIVATE if on else Transition.TRANSITION_DEACTIVATE
    call(ChangeState, 'change_state', ChangeState.Request(transition=Transition(id=wanted)))


def odometry_alone(steps):
    """Drive without seeing anything."""
    for _ in range(steps):
        peer.k += 1
        peer.odom.publish(peer.odometry())
        rclpy.spin_once(peer, timeout_sec=0.005)


peer.connect()
peer.drive(100)
variance = peer.filtered[-1].pose.covariance[0]
switch(False)
odometry_alone(100)
switch(True)
last = peer.now_ns
odometry_alone(30)
peer.until(lambda: peer.filtered and nanos(peer.filtered[-1].header.stamp) == peer.now_ns, 'the pose after the pause')
pose = peer.filtered[-1].pose
error = math.hypot(pose.pose.position.x - peer.x, pose.pose.position.y)
assert error < 0.02, f'off by {error} m after a pause in which the robot drove 2 m'
assert pose.covariance[0] > variance, 'what was driven in the pause is as certain as before it'
peer.drive(50)
peer.check_pose('with features again', tolerance=0.02)
print(f'{sys.argv[1]}: {error:.4f} m off after a pause of 2 s at 1 m/s')
