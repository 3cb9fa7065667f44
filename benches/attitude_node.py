"""What attitude_node costs: CPU time of all its threads, fed by rclpy, with nobody, a best-effort and a reliable listener.

    cargo xtask run cargo build --release --bin attitude_node
    cargo xtask run python3 benches/attitude_node.py target/release/attitude_node

Prints a table: medians over the rounds, least and most in brackets. Settings are measured in turns, since machines that others
share are not equally fast at every minute. Two yardsticks are measured among them: a process that does nothing but sleep for a
period at a time, and a node of rclpy that does nothing with the samples it gets.
On loopback, in a ROS domain of its own; Linux only (/proc/PID/task/*/schedstat)."""

import argparse
import glob
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SETTINGS = (
    {},
    {'batch_s': 0.005, 'attitude_rate_hz': 200.0},
    {'batch_s': 0.01, 'attitude_rate_hz': 100.0},
    {'batch_s': 0.02, 'attitude_rate_hz': 50.0},
    {'batch_s': 0.05, 'attitude_rate_hz': 20.0},
)
LISTENERS = ('best effort', 'reliable', 'nobody')
YARDSTICKS = {'subscribe': 'a node of rclpy that does nothing with its samples', 'sleep': 'a process that sleeps for a period at a time'}
PATIENCE_S = 15.0


def send(rate_hz, seconds):
    """Publish samples by the clock; say `go` before the first and how many after the last."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import Imu

    rclpy.init()
    node = rclpy.create_node('sender')
    publisher = node.create_publisher(Imu, 'imu', qos_profile_sensor_data)
    begun = time.monotonic()
    while publisher.get_subscription_count() < 1:
        if time.monotonic() - begun > PATIENCE_S:
            sys.exit('nobody subscribes to imu')
        time.sleep(0.05)
    time.sleep(1.0)
    sample = Imu()
    sample.header.frame_id = 'imu_link'
    sample.orientation_covariance[0] = -1.0
    sample.linear_acceleration.z = 9.81
    count = round(rate_hz * seconds)
    print('go', flush=True)
    begun = time.monotonic()
    for k in range(count):
        time.sleep(max(0.0, begun + k / rate_hz - time.monotonic()))
        stamp = time.time_ns()
        sample.header.stamp.sec, sample.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        sample.angular_velocity.x = 0.3 * math.sin(k / rate_hz)
        publisher.publish(sample)
    print(count, flush=True)
    time.sleep(1.0)


def listen(how):
    """Note the latency of every estimate and the counts of the diagnostics; say them at SIGTERM."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
    from sensor_msgs.msg import Imu

    rclpy.init()
    node = rclpy.create_node('listener')
    latencies, counts, stop = [], {}, []
    if how != 'nobody':
        reliability = ReliabilityPolicy.RELIABLE if how == 'reliable' else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(depth=2000, reliability=reliability, history=HistoryPolicy.KEEP_LAST)
        nanos = lambda stamp: stamp.sec * 1_000_000_000 + stamp.nanosec  # noqa: E731
        heard = lambda message: latencies.append(1e-6 * (time.time_ns() - nanos(message.header.stamp)))  # noqa: E731
        node.create_subscription(Imu, 'attitude', heard, qos)
    said = lambda message: counts.update({v.key: v.value for v in message.status[0].values})  # noqa: E731
    node.create_subscription(DiagnosticArray, '/diagnostics', said, 10)
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    begun = time.monotonic()
    while not node.count_publishers('attitude'):
        if time.monotonic() - begun > PATIENCE_S:
            sys.exit('nobody publishes attitude')
        rclpy.spin_once(node, timeout_sec=0.05)
    print('ready', flush=True)
    while not stop:
        rclpy.spin_once(node, timeout_sec=0.1)
    latencies.sort()
    at = lambda part: f'{latencies[int(part * (len(latencies) - 1))]:.1f}' if latencies else '-'  # noqa: E731
    print(counts.get('input.used', '?'), len(latencies), at(0.5), at(0.99), flush=True)


