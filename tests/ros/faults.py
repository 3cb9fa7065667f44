"""Runs simulator_node and slam_node under a list of faults, and prints what became of each.

usage: faults.py SLAM_NODE SIMULATOR_NODE [--long] [--jobs N] [--domains A,B,…] [--only FAULT …] [--json FILE]

Each fault has nodes of its own, in a ROS domain of its own: they drive for a while, the fault happens, and they drive
on. A row of the table says: how far off the estimate was at most before the fault, from its beginning on, and at the end;
how long after the fault it was off by more than the bound, or silent; and what /diagnostics said. `cargo xtask faults` does it.
"""

import copy
import math
import os
import random
import re
import resource
import signal
import subprocess
import tempfile
import time

from fault_table import recovery, run
from geometry_msgs.msg import PoseWithCovarianceStamped
from peer import UNKNOWN, cloud, nanos, stamp_into
from rclpy.serialization import serialize_message
from robot import LEVELS, Robot

SECOND = 1_000_000_000
GIB = 1 << 30
# Outside of a fault an estimate is expected within this, m: five times what is usual here.
BOUND_M = 0.5
# The short form runs four faults at once, on builds without optimization, on machines that do other things: there a node
# has to be well again, but may take so long, s.
PATIENCE_S = 20.0

FAULTS = {}


def fault(words='', recovers_s=3.0, counts=None, long_only=False, prepare=None, jumps=0):
    """Declare a fault: what /diagnostics has to say, how soon all is well again, what has to be counted."""

    def declare(function):
        FAULTS[function.__name__] = dict(
            function=function, words=words, recovers_s=recovers_s, counts=counts or {}, long_only=long_only,
            prepare=prepare, jumps=jumps,
        )
        return function

    return declare


def repeat(robot, seconds, every_s, action):
    """Do something again and again while time passes; how often."""
    begun, done = time.monotonic(), 0
    while (elapsed := time.monotonic() - begun) < seconds:
        if elapsed >= done * every_s:
            action()
            done += 1
        robot.run(0.002)
    return done


def flood_of(robot, points, template=[]):
    """A cloud of points without identity, at an instant of its own."""
    if not template or template[0].width != points:
        draw = random.Random(7)
        rows = [(UNKNOWN, draw.uniform(1.0, 30.0), draw.uniform(-3.0, 3.0)) for _ in range(points)]
        template[:] = [cloud(0, rows)]
    stamp_into(template[0].header.stamp, robot.newest_ns + 7_000_000)
    return template[0]


@fault(words='too_many_points', counts={'too_many_points': 1800})
def flood(robot, long):
    """Clouds of 2,000 points without id at 10 Hz beside the true ones."""
    sent = repeat(robot, 10.0 if long else 3.0, 0.1, lambda: robot.features.publish(flood_of(robot, 2000)))
    return f'{sent} clouds of 2000 points'


@fault(words='overload|too_many_points', counts={'too_many_points': 1})
def fast_flood(robot, long):
    """The same at 100 Hz, more than any machine takes."""
    sent = repeat(robot, 6.0 if long else 2.0, 0.01, lambda: robot.features.publish(flood_of(robot, 2000)))
    return f'{sent} clouds of 2000 points'


def learning(robot):
    """Noise is learned, as config/robot.yaml has it."""
    robot.slam_parameters['learning.enabled'] = 'true'


@fault(words='overload|too_many_points', counts={'too_many_points': 1}, prepare=learning)
def flood_while_learning(robot, long):
    """The same while noise is learned: what is left of a scan that was cut teaches nothing."""
    return fast_flood(robot, long)


def tight_memory(robot):
    """No more than 2 GiB of addresses, most of which libraries take."""
    robot.limits['slam'] = {resource.RLIMIT_AS: 2 * GIB}


@fault(words='too_many_points', counts={'too_many_points': 5}, prepare=tight_memory)
def low_memory(robot, long):
    """An address space of 2 GiB, and raw scans as features."""
    before = robot.memory_mb()
    sent = repeat(robot, 5.0 if long else 2.0, 0.2, lambda: robot.features.publish(flood_of(robot, 15_000)))
    grown = robot.memory_mb() - before
    assert grown < 200.0, f'{grown:.0f} MB more'
    return f'{sent} scans of 15,000 points; {grown:+.0f} MB'


@fault(words='unreadable', counts={'unreadable': 1140})
def undecodable(robot, long):
    """1,200 messages that are no messages."""
    publishers = [robot.odom, robot.features, robot.initialpose]
    draw = random.Random(3)
    for i in range(1200):
        length = draw.randrange(1, 60)
        publishers[i % 3].publish(b'\x00\x01\x00\x00' + bytes(draw.randrange(256) for _ in range(length)))
        if i % 3 == 2:
            robot.run(0.005)
    return '1200 pieces of bytes on odom, features and initialpose'


