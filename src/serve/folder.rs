//! A folder of results as pages: an index of all reports below it, and their files.

use super::{Answer, Body, HTML, JSON, TEXT};
use lienav_eval::folder::is_name_of_result;
use lienav_io::open;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The names of files that are shown, by their ends, and what they are.
const KINDS: [(&str, &str); 7] = [
    ("html", HTML),
    ("json", JSON),
    ("txt", TEXT),
    ("csv", "text/csv; charset=utf-8"),
    ("tum", TEXT),
    ("yaml", TEXT),
    ("svg", "image/svg+xml"),
];

/// So deep below the folder reports are looked for, and so many are listed.
const DEPTH: usize = 5;
const MOST_REPORTS: usize = 1000;
/// So many entries of folders are looked at.
const MOST_ENTRIES: usize = 20_000;
/// A larger file is not shown, bytes: no report is.
const MOST_BYTES: u64 = 64 << 20;
/// So much of all `report.json` is read for the index, bytes.
const MOST_OF_REPORTS: u64 = 32 << 20;

/// A folder that is shown. What is asked for lies in it, links followed, or is not answered.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Of a folder that is there.
    ///
    /// # Errors
    /// It is not there, or no folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = path.canonicalize()?;
        if root.is_dir() { Ok(Self { root }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// What a request for a path gets: the index, the report of a folder, or a file.
    pub fn answer(&self, path: &str) -> Answer {
        if path == "/" || path == "/index.html" {
            return Answer {
                headers: vec![("content-security-policy", INDEX_ONLY)],
                ..Answer::found(HTML, self.index())
            };
        }
        let Some(wanted) = self.place(path) else { return Answer::refused(404, "no such report") };
        let wanted = if wanted.is_dir() && path.ends_with('/') { wanted.join("report.html") } else { wanted };
        let Some(kind) = kind_of(&wanted) else { return Answer::refused(404, "no such report") };
        // What else is in the folder is the user's.
        let is_result = wanted.file_name().and_then(|name| name.to_str()).is_some_and(is_name_of_result);
        // A report that is a link out of the folder is none of its files either.
        let is_inside = wanted.canonicalize().is_ok_and(|found| found.starts_with(&self.root));
        if !is_result || !is_inside {
            return Answer::refused(404, "no such report");
        }
        let opened = open::regular(&wanted).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((length, file)) if length <= MOST_BYTES => {
                let policy = if kind == HTML { PAGE } else { PICTURES_ONLY };
                let body = Body::File(file, length);
                Answer { headers: vec![("content-security-policy", policy)], ..Answer::found(kind, body) }
            }
            _ => Answer::refused(404, "no such report"),
        }
    }

    /// Where a path of a request leads, if it leads into the folder.
    fn place(&self, path: &str) -> Option<PathBuf> {
        let mut place = self.root.clone();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let part = decoded(part)?;
            let components: Vec<Component<'_>> = Path::new(&part).components().collect();
            let is_plain = matches!(components.as_slice(), [Component::Normal(only)] if *only == part.as_str());
            if !is_plain || part.starts_with('.') || part.contains(['/', '\\', '\0']) {
                return None;
            }
            place.push(part);
        }
        let place = place.canonicalize().ok()?;
        place.starts_with(&self.root).then_some(place)
    }

    /// The page with all reports.
    fn index(&self) -> String {
        let (mut found, mut entries) = (Vec::new(), MOST_ENTRIES);
        look_into(&self.root, DEPTH, &mut entries, &mut found);
        found.sort();
        let (mut rows, mut left) = (String::new(), MOST_OF_REPORTS);
        for folder in &found {
            let name = folder.strip_prefix(&self.root).unwrap_or(folder).to_string_lossy().into_owned();
            let report = open::read_text(&folder.join("report.json"), left).unwrap_or_default();
            left = left.saturating_sub(report.len() as u64);
            // Writing to a String cannot fail.
            let _ = writeln!(rows, "{}", row(&report, &name, &written(&folder.join("report.html"))));
        }
        if found.is_empty() {
            rows = "<tr><td colspan=\"5\">No report yet: <code>lienav evaluate … --out FOLDER</code> writes one.</td></tr>".into();
        }
        let shown = escaped(&self.root.to_string_lossy());
        INDEX.replace("{{folder}}", &shown).replace("{{rows}}", &rows)
    }
}

