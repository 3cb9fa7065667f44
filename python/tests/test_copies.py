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
