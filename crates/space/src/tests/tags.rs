//! The pipeline of tags.

use super::hall::{self, Input, error, inputs, play, slam, tag_config};
use crate::tags::{TagFrame, TagSeen, TagSlam3d};
use crate::{Config, DropReason, MapMode, Quality, Step};
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix6, Vector2, Vector3};

fn rmse(steps: &[Step]) -> f64 {
    (steps.iter().map(|step| error(&step.estimate).0.powi(2)).sum::<f64>() / steps.len() as f64).sqrt()
}

fn nees(steps: &[Step]) -> f64 {
    steps.iter().map(|step| error(&step.estimate).1).sum::<f64>() / steps.len() as f64
}

#[test]
fn a_robot_among_tags_knows_where_it_is_with_and_without_odometry_and_map() {
    for (has_odometry, sigma, metres) in
        [(true, None, 0.05), (false, None, 0.08), (true, Some(1e-4), 0.02), (false, Some(1e-4), 0.02)]
    {
        let mut slam = slam(Config::default(), tag_config(), sigma);
        let steps = play(&mut slam, &inputs(25.0, 1, has_odometry));
        let (off, nees) = (rmse(&steps), nees(&steps[20..]));
        println!("odometry {has_odometry}, map {sigma:?}: {off:.4} m, NEES {nees:.1}, {} steps", steps.len());
        assert!(steps.len() > 900 && off < metres && nees < 12.0, "{off} m, NEES {nees}");
        assert_eq!(slam.quality(), Quality::Ok);
        let found = slam.tags();
        let worst = found.iter().map(|tag| (tag.pose.translation - hall::tags()[&tag.id].translation).norm());
        assert!(found.len() > 15 && worst.fold(0.0, f64::max) < 0.2);
    }
}

#[test]
fn the_order_of_arrival_changes_nothing() {
    let run = inputs(8.0, 2, true);
    let expected = play(&mut slam(Config::default(), tag_config(), Some(1e-3)), &run);
    for late_s in [0.02, 0.06, 0.15] {
        // The second camera comes late, and odometry a little.
        let mut shifted: Vec<(f64, Input)> = run
            .iter()
            .map(|input| {
                let late = match input {
                    Input::Frame(TagFrame { camera: Some(1), .. }) => late_s,
                    Input::Twist(_) => 0.3 * late_s,
                    Input::Frame(_) => 0.0,
                };
                (input.stamp().secs() + late, input.clone())
            })
            .collect();
        shifted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let arrived: Vec<Input> = shifted.into_iter().map(|(_, input)| input).collect();
        let found = play(&mut slam(Config::default(), tag_config(), Some(1e-3)), &arrived);
        assert_eq!(found.len(), expected.len(), "{late_s}");
        assert!(found.iter().zip(&expected).all(|(one, other)| one == other), "{late_s}");
    }
}

#[test]
fn images_of_one_instant_are_one_frame_whatever_camera_comes_first() {
    let together = |inputs: &[Input], swaps: bool| {
        let mut all = inputs.to_vec();
        for input in &mut all {
            if let Input::Frame(frame) = input {
                let t = (frame.stamp.secs() * 20.0).floor() / 20.0;
                frame.stamp = hall::stamp(t - 100.0);
            }
        }
        all.sort_by_key(|input| match input {
            Input::Frame(frame) => (frame.stamp, if swaps { 1 - frame.camera.unwrap() } else { frame.camera.unwrap() }),
            Input::Twist(twist) => (twist.stamp, 9),
        });
        let mut slam = slam(Config::default(), tag_config(), Some(1e-3));
        play(&mut slam, &all)
    };
    let run = inputs(4.0, 3, false);
    let (one, other) = (together(&run, false), together(&run, true));
    assert!(one.len() > 60 && one == other, "{} {}", one.len(), other.len());
}

#[test]
fn a_robot_begins_within_seconds_of_one_small_tag_and_is_never_sure_and_wrong() {
    let mut config = Config::default();
    config.map.mode = MapMode::Localization;
    for (seed, only) in [(1, 0), (2, 23), (3, 1)] {
        let mut run = inputs(12.0, seed, true);
        for input in &mut run {
            if let Input::Frame(frame) = input {
                frame.seen.retain(|seen| seen.id == only);
            }
        }
        let mut slam = slam(config.clone(), tag_config(), Some(1e-3));
        let steps = play(&mut slam, &run);
        let seen = run.iter().find(|input| matches!(input, Input::Frame(frame) if !frame.seen.is_empty())).unwrap();
        let took = steps[0].estimate.stamp.since(seen.stamp());
        let (off, _) = error(&steps.last().unwrap().estimate);
        println!("tag {only}: begun after {took:.2} s, in the end off by {off:.3} m");
        assert!(took < 2.0, "{took} s, {off} m");
        assert!(steps.iter().all(|step| error(&step.estimate).1 < 60.0), "tag {only}");
    }
}

