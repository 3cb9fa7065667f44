//! What a recording has beside the arrays of its messages, as plain Python data: copies and pickles take it along.

use crate::arrays::value;
use crate::errors::failed;
use crate::messages::{kind_named, word_of};
use lienav_base::stamp::Stamp;
use lienav_io::identities::{Identities, Known};
use lienav_io::recording::{Input, PositionFixes, Recording};
use lienav_slam::{Measurement, MeasurementKind, Scan};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// What a recording has beside arrays: for copies of it.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub struct Rest {
    dropped: BTreeMap<String, u64>,
    warnings: Vec<String>,
    contradictions: Vec<String>,
    topics: Vec<String>,
    timeout_s: f64,
    fixes: Option<Fixes>,
    identities: Option<Vec<KnownScan>>,
}

/// The antenna, m, and positions, m, with their stamps, ns.
type Fixes = ([f64; 2], Vec<(i64, [f64; 2])>);

/// The stamp and the kind of a scan, and what its measurements are of.
type KnownScan = (i64, String, Vec<(Vec<f64>, Option<u32>)>);

impl Rest {
    /// # Errors
    /// The recording has what arrays do not hold.
    pub fn of(recording: &Recording) -> PyResult<Self> {
        let is_further = |input: &Input| match input {
            Input::Fallback { .. } => true,
            Input::Received { source, .. } => *source > 0,
            Input::Scan(scan) => matches!(scan.kind, MeasurementKind::Added(_)),
            _ => false,
        };
        if !recording.equipment.sensors.is_empty() || recording.inputs.iter().any(is_further) {
            return Err(failed(
                "a recording with further sensors or sources of odometry cannot be copied or pickled; give its path, \
                 and open it there",
            ));
        }
        let fixes = recording.fixes.as_ref().map(|PositionFixes { antenna, fixes }| {
            ((*antenna).into(), fixes.iter().map(|(stamp, place)| (stamp.nanos(), (*place).into())).collect())
        });
        Ok(Self {
            dropped: recording.dropped.clone(),
            warnings: recording.warnings.clone(),
            contradictions: recording.contradictions.clone(),
            topics: recording.equipment.odometry.clone(),
            timeout_s: recording.equipment.timeout_s,
            fixes,
            identities: recording.identities.as_ref().map(scans_of),
        })
    }

    /// # Errors
    /// A kind of measurement that does not exist.
    pub fn put_into(self, recording: &mut Recording) -> PyResult<()> {
        let Self { dropped, warnings, contradictions, topics, timeout_s, fixes, identities } = self;
        (recording.dropped, recording.warnings, recording.contradictions) = (dropped, warnings, contradictions);
        (recording.equipment.odometry, recording.equipment.timeout_s) = (topics, timeout_s);
        recording.fixes = fixes.map(|(antenna, fixes)| PositionFixes {
            antenna: antenna.into(),
            fixes: fixes.into_iter().map(|(stamp, place)| (Stamp::from_nanos(stamp), place.into())).collect(),
        });
        recording.identities = identities.map(identities_of).transpose()?;
        Ok(())
    }
}

/// What the scans are of, by stamp and kind.
fn scans_of(identities: &Identities) -> Vec<KnownScan> {
    let known = |(values, id): &Known| ((0..values.len()).filter_map(|k| values.get(k).copied()).collect(), *id);
    let scan = |(stamp, kind, of): (Stamp, MeasurementKind, &[Known])| {
        (stamp.nanos(), word_of(kind).to_owned(), of.iter().map(known).collect())
    };
    let mut all: Vec<KnownScan> = identities.scans().map(scan).collect();
    all.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    all
}

fn identities_of(scans: Vec<KnownScan>) -> PyResult<Identities> {
    let mut identities = Identities::default();
    for (stamp, kind, of) in scans {
        let (kind, _) = kind_named(&kind)?;
        let ids: Vec<Option<u32>> = of.iter().map(|(_, id)| *id).collect();
        let measurements = of.iter().map(|(numbers, _)| Measurement::new(None, value(numbers))).collect();
        identities.keep(&Scan { stamp: Stamp::from_nanos(stamp), kind, measurements }, ids);
    }
    Ok(identities)
}
