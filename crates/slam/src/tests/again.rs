//! Landmarks without identity keep their numbers where scans are taken in again.

use super::slips::{Drive, ROUND};
use super::*;
use lienav_planar::associated::Role;
use lienav_planar::associated::Subject;
use rand::RngExt;
use std::collections::BTreeMap;

/// Of what the measurements are that went to each landmark.
#[derive(Default)]
pub(super) struct Named {
    counts: BTreeMap<u32, BTreeMap<usize, usize>>,
    merged: Vec<(u32, u32)>,
}

impl Named {
    /// Takes in what the measurements of the last step were taken for: measurements, and which post each is of.
    pub fn note(&mut self, slam: &Slam, seen: &[(Vector2<f64>, usize)]) {
        for associated in slam.estimator.measurements() {
            let (Subject::Landmark(id), Role::First | Role::Again) = (associated.subject, associated.role) else {
                continue;
            };
            let value = associated.measurement.value().xy();
            let Some((_, post)) = seen.iter().find(|(read, _)| *read == value) else { continue };
            *self.counts.entry(id).or_default().entry(*post).or_default() += 1;
        }
        self.merged.retain(|pair| !slam.split_landmarks().contains(pair));
        self.merged.extend_from_slice(slam.merged_landmarks());
    }

    /// The part of the measurements of each landmark that are of another post than most are; of those that were merged
    /// with it, too.
    fn wrong(&self) -> f64 {
        let mut counts = self.counts.clone();
        for (gone, kept) in &self.merged {
            for (post, count) in counts.remove(gone).unwrap_or_default() {
                *counts.entry(*kept).or_default().entry(post).or_default() += count;
            }
        }
        let (all, most) = counts.values().fold((0, 0), |(all, most), posts| {
            (all + posts.values().sum::<usize>(), most + posts.values().max().copied().unwrap_or_default())
        });
        1.0 - most as f64 / all as f64
    }

    /// How many numbers were given that are not gone.
    fn numbers(&self) -> usize {
        self.counts.keys().filter(|id| !self.merged.iter().any(|(gone, _)| gone == *id)).count()
    }
}

/// A sensor is told five times too good, so that measurements begin landmarks that are none, until it is known better.
#[test]
fn a_second_look_gives_no_number_to_another_landmark() {
    let mut looks = 0;
    for seed in 40..46 {
        let mut config = config("default");
        config.learning.enabled = true;
        config.sensor.position_std_m *= 0.2;
        let mut slam = Slam::new(config).unwrap();
        let (mut named, mut rng) = (Named::default(), ChaCha8Rng::seed_from_u64(seed));
        for mut instant in recording(110, seed) {
            instant.seen.retain(|_| rng.random_range(0.0..1.0) < 0.5);
            let value = |seen: &Measurement| Vector2::new(seen.value[0], seen.value[1]);
            let of = |seen: &Measurement| (value(seen), seen.id.unwrap_or_default() as usize);
            let truth: Vec<_> = instant.seen.iter().map(of).collect();
            instant.seen.iter_mut().for_each(|seen| seen.id = None);
            feed(&mut slam, &instant);
            named.note(&slam, &truth);
        }
        looks += slam.refilters();
        assert!(named.wrong() < 0.01, "seed {seed}: {} of the readings are of something else", named.wrong());
    }
    assert!(looks > 6, "{looks}");
}

/// What began after the wheels have slipped is gone, and told to be what it truly is.
#[test]
fn what_began_after_a_slip_is_told_to_be_what_it_is() {
    for (seed, by) in [(0, 0.5), (1, -0.5), (2, 0.4), (3, -0.4)] {
        let driven = Drive { seed, slips: vec![(ROUND + 60, by)], names: false, fixes: false }.run();
        assert!(driven.slam.association().slips + driven.slam.recoveries() >= 1);
        let (wrong, numbers) = (driven.named.wrong(), driven.named.numbers());
        assert!(wrong < 0.02, "seed {seed}: {wrong} of the readings are of something else");
        assert!(numbers <= driven.posts, "seed {seed}: {numbers} numbers for {} posts", driven.posts);
    }
}
