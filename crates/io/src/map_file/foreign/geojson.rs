//! GeoJSON with coordinates in metres of the map frame. RFC 7946 knows degrees only; a GIS shows these where its layer
//! is told a local system of coordinates.

use super::super::Problem;
use super::{Found, problem};
use crate::settings_file::one_line;
use lienav_slam::LandmarkMap;
use serde_json::{Value, json};
use serde_yaml_ng::{Mapping, Value as Yaml};

const KEYS: [&str; 4] = ["id", "class", "sigma_m", "covariance_m2"];

pub(super) fn read(text: &str) -> Result<Found, Vec<Problem>> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| problem(Some(error.line()), format!("not JSON: {}", one_line(&error))))?;
    let Some(features) = document.get("features").and_then(Value::as_array) else {
        return Err(problem(None, "it is no GeoJSON FeatureCollection: there is no list 'features'"));
    };
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
