"""The filter in space: message by message, in arrays, and as the evaluation runs it."""

import copy
import json
import os
import pathlib
import pickle

import numpy as np
import pytest

import lienav

G = 9.80665
TRACKS = pathlib.Path(
    os.environ.get("LIENAV_TRACKS", pathlib.Path(__file__).resolve().parents[3] / "shared" / "data3d" / "euroc_v101_30s")
)


@pytest.fixture(scope="module")
def run():
    return lienav.simulate3d("drone-stereo-industrial", seed=3, settings={"duration_s": 6.0})


def at_rest(slam, kind, value, seconds=3.0, covariance=None, **more):
    """A body at rest sees one landmark."""
    for k in range(int(200 * seconds)):
        if k % 10 == 0:
            assert slam.features(k * 5_000_000, value, [7], kind=kind, covariance=covariance, **more) is None
        assert slam.imu(k * 5_000_000, [0.0, 0.0, 0.0], [0.0, 0.0, G]) is None
        while (step := slam.poll()) is not None:
            yield step


def test_an_inertial_sensor_in_g_is_named():
    slam = lienav.Slam3d()
    for k in range(400):
        assert slam.imu(k * 5_000_000, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]) is None and slam.poll() is None
    assert slam.quality == "starting" and "is it in g?" in slam.start_problem
    slam = lienav.Slam3d()
    assert slam.start_problem is None


def test_arrays_a_recording_and_the_evaluation_agree_to_the_last_bit(run):
    judged = lienav.evaluate3d(run, ["default", "ekf"])
    for name in ("default", "ekf"):
        steps = lienav.Slam3d({**run.settings, "filter": name}).run(run)
        assert len(steps) > 80 and len(steps.decisions) == len(steps.ids) == steps.first[-1]
        for field in ("stamp_ns", "position", "orientation", "covariance"):
            assert np.array_equal(getattr(steps, field), getattr(judged[name].steps, field)), field
        assert judged[name]["accepted"] == steps.decisions.count("used") == steps.accepted.sum()
        assert judged[name]["nees_mean"] < 20.0 and judged[name].errors.nees.shape[1] == 3
    assert judged[0]["position_rmse_m"] == pytest.approx(np.sqrt((judged[0].errors.error[:, :3] ** 2).sum(1).mean()))


def test_a_filter_that_a_program_equips_by_itself(run):
    slam = lienav.Slam3d(run.settings)
    for number, sensor in enumerate(run.sensors):
        slam.set_sensor(number, **sensor)
    truth, frames = run.truth, run.features
    k = int(np.searchsorted(truth.stamp_ns, frames.stamp_ns[0]))
    pose = (truth.position[k], truth.orientation[k])
    assert slam.begin(int(frames.stamp_ns[0]), pose, truth.velocity[k], (0.01, 0.05, 0.01, 0.01, 0.1)) is None
    steps = slam.run(imu=run.imu, features=frames)
    at = np.searchsorted(truth.stamp_ns, steps.stamp_ns)
    off = steps.position - truth.position[at]
    assert len(steps) > 80 and np.linalg.norm(off, axis=1).max() < 0.3
    inverse = np.linalg.inv(steps.covariance[-1][:3, :3])
    assert off[-1] @ inverse @ off[-1] < 25.0
    known, places = run.true_landmarks
    found = slam.landmarks()
    apart = found.position - places[np.searchsorted(known, found.ids)]
    assert len(found) > 20 and np.median(np.linalg.norm(apart, axis=1)) < 0.3
    joint = slam.map()
    assert joint.covariance.shape == (3 * len(joint), 3 * len(joint))
    assert np.allclose(joint.covariance[:3, :3], found.covariance[0])
    estimate = slam.predicted()
    assert estimate.stamp_ns == run.imu.stamp_ns[-1] and estimate.pose.shape == (4, 4)
    assert np.allclose(estimate.pose[:3, :3] @ estimate.pose[:3, :3].T, np.eye(3)) and slam.quality == "ok"


