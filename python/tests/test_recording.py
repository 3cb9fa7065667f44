"""Recordings as arrays, and arrays as recordings."""

import numpy as np
import pytest

import lienav

STAMPS = np.arange(11) * 100_000_000
VALUES = np.column_stack([5.0 - 0.1 * np.arange(11), np.zeros(11)])


def same(a, b):
    for name in ("odometry", "imu", "features"):
        one, other = getattr(a, name), getattr(b, name)
        for field in one.__dataclass_fields__:
            x, y = getattr(one, field), getattr(other, field)
            assert type(x) is type(y), (name, field)
            if isinstance(x, np.ndarray):
                assert np.array_equal(x, y, equal_nan=x.dtype.kind == "f"), (name, field)
            else:
                assert x == y, (name, field)
    assert np.array_equal(a.order, b.order)


def rebuilt(recording, **more):
    return lienav.Recording.from_arrays(
        odometry=recording.odometry,
        features=recording.features,
        imu=recording.imu,
        order=recording.order,
        truth=recording.truth,
        true_landmarks=recording.true_landmarks,
        settings=recording.settings,
        **more,
    )


@pytest.mark.parametrize("scenario", ["range-bearing", "thesis-circle-10hz-low-q1", "cones"])
def test_a_recording_comes_back_from_its_arrays_and_from_a_bag(scenario, tmp_path):
    recording = lienav.simulate(scenario, seed=5)
    assert len(recording) == len(recording.order) == len(recording.odometry.stamp_ns) + len(
        recording.imu.stamp_ns
    ) + len(recording.features.stamp_ns)
    arrays = rebuilt(recording, name="again")
    same(recording, arrays)
    assert arrays.settings == recording.settings and arrays.name == "again"
    recording.to_bag(tmp_path / "bag")
    bag = lienav.open(tmp_path / "bag")
    same(recording, bag)
    (stamps, poses), (their_stamps, theirs) = recording.truth, bag.truth
    assert np.array_equal(stamps, their_stamps) and np.array_equal(poses[:, :2], theirs[:, :2])
    # A message has a quaternion, which does not count turns.
    assert np.allclose(np.exp(1j * poses[:, 2]), np.exp(1j * theirs[:, 2]), atol=1e-12)
    with pytest.raises(lienav.Failed, match="exists"):
        recording.to_bag(tmp_path / "bag")
    recording.to_bag(tmp_path / "bag", replace=True)


def test_evaluation_of_arrays_is_that_of_the_recording(recording):
    ours, theirs = lienav.evaluate(rebuilt(recording))[0], lienav.evaluate(recording)[0]
    assert np.array_equal(ours.steps.pose, theirs.steps.pose)
    assert ours["nees_mean"] == theirs["nees_mean"] is not None


def test_without_an_order_messages_arrive_by_their_stamps_features_last():
    odometry = lienav.Odometry(np.array([0, 2, 4]) * 10**8, np.tile([1.0, 0.0, 0.0], (3, 1)))
    features = lienav.Features.of_readings(
        np.array([0, 0, 2, 4]) * 10**8, [[5.0, 0.0], [5.0, 1.0], [4.8, 0.0], [4.6, 0.0]], [7, 8, 7, 7]
    )
    assert features.first.tolist() == [0, 2, 3, 4] and features.stamp_ns.tolist() == [0, 2 * 10**8, 4 * 10**8]
    recording = lienav.Recording.from_arrays(odometry=odometry, features=features)
    assert recording.order.tolist() == [0, 2, 0, 2, 0, 2]
    steps = lienav.Slam().run(recording)
    assert len(steps) == 3 and np.allclose(steps.pose[:, 0], [0.0, 0.2, 0.4], atol=0.05)
    assert len(features.to_frame()) == 4 and len(odometry.to_frame()) == 3