/// What a report may do: draw itself, with the program and the data that are in it. Whoever has written it, it asks
/// nobody for anything and sends nothing.
const PAGE: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src \
                    data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts \
                    allow-downloads";

/// What the index may do: show itself.
const INDEX_ONLY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action \
                          'none'; frame-ancestors 'none'";

/// What an SVG may do when it is opened alone: nothing.
const PICTURES_ONLY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const INDEX: &str = include_str!("index.html");

fn kind_of(path: &Path) -> Option<&'static str> {
    let end = path.extension()?.to_str()?;
    KINDS.iter().find(|(known, _)| *known == end).map(|(_, kind)| *kind)
}

/// Folders with a page; hidden ones and links are left out.
fn look_into(folder: &Path, depth: usize, entries: &mut usize, found: &mut Vec<PathBuf>) {
    if found.len() >= MOST_REPORTS || *entries == 0 {
        return;
    }
    if folder.join("report.html").is_file() {
        found.push(folder.to_owned());
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(fewer) = entries.checked_sub(1) else { return };
        *entries = fewer;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !entry.file_name().to_string_lossy().starts_with('.') {
            look_into(&entry.path(), depth, entries, found);
        }
    }
}

/// When a file was written, as a date and a time of day in UTC; a dash where the file system does not know.
fn written(path: &Path) -> String {
    let time = fs::metadata(path).and_then(|data| data.modified()).ok();
    let seconds = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs());
    seconds.map_or_else(|| "–".to_owned(), date)
}

/// Seconds since 1970 as a date and a time of day in UTC: years begin in March, so that leap days end them.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Since 1 March of the year 0; 400 years have 146,097 days.
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (400 * cycle + year, month + 3) } else { (400 * cycle + year + 1, month - 9) };
    format!("{year}-{month:02}-{day_of_month:02} {:02}:{:02}", rest / 3600, rest / 60 % 60)
}

/// A row of the index: a link, when it was written, and of each filter what matters most.
fn row(report: &str, name: &str, written: &str) -> String {
    let link: String =
        name.split('/').filter(|part| !part.is_empty()).map(|part| format!("{}/", encoded(part))).collect();
    let link = if link.is_empty() { "report.html".to_owned() } else { link };
    let label = if name.is_empty() { "." } else { name };
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    let runs = match &report {
        Value::Array(runs) => runs.iter().collect(),
        one => vec![one],
    };
    let cell = |key: &str, unit: &str| -> String {
        let said = runs.iter().map(|run| match run.get(key) {
            Some(Value::Number(number)) => {
                number.as_f64().map_or_else(|| "–".into(), |value| format!("{value:.4}{unit}"))
            }
            Some(Value::String(text)) => escaped(text),
            _ => "–".into(),
        });
        said.collect::<Vec<_>>().join("<br>")
    };
    format!(
        "<tr><td><a href=\"{link}\">{}</a></td><td class=\"number\">{written}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
        escaped(label),
        cell("filter", ""),
        cell("position_rmse_m", " m"),
        cell("nees_mean", ""),
    )
}

/// Text as markup shows it.
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, c| {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
        escaped
    })
}