#[test]
fn a_robot_that_stands_is_found_within_two_seconds_of_one_tag_that_is_seen_aslant() {
    let mut config = Config::default();
    config.map.mode = MapMode::Localization;
    for seed in 0..50 {
        let mut normal = hall::normal(seed);
        let axes = nalgebra::Matrix3::new(0.0, 0.0, -1.0, -1.0, 0.0, 0.0, 0.0, 1.0, 0.0);
        let turn = So3::exp(&(Vector3::y() * 0.7));
        let tag = Se3::new(So3::from_matrix_unchecked(axes) * turn, Vector3::new(1.5, 0.3, 0.2));
        let mut slam = TagSlam3d::new(config.clone(), tag_config()).unwrap();
        let camera = hall::cameras()[0];
        slam.set_camera(0, camera).unwrap();
        let known = crate::tags::KnownTag { pose: tag, sigma: (1e-4, 1e-4) };
        slam.set_known([(7, known)].into(), Default::default());
        let exact = hall::corners(&tag, &Se3::identity(), &camera).unwrap();
        for k in 0..40 {
            let corners = exact.map(|p| p + Vector2::new(normal(), normal()) * hall::NOISE_PX);
            let seen = vec![TagSeen { camera: 0, id: 7, size_m: hall::SIZE_M, corners }];
            slam.push_frame(&TagFrame { stamp: hall::stamp(k as f64 * 0.05), camera: Some(0), seen }).unwrap();
            while slam.poll().is_some() {}
        }
        let pose = slam.pose().unwrap();
        assert!(pose.pose.translation.norm() < 0.1 && slam.quality() == Quality::Ok, "{:?}", pose.pose.translation);
    }
}

/// A single tag that is seen face on by a camera that stands: the pose is right, or as uncertain as it says.
#[test]
fn a_tag_face_on_never_gives_a_sure_pose_that_is_wrong() {
    let mut config = Config::default();
    config.map.mode = MapMode::Localization;
    let (mut begun, mut steps, mut wrong, mut worst) = (0, 0, 0, 0.0_f64);
    for seed in 0..100 {
        let mut normal = hall::normal(1000 + seed);
        let distance = 1.0 + 5.0 * (seed % 25) as f64 / 25.0;
        let axes = nalgebra::Matrix3::new(0.0, 0.0, -1.0, -1.0, 0.0, 0.0, 0.0, 1.0, 0.0);
        let turn = So3::exp(&(Vector3::new(normal(), normal(), 0.0) * 0.05));
        let tag = Se3::new(So3::from_matrix_unchecked(axes) * turn, Vector3::new(distance, 0.0, 0.3));
        let mut slam = TagSlam3d::new(config.clone(), tag_config()).unwrap();
        let camera = hall::cameras()[0];
        slam.set_camera(0, camera).unwrap();
        let known = crate::tags::KnownTag { pose: tag, sigma: (1e-4, 1e-4) };
        slam.set_known([(7, known)].into(), Default::default());
        let Some(exact) = hall::corners(&tag, &Se3::identity(), &camera) else { continue };
        for k in 0..100 {
            let corners = exact.map(|p| p + Vector2::new(normal(), normal()) * hall::NOISE_PX);
            let seen = vec![TagSeen { camera: 0, id: 7, size_m: hall::SIZE_M, corners }];
            let _ = slam.push_frame(&TagFrame { stamp: hall::stamp(k as f64 * 0.05), camera: Some(0), seen });
            while let Some(step) = slam.poll() {
                let off = step.estimate.pose.translation;
                let covariance = step.estimate.covariance.fixed_view::<3, 3>(0, 0).into_owned();
                let square = covariance.cholesky().map_or(f64::INFINITY, |c| off.dot(&c.solve(&off)));
                worst = worst.max(square.sqrt());
                wrong += usize::from(square > 25.0);
                steps += 1;
                assert!(square < 64.0, "seed {seed} at {distance:.2} m: off by {off:?}, {square:.1}");
            }
        }
        begun += usize::from(slam.pose().is_some());
    }
    println!(
        "{begun} of 100 have begun; {wrong} of {steps} poses are beyond 5; the worst is {worst:.1} standard deviations off"
    );
    assert!(begun > 95 && 1000 * wrong <= steps, "{begun} {wrong}");
}

