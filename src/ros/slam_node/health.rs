//! Whether each source of measurements is used: a sensor or a receiver that is starved beside a good one does not show
//! in the sums over all of them.
//!
//! | warned of | when |
//! |---|---|
//! | silent | no message of a named sensor or a receiver has come yet, or none of a source that has spoken, for [`WINDOW`] reports, while another is used |
//! | refused | messages of a source came since the last report and none was taken, while those of another were, or the source is a receiver |
//! | starved | of at least [`LEAST_MEASUREMENTS`] measurements in the last [`WINDOW`] reports, less than [`LEAST_PART`] was within the gates, while those of another source are used |
//! | noisier | its errors are learned to be [`NOISIER`] times what is stated, and those of another source are not |

use super::topic::Topic;
use crate::ros::diagnostics::{Findings, Values};
use lienav_base::stamp::Stamp;
use lienav_slam::{LearnedNoise, MeasurementKind, Role, Step, TracedStep};
use std::collections::{BTreeMap, VecDeque};

/// So many reports, one a second, are looked back on: a receiver of 1 Hz has enough measurements in them.
const WINDOW: usize = 30;
/// Fewer measurements say nothing, as for all sources together ([`FEW`](super::report::FEW)).
const LEAST_MEASUREMENTS: u64 = 8;
/// A source of whose measurements less than this part is used is starved, as `lienav evaluate` has it.
const LEAST_PART: f64 = 0.05;
/// A source whose errors are as many times what is stated is in another place than stated, or of other landmarks: stated
/// noise that is wrong by 4 is usual.
const NOISIER: f64 = 8.0;
/// Clouds whose step is still to come; the filter lets fewer wait.
const WAITING: usize = 256;

/// What became of the messages and measurements of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Messages that came.
    pub messages: u64,
    /// Of these, those the filter has taken.
    pub taken: u64,
    /// Measurements that corrected the estimate, or initialized a landmark.
    pub used: u64,
    /// Measurements outside of the gates of their landmarks, or of the pose.
    pub gated: u64,
}

impl Fate {
    fn since(self, earlier: Self) -> Self {
        Self {
            messages: self.messages - earlier.messages,
            taken: self.taken - earlier.taken,
            used: self.used - earlier.used,
            gated: self.gated - earlier.gated,
        }
    }

    /// Whether it has measurements, and nearly none is used.
    fn is_starved(self) -> bool {
        let all = self.used + self.gated;
        all >= LEAST_MEASUREMENTS && (self.used as f64) < LEAST_PART * all as f64
    }
}

/// A source, as a report has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its topic.
    pub name: String,
    /// Whether it measures the pose from outside, and not landmarks.
    pub is_receiver: bool,
    /// Since the last report.
    pub latest: Fate,
    /// In the last [`WINDOW`] reports.
    pub recent: Fate,
    /// Over how many reports that is.
    pub reports: usize,
    /// Whether a message has ever come.
    pub has_spoken: bool,
    /// By which factor its errors are learned to be larger than stated; 1 where nothing is learned.
    pub noise: f64,
}

/// Counts of each source since the start.
#[derive(Debug, Default)]
pub struct Health {
    /// By the place of the topic among all.
    fates: BTreeMap<usize, (Topic, Fate)>,
    waiting: VecDeque<(Stamp, MeasurementKind, Topic)>,
    /// The kind of what each has measured, by the same place.
    kinds: BTreeMap<usize, MeasurementKind>,
    /// The same counts at the last reports, the oldest first.
    reports: VecDeque<BTreeMap<usize, (Topic, Fate)>>,
}

impl Health {
    fn of(&mut self, topic: Topic) -> &mut Fate {
        &mut self.fates.entry(topic.index()).or_insert((topic, Fate::default())).1
    }

    /// Messages of these topics are to come.
    pub fn expect(&mut self, topics: impl Iterator<Item = Topic>) {
        topics.for_each(|topic| {
            self.of(topic);
        });
    }

    /// A message came.
    pub fn came(&mut self, topic: Topic) {
        self.of(topic).messages += 1;
    }

    /// The filter has taken the measurements of a message, which are processed at `stamp`.
    pub fn taken(&mut self, topic: Topic, stamp: Stamp, kind: MeasurementKind) {
        self.of(topic).taken += 1;
        self.kinds.insert(topic.index(), kind);
        if self.waiting.len() >= WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((stamp, kind, topic));
    }

