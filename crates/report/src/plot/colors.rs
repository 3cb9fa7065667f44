//! The colour of a filter, which is the same in every plot, whatever is shown beside it.

/// These have the first colours, in this order, as on the pages (`page/elements.js`).
const OWN: [&str; 6] = ["default", "ekf", "reduced", "fe-ekf", "oc-ekf", "invariant"];

/// The place of each filter in the palette. Filters without a place of their own take those that are left, by name.
pub(super) fn colors(names: &[&str]) -> Vec<usize> {
    let own = |name: &str| OWN.iter().position(|known| *known == name);
    let mut others: Vec<&str> = names.iter().copied().filter(|name| own(name).is_none()).collect();
    others.sort_unstable();
    others.dedup();
    let is_free = |place: &usize| !names.iter().any(|name| own(name) == Some(*place));
    let free: Vec<usize> = (0..).filter(is_free).take(others.len()).collect();
    let of_other = |name: &str| others.binary_search(&name).ok().and_then(|k| free.get(k).copied());
    names.iter().map(|name| own(name).or_else(|| of_other(name)).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_its_color_in_any_order_and_no_two_share_one() {
        assert_eq!(colors(&["ekf", "default"]), [1, 0]);
        assert_eq!(colors(&["batch", "ekf", "anchored", "default"]), [3, 1, 2, 0]);
        assert_eq!(colors(&["default", "anchored", "ekf", "batch"]), [0, 2, 1, 3]);
        assert_eq!(colors(&["x", "x"]), [0, 0]);
        assert!(colors(&[]).is_empty());
        let mut many: Vec<usize> = colors(&["a", "b", "c", "d", "e", "f", "g", "reduced"]);
        many.sort_unstable();
        assert_eq!(many, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
