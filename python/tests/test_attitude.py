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
    stamps, rates, forces, roll = swinging()
    # North is to the left of the body's x axis, and below the horizon; the body leans.
    north = np.array([0.0, 2e-5, -4e-5])
    field = np.stack([np.zeros(len(roll)), np.cos(roll) * north[1] + np.sin(roll) * north[2],
                      -np.sin(roll) * north[1] + np.cos(roll) * north[2]], axis=1)
    attitude = lienav.Attitude({"magnetometer.enabled": True})
    with_field = attitude.run(stamps, rates, forces, stamps[::10], field[::10])
    without = lienav.Attitude().run(stamps, rates, forces)
    heading = lambda estimates: estimates.orientation_covariance[-1, 2, 2]  # noqa: E731
    assert np.isfinite(with_field.orientation).all()
    assert heading(with_field) < 0.5 * heading(without)
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


def test_a_recording_is_judged_as_by_the_command_line(command, tmp_path):
    stamps, rates, forces, roll = swinging(3000)
    half = np.stack([np.cos(roll / 2), np.sin(roll / 2), 0 * roll, 0 * roll], axis=1)
    columns = "t_s gyr_x_radps gyr_y_radps gyr_z_radps acc_x_mps2 acc_y_mps2 acc_z_mps2 q_w q_x q_y q_z movement"
    table = np.column_stack([stamps * 1e-9, rates, forces, half, np.ones(len(roll))])
    np.savetxt(tmp_path / "swing.csv", table, delimiter=",", header=columns.replace(" ", ","), comments="", fmt="%.12g")
    source = f"broad:{tmp_path / 'swing.csv'}"
    theirs = json.loads(command("attitude", source, "--method", "cayley", "--json"))
    ours = lienav.evaluate_attitude(source, settings={"method": "cayley"})
    times = {"sample_ns": None}
    assert {**ours, **times} == {**theirs, **times}
    assert ours["samples"] == 3000 and 0.0 < ours["inclination_rmse_deg"] < 2.0
    assert "inclination" in str(ours)
    with pytest.raises(lienav.Failed) as raised:
        lienav.evaluate_attitude("nowhere")
    assert str(raised.value) == command("attitude", "nowhere", fails=1)
