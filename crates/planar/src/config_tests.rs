use super::*;

#[test]
fn two_scales_without_a_length_are_warned_of() {
    let scale = Prior { sigma: 0.02, ..Prior::default() };
    let mut config = Config::default();
    config.calibration.range_scale = scale;
    assert_eq!(config.free_scale([MeasurementKind::Range]), None);
    config.calibration.scale_v = scale;
    let said = config.free_scale([MeasurementKind::Range, MeasurementKind::Bearing]).unwrap();
    assert!(said.contains("calibration.scale_v and calibration.range_scale"), "{said}");
    assert_eq!(config.free_scale([MeasurementKind::Range, MeasurementKind::WorldPosition]), None);
    assert_eq!(config.free_scale([MeasurementKind::StereoBearings]), None);
    config.map.mode = MapMode::Localization;
    assert_eq!(config.free_scale([MeasurementKind::Range]), None);
}
use lienav_base::settings::lookup;

#[test]
fn the_table_has_the_names_of_the_serialised_settings_in_their_order() {
    let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
    assert_eq!((names.len(), names[0], names[1]), (109, "filter", "association"));
    assert_eq!(
        names[names.len() - 3..],
        ["sensor_factor", "odometry_factor", "memory"].map(|leaf| format!("learning.{leaf}"))
    );
    let tree = serde_json::to_value(Config::default()).unwrap();
    assert!(names.iter().all(|name| lookup(&tree, name).is_some_and(|value| !value.is_object())));
}

#[test]
fn the_words_for_a_kind_of_landmark_are_those_that_are_read() {
    use MeasurementKind::{Bearing, Range, RangeBearing, RelativePosition, StereoBearings};
    let kinds = [RelativePosition, RangeBearing, StereoBearings, Range, Bearing];
    let written = kinds.map(|kind| serde_json::to_value(kind).unwrap());
    assert_eq!(written.each_ref().map(|word| word.as_str().unwrap()), MeasurementKind::WORDS);
}

#[test]
fn the_default_is_valid() {
    assert_eq!(Config::default().validate(), Ok(Filter::default()));
}

#[test]
fn an_error_names_the_parameter_its_value_and_what_is_allowed() {
    let mut config = Config::default();
    config.sensor.range_std_m = -1.0;
    let text = config.validate().unwrap_err().to_string();
    assert_eq!(text, "parameter 'sensor.range_std_m' is -1.0; allowed: 0.000000001 … 100");
    config.sensor.range_std_m = f64::NAN;
    assert!(config.validate().is_err());
}