    /// The filter has processed what waited for a stamp: `traced`, a part for each kind, in the order of their kinds.
    /// Where they are not as many as waited, as after a late cloud, nobody knows whose they are.
    pub fn processed(&mut self, step: &Step, traced: &[TracedStep]) {
        let stamp = step.estimate.stamp;
        let mut clouds: Vec<(usize, Topic)> = Vec::new();
        self.waiting.retain(|&(at, kind, topic)| {
            if at == stamp {
                clouds.push((place(kind), topic));
            }
            at > stamp
        });
        clouds.sort_by_key(|&(place, _)| place);
        if clouds.len() != traced.len() {
            return;
        }
        for ((_, topic), step) in clouds.into_iter().zip(traced) {
            let fate = self.of(topic);
            for measurement in &step.measurements {
                match measurement.role {
                    Role::Gated => fate.gated += 1,
                    Role::First | Role::Again | Role::Held => fate.used += 1,
                }
            }
        }
    }

    /// What became of each source since the last reports, with what was learned of the noise. `name` is that of its
    /// topic.
    pub fn report(&mut self, name: impl Fn(Topic) -> String, learned: Option<&LearnedNoise>) -> Vec<Source> {
        let kinds = &self.kinds;
        let noise = |topic: &usize| {
            let kind = kinds.get(topic).map(|kind| place(*kind));
            let of_kind = learned.and_then(|noise| noise.sensors.iter().find(|one| Some(one.sensor) == kind));
            of_kind.map_or(1.0, |learned| learned.std.into_iter().fold(1.0, f64::max))
        };
        let at = |counts: Option<&BTreeMap<usize, (Topic, Fate)>>, place: usize| {
            counts.and_then(|counts| counts.get(&place)).map_or_else(Fate::default, |(_, fate)| *fate)
        };
        let source = |(&place, &(topic, fate)): (&usize, &(Topic, Fate))| Source {
            name: name(topic),
            is_receiver: matches!(topic, Topic::AbsolutePose | Topic::Fix),
            latest: fate.since(at(self.reports.back(), place)),
            recent: fate.since(at(self.reports.front(), place)),
            reports: self.reports.len().max(1),
            has_spoken: fate.messages > 0,
            noise: noise(&place),
        };
        let sources = self.fates.iter().map(source).collect();
        self.reports.push_back(self.fates.clone());
        if self.reports.len() > WINDOW {
            self.reports.pop_front();
        }
        sources
    }
}

/// The order in which the filter processes clouds of one stamp: as [`MeasurementKind`] lists them.
fn place(kind: MeasurementKind) -> usize {
    match kind {
        MeasurementKind::RelativePosition => 0,
        MeasurementKind::RangeBearing => 1,
        MeasurementKind::StereoBearings => 2,
        MeasurementKind::Range => 3,
        MeasurementKind::Bearing => 4,
        MeasurementKind::WorldPosition => 5,
        MeasurementKind::WorldPose => 6,
        MeasurementKind::Added(number) => 7 + usize::from(number),
    }
}

/// Warns of each source that gives nothing while another one is used.
pub fn judge(findings: &mut Findings, sources: &[Source]) {
    for (k, source) in sources.iter().enumerate() {
        let others = || sources.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, other)| other);
        let Source { name, latest, recent, reports, .. } = source;
        let is_refused = latest.messages > 0 && latest.taken == 0;
        if is_refused && (source.is_receiver || others().any(|other| other.latest.taken > 0)) {
            findings.warn(format!("none of {} messages of {name} could be used", latest.messages));
        }
        let Some(good) = others().find(|other| other.recent.used > 0 && !other.recent.is_starved()) else { continue };
        // Tags are in view or not.
        if recent.messages == 0 && *reports >= WINDOW && name != "/tf" {
            findings.warn(match source.has_spoken {
                true => format!("no message has come on {name} for {reports} s: does its driver run?"),
                false => format!("no message has come on {name} yet: remap it, or look whether its driver runs"),
            });
        }
        let is_noisier = source.noise >= NOISIER && good.noise < NOISIER && recent.used > 0;
        if recent.is_starved() || is_noisier {
            let Fate { used, gated, .. } = recent;
            let remedy = if source.is_receiver {
                "is the frame of the map that of the world? If not, set calibration.world.frame: estimated; look at \
                 gnss.datum and the stated noise, too"
            } else {
                "look at where this sensor sits (its x_m, y_m, yaw_rad, or /tf_static), at its noise, and at its \
                 identities"
            };
            let what = if is_noisier {
                format!(
                    "errors of measurements of {name} in the last {reports} s are {:.0} times as stated",
                    source.noise
                )
            } else {
                let all = used + gated;
                format!("{gated} of {all} measurements of {name} in the last {reports} s were outside their gates")
            };
            findings.warn(format!("{what}, and those of {} are used: {remedy}", good.name));
        }
    }
}

