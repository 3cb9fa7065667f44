"""The filter: message by message, in arrays, and as the command line runs it."""

import json
import threading
import time

import numpy as np
import pytest

import lienav


def settings_of(recording, **more):
    return {**recording.settings, **more}


def by_message(slam, recording):
    """As a robot's program would call it."""
    odometry, imu, features = recording.odometry, recording.imu, recording.features
    places, steps = [0, 0, 0], []
    for kind in recording.order:
        k = places[kind]
        places[kind] += 1
        if kind == 0:
            slam.odometry(int(odometry.stamp_ns[k]), *odometry.twist[k])
        elif kind == 1:
            slam.imu(int(imu.stamp_ns[k]), float(imu.yaw_rate[k]))
        else:
            some = slice(features.first[k], features.first[k + 1])
            kind_name = features.kind[0]
            slam.features(int(features.stamp_ns[k]), features.values[some], features.ids[some], kind=kind_name)
        while (step := slam.poll()) is not None:
            steps.append(step)
    slam.finish()
    while (step := slam.poll()) is not None:
        steps.append(step)
    return steps


@pytest.mark.parametrize("filter_name", ["default", "ekf", "reduced"])
def test_messages_arrays_a_recording_and_the_command_line_agree_to_the_last_bit(
    recording, bag, command, tmp_path, filter_name
):
    settings = settings_of(recording, filter=filter_name)
    singly = by_message(lienav.Slam(settings), recording)
    whole = lienav.Slam(settings).run(recording)
    arrays = lienav.Slam(settings).run(
        odometry=recording.odometry, features=recording.features, imu=recording.imu, order=recording.order
    )
    judged = lienav.evaluate(recording, filter_name)[0].steps
    assert len(whole) == len(singly) > 100
    for other in (arrays, judged):
        for name in ("stamp_ns", "pose", "covariance", "nis", "dof", "accepted", "added", "rejected"):
            assert np.array_equal(getattr(whole, name), getattr(other, name)), name
    assert np.array_equal(whole.pose, [step.pose for step in singly])
    assert np.array_equal(whole.covariance, [step.covariance for step in singly])
    assert (singly[-1].x, singly[-1].y, singly[-1].theta) == tuple(whole.pose[-1])

    command("evaluate", bag, "--filter", filter_name, "--out", tmp_path / "out")
    lienav.evaluate(bag, filter_name).write(tmp_path / "ours")
    for name in ("estimate.tum", "errors.csv"):
        theirs = (tmp_path / "out" / name).read_bytes()
        assert theirs and theirs == (tmp_path / "ours" / name).read_bytes(), name


def on_a_circle(k):
    """Where a robot is at step k, x, y and heading: 1 m/s and 0.4 rad/s, ten steps a second."""
    turned = 0.04 * k
    return 2.5 * np.sin(turned), 2.5 * (1.0 - np.cos(turned)), turned


def reading(kind, k, place):
    """What a sensor reads of a landmark, or of the robot."""
    x, y, heading = on_a_circle(k)
    apart = np.array(place) - (x, y)
    return {
        "range": [np.hypot(*apart)],
        "bearing": [np.arctan2(apart[1], apart[0]) - heading],
        "world_position": [x, y],
        "world_pose": [x, y, heading],
    }[kind]


@pytest.mark.parametrize(("kind", "numbers"), [("range", 1), ("bearing", 1), ("world_position", 2), ("world_pose", 3)])
def test_every_kind_of_reading_singly_and_in_arrays(kind, numbers):
    settings = {"sensor.max_range_m": 60.0, "sensor.range_std_m": 0.02, "sensor.bearing_std_rad": 0.002}
    if numbers > 1:
        settings |= {"initial.y_m": 2.0, "initial.position_std_m": 2.0, "initial.yaw_std_rad": 0.2}
    place, stamps = (8.0, -6.0), 100_000_000 * np.arange(300)
    values = np.array([reading(kind, k, place) for k in range(300)])
    noise = np.broadcast_to(1e-4 * np.eye(numbers), (300, numbers, numbers))
    ids = np.full(300, 7 if numbers == 1 else -1)
    slam, poses = lienav.Slam(settings), []
    for k, stamp in enumerate(stamps.tolist()):
        assert slam.odometry(stamp, 1.0, 0.0, 0.4) is None
        slam.features(stamp, values[[k]], ids[[k]], kind=kind, covariance=noise[[k]])
        while (step := slam.poll()) is not None:
            poses.append(step.pose)
    x, y, _ = on_a_circle(299)
    assert np.hypot(*(poses[-1][:2] - (x, y))) < 0.05
    if numbers == 1:
        landmarks = slam.landmarks()
        assert landmarks.ids.tolist() == [7] and np.hypot(*(landmarks.position[0] - place)) < 0.05
    else:
        assert np.hypot(*poses[0][:2]) < 2.1 and not len(slam.landmarks().ids)

    odometry = lienav.Odometry(stamps, np.tile([1.0, 0.0, 0.4], (300, 1)))
    features = lienav.Features.of_readings(stamps, values, ids, kind=kind, covariance=noise)
    whole = lienav.Slam(settings).run(odometry=odometry, features=features)
    assert np.array_equal(whole.pose[: len(poses)], poses)
    with pytest.raises(ValueError, match="values has the shape"):
        slam.features(0, np.zeros((1, numbers + 1)), kind=kind)
    with pytest.raises(ValueError, match=r"values has the shape \(300, 1\); expected: \(300, 3\)"):
        lienav.Features.of_readings(stamps, values[:, :1], kind="world_pose")
    short = lienav.Features(stamps, np.arange(301), ids, values[:, :1], ("world_pose",))
    with pytest.raises(ValueError, match="1 columns; expected: 3"):
        lienav.Slam(settings).run(odometry=odometry, features=short)