def subscribe():
    """Take samples and do nothing with them, as a node that stays at the defaults of rclpy."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import Imu

    rclpy.init()
    node = rclpy.create_node('subscriber')
    node.create_subscription(Imu, 'imu', lambda _: None, qos_profile_sensor_data)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass


def sleep(period_s):
    """What it costs to be woken, and nothing else."""
    try:
        while True:
            time.sleep(period_s)
    except KeyboardInterrupt:
        pass


def cpu_ns(pid):
    """CPU time of all threads so far: of the node's own, and of Fast DDS's (named dds.…)."""
    own = dds = 0
    for task in glob.glob(f'/proc/{pid}/task/*'):
        try:
            with open(f'{task}/schedstat', encoding='ascii') as schedstat, open(f'{task}/comm', encoding='ascii') as comm:
                spent, name = int(schedstat.read().split()[0]), comm.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        own, dds = (own, dds + spent) if name.startswith('dds.') else (own + spent, dds)
    return own, dds


def peer(*arguments, script=__file__):
    """Another process of a script."""
    return subprocess.Popen([sys.executable, script, '--peer', *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def expect(process, word):
    """Wait for a line."""
    line = process.stdout.readline().strip()
    if line != word:
        sys.exit(f'a peer said {line!r} instead of {word!r}')


def measure(command, how, rate_hz, seconds):
    """One run of a node: percents of a core (all, Fast DDS's), samples sent, and what the listener says, if there is one."""
    with tempfile.TemporaryFile('w+') as complaints:
        node = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=complaints)
        processes = [node]
        try:
            if how:
                processes.append(listener := peer('listen', how))
                expect(listener, 'ready')
            processes.append(sender := peer('send', rate_hz, seconds))
            expect(sender, 'go')
            before, begun = cpu_ns(node.pid), time.monotonic()
            sent = int(sender.stdout.readline())
            after, lasted = cpu_ns(node.pid), time.monotonic() - begun
            sender.wait()
            said = ['', '', '-', '-']
            if how:
                time.sleep(1.2)  # for the diagnostics of the last second
                listener.terminate()
                said = listener.communicate()[0].split()
            own, dds = ((b - a) / lasted * 1e-7 for a, b in zip(before, after))
            return own + dds, dds, sent, *said
        except SystemExit:
            if node.poll() is not None:
                complaints.seek(0)
                print(complaints.read(), end='', file=sys.stderr)
            raise
        finally:
            for process in processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT if process is node else signal.SIGTERM)
                    process.wait(5)


def measure_sleep(rate_hz, seconds):
    """One run of the process that sleeps, as one of a node."""
    sleeper = peer('sleep', 1.0 / rate_hz)
    try:
        time.sleep(0.5)
        (before, _), begun = cpu_ns(sleeper.pid), time.monotonic()
        time.sleep(seconds)
        (after, _), lasted = cpu_ns(sleeper.pid), time.monotonic() - begun
        return (after - before) / lasted * 1e-7, 0.0, '-', '', '', '-', '-'
    finally:
        sleeper.send_signal(signal.SIGINT)
        sleeper.wait(5)


def kinds(executable, rate_hz, seconds):
    """What is measured: name, listener, and a function that makes one run."""
    for setting in SETTINGS:
        parameters = [word for name, value in setting.items() for word in ('-p', f'{name}:={value}')]
        command = [executable, *(['--ros-args', *parameters] if parameters else [])]
        name = ', '.join(f'`{name}: {value}`' for name, value in setting.items()) or 'default'
        for how in LISTENERS:
            yield name, how, lambda command=command, how=how: measure(command, how, rate_hz, seconds)
    subscriber = [sys.executable, __file__, '--peer', 'subscribe']
    yield YARDSTICKS['subscribe'], '-', lambda: measure(subscriber, None, rate_hz, seconds)
    yield YARDSTICKS['sleep'], '-', lambda: measure_sleep(rate_hz, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('executable', nargs='?', help='attitude_node, built for release')
    parser.add_argument('--rate', type=float, default=1000.0, help='samples a second [default: 1000]')
    parser.add_argument('--seconds', type=float, default=5.0, help='of each run [default: 5]')
    parser.add_argument('--rounds', type=int, default=3, help='runs of each kind [default: 3]')
    parser.add_argument('--peer', nargs='+', help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        task, *arguments = given.peer
        tasks = {'send': lambda *x: send(*map(float, x)), 'listen': listen, 'subscribe': subscribe, 'sleep': lambda x: sleep(float(x))}
        return tasks[task](*arguments)
    if not given.executable or not os.access(given.executable, os.X_OK):
        parser.error('which executable? cargo xtask run cargo build --release --bin attitude_node')
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))
    runs = {}
    of_all = list(kinds(given.executable, given.rate, given.seconds))
    for k in range(given.rounds * len(of_all)):
        name, how, once = of_all[k % len(of_all)]
        print(f'\r{k + 1} of {given.rounds * len(of_all)} ', end='', file=sys.stderr, flush=True)
        runs.setdefault((name, how), []).append(once())
    print('\r', end='', file=sys.stderr)
    print('| % of a core | listener | all | of that Fast DDS | sample to estimate: median, 99th percentile, ms | sent, used, heard |')
    print('|---|---|---|---|---|---|')
    for (name, how), of in runs.items():
        everything, dds = ([run[i] for run in of] for i in (0, 1))
        last = of[-1]
        spread = f'{statistics.median(everything):.1f} [{min(everything):.1f}, {max(everything):.1f}]'
        counts = ', '.join(str(x) for x in last[2:5] if x != '')
        print(f'| {name} | {how} | {spread} | {statistics.median(dds):.1f} | {last[5]}, {last[6]} | {counts} |')


if __name__ == '__main__':
    main()
