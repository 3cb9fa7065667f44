"""A filter stepped by a program, with a measurement model written in Python."""

import lienav
import numpy as np
import pytest

Q = np.diag([1e-4, 1e-6, 1e-5])


def drive(filter, steps, measure):
    """Drives a circle, and corrects with what `measure` gives for the landmarks in the sensor frame."""
    landmarks = {1: (4.0, 2.0), 2: (1.0, 5.0), 3: (-3.0, 2.0)}
    x, y, theta = 0.0, 0.0, 0.0
    for _ in range(steps):
        motion = (0.1 * np.sinc(0.03 / np.pi), 0.1 * (1 - np.cos(0.03)) / 0.03, 0.03)
        x += np.cos(theta) * motion[0] - np.sin(theta) * motion[1]
        y += np.sin(theta) * motion[0] + np.cos(theta) * motion[1]
        theta += motion[2]
        filter.predict(motion, Q, 0.1)
        turn = np.array([[np.cos(theta), np.sin(theta)], [-np.sin(theta), np.cos(theta)]])
        seen = {i: turn @ (np.array(p) - (x, y)) for i, p in landmarks.items()}
        measure(seen)
    return np.array([x, y, theta])


def test_the_state_is_visible():
    filter = lienav.KalmanFilter({"filter": "ekf"})

    def measure(seen):
        values = [[np.hypot(*z), np.arctan2(z[1], z[0])] for z in seen.values()]
        done = filter.correct(values, list(seen))
        if done.accepted:
            nis = done.innovation @ np.linalg.solve(done.innovation_covariance, done.innovation)
            assert nis == pytest.approx(done.nis, rel=1e-9, abs=1e-12)
            assert [used[0] for used in done.used] == list(seen)

    truth = drive(filter, 50, measure)
    assert np.abs(filter.pose - truth).max() < 1e-6
    assert filter.mean.shape == (9,) and filter.covariance.shape == (9, 9)
    assert list(filter.blocks) == ["pose", "landmark:1", "landmark:2", "landmark:3"]
    assert filter.mean[filter.blocks["landmark:2"]] == pytest.approx([1.0, 5.0], abs=1e-6)
    assert np.allclose(filter.covariance[:3, :3], filter.pose_covariance)
    assert np.linalg.eigvalsh(filter.covariance).min() > -1e-12
    assert filter.time == pytest.approx(5.0)


def test_a_model_in_python_is_that_of_the_crate():
    noise = np.diag([0.03**2, 0.02**2])
    settings = {"filter": "default", "sensor.range_std_m": 0.03, "sensor.bearing_std_rad": 0.02}
    ours, theirs = lienav.KalmanFilter(settings), lienav.KalmanFilter(settings)

    def h(z):
        return [np.hypot(*z), np.arctan2(z[1], z[0])]

    def jacobian(z):
        r = np.hypot(*z)
        return [[z[0] / r, z[1] / r], [-z[1] / r**2, z[0] / r**2]]

    kind = theirs.add_sensor(h, jacobian, noise, components=["linear", "angle"])
    values = [[5.0, 0.1], [4.0, -1.0]]
    for filter in (ours, theirs):
        filter.correct(values, [1, 2])
        filter.predict((0.1, 0.0, 0.02), Q)
    again = [[4.93, 0.09], [3.93, -1.04]]
    ours.correct(again, [1, 2], covariance=[noise, noise])
    done = theirs.correct(again, [1, 2], kind=kind)
    assert done.accepted == 2
    assert np.allclose(ours.pose, theirs.pose, atol=1e-9)
    assert np.allclose(ours.covariance, theirs.covariance, rtol=1e-6, atol=1e-12)


def test_gate_decisions_are_arrays():
    filter = lienav.KalmanFilter()
    done = filter.correct([[5.0, 0.0], [5.0, 1.0]], [7, 8])
    assert done.landmarks.tolist() == [7, 8] and done.decisions == ["initialized", "initialized"]
    done = filter.correct([[5.0, 0.0], [9.0, 1.0]], [7, 8])
    assert dict(zip(done.landmarks.tolist(), done.decisions)) == {7: "used", 8: "gated"}
    assert done.innovation_covariance.shape == (2, 2) and done.accepted == 1


def test_headings_are_wrapped():
    filter = lienav.KalmanFilter()
    for _ in range(100):
        filter.predict((0.1, 0.0, 0.1), Q, duration=0.1)
    turned = 10.0 - 4.0 * np.pi
    assert np.isclose(filter.pose[2], turned) and filter.mean[2] == filter.pose[2]


def test_mistakes_are_named():
    filter = lienav.KalmanFilter()
    with pytest.raises(lienav.WrongCall, match="not_finite"):
        filter.predict((np.nan, 0.0, 0.0), Q)
    with pytest.raises(lienav.WrongCall, match="bad_covariance"):
        filter.predict((0.0, 0.0, 0.0), -Q)
    with pytest.raises(lienav.WrongCall, match="positive definite"):
        filter.add_sensor(abs, abs, [[-1.0]])
    with pytest.raises(lienav.WrongCall, match="added:3"):
        filter.correct([[1.0]], [1], kind="added:3")
    with pytest.raises(lienav.WrongCall, match="2 ids for 1"):
        filter.correct([[1.0, 0.0]], [1, 2])
    kind = filter.add_sensor(lambda z: 1 / 0, lambda z: [[1.0, 0.0]], [[1.0]])
    filter.correct([[5.0, 0.0]], [1])
    with pytest.raises(ZeroDivisionError):
        filter.correct([[1.0]], [1], kind=kind)
    wrong = filter.add_sensor(lambda z: [1.0, 2.0], lambda z: [[1.0, 0.0]], [[1.0]])
    with pytest.raises(lienav.WrongCall, match="shape"):
        filter.correct([[1.0]], [1], kind=wrong)
