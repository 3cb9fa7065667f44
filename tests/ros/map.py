"""A map outlives slam_node: saved, read again, written by hand, damaged."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import rclpy
from peer import WORLD, Peer
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from std_srvs.srv import Trigger

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
SECOND_NS = 1_000_000_000
file = FOLDER / 'hall.yaml'
log = FOLDER / 'log'

rclpy.init()
peer = Peer()


class Node:
    """slam_node with this map."""

    def __init__(self, **parameters):
        """Start it, and wait until it is heard."""
        parameters = {'map.file': file, **{name.replace('__', '.'): value for name, value in parameters.items()}}
        arguments = [word for name, value in parameters.items() for word in ('-p', f'{name}:={value}')]
        self.log = open(log, 'wb')
        self.process = subprocess.Popen([PROGRAM, '--ros-args', *arguments], stderr=self.log, stdout=self.log)
        peer.connect()

    def end(self):
        """Ask it to end, which it does at once and well; gives what it said."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(5.0) == 0
        self.log.close()
        peer.until(lambda: not peer.odom.get_subscription_count(), 'the end of the node')
        peer.poses.clear()
        said = log.read_text()
        assert 'panicked' not in said, said
        return said


def call(kind, name, **fields):
    """Call a service of the node."""
    client = peer.create_client(kind, f'slam_node/{name}')
    assert client.wait_for_service(5.0), name
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(peer, future, timeout_sec=5.0)
    assert future.done(), f'{name} does not answer'
    peer.destroy_client(client)
    return future.result()


def set_file(name):
    """Set the parameter while the node runs."""
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=str(name))
    [result] = call(SetParameters, 'set_parameters', parameters=[Parameter(name='map.file', value=value)]).results
    assert result.successful, result.reason


def features():
    """How many the map has."""
    return int(peer.next_status()[2]['map.features'])


# Driven, saved, ended.
node = Node()
assert features() == 0
answer = call(Trigger, 'save_map')
assert not answer.success and 'no landmarks yet: nothing was saved' in answer.message, answer
assert not file.exists()
peer.drive(50)
answer = call(Trigger, 'save_map')
assert answer.success and '5 landmarks saved' in answer.message, answer
assert len(os.listdir(FOLDER)) == 3, os.listdir(FOLDER)  # the map, its state, the log
assert 'there is no map yet' in node.end()

# Begun with the file: the map is there before anything is heard, and the pose is where it was, an hour earlier.
here = peer.x
peer.start(500 * SECOND_NS, x=here)
node = Node()
assert features() == 5
peer.drive(50)
peer.check_pose('after a start with the map', tolerance=0.01)
assert features() == 5
assert peer.poses[-1].pose.covariance[0] < 0.05, 'the pose is as certain as it was'

# No file: refused with a sentence; and another file while the node runs.
set_file('')
for service in ('save_map', 'load_map'):
    answer = call(Trigger, service)
    assert not answer.success and "'map.file' is empty" in answer.message, answer
set_file(FOLDER / 'nowhere' / 'hall.yaml')
answer = call(Trigger, 'save_map')
assert not answer.success and 'nowhere' in answer.message, answer
level, sentence, _ = peer.next_status()
assert level == 1 and 'the file of the map' in sentence, sentence
set_file(file)
answer = call(Trigger, 'load_map')
assert answer.success and 'go on where they were saved' in answer.message, answer
assert peer.next_status()[0] == 0 or 'the file of the map' not in peer.next_status()[1]
node.end()

# A survey by hand.
rows = [f'- {{id: {i}, x_m: {x}, y_m: {y}}}' for i, (x, y) in WORLD.items()]
file.write_text('\n'.join(['lienav_map: 1', 'sigma_m: 0.01', 'landmarks:', *rows, '']))
peer.start(2_000 * SECOND_NS, x=0.1)
node = Node(initial__position_std_m=0.3, initial__yaw_std_rad=0.1)
assert features() == 5
peer.drive(100)
peer.check_pose('in a survey, from a start that is 0.1 m off', tolerance=0.03)
assert features() == 5
node.end()

# Damaged: the node says so and goes on with what it has; it does not replace the file by itself.
whole = file.read_text()
damaged = whole.replace('x_m: 8.0', 'x_m: eight')
file.write_text(damaged)
peer.start(3_000 * SECOND_NS)
node = Node(map__autosave_s=0.1)
level, sentence, _ = peer.next_status()
assert level == 1 and 'line 5: x_m is' in sentence and 'eight' in sentence, sentence
peer.drive(50)
peer.check_pose('with a map that is damaged')
assert features() == 5 and file.read_text() == damaged
answer = call(Trigger, 'load_map')
assert not answer.success and 'line 5' in answer.message, answer
assert call(Trigger, 'save_map').success
peer.drive(50)
peer.until(lambda: int(peer.next_status()[2]['map.saves']) > 1, 'a map that is saved by itself')
before = file.read_text()
said = node.end()
assert 'no map was loaded' in said, said
assert file.read_text().count('- {id') == 5 and before != damaged

# What the node saves at its end is what the next one begins with.
peer.start(4_000 * SECOND_NS, x=peer.x)
node = Node(map__autosave_s=1000.0)
peer.drive(20)
node.end()
assert file.read_text() != before
print('the map outlived six nodes')
