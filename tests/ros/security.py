"""Runs simulator_node and slam_node in their SROS2 enclaves, and a stranger beside them.

usage: security.py POLICIES SLAM_NODE SIMULATOR_NODE
Needs `ros2 security`, and a middleware that was built with its security plug-in; says so where there is neither.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

policies, slam_node, simulator_node = sys.argv[1:4]

# Hears and says what a robot does, where it may.
STRANGER = """
import sys, time, rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
rclpy.init(args=sys.argv)
node = rclpy.create_node('stranger')
heard = []
node.create_subscription(PoseWithCovarianceStamped, '/pose', heard.append, 10)
says = node.create_publisher(Odometry, '/odom', 10)
until = time.monotonic() + 6.0
while time.monotonic() < until:
    says.publish(Odometry())
    rclpy.spin_once(node, timeout_sec=0.05)
print(len(heard))
"""
WATCHER_POLICY = """<policy version="0.2.0"><enclaves><enclave path="/test/{name}"><profiles><profile ns="/" node="stranger">
<topics {rules}><topic>/{topic}</topic></topics></profile></profiles></enclave></enclaves></policy>"""


def security(*arguments):
    """Run `ros2 security`."""
    subprocess.run(['ros2', 'security', *arguments], check=True, capture_output=True)


def heard_by(enclave):
    """How many poses somebody in this enclave hears; None where he cannot even start."""
    command = [sys.executable, '-c', STRANGER, '--ros-args', '--enclave', enclave]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return int(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


tool = shutil.which('ros2') and subprocess.run(['ros2', 'security', '-h'], capture_output=True).returncode == 0
if not tool:
    print('skipped: no `ros2 security` here')
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    keystore = os.path.join(folder, 'keystore')
    security('create_keystore', keystore)
    mine = {'/lienav/slam_node': policies, '/lienav/simulator_node': policies}
    for name, topic in (('watcher', 'pose'), ('nobody', 'nothing')):
        file = Path(folder) / f'{name}.xml'
        file.write_text(WATCHER_POLICY.format(name=name, topic=topic, rules='subscribe="ALLOW" publish="ALLOW"'))
        mine[f'/test/{name}'] = str(file)
    for enclave, policy in mine.items():
        security('create_enclave', keystore, enclave)
        security('create_permission', keystore, enclave, policy)
    environment = {
        **os.environ,
        'ROS_SECURITY_ENABLE': 'true',
        'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_KEYSTORE': keystore,
    }
    nodes = []
    try:
        for program, enclave in ((slam_node, '/lienav/slam_node'), (simulator_node, '/lienav/simulator_node')):
            command = [program, '--ros-args', '--enclave', enclave]
            nodes.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        time.sleep(3.0)
        ended = [node.stderr.read() for node in nodes if node.poll() is not None]
        if any('security libraries' in text for text in ended):
            print('skipped: the middleware was built without its security plug-in')
            sys.exit(0)
        assert not ended, ended
        with_permission, without = heard_by('/test/watcher'), heard_by('/test/nobody')
        assert with_permission, f'an enclave that may hear poses heard {with_permission}'
        assert not without, f'an enclave without permission heard {without} poses'
        assert all(node.poll() is None for node in nodes), 'a node has ended'
        print(f'with permission {with_permission} poses, without {without}')
    finally:
        for node in nodes:
            node.kill()
            node.wait()