KINDS = [
    ("position", [[4.0, 1.0, 2.0]], None),
    ("position", [[4.0, 1.0, 2.0]], [1e-4 * np.eye(3)]),
    ("stereo", [[420.0, 290.0, 408.0, 290.0]], None),
    ("range", [[4.5]], None),
    ("pixel", [[420.0, 290.0]], None),
    ("normalized", [[0.2, 0.1]], None),
    ("bearing", [[2.0, 0.5, 1.0]], [[[1e-6]]]),
]


@pytest.mark.parametrize(("kind", "value", "covariance"), KINDS)
def test_every_kind_singly_and_in_arrays(kind, value, covariance):
    def filter():
        slam = lienav.Slam3d({"sensor.typical_range_m": 3.0})
        slam.set_sensor(0, focal=(400.0, 400.0), centre=(340.0, 250.0), baseline_m=0.12, pixel_std=(1.0, 1.0))
        return slam

    one = filter()
    singly = list(at_rest(one, kind, value, covariance=covariance))
    # Frames from before the start are dropped.
    assert len(singly) == 50 and {k: n for k, n in one.dropped.items() if n} == {"not_started": 10}
    words = {word for step in singly for word in step.decisions}
    # Range and direction from one place do not say where a landmark is.
    assert words <= {"initialized", "used", "waiting", "unseen"} and all(step.ids.tolist() == [7] for step in singly)
    assert ("used" in words) == (kind in ("position", "stereo"))
    stamps = np.arange(600) * 5_000_000
    imu = lienav.Imu3d(stamps, np.zeros((600, 3)), np.tile([0.0, 0.0, G], (600, 1)))
    noise = None if covariance is None else np.tile(covariance, (60, 1, 1))
    features = lienav.Features3d.of_measurements(
        stamps[::10], np.tile(value, (60, 1)), np.full(60, 7), kind=kind, covariance=noise
    )
    whole = filter().run(imu=imu, features=features)
    assert np.array_equal(whole.position, [step.position for step in singly])
    assert np.array_equal(whole.covariance, [step.covariance for step in singly])
    assert whole.decisions == [word for step in singly for word in step.decisions]
    assert set(whole.to_frame().columns) >= {"time_s", "position_x", "orientation_w", "gated"}


def test_velocities_and_poses_of_others():
    slam = lienav.Slam3d()
    pose = np.eye(4)
    for k in range(800):
        stamp = k * 5_000_000
        if k % 20 == 10:
            slam.odometry(stamp, [0.0, 0.0, 0.0], 1e-4 * np.eye(3), mount=([0.1, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]))
        if k % 100 == 50:
            slam.absolute_pose(stamp, pose, np.diag([0.01] * 3 + [0.001] * 3))
        slam.imu(stamp, [0.0, 0.0, 0.0], [0.0, 0.0, G])
        while (step := slam.poll()) is not None:
            last = step
    assert last.accepted == 1 and last.ids.size == 0 and np.abs(last.position).max() < 0.05
    arrays = {
        "imu": lienav.Imu3d(np.arange(800) * 5_000_000, np.zeros((800, 3)), np.tile([0.0, 0.0, G], (800, 1))),
        "odometry": lienav.Odometry3d(np.arange(10, 800, 20) * 5_000_000, np.zeros((40, 3))),
        "poses": lienav.Poses3d(
            np.arange(50, 800, 100) * 5_000_000,
            np.zeros((8, 3)),
            np.tile([0.0, 0.0, 0.0, 1.0], (8, 1)),
            np.tile(0.01 * np.eye(6), (8, 1, 1)),
        ),
    }
    assert len(lienav.Slam3d().run(**arrays)) > 30


