use super::*;
use crate::convert::cloud_message;
use crate::messages::{Bytes, PointField};
use lienav_base::stamp::Stamp;
use proptest::prelude::*;

fn field(name: &str, offset: u32, datatype: u8, count: u32) -> PointField {
    PointField { name: name.to_owned(), offset, datatype, count }
}

fn cloud(encoded: Encoded) -> PointCloud2 {
    cloud_message(Stamp::default(), "sensor", encoded)
}

fn kind() -> impl Strategy<Value = MeasurementKind> {
    prop_oneof![
        Just(MeasurementKind::RangeBearing),
        Just(MeasurementKind::StereoBearings),
        Just(MeasurementKind::RelativePosition)
    ]
}

fn measurement() -> impl Strategy<Value = Measurement> {
    let number = || prop_oneof![any::<f64>(), Just(f64::INFINITY), -10.0..10.0f64];
    let covariance = prop::option::of((1e-300..1.0f64, 1e-300..1.0f64, -0.1..0.1f64));
    let label = (0..3u32, number(), number());
    let label = label.prop_map(|(class, diameter_m, diameter_std_m)| Label { class, diameter_m, diameter_std_m });
    let label = prop_oneof![Just(Label::default()), label];
    (prop::option::of(0..UNKNOWN_ID), number(), number(), covariance, label).prop_map(|(id, a, b, c, label)| {
        Measurement {
            covariance: c.map(|(aa, bb, ab)| Matrix2::new(aa, ab, ab, bb).into()),
            label,
            ..Measurement::new(id, [a, b])
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_to_the_last_bit(kind in kind(), seen in prop::collection::vec(measurement(), 0..8)) {
        let cloud = cloud(encode_features(kind, &seen));
        let (read_kind, read) = decode_features(&cloud, MeasurementKind::RangeBearing).unwrap();
        prop_assert_eq!(read_kind, kind);
        prop_assert_eq!(format!("{read:?}"), format!("{seen:?}"));
    }

    #[test]
    fn one_number_reads_back_to_the_last_bit(seen in prop::collection::vec(measurement(), 1..8), is_range in any::<bool>()) {
        let kind = if is_range { MeasurementKind::Range } else { MeasurementKind::Bearing };
        let single = |seen: &Measurement| Measurement {
            value: [seen.value[0]].into(),
            covariance: seen.covariance.map(|c| c.fixed::<1>().x.into()),
            ..*seen
        };
        let seen: Vec<Measurement> = seen.iter().map(single).collect();
        let (read_kind, read) = decode_features(&cloud(encode_features(kind, &seen)), MeasurementKind::RangeBearing).unwrap();
        prop_assert_eq!(read_kind, kind);
        prop_assert_eq!(format!("{read:?}"), format!("{seen:?}"));
    }

    #[test]
    fn no_layout_makes_it_panic(
        raw in prop::collection::vec((0..9usize, any::<u32>(), 0..10u8, 0..3u32), 0..8),
        small_offsets in any::<bool>(),
        sizes in (0..5u32, 0..5u32, 0..40u32, 0..200u32),
        huge in 0..5usize,
        is_bigendian in any::<bool>(),
        data in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        const NAMES: [&str; 9] =
            ["id", "x", "y", "range", "bearing", "bearing_left", "bearing_right", "var_x", "cov_xy"];
        let fields = raw
            .iter()
            .map(|&(name, offset, datatype, count)| {
                field(NAMES[name], if small_offsets { offset % 40 } else { offset }, datatype, count)
            })
            .collect();
        let (mut height, mut width, mut point_step, mut row_step) = sizes;
        if let Some(size) = [&mut height, &mut width, &mut point_step, &mut row_step].into_iter().nth(huge) {
            *size = u32::MAX;
        }
        let length = data.len();
        let data = Bytes(data);
        let layout = PointCloud2 { fields, height, width, point_step, row_step, is_bigendian, ..PointCloud2::default() };
        let cloud = PointCloud2 { data, ..layout };
        if let Ok((_, seen)) = decode_features(&cloud, MeasurementKind::RangeBearing) {
            prop_assert!(seen.len() <= length);
        }
        let _ = decode_landmarks(&cloud);
    }
}

#[test]
fn single_precision_big_endian_rows_with_gaps_and_foreign_fields_are_read() {
    let fields = vec![
        field("intensity", 0, FLOAT32, 1),
        field("y", 8, FLOAT32, 1),
        field("x", 4, FLOAT32, 0),
        field("id", 12, INT32, 1),
    ];
    let mut data = Vec::new();
    for (x, y, id) in [(1.5f32, -2.0f32, 7i32), (0.25, 4.0, -1)] {
        data.extend(9.0f32.to_be_bytes());
        data.extend(x.to_be_bytes());
        data.extend(y.to_be_bytes());
        data.extend(id.to_be_bytes());
        data.extend([0xee; 4]);
    }
    let data = Bytes(data);
    let sizes = PointCloud2 { height: 2, width: 1, point_step: 16, row_step: 20, ..PointCloud2::default() };
    let cloud = PointCloud2 { fields, is_bigendian: true, data, ..sizes };
    let (kind, seen) = decode_features(&cloud, MeasurementKind::RangeBearing).unwrap();
    assert_eq!(kind, MeasurementKind::RelativePosition);
    assert_eq!(seen[0], Measurement::new(Some(7), [1.5, -2.0]));
    assert_eq!(seen[1], Measurement::new(None, [0.25, 4.0]));
}

#[test]
fn a_wrong_layout_is_named() {
    let error = |change: fn(&mut PointCloud2)| {
        let mut cloud = cloud(encode_features(MeasurementKind::RangeBearing, &[]));
        change(&mut cloud);
        decode_features(&cloud, MeasurementKind::RangeBearing).unwrap_err()
    };
    assert_eq!(error(|c| c.width = 3), LayoutError::DataTooShort { found: 0, needed: 60 });
    assert_eq!(
        error(|c| (c.height, c.width) = (2, 3)),
        LayoutError::RowTooShort { row_step: 0, width: 3, point_step: 20 }
    );
    assert_eq!(error(|c| c.fields[1].offset = 13), LayoutError::FieldOutside("range".into(), 20));
    assert_eq!(error(|c| c.fields[1].datatype = UINT32), LayoutError::BadField("range".into()));
    let renamed = error(|c| (c.fields[1].name, c.fields[2].name) = ("radius".into(), "angle".into()));
    assert_eq!(renamed, LayoutError::NoValues("id, radius, angle".into()));
}

#[test]
fn half_a_covariance_is_an_error() {
    let measurement =
        Measurement { covariance: Some(Matrix2::identity().into()), ..Measurement::new(None, [0.0, 0.0]) };
    let mut cloud = cloud(encode_features(MeasurementKind::RangeBearing, &[measurement]));
    cloud.fields.truncate(5);
    let error = decode_features(&cloud, MeasurementKind::RangeBearing).unwrap_err();
    assert_eq!(error, LayoutError::HalfCovariance("cov_range_bearing".into()));
}

#[test]
fn landmarks_keep_their_doubles() {
    let landmarks = [(3, Vector2::new(0.1, -1.0 / 3.0)), (9, Vector2::new(1e-9, 12345.678))];
    let mut cloud = cloud(encode_landmarks(&landmarks));
    assert_eq!(decode_landmarks(&cloud).unwrap(), landmarks);
    cloud.fields.truncate(4);
    let single = decode_landmarks(&cloud).unwrap();
    assert_eq!(single[0].1.x, f64::from(0.1f32));
}

#[test]
fn labels_are_written_where_there_are_any_and_read_again() {
    let label = Label { class: 2, diameter_m: 0.1, diameter_std_m: 0.01 };
    let plain = Measurement::new(Some(4), [1.0, -1.0]);
    let measurements = [Measurement { label, ..plain }, plain];
    let encoded = encode_features(MeasurementKind::RelativePosition, &measurements);
    assert_eq!(encode_features(MeasurementKind::RelativePosition, &[plain]).fields.len(), 3);
    let cloud = cloud(encoded);
    let (kind, read) = decode_features(&cloud, MeasurementKind::RangeBearing).unwrap();
    assert_eq!((kind, read.as_slice()), (MeasurementKind::RelativePosition, measurements.as_slice()));
    assert_eq!(&cloud.data.0[4..8], &2_u32.to_le_bytes());
}

#[test]
fn a_cloud_without_fields_and_data_is_an_empty_scan() {
    let nothing = PointCloud2::default();
    for preferred in [MeasurementKind::RangeBearing, MeasurementKind::RelativePosition] {
        assert_eq!(decode_features(&nothing, preferred), Ok((preferred, Vec::new())));
        let one_row = PointCloud2 { height: 1, is_dense: true, ..nothing.clone() };
        assert_eq!(decode_features(&one_row, preferred), Ok((preferred, Vec::new())));
    }
    let data = PointCloud2 { data: Bytes(vec![0; 8]), ..nothing };
    assert_eq!(decode_features(&data, MeasurementKind::Range).unwrap_err(), LayoutError::NoValues(String::new()));
}

#[test]
fn padding_of_a_cloud_that_is_not_dense_is_skipped_and_of_a_dense_one_left_to_the_filter() {
    let seen = |id, value: [f64; 2]| Measurement::new(Some(id), value);
    let all = [
        seen(1, [f64::NAN; 2]),
        seen(2, [3.0, 0.5]),
        seen(3, [4.0, f64::NAN]),
        seen(4, [f64::INFINITY, 0.0]),
        seen(5, [6.0, -0.5]),
    ];
    let mut cloud = cloud(encode_features(MeasurementKind::RelativePosition, &all));
    assert_eq!(decode_features(&cloud, MeasurementKind::RangeBearing).unwrap().1.len(), 5);
    (cloud.is_dense, cloud.height, cloud.width, cloud.row_step) = (false, 5, 1, cloud.point_step);
    let (kind, kept) = decode_features(&cloud, MeasurementKind::RangeBearing).unwrap();
    assert_eq!((kind, kept), (MeasurementKind::RelativePosition, vec![all[1], all[4]]));
}

#[test]
fn a_variance_of_zero_is_not_stated() {
    let with = |c: [f64; 3]| {
        let covariance = Some(Matrix2::new(c[0], c[2], c[2], c[1]).into());
        let measurement = Measurement { covariance, ..Measurement::new(None, [3.0, 0.1]) };
        let cloud = cloud(encode_features(MeasurementKind::RelativePosition, &[measurement]));
        decode_features(&cloud, MeasurementKind::RangeBearing).unwrap().1[0].covariance
    };
    assert_eq!([[0.0; 3], [0.01, 0.0, 0.0], [0.0, 0.01, 0.0]].map(with), [None; 3]);
    assert!(with([0.01, 0.01, 0.0]).is_some() && with([-0.01, 0.01, 0.0]).is_some(), "the filter counts what is bad");
}

#[test]
fn an_azimuth_is_a_bearing_and_an_angle_of_another_name_is_named() {
    let covariance = Some(Matrix2::new(0.01, 0.001, 0.001, 0.02).into());
    let seen = [Measurement { covariance, ..Measurement::new(Some(7), [3.0, 0.5]) }];
    let plain = cloud(encode_features(MeasurementKind::RangeBearing, &seen));
    let named = |from: &str, to: &str| {
        let mut cloud = plain.clone();
        cloud.fields.iter_mut().for_each(|field| field.name = field.name.replace(from, to));
        decode_features(&cloud, MeasurementKind::RangeBearing)
    };
    assert_eq!(named("bearing", "azimuth"), Ok((MeasurementKind::RangeBearing, seen.to_vec())));
    assert_eq!(named("bearing", "theta"), Err(LayoutError::UnnamedBearing("theta".into())));
    // Positions with polar coordinates beside them stay positions.
    let mut both = cloud(encode_features(MeasurementKind::RelativePosition, &[Measurement::new(Some(7), [3.0, 0.5])]));
    both.fields.push(field("range", 4, FLOAT64, 1));
    both.fields.push(field("azimuth", 12, FLOAT64, 1));
    assert_eq!(decode_features(&both, MeasurementKind::RangeBearing).unwrap().0, MeasurementKind::RelativePosition);
}
