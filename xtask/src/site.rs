//! The documentation as one site with search: `docs/` in the order of `docs/SUMMARY.md`, the command line as it
//! explains itself, and the libraries. mdBook makes it; what it takes is laid out in `target/site/src` first.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{cargo, checks, formulas, tools};

const MDBOOK: &str = "0.5.4";

/// Pages that are made of the code, and are nowhere in the repository.
const GENERATED: [&str; 3] = ["command-line.md", "python-reference.md", "rust.md"];

/// Folders with pages and pictures; a page lies in the same one on the site, without `docs/`.
const FOLDERS: [&str; 3] = ["docs", "docs/figures", "docs/lab"];

/// What mdBook makes of the beginning and of the end of a block of language `math`.
const FORMULA: (&str, &str) = ("<pre><code class=\"language-math\">", "</code></pre>");

/// Makes the site in `target/site/html`, and says where.
pub fn build(root: &Path, with_libraries: bool) -> Result<ExitCode> {
    let site = root.join("target/site");
    let pages = lay_out(root, &site.join("src"))?;
    for (name, text) in [
        ("command-line.md", command_line(root)?),
        ("python-reference.md", python_module(root)?),
        ("rust.md", crates(root, with_libraries)?),
    ] {
        fs::write(site.join("src").join(name), text)?;
    }
    fs::copy(root.join("docs/book.toml"), site.join("book.toml")).context("docs/book.toml")?;
    let mdbook = tools::own(root, "mdbook", MDBOOK, &["--no-default-features", "--features", "search"])?;
    let done = Command::new(mdbook).arg("build").arg(&site).status().context("mdbook could not be started")?;
    if !done.success() {
        bail!("mdbook failed; what it was given is in {}", site.join("src").display());
    }
    let html = site.join("html");
    let drawn = formulas::draw_between(&html, FORMULA)?;
    if with_libraries {
        if checks::document(root)? != ExitCode::SUCCESS {
            return Ok(ExitCode::FAILURE);
        }
        copy(&root.join("target/doc"), &html.join("rust"))?;
    }
    eprintln!("  ok  {pages} pages, {drawn} formulas drawn; open {}", html.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Lays out the pages of `docs/` and the README, with links that hold there; returns how many there are. A page that
/// the summary forgets is put at its end.
fn lay_out(root: &Path, source: &Path) -> Result<usize> {
    if source.exists() {
        fs::remove_dir_all(source).with_context(|| format!("could not empty {}", source.display()))?;
    }
    fs::create_dir_all(source)?;
    let mut summary = fs::read_to_string(root.join("docs/SUMMARY.md")).context("docs/SUMMARY.md")?;
    let listed = links(&summary);
    let mut pages = BTreeSet::new();
    for folder in FOLDERS {
        let place = folder.strip_prefix("docs").unwrap_or(folder).trim_start_matches('/');
        fs::create_dir_all(source.join(place))?;
        for entry in fs::read_dir(root.join(folder)).with_context(|| folder.to_owned())? {
            let path = entry?.path();
            let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let name = if place.is_empty() { file } else { format!("{place}/{file}") };
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("md") if name != "SUMMARY.md" => {
                    let text = fs::read_to_string(&path)?;
                    // A name in angle brackets is no markup.
                    let text = text.replace("<name>", "&lt;name&gt;");
                    fs::write(source.join(&name), for_site(&text, folder))?;
                    pages.insert(name);
                }
                Some("svg" | "png" | "webp") => {
                    fs::copy(&path, source.join(&name))?;
                }
                _ => {}
            }
        }
    }
    for (name, path) in
        [("README.md", "README.md"), ("CONTRIBUTING.md", "CONTRIBUTING.md"), ("CHANGELOG.md", "CHANGELOG.md")]
    {
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        fs::write(source.join(name), for_site(&without_badges(&text), ""))?;
        pages.insert(name.to_owned());
    }
    let is_there = |name: &String| pages.contains(name) || GENERATED.contains(&name.as_str());
    if let Some(missing) = listed.iter().find(|name| !is_there(name)) {
        bail!("docs/SUMMARY.md lists {missing}, which is not there: correct its name, or take it out");
    }
    let forgotten: Vec<&String> = pages.iter().filter(|name| !listed.contains(*name)).collect();
    if !forgotten.is_empty() {
        summary.push_str("\n# More\n\n");
        for name in &forgotten {
            let text = fs::read_to_string(source.join(name))?;
            let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(name);
            summary.push_str(&format!("- [{title}]({name})\n"));
        }
    }
    fs::write(source.join("SUMMARY.md"), summary)?;
    Ok(pages.len() + GENERATED.len())
}

/// A page of the root without the badges of the service that hosts the repository, whose addresses are relative.
fn without_badges(text: &str) -> String {
    text.lines().filter(|line| !line.contains("=\"../../")).fold(String::new(), |page, line| page + line + "\n")
}

/// The pages that a text links to, without anchors.
fn links(text: &str) -> BTreeSet<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.split('#').next().unwrap_or(target).to_owned()).filter(|t| t.ends_with(".md")).collect()
}