@fault(recovers_s=math.inf)
def mutated(robot, long):
    """True messages with a few of their bytes changed, as fast as they go. What is not refused counts as an observation, so
    the map may be worth nothing in the end; the node has to live, and to go on from there.
    """
    draw, topics = random.Random(5), [robot.odom, robot.features, robot.initialpose]
    originals = {}
    pose = PoseWithCovarianceStamped()
    pose.header.frame_id, pose.pose.pose.orientation.w = 'map', 1.0

    def keep(publisher, message):
        originals[publisher] = bytearray(serialize_message(message))
        return [message]

    robot.changes.append(keep)
    robot.until(lambda: len(originals) == 2, 'messages')
    originals[robot.initialpose] = bytearray(serialize_message(pose))
    count, before = 1_000_000 if long else 3_000, robot.memory_mb()
    for i in range(count):
        # A pose of chance now and then; the others are most of what comes.
        topic = topics[2] if i % 100 == 99 else topics[i % 2]
        message = bytearray(originals[topic])
        for _ in range(draw.choice((1, 1, 2, 8))):
            message[draw.randrange(4, len(message))] = draw.randrange(256)
        if draw.random() < 0.05:
            del message[draw.randrange(4, len(message)) :]
        topic.publish(bytes(message))
        if i % 10 == 9:
            robot.run(0.001)
    robot.changes.clear()
    robot.run(1.0)
    robot.anchor_wanted, grown = True, robot.memory_mb() - before
    assert grown < 200.0, f'{grown:.0f} MB more'
    return f'{count} mutated messages; {grown:+.0f} MB'


@fault(words='no odometry for')
def silence(robot, long):
    """Nothing comes."""
    seconds = 6.0 if long else 2.0
    robot.changes.append(lambda publisher, message: [])
    robot.run(seconds)
    robot.changes.clear()
    return f'{seconds:g} s without odom and features'


@fault(words='no odometry for')
def no_odometry(robot, long):
    """Clouds come, odometry does not."""
    robot.changes.append(lambda publisher, message: [] if publisher is robot.odom else [message])
    robot.run(2.0)
    robot.changes.clear()
    return '2 s without odom'


def stray(robot, offset_ns, absolute=False):
    """One odometry message with a wrong stamp, beside the true ones."""
    sent = []

    def change(publisher, message):
        if publisher is not robot.odom or sent:
            return [message]
        wrong = copy.deepcopy(message)
        stamp_into(wrong.header.stamp, offset_ns if absolute else nanos(message.header.stamp) + offset_ns)
        sent.append(wrong)
        return [message, wrong]

    robot.changes.append(change)
    robot.run(0.4)
    robot.changes.clear()


@fault(words='dropped', counts={'unconfirmed_jump': 2, 'from_the_future': 1})
def stray_stamps(robot, long):
    """Single odometry messages with wrong stamps."""
    stray(robot, 0, absolute=True)
    for seconds in (-3.0, 2.5, 4.9):
        stray(robot, int(seconds * SECOND))
    return 'stamp 0; 3 s late; 2.5 s and 4.9 s ahead'


