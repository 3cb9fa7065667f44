//! The macros with which settings are declared.

/// Declares a struct of settings. One line each states name, type, default and what is allowed; the doc comment above
/// it is the documentation of the field, and its first paragraph is the description that users see.
///
/// ```
/// use lienav_base::settings::{Described, check};
/// use lienav_base::{settings, words};
///
/// words! {
///     /// What to do when the map is full.
///     pub enum WhenFull {
///         /// Leave the new feature out.
///         Refuse = "refuse",
///         /// Make room for it.
///         DropOldest = "drop_oldest",
///     }
/// }
///
/// settings! {
///     /// Which features are kept.
///     pub struct MapConfig {
///         /// The most features the map holds.
///         max_features: usize = 500, within 1.0..=5000.0;
///         /// What happens to a new feature when the map is full.
///         when_full: WhenFull = WhenFull::Refuse, one_of WhenFull::WORDS, runtime;
///         /// Features not seen for this long are dropped, s; 0 keeps them for ever.
///         ///
///         /// A second paragraph is for those who read the code.
///         forget_after_s: f64 = 0.0, within 0.0..=1e9, unit "s", runtime;
///     }
/// }
///
/// settings! {
///     /// Everything that can be set.
///     pub struct Config {
///         /// Publish the transform.
///         publish_tf: bool = true;
///         /// The map.
///         map: MapConfig;
///     }
/// }
///
/// let names: Vec<&str> = Config::SPECS.iter().map(|spec| spec.name).collect();
/// assert_eq!(names, ["publish_tf", "map.max_features", "map.when_full", "map.forget_after_s"]);
///
/// let mut config = Config::default();
/// config.map.forget_after_s = -1.0;
/// let refused = check(&config, Config::SPECS).unwrap_err().to_string();
/// assert_eq!(refused, "parameter 'map.forget_after_s' is -1.0; allowed: 0 … 1000000000");
/// ```
///
/// # A line
/// `name: Type = default` and then, in any order, after commas, what is to be said of it. Each word is a function of
/// [`Spec`](crate::settings::Spec), so that a wrong one is an error there and then:
///
/// | word | meaning | without it |
/// |---|---|---|
/// | `within 0.0..=1.0` | a finite number in this interval | any value of the type |
/// | `one_of WhenFull::WORDS` | one of these words | any value of the type |
/// | `names` | a list of names | any value of the type |
/// | `unit "m/s"` | unit of the number | a pure number, or no number |
/// | `runtime` | may change while running | a change needs a restart |
///
/// `name: Type;` without default is a group: `Type` is a struct of settings itself, whose names follow after a dot.
/// `name: Type, specs TABLE;` is a group whose settings mean something else in each place: its table is what
/// `TABLE.describe(description)` gives, an array of [`Spec`](crate::settings::Spec)s known at compile time.
///
/// # What it makes
/// The struct with public fields, `Clone`, `Debug`, `PartialEq` and serde's traits (a missing field has its default,
/// an unknown one is an error), `Default`, and [`Described`](crate::settings::Described). The crate that calls it
/// needs serde. Attributes above the struct are kept.
#[macro_export]
macro_rules! settings {
    ($(
        $(#[$attribute:meta])*
        pub struct $struct:ident {
            $(
                $(#[doc = $doc:literal])+
                $name:ident : $type:ty $(= $default:expr)? $(, $word:ident $($value:expr)?)* ;
            )+
        }
    )+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $struct {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl ::core::default::Default for $struct {
            fn default() -> Self {
                Self { $($name: $crate::__setting!(default $($default)?),)+ }
            }
        }

        impl $crate::settings::Described for $struct {
            const SPECS: &'static [$crate::settings::Spec] = {
                use $crate::settings::table::{Entry, count, names, names_length, table};
                const ENTRIES: &[Entry] = &[$(
                    $crate::__setting!(entry $name: $type, [$($doc)+] $(= $default)? $(, $word $($value)?)*)
                ),+];
                const NAMES: &[u8] = &names::<{ names_length(ENTRIES) }>(ENTRIES);
                &table::<{ count(ENTRIES) }>(ENTRIES, NAMES)
            };
        }
    )+};
}

/// One line of [`settings!`]: its default, and its entry in the table.
#[doc(hidden)]
#[macro_export]
macro_rules! __setting {
    (default) => { ::core::default::Default::default() };
    (default $default:expr) => { $default };
    (entry $name:ident: $type:ty, [$($doc:literal)+] = $default:expr $(, $word:ident $($value:expr)?)*) => {
        Entry::Setting($crate::settings::Spec::new(::core::stringify!($name), $crate::__setting!(description $($doc)+))
            $(.$word($($value)?))*)
    };
    (entry $name:ident: $type:ty, [$($doc:literal)+]) => {
        Entry::Group(::core::stringify!($name), <$type as $crate::settings::Described>::SPECS)
    };
    (entry $name:ident: $type:ty, [$($doc:literal)+], specs $table:expr) => {
        Entry::Group(::core::stringify!($name), &$table.describe($crate::__setting!(description $($doc)+)))
    };
    (description $($doc:literal)+) => {{
        use $crate::settings::table::{description, description_length, text};
        const DOC: &str = ::core::concat!($($doc, "\n"),+);
        const BYTES: [u8; description_length(DOC)] = description(DOC);
        text(&BYTES)
    }};
}

/// Declares an enum whose values are words in a file of settings: its `WORDS` are for `one_of` in [`settings!`], and
/// serde reads and writes the same ones. Attributes above the enum and its values are kept.
#[macro_export]
macro_rules! words {
    ($(
        $(#[$attribute:meta])*
        pub enum $enum:ident {
            $($(#[$of_value:meta])+ $value:ident = $word:literal,)+
        }
    )+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $enum {
            $($(#[$of_value])+ #[serde(rename = $word)] $value,)+
        }

        impl $enum {
            /// The words for the values, in their order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }
    )+};
}
