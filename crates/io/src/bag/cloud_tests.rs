use super::*;
use proptest::prelude::*;

fn borrow(encoded: &Encoded) -> Vec<Field<'_>> {
    encoded.fields.iter().map(|&(name, offset, datatype)| Field { name, offset, datatype, count: 1 }).collect()
}

fn cloud<'a>(encoded: &'a Encoded, fields: &'a [Field<'a>]) -> Cloud<'a> {
    Cloud {
        fields,
        height: 1,
        width: encoded.width,
        point_step: encoded.point_step,
        row_step: encoded.width * encoded.point_step,
        is_bigendian: false,
        data: &encoded.data,
    }
}

fn kind() -> impl Strategy<Value = FeatureKind> {
    prop_oneof![Just(FeatureKind::RangeBearing), Just(FeatureKind::StereoBearings), Just(FeatureKind::RelativePosition)]
}

fn observation() -> impl Strategy<Value = Observation> {
    let number = || prop_oneof![any::<f64>(), Just(f64::INFINITY), -10.0..10.0f64];
    let covariance = prop::option::of((0.0..1.0f64, 0.0..1.0f64, -0.1..0.1f64));
    (prop::option::of(0..UNKNOWN_ID), number(), number(), covariance).prop_map(|(id, a, b, c)| Observation {
        id,
        value: [a, b].into(),
        covariance: c.map(|(aa, bb, ab)| Matrix2::new(aa, ab, ab, bb)),
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back_to_the_last_bit(kind in kind(), seen in prop::collection::vec(observation(), 0..8)) {
        let encoded = encode_features(kind, &seen);
        let fields = borrow(&encoded);
        let (read_kind, read) = decode_features(&cloud(&encoded, &fields), FeatureKind::RangeBearing).unwrap();
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
        let fields: Vec<Field<'_>> = raw
            .iter()
            .map(|&(name, offset, datatype, count)| {
                let offset = if small_offsets { offset % 40 } else { offset };
                Field { name: NAMES[name], offset, datatype, count }
            })
            .collect();
        let (mut height, mut width, mut point_step, mut row_step) = sizes;
        if let Some(size) = [&mut height, &mut width, &mut point_step, &mut row_step].into_iter().nth(huge) {
            *size = u32::MAX;
        }
        let cloud = Cloud { fields: &fields, height, width, point_step, row_step, is_bigendian, data: &data };
        if let Ok((_, seen)) = decode_features(&cloud, FeatureKind::RangeBearing) {
            prop_assert!(seen.len() <= data.len());
        }
        let _ = decode_landmarks(&cloud);
    }
}

#[test]
fn single_precision_big_endian_rows_with_gaps_and_foreign_fields_are_read() {
    let fields = [
        Field { name: "intensity", offset: 0, datatype: FLOAT32, count: 1 },
        Field { name: "y", offset: 8, datatype: FLOAT32, count: 1 },
        Field { name: "x", offset: 4, datatype: FLOAT32, count: 0 },
        Field { name: "id", offset: 12, datatype: INT32, count: 1 },
    ];
    let mut data = Vec::new();
    for (x, y, id) in [(1.5f32, -2.0f32, 7i32), (0.25, 4.0, -1)] {
        data.extend(9.0f32.to_be_bytes());
        data.extend(x.to_be_bytes());
        data.extend(y.to_be_bytes());
        data.extend(id.to_be_bytes());
        data.extend([0xee; 4]);
    }
    let cloud =
        Cloud { fields: &fields, height: 2, width: 1, point_step: 16, row_step: 20, is_bigendian: true, data: &data };
    let (kind, seen) = decode_features(&cloud, FeatureKind::RangeBearing).unwrap();
    assert_eq!(kind, FeatureKind::RelativePosition);
    assert_eq!(seen[0], Observation { id: Some(7), value: [1.5, -2.0].into(), covariance: None });
    assert_eq!(seen[1], Observation { id: None, value: [0.25, 4.0].into(), covariance: None });
}

#[test]
fn a_wrong_layout_is_named() {
    let encoded = encode_features(FeatureKind::RangeBearing, &[]);
    let mut fields = borrow(&encoded);
    let error = |fields: &[Field<'_>], change: fn(&mut Cloud<'_>)| {
        let mut cloud = Cloud { fields, ..cloud(&encoded, &[]) };
        change(&mut cloud);
        decode_features(&cloud, FeatureKind::RangeBearing).unwrap_err()
    };
    assert_eq!(error(&fields, |c| c.width = 3), LayoutError::DataTooShort { found: 0, needed: 60 });
    assert_eq!(
        error(&fields, |c| (c.height, c.width) = (2, 3)),
        LayoutError::RowTooShort { row_step: 0, width: 3, point_step: 20 }
    );
    fields[1].offset = 13;
    assert_eq!(error(&fields, |_| ()), LayoutError::FieldOutside("range".into(), 20));
    fields[1].datatype = UINT32;
    assert_eq!(error(&fields, |_| ()), LayoutError::BadField("range".into()));
    fields[1].name = "radius";
    assert_eq!(error(&fields, |_| ()), LayoutError::NoValues("id, radius, bearing".into()));
}

#[test]
fn half_a_covariance_is_an_error() {
    let observation = Observation { id: None, value: Vector2::zeros(), covariance: Some(Matrix2::identity()) };
    let encoded = encode_features(FeatureKind::RangeBearing, &[observation]);
    let fields = borrow(&encoded);
    let error = decode_features(&cloud(&encoded, &fields[..5]), FeatureKind::RangeBearing).unwrap_err();
    assert_eq!(error, LayoutError::HalfCovariance("cov_range_bearing".into()));
}

#[test]
fn landmarks_keep_their_doubles() {
    let landmarks = [(3, Vector2::new(0.1, -1.0 / 3.0)), (9, Vector2::new(1e-9, 12345.678))];
    let encoded = encode_landmarks(&landmarks);
    let fields = borrow(&encoded);
    assert_eq!(decode_landmarks(&cloud(&encoded, &fields)).unwrap(), landmarks);
    let single = decode_landmarks(&cloud(&encoded, &fields[..4])).unwrap();
    assert_eq!(single[0].1.x, f64::from(0.1f32));
}
