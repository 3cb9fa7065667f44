//! Which steps of a long run are shown: some at equal distances, and of each stretch of time those at which any of the
//! numbers is least or greatest. A line through them has every peak of the line through all.

/// The indices of the steps to show, in order: all, where there are no more than `most`. `columns` are the numbers
/// whose extremes are kept, each with one number a step; those that are not finite have none.
pub fn shown(steps: usize, columns: &[Vec<f64>], most: usize) -> Vec<usize> {
    if steps <= most {
        return (0..steps).collect();
    }
    let evenly = (most / 2).max(1);
    let stretches = (evenly / (2 * columns.len()).max(1)).max(1);
    let length = steps.div_ceil(stretches);
    let mut kept: Vec<usize> = (0..steps).step_by(steps.div_ceil(evenly)).collect();
    for begin in (0..steps).step_by(length) {
        let stretch = begin..(begin + length).min(steps);
        for column in columns {
            let finite = || stretch.clone().filter(|&step| column.get(step).is_some_and(|value| value.is_finite()));
            let by = |a: &usize, b: &usize| column[*a].total_cmp(&column[*b]);
            kept.extend(finite().min_by(by).into_iter().chain(finite().max_by(by)));
        }
    }
    kept.push(steps - 1);
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peak_is_kept_and_both_ends() {
        let mut a: Vec<f64> = (0..10_000).map(|k| (f64::from(k) * 0.1).sin()).collect();
        let mut b = vec![1.0; 10_000];
        (a[4321], b[8765], b[77]) = (9.0, -7.0, f64::NAN);
        let kept = shown(10_000, &[a.clone(), b], 600);
        assert!(kept.len() <= 601 && kept.is_sorted(), "{}", kept.len());
        for step in [0, 4321, 8765, 9999] {
            assert!(kept.contains(&step), "{step}");
        }
        // In each stretch, the envelope is the same.
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= 34));
        let stretch = 10_000_usize.div_ceil(300 / 4);
        for begin in (0..10_000).step_by(stretch) {
            let range = begin..(begin + stretch).min(10_000);
            let greatest = a[range.clone()].iter().copied().fold(f64::MIN, f64::max);
            assert!(kept.iter().any(|&step| range.contains(&step) && a[step] == greatest));
        }
    }

    #[test]
    fn a_short_run_is_shown_whole() {
        assert_eq!(shown(3, &[vec![0.0; 3]], 3), [0, 1, 2]);
        assert_eq!(shown(0, &[], 3), Vec::<usize>::new());
    }
}
