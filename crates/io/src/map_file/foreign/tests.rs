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
fn a_track_of_cones_is_a_map_with_classes_and_the_start_of_the_car_is_no_cone() {
    let text = "tag,x,y,direction,x_variance,y_variance,xy_covariance\nyellow,3.82,5.81,0,0.01,0.04,0.001\n\
                blue,1.13,4.41,0,0.01,0.01,0.0\nblue,0.58,4.85,0,0.01,0.01,0.0\ncar_start,0,0,0,0,0,0\n";
    let read = read(text, Format::Csv, &Options::default()).unwrap();
    let found: Vec<_> = read.content.landmarks.iter().map(|l| (l.class, l.position, l.covariance)).collect();
    let even = Matrix2::identity() * 0.01;
    assert_eq!(found[0], (2, Vector2::new(3.82, 5.81), Matrix2::new(0.01, 0.001, 0.001, 0.04)));
    assert_eq!(found[1], (1, Vector2::new(1.13, 4.41), even));
    assert_eq!((found[2], found.len()), ((1, Vector2::new(0.58, 4.85), even), 3));
    let notes = read.notes.join("\n");
    assert!(notes.contains("1 = blue, 2 = yellow") && notes.contains("car_start"), "{notes}");
    let numbered = "tag,x,y,sigma\n7,1,2,0.1\n";
    assert_eq!(super::read(numbered, Format::Csv, &Options::default()).unwrap().content.landmarks[0].id, 7);
}

#[test]
fn degrees_are_no_metres() {
    let of = |crs: &str, scale: f64| {
        let point = |id: u32, x: f64, y: f64| {
            format!(
                r#"{{"properties":{{"id":{id},"sigma_m":0.1}},"geometry":{{"type":"Point","coordinates":[{x},{y}]}}}}"#
            )
        };
        let points = [point(1, 11.0 + 0.000_134 * scale, 48.00009), point(2, 11.0 + 0.000_268 * scale, 48.00018)];
        let text = format!(r#"{{"type":"FeatureCollection",{crs}"features":[{}]}}"#, points.join(","));
        read(&text, Format::GeoJson, &Options::default())
    };
    let crs = |name: &str| format!(r#""crs":{{"type":"name","properties":{{"name":"{name}"}}}},"#);
    for name in ["urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:EPSG::4326"] {
        assert!(of(&crs(name), 1.0).unwrap_err()[0].to_string().contains("degrees are no metres"), "{name}");
    }
    assert!(of("", 1.0).unwrap_err()[0].to_string().contains("2 points lie within 0.1 mm"));
    assert_eq!(of(&crs("urn:ogc:def:crs:EPSG::25832"), 1.0).unwrap().content.landmarks.len(), 2);
    assert_eq!(of("", 1e4).unwrap().content.landmarks.len(), 2, "a map of the size of a room");
}

#[test]
fn a_field_layout_of_wpilib_is_a_map_of_its_tags() {
    let text = r#"{"tags":[{"ID":1,"pose":{"translation":{"x":15.079,"y":0.246,"z":1.356},"rotation":{}}},
                   {"ID":22,"pose":{"translation":{"x":4,"y":-1.5,"z":1.4}}}],"field":{"length":16.4,"width":8.2}}"#;
    let options = Options { sigma_m: Some(0.05), ..Options::default() };
    let map = read(text, Format::GeoJson, &options).unwrap().content;
    let found: Vec<_> = map.landmarks.iter().map(|landmark| (landmark.id, landmark.position)).collect();
    assert_eq!(found, [(1, Vector2::new(15.079, 0.246)), (22, Vector2::new(4.0, -1.5))]);
    assert!(told(r#"{"tags":[{"ID":1}]}"#, Format::GeoJson)[0].contains("tag 1 has no 'ID' and 'pose'"));
}

#[test]
fn numbers_of_tags_may_begin_with_zeros_and_stand_in_quotes() {
    let text =
        "tag_bundles: [{name: a, layout: [{id: 001, x: 0}, {id: 008, x: 1}, {id: 010, x: 3}, {id: '11', x: 4}]}]";
    let options = Options { sigma_m: Some(0.05), ..Options::default() };
    let map = read(text, Format::AprilTag, &options).unwrap().content;
    assert_eq!(map.landmarks.iter().map(|landmark| landmark.id).collect::<Vec<_>>(), [1, 8, 10, 11]);
}

#[test]
fn any_text_is_read_or_refused() {
    let pieces = [
        "id,x,y\n1,2,3\n",
        "{\"features\":[{}]}",
        "{\"tags\":[{}]}",
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
