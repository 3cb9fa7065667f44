"""The referee: arrays and files give the same numbers, which are those of numpy and of the command line."""

import copy
import json
import pickle

import numpy as np
import pytest

import lienav


def drive(n=500, seed=4):
    """Stamps, truth and estimate as (x, y, yaw), and covariances."""
    random = np.random.default_rng(seed)
    stamps = np.arange(n, dtype=np.int64) * 100_000_000
    yaw = 0.02 * np.arange(n)
    truth = np.column_stack([np.cumsum(0.1 * np.cos(yaw)), np.cumsum(0.1 * np.sin(yaw)), yaw])
    root = np.array([[0.1, 0.0, 0.0], [0.02, 0.05, 0.0], [0.0, 0.01, 0.02]])
    estimate = truth - random.standard_normal((n, 3)) @ root.T
    return stamps, truth, estimate, np.tile(root @ root.T, (n, 1, 1))


def in_space(poses):
    """(x, y, yaw) as (x, y, z, qx, qy, qz, qw)."""
    zero, half = 0 * poses[:, 0], poses[:, 2] / 2
    return np.column_stack([poses[:, 0], poses[:, 1], zero, zero, zero, np.sin(half), np.cos(half)])


def test_nees_and_errors_are_those_of_numpy():
    stamps, truth, estimate, covariance = drive()
    judgement = lienav.judge((stamps, estimate), (stamps, truth), covariance)
    error = estimate - truth
    expected = np.einsum("ni,nij,nj->n", error, np.linalg.inv(covariance), error)
    assert np.allclose(judgement.nees[:, 2], expected, rtol=1e-9)
    assert np.isclose(judgement["nees_mean"], expected.mean(), rtol=1e-12)
    assert np.allclose(judgement.error[:, [0, 1, 5]], error, atol=1e-12)
    assert np.isclose(judgement["position_rmse_m"], np.sqrt((error[:, :2] ** 2).sum(axis=1).mean()))
    assert judgement["verdict"] == "consistent" and judgement["space"] == "planar"
    assert np.array_equal(judgement.stamp_ns, stamps)
    assert "NEES" in str(judgement) and "consistent" in repr(judgement)
    wrong = lienav.judge((stamps, estimate), (stamps, truth), covariance / 4)
    assert wrong["verdict"] == "overconfident" and np.isclose(wrong["nees_mean"], 4 * judgement["nees_mean"])


def test_arrays_of_seconds_and_of_nanoseconds_and_of_space_agree():
    stamps, truth, estimate, covariance = drive()
    by_tuple = lienav.judge((stamps, estimate), (stamps, truth), covariance)
    seconds = stamps[:, None] * 1e-9
    by_array = lienav.judge(np.hstack([seconds, estimate]), np.hstack([seconds, truth]), covariance)
    assert dict(by_array) == dict(by_tuple)
    whole = np.zeros((len(stamps), 6, 6))
    whole[:, [[0], [1], [5]], [0, 1, 5]] = covariance
    in_3d = lienav.judge((stamps, in_space(estimate)), (stamps, in_space(truth)), whole)
    assert np.isclose(in_3d["nees_mean"], by_tuple["nees_mean"]) and in_3d["space"] == "planar"


def test_a_file_is_judged_as_by_the_command_line(command, tmp_path):
    stamps, truth, estimate, covariance = drive()
    seconds = stamps * 1e-9
    np.savetxt(tmp_path / "truth.tum", np.column_stack([seconds, in_space(truth)]), fmt="%.17g")
    upper = [covariance[:, i, j] for i in range(3) for j in range(i, 3)]
    header = "stamp_s,x_m,y_m,yaw_rad,var_x,cov_xy,cov_xyaw,var_y,cov_yyaw,var_yaw"
    np.savetxt(tmp_path / "e.csv", np.column_stack([seconds, estimate, *upper]), fmt="%.17g", delimiter=",",
               header=header, comments="")
    paths = tmp_path / "e.csv", tmp_path / "truth.tum"
    theirs = json.loads(command("judge", paths[0], "--truth", paths[1], "--align", "se2", "--json"))
    ours = lienav.judge(*paths, align="se2")
    assert dict(ours) == theirs
    assert np.isclose(ours["steps"], len(stamps))


def test_what_is_wrong_is_named():
    stamps, truth, estimate, covariance = drive(20)
    with pytest.raises(lienav.WrongCall, match=r"estimate has the shape \(20, 3\)"):
        lienav.judge(estimate, (stamps, truth))
    with pytest.raises(lienav.WrongCall, match="covariance has the shape"):
        lienav.judge((stamps, estimate), (stamps, truth), covariance[:5])
    with pytest.raises(lienav.WrongCall, match="align is 'best'; there are: none, yaw"):
        lienav.judge((stamps, estimate), (stamps, truth), align="best")
    with pytest.raises(lienav.Failed, match="--time-offset"):
        lienav.judge((stamps, estimate), (stamps + 10**12, truth))
    with pytest.raises(lienav.Failed, match="no such file"):
        lienav.judge("nowhere.tum", (stamps, truth))
    nothing = lienav.judge((stamps, estimate), (stamps, truth))
    assert [nothing[key] for key in ("nees_mean", "verdict")] == [None, None]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_judgement_is_copied_and_drawn(way):
    random = np.random.default_rng(5)
    truth = np.column_stack([np.arange(200.0), np.arange(200.0), np.zeros((200, 2))])
    estimate = truth + np.pad(0.1 * random.normal(size=(200, 3)), ((0, 0), (1, 0)))
    judgement = lienav.judge(estimate, truth, np.tile(0.01 * np.eye(3), (200, 1, 1)))
    again = way(judgement)
    assert type(again) is lienav.Judgement and dict(again) == dict(judgement) and str(again) == str(judgement)
    assert np.array_equal(again.nees, judgement.nees, equal_nan=True) and np.array_equal(again.error, judgement.error)
    plt = pytest.importorskip("matplotlib.pyplot")
    assert len(again.plot().axes) == 4
    figure, axes = plt.subplots()
    for what in ("position", "orientation", "nees", "calibration"):
        assert again.plot(ax=axes, what=what) is figure
    assert lienav.judge(estimate, truth).plot(what="nees").axes
    with pytest.raises(lienav.WrongCall, match="what is 'map'"):
        again.plot(what="map")
    plt.close("all")
