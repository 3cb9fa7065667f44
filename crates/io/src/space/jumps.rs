//! True poses between which a body would have had to be too fast.

use super::data::TruePose;

/// Whether a body would have had to be faster than this between two poses, m/s.
fn jumps(pair: &[TruePose], fastest: f64) -> bool {
    let seconds = pair[1].stamp.since(pair[0].stamp);
    (pair[1].pose.translation - pair[0].pose.translation).norm() > fastest * seconds
}

/// Leaves out poses between which the body would have had to be faster than this, m/s, and runs of less than a second
/// between a jump and another one or a gap. Returns how many.
pub(super) fn leave_out_jumps(truth: &mut Vec<TruePose>, fastest: f64) -> u64 {
    const SHORTEST_S: f64 = 1.0;
    const GAP_S: f64 = 0.5;
    let is_jump: Vec<bool> = truth.windows(2).map(|pair| jumps(pair, fastest)).collect();
    let is_gap = |k: usize| truth[k + 1].stamp.since(truth[k].stamp) > GAP_S;
    let mut is_kept = vec![true; truth.len()];
    let mut first = 0;
    for k in 0..truth.len() {
        let ends = k + 1 == truth.len() || is_jump[k] || is_gap(k);
        if !ends {
            continue;
        }
        let (before, after) = (first > 0 && is_jump[first - 1], k + 1 < truth.len() && is_jump[k]);
        let is_short = truth[k].stamp.since(truth[first].stamp) < SHORTEST_S;
        if (before || after) && is_short {
            is_kept[first..=k].fill(false);
        }
        (is_kept[first], is_kept[k]) = (is_kept[first] && !before, is_kept[k] && !after);
        first = k + 1;
    }
    retain(truth, &is_kept)
}

/// Keeps the longest run of poses between two of which the body is not faster than this, m/s. Returns how many are left
/// out.
pub(super) fn keep_longest_run(truth: &mut Vec<TruePose>, fastest: f64) -> u64 {
    let mut starts = vec![0];
    starts.extend((1..truth.len()).filter(|k| jumps(&truth[k - 1..=*k], fastest)));
    starts.push(truth.len());
    let longest = starts.windows(2).max_by_key(|run| run[1] - run[0]).map_or(0..0, |run| run[0]..run[1]);
    let is_kept: Vec<bool> = (0..truth.len()).map(|k| longest.contains(&k)).collect();
    retain(truth, &is_kept)
}

fn retain(truth: &mut Vec<TruePose>, is_kept: &[bool]) -> u64 {
    let before = truth.len();
    let mut kept = is_kept.iter();
    truth.retain(|_| kept.next().copied().unwrap_or(true));
    (before - truth.len()) as u64
}
