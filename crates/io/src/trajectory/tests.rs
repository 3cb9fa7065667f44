//! Files of all formats, damaged ones included, and conventions against finite differences.

use super::convention::{Axes, Convention, Meaning, Order};
use super::data::{self, Trajectory, upper};
use super::{Options, open};
use lienav_base::stamp::Stamp;
use nalgebra::{Isometry3, Matrix6, UnitQuaternion, Vector3, Vector6};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

fn read(text: &str, options: &Options) -> Result<Trajectory, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.txt");
    fs::write(&path, text).unwrap();
    let place = folder.path().display().to_string();
    open(path.to_str().unwrap(), options, &mut |_| ()).map_err(|error| error.to_string().replace(&place, ""))
}

fn plain(text: &str) -> Result<Trajectory, String> {
    read(text, &Options::default())
}

fn pose(x: [f64; 6]) -> Isometry3<f64> {
    Isometry3::from_parts(Vector3::new(x[0], x[1], x[2]).into(), UnitQuaternion::from_euler_angles(x[3], x[4], x[5]))
}

/// The pose that is true where a convention's error is ξ, in the order of the convention.
fn perturbed(axes: Axes, pose: &Isometry3<f64>, p: Vector3<f64>, r: Vector3<f64>) -> Isometry3<f64> {
    let turn = UnitQuaternion::from_scaled_axis(r);
    let t = pose.translation.vector;
    match axes {
        Axes::Fixed => Isometry3::from_parts((t + p).into(), turn * pose.rotation),
        Axes::BodyOrientation => Isometry3::from_parts((t + p).into(), pose.rotation * turn),
        Axes::Body => pose * Isometry3::from_parts(p.into(), turn),
        Axes::Left => Isometry3::from_parts(p.into(), turn) * pose,
    }
}

