"""Everything that can be wrong with an inertial message or a magnetic field, sent between good ones."""

import math
import sys

import rclpy
from attitude_peer import GRAVITY, SECOND, STEP_NS, TURN, Sensor, angle_between, on_platform

on_jump_back = sys.argv[1]

rclpy.init()
sensor = Sensor()
sensor.connect(sensor.imu, sensor.mag)
expected = {}
# Reasons that every sensor has every day.
ORDINARY = {'not_at_rest', 'disturbed'}


def expect(reason):
    """Count what the node should count."""
    expected[reason] = expected.get(reason, 0) + 1


def check(when, tolerance=1e-2):
    """The newest estimate is right."""
    error = angle_between(on_platform(sensor.heading), sensor.attitudes[-1])
    assert error < tolerance, f'{when}: off by {error}'
    numbers = [*sensor.attitudes[-1].orientation_covariance, *sensor.attitudes[-1].angular_velocity_covariance]
    assert all(math.isfinite(x) for x in numbers), when


def bad(reason, change, ns=None):
    """Send a changed message that would be the next one, then go on as if it had not been."""
    message = sensor.sample(ns=sensor.now_ns + STEP_NS // 2 if ns is None else ns)
    change(message)
    sensor.imu.publish(message)
    expect(reason)
    sensor.feed(0.05)
    check(f'imu: {reason}')


def setting(part, **values):
    """Set components of a vector of the message."""

    def change(message):
        for axis, x in values.items():
            setattr(getattr(message, part), axis, x)

    return change


def nothing_yet():
    """A driver that warms up says that nothing turns and nothing falls: that shows no horizon."""
    for _ in range(3):
        message = sensor.sample()
        setting('angular_velocity', x=0.0, y=0.0, z=0.0)(message)
        setting('linear_acceleration', x=0.0, y=0.0, z=0.0)(message)
        sensor.imu.publish(message)
        expect('absurd')
        sensor.now_ns += STEP_NS
    message = sensor.field()
    sensor.mag.publish(message)
    expect('not_started')
    sensor.until(lambda: int(sensor.next_status()[2]['dropped.not_started']) == 1, 'the early field')


def samples():
    """All that can be wrong with an inertial message."""
    for x in (math.nan, math.inf, -math.inf):
        bad('not_finite', setting('angular_velocity', x=x))
        bad('not_finite', setting('linear_acceleration', z=x))
    bad('absurd', setting('angular_velocity', y=1e9))
    bad('absurd', setting('angular_velocity', x=1e200, y=-1e300))
    bad('absurd', setting('linear_acceleration', x=-1e7))
    bad('no_angular_velocity', lambda m: m.angular_velocity_covariance.__setitem__(0, -1.0))
    bad('no_linear_acceleration', lambda m: m.linear_acceleration_covariance.__setitem__(0, -1.0))
    for name in ('camera', '', 'ïmu\n\x1b[31m' * 50):
        bad('unknown_frame', lambda m, name=name: setattr(m.header, 'frame_id', name))
    bad('bad_stamp', lambda m: setattr(m.header.stamp, 'nanosec', 4_000_000_000))
    keep = lambda message: None  # noqa: E731
    bad('duplicate_stamp', keep, ns=sensor.now_ns)
    bad('too_late', keep, ns=sensor.now_ns - SECOND)
    bad('from_the_future', keep, ns=sensor.now_ns + 1000 * SECOND)
    for publisher in (sensor.imu, sensor.mag):
        publisher.publish(b'\x00\x01\x00\x00\x07')
        expect('unreadable')
        sensor.feed(0.05)
        check('bytes that are no message')
    # An orientation that is nonsense does not matter: it is not read.
    message = sensor.sample(ns=sensor.now_ns + STEP_NS // 2)
    message.orientation.w = math.nan
    sensor.imu.publish(message)
    sensor.feed(0.05)
    check('an orientation nobody reads')
    # A moment of free fall, and a knock, are nothing wrong; they do not shake the horizon.
    for z in (0.0, 20 * GRAVITY):
        message = sensor.sample(ns=sensor.now_ns + STEP_NS // 2)
        setting('linear_acceleration', z=z)(message)
        sensor.imu.publish(message)
        sensor.feed(0.05)
        check(f'a force of {z}', tolerance=2e-2)


def fields():
    """All that can be wrong with a magnetic field."""

    def bad_field(reason, change, ns=None):
        message = sensor.field(ns)
        change(message)
        sensor.mag.publish(message)
        expect(reason)
        sensor.feed(0.05)
        check(f'mag: {reason}')

    keep = lambda message: None  # noqa: E731
    sensor.mag.publish(sensor.field())
    sensor.feed(0.05)
    check('a good field')
    bad_field('not_finite', lambda m: setattr(m.magnetic_field, 'x', math.nan))
    bad_field('unknown_frame', lambda m: setattr(m.header, 'frame_id', 'phone'))
    bad_field('bad_stamp', lambda m: setattr(m.header.stamp, 'nanosec', 2_000_000_000))
    bad_field('too_late', keep, ns=sensor.now_ns - 10 * SECOND)
    bad_field('from_the_future', keep, ns=sensor.now_ns + 10 * SECOND)

    def nothing(message):
        message.magnetic_field.y = message.magnetic_field.z = 0.0

    bad_field('absurd', nothing)


def gap():
    """A second without samples while nothing moves."""
    sensor.now_ns += SECOND
    sensor.feed(0.5)
    check('after a gap', tolerance=2e-2)


def time_jump():
    """Time goes back by more than a packet can be late."""
    sensor.feed(2.0, turn=TURN)
    sensor.now_ns -= 100 * SECOND
    if on_jump_back == 'reset':
        sensor.heading = 0.0
    sensor.attitudes.clear()
    sensor.feed(0.5)
    # The fifth sample in a row confirms the jump.
    for _ in range(4):
        expect('unconfirmed_jump')
    check(f'after time went back ({on_jump_back})', tolerance=3e-2)


if on_jump_back == 'reset':
    nothing_yet()
sensor.feed(4.0)
check('before anything bad')
if on_jump_back == 'reset':
    samples()
    fields()
    gap()
time_jump()
_, _, values = sensor.next_status()
counted = {key.removeprefix('dropped.'): int(n) for key, n in values.items() if key.startswith('dropped.')}
assert {reason: n for reason, n in counted.items() if n and reason not in ORDINARY} == expected, (counted, expected)
assert (values['gaps'], values['time_jumps']) == ('1' if on_jump_back == 'reset' else '0', '1'), values
print(f'{sum(expected.values())} pieces of bad input, all counted: {expected}')