def test_a_robot_whose_wheels_slip_is_held_by_a_post():
    slam = lienav.Slam({"motion": {"velocity_x_std": 0.2}, "sensor.range_std_m": 0.01})
    assert slam.predicted() is None and slam.poll() is None
    for k in range(11):
        assert slam.odometry(k * 100_000_000, 1.1) is None
        assert slam.features(k * 100_000_000, [[5.0 - 0.1 * k, 0.0]], [7]) is None
        while (step := slam.poll()) is not None:
            assert "Step(stamp_ns=" in repr(step) and step.covariance.shape == (3, 3)
    estimate = slam.predicted()
    assert abs(estimate.pose[0] - 1.0) < 0.02 and estimate.twist.shape == (3,)
    landmarks = slam.landmarks()
    assert landmarks.ids.tolist() == [7] and abs(landmarks.position[0, 0] - 5.0) < 0.02
    assert landmarks.covariance.shape == (1, 2, 2) and landmarks.observations.tolist() == [11]


def test_any_numeric_array_will_do_and_a_covariance_counts():
    def run(values, ids, covariance=None):
        slam = lienav.Slam()
        for k in range(3):
            slam.odometry(k * 10**8, 0.5, covariance=None if covariance is None else np.eye(3) * 1e-6)
            slam.features(k * 10**8, values, ids, covariance=covariance)
            while slam.poll():
                pass
        return slam.landmarks()

    values, ids = np.array([[4.0, 0.125], [6.0, -0.25]]), np.array([3, 9])
    plain = run(values, ids)
    others = [
        run(values.tolist(), ids.tolist()),
        run(values.astype(np.float32), ids.astype(np.uint8)),
        run(np.asfortranarray(values), ids[::1]),
        run(np.repeat(values, 2, axis=0)[::2], np.repeat(ids, 2)[::2]),
    ]
    assert all(np.array_equal(plain.position, other.position) for other in others)
    sharp = run(values, ids, np.array([np.eye(2) * 1e-8] * 2))
    assert sharp.covariance[0, 0, 0] < 0.1 * plain.covariance[0, 0, 0]


def test_what_is_refused_is_said_in_a_word_and_counted():
    slam = lienav.Slam()
    assert slam.odometry(10**9, 0.1) is None
    assert slam.odometry(10**9, 0.1) == "duplicate_stamp"
    assert slam.odometry(2 * 10**9, float("nan")) == "not_finite"
    assert slam.dropped == {"duplicate_stamp": 1, "not_finite": 1}


def test_wrong_calls_have_the_sentences_of_the_command_line(bag, command):
    for name, value in [("gate.probability", 7), ("gate.p", 1), ("filter", "kalman"), ("sensor.range_std_m", "far")]:
        theirs = command("evaluate", bag, "--set", f"{name}={value}", fails=2).removeprefix("--set: ")
        with pytest.raises(lienav.WrongCall) as raised:
            lienav.Slam({name: value})
        assert str(raised.value) == theirs and isinstance(raised.value, ValueError)
    theirs = command("evaluate", "nowhere", fails=1)
    with pytest.raises(lienav.Failed) as raised:
        lienav.open("nowhere")
    assert str(raised.value) == theirs
    assert issubclass(lienav.Failed, lienav.Error)


def test_wrong_shapes_and_types_are_named():
    slam = lienav.Slam()
    slam.odometry(0, 0.0)
    for call, what in [
        (lambda: slam.features(0, np.zeros((3, 3)), [1, 2, 3]), "values has the shape (3, 3); expected: (n, 2)"),
        (lambda: slam.features(0, np.zeros((3, 2)), [1, 2]), "there are 2 ids for 3 values"),
        (lambda: slam.features(0, np.zeros((1, 2)), [-2]), "an id is -2; allowed: -1"),
        (lambda: slam.features(0, np.zeros((1, 2)), kind="polar"), "kind is 'polar'; allowed: position"),
        (lambda: slam.odometry(0, 0.0, covariance=np.eye(2)), "covariance has the shape (2, 2); expected: (3, 3)"),
        (lambda: lienav.Slam(3), "settings are a int"),
        (lambda: lienav.Slam({"filter": object()}), "not JSON serializable"),
        (lambda: lienav.Odometry(np.zeros(1), np.zeros((1, 3))), None),
        (lambda: slam.run(odometry=lienav.Odometry(np.array([0.5]), np.zeros((1, 3)))), "lienav.to_ns(seconds)"),
        (lambda: slam.run(odometry=lienav.Odometry(np.array([5]), np.zeros((1, 2)))), "expected: (1, 3)"),
    ]:
        if what is None:
            call()
            continue
        with pytest.raises(lienav.WrongCall) as raised:
            call()
        assert what in str(raised.value)
    with pytest.raises(TypeError):
        slam.odometry(0.5, 1.0)


