//! What a scan may cost at most.
//!
//! None of these numbers decides what is right. They bound time and memory where a scan has more measurements, or a
//! map has more landmarks at one place, than a robot meets; what is beyond them is left out, or decided later.

/// Counts beyond which association does not go.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Measurements of a scan that are compared one by one, or weighed together: more than a front end sees at once.
    pub measurements: usize,
    /// Landmarks that one measurement may be of in each search. Where more may be meant, it is ambiguous anyhow.
    pub candidates: usize,
    /// Hypotheses of the joint search that go on.
    pub beam: usize,
    /// Pairs of a hypothesis that tell where the others are: three numbers make a rigid motion, two a pair.
    pub anchors: usize,
    /// Recent landmarks that are compared with old ones at once: as many as anchor each other.
    pub recently_added: usize,
    /// Old landmarks that one of them may be.
    pub old: usize,
    /// Landmarks that one scan compares with others at the same place.
    pub swept: usize,
    /// Cuts of a map; the oldest make way.
    pub cuts: usize,
    /// Field-of-view cells of one landmark.
    pub view_cells: usize,
    /// Classes that are counted of one landmark.
    pub classes_of_one: usize,
    /// Classes of which it is known how common they are.
    pub classes: usize,
    /// Pairs of undone loop closures, the last ones.
    pub forbidden: usize,
    /// Measurements by which a robot with a wide prior is found: more tell nothing that the update would not tell.
    pub wide_prior: usize,
    /// In a known map, measurements of a scan that are not clear and are weighed together.
    pub unclear: usize,
    /// Landmarks that one of them may be of.
    pub unclear_candidates: usize,
    /// Hypotheses of one scan about them.
    pub pose_hypotheses: usize,
    /// Numbers in the states of all pose hypotheses but two, 16 MB: each has a joint covariance of the map.
    pub numbers: usize,
    /// Components of the Gaussian sum: a cover of the poses of 28 landmarks has half as many.
    pub components: usize,
}

/// The bounds of all filters.
pub const BOUNDS: Bounds = Bounds {
    measurements: 64,
    candidates: 8,
    beam: 64,
    anchors: 12,
    recently_added: 12,
    old: 32,
    swept: 16,
    cuts: 8,
    view_cells: 16,
    classes_of_one: 4,
    classes: 8,
    forbidden: 96,
    wide_prior: 32,
    unclear: 8,
    unclear_candidates: 4,
    pose_hypotheses: 6,
    numbers: 1 << 21,
    components: 2048,
};
