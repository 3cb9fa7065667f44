//! True poses between which a body would have had to be too fast.

use super::data::TruePose;

/// Whether a body would have had to be faster than this between two poses, m/s.
fn jumps(from: &TruePose, to: &TruePose, fastest: f64) -> bool {
    (to.pose.translation - from.pose.translation).norm() > fastest * to.stamp.since(from.stamp)
}

/// Leaves out poses between which the body would have had to be faster than this, m/s, and runs of less than a second
/// between a jump and another one or a gap. Returns how many.
pub(super) fn leave_out_jumps(truth: &mut Vec<TruePose>, fastest: f64) -> u64 {
    const SHORTEST_S: f64 = 1.0;
    const GAP_S: f64 = 0.5;
    let is_gap = |from: &TruePose, to: &TruePose| to.stamp.since(from.stamp) > GAP_S;
    let mut runs = truth.chunk_by(|from, to| !jumps(from, to, fastest) && !is_gap(from, to)).peekable();
    let mut is_kept: Vec<bool> = Vec::with_capacity(truth.len());
    let mut before = false;
    while let Some(run) = runs.next() {
        let next = runs.peek().and_then(|next| next.first());
        let after = run.last().zip(next).is_some_and(|(from, to)| jumps(from, to, fastest));
        let is_short = run.first().zip(run.last()).is_some_and(|(from, to)| to.stamp.since(from.stamp) < SHORTEST_S);
        let mut kept = vec![!((before || after) && is_short); run.len()];
        if let Some(first) = kept.first_mut() {
            *first &= !before;
        }
        if let Some(last) = kept.last_mut() {
            *last &= !after;
        }
        is_kept.append(&mut kept);
        before = after;
    }
    retain(truth, &is_kept)
}

/// Keeps the longest run of poses between two of which the body is not faster than this, m/s. Returns how many are left
/// out.
pub(super) fn keep_longest_run(truth: &mut Vec<TruePose>, fastest: f64) -> u64 {
    let mut end = 0;
    let runs = truth.chunk_by(|from, to| !jumps(from, to, fastest)).map(|run| {
        end += run.len();
        end - run.len()..end
    });
    let longest = runs.max_by_key(|run| run.len()).unwrap_or(0..0);
    let is_kept: Vec<bool> = (0..truth.len()).map(|k| longest.contains(&k)).collect();
    retain(truth, &is_kept)
}

fn retain(truth: &mut Vec<TruePose>, is_kept: &[bool]) -> u64 {
    let before = truth.len();
    let mut kept = is_kept.iter();
    truth.retain(|_| kept.next().copied().unwrap_or(true));
    (before - truth.len()) as u64
}