def test_settings_are_a_dict_yaml_or_a_file(tmp_path):
    file = tmp_path / "robot.yaml"
    file.write_text("slam_node:\n  ros__parameters:\n    filter: ekf\n    sensor: {range_std_m: 0.07}\n")
    given = [{"filter": "ekf", "sensor": {"range_std_m": np.float64(0.07)}}, file, str(file), file.read_text()]
    all_settings = [lienav.Slam(settings).settings for settings in given]
    assert all(settings == all_settings[0] for settings in all_settings)
    assert all_settings[0]["filter"] == "ekf" and all_settings[0]["sensor"]["range_std_m"] == 0.07
    file.write_text("filter: [")
    with pytest.raises(lienav.Failed, match="robot.yaml: not a YAML mapping"):
        lienav.Slam(file)


def test_a_run_that_is_saved_goes_on_to_the_last_bit(recording, tmp_path):
    settings = settings_of(recording)
    whole = lienav.Slam(settings).run(recording)
    order = recording.order
    half = len(order) // 2
    odometry, features = recording.odometry, recording.features
    m, n = int(np.sum(order[:half] == 0)), int(np.sum(order[:half] == 2))

    def part(a, b, c, d):
        first = features.first[c : d + 1]
        some = slice(first[0], first[-1])
        return {
            "odometry": lienav.Odometry(odometry.stamp_ns[a:b], odometry.twist[a:b]),
            "features": lienav.Features(
                features.stamp_ns[c:d], first - first[0], features.ids[some], features.values[some], features.kind
            ),
        }

    slam = lienav.Slam(settings)
    before = slam.run(**part(0, m, 0, n), order=order[:half], finish=False)
    state = slam.save()
    resumed = lienav.Slam.resume(settings, state)
    after = resumed.run(**part(m, len(odometry.stamp_ns), n, len(features.stamp_ns)), order=order[half:])
    assert np.array_equal(np.vstack([before.pose, after.pose]), whole.pose)
    with pytest.raises(lienav.Failed, match="the state is damaged"):
        lienav.Slam.resume(settings, state[:100])
    with pytest.raises(lienav.Failed, match="was saved by the filter"):
        lienav.Slam.resume({**settings, "filter": "ekf"}, state)

    resumed.save_map(tmp_path / "hall.yaml")
    localized = lienav.Slam(settings, map=tmp_path / "hall.yaml")
    assert localized.settings["map"]["mode"] == "localization"
    localized.run(recording)
    assert np.array_equal(localized.landmarks().ids, resumed.landmarks().ids)


def test_settings_change_while_running_or_not(recording):
    slam = lienav.Slam()
    slam.reconfigure({"gate.probability": 0.9})
    assert slam.settings["gate"]["probability"] == 0.9
    with pytest.raises(lienav.WrongCall, match="cannot change while running"):
        slam.reconfigure({"map.max_features": 7})
    assert slam.set_pose(1.0, 2.0, 0.5, np.eye(3) * 0.01) is None
    assert slam.set_pose(float("inf"), 0.0, 0.0) == "not_finite"
    slam.run(recording)
    assert len(slam.landmarks()) > 0 and "landmarks" in repr(slam)
    slam.reset()
    assert len(slam.landmarks()) == 0


def test_other_threads_run_while_the_filter_works(recording):
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    most = 0
    for _ in range(5):
        before = ticks[0]
        lienav.evaluate(recording, ["batch", "default", "iterated"])
        most = max(most, ticks[0] - before)
    done.set()
    thread.join()
    # With the lock held, the other thread would run once before and once after.
    assert most > 5


def test_json_of_the_settings_is_plain(recording):
    assert json.loads(json.dumps(recording.settings)) == recording.settings


def test_decisions_are_those_of_the_gate(recording):
    filter = lienav.Slam({"gate.probability": 0.9})
    steps = filter.run(recording)
    decisions = filter.decisions()
    assert len(decisions) == len(decisions.landmark) == len(decisions.decision) > 100
    assert set(decisions.decision) <= {"initialized", "used", "gated", "held"}
    count = {word: int((decisions.decision == word).sum()) for word in ("initialized", "used", "gated")}
    assert count["used"] == steps.accepted.sum() and count["initialized"] == steps.added.sum()
    assert 0 < count["gated"] <= steps.rejected.sum()
    assert np.isin(decisions.stamp_ns, steps.stamp_ns).all()
    one = lienav.Slam()
    one.odometry(0, 0.0)
    one.features(0, [[5.0, 0.0], [3.0, 1.0]], [7, 9])
    one.odometry(100_000_000, 0.0)
    assert one.poll() is not None
    assert list(one.decisions().landmark) == [7, 9] and list(one.decisions().decision) == ["initialized"] * 2
