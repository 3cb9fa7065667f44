//! How [`settings!`](crate::settings!) makes a table of settings while the program is compiled: names of nested
//! structs are joined by dots, and descriptions are taken from doc comments. A panic here is an error of the compiler.

use super::Spec;

/// A field of a struct of settings.
pub enum Entry {
    /// A setting.
    Setting(Spec),
    /// A struct of settings: its name, and its table.
    Group(&'static str, &'static [Spec]),
}

/// How many settings there are.
pub const fn count(entries: &[Entry]) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < entries.len() {
        sum += match &entries[i] {
            Entry::Setting(_) => 1,
            Entry::Group(_, specs) => specs.len(),
        };
        i += 1;
    }
    sum
}

/// How many bytes all names of settings in groups have together.
pub const fn names_length(entries: &[Entry]) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < entries.len() {
        if let Entry::Group(group, specs) = &entries[i] {
            let mut k = 0;
            while k < specs.len() {
                sum += group.len() + 1 + specs[k].name.len();
                k += 1;
            }
        }
        i += 1;
    }
    sum
}

/// The names of all settings in groups, one right after the other.
pub const fn names<const N: usize>(entries: &[Entry]) -> [u8; N] {
    let (mut out, mut at, mut i) = ([0; N], 0, 0);
    while i < entries.len() {
        if let Entry::Group(group, specs) = &entries[i] {
            let mut k = 0;
            while k < specs.len() {
                (out, at) = appended(out, at, group);
                (out, at) = appended(out, at, ".");
                (out, at) = appended(out, at, specs[k].name);
                k += 1;
            }
        }
        i += 1;
    }
    out
}

/// All settings, those in groups with names out of `names`.
pub const fn table<const N: usize>(entries: &[Entry], names: &'static [u8]) -> [Spec; N] {
    let (mut out, mut n, mut rest, mut i) = ([Spec::new("", ""); N], 0, names, 0);
    while i < entries.len() {
        match &entries[i] {
            Entry::Setting(spec) => {
                out[n] = *spec;
                n += 1;
            }
            Entry::Group(group, specs) => {
                let mut k = 0;
                while k < specs.len() {
                    let (name, others) = rest.split_at(group.len() + 1 + specs[k].name.len());
                    out[n] = Spec { name: text(name), ..specs[k] };
                    (n, rest, k) = (n + 1, others, k + 1);
                }
            }
        }
        i += 1;
    }
    out
}

/// How long the first paragraph of a doc comment is, on one line.
pub const fn description_length(doc: &str) -> usize {
    walk::<0>(doc).1
}

/// The first paragraph of a doc comment, on one line. `doc` has one space ahead of each line, as rustc hands it on.
pub const fn description<const N: usize>(doc: &str) -> [u8; N] {
    walk::<N>(doc).0
}

const fn walk<const N: usize>(doc: &str) -> ([u8; N], usize) {
    let (bytes, mut out, mut n, mut i) = (doc.as_bytes(), [0; N], 0, 0);
    while i < bytes.len() {
        if bytes[i] == b' ' {
            i += 1;
        }
        if i >= bytes.len() || bytes[i] == b'\n' {
            break;
        }
        if n > 0 {
            if n < N {
                out[n] = b' ';
            }
            n += 1;
        }
        while i < bytes.len() && bytes[i] != b'\n' {
            if n < N {
                out[n] = bytes[i];
            }
            (n, i) = (n + 1, i + 1);
        }
        i += 1;
    }
    (out, n)
}

/// Bytes as text.
pub const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("the text of a setting is no UTF-8"),
    }
}

const fn appended<const N: usize>(mut out: [u8; N], at: usize, text: &str) -> ([u8; N], usize) {
    let (bytes, mut i) = (text.as_bytes(), 0);
    while i < bytes.len() {
        out[at + i] = bytes[i];
        i += 1;
    }
    (out, at + bytes.len())
}
