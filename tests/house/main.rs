//! The order of the house: among the files of a crate, uses run in one direction, and no crate is too large.
//!
//! A file uses another one if it names something of it: in a `use`, or in a path from `crate`, `super` or a child
//! module. A name that is re-exported counts for the file that defines it. Methods are called without a path and do
//! not count, nor do tests (`tests/`, `tests.rs`, `*_tests.rs`, `#[cfg(test)] mod …`) and `lib.rs`, which re-exports
//! everything.

mod words;
mod workspaces;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines without tests beyond which a crate is two crates (the design's figure).
const MOST_LINES: usize = 9_000;

/// The path of a module from the root of its crate, which is the path of its file; of a name, with the name behind it.
type Module = Vec<String>;

/// What a file says of others.
#[derive(Default)]
struct File {
    /// Names of its public items, methods included.
    defined: BTreeSet<String>,
    /// What it has brought in by `use`: the path of each name.
    used: BTreeMap<String, Module>,
    /// The paths of which it names something.
    named: Vec<Module>,
    /// Lines without tests.
    lines: usize,
}

/// The words and signs of a text in Rust, with the lines they stand on: no comments and no literals.
fn words(text: &str) -> Vec<(String, usize)> {
    let (signs, mut words, mut line, mut at) = (text.chars().collect::<Vec<_>>(), Vec::new(), 0, 0);
    let starts = |at: usize, with: &str| with.chars().eq(signs[at..].iter().copied().take(with.len()));
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    while at < signs.len() {
        let begin = at;
        let hashes = signs[at + 1..].iter().take_while(|sign| **sign == '#').count();
        if starts(at, "//") {
            at += signs[at..].iter().take_while(|sign| **sign != '\n').count();
        } else if signs[at] == 'r' && signs.get(at + 1 + hashes) == Some(&'"') {
            let end = format!("\"{}", "#".repeat(hashes));
            at += 2 + hashes;
            while at < signs.len() && !starts(at, &end) {
                at += 1;
            }
            at += end.len();
        } else if signs[at] == '"' {
            at += 1;
            while at < signs.len() && signs[at] != '"' {
                at += if signs[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if starts(at, "'\\") {
            at += 3 + signs[at + 3..].iter().take_while(|sign| **sign != '\'').count() + 1;
        } else if signs[at] == '\'' && signs.get(at + 2) == Some(&'\'') {
            at += 3;
        } else if is_word(signs[at]) {
            at += signs[at..].iter().take_while(|sign| is_word(**sign)).count();
            words.push((signs[begin..at].iter().collect(), line));
        } else {
            at += if starts(at, "::") { 2 } else { 1 };
            if !signs[begin].is_whitespace() {
                words.push((signs[begin..at].iter().collect(), line));
            }
        }
        line += signs[begin..at.min(signs.len())].iter().filter(|sign| **sign == '\n').count();
    }
    words
}

/// Leaves out test modules; says how many lines they have.
fn without_tests(words: &[(String, usize)]) -> (Vec<&str>, usize) {
    let (mut kept, mut lines, mut at) = (Vec::new(), 0, 0);
    let says = |at: usize, what: &str| {
        words[at..].iter().map(|(word, _)| word.as_str()).zip(what.split(' ')).all(|(a, b)| a == b)
    };
    while at < words.len() {
        let visibility = if says(at, "# [ cfg ( test ) ] pub") { 8 } else { 7 };
        let is_tests =
            says(at, "# [ cfg ( test ) ]") && at + visibility + 2 < words.len() && says(at + visibility, "mod");
        if is_tests && says(at + visibility + 2, "{") {
            let begin = at;
            at = closing(words.iter().map(|(word, _)| word.as_str()), at + visibility + 2);
            lines += words[at.min(words.len() - 1)].1 + 1 - words[begin].1;
            at += 1;
        } else {
            kept.push(words[at].0.as_str());
            at += 1;
        }
    }
    (kept, lines)
}

/// Where the brace that opens at `open` is closed.
fn closing<'a>(words: impl Iterator<Item = &'a str>, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, word) in words.enumerate().skip(open) {
        match word {
            "{" => depth += 1,
            "}" if depth == 1 => return at,
            "}" => depth -= 1,
            _ => {}
        }
    }
    usize::MAX
}

/// Each path of a `use`, with the name that it has here.
fn expand(tree: &[&str], prefix: &[String], paths: &mut Vec<(Module, String)>) {
    let mut path = prefix.to_vec();
    for (at, word) in tree.iter().enumerate() {
        match *word {
            "{" => {
                let inner = &tree[at + 1..closing(tree.iter().copied(), at).min(tree.len())];
                let mut depth = 0_i32;
                let parts = inner.split(|word| {
                    depth += i32::from(*word == "{") - i32::from(*word == "}");
                    *word == "," && depth == 0
                });
                return parts.filter(|part| !part.is_empty()).for_each(|part| expand(part, &path, paths));
            }
            "as" => return paths.push((path, tree[at + 1].to_owned())),
            "::" => {}
            "self" if !path.is_empty() => {}
            word => path.push(word.to_owned()),
        }
    }
    let name = path.last().cloned().unwrap_or_default();
    paths.push((path, name));
}

/// The files of a crate, by module.
struct House(BTreeMap<Module, File>);

impl House {
    /// Of the texts of modules.
    fn of(texts: &BTreeMap<Module, String>) -> Self {
        let mut house = Self(texts.keys().map(|module| (module.clone(), File::default())).collect());
        for (module, text) in texts {
            let words = words(text);
            let (words, lines_of_tests) = without_tests(&words);
            let mut file = house.read(module, &words);
            file.lines = text.lines().count() - lines_of_tests;
            house.0.insert(module.clone(), file);
        }
        house
    }

    /// Of all files below a folder that are no tests.
    fn open(folder: &Path) -> Self {
        let (mut texts, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
        while let Some(next) = folders.pop() {
            for path in fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
                let below = path.strip_prefix(folder).unwrap().with_extension("");
                let mut module: Module = below.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
                let name = module.last().cloned().unwrap();
                if name == "tests" || name.ends_with("_tests") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    if name == "mod" || below.as_os_str() == "lib" {
                        module.pop();
                    }
                    texts.insert(module, fs::read_to_string(&path).unwrap());
                }
            }
        }
        Self::of(&texts)
    }

    /// What the words of a file say. Paths in a module that stands in the file itself are seen from there.
    fn read(&self, module: &Module, words: &[&str]) -> File {
        let mut file = File::default();
        let (mut at, mut depth, mut inner, mut is_public) = (0, 0, Vec::new(), false);
        while at < words.len() {
            let here = [module.as_slice(), &inner.iter().map(|(_, name)| name).cloned().collect::<Module>()].concat();
            let next = words.get(at + 1).copied().unwrap_or_default();
            match words[at] {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inner.retain(|(outside, _)| *outside < depth);
                }
                "mod" if words.get(at + 2) == Some(&"{") => inner.push((depth, next.to_owned())),
                "pub" => {
                    at += words[at..].iter().position(|word| next == "(" && *word == ")").unwrap_or(0);
                    (at, is_public) = (at + 1, true);
                    continue;
                }
                "unsafe" => {
                    at += 1;
                    continue;
                }
                "use" => {
                    let length = words[at..].iter().position(|word| *word == ";").unwrap_or(words.len() - at);
                    self.read_use(module, (&here, &words[at + 1..at + length]), is_public, &mut file);
                    at += length;
                }
                "struct" | "enum" | "fn" | "const" | "type" | "trait" | "static" | "union" if is_public => {
                    file.defined.insert(if next == "fn" { words[at + 2] } else { next }.to_owned());
                }
                word if next == "::" && (at == 0 || words[at - 1] != "::") => {
                    let further = words[at + 1..].chunks(2).take_while(|pair| pair.len() == 2 && pair[0] == "::");
                    let path: Module =
                        std::iter::once(word).chain(further.map(|pair| pair[1])).map(str::to_owned).collect();
                    file.named.extend(self.absolute(&here, &path));
                }
                _ => {}
            }
            (at, is_public) = (at + 1, false);
        }
        file
    }

    /// A `use` in the module `here`. Where a file re-exports its children, it does not use them.
    fn read_use(&self, module: &Module, (here, tree): (&Module, &[&str]), is_public: bool, file: &mut File) {
        let mut paths = Vec::new();
        expand(tree, &[], &mut paths);
        for (path, name) in paths {
            let Some(path) = self.absolute(here, &path) else { continue };
            if !(is_public && path.starts_with(module)) {
                file.named.push(path.clone());
            }
            file.used.insert(name, path);
        }
    }

    /// A path as seen from the root of the crate; `None` of one that leads elsewhere.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let up = path.iter().take_while(|step| *step == "super").count();
        let child = || [module.as_slice(), &path[..1]].concat();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module.as_slice(), &path[1..]].concat()),
            "super" => Some([&module[..module.len().saturating_sub(up)], &path[up..]].concat()),
            _ if self.0.contains_key(&child()) => Some([module.as_slice(), path].concat()),
            _ => None,
        }
    }

    /// The file that defines what a path names, and its name.
    fn definition(&self, path: &Module, depth: usize) -> (Module, String) {
        if self.0.contains_key(path) {
            return (path.clone(), "the module".to_owned());
        }
        let module = (0..path.len()).rev().map(|length| &path[..length]).find(|module| self.0.contains_key(*module));
        let module = module.unwrap_or_default();
        let (name, file) = (&path[module.len()], self.0.get(module));
        match file.and_then(|file| file.used.get(name).filter(|_| !file.defined.contains(name))) {
            Some(origin) if depth > 0 && origin != path => {
                self.definition(&[origin.as_slice(), &path[module.len() + 1..]].concat(), depth - 1)
            }
            _ => (module.to_vec(), name.clone()),
        }
    }

    /// Which names of which other files each file uses.
    fn uses(&self) -> BTreeMap<&Module, BTreeMap<Module, BTreeSet<String>>> {
        /// A name is re-exported by so many files on its way, at most.
        const DEPTH: usize = 8;
        let mut uses: BTreeMap<&Module, BTreeMap<Module, BTreeSet<String>>> = BTreeMap::new();
        for (module, file) in self.0.iter().filter(|(module, _)| !module.is_empty()) {
            for (of, name) in file.named.iter().map(|path| self.definition(path, DEPTH)).filter(|(of, _)| of != module)
            {
                uses.entry(module).or_default().entry(of).or_default().insert(name);
            }
        }
        uses
    }

    /// The cycles, each as the list of its files with the names that they use of each other.
    fn cycles(&self) -> Vec<String> {
        let uses = self.uses();
        let reached_from = |start: &Module| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![start.clone()]);
            while let Some(next) = open.pop() {
                let further = uses.get(&next).into_iter().flat_map(BTreeMap::keys);
                open.extend(further.filter(|of| reached.insert((*of).clone())).cloned());
            }
            reached
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            uses.keys().map(|module| (*module, reached_from(module))).collect();
        let cycle_of = |module: &Module| -> BTreeSet<Module> {
            let returns = |of: &&Module| reached.get(of).is_some_and(|reached| reached.contains(module));
            reached[module].iter().filter(returns).cloned().collect()
        };
        let cycles: BTreeSet<_> =
            reached.keys().map(|module| cycle_of(module)).filter(|cycle| !cycle.is_empty()).collect();
        let told = |cycle: &BTreeSet<Module>| {
            let mut text = String::new();
            for (module, of, names) in
                cycle.iter().flat_map(|module| uses[module].iter().map(move |(of, names)| (module, of, names)))
            {
                if cycle.contains(of) {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    writeln!(text, "  {} uses of {}: {}", module.join("/"), of.join("/"), names.join(", ")).unwrap();
                }
            }
            text
        };
        cycles.iter().map(told).collect()
    }
}

