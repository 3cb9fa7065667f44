//! Where commands stand in a text. The tests of the whole command line, which run them, read this file, too.

/// The commands of a text: lines of code that begin with one of these words, joined where they are continued, parted at
/// `&&`, `;` and `|`, without comments.
pub fn commands(text: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim().trim_start_matches("$ ").to_owned();
        while let Some(open) = line.strip_suffix('\\') {
            line = format!("{} {}", open.trim_end(), lines.next().unwrap_or_default().trim());
        }
        let line = line.split(" #").next().unwrap_or_default();
        for part in line.split([';', '|']).flat_map(|part| part.split("&&")) {
            // What follows at a distance explains.
            let part = part.trim().split("   ").next().unwrap_or_default();
            if words.iter().any(|word| part.starts_with(word)) {
                found.push(part.trim().to_owned());
            }
        }
    }
    found
}

/// Only lines that are set as code: prose may begin with the same words.
pub fn code_of(markdown: &str) -> String {
    let mut is_fenced = false;
    let mut code = String::new();
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced || line.starts_with("    ") {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}