/// The counts of each source over the last reports, where there are several: `<topic>.recent.used` and `.gated`.
pub fn say(sources: &[Source], values: &mut Values) {
    for Source { name, recent, .. } in sources.iter().filter(|_| sources.len() > 1) {
        values.say(&format!("{name}.recent.used"), recent.used);
        values.say(&format!("{name}.recent.gated"), recent.gated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::diagnostics::Level;

    fn source(name: &str, latest: [u64; 2], recent: [u64; 2]) -> Source {
        let fate = |[messages, taken]: [u64; 2], [used, gated]: [u64; 2]| Fate { messages, taken, used, gated };
        Source {
            name: name.into(),
            is_receiver: name == "fix",
            latest: fate(latest, [0, 0]),
            recent: fate(latest, recent),
            reports: 30,
            has_spoken: latest[0] > 0,
            noise: 1.0,
        }
    }

    fn said(sources: &[Source]) -> (Level, String) {
        let mut findings = Findings::default();
        judge(&mut findings, sources);
        findings.verdict(|| "running".into())
    }

    #[test]
    fn a_source_that_starves_beside_a_good_one_is_named_with_its_counts() {
        let good = source("features", [10, 10], [900, 3]);
        let (level, sentence) = said(&[good.clone(), source("rear/features", [10, 10], [1, 2229])]);
        assert_eq!(level, Level::Warn);
        assert!(sentence.starts_with("2229 of 2230 measurements of rear/features in the last 30 s"), "{sentence}");
        assert!(sentence.contains("those of features are used") && sentence.contains("yaw_rad"), "{sentence}");
        let (_, sentence) = said(&[good.clone(), source("fix", [1, 1], [0, 8])]);
        assert!(sentence.contains("8 of 8") && sentence.contains("calibration.world.frame: estimated"), "{sentence}");
        let (_, sentence) = said(&[good.clone(), source("rear/features", [7, 0], [0, 0])]);
        assert_eq!(sentence, "none of 7 messages of rear/features could be used");
        let noisy = Source { noise: 40.0, ..source("rear/features", [10, 10], [80, 15]) };
        let (level, sentence) = said(&[good.clone(), noisy.clone()]);
        assert_eq!(level, Level::Warn);
        assert!(
            sentence.contains("rear/features in the last 30 s are 40 times as stated, and those of features"),
            "{sentence}"
        );
        assert_eq!(said(&[Source { noise: 40.0, ..good.clone() }, noisy]).0, Level::Ok, "all of them");
        let silent = source("rear/features", [0, 0], [0, 0]);
        let (_, sentence) = said(&[good.clone(), silent.clone()]);
        assert_eq!(sentence, "no message has come on rear/features yet: remap it, or look whether its driver runs");
        let (_, sentence) = said(&[good.clone(), Source { has_spoken: true, ..silent.clone() }]);
        assert_eq!(sentence, "no message has come on rear/features for 30 s: does its driver run?");
        let early = Source { reports: 29, ..silent.clone() };
        // Too few to say so, a part of them, or all of all sources, which others say.
        for sources in [
            vec![good.clone(), early],
            vec![source("features", [0, 0], [0, 0]), silent],
            vec![good.clone(), source("fix", [1, 1], [0, 7])],
            vec![good.clone(), source("rear/features", [10, 10], [6, 94])],
            vec![source("features", [10, 10], [0, 90]), source("rear/features", [10, 10], [0, 90])],
            vec![source("features", [10, 0], [0, 0]), source("rear/features", [10, 0], [0, 0])],
        ] {
            assert_eq!(said(&sources).0, Level::Ok, "{sources:?}");
        }
    }

    #[test]
    fn counts_are_of_the_last_reports() {
        let mut health = Health::default();
        let topic = Topic::Scan(1);
        for _ in 0..40 {
            health.came(topic);
            health.of(topic).gated += 2;
            health.report(|_| "rear".into(), None);
        }
        let sources = health.report(|_| "rear".into(), None);
        assert_eq!((sources[0].latest, sources[0].recent.gated, sources[0].reports), (Fate::default(), 58, WINDOW));
    }
}
