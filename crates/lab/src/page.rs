//! The page that links every table and picture of all reproductions.

use lienav_eval::folder::{FolderError, write_text};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A picture, by its file without its ending.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Picture {
    /// There is an SVG of this name; of experiments with integrators a CSV, too.
    pub file: String,
    /// What it shows.
    pub title: String,
}

/// A reproduction on the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// As `lienav reproduce` takes it.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Where its files are, from the page.
    pub folder: String,
    /// Its report, with its tables.
    pub text: String,
    /// Its pictures.
    pub pictures: Vec<Picture>,
}

/// Writes `index.html`.
///
/// # Errors
/// Why it could not be written.
pub fn write_page(folder: &Path, sections: &[Section]) -> Result<(), FolderError> {
    write_text(folder, "index.html", &page(sections))
}

fn page(sections: &[Section]) -> String {
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>lienav reproduce all</title>\n<style>\n\
         body { font-family: sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em }\n\
         pre { overflow-x: auto; background: #f6f6f6; padding: 1em; font-size: 85% }\n\
         figure { display: inline-block; width: 30em; margin: 0.5em; vertical-align: top }\n\
         img { width: 100% }\n</style>\n<h1>Published experiments, run again</h1>\n<ul>\n",
    );
    for Section { name, about, pictures, .. } in sections {
        let count = pictures.len();
        html += &format!("<li><a href=\"#{0}\">{0}</a>: {1} ({count} pictures)</li>\n", safe(name), safe(about));
    }
    html += "</ul>\n";
    for Section { name, about, folder, text, pictures } in sections {
        let (name, folder) = (safe(name), safe(folder));
        html += &format!("<h2 id=\"{name}\">{name}</h2>\n<p>{}</p>\n", safe(about));
        html += &format!(
            "<p><a href=\"{folder}/report.txt\">report.txt</a>, <a href=\"{folder}/report.json\">report.json</a></p>\n"
        );
        html += &format!("<details><summary>Tables</summary>\n<pre>{}</pre>\n</details>\n", safe(text));
        for Picture { file, title } in pictures {
            let path = format!("{folder}/{}", safe(file));
            html += &format!(
                "<figure><a href=\"{path}.svg\"><img loading=\"lazy\" src=\"{path}.svg\" alt=\"{0}\"></a>\
                 <figcaption>{0}</figcaption></figure>\n",
                safe(title)
            );
        }
    }
    html + "</html>\n"
}

/// Text in which nothing is taken for markup.
fn safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_links_every_report_and_picture_and_text_stays_text() {
        let section = Section {
            name: "thesis-3".into(),
            about: "a < b & c".into(),
            folder: "thesis-3".into(),
            text: "table <1>".into(),
            pictures: vec![Picture { file: "figure-3.2a".into(), title: "\"orbit\"".into() }],
        };
        let html = page(&[section]);
        for link in
            ["href=\"#thesis-3\"", "thesis-3/report.txt", "thesis-3/report.json", "src=\"thesis-3/figure-3.2a.svg\""]
        {
            assert!(html.contains(link), "{link}");
        }
        assert!(
            html.contains("a &lt; b &amp; c") && html.contains("table &lt;1&gt;") && html.contains("&quot;orbit&quot;")
        );
    }
}
