//! What the declarations make, and the checks by the table.

use super::{Allowed, Described, Spec, assign, check, check_change, lookup};
use crate::{settings, words};
use serde_json::json;

words! {
    /// A word.
    #[derive(Default)]
    pub enum Shape {
        /// One way to be.
        #[default]
        Round = "round",
        /// Another one.
        NotRound = "quite-other",
    }
}

settings! {
    /// The innermost group, of which there are two.
    #[derive(Copy)]
    pub struct Inner {
        /// How long it is, a description
        /// of two lines — with Δ in it, m.
        ///
        /// A paragraph that users do not see.
        length_m: f64 = 0.5, within 0.0..=1.0, unit "m", runtime;
        /// How many.
        count: u32 = 3, within 1.0..=9.0;
    }

    /// A group of groups.
    pub struct Middle {
        /// The left one.
        left: Inner;
        /// The right one.
        right: Inner;
        /// What shape it has.
        shape: Shape = Shape::NotRound, runtime, one_of Shape::WORDS;
    }
}

settings! {
    /// All of it.
    pub struct Outer {
        /// What it is called.
        name: String = "it".into();
        /// The groups.
        middle: Middle;
        /// A group that is something else here.
        other: Inner, specs Halved(0.5);
        /// The last one.
        last: bool = true;
    }
}

/// A table of [`Inner`] in which lengths are in millimetres.
struct Halved(f64);

impl Halved {
    const fn describe(self, description: &'static str) -> [Spec; 2] {
        [Spec::new("length_m", description).within(0.0..=self.0).unit("mm"), Spec::new("count", "How many.")]
    }
}

fn spec(name: &str) -> Spec {
    *Outer::SPECS.iter().find(|spec| spec.name == name).unwrap()
}

#[test]
fn names_of_groups_are_joined_by_dots_in_the_order_of_the_fields() {
    let names: Vec<&str> = Outer::SPECS.iter().map(|spec| spec.name).collect();
    let middle = ["middle.left.length_m", "middle.left.count", "middle.right.length_m", "middle.right.count"];
    let others = ["middle.shape", "other.length_m", "other.count", "last"];
    assert_eq!(names, [&["name"], &middle[..], &others[..]].concat());
    let tree = serde_json::to_value(Outer::default()).unwrap();
    assert!(names.iter().all(|name| lookup(&tree, name).is_some_and(|value| !value.is_object())));
}

#[test]
fn a_line_is_taken_apart_into_description_unit_range_and_time_of_change() {
    let length = Spec {
        name: "middle.right.length_m",
        description: "How long it is, a description of two lines — with Δ in it, m.",
        unit: "m",
        allowed: Allowed::Range(0.0, 1.0),
        runtime: true,
    };
    assert_eq!(spec("middle.right.length_m"), length);
    let count = Spec { name: "middle.left.count", ..Spec::new("", "How many.").within(1.0..=9.0) };
    assert_eq!(spec("middle.left.count"), count);
    let shape = Spec::new("middle.shape", "What shape it has.").one_of(&["round", "quite-other"]).runtime();
    assert_eq!(spec("middle.shape"), shape);
    let other = Spec::new("other.length_m", "A group that is something else here.").within(0.0..=0.5).unit("mm");
    assert_eq!(spec("other.length_m"), other);
    assert_eq!(spec("last"), Spec::new("last", "The last one."));
}

#[test]
fn defaults_are_those_of_the_lines_and_serde_fills_them_in_and_refuses_what_it_does_not_know() {
    let mut expected = Outer::default();
    let inner = Inner { length_m: 0.5, count: 3 };
    assert_eq!(expected.middle, Middle { left: inner, right: inner, shape: Shape::NotRound });
    assert_eq!((expected.name.as_str(), expected.other, expected.last), ("it", inner, true));
    expected.middle.right.count = 7;
    expected.middle.shape = Shape::Round;
    let given = json!({"middle": {"right": {"count": 7}, "shape": "round"}});
    assert_eq!(serde_json::from_value::<Outer>(given).unwrap(), expected);
    for unknown in [json!({"middel": {}}), json!({"middle": {"centre": {}}}), json!({"middle": {"shape": "Round"}})] {
        assert!(serde_json::from_value::<Outer>(unknown.clone()).is_err(), "{unknown}");
    }
}

#[test]
fn what_is_out_of_range_or_not_finite_is_named() {
    let refusal = |name: &str, value: serde_json::Value| {
        let mut tree = serde_json::to_value(Outer::default()).unwrap();
        assert!(assign(&mut tree, name, value));
        check(&tree, Outer::SPECS).unwrap_err().to_string()
    };
    assert_eq!(check(&Outer::default(), Outer::SPECS), Ok(()));
    assert_eq!(refusal("middle.left.length_m", json!(1.5)), "parameter 'middle.left.length_m' is 1.5; allowed: 0 … 1");
    assert_eq!(refusal("middle.left.count", json!(0)), "parameter 'middle.left.count' is 0; allowed: 1 … 9");
    assert_eq!(
        refusal("middle.shape", json!("flat")),
        "parameter 'middle.shape' is \"flat\"; allowed: round | quite-other"
    );
    assert_eq!(
        refusal("other.length_m", json!(f64::NAN)),
        "parameter 'other.length_m' is not a number; allowed: 0 … 0.5"
    );
}

#[test]
fn only_what_may_change_while_running_does() {
    let (old, mut new) = (Outer::default(), Outer::default());
    new.middle.left.length_m = 0.25;
    assert_eq!(check_change(&old, &new, Outer::SPECS), Ok(()));
    new.middle.left.count = 4;
    let refusal = check_change(&old, &new, Outer::SPECS).unwrap_err();
    assert!(refusal.starts_with("parameter 'middle.left.count' cannot change"), "{refusal}");
}
