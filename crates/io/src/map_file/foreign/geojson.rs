//! GeoJSON with coordinates in metres of the map frame. RFC 7946 knows degrees only; a GIS shows these where its layer
//! is told a local system of coordinates. Degrees are refused: they are no metres.

use super::super::Problem;
use super::found::{Found, problem};
use super::tags;
use crate::settings_file::one_line;
use lienav_slam::LandmarkMap;
use serde_json::{Value, json};
use serde_yaml_ng::{Mapping, Value as Yaml};

const KEYS: [&str; 4] = ["id", "class", "sigma_m", "covariance_m2"];

pub(super) fn read(text: &str) -> Result<Found, Vec<Problem>> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| problem(Some(error.line()), format!("not JSON: {}", one_line(&error))))?;
    if let Some(tags) = document.get("tags").and_then(Value::as_array) {
        return tags::read_field(tags);
    }
    let Some(features) = document.get("features").and_then(Value::as_array) else {
        return Err(problem(
            None,
            "it is no GeoJSON FeatureCollection, and no field layout of tags: there is no list 'features' or 'tags'",
        ));
    };
    refuse_degrees(&document, features)?;
    let mut found = Found::default();
    let (mut others, mut heights) = (0, 0);
    for feature in features {
        let geometry = feature.get("geometry");
        let coordinates = geometry.and_then(|geometry| geometry.get("coordinates")).and_then(Value::as_array);
        let is_point = geometry.is_some_and(|geometry| geometry.get("type") == Some(&"Point".into()));
        let (true, Some([x, y, rest @ ..])) = (is_point, coordinates.map(Vec::as_slice)) else {
            others += 1;
            continue;
        };
        heights += usize::from(!rest.is_empty());
        let mut entry = Mapping::new();
        let mut put = |key: &str, value: &Value| {
            if !value.is_null() {
                entry.insert(key.into(), serde_yaml_ng::to_value(value).unwrap_or(Yaml::Null));
            }
        };
        put("x_m", x);
        put("y_m", y);
        // `id` may be a member of the feature itself.
        feature.get("id").into_iter().for_each(|id| put("id", id));
        for key in KEYS {
            feature
                .get("properties")
                .and_then(|properties| properties.get(key))
                .into_iter()
                .for_each(|value| put(key, value));
        }
        found.entries.push(entry);
    }
    if others > 0 {
        found.notes.push(format!("{others} features are no points, and are left out"));
    }
    if heights > 0 {
        found.notes.push(format!("the heights of {heights} points are left out"));
    }
    Ok(found)
}

/// Words in the name of a system of coordinates that mark it as one of degrees: WGS 84, ETRS89, NAD83.
const OF_DEGREES: [&str; 6] = ["CRS84", "CRS:84", "4326", "4979", "4258", "4269"];
/// A map whose landmarks are all within so little is one in degrees, m.
const LEAST_SPAN_M: f64 = 0.1;

/// Refuses coordinates in degrees: because the file says so, or because they lie where degrees do, within less than a
/// decimetre of each other if they were metres.
fn refuse_degrees(document: &Value, features: &[Value]) -> Result<(), Vec<Problem>> {
    let remedy = "degrees are no metres: reproject the layer to metres (in QGIS: export it with a projected system of \
                  coordinates, such as UTM, and without '4326')";
    let name = document.get("crs").and_then(|crs| crs.get("properties")).and_then(|of| of.get("name"));
    if let Some(name) = name.and_then(Value::as_str) {
        return match OF_DEGREES.iter().find(|word| name.contains(*word)) {
            Some(_) => Err(problem(None, format!("the coordinates are in degrees, as 'crs' says ({name}); {remedy}"))),
            None => Ok(()),
        };
    }
    let points: Vec<[f64; 2]> = features
        .iter()
        .filter_map(|feature| {
            let point = feature.get("geometry")?.get("coordinates")?;
            Some([point.get(0)?.as_f64()?, point.get(1)?.as_f64()?])
        })
        .collect();
    let span = |of: fn(&[f64; 2]) -> f64| {
        let (least, most) = points
            .iter()
            .map(of)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        most - least
    };
    let are_degrees = |[x, y]: &[f64; 2]| x.abs() <= 180.0 && y.abs() <= 90.0;
    let (x, y) = (span(|[x, _]| *x), span(|[_, y]| *y));
    if points.len() >= 2 && points.iter().all(are_degrees) && x.max(y) > 0.0 && x.max(y) < LEAST_SPAN_M {
        let what = format!("{} points lie within {:.1} mm: these are degrees (RFC 7946)", points.len(), 1e3 * x.max(y));
        return Err(problem(None, format!("{what}; {remedy}")));
    }
    Ok(())
}

pub(super) fn write(map: &LandmarkMap) -> String {
    let features = map.landmarks.iter().map(|landmark| {
        let (p, c) = (&landmark.position, &landmark.covariance);
        let feature = json!({
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [p.x, p.y]},
            "properties": {"id": landmark.id, "class": landmark.class, "covariance_m2": [c.m11, c.m21, c.m22]},
        });
        feature.to_string()
    });
    let features: Vec<String> = features.collect();
    format!("{{\"type\":\"FeatureCollection\",\"features\":[\n{}\n]}}\n", features.join(",\n"))
}