def test_what_is_dropped_is_counted_and_named():
    slam = lienav.Slam3d({"map.max_landmarks": 1})
    slam.set_sensor(0)
    steps = list(at_rest(slam, "position", [[4.0, 0.0, 0.0]]))
    stamp = 600 * 5_000_000
    assert slam.imu(stamp, [0.0, 0.0, np.inf], [0.0, 0.0, G]) == "not_finite"
    assert slam.imu(599 * 5_000_000, [0.0, 0.0, 0.0], [0.0, 0.0, G]) == "duplicate_stamp"
    values = [[9.0, 0.0, 0.0], [3.0, 1.0, 0.0], [np.nan, 0.0, 0.0]]
    assert slam.features(stamp, values, [7, 8, 9], kind="position") is None
    slam.imu(stamp + 1, [0.0, 0.0, 0.0], [0.0, 0.0, G])
    step = slam.poll()
    assert step.decisions == ["gated", "map_full"] and step.ids.tolist() == [7, 8]
    assert step.distances[0] > 100.0 and np.isnan(step.distances[1])
    assert {"not_finite": 2, "gated": 1, "map_full": 1}.items() <= slam.dropped.items()
    assert "Step3d(stamp_ns=" in repr(step) and steps[-1].nis < 10.0


WAYS = [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]