#[test]
fn silence_of_odometry_and_of_tags_makes_the_pose_wide_and_it_comes_back() {
    let run = inputs(40.0, 5, true);
    let silent = |input: &&Input| match input {
        Input::Twist(_) => !(15.0..20.0).contains(&(input.stamp().secs() - 100.0)),
        Input::Frame(_) => !(15.0..18.0).contains(&(input.stamp().secs() - 100.0)),
    };
    let kept: Vec<Input> = run.iter().filter(silent).cloned().collect();
    let mut slam = slam(Config::default(), tag_config(), Some(1e-3));
    let steps = play(&mut slam, &kept);
    for step in &steps {
        let (off, nees) = error(&step.estimate);
        assert!(nees < 60.0, "{off} m, NEES {nees} at {}", step.estimate.stamp);
    }
    let last = error(&steps.last().unwrap().estimate);
    assert!(last.0 < 0.03, "{last:?}");
}

#[test]
fn without_tags_for_a_minute_the_odometry_goes_on_and_the_covariance_grows() {
    let run = inputs(70.0, 6, true);
    let mut slam = slam(Config::default(), tag_config(), Some(1e-3));
    for input in &run {
        if matches!(input, Input::Frame(_)) && input.stamp().secs() > 105.0 {
            continue;
        }
        let _ = input.push(&mut slam);
        while slam.poll().is_some() {}
    }
    let pose = slam.pose().unwrap();
    let (off, nees) = error(&pose);
    assert!(pose.stamp.secs() > 169.0 && nees < 30.0, "{off} m, NEES {nees}");
    assert_eq!(slam.quality(), Quality::Wide);
}

#[test]
fn bad_input_is_counted_under_its_reason_and_costs_nothing_else() {
    let run = inputs(6.0, 7, true);
    let mut slam = slam(Config::default(), tag_config(), Some(1e-3));
    play(&mut slam, &run);
    let Some(Input::Frame(frame)) =
        run.iter().rev().find(|i| matches!(i, Input::Frame(f) if f.camera == Some(0) && !f.seen.is_empty()))
    else {
        panic!("no frames")
    };
    assert_eq!(slam.push_frame(frame), Err(DropReason::TooLate));
    let mut next = frame.clone();
    next.stamp = run.last().unwrap().stamp() + 0.05;
    next.seen.push(next.seen[0]);
    next.seen.push(TagSeen { id: 900, camera: 1, ..next.seen[0] });
    next.seen.push(TagSeen { id: 901, corners: [Vector2::repeat(f64::NAN); 4], ..next.seen[0] });
    slam.push_frame(&next).unwrap();
    let count = |slam: &TagSlam3d, reason| slam.counts().get(reason);
    assert_eq!(count(&slam, DropReason::RepeatedTag), 2);
    assert_eq!(count(&slam, DropReason::UnknownSensor), 1);
    assert_eq!(count(&slam, DropReason::BadCorners), 1);
    assert_eq!(slam.push_frame(&next), Err(DropReason::DuplicateStamp));
    next.stamp = next.stamp + 1000.0;
    assert_eq!(slam.push_frame(&next), Err(DropReason::FromTheFuture));
    next.camera = Some(99);
    assert_eq!(slam.push_frame(&next), Err(DropReason::UnknownSensor));
    let bad = Matrix6::identity() * f64::NAN;
    assert_eq!(slam.set_pose(&Se3::identity(), &bad), Err(DropReason::NotFinite));
}

#[test]
fn time_that_is_set_back_starts_the_filter_again() {
    let run = inputs(8.0, 8, true);
    let mut slam = slam(Config::default(), tag_config(), Some(1e-3));
    play(&mut slam, &run);
    let again = play(&mut slam, &run);
    assert_eq!(slam.time_jumps(), 1);
    assert!(again.len() > 200 && error(&again.last().unwrap().estimate).0 < 0.03);
}

