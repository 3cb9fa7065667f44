//! Formulas in the HTML of rustdoc: a code block of language `math` holds LaTeX, and becomes MathML, which browsers
//! draw without a script and without a network.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};

/// What rustdoc makes of the beginning and of the end of such a block.
const BEGIN: &str = "<div class=\"example-wrap\"><pre class=\"language-math\"><code>";
const END: &str = "</code></pre></div>";

/// Draws the formulas of every page of rustdoc under `folder`, and returns how many there were. A page that was drawn
/// before is left as it is.
pub fn draw(folder: &Path) -> Result<usize> {
    draw_between(folder, (BEGIN, END))
}

/// The same of pages of another maker, by what it makes of the beginning and of the end of such a block.
pub fn draw_between(folder: &Path, marks: (&str, &str)) -> Result<usize> {
    draw_all(folder, marks, &converter()?)
}

fn draw_all(folder: &Path, marks: (&str, &str), converter: &LatexToMathML) -> Result<usize> {
    let mut drawn = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            drawn += draw_all(&path, marks, converter)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let page = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
            let (page, formulas) = drawn_page(&page, marks, converter).with_context(|| path.display().to_string())?;
            if formulas > 0 {
                fs::write(&path, page).with_context(|| format!("could not write {}", path.display()))?;
            }
            drawn += formulas;
        }
    }
    Ok(drawn)
}

fn converter() -> Result<LatexToMathML> {
    let config = MathCoreConfig { annotation: true, ..MathCoreConfig::default() };
    LatexToMathML::new(config).map_err(|(error, ..)| anyhow!("{error}"))
}

/// The page with its formulas drawn, and how many these are.
fn drawn_page(page: &str, (begin, end): (&str, &str), converter: &LatexToMathML) -> Result<(String, usize)> {
    let mut pieces = page.split(begin);
    let mut drawn = pieces.next().unwrap_or_default().to_owned();
    let mut formulas = 0;
    for piece in pieces {
        let (latex, rest) = piece.split_once(end).context("a formula that does not end")?;
        let latex = unescaped(latex);
        let math = converter
            .convert_with_local_counter(&latex, MathDisplay::Block)
            .map_err(|error| anyhow!("this formula is not LaTeX that math-core can draw ({error}):\n{latex}"))?;
        drawn.push_str("<div style=\"overflow-x: auto; margin: 1em 0\">");
        drawn.push_str(&math);
        drawn.push_str("</div>");
        drawn.push_str(rest);
        formulas += 1;
    }
    Ok((drawn, formulas))
}

/// The text that rustdoc escaped for HTML.
fn unescaped(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_becomes_mathml_and_the_rest_stays() {
        let page = format!("<p>before</p>{BEGIN}a &amp;= \\frac{{b}}{{2}} &lt; c{END}<p>after</p>");
        let page = page.replace("&amp;=", "=");
        let (drawn, formulas) = drawn_page(&page, (BEGIN, END), &converter().unwrap()).unwrap();
        assert_eq!(formulas, 1);
        assert!(drawn.starts_with("<p>before</p>") && drawn.ends_with("<p>after</p>"), "{drawn}");
        assert!(drawn.contains("<math") && drawn.contains("<mfrac>") && !drawn.contains("language-math"), "{drawn}");
        let (again, formulas) = drawn_page(&drawn, (BEGIN, END), &converter().unwrap()).unwrap();
        assert_eq!((again, formulas), (drawn, 0));
    }

    #[test]
    fn what_cannot_be_drawn_is_shown() {
        let error = drawn_page(&format!("{BEGIN}\\frac{{1{END}"), (BEGIN, END), &converter().unwrap()).unwrap_err();
        assert!(error.to_string().contains("\\frac{1"), "{error}");
    }
}
