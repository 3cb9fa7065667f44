//! `lienav map info`: what a map holds.

use super::super::failure::{Failure, print};
use super::files::read;
use lienav_io::map_file::{MapFile, VERSION};
use lienav_slam::MapLandmark;
use lienav_submaps::SavedSubmaps;
use nalgebra::SymmetricEigen;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Say what a map holds
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The map
    map: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  lienav map info hall.yaml
  lienav map info hall.yaml --json";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let info = Info::of(&read(&args.map)?);
    if args.json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&info).map_err(Failure::failed)?));
    }
    print(&info.to_text())
}

/// What a map holds.
#[derive(Debug, PartialEq, Serialize)]
struct Info {
    version: u64,
    frame: Option<String>,
    landmarks: usize,
    /// How many there are of each class.
    classes: BTreeMap<u32, usize>,
    /// Least and greatest coordinates, m.
    x_m: Option<[f64; 2]>,
    y_m: Option<[f64; 2]>,
    /// Standard deviations along the direction in which a landmark is least certain, m: least, median, greatest.
    sigma_m: Option<[f64; 3]>,
    has_joint_covariance: bool,
    /// How many parts it was made in.
    parts: Option<usize>,
    /// The filter that a run can go on with.
    filter: Option<String>,
    /// The instant that it holds for, s.
    filter_stamp_s: Option<f64>,
}

impl Info {
    fn of(file: &MapFile) -> Self {
        let landmarks = &file.map.landmarks;
        let mut classes = BTreeMap::new();
        landmarks.iter().for_each(|landmark| *classes.entry(landmark.class).or_default() += 1);
        let range = |of: fn(&MapLandmark) -> f64| {
            let least = landmarks.iter().map(of).min_by(f64::total_cmp)?;
            Some([least, landmarks.iter().map(of).max_by(f64::total_cmp)?])
        };
        let largest =
            |landmark: &MapLandmark| SymmetricEigen::new(landmark.covariance).eigenvalues.max().max(0.0).sqrt();
        let mut sigmas: Vec<f64> = landmarks.iter().map(largest).collect();
        sigmas.sort_by(f64::total_cmp);
        let middle = sigmas.get(sigmas.len() / 2);
        let sigma_m = sigmas.first().zip(middle).zip(sigmas.last());
        let sigma_m = sigma_m.map(|((least, middle), most)| [*least, *middle, *most]);
        Self {
            version: VERSION,
            frame: file.frame.clone(),
            landmarks: landmarks.len(),
            classes,
            x_m: range(|landmark| landmark.position.x),
            y_m: range(|landmark| landmark.position.y),
            sigma_m,
            has_joint_covariance: file.map.joint.is_some(),
            parts: file.parts.as_ref().map(SavedSubmaps::submaps),
            filter: file.filter.as_ref().map(|saved| saved.config().filter.clone()),
            filter_stamp_s: file.filter.as_ref().and_then(|saved| saved.stamp()).map(|stamp| stamp.secs()),
        }
    }

    fn to_text(&self) -> String {
        let mut text = format!("{} landmarks; version {} of the format\n", self.landmarks, self.version);
        if let Some(frame) = &self.frame {
            text.push_str(&format!("frame           {frame}\n"));
        }
        if let (Some([west, east]), Some([south, north])) = (self.x_m, self.y_m) {
            text.push_str(&format!(
                "x               {west:.3} … {east:.3} m\ny               {south:.3} … {north:.3} m\n"
            ));
        }
        if let Some([least, median, most]) = self.sigma_m {
            text.push_str(&format!("sigma           {least:.4} … {most:.4} m, median {median:.4} m\n"));
        }
        let classes: Vec<String> = self.classes.iter().map(|(class, count)| format!("{class}: {count}")).collect();
        if !classes.is_empty() {
            text.push_str(&format!("classes         {}\n", classes.join(", ")));
        }
        let joint = match (self.has_joint_covariance, self.parts) {
            (true, _) => "known".to_owned(),
            (false, Some(parts)) => format!("known in parts: {parts}"),
            (false, None) => "independent".to_owned(),
        };
        text.push_str(&format!("joint           {joint}\n"));
        if let Some(filter) = &self.filter {
            let stamp = self.filter_stamp_s.map_or(String::new(), |stamp| format!(", at {stamp:.3} s"));
            text.push_str(&format!("filter          {filter}{stamp}: a run can go on from here\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::map_file::parse;

    #[test]
    fn counts_extent_and_sigmas_are_those_of_the_landmarks() {
        let text = "lienav_map: 1\nsigma_m: 0.02\nlandmarks:\n- {x_m: 1, y_m: 2}\n- {x_m: -3, y_m: 7, class: 2}\n\
                    - {x_m: 0, y_m: 0, covariance_m2: [0.02, 0.01, 0.02]}\n";
        let info = Info::of(&MapFile { map: parse(text).unwrap().map, ..MapFile::default() });
        assert_eq!((info.landmarks, info.x_m, info.y_m), (3, Some([-3.0, 1.0]), Some([0.0, 7.0])));
        assert_eq!(info.classes, BTreeMap::from([(0, 2), (2, 1)]));
        let [least, median, most] = info.sigma_m.unwrap();
        assert!((least - 0.02).abs() < 1e-12 && median == least && (most - 0.03_f64.sqrt()).abs() < 1e-12);
        assert!(info.to_text().contains("classes         0: 2, 2: 1"));
        assert!(Info::of(&MapFile::default()).to_text().starts_with("0 landmarks"));
    }
}