#[test]
fn a_robot_that_was_put_elsewhere_is_right_again_within_two_seconds_of_its_frames() {
    let run = inputs(20.0, 9, true);
    let mut config = Config::default();
    config.map.mode = MapMode::Localization;
    let mut slam = slam(config, tag_config(), Some(1e-3));
    let mut steps = Vec::new();
    for input in run.iter().filter(|input| !(5.0..12.0).contains(&(input.stamp().secs() - 100.0))) {
        let _ = input.push(&mut slam);
        steps.extend(std::iter::from_fn(|| slam.poll()));
    }
    let late = steps.iter().filter(|step| step.estimate.stamp.secs() > 114.5);
    let worst = late.map(|step| error(&step.estimate).0).fold(0.0, f64::max);
    assert!(worst < 0.03, "{worst}");
}

#[test]
fn tags_that_are_stated_too_small_are_found_by_their_map() {
    for (factor, is_found) in [(1.0, false), (1.02, false), (1.25, true), (0.8, true)] {
        let mut slam = slam(Config::default(), tag_config(), Some(1e-3));
        let mut run = inputs(6.0, 4, true);
        for input in &mut run {
            if let Input::Frame(frame) = input {
                frame.seen.iter_mut().for_each(|seen| seen.size_m /= factor);
            }
        }
        play(&mut slam, &run);
        let found = slam.size_factor();
        println!("{factor}: {found:?}");
        assert_eq!(found.is_some(), is_found, "{factor} {found:?}");
        assert!(found.is_none_or(|found| (found / factor - 1.0).abs() < 0.02), "{factor} {found:?}");
    }
}

/// A tag on somebody who walks ahead of the robot is larger than those of the map, and costs nothing: with a map,
/// or where it is stated to move.
#[test]
fn a_tag_on_a_moving_person_does_not_move_the_pose() {
    const ID: u64 = 77;
    // Ahead of the robot, to and fro; tag 0 of the hall faces along −x.
    let on_person = |t: f64| {
        let ahead = Vector3::new(2.0 + 0.5 * (0.8 * t).sin(), 0.6 * (0.9 * t).sin(), 0.5);
        let facing = hall::tags()[&0].rotation;
        hall::truth(t) * Se3::new(So3::exp(&(Vector3::z() * 0.5 * (1.3 * t).sin())) * facing, ahead)
    };
    let mut run = inputs(15.0, 6, true);
    let mut normal = hall::normal(9);
    let mut views = 0;
    for input in &mut run {
        let Input::Frame(frame) = input else { continue };
        let t = frame.stamp.secs() - 100.0;
        let camera = frame.camera.unwrap();
        if let Some(exact) = hall::corners(&on_person(t), &hall::truth(t), &hall::cameras()[camera]) {
            let corners = exact.map(|p| p + Vector2::new(normal(), normal()) * hall::NOISE_PX);
            frame.seen.push(TagSeen { camera, id: ID, size_m: hall::SIZE_M, corners });
            views += 1;
        }
    }
    for (sigma, is_listed) in [(Some(1e-3), false), (Some(1e-3), true), (None, true)] {
        let mut slam = slam(Config::default(), tag_config(), sigma);
        if is_listed {
            slam.set_moving([ID].into());
        }
        let steps = play(&mut slam, &run);
        let (off, nees) = (rmse(&steps[20..]), nees(&steps[20..]));
        println!("{views} views, map {sigma:?}, listed {is_listed}: {off:.4} m, NEES {nees:.1}");
        assert!(views > 50 && off < if sigma.is_some() { 0.02 } else { 0.05 } && nees < 12.0, "{off} {nees}");
        assert_eq!(slam.found_moving(), if is_listed { vec![] } else { vec![ID] });
        assert!(slam.tags().iter().all(|tag| tag.id != ID));
        let found = slam.moving();
        assert_eq!(found.len(), 1);
        let t = found[0].stamp.secs() - 100.0;
        let place = (found[0].pose.translation - on_person(t).translation).norm();
        assert!(t > 14.0 && place < 0.2, "{t} {place}");
    }
}

