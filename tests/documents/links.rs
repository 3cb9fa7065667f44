//! Links between pages, to their headings, and to files of the repository; pages that sources name.

use super::{paths, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Pages of the site that are made of the code, and are nowhere in the repository.
const GENERATED: [&str; 3] = ["docs/command-line.md", "docs/python-reference.md", "docs/rust.md"];

/// A page without what stands in blocks of code, which links nowhere.
fn prose(text: &str) -> String {
    let mut is_fenced = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced && !line.starts_with("    ") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for heading in headings {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = seen.entry(slug.clone()).or_default();
        found.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    found
}

/// The path from the root of what a page in `folder` links to.
fn resolved(folder: &Path, target: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let (mut broken, mut count) = (Vec::new(), 0);
    for page in paths() {
        let name = page.strip_prefix(root()).unwrap().to_path_buf();
        let text = fs::read_to_string(&page).unwrap();
        for target in prose(&text).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
            let path =
                if file.is_empty() { name.clone() } else { resolved(name.parent().unwrap_or(Path::new("")), file) };
            // The summary is read on the site, where the pages of the root lie beside the others.
            let on_site = name.ends_with("SUMMARY.md").then(|| root().join(file)).filter(|path| path.exists());
            let place = on_site.unwrap_or_else(|| root().join(&path));
            let is_generated = GENERATED.iter().any(|page| path == Path::new(page));
            let has_heading = |anchor: &str| anchors(&fs::read_to_string(&place).unwrap_or_default()).contains(anchor);
            if !is_generated && (!place.exists() || anchor.is_some_and(|anchor| !has_heading(anchor))) {
                broken.push(format!("{}: {target}", name.display()));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere: {broken:#?}");
    assert!(count > 100, "only {count} links were found");
}

/// Comments and messages of the sources name pages by their paths.
#[test]
fn every_page_that_a_source_names_is_there() {
    let mut files: Vec<PathBuf> = ["src", "crates", "tests", "xtask/src", "python", "config", "launch", "examples"]
        .into_iter()
        .map(|folder| root().join(folder))
        .collect();
    let mut missing = BTreeSet::new();
    while let Some(path) = files.pop() {
        if path.is_symlink() {
            // `python/crates` is `crates` once more.
        } else if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| ["rs", "py", "yaml", "js", "toml"].iter().any(|e| end == *e)) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            for rest in text.split("docs/").skip(1) {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !['-', '_', '/', '.'].contains(&c));
                let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
                let name = format!("docs/{name}");
                let is_page = name.ends_with(".md") && !GENERATED.contains(&name.as_str());
                if is_page && !root().join(&name).exists() {
                    missing.insert(format!("{}: {name}", path.strip_prefix(root()).unwrap().display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "these pages do not exist: {missing:#?}");
}

#[test]
fn anchors_are_those_of_the_site() {
    let text = "# A\n\n## What is left, and `why`\n\n```\n# no heading\n```\n## A\n## T*G: a–b\n";
    let expected = ["a", "what-is-left-and-why", "a-1", "tg-ab"];
    assert_eq!(anchors(text), expected.map(str::to_owned).into());
}
