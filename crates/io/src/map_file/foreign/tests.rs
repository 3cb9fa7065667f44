use super::*;
use lienav_slam::MapLandmark;
use nalgebra::{Matrix2, Vector2};

fn map() -> LandmarkMap {
    let landmark = |id: u32, x: f64, y: f64, covariance: Matrix2<f64>| MapLandmark {
        id,
        class: id % 3,
        position: Vector2::new(x, y),
        covariance,
    };
    let landmarks = vec![
        landmark(0, 1.0 / 3.0, -2.0, Matrix2::new(0.04, 0.01, 0.01, 0.09)),
        landmark(7, 500_000.25, 1e-7, Matrix2::identity() * 1e-9),
        landmark(585, 0.0, 0.0, Matrix2::zeros()),
    ];
    LandmarkMap { landmarks, joint: None, near: None }
}

fn told(text: &str, format: Format) -> Vec<String> {
    read(text, format, &Options::default()).unwrap_err().iter().map(Problem::to_string).collect()
}

#[test]
fn tables_and_points_come_back_bit_for_bit() {
    for format in [Format::Csv, Format::GeoJson] {
        let written = to_text(&map(), format, &Options::default());
        assert_eq!(written.notes, [] as [&str; 0]);
        let read = read(&written.content, format, &Options::default()).unwrap();
        assert_eq!((read.content, read.notes), (map(), vec![]), "{format:?}");
    }
}

#[test]
fn files_of_tags_come_back_without_what_they_do_not_hold() {
    for (format, notes) in [(Format::AprilTag, 3), (Format::TagSlam, 3), (Format::Fiducials, 3)] {
        let written = to_text(&map(), format, &Options::default());
        assert_eq!(written.notes.len(), notes, "{format:?}: {:?}", written.notes);
        assert_eq!(Format::guess(Path::new("tags.yaml"), Some(&written.content)), Some(format));
        let read = read(&written.content, format, &Options { sigma_m: Some(0.5), ..Options::default() }).unwrap();
        for (before, after) in map().landmarks.iter().zip(&read.content.landmarks) {
            assert_eq!((before.id, before.position, after.class), (after.id, after.position, 0), "{format:?}");
            let expected = match format {
                Format::AprilTag => Matrix2::identity() * 0.25,
                Format::TagSlam => Matrix2::from_diagonal(&before.covariance.diagonal()),
                _ => Matrix2::identity() * (0.5 * before.covariance.trace()),
            };
            assert!((after.covariance - expected).amax() < 3e-12, "{format:?}");
        }
        assert!(read.notes[0].contains("heights and orientations are left out"));
    }
}

#[test]
fn a_survey_from_a_spreadsheet_is_read() {
    let text = "\u{feff}Point;Easting;Northing;Height;Sigma\n# station 3\n\"7\";1,25;-3,5;0,2;0,02\n;4;0,5;;0,05\n";
    let read = read(text, Format::Csv, &Options::default()).unwrap();
    assert_eq!(read.content.landmarks[0].position, Vector2::new(1.25, -3.5));
    assert_eq!(read.content.landmarks[1].id, super::super::OWN_IDS);
    assert!(read.notes[0].contains("columns left out: height") && read.notes[1].contains("1 landmarks have no id"));
    assert!(told("1,2,3\n", Format::Csv)[0].starts_with("line 1: there is no column 'x_m'; name the columns"));
    assert!(told("x,y,sigma\n1,2,3\n1,2\n", Format::Csv)[0].starts_with("line 3: the row has 2 cells"));
    let problems = told("id,x,y,sigma\n1,2,3,0.1\n1,x,3,0.1\n1,2,3,\n", Format::Csv);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("line 3: x_m is 'x'") && problems[1].starts_with("line 4: sigma_m is missing"));
    assert!(problems[1].contains("--sigma-m"));
}

#[test]
fn bodies_and_their_tags_are_put_together() {
    // A body turned by 90° about z at (10, 0, 1): its x axis is y of the map.
    let text = "bodies:\n- wall:\n    is_static: true\n    pose:\n      position: {x: 10, y: 0, z: 1}\n      \
                rotation: {x: 0, y: 0, z: 1.5707963267948966}\n    tags:\n    - id: 4\n      pose:\n        \
                position: {x: 2, y: 1, z: 3}\n        position_noise: {x: 0.1, y: 0.2, z: 0.3}\n    - id: 5\n\
                - rig:\n    is_static: false\n    tags:\n    - {id: 6, pose: {position: {x: 1, y: 1, z: 1}}}\n";
    let read = read(text, Format::TagSlam, &Options::default()).unwrap();
    let [tag] = &read.content.landmarks[..] else { panic!("{:?}", read.content) };
    assert!((tag.position - Vector2::new(9.0, 2.0)).norm() < 1e-12);
    assert!((tag.covariance - Matrix2::new(0.04, 0.0, 0.0, 0.01)).amax() < 1e-12);
    assert_eq!(read.notes.len(), 3, "{:?}", read.notes);
}

#[test]
fn what_makes_no_map_says_why() {
    assert!(
        told("standalone_tags: [{id: 1, size: 0.1}]", Format::AprilTag)[0].contains("standalone tags have no position")
    );
    let two = "tag_bundles: [{name: a, layout: [{id: 1, x: 2}]}, {name: b, layout: []}]";
    assert!(told(two, Format::AprilTag)[0].contains("choose one with --bundle: 'a', 'b'"));
    let options = Options { bundle: Some("a".into()), sigma_m: Some(0.1), ..Options::default() };
    assert_eq!(read(two, Format::AprilTag, &options).unwrap().content.landmarks[0].position.x, 2.0);
    assert!(told("{\"type\": \"Feature\"}", Format::GeoJson)[0].contains("FeatureCollection"));
    assert!(told("{", Format::GeoJson)[0].starts_with("line 1: not JSON"));
    assert!(told("bodies: [{a: {tags: []}}]", Format::TagSlam)[0].contains("no static body"));
    assert!(told("1 2 3\n", Format::Fiducials)[0].starts_with("line 1: 3 words"));
    assert!(told("1 2 3 0 0 0 0 -1 5\n", Format::Fiducials)[0].contains("variance is '-1'"));
}

#[test]
fn any_text_is_read_or_refused() {
    let pieces = [
        "id,x,y\n1,2,3\n",
        "{\"features\":[{}]}",
        "tag_bundles:\n- 1\n",
        "bodies:\n- a: 3\n",
        "1 2 3 4 5 6 7 8 9\n",
        "\"",
        "",
    ];
    for (_, format) in Format::TABLE {
        for text in pieces {
            let _ = read(text, format, &Options::default());
        }
    }
}