/// A tag that was hung elsewhere is one of the map again, and so is one that was carried there in view.
#[test]
fn a_tag_that_rests_again_is_a_landmark_again() {
    const ID: u64 = 77;
    let place = |t: f64| {
        let turned = So3::exp(&(Vector3::z() * 0.3)) * hall::tags()[&0].rotation;
        let y = -0.5 + 0.4 * (t - 2.0).clamp(0.0, 3.0);
        Se3::new(turned, Vector3::new(2.5, y, 0.5))
    };
    let mut run = inputs(16.0, 3, false);
    let mut normal = hall::normal(4);
    for input in &mut run {
        let Input::Frame(frame) = input else { continue };
        let (t, camera) = (frame.stamp.secs() - 100.0, frame.camera.unwrap());
        // The robot stands.
        let eye = &hall::cameras()[camera];
        let see = |(id, tag): (u64, Se3)| Some((id, hall::corners(&tag, &Se3::identity(), eye)?));
        let all: Vec<_> = hall::tags().into_iter().chain([(ID, place(t))]).filter_map(see).collect();
        let of = |(id, exact): (u64, [Vector2<f64>; 4])| {
            let corners = exact.map(|p| p + Vector2::new(normal(), normal()) * hall::NOISE_PX);
            TagSeen { camera, id, size_m: hall::SIZE_M, corners }
        };
        frame.seen = all.into_iter().map(of).collect();
    }
    let mut slam = slam(Config::default(), tag_config(), Some(1e-3));
    let mut moved = 0;
    for input in &run {
        let _ = input.push(&mut slam);
        while slam.poll().is_some() {}
        moved += usize::from(slam.found_moving() == [ID]);
    }
    let found = slam.tags().into_iter().find(|tag| tag.id == ID).unwrap();
    let off = slam.pose().unwrap().pose.translation.norm();
    println!("moving for {moved} images; {:.3} m, the pose is off by {off:.4} m", found.pose.translation.y);
    assert!(moved > 50 && slam.found_moving().is_empty() && slam.moving().is_empty());
    assert!((found.pose.translation.y - 0.7).abs() < 0.05 && off < 0.03, "{off}");
}

/// Corners that begin at another one are those of a tag that hangs turned by a quarter: the map rules it out, and says
/// by how many.
#[test]
fn corners_in_another_order_never_give_a_sure_pose_that_is_wrong_and_are_named() {
    for first in 0..4 {
        let mut run = inputs(if first == 1 { 8.0 } else { 3.0 }, 8, true);
        for input in &mut run {
            if let Input::Frame(frame) = input {
                frame.seen.iter_mut().for_each(|seen| seen.corners.rotate_left(first));
            }
        }
        let mut slam = slam(Config::default(), tag_config(), Some(1e-3));
        let steps = play(&mut slam, &run);
        let wrong = steps.iter().filter(|step| error(&step.estimate).1 > 25.0 * 6.0).count();
        println!("{first}: {} steps, {wrong} wrong and sure", steps.len());
        assert_eq!(wrong, 0);
        assert_eq!(slam.first_corner(), (first > 0).then_some(first));
    }
}

/// A map that a run has made has errors that its tags share: taken for independent ones, they are averaged away.
#[test]
fn a_map_that_was_made_keeps_what_its_tags_have_in_common() {
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for seed in 0..6 {
        let mut first = slam(Config::default(), tag_config(), None);
        play(&mut first, &inputs(22.0, 300 + seed, false));
        let joint = first.joint_map();
        assert!(joint.tags().len() > 15);
        let sigma = |c: &Matrix6<f64>, k: usize| (c.fixed_view::<3, 3>(k, k).trace() / 3.0).sqrt();
        let known = |tag: &crate::tags::TagPose| {
            let sigma = (sigma(&tag.covariance, 3), sigma(&tag.covariance, 0));
            (tag.id, crate::tags::KnownTag { pose: tag.pose, sigma })
        };
        for (has_joint, all) in [(true, &mut together), (false, &mut alone)] {
            let mut config = Config::default();
            config.map.mode = MapMode::Localization;
            let mut slam = slam(config, tag_config(), None);
            slam.set_known(first.tags().iter().map(known).collect(), Default::default());
            if has_joint {
                slam.set_joint_map(joint.clone());
            }
            let steps = play(&mut slam, &inputs(20.0, 400 + seed, false));
            assert!(steps.len() > 600, "{}", steps.len());
            all.push((rmse(&steps[20..]), nees(&steps[20..])));
        }
    }
    let mean = |all: &[(f64, f64)]| {
        let n = all.len() as f64;
        (all.iter().map(|one| one.0).sum::<f64>() / n, all.iter().map(|one| one.1).sum::<f64>() / n)
    };
    let (together, alone) = (mean(&together), mean(&alone));
    println!("together {:.4} m, NEES {:.1}; alone {:.4} m, NEES {:.1}", together.0, together.1, alone.0, alone.1);
    assert!(together.1 < 12.0 && together.1 < alone.1, "{together:?} {alone:?}");
}
