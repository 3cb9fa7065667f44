"""A map in parts in a running slam_node: its poses, what it shows, what it saves, and what it refuses.

usage: parts.py SLAM_NODE FOLDER
"""

import math
import signal
import struct
import subprocess
import sys
from pathlib import Path

import rclpy
import yaml
from peer import SPEED, STEP_NS, Peer, cloud, nanos
from geometry_msgs.msg import PoseWithCovarianceStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import PointCloud2
from std_srvs.srv import Trigger

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
file, log = FOLDER / 'row.yaml', FOLDER / 'log'
# On both sides of the way.
POSTS = {i: (1.5 * i, 2.0 if i % 2 else -2.5) for i in range(60)}


class Row(Peer):
    """A robot in a row of posts, of which it sees those within 6 m."""

    def seen(self, ns=None, **kwargs):
        """A cloud of what is near."""
        near = [(i, x - self.x, y) for i, (x, y) in POSTS.items() if math.hypot(x - self.x, y) < 6.0]
        rows = [(i, math.hypot(x, y), math.atan2(y, x)) for i, x, y in near]
        return cloud(self.now_ns if ns is None else ns, rows, **kwargs)


def start(*arguments):
    """slam_node, heard."""
    words = [word for argument in arguments for word in ('-p', argument)]
    process = subprocess.Popen([PROGRAM, '--ros-args', *words], stderr=open(log, 'ab'), stdout=subprocess.DEVNULL)
    row.connect()
    return process


def end(process):
    """Ask it to end."""
    process.send_signal(signal.SIGINT)
    assert process.wait(10.0) == 0
    row.until(lambda: not row.odom.get_subscription_count(), 'the end of the node')
    assert 'panicked' not in log.read_text(), log.read_text()


def call(kind, name, **fields):
    """Call a service of the node."""
    client = row.create_client(kind, f'slam_node/{name}')
    assert client.wait_for_service(5.0), name
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(row, future, timeout_sec=5.0)
    row.destroy_client(client)
    return future.result()


def metres(distance):
    """Drive so far."""
    row.drive(round(distance / (row.speed * STEP_NS * 1e-9)))


def in_view_until(end):
    """How many posts are seen on the way to there."""
    return sum(math.hypot(max(x - end, 0.0), y) < 6.0 for x, y in POSTS.values())


def check_map(landmarks, count, tolerance, by=(0.0, 0.0)):
    """These are posts, where they are, or moved."""
    assert len(landmarks) == count, (len(landmarks), count)
    for i, (x, y) in landmarks.items():
        expected = POSTS[i][0] + by[0], POSTS[i][1] + by[1]
        assert math.dist((x, y), expected) < tolerance, (i, x, y, expected)


def in_file():
    """The landmarks that were saved."""
    saved = yaml.safe_load(file.read_text())
    return {of['id']: (of['x_m'], of['y_m']) for of in saved['landmarks']}


def shown_of(count):
    """The first so many landmarks as they are shown some metres on, after the map was solved for."""
    metres(3.0)
    clouds.clear()
    metres(3.0)
    row.until(lambda: clouds, 'landmarks')
    return {i: place for i, place in shown().items() if i < count}


def place(right, up):
    """Say that the robot is so far from where it is."""
    given = PoseWithCovarianceStamped()
    given.header.frame_id = 'map'
    given.pose.pose.position.x, given.pose.pose.position.y = row.x + right, up
    given.pose.pose.orientation.w = 1.0
    given.pose.covariance[0] = given.pose.covariance[7] = given.pose.covariance[35] = 1e-4
    row.initialpose.publish(given)
    row.until(lambda: 'set to x' in log.read_text().splitlines()[-1], 'the pose to be set')


def shown():
    """The landmarks of the newest cloud on landmarks."""
    message = clouds[-1]
    offsets = {field.name: field.offset for field in message.fields}
    data, found = bytes(message.data), {}
    for k in range(message.width):
        at = k * message.point_step
        [i] = struct.unpack_from('<I', data, at + offsets['id'])
        found[i] = struct.unpack_from('<dd', data, at + offsets['x_m'])
    return found


rclpy.init()
row = Row()
row.speed = SPEED
clouds = []
row.create_subscription(PointCloud2, 'landmarks', clouds.append, 10)

PARTS = ('map.local_features:=12', f'map.file:={file}', 'sensor.range_std_m:=0.01', 'sensor.bearing_std_rad:=0.005')
node = start(*PARTS)
metres(40.0)
row.check_pose('in the row', tolerance=0.05)
_, _, values = row.next_status()
count = in_view_until(40.0)
assert int(values['map.parts']) >= 2 and int(values['map.features']) == count, values
assert values['map.parts.failed'] == values['map.parts.moved'] == '0', values
row.until(lambda: clouds and clouds[-1].width == count, f'{count} landmarks, and not {clouds and clouds[-1].width}')
check_map(shown(), count, 0.1)

# Saved with the open part, and the run goes on.
answer = call(Trigger, 'save_map')
assert answer.success and f'{count} landmarks saved' in answer.message, answer
check_map(in_file(), count, 0.1)
metres(2.0)
row.check_pose('after it was saved', tolerance=0.05)

# Read again where it was saved, it is the same.
assert call(Trigger, 'save_map').success
answer = call(Trigger, 'load_map')
assert answer.success and 'pose and map go on' in answer.message, answer
metres(2.0)
row.check_pose('after it was read', tolerance=0.05)
posts = in_view_until(row.x)
assert call(Trigger, 'save_map').success
check_map(in_file(), posts, 0.1)
stopped = row.x

