"""Orientation, sample by sample and in arrays, and as the command line judges it."""

import json

import numpy as np
import pytest

import lienav


def swinging(n=2000):
    """A sensor that leans to and fro about x, and a gyroscope with a bias."""
    time = np.arange(n) * 0.005
    roll, rate = 0.4 * np.sin(time), 0.4 * np.cos(time)
    zeros = np.zeros(n)
    rates = np.stack([rate + 0.01, zeros - 0.02, zeros], axis=1)
    forces = 9.80665 * np.stack([zeros, np.sin(roll), np.cos(roll)], axis=1)
    return lienav.to_ns(time), rates, forces, roll


def test_samples_and_arrays_agree_to_the_last_bit_and_follow_the_truth():
    stamps, rates, forces, roll = swinging()
    singly = lienav.Attitude()
    estimates = []
    for stamp, rate, force in zip(stamps, rates, forces):
        assert singly.imu(int(stamp), rate, force) is None
        estimates.append(singly.estimate())
    whole = lienav.Attitude().run(stamps, rates, forces)
    assert np.array_equal(whole.orientation, [estimate.orientation for estimate in estimates])
    assert np.array_equal(whole.gyro_bias, [estimate.gyro_bias for estimate in estimates])
    found = 2 * np.arctan2(whole.orientation[:, 0], whole.orientation[:, 3])
    assert np.max(np.abs(found - roll)[1000:]) < 0.02
    assert whole.orientation_covariance.shape == (2000, 3, 3) and len(whole) == 2000
    assert len(whole.to_frame()) == 2000 and estimates[-1].gyro_bias_covariance.shape == (3, 3)


def test_a_magnetic_field_gives_the_heading():
    stamps, rates, forces, _ = swinging()
    settings = {"magnetometer.use": True} if "magnetometer.use" in str(lienav.Attitude.__doc__) else None
    attitude = lienav.Attitude(settings)
    field = np.tile([2e-5, 0.0, -4e-5], (len(stamps) // 10, 1))
    estimates = attitude.run(stamps, rates, forces, stamps[::10], field)
    assert np.isfinite(estimates.orientation).all()
    assert attitude.set_orientation([0.0, 0.0, 0.0, 2.0], 0.1) == "absurd"
    attitude.reset()
    assert attitude.estimate() is None


def test_what_is_wrong_is_named():
    attitude = lienav.Attitude()
    with pytest.raises(lienav.WrongCall, match=r"angular_velocity has the shape \(2\); expected: \(3\)"):
        attitude.imu(0, [0.0, 0.0], [0.0, 0.0, 9.8])
    with pytest.raises(lienav.WrongCall, match="there is no setting 'gyroscop"):
        lienav.Attitude({"gyroscop.noise": 1})
    assert attitude.imu(0, [np.nan, 0.0, 0.0], [0.0, 0.0, 9.8]) == "not_finite"
    assert attitude.dropped == {"not_finite": 1}


def test_a_bag_is_judged_as_by_the_command_line(command, tmp_path):
    bag = tmp_path / "bag"
    lienav.simulate("range-bearing", settings={"imu.rate_hz": 100.0}).to_bag(bag)
    theirs = json.loads(command("attitude", bag, "--json"))
    ours = lienav.evaluate_attitude(bag)
    times = {"sample_ns": None}
    assert {**ours, **times} == {**theirs, **times} and ours["samples"] > 0
    assert "samples" in str(ours)
    with pytest.raises(lienav.Failed) as raised:
        lienav.evaluate_attitude("nowhere")
    assert str(raised.value) == command("attitude", "nowhere", fails=1)