/// The folders of sources of the workspace.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let mut folders: Vec<PathBuf> = crates.filter(|folder| folder.is_dir()).collect();
    folders.extend([root.join("src"), root.join("python/src")]);
    folders.sort();
    folders.iter().map(|folder| folder.strip_prefix(root).unwrap().to_owned()).collect()
}

#[test]
fn no_file_of_a_crate_is_in_a_cycle_of_uses() {
    let mut found = String::new();
    for folder in folders() {
        let house = House::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder));
        assert!(!house.0.is_empty(), "{} has no files", folder.display());
        for cycle in house.cycles() {
            writeln!(found, "{}:\n{cycle}", folder.display()).unwrap();
        }
    }
    assert!(found.is_empty(), "files that use each other, move what both need to a file below them:\n{found}");
}

#[test]
fn no_crate_is_too_large() {
    for folder in folders().iter().filter(|folder| folder.starts_with("crates")) {
        let house = House::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
        let lines: usize = house.0.values().map(|file| file.lines).sum();
        println!("{lines:6} lines without tests  {}", folder.display());
        assert!(lines <= MOST_LINES, "{} has {lines} lines without tests; at most {MOST_LINES}", folder.display());
    }
}

fn house(files: &[(&str, &str)]) -> House {
    let module = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    House::of(&files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect())
}

