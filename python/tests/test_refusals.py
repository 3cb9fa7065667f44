"""What is refused is a lienav.Error that names the argument."""

import numpy as np
import pytest

import lienav

STAMPS = np.arange(11) * 100_000_000


def slam():
    filter = lienav.Slam()
    filter.odometry(0, 1.0)
    return filter


def arrays(**more):
    return lienav.Recording.from_arrays(odometry=lienav.Odometry(STAMPS, np.ones((11, 3))), **more)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda r: lienav.monte_carlo("esde", runs=-1), "runs is -1"),
        (lambda r: lienav.monte_carlo("esde", runs=1.5), "runs is 1.5, of type float"),
        (lambda r: lienav.monte_carlo("esde", runs=1, seed=-1), "seed is -1"),
        (lambda r: lienav.monte_carlo("esde", runs=1, threads=-1), "threads is -1"),
        (lambda r: lienav.monte_carlo("esde", 5), "filters is 5"),
        (lambda r: lienav.merge_shards(5), "paths is 5"),
        (lambda r: lienav.simulate("esde", seed="a"), "seed is 'a', of type str"),
        (lambda r: lienav.to_ns(np.nan), "seconds has nan"),
        (lambda r: lienav.to_ns([0.0, np.inf]), "seconds has inf"),
        (lambda r: lienav.to_ns(1e10), "seconds has 10000000000.0"),
        (lambda r: lienav.to_ns("abc"), "seconds is no array"),
        (lambda r: slam().odometry(0.5, 1.0), "stamp_ns is 0.5, of type float"),
        (lambda r: slam().odometry(float("nan"), 1.0), "stamp_ns is nan"),
        (lambda r: slam().odometry(1, "a"), "vx is 'a', of type str"),
        (lambda r: slam().odometry(1, 1.0, covariance="a"), "covariance is 'a', of type str"),
        (lambda r: slam().imu(1, 0.1, (1,)), "tilt is (1,), of type tuple"),
        (lambda r: slam().features(1, "abc"), "values is 'abc'"),
        (lambda r: slam().features(1, [[1.0, 0.0]], ["a"]), "ids is ['a'], of type list"),
        (lambda r: slam().set_pose(0.0, "b", 0.0), "y is 'b'"),
        (lambda r: slam().restore("a"), "state is 'a', of type str"),
        (lambda r: slam().run(odometry=lienav.Odometry(STAMPS // 10**8, np.ones((11, 3)))), "odometry.stamp_ns are 1 ns apart"),
        (lambda r: slam().run(odometry=lienav.Odometry(STAMPS // 10**3, np.ones((11, 3)))), "lienav.to_ns makes these"),
        (lambda r: slam().run(r, odometry=lienav.Odometry(STAMPS, np.ones((11, 3)))), "odometry is given beside a recording"),
        (lambda r: lienav.monte_carlo("esde", runs=1, executor=4), "executor is of type int"),
        (lambda r: lienav.batch(r, filters="ekf"), "filters is for evaluate"),
        (lambda r: lienav.Recording.from_arrays(odometry=None), "odometry is None"),
        (lambda r: arrays(truth=(STAMPS, np.full((11, 3), np.nan))), "truth.pose has a number that is not finite"),
        (lambda r: arrays(true_landmarks=([1, 1], np.zeros((2, 2)))), "true_landmarks.ids has an identity twice"),
        (lambda r: slam().run("a"), "recording is of type str; expected a lienav.Recording"),
        (lambda r: slam().run(odometry=lienav.Odometry(STAMPS, "abc")), "odometry.twist is no array"),
        (lambda r: slam().run(odometry=5), "odometry is of type int; expected lienav.Odometry"),
        (lambda r: lienav.Slam(map=5), "map is 5, of type int; expected a path"),
        (lambda r: lienav.open(5), "source is 5, of type int; expected a path"),
        (lambda r: lienav.open("nowhere", odom_topic=5), "the topic of odometry is 5"),
        (lambda r: lienav.evaluate(5), "source is 5"),
        (lambda r: lienav.evaluate(r, [5]), "filters is 5"),
        (lambda r: lienav.evaluate(r, every=0), "every is 0"),
        (lambda r: lienav.evaluate(r, every=-1), "every is -1"),
        (lambda r: lienav.evaluate(r, clutter=-1), "clutter is -1"),
        (lambda r: lienav.evaluate(r, max_truth_gap_s="a"), "max_truth_gap_s is 'a'"),
        (lambda r: r.to_bag(5), "path is 5"),
        (lambda r: lienav.Recording.from_arrays(odometry=r.odometry, truth=(1, 2, 3)), "truth is of type tuple"),
        (lambda r: lienav.KalmanFilter().predict("abc", np.eye(3)), "motion is 'abc'"),
        (lambda r: lienav.KalmanFilter().correct([[1.0, 0.0]], ["a"]), "ids is ['a']"),
        (lambda r: lienav.Attitude().imu(0.5, [0, 0, 0], [0, 0, 9.8]), "stamp_ns is 0.5"),
        (lambda r: lienav.Attitude().run(STAMPS * 1e-9, np.zeros((11, 3)), np.zeros((11, 3))), "stamp_ns is "),
        (lambda r: lienav.lie.SE2.exp("abc"), "the argument of SE2 is no array of numbers"),
        (lambda r: lienav.judge(([0.5], np.zeros((1, 3))), np.zeros((1, 4))), "the stamps of estimate is an array of float64"),
    ],
)
def test_the_argument_is_named(call, what, recording):
    with pytest.raises(lienav.Error) as raised:
        call(recording)
    assert what in str(raised.value), str(raised.value)


def test_a_wrong_type_is_a_type_error_too():
    assert issubclass(lienav.WrongType, TypeError) and issubclass(lienav.WrongType, lienav.WrongCall)


def test_a_parameter_file_that_is_not_there_is_named():
    with pytest.raises(lienav.Failed, match=r"nothing\.yaml: No such file"):
        lienav.open("nowhere", config="nothing.yaml")
