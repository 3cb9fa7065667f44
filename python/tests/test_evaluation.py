"""Reports, plots and frames; and that they are those of the command line."""

import json

import numpy as np
import pytest

import lienav


def without_times(report):
    return {key: value for key, value in report.items() if key != "step_us"}


def test_reports_are_those_of_the_command_line(bag, command):
    theirs = json.loads(
        command("evaluate", bag, "--filter", "default", "--filter", "batch", "--set", "gate.probability=0.99", "--json")
    )
    ours = lienav.evaluate(bag, ["default", "batch"], settings={"gate": {"probability": 0.99}})
    assert [without_times(report) for report in ours] == [without_times(report) for report in theirs]
    assert json.loads(ours.to_json())[0].keys() == theirs[0].keys()
    assert lienav.batch(bag, settings="gate.probability: 0.99")["position_rmse_m"] == theirs[1]["position_rmse_m"]
    in_map = json.loads(command("evaluate", bag, "--map", "truth", "--map-std", "0.05", "--json"))
    assert without_times(lienav.evaluate(bag, map="truth", map_std_m=0.05)[0]) == without_times(in_map)


def test_a_folder_has_the_bytes_of_the_command_line(bag, command, tmp_path):
    command("evaluate", bag, "--filter", "ekf", "--filter", "reduced", "--out", tmp_path / "theirs")
    lienav.evaluate(bag, ["ekf", "reduced"]).write(tmp_path / "ours")
    names = sorted(path.relative_to(tmp_path / "theirs") for path in (tmp_path / "theirs").rglob("*.*"))
    assert len(names) > 8
    for name in names:
        if name.stem != "report":
            assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name


@pytest.mark.parametrize("filters", [["ekf"], ["ekf", "default"]])
def test_one_filter_and_many_have_the_same_files(recording, tmp_path, filters):
    lienav.evaluate(recording, filters).write(tmp_path)
    report = json.loads((tmp_path / "ekf" / "report.json").read_text())
    assert report["filter"] == "ekf" and (tmp_path / "ekf" / "errors.csv").exists()


def test_errors_are_estimates_less_the_truth(recording):
    evaluation = lienav.evaluate(recording, ["default", "ekf"])
    report = evaluation["ekf"]
    errors, steps = report.errors, report.steps
    assert np.array_equal(errors.pose, steps.pose) and len(errors) == len(steps) == report["steps"]
    assert np.allclose(errors.error[:, :2], errors.pose[:, :2] - errors.truth[:, :2], atol=1e-12)
    rmse = np.sqrt(np.mean(np.sum(errors.error[:, :2] ** 2, axis=1)))
    assert rmse == pytest.approx(report["position_rmse_m"], rel=1e-12)
    assert np.nanmean(errors.nees) == pytest.approx(report["nees_mean"], rel=1e-9)
    assert np.allclose(errors.std**2, np.diagonal(steps.covariance, axis1=1, axis2=2))
    assert len(report.landmarks) == report["landmarks"] and report.step_us.shape == steps.stamp_ns.shape
    assert "NEES" in str(evaluation) and "ekf" in repr(evaluation) and "position RMSE" in repr(report)
    assert evaluation[1] is report and len(evaluation) == 2
    with pytest.raises(KeyError, match="there are default, ekf"):
        evaluation["kalman"]
    with pytest.raises(lienav.WrongCall, match="given twice"):
        lienav.evaluate(recording, ["ekf", "ekf"])
    with pytest.raises(lienav.WrongCall, match="max_truth_gap_s is -1"):
        lienav.evaluate(recording, max_truth_gap_s=-1.0)


def test_headings_are_wrapped():
    recording = lienav.simulate("range-bearing", seed=1, settings={"trajectory.laps": 1.2})
    slam = lienav.Slam()
    steps, errors = slam.run(recording), lienav.evaluate(recording)[0].errors
    for yaw in (recording.truth[1], steps.pose, errors.pose, errors.truth):
        assert yaw[:, 2].min() < -2.0 and np.abs(yaw[:, 2]).max() <= np.pi
    assert abs(slam.predicted().pose[2]) <= np.pi
    turned = np.array([-np.pi, np.pi, 3.0, 10.0, -10.0])
    assert np.allclose(lienav._data.wrapped(turned), [np.pi, np.pi, 3.0, 10.0 - 4 * np.pi, 4 * np.pi - 10.0])


