//! Tags of several sizes: the edge of each.

use super::tags::TagCamera;
use std::collections::BTreeMap;

/// The edges of the tags that are not as large as the others, m, by their identity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TagSizes(BTreeMap<u32, f64>);

impl TagSizes {
    /// Reads entries such as `7:0.10` (tag 7 has an edge of 10 cm) and `100-199:0.05`.
    ///
    /// # Errors
    /// The sentence to show: an entry in another form, or two sizes of one tag.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut sizes = BTreeMap::new();
        for entry in entries {
            let wrong = |why: &str| {
                format!("tags.sizes: '{entry}' {why}; give ID:METRES, as 7:0.10, or FIRST-LAST:METRES, as 100-199:0.05")
            };
            let (ids, size) = entry.rsplit_once(':').ok_or_else(|| wrong("has no colon"))?;
            let (first, last) = ids.split_once('-').unwrap_or((ids, ids));
            let id = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong("names no tag"));
            let size = size.trim().parse::<f64>().map_err(|_| wrong("has no size"))?;
            if !(1e-3..=10.0).contains(&size) {
                return Err(wrong("has a size that is not between 0.001 and 10 m"));
            }
            let (first, last) = (id(first)?, id(last)?);
            if last < first || last - first > MOST {
                return Err(wrong("has no range of identities, or too large a one"));
            }
            for id in first..=last {
                if sizes.insert(id, size).is_some_and(|before| before != size) {
                    return Err(wrong(&format!("gives tag {id} a second size")));
                }
            }
        }
        Ok(Self(sizes))
    }

    /// The edge of a tag that has one of its own, m.
    pub fn own(&self, id: u32) -> Option<f64> {
        self.0.get(&id).copied()
    }

    /// The camera model for the tag with this identity.
    #[must_use]
    pub fn of(&self, id: Option<u32>, camera: &TagCamera) -> TagCamera {
        let size_m = id.and_then(|id| self.own(id)).unwrap_or(camera.size_m);
        TagCamera { size_m, ..*camera }
    }
}

/// So many tags a family has at most, and an entry names.
const MOST: u32 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    const CAMERA: TagCamera = TagCamera {
        size_m: 0.16,
        focal_px: 600.0,
        pixel_std: 0.5,
        scale_std: 0.01,
        max_range_m: 10.0,
        max_view_angle_rad: 1.3,
    };

    #[test]
    fn each_tag_has_its_own_size_or_that_of_all() {
        let sizes = TagSizes::parse(["7:0.10", "100-199:0.05"]).unwrap();
        let size = |id| sizes.of(id, &CAMERA).size_m;
        assert_eq!(
            [Some(7), Some(8), Some(100), Some(199), Some(200), None].map(size),
            [0.1, 0.16, 0.05, 0.05, 0.16, 0.16]
        );
    }

    #[test]
    fn what_is_no_size_is_refused_with_the_entry() {
        for entry in ["7", "7:", "x:0.1", "7:-1", "7:nan", "9-7:0.1", "0-4294967295:0.1", ":0.1", "7:0.1:0.2"] {
            let said = TagSizes::parse([entry]).unwrap_err();
            assert!(said.starts_with(&format!("tags.sizes: '{entry}'")) && said.contains("7:0.10"), "{said}");
        }
        assert!(TagSizes::parse(["7:0.1", "5-9:0.2"]).unwrap_err().contains("tag 7 a second size"));
        assert!(TagSizes::parse(["7:0.1", "7:0.1"]).is_ok());
    }
}