# A map in parts is made, and not driven in.
value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value='localization')
[result] = call(SetParameters, 'set_parameters', parameters=[Parameter(name='map.mode', value=value)]).results
assert not result.successful and 'map.local_features' in result.reason, result

# A pose from outside: the map moves along, and stays where it was put.
place(10.0, -3.0)
check_map(shown_of(posts), posts, 0.3, by=(10.0, -3.0))
x, y = (getattr(row.poses[-1].pose.pose.position, axis) for axis in 'xy')
assert math.dist((x, y), (row.x + 10.0, -3.0)) < 0.3, (x, y)

# Begun anew.
assert call(Trigger, 'reset').success
row.start(2_000 * 1_000_000_000, x=0.0)
metres(4.0)
row.check_pose('after a reset', tolerance=0.05)
assert int(row.next_status()[2]['map.parts']) == 0

# Time is set back: another run, whose first poses are not those of the one before.
metres(20.0)
assert int(row.next_status()[2]['map.parts']) > 0
row.start(1_500 * 1_000_000_000, x=0.0)
row.filtered.clear()
metres(4.0)
row.check_pose('after time was set back', tolerance=0.05)
late = [m.pose.pose.position.x for m in row.filtered if nanos(m.header.stamp) < 2_000 * 1_000_000_000]
assert late and max(late) < 4.1, max(late)
assert int(row.next_status()[2]['map.parts']) == 0
end(node)

# The next run with the same file goes on in it where it was saved, and saves what it has seen of new.
node = start(*PARTS, 'map.autosave_s:=0.5')
row.start(3_000 * 1_000_000_000, x=stopped)
metres(1.0)
row.check_pose('after a restart', tolerance=0.05)
metres(15.0)
row.check_pose('on from there', tolerance=0.05)
_, _, values = row.next_status()
assert int(values['map.features']) == in_view_until(row.x) and values['map.parts.moved'] == '0', values
end(node)
check_map(in_file(), in_view_until(row.x), 0.1)

# With the settings that made it, a robot drives in it, and it stays as it is.
before = {path.name: path.read_bytes() for path in FOLDER.glob('row.yaml*')}
node = start(*PARTS, 'map.mode:=localization', 'map.autosave_s:=0.2')
row.start(3_200 * 1_000_000_000, x=0.0)
metres(10.0)
row.check_pose('in the map, which stays', tolerance=0.05)
_, _, values = row.next_status()
assert 0 < int(values['map.features']) and 'map.parts' not in values, values
end(node)
assert before == {path.name: path.read_bytes() for path in FOLDER.glob('row.yaml*')}

# Another one goes on with it from elsewhere, where it lies. A pose that is given moves the robot alone.
node = start(*PARTS, 'map.mode:=extend', 'initial.x_m:=20.0', 'initial.position_std_m:=0.1', 'initial.yaw_std_rad:=0.02')
row.start(3_300 * 1_000_000_000, x=20.0)
metres(10.0)
row.check_pose('in the map that is extended', tolerance=0.05)
place(0.0, 0.0)
metres(8.0)
row.check_pose('put where it was', tolerance=0.05)
_, _, values = row.next_status()
assert int(values['map.features']) == in_view_until(stopped + 16.0), values
assert values['map.parts.failed'] == values['map.parts.moved'] == '0', values
assert call(Trigger, 'save_map').success
end(node)
check_map(in_file(), in_view_until(stopped + 16.0), 0.1)

# One that may be anywhere in it is searched for, at the start and when asked, and the map stays where it lies.
node = start(*PARTS, 'map.mode:=extend', 'initial.mode:=unknown')
row.until(lambda: 'the robot is searched for' in log.read_text(), 'the search')
row.start(3_400 * 1_000_000_000, x=20.0)
metres(10.0)
row.check_pose('found in the map that is extended', tolerance=0.05)
answer = call(Trigger, 'relocalize')
assert answer.success and 'searched for' in answer.message, answer
metres(4.0)
row.check_pose('found again', tolerance=0.05)

# A reset leaves the map where it lies, too, and the robot is searched for again, where it was carried.
answer = call(Trigger, 'reset')
assert answer.success and 'searched for' in answer.message, answer
row.start(3_450 * 1_000_000_000, x=5.0)
metres(10.0)
row.check_pose('found after a reset', tolerance=0.05)
_, _, values = row.next_status()
assert int(values['map.features']) == in_view_until(stopped + 16.0), values
assert values['map.parts.failed'] == values['map.parts.moved'] == '0', values
end(node)
check_map(in_file(), in_view_until(stopped + 16.0), 0.1)

# A file whose parts are damaged is still a map; nothing of it is lost for that.
before, [state] = file.read_bytes(), FOLDER.glob('row.yaml.*.state')
state.write_bytes(state.read_bytes().replace(b'"bases"', b'"poses"'))
node = start(*PARTS, 'initial.x_m:=20.0')
row.start(3_500 * 1_000_000_000, x=20.0)
metres(10.0)
row.check_pose('in the landmarks that are left', tolerance=0.05)
end(node)
assert file.read_bytes() == before and 'is ignored' in log.read_text(), log.read_text()

# A robot without parts drives in it.
node = start(f'map.file:={file}', 'map.mode:=localization')
row.start(4_000 * 1_000_000_000, x=0.0)
metres(10.0)
row.check_pose('in the map that was made in parts', tolerance=0.05)
assert int(row.next_status()[2]['map.features']) > 0
end(node)
print(f'{count} posts in parts of 12')