def second_publisher(robot, seconds):
    """All odometry a second time, 2.5 s behind."""

    def change(publisher, message):
        if publisher is not robot.odom:
            return [message]
        wrong = copy.deepcopy(message)
        stamp_into(wrong.header.stamp, nanos(message.header.stamp) - 5 * SECOND // 2)
        return [message, wrong]

    robot.changes.append(change)
    robot.run(seconds)
    robot.changes.clear()
    return f'{seconds:g} s of a second publisher, 2.5 s behind'


@fault(words='two clocks on one topic', counts={'second_clock': 50})
def two_publishers(robot, long):
    """Two clocks interleave."""
    return second_publisher(robot, 4.0 if long else 2.0)


def rewinds(robot):
    """The other behaviour when time is set back."""
    robot.slam_parameters['timing.on_jump_back'] = 'rewind'


@fault(words='two clocks on one topic', counts={'second_clock': 50}, prepare=rewinds, long_only=True)
def two_publishers_rewind(robot, long):
    """The same with timing.on_jump_back: rewind."""
    return second_publisher(robot, 4.0)


@fault(counts={'from_the_future': 4})
def clock_set_ahead(robot, long):
    """The clock of the robot is set an hour ahead."""
    robot.shift_ns += 3600 * SECOND
    robot.run(1.0)
    return 'all stamps an hour later'


@fault(words='time was set back', counts={'unconfirmed_jump': 4}, prepare=rewinds, jumps=1)
def clock_set_back(robot, long):
    """The clock of the robot is set back, and pose and map are to be kept."""
    robot.shift_ns -= 60 * SECOND
    robot.run(1.0)
    return 'all stamps 60 s earlier (rewind)'


@fault()
def slam_stopped(robot, long):
    """slam_node gets no processor time."""
    seconds = 5.0 if long else 2.0
    robot.signal('slam', signal.SIGSTOP)
    robot.run(seconds)
    robot.signal('slam', signal.SIGCONT)
    return f'SIGSTOP of slam_node for {seconds:g} s'


@fault(words='no odometry for')
def driver_stopped(robot, long):
    """The driver hangs, and then sends all at once what it has missed."""
    seconds = 5.0 if long else 2.0
    robot.signal('simulator', signal.SIGSTOP)
    robot.run(seconds)
    robot.signal('simulator', signal.SIGCONT)
    return f'SIGSTOP of the driver for {seconds:g} s'


@fault(recovers_s=6.0)
def slam_killed(robot, long):
    """slam_node is killed and started again; it begins a new map where it is."""
    robot.restart('slam')
    return 'SIGKILL, and started again'


@fault(recovers_s=20.0, long_only=True)
def driver_killed(robot, long):
    """The driver is killed, and starts again with the robot where it was in the beginning."""
    robot.restart('simulator')
    robot.run(15.0)
    return 'SIGKILL of the driver; the robot is carried'


def wants_imu(robot):
    """A parameter that asks for what is not there."""
    robot.slam_parameters['use_imu'] = 'true'


@fault(words='no message has come on imu', prepare=wants_imu)
def no_imu(robot, long):
    """use_imu is set, and there is none."""
    robot.run(1.0)
    return 'use_imu: true without imu'


def small_map(robot):
    """Room for fewer landmarks than there are."""
    robot.slam_parameters['map.max_features'] = 8


@fault(words='the map is full', counts={'map_full': 10}, prepare=small_map)
def full_map(robot, long):
    """There are more landmarks than the map holds."""
    robot.run(1.0)
    return 'map.max_features: 8'


def full_disk_for_log(robot):
    """A log folder without room: a small file system if that is allowed, otherwise files that may not grow."""
    folder = tempfile.mkdtemp(prefix='lienav-full-')
    robot.environment['slam'] = {'ROS_LOG_DIR': folder}
    mount = ['mount', '-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', folder]
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0:
        robot.full_disk, robot.undo = 'a file system of 4 kB', lambda: subprocess.run(['umount', folder])
    else:
        robot.limits['slam'] = {resource.RLIMIT_FSIZE: 4096}
        robot.full_disk, robot.undo = 'files of at most 4 kB', lambda: None


def complain(robot, seconds):
    """Give the node a reason to log again and again, of many kinds."""
    reasons = [
        lambda m: setattr(m.header, 'frame_id', 'x' * 400),
        lambda m: setattr(m, 'child_frame_id', 'y' * 400),
        lambda m: setattr(m.twist.twist.linear, 'x', math.nan),
        lambda m: setattr(m.twist.twist.linear, 'x', 1e9),
        lambda m: setattr(m.header.stamp, 'nanosec', 2 * SECOND),
    ]
    sent = []

    def change(publisher, message):
        if publisher is not robot.odom:
            return [message]
        wrong = copy.deepcopy(message)
        reasons[len(sent) % len(reasons)](wrong)
        sent.append(wrong)
        return [wrong, message]

    robot.changes.append(change)
    robot.run(seconds)
    robot.changes.clear()
    return len(sent)


@fault(words='dropped', counts={'unknown_frame': 10}, prepare=full_disk_for_log)
def full_disk(robot, long):
    """There is no room for the log, and much to be logged."""
    sent = complain(robot, 6.0 if long else 2.0)
    return f'log on {robot.full_disk}; {sent} bad messages'


def slow_disk_for_log(robot):
    """Standard error goes into a pipe that is almost full and that nobody reads."""
    robot.pipe, robot.slam_stderr = os.pipe()
    import fcntl

    room = fcntl.fcntl(robot.slam_stderr, 1031, 4096)  # F_SETPIPE_SZ
    os.write(robot.slam_stderr, b' ' * (room - 1000))
    robot.undo = lambda: (os.close(robot.pipe), os.close(robot.slam_stderr))


@fault(words='dropped', counts={'unknown_frame': 10}, prepare=slow_disk_for_log)
def slow_disk(robot, long):
    """What the node logs is not taken from it: a slow disk, a journal that hangs, a terminal that was stopped."""
    sent = complain(robot, 6.0 if long else 3.0)
    return f'stderr is not read; {sent} bad messages'


def examine(name, slam_node, simulator_node, long):
    """Run one fault: a row of the table."""
    declared, robot = FAULTS[name], Robot(slam_node, simulator_node)
    if declared['prepare']:
        declared['prepare'](robot)
    # A lap takes 25 s. Before its end, a robot that was not heard for seconds comes out where nothing is in the map, and no
    # filter can say where that is.
    drive_s, after_s = (27.0, 12.0) if long else (1.5, 2.5)
    complaints = []
    try:
        robot.begin(drive_s)
        counted = lambda: {k.removeprefix('dropped.'): int(n) for k, n in robot.statuses[-1][3].items() if k.startswith('dropped.')}
        before_counts, memory, files = counted(), robot.memory_mb(), robot.descriptors()
        begun = time.monotonic()
        happened = declared['function'](robot, long)
        ended = time.monotonic()
        robot.run(after_s)
        recovers_s = declared['recovers_s'] if long else max(declared['recovers_s'], PATIENCE_S)
        while not is_well(robot, ended) and time.monotonic() < ended + min(recovers_s, PATIENCE_S) and not long:
            robot.run(0.5)
        if not robot.is_running('slam'):
            raise AssertionError(f'slam_node has ended: {robot.last_words()}')
        finished = time.monotonic()
        statuses = [s for s in robot.statuses if begun < s[0]]
        says = lambda s: bool(re.search(declared['words'], s[2]))
        worst = max(statuses, key=lambda s: (s[1], says(s)), default=(0, 3, 'no diagnostics', {}))
        row = {
            'fault': name,
            'happened': happened,
            'before_m': max(robot.errors(begun - drive_s, begun), default=math.nan),
            'worst_m': max(robot.errors(begun), default=math.nan),
            'after_m': max(robot.errors(finished - 1.0), default=math.nan),
            'recovers_s': recovery(robot.samples, ended, finished, BOUND_M),
            'age_ms': max((float(s[3].get('output_age_ms', s[3].get('latency_ms.max', 0))) for s in statuses), default=math.nan),
            'level': LEVELS[worst[1]],
            'words': worst[2],
            'at_end': LEVELS[statuses[-1][1]] if statuses else 'none',
            'memory_mb': (memory, robot.memory_mb()),
            'descriptors': (files, robot.descriptors()),
        }
        said = '; '.join(s[2] for s in statuses)
        if not re.search(declared['words'], said):
            complaints.append(f"diagnostics do not say '{declared['words']}'")
        if not row['recovers_s'] <= recovers_s:
            complaints.append(f'not well again within {recovers_s:g} s')
        if not row['after_m'] < BOUND_M:
            complaints.append('lost')
        after_counts = counted()
        for reason, least in declared['counts'].items():
            come = after_counts.get(reason, 0) - before_counts.get(reason, 0)
            row.setdefault('counted', {})[reason] = come
            if come < least:
                complaints.append(f'counted {reason} {come} instead of {least}')
        jumps = int(robot.statuses[-1][3].get('time_jumps', 0))
        if jumps != declared['jumps']:
            complaints.append(f'{jumps} jumps of time')
        if row['descriptors'][1] > row['descriptors'][0] + 5:
            complaints.append('descriptors leak')
    except AssertionError as error:
        row = {'fault': name, 'happened': str(error)}
        complaints.append('failed')
    if robot.end() is None:
        complaints.append('slam_node did not end when asked to')
    getattr(robot, 'undo', lambda: None)()
    row['verdict'] = ', '.join(complaints) or 'ok'
    return row


def is_well(robot, ended):
    """Whether estimates come again, and have been within the bound for a second."""
    now = time.monotonic()
    errors = robot.errors(now - 1.0)
    return recovery(robot.samples, ended, now, BOUND_M) <= now - ended - 1.0 and bool(errors) and max(errors) < BOUND_M


def table(rows):
    """All rows as text."""
    lines = [
        f'{"fault":22} {"what happened":52} {"before":>7} {"worst":>7} {"end":>7} {"recovers":>8} {"age":>8} level  verdict'
    ]
    for row in rows:
        number = lambda key, form: format(row[key], form) if key in row else '-'
        lines.append(
            f'{row["fault"]:22} {row["happened"][:52]:52} {number("before_m", "5.2f"):>5} m {number("worst_m", "5.2f"):>5} m '
            f'{number("after_m", "5.2f"):>5} m {number("recovers_s", "6.1f"):>6} s {number("age_ms", "5.0f"):>5} ms '
            f'{row.get("level", "-"):6} {row["verdict"]}'
        )
        lines.append(f'{"":22} {row.get("words", "")[:150]}')
    return '\n'.join(lines)


run(__doc__.splitlines()[0], 'slam_node', FAULTS, examine, table)