def test_no_measurements_at_all_are_an_empty_set_of_scans():
    features = lienav.Features.of_readings([], np.zeros((0, 2)))
    assert features.first.tolist() == [0]
    recording = lienav.Recording.from_arrays(
        odometry=lienav.Odometry(np.array([0]), np.zeros((1, 3))), features=features
    )
    assert len(recording) == 1 and len(recording.features.stamp_ns) == 0


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"values": VALUES.T}, "values has the shape (2, 11); expected: (11, 2)"),
        ({"values": VALUES.ravel()}, "values has the shape (22,); expected: (11, 2)"),
        ({"values": VALUES[:, 0]}, "values has the shape (11,)"),
        ({"values": VALUES.T, "kind": "range"}, "expected: (11, 1) or (11, 2)"),
        ({"ids": np.full(10, 7)}, "ids has the shape (10,); expected: (11,)"),
        ({"ids": np.full(11, 7.5)}, "ids is an array of float64"),
        ({"stamp_ns": STAMPS * 1e-9}, "stamp_ns is an array of float64; expected whole numbers: lienav.to_ns(seconds)"),
        ({"stamp_ns": np.full(11, np.nan)}, "stamp_ns is an array of float64"),
        ({"kind": "polar"}, "kind is 'polar'; allowed: range_bearing"),
        ({"covariance": np.eye(2)}, "covariance has the shape (2, 2); expected: (11, 2, 2)"),
        ({"values": "abc"}, "values is no array of numbers"),
    ],
)
def test_arrays_of_measurements_are_not_scrambled(given, what):
    arguments = {"stamp_ns": STAMPS, "values": VALUES, "ids": np.full(11, 7), **given}
    with pytest.raises(lienav.WrongCall) as raised:
        lienav.Features.of_readings(**arguments)
    assert what in str(raised.value)


def test_measurements_of_one_number_may_be_a_column_or_a_row():
    for values in (VALUES[:, 0], VALUES[:, :1], VALUES):
        features = lienav.Features.of_readings(STAMPS, values, np.full(11, 7), kind="range")
        assert np.array_equal(features.values[:, 0], VALUES[:, 0])


def test_arrays_that_do_not_fit_are_refused_with_their_names(recording):
    odometry = recording.odometry

    def build(**arrays):
        return lienav.Recording.from_arrays(**{"odometry": odometry, **arrays})

    features = recording.features
    cut = lienav.Features(features.stamp_ns, features.first[:-1], features.ids, features.values)
    wild = lienav.Features(features.stamp_ns[:1], np.array([0, 10**6]), features.ids, features.values)
    for arrays, what in [
        ({"features": cut}, "features.first has the shape"),
        ({"features": wild}, "features.first goes from 0 to 1000000 at cloud 0"),
        ({"order": [0, 1, 2]}, "order does not fit the messages"),
        ({"truth": (np.array([2, 1]), np.zeros((2, 3)))}, "it has to increase"),
        ({"truth": (np.array([1]), np.zeros((1, 2)))}, "truth.pose has the shape (1, 2); expected: (1, 3)"),
        ({"true_landmarks": (np.array([-1]), np.zeros((1, 2)))}, "the id -1"),
        ({"settings": {"gate.probability": 7}}, "gate.probability"),
    ]:
        with pytest.raises(lienav.WrongCall) as raised:
            build(**arrays)
        assert what in str(raised.value)


def test_harder_recordings_are_those_of_the_command_line(recording, bag, command):
    import json

    words = ["--every", "2", "--clutter", "3", "--clutter-seed", "5", "--ignore-ids", "--json"]
    theirs = json.loads(command("evaluate", bag, *words))
    ours = lienav.evaluate(bag, every=2, clutter=3, clutter_seed=5, ignore_ids=True)[0]
    assert {**ours, "step_us": None} == {**theirs, "step_us": None}
    assert ours["associations"]["readings"] > 0


def test_stamps_are_rounded_to_the_nanosecond():
    assert lienav.to_ns(1.5) == 1_500_000_000 and isinstance(lienav.to_ns(0.1), int)
    assert lienav.to_ns([0.1, 0.2]).tolist() == [100_000_000, 200_000_000]