/// A page as the site has it: links between pages lead to pages, and what is linked in the repository is named instead.
/// `folder` is where the page lies, "" for the root.
fn for_site(text: &str, folder: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at);
        let Some(end) = after.find(')') else { break };
        let target = &after[2..end];
        rest = &after[end + 1..];
        match place(target, folder) {
            Place::Page(page) => out.push_str(&format!("{before}]({page})")),
            Place::Elsewhere => out.push_str(&format!("{before}]({target})")),
            Place::Repository(path) => {
                // The words of the link stay, and the path follows them.
                let open = before.rfind('[').unwrap_or(before.len());
                let words = &before[(open + 1).min(before.len())..];
                let named = if words.contains(&path) { words.to_owned() } else { format!("{words} (`{path}`)") };
                out.push_str(&format!("{}{named}", &before[..open]));
            }
        }
    }
    out.push_str(rest);
    out
}

enum Place {
    Page(String),
    Repository(String),
    Elsewhere,
}

fn place(target: &str, folder: &str) -> Place {
    if target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") {
        return Place::Elsewhere;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = from_root(path, folder);
    let is_page = |path: &str| ["md", "svg", "png", "webp"].iter().any(|end| path.ends_with(&format!(".{end}")));
    let on_site = path
        .strip_prefix("docs/")
        .or(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].iter().find(|p| **p == path).copied());
    match on_site {
        // The list of pages is the side bar there.
        Some(name) if is_page(name) && name != "SUMMARY.md" => {
            // From a page in a folder of the site, the way leads up first.
            let inside = folder.strip_prefix("docs/").unwrap_or_default();
            let page = match name.strip_prefix(&format!("{inside}/")) {
                Some(beside) if !inside.is_empty() => beside.to_owned(),
                _ if inside.is_empty() => name.to_owned(),
                _ => format!("../{name}"),
            };
            Place::Page(if anchor.is_empty() { page } else { format!("{page}#{anchor}") })
        }
        _ => Place::Repository(path),
    }
}