/// A part of a path as an address has it.
fn encoded(part: &str) -> String {
    part.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

/// A part of an address as a path has it; `None` where that is no text.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let (code, behind) = after.split_at_checked(2)?;
            let code = std::str::from_utf8(code).ok()?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = behind;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> (tempfile::TempDir, Folder) {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().join("results");
        fs::create_dir_all(root.join("run <1>/ekf")).unwrap();
        fs::write(root.join("run <1>/report.html"), "<p>page</p>").unwrap();
        fs::write(root.join("run <1>/report.json"), r#"{"filter":"<b>","position_rmse_m":0.0316,"nees_mean":null}"#)
            .unwrap();
        fs::write(root.join("run <1>/ekf/nees.svg"), "<svg/>").unwrap();
        fs::write(root.join("run <1>/key.pem"), "secret").unwrap();
        fs::write(root.join("run <1>/passwords.txt"), "secret").unwrap();
        for pipe in ["pipe/report.html", "pipe/report.json"] {
            fs::create_dir_all(root.join("pipe")).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(root.join(pipe)).status().unwrap().success());
        }
        fs::create_dir_all(root.join("half")).unwrap();
        fs::write(root.join("half/report.html"), "half").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(root.join("half/report.json")).status().unwrap().success());
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/report.html"), "hidden").unwrap();
        fs::write(around.path().join("outside.txt"), "secret").unwrap();
        std::os::unix::fs::symlink(around.path().join("outside.txt"), root.join("link.txt")).unwrap();
        std::os::unix::fs::symlink(around.path(), root.join("up")).unwrap();
        let folder = Folder::open(&root).unwrap();
        (around, folder)
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let seconds = [0, 951_782_399, 951_782_400, 951_868_800, 1_709_251_199, 1_795_910_400];
        let dates = ["1970-01-01 00:00", "2000-02-28 23:59", "2000-02-29 00:00", "2000-03-01 00:00"];
        assert_eq!(seconds.map(date)[..4], dates);
        assert_eq!(seconds.map(date)[4..], ["2024-02-29 23:59", "2026-11-29 00:00"]);
    }

    #[test]
    fn the_index_lists_reports_and_their_pages_are_found() {
        let (_around, folder) = results();
        let index = String::from_utf8(folder.answer("/").body.read().unwrap()).unwrap();
        assert!(index.contains("href=\"run%20%3C1%3E/\"") && index.contains("run &lt;1&gt;"), "{index}");
        assert!(index.contains("&lt;b&gt;") && index.contains("0.0316 m") && !index.contains("hidden"), "{index}");
        let page = folder.answer("/run%20%3C1%3E/");
        for page in [&page, &folder.answer("/")] {
            assert!(page.headers.iter().any(|(name, policy)| {
                *name == "content-security-policy"
                    && policy.contains("default-src 'none'")
                    && !policy.contains("connect")
            }));
        }
        assert_eq!(page.body.read().unwrap(), b"<p>page</p>");
        let picture = folder.answer("/run%20%3C1%3E/ekf/nees.svg");
        assert_eq!((picture.status, picture.kind), (200, "image/svg+xml"));
        assert!(picture.headers.iter().any(|(name, _)| *name == "content-security-policy"));
    }

    #[test]
    fn nothing_outside_of_the_folder_nothing_hidden_and_no_other_kind_of_file_is_given_away() {
        let (_around, folder) = results();
        for path in [
            "/../outside.txt",
            "/%2e%2e/outside.txt",
            "/..%2foutside.txt",
            "/run%20%3C1%3E/../../outside.txt",
            "/run%20%3C1%3E/%2e%2e/%2e%2e/outside.txt",
            "//etc/passwd",
            "/%2fetc%2fpasswd",
            "/link.txt",
            "/up/outside.txt",
            "/.git/report.html",
            "/.git/",
            "/run%20%3C1%3E/key.pem",
            "/run%20%3C1%3E/passwords.txt",
            "/pipe/",
            "/pipe/report.json",
            "/half/report.json",
            "/run%20%3C1%3E/ekf",
            "/%",
            "/%zz",
            "/%00",
            "/..\\outside.txt",
            "",
        ] {
            let answer = folder.answer(path);
            assert_eq!(answer.status, 404, "{path}");
            assert!(!String::from_utf8_lossy(&answer.body.read().unwrap()).contains("secret"), "{path}");
        }
    }
}
