"""Copies and pickles of recordings and filters."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import lienav

WAYS = [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("harder", [{}, {"ignore_ids": True, "clutter": 2}])
def test_a_recording_is_the_same_afterwards(recording, way, harder):
    recording = recording.harder(**harder) if harder else recording
    again = way(recording)
    assert pickle.dumps(again) == pickle.dumps(recording)
    for name in ("name", "settings", "dropped", "warnings"):
        assert getattr(again, name) == getattr(recording, name), name
    ours, theirs = (dict(lienav.evaluate(one)[0]) for one in (again, recording))
    assert {**ours, "step_us": None} == {**theirs, "step_us": None}


def test_a_recording_with_further_sensors_says_what_to_do(tmp_path, recording):
    recording.to_bag(tmp_path / "bag")
    config = tmp_path / "robot.yaml"
    config.write_text("slam_node:\n  ros__parameters:\n    sensors: [rear]\n    rear: {x_m: -0.3}\n")
    further = lienav.open(tmp_path / "bag", config=config)
    with pytest.raises(lienav.Failed, match="give its path"):
        pickle.dumps(further)


@pytest.mark.parametrize("way", WAYS)
def test_a_filter_goes_on_to_the_last_bit(recording, way):
    filter = lienav.Slam({"sensor.range_std_m": 0.03})
    odometry, features = recording.odometry, recording.features
    half = odometry.stamp_ns[len(odometry.stamp_ns) // 2]

    def part(first):
        of = (odometry.stamp_ns <= half) == first
        scans = np.flatnonzero((features.stamp_ns <= half) == first)
        rows = np.concatenate([np.arange(features.first[k], features.first[k + 1]) for k in scans])
        stamps, ends = features.stamp_ns[scans], np.cumsum(np.diff(features.first)[scans])
        return {
            "odometry": lienav.Odometry(odometry.stamp_ns[of], odometry.twist[of]),
            "features": lienav.Features(stamps, np.r_[0, ends], features.ids[rows], features.values[rows]),
        }

    filter.run(**part(True), finish=False)
    again = way(filter)
    assert type(again) is lienav.Slam and again.settings == filter.settings
    ours, theirs = again.run(**part(False)), filter.run(**part(False))
    assert len(ours) > 20 and np.array_equal(ours.pose, theirs.pose) and np.array_equal(ours.covariance, theirs.covariance)
    assert np.array_equal(again.landmarks().position, filter.landmarks().position)


def error_of(recording):
    return lienav.evaluate(recording, "ekf")[0]["position_rmse_m"]


def test_a_recording_goes_to_a_pool(recording):
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(error_of, [recording, recording]))
    assert found == [error_of(recording)] * 2


@pytest.mark.parametrize("way", WAYS)
def test_an_evaluation_keeps_numbers_and_arrays(recording, way, tmp_path):
    evaluation = lienav.evaluate(recording, ["default", "ekf"])
    again = way(evaluation)
    assert type(again) is lienav.Evaluation and again.to_json() == evaluation.to_json() and str(again) == str(evaluation)
    assert again.recording.name == recording.name
    for ours, theirs in [(again["ekf"], evaluation["ekf"]), (way(evaluation["ekf"]), evaluation["ekf"])]:
        assert type(ours) is lienav.Report and dict(ours) == dict(theirs) and repr(ours) == repr(theirs)
        assert np.array_equal(ours.errors.nees, theirs.errors.nees, equal_nan=True)
        assert np.array_equal(ours.steps.pose, theirs.steps.pose)
        assert np.array_equal(ours.landmarks.ids, theirs.landmarks.ids) and len(ours.step_us) == len(theirs.step_us)
    evaluation.write(tmp_path / "results")
    twice = way(again)
    assert twice.to_latex() == evaluation.to_latex()
    with pytest.raises(lienav.Failed, match="evaluate again"):
        twice.write(tmp_path / "more")



def logarithm(z):
    return [-20 * np.log10(np.hypot(*z))]


def its_derivative(z):
    return [-20 / np.log(10) * z / (z @ z)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["default", "ekf", "reduced"])
def test_a_stepped_filter_goes_on_to_the_last_bit(way, name):
    filter = lienav.KalmanFilter({"filter": name, "gate.probability": 0.99})
    radio = filter.add_sensor(logarithm, its_derivative, [[0.25]], mount=(0.1, 0.0, 0.2))

    def drive(filter, steps):
        for k in steps:
            filter.predict((0.3, 0.01 * k, 0.1), np.diag([1e-4, 1e-5, 1e-5]), duration=0.1)
            filter.correct([[5.0 - 0.1 * k, 0.2], [3.0, -0.1 * k]], [7, 8])
            filter.correct([[-12.0 - 0.1 * k]], [7], kind=radio)

    drive(filter, range(5))
    again = way(filter)
    assert np.array_equal(again.mean, filter.mean) and again.time == filter.time
    drive(filter, range(5, 12))
    drive(again, range(5, 12))
    assert np.array_equal(again.mean, filter.mean) and np.array_equal(again.covariance, filter.covariance)
    assert list(again.blocks) == list(filter.blocks)


def test_a_stepped_filter_with_a_function_without_name_says_so():
    filter = lienav.KalmanFilter()
    filter.add_sensor(lambda z: [z[0]], lambda z: [[1.0, 0.0]], [[1.0]])
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(filter)
    assert copy.deepcopy(filter).blocks == filter.blocks


@pytest.mark.parametrize("way", WAYS)
def test_an_attitude_goes_on_to_the_last_bit(way):
    random = np.random.default_rng(3)
    stamps = np.arange(1200) * 5_000_000
    rates, forces = 0.3 * random.normal(size=(1200, 3)), random.normal(size=(1200, 3)) + [0, 0, 9.81]
    attitude = lienav.Attitude({"gyroscope.delay_s": 0.0})
    attitude.run(stamps[:700], rates[:700], forces[:700])
    again = way(attitude)
    ours, theirs = (one.run(stamps[700:], rates[700:], forces[700:]) for one in (again, attitude))
    assert type(again) is lienav.Attitude and np.array_equal(ours.orientation, theirs.orientation)
    assert np.array_equal(ours.gyro_bias, theirs.gyro_bias)
    with pytest.raises(lienav.Failed, match="damaged"):
        attitude.restore(b"{}")


def test_arrays_compare_by_their_numbers():
    steps = lienav.Slam().run(odometry=lienav.Odometry(np.arange(5) * 10**8, np.ones((5, 3))))
    assert pickle.loads(pickle.dumps(steps)) == steps and steps != 3
    one = lienav.Odometry(np.arange(5), np.ones((5, 3)))
    assert one == lienav.Odometry(np.arange(5), np.ones((5, 3))) != lienav.Odometry(np.arange(5), np.zeros((5, 3)))