/// The path from the root of what a page in `folder` links to.
fn from_root(target: &str, folder: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => _ = parts.pop(),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The command line, as `lienav help` explains it.
fn command_line(root: &Path) -> Result<String> {
    let help = |words: &[&str]| -> Result<String> {
        let mut command = cargo();
        command.current_dir(root).args(["run", "--quiet", "--no-default-features", "--bin", "lienav", "--"]);
        let done = command.args(words).arg("--help").output().context("cargo could not be started")?;
        if !done.status.success() {
            bail!("`lienav {} --help` failed: {}", words.join(" "), String::from_utf8_lossy(&done.stderr));
        }
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let top = help(&[])?;
    let mut page =
        format!("# The command line\n\nAs `lienav --help` explains it.\n\n```text\n{}\n```\n", top.trim_end());
    for name in commands(&top) {
        let text = help(&[&name])?;
        page.push_str(&format!("\n## lienav {name}\n\n```text\n{}\n```\n", text.trim_end()));
        for below in commands(&text) {
            let text = help(&[&name, &below])?;
            page.push_str(&format!("\n### lienav {name} {below}\n\n```text\n{}\n```\n", text.trim_end()));
        }
    }
    Ok(page)
}

/// The Python module, as its docstrings explain it.
fn python_module(root: &Path) -> Result<String> {
    let done = Command::new("python3").current_dir(root).arg("python/reference.py").output();
    let done = done.context("python3 could not be started")?;
    if !done.status.success() {
        bail!("python/reference.py failed: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(String::from_utf8(done.stdout)?)
}

/// The crates, each with the first paragraph of its documentation, and a link where that is on the site, too.
fn crates(root: &Path, is_linked: bool) -> Result<String> {
    let mut page = "# The Rust libraries\n\n".to_owned();
    page.push_str(if is_linked {
        "A crate's name leads to its documentation.\n"
    } else {
        "`cargo xtask doc` makes their documentation under `target/doc/`; `cargo xtask docs --libraries` puts it here.\n"
    });
    let mut folders: Vec<PathBuf> = fs::read_dir(root.join("crates"))?.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.push(root.to_path_buf());
    for folder in folders {
        let Ok(source) = fs::read_to_string(folder.join("src/lib.rs")) else { continue };
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let name = name.with_context(|| format!("{} states no name", folder.join("Cargo.toml").display()))?;
        let words = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let first: Vec<&str> = words.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
        // A link between items leads nowhere on this page.
        let first = first.join(" ").replace("[`", "`").replace("`]", "`");
        let title =
            if is_linked { format!("[{name}](rust/{}/index.html)", name.replace('-', "_")) } else { name.into() };
        page.push_str(&format!("\n## {title}\n\n{first}\n"));
    }
    Ok(page)
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| line.starts_with("  "));
    let names = listed.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path: PathBuf = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        crate::project_root()
    }

    #[test]
    fn links_hold_on_the_site_and_what_is_in_the_repository_is_named() {
        let page = "[a](running.md#in), [b](../README.md), [`Filter`](../crates/slam/src/filter.rs), ![p](demo.svg), [w](https://x.org)";
        let expected = "[a](running.md#in), [b](README.md), `Filter` (`crates/slam/src/filter.rs`), ![p](demo.svg), [w](https://x.org)";
        assert_eq!(for_site(page, "docs"), expected);
        assert_eq!(
            for_site("[x](docs/filters.md) [docs](docs) [LICENSE](LICENSE)", ""),
            "[x](filters.md) docs LICENSE"
        );
        assert_eq!(for_site("[All pages](docs/SUMMARY.md)", ""), "All pages (`docs/SUMMARY.md`)");
        assert_eq!(without_badges("# a\n<a href=\"../../actions/ci.yml\">b</a>\nc\n"), "# a\nc\n");
        let page =
            "[a](papers.md), [b](../filters.md#gate), [c](../../README.md), ![p](../demo.svg), [d](../../src/lib.rs)";
        let expected =
            "[a](papers.md), [b](../filters.md#gate), [c](../README.md), ![p](../demo.svg), d (`src/lib.rs`)";
        assert_eq!(for_site(page, "docs/lab"), expected);
    }

    #[test]
    fn every_page_has_its_place_and_every_link_between_pages_leads_somewhere() {
        let folder = std::env::temp_dir().join(format!("lienav-site-{}", std::process::id()));
        lay_out(&root(), &folder).unwrap();
        let mut broken = Vec::new();
        let listed = links(&fs::read_to_string(folder.join("SUMMARY.md")).unwrap());
        let places = ["", "lab/"];
        for (place, entry) in
            places.iter().flat_map(|place| fs::read_dir(folder.join(place)).unwrap().map(move |entry| (place, entry)))
        {
            let path = entry.unwrap().path();
            let name = format!("{place}{}", path.file_name().unwrap().to_string_lossy());
            if !name.ends_with(".md") {
                continue;
            }
            assert!(name == "SUMMARY.md" || listed.contains(&name), "{name} is not in the summary");
            let text = fs::read_to_string(&path).unwrap();
            let missing = |target: &String| {
                let generated = GENERATED.contains(&target.trim_start_matches("../"));
                !generated && !target.contains("://") && !path.with_file_name(target).exists()
            };
            broken.extend(links(&text).into_iter().filter(missing).map(|target| format!("{name}: {target}")));
        }
        fs::remove_dir_all(&folder).unwrap();
        assert!(broken.is_empty(), "{broken:?}");
    }

    #[test]
    fn the_reference_has_every_crate_and_what_the_python_module_offers() {
        let page = crates(&root(), true).unwrap();
        for name in ["lienav", "lienav-slam", "lienav-lie", "lienav-eval"] {
            assert!(page.contains(&format!("## [{name}](rust/{}/index.html)\n\n", name.replace('-', "_"))), "{page}");
        }
        let page = python_module(&root()).unwrap();
        let face = fs::read_to_string(root().join("python/lienav/__init__.py")).unwrap();
        let offered =
            face.split("__all__ = [").nth(1).unwrap().lines().filter_map(|line| line.trim().strip_prefix('"'));
        let names: Vec<&str> =
            offered.filter_map(|line| line.strip_suffix("\",")).filter(|n| !n.starts_with('_')).collect();
        assert!(names.len() > 25, "{names:?}");
        for name in names {
            let heading = [format!("## {name}\n"), format!("## lienav.{name}\n")];
            assert!(heading.iter().any(|heading| page.contains(heading)), "python/reference.py leaves out {name}");
        }
        // What a compiled class brings is there, with shapes and units.
        assert!(page.contains("### Slam.odometry") && page.contains("forward m/s, leftward m/s, rad/s"), "{page}");
        assert!(page.contains("| `covariance` | `Floats` | (3, 3) of (x, y, θ) in the map frame. |"), "{page}");
    }

    #[test]
    fn the_commands_of_a_help_text_are_found() {
        let help = "About\n\nCommands:\n  evaluate  Run filters\n              and more\n  map       Maps\n  help      Print\n\nOptions:\n  -h";
        assert_eq!(commands(help), ["evaluate", "map"]);
    }
}