def test_figures_show_every_step_and_every_landmark(recording):
    evaluation = lienav.evaluate(recording, ["default", "ekf"])
    report = evaluation[0]
    figure = report.plot()
    axes = {axis.get_ylabel(): axis for axis in figure.axes}
    path = axes["y [m]"].lines[0].get_xydata()
    assert np.array_equal(path, report.steps.pose[:, :2])
    assert np.array_equal(axes["y [m]"].lines[1].get_xydata(), report.landmarks.position)
    assert np.array_equal(axes["yaw error [rad]"].lines[0].get_ydata(), report.errors.error[:, 2])
    assert [line.get_label() for line in evaluation.plot().axes[1].lines] == ["default", "ekf"]
    figure.canvas.draw()


def test_one_panel_is_drawn_on_axes_of_the_user(recording):
    import matplotlib.pyplot as plt

    evaluation = lienav.evaluate(recording, ["default", "ekf"])
    outcome = lienav.monte_carlo("range-bearing", runs=2, settings={"trajectory.laps": 0.1})
    figure, (first, second, third) = plt.subplots(1, 3)
    assert evaluation[0].plot(ax=first, what="yaw") is figure
    assert np.array_equal(first.lines[0].get_ydata(), evaluation[0].errors.error[:, 2])
    assert evaluation.plot(ax=second, what="error") is figure and len(second.lines) == 2
    assert outcome.plot(ax=third, what="nees") is figure and third.get_ylabel().startswith("mean NEES")
    assert len(evaluation[0].plot(what="map").axes) == 1 and len(figure.axes) == 3
    with pytest.raises(lienav.WrongCall, match="what is 'speed'; allowed: map"):
        evaluation.plot(ax=second, what="speed")
    with pytest.raises(lienav.WrongType, match="ax is of type int"):
        evaluation[0].plot(ax=5)


def test_tables_for_papers_have_the_numbers_of_the_reports(recording):
    evaluation = lienav.evaluate(recording, ["default", "ekf"])
    latex = evaluation.to_latex(["position_rmse_m", "nees_mean", "step_us.p99"], digits=4)
    assert r"& position RMSE [m] & NEES mean & step p99 [$\mu$s] \\" in latex
    assert rf"ekf & {evaluation['ekf']['position_rmse_m']:.4g} &" in latex and latex.count(r"\\") == 3
    head, *rows = evaluation.to_csv().splitlines()
    assert head == "name,position_rmse_m,yaw_rmse_rad,nees_mean" and len(rows) == 2
    assert float(rows[1].split(",")[1]) == evaluation["ekf"]["position_rmse_m"]
    own = lienav.table({"my_ekf, 50 %": {"nees_mean": None, "t_s": 1.5e-9}}, ["nees_mean", "t_s"])
    assert r"my\_ekf, 50 \% & -- & $1.5 \cdot 10^{-9}$ \\" in own
    for call, what in [
        (lambda: evaluation.to_latex(["rmse"]), "keys has 'rmse', and there is no 'rmse'; there are: accepted"),
        (lambda: evaluation.to_latex(["step_us"]), "'step_us', which is no single number"),
        (lambda: lienav.table(evaluation), "rows is of type Evaluation"),
        (lambda: lienav.table({}, form="html"), "form is 'html'; allowed: latex | csv"),
    ]:
        with pytest.raises(lienav.WrongCall) as raised:
            call()
        assert what in str(raised.value)


def test_frames_have_a_row_for_each_step(recording):
    report = lienav.evaluate(recording)[0]
    frame = report.errors.to_frame()
    assert len(frame) == report["steps"]
    assert {"time_s", "x_m", "true_x_m", "error_yaw_rad", "std_x_m", "nees"} <= set(frame.columns)
    assert np.array_equal(report.steps.to_frame()["cov_xy"], report.steps.covariance[:, 0, 1])
    assert report.landmarks.to_frame().columns.tolist()[:3] == ["ids", "x_m", "y_m"]
    table = lienav.evaluate(recording, ["default", "ekf"]).to_frame()
    assert table.index.tolist() == ["default", "ekf"] and table.loc["ekf", "steps"] == report["steps"]


def test_the_chi_squared_band_of_the_plot_is_that_of_the_report(recording):
    from lienav._plot import _NEES_BAND

    report = lienav.evaluate(recording)[0]
    nees = report.errors.nees[np.isfinite(report.errors.nees)]
    inside = np.mean((nees >= _NEES_BAND[0]) & (nees <= _NEES_BAND[1]))
    assert inside == pytest.approx(report["nees_in_band_fraction"], abs=1e-12)
