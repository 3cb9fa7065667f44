"""A sensor of 1 kHz with a magnetometer: what the node takes together, it takes in order, and nothing is lost."""

import glob
import os
import signal
import time

import rclpy
from attitude_peer import Sensor, angle_between, on_platform
from peer import nanos
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import Imu

MILLISECOND = 1_000_000
TOGETHER = 100  # samples that are sent without waiting for the node

rclpy.init()
sensor = Sensor()
sensor.connect(sensor.imu, sensor.mag)
setter = sensor.create_client(SetParameters, 'attitude_node/set_parameters')
assert setter.wait_for_service(5.0)


def change(**values):
    """Set parameters of the node."""
    value = lambda x: ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=x)  # noqa: E731
    request = SetParameters.Request(parameters=[Parameter(name=n, value=value(x)) for n, x in values.items()])
    future = setter.call_async(request)
    rclpy.spin_until_future_complete(sensor, future, timeout_sec=5.0)
    assert all(result.successful for result in future.result().results), future.result()


def rush(seconds, spacing):
    """Samples at 1 kHz and fields at 10 Hz, by the clock on the wall; the stamps of what is said of them."""
    sensor.attitudes.clear()
    for _ in range(round(1000 * seconds) // TOGETHER):
        begun = time.monotonic()
        for k in range(TOGETHER):
            sensor.now_ns += MILLISECOND
            sensor.imu.publish(sensor.sample())
            if k == 50:
                sensor.mag.publish(sensor.field())
            time.sleep(max(0.0, begun + 1e-3 * (k + 1) - time.monotonic()))
        said = sensor.attitudes
        sensor.until(lambda: said and nanos(said[-1].header.stamp) > sensor.now_ns - spacing, 'the newest estimate')
    return [nanos(message.header.stamp) for message in sensor.attitudes]


total = 0
for batch_s, rate_hz, spacing in (
    (0.005, 0.0, MILLISECOND),
    (0.05, 0.0, MILLISECOND),
    (0.0, 0.0, MILLISECOND),
    (0.01, 200.0, 5 * MILLISECOND),
):
    change(batch_s=batch_s, attitude_rate_hz=rate_hz)
    stamps = rush(1.0, spacing)
    total += 1000
    assert abs(len(stamps) - 1000 * MILLISECOND // spacing) <= 1, (batch_s, rate_hz, len(stamps))
    assert all(b - a == spacing for a, b in zip(stamps, stamps[1:])), (batch_s, rate_hz, stamps)

# By now the bias is known.
assert angle_between(on_platform(0.0), sensor.attitudes[-1]) < 2e-2, sensor.attitudes[-1].orientation

# While nobody listens the samples are used all the same, and who comes late hears what follows.
[listener] = [s for s in sensor.subscriptions if s.topic_name == '/attitude']
sensor.destroy_subscription(listener)
for _ in range(TOGETHER):
    sensor.now_ns += MILLISECOND
    sensor.imu.publish(sensor.sample())
total += TOGETHER
used = lambda: int(sensor.next_status()[2]['input.used'])  # noqa: E731
sensor.until(lambda: used() == total, 'the samples that nobody hears of')
late = []
sensor.create_subscription(Imu, 'attitude', late.append, 1000)
change(attitude_rate_hz=0.0)
begun = sensor.now_ns
while not late:
    sensor.now_ns += MILLISECOND
    sensor.imu.publish(sensor.sample())
    total += 1
    rclpy.spin_once(sensor, timeout_sec=0.01)
    assert sensor.now_ns < begun + 1000 * MILLISECOND, 'a late listener hears nothing'
assert nanos(late[0].header.stamp) > begun, 'what came before is not repeated'


def process():
    """The node's process: the one of this name in our domain."""
    for folder in glob.glob('/proc/[0-9]*'):
        try:
            with open(f'{folder}/comm', encoding='ascii') as comm, open(f'{folder}/environ', encoding='utf-8') as environ:
                ours = f'ROS_DOMAIN_ID={os.environ["ROS_DOMAIN_ID"]}' in environ.read().split('\0')
                if ours and comm.read().strip() == 'attitude_node':
                    return int(folder.removeprefix('/proc/'))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    raise AssertionError('no process of the node')


# Samples that come while the node gets no processor time wait for it.
change(batch_s=0.01)
os.kill(process(), signal.SIGSTOP)
for _ in range(4 * TOGETHER):
    sensor.now_ns += MILLISECOND
    sensor.imu.publish(sensor.sample())
total += 4 * TOGETHER
os.kill(process(), signal.SIGCONT)

sensor.until(lambda: used() == total, 'the last samples')
_, _, values = sensor.next_status()
assert values['input.received'] == values['input.used'] == str(total), (values, total)
assert values['mag.received'] == values['mag.used'] == '40', values
assert values['gaps'] == values['time_jumps'] == '0', values
dropped = {key: n for key, n in values.items() if key.startswith('dropped.') and n != '0'}
assert not dropped.keys() - {'dropped.not_at_rest'}, dropped
print(f'{total} samples and 40 fields, all used')