fn fixed_error(truth: &Isometry3<f64>, estimate: &Isometry3<f64>) -> Vector6<f64> {
    let p = truth.translation.vector - estimate.translation.vector;
    let r = (truth.rotation * estimate.rotation.inverse()).scaled_axis();
    Vector6::new(p.x, p.y, p.z, r.x, r.y, r.z)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn every_meaning_is_the_derivative_of_its_perturbation(
        at in prop::array::uniform6(-1.5..1.5f64), root in prop::array::uniform32(-1.0..1.0f64),
    ) {
        let (estimate, root) = (pose(at), Matrix6::from_fn(|i, j| root[(6 * i + j) % 32] + f64::from(i == j)));
        let stated = root * root.transpose();
        let h = 1e-6;
        for axes in Axes::ALL {
            for order in [Order::PositionFirst, Order::OrientationFirst] {
                let a = Matrix6::from_columns(&std::array::from_fn::<_, 6, _>(|k| {
                    let xi = Vector6::from_fn(|i, _| if i == k { h } else { 0.0 });
                    let (first, second) = (xi.fixed_rows::<3>(0).into_owned(), xi.fixed_rows::<3>(3).into_owned());
                    let (p, r) = if order == Order::PositionFirst { (first, second) } else { (second, first) };
                    let plus = fixed_error(&perturbed(axes, &estimate, p, r), &estimate);
                    let minus = fixed_error(&perturbed(axes, &estimate, -p, -r), &estimate);
                    (plus - minus) / (2.0 * h)
                }));
                let expected = a * stated * a.transpose();
                let found = Meaning { order, axes }.to_fixed(&stated, &estimate);
                prop_assert!((found - expected).amax() < 1e-7 * (1.0 + expected.amax()), "{axes:?} {order:?}");
                prop_assert!((a.determinant().abs() - 1.0).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+0-9.eE, ;\t#a-z_]{0,60}(\n[-+0-9.eE, \t#nif]{0,60}){0,5}") {
        let _ = plain(&text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        fs::write(&path, bytes).unwrap();
        let _ = open(path.to_str().unwrap(), &Options::default(), &mut |_| ());
    }
}

#[test]
fn names_of_conventions_come_back() {
    for name in Convention::NAMES {
        assert_eq!(Convention::named(name).unwrap().name(), name);
    }
    assert_eq!(Convention::named("evo"), None);
}

#[test]
fn tum_files_are_read_with_spaces_commas_and_comments() {
    let a = plain("# a comment\n1.5 1 2 3 0 0 0 1\n2.5 4 5 6 0 0 0.6 0.8\n").unwrap();
    let b = plain("1.5,1,2,3,0,0,0,1\r\n2.5, 4, 5, 6, 0, 0, 0.6, 0.8\r\n").unwrap();
    let c = plain("# timestamp tx ty tz qx qy qz qw\n1.5 1 2 3 0 0 0 1\n2.5 4 5 6 0 0 0.6 0.8").unwrap();
    assert_eq!((&a.stamps, &a.poses), (&b.stamps, &b.poses));
    assert_eq!((&a.stamps, &a.poses), (&c.stamps, &c.poses));
    assert_eq!(a.stamps[0], Stamp::from_nanos(1_500_000_000));
    assert_eq!(a.poses[1].translation.vector, Vector3::new(4.0, 5.0, 6.0));
    assert!((a.poses[1].rotation.euler_angles().2 - 2.0 * 0.6f64.atan2(0.8)).abs() < 1e-12);
    assert!(a.covariances.is_empty());
}

#[test]
fn kitti_files_have_their_stamps_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let times = folder.path().join("times.txt");
    fs::write(&times, "0.0e+00\n1.0e-01\n").unwrap();
    let text = "1 0 0 5 0 1 0 6 0 0 1 7\n0 -1 0 5 1 0 0 6 0 0 1 8\n";
    let found = read(text, &Options { times: Some(times.clone()), ..Options::default() }).unwrap();
    assert_eq!(found.stamps[1], Stamp::from_nanos(100_000_000));
    assert!((found.poses[1].rotation.euler_angles().2 - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    assert!(plain(text).unwrap_err().contains("--times FILE"));
    fs::write(&times, "0\n").unwrap();
    assert!(read(text, &Options { times: Some(times), ..Options::default() }).unwrap_err().contains("2 poses"));
}

#[test]
fn euroc_truth_has_nanoseconds_and_w_first() {
    let text = "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z [], v [m s^-1]\n\
                1403636580838555648,4.6,-1.7,0.8,0.6,0.8,0,0,0.1\n";
    let found = plain(text).unwrap();
    assert_eq!(found.stamps[0].nanos(), 1_403_636_580_838_555_648);
    assert!((found.poses[0].rotation.w - 0.6).abs() < 1e-12 && (found.poses[0].rotation.i - 0.8).abs() < 1e-12);
}

#[test]
fn openvins_files_have_the_orientation_first_and_in_the_body() {
    let row = "1 0 0 0 0 0 0 1 1 2 3 4 5 6 11 12 13 14 15 16\n";
    let header = "# timestamp(s) tx ty tz qx qy qz qw Pr11 Pr12 Pr13 Pr22 Pr23 Pr33 Pt11 Pt12 Pt13 Pt22 Pt23 Pt33\n";
    for text in [row.to_owned(), format!("{header}{row}")] {
        let found = plain(&text).unwrap();
        let covariance = found.stated(0).unwrap();
        assert_eq!((covariance[(3, 3)], covariance[(4, 3)], covariance[(5, 5)]), (1.0, 2.0, 6.0));
        assert_eq!((covariance[(0, 0)], covariance[(1, 2)], covariance[(2, 2)]), (11.0, 15.0, 16.0));
        assert_eq!(found.meaning, Some(Meaning { order: Order::PositionFirst, axes: Axes::BodyOrientation }));
        assert!(found.is_named);
    }
}

#[test]
fn csv_columns_are_found_by_name_and_numbered_ones_by_convention() {
    let text = "stamp_s,x_m,y_m,yaw_rad,note,var_x,cov_xyaw,cov_yaw_y,var_yaw\n1,2,3,0.5,hello,0.1,0.2,0.3,0.4\n";
    let found = plain(text).unwrap();
    let covariance = found.covariance(0).unwrap();
    assert_eq!((covariance[(0, 0)], covariance[(0, 5)], covariance[(1, 5)], covariance[(5, 5)]), (0.1, 0.2, 0.3, 0.4));
    assert!((found.poses[0].rotation.euler_angles().2 - 0.5).abs() < 1e-12);
    let text = "stamp_ns;x;y;z;qx;qy;qz;qw;c11;c_6_6\n5;0;0;0;0;0;0;1;7;8\n";
    let gtsam = Options { convention: Some(Convention::Gtsam), ..Options::default() };
    let (ros, gtsam) = (plain(text).unwrap(), read(text, &gtsam).unwrap());
    assert_eq!(ros.covariance(0).unwrap()[(0, 0)], 7.0);
    assert_eq!(gtsam.covariance(0).unwrap()[(3, 3)], 7.0);
    assert_eq!(ros.stamps[0].nanos(), 5);
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_what_is_not_finite_is_counted() {
    assert!(plain("1 2 3\n").unwrap_err().contains("3 columns"));
    assert!(plain("").unwrap_err().contains("no line"));
    assert!(plain("when,where\n").unwrap_err().contains("stamp_s"));
    assert_eq!(plain("1 0 0 0 0 0 0 1\n2 0 0 0 0 0\n").unwrap_err(), "/t.txt:2: it has 6 columns; expected 8");
    assert!(plain("1 0 0 0 0 0 0 1\n2 0 x 0 0 0 0 1\n").unwrap_err().contains("t.txt:2: column 3 is 'x'"));
    assert!(plain("1403636580838555648 0 0 0 0 0 0 1\n").unwrap_err().contains("stamp_ns"));
    assert!(plain("1 0 0 0 0 0 0 0\n").unwrap_err().contains("bad_orientation 1"));
    let found =
        plain("3 0 0 0 0 0 0 1\n1 nan 0 0 0 0 0 1\n2 1 0 0 0 0 0 1\n2 2 0 0 0 0 0 1\n4 0 0 0 0 0 0 9\n").unwrap();
    assert_eq!(found.stamps, [2, 3].map(|s| Stamp::from_nanos(s * 1_000_000_000)));
    assert_eq!(found.poses[0].translation.x, 1.0);
    let dropped: Vec<_> = found.dropped.into_iter().collect();
    assert_eq!(dropped, [("bad_orientation", 1), ("not_finite", 1), ("out_of_order", 1), ("repeated_stamp", 1)]);
}

#[test]
fn a_file_longer_than_a_block_keeps_its_order_and_its_line_numbers() {
    let mut text: String = (0..150_000).map(|k| format!("{k}.5 {k} 0 0 0 0 0 1\n")).collect();
    let found = plain(&text).unwrap();
    assert_eq!(found.len(), 150_000);
    assert!((0..150_000).all(|k| found.poses[k].translation.x == k as f64));
    text.push_str("what is this\n");
    assert!(plain(&text).unwrap_err().contains("t.txt:150001:"));
}

#[test]
fn a_pose_between_two_is_found_where_the_gap_is_short() {
    let stamps: Vec<Stamp> = [0.0, 1.0, 1.5, 5.0].map(Stamp::from_secs).to_vec();
    let poses = [0.0, 1.0, 2.0, 3.0].map(|x| pose([x, 0.0, 0.0, 0.0, 0.0, x])).to_vec();
    let track = Trajectory::new("t", stamps, poses, Vec::new());
    for begin in [0, 1, 2, 3, 4] {
        let at = |secs: f64| track.at(Stamp::from_secs(secs), 1.0, &mut { begin });
        let middle = at(0.25).unwrap();
        assert!((middle.translation.x - 0.25).abs() < 1e-12);
        assert!((middle.rotation.euler_angles().2 - 0.25).abs() < 1e-12);
        assert_eq!(at(1.5), Some(track.poses[2]));
        assert!(at(-0.1).is_none() && at(5.1).is_none() && at(3.0).is_none() && at(5.0).is_some());
    }
    let mut near = 0;
    let found = (0..160).filter(|k| track.at(Stamp::from_secs(f64::from(*k) * 0.01), 1.0, &mut near).is_some()).count();
    assert_eq!(found, 151);
}

#[test]
fn a_placeholder_states_nothing() {
    let one = |upper: [f64; 21]| Trajectory::new("t", vec![Stamp::default()], vec![Isometry3::identity()], vec![upper]);
    assert!(one([0.0; 21]).covariance(0).is_none());
    assert!(one([f64::NAN; 21]).covariance(0).is_none());
    let mut unknown = upper(&Matrix6::identity());
    unknown[0] = -1.0;
    assert!(one(unknown).covariance(0).is_none());
    assert!(one(upper(&Matrix6::identity())).covariance(0).is_some());
    for i in 0..6 {
        for j in 0..6 {
            assert_eq!(data::matrix(&std::array::from_fn(|k| k as f64))[(i, j)], data::place(i, j) as f64);
        }
    }
}

#[test]
fn a_source_that_is_none_says_what_would_be_one() {
    let error = open("nowhere:/pose", &Options::default(), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("BAG:TOPIC"), "{error}");
    let here: PathBuf = tempfile::tempdir().unwrap().keep();
    assert!(open(here.to_str().unwrap(), &Options::default(), &mut |_| ()).is_err());
    let _ = fs::remove_dir(here);
}