#[test]
fn a_cycle_through_a_reexport_is_found_with_its_names() {
    let files = [
        ("", "mod far; mod near; pub use far::{Far, go};"),
        ("near", "mod deep; pub use deep::Deep; pub fn near() {}"),
        ("near/deep", "use crate::{Far, go as other}; pub struct Deep(Far);"),
        ("far", "use super::near::{self, Deep}; pub struct Far; pub(crate) fn go(_: &Deep) { near::near() }"),
    ];
    let cycles = house(&files).cycles();
    assert_eq!(cycles, ["  far uses of near/deep: Deep\n  near/deep uses of far: Far, go\n"]);
}

#[test]
fn a_child_that_uses_of_its_parent_what_uses_the_child_is_in_a_cycle() {
    let parent = "mod child; pub struct Whole(child::Part); pub struct Other;";
    let cycles = house(&[("parent", parent), ("parent/child", "pub struct Part; fn of(_: &super::Other) {}")]).cycles();
    assert_eq!(cycles, ["  parent uses of parent/child: Part\n  parent/child uses of parent: Other\n"]);
}

#[test]
fn a_module_in_a_file_is_that_file() {
    let inner = "pub mod b { use super::B; fn of() { super::super::go(); super::B::of() } } pub struct B;";
    assert_eq!(house(&[("", "mod a; pub fn go() { a::b::of() }"), ("a", inner)]).cycles(), Vec::<String>::new());
}

#[test]
fn tests_comments_and_literals_are_no_uses_and_a_facade_is_none() {
    let above = r##"
        // use crate::above::Above;
        const TEXT: &str = r#"crate::above::"quoted"::Above"#;
        const SIGNS: [char; 3] = ['"', '\'', '{'];
        fn of<'a>(text: &'a str) -> &'a str { "super::above" }
        pub struct Below;
        #[cfg(test)]
        mod tests {
            use crate::above::Above;
        }
    "##;
    let files = [
        ("", "pub mod above;"),
        ("above", "mod below; pub use below::Below; pub struct Above(Below);"),
        ("above/below", above),
    ];
    let house = house(&files);
    assert_eq!(house.cycles(), Vec::<String>::new());
    assert_eq!(house.0.values().map(|file| file.lines).sum::<usize>(), 2 + above.lines().count() - 4);
}