@pytest.mark.parametrize("way", WAYS)
def test_copies_and_pickles_go_on_to_the_last_bit(way, run):
    imu, frames = run.imu, run.features
    half = int(imu.stamp_ns[len(imu.stamp_ns) // 2])

    def part(first):
        of = (imu.stamp_ns <= half) == first
        some = np.flatnonzero((frames.stamp_ns <= half) == first)
        rows = np.concatenate([np.arange(frames.first[k], frames.first[k + 1]) for k in some])
        ends = np.r_[0, np.cumsum(np.diff(frames.first)[some])]
        values = frames.values[rows]
        return {
            "imu": lienav.Imu3d(imu.stamp_ns[of], imu.angular_velocity[of], imu.specific_force[of]),
            "features": lienav.Features3d(frames.stamp_ns[some], ends, frames.ids[rows], values, frames.kind),
        }

    slam = lienav.Slam3d(run.settings)
    slam.equip(run._compiled)
    slam.run(**part(True))
    again = way(slam)
    assert type(again) is lienav.Slam3d and again.settings == slam.settings and again.dropped == slam.dropped
    ours, theirs = again.run(**part(False)), slam.run(**part(False))
    assert len(ours) > 30 and np.array_equal(ours.position, theirs.position)
    assert np.array_equal(ours.covariance, theirs.covariance)
    assert np.array_equal(again.map().covariance, slam.map().covariance)
    with pytest.raises(lienav.Failed, match="the state was saved with imu.gyro_noise"):
        lienav.Slam3d().restore(slam.save())
    with pytest.raises(lienav.Failed, match="the state is damaged"):
        slam.restore(slam.save()[:-9])


def test_a_recording_is_the_same_after_a_pickle(run):
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.imu.specific_force, run.imu.specific_force) and again.name == run.name


def test_maps_are_saved_read_and_used(tmp_path, run):
    slam = lienav.Slam3d(run.settings)
    slam.run(run)
    path = tmp_path / "hall.json"
    slam.save_map(path)
    assert len(json.loads(path.read_text())["landmarks"]) == len(slam.map()) and list(tmp_path.iterdir()) == [path]
    made = slam.map()
    for map in (path, str(path), made):
        localized = lienav.Slam3d(map=map)
        assert localized.settings["map"]["mode"] == "localization"
        assert np.array_equal(localized.map().position, made.position)
        assert np.array_equal(localized.map().covariance, made.covariance)
    known, places = run.true_landmarks
    truth = lienav.Map3d(known, places, 1e-4 * np.eye(3 * len(known)))
    steps = lienav.Slam3d(run.settings, map=truth).run(run)
    judged = lienav.evaluate3d(run, map="truth", map_std_m=0.01)[0]
    assert np.array_equal(steps.position, judged.steps.position) and judged["position_rmse_m"] < 0.05
    with pytest.raises(lienav.Failed, match="nowhere.json"):
        lienav.Slam3d(map=tmp_path / "nowhere.json")
    with pytest.raises(lienav.WrongCall, match="the identity stands twice"):
        lienav.Slam3d(map=lienav.Map3d(np.array([1, 1]), np.zeros((2, 3)), np.eye(6)))


def test_sources_in_space_by_the_usual_functions(run):
    same = lienav.simulate("space:drone-stereo-industrial", seed=3, settings={"duration_s": 6.0})
    assert isinstance(same, lienav.Recording3d)
    assert np.array_equal(same.imu.angular_velocity, run.imu.angular_velocity)
    assert lienav.open("space:drone-mono-tactical:2").name == "space:drone-mono-tactical:2"
    assert "drone-mono-tactical" in lienav.scenarios3d() and len(run.sensors) == 1
    evaluation = lienav.evaluate(run, "ekf")
    assert isinstance(evaluation, lienav.Evaluation3d) and evaluation["ekf"]["filter"] == "ekf"
    assert "NEES of the pose" in str(evaluation) and evaluation[:1] == [evaluation[0]]
    with pytest.raises(lienav.WrongCall, match="not for recordings in space"):
        lienav.evaluate(run, every=2)


@pytest.mark.parametrize("name", ["drone-mono-industrial-false-misses", "hand-stereo-consumer-gap", "car-several-tactical"])
def test_a_bag_is_the_recording_to_the_last_bit(name, tmp_path):
    made = lienav.simulate3d(name, seed=11, settings={"duration_s": 5.0})
    bag = tmp_path / "flight"
    assert made.to_bag(bag) > len(made.imu.stamp_ns) + len(made.features.stamp_ns)
    with pytest.raises(lienav.Failed, match="exists already"):
        made.to_bag(bag)
    read = lienav.open(bag)
    assert isinstance(read, lienav.Recording3d) and read.name == made.name
    for group in ("imu", "features", "truth"):
        for field, value in vars(getattr(made, group)).items():
            assert np.array_equal(getattr(getattr(read, group), field), value), (group, field)
    numbers = [{**lienav.evaluate(one)[0], "step_us": None} for one in (made, read)]
    assert numbers[0] == numbers[1] and numbers[0]["accepted"] > 100
    notes = bag / "space.json"
    text = notes.read_text()
    for wrong in (text[1:], text.replace('"focal":[', '"focal":[-', 1), text.replace('"truth":', '"truths":', 1)):
        notes.write_text(wrong)
        with pytest.raises(lienav.Failed, match=r"space\.json: "):
            lienav.open(bag)


def test_the_report_is_that_of_the_command_line(command):
    ours = json.loads(lienav.evaluate("space:rest-stereo-industrial:2").to_json())
    theirs = json.loads(command("evaluate", "space:rest-stereo-industrial:2", "--json"))
    assert {**ours, "step_us": None} == {**theirs, "step_us": None}


def test_tracks_of_a_recorded_flight(tmp_path):
    if not TRACKS.exists():
        pytest.skip(f"no recording in {TRACKS}")
    report = lienav.evaluate(f"euroc-tracks:{TRACKS}")[0]
    assert report["aligned_position_rmse_m"] < 0.025 and report["nees_position_mean"] < 6.0
    lienav.evaluate(f"euroc-tracks:{TRACKS}").write(tmp_path / "out")
    assert os.path.getsize(tmp_path / "out" / "report.html") > 10_000


STAMPS = np.arange(3) * 10**7
REFUSALS = [
    (lambda: lienav.Slam3d({"imu.gyro_nose": 1.0}), "gyro_nose"),
    (lambda: lienav.Slam3d({"imu.gyro_noise": -1.0}), "parameter 'imu.gyro_noise' is -1.0"),
    (lambda: lienav.Slam3d(map=5), "map is of type int; expected a lienav.Map3d or a path"),
    (lambda: lienav.Slam3d().imu(0.5, [0] * 3, [0] * 3), "stamp_ns is 0.5, of type float"),
    (lambda: lienav.Slam3d().imu(0, [0] * 2, [0] * 3), "angular_velocity has the shape (2); expected: (3)"),
    (lambda: lienav.Slam3d().imu(0, [0] * 3, "abc"), "specific_force is 'abc'"),
    (lambda: lienav.Slam3d().features(0, [[1.0, 2.0]], [1, 2]), "values has the shape (1, 2); expected: (2, 2)"),
    (lambda: lienav.Slam3d().features(0, [[1.0, 2.0]], [-1]), "an id is -1; allowed: 0"),
    (lambda: lienav.Slam3d().features(0, [[1.0, 2.0]], ["a"]), "ids is ['a'], of type list"),
    (lambda: lienav.Slam3d().features(0, [[1.0]], [1], kind="rang"), "kind is 'rang'; allowed: pixel | "),
    (lambda: lienav.Slam3d().features(0, [[1.0, 2.0]], [1], covariance=np.eye(2)[None]), "covariance is given"),
    (lambda: lienav.Slam3d().features(0, [[1.0, 2.0]], [1], sensor="a"), "sensor is 'a'"),
    (lambda: lienav.Slam3d().set_sensor(16), "number is 16; allowed: 0 … 15"),
    (lambda: lienav.Slam3d().set_sensor(0, focal=(0.0, 1.0)), "focal and pixel_std above 0"),
    (lambda: lienav.Slam3d().set_sensor(0, pose=2 * np.eye(4)), "pose is no rigid motion"),
    (lambda: lienav.Slam3d().set_sensor(0, pose="abc"), "pose is no pose"),
    (lambda: lienav.Slam3d().set_base(([0, 0, 0], [0, 0, 0, 2])), "pose has a quaternion of length 2"),
    (lambda: lienav.Slam3d().odometry(0, "abc"), "velocity is 'abc'"),
    (lambda: lienav.Slam3d().absolute_pose(0, np.eye(4), np.eye(3)), "covariance has the shape (3, 3); expected: (6, 6)"),
    (lambda: lienav.Slam3d().begin(0, np.eye(4), [0] * 3, (1, 2)), "std is (1, 2)"),
    (lambda: lienav.Slam3d().restore("a"), "state is 'a', of type str"),
    (lambda: lienav.Slam3d().run(5), "recording is of type int; expected a lienav.Recording3d"),
    (lambda: lienav.Slam3d().run(imu=5), "imu is of type int; expected lienav.Imu3d"),
    (lambda: lienav.Slam3d().run(imu=lienav.Imu3d(STAMPS * 1e-9, 1, 1)), "imu.stamp_ns is an array of float64"),
    (lambda: lienav.Slam3d().run(imu=lienav.Imu3d(STAMPS, np.zeros((3, 2)), np.zeros((3, 3)))), "imu.angular_velocity has"),
    (lambda: lienav.Features3d.of_measurements(STAMPS, np.zeros((3, 3)), [1, 2, 3]), "values has the shape (3, 3)"),
    (lambda: lienav.simulate3d("drone"), "no scenario in space is called 'drone'"),
    (lambda: lienav.simulate3d(seed=-1), "seed is -1"),
    (lambda: lienav.simulate3d(settings={"motion": "walk"}), "walk"),
    (lambda: lienav.open3d("woods:x"), "names no recording in space"),
    (lambda: lienav.open3d(5), "source is 5"),
    (lambda: lienav.open3d("euroc-tracks:nowhere"), "nowhere"),
    (lambda: lienav.open3d("space:drone-mono-tactical:x"), "'x' is not a seed"),
    (lambda: lienav.evaluate3d("space:drone-mono-tactical", "kf"), "there is no filter 'kf' in space"),
    (lambda: lienav.evaluate3d("space:drone-mono-tactical", map="hall.json"), "map is 'hall.json'"),
]


@pytest.mark.parametrize(("call", "what"), REFUSALS)
def test_the_argument_is_named(call, what):
    with pytest.raises(lienav.Error) as raised:
        call()
    assert what in str(raised.value), str(raised.value)
