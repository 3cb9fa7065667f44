//! How deep a text in YAML is nested, and how many values it has, before a parser reads it: the usual parser takes
//! time quadratic in the depth of brackets, and memory for every value.
//!
//! The text is scanned once by the rules for tokens of YAML 1.1. Two places depend on the indentation of enclosing
//! blocks, which the scan does not follow: whether a plain scalar goes on in the next line, and where a block scalar
//! ends. There the scan follows both readings, so that no reading of the text is deeper than what is found.

use std::fmt;

/// No settings, map or scenario is nested deeper.
pub const MOST_LEVELS: usize = 64;
/// A text has no more values and keys: a map of a hundred thousand landmarks has a million and a half.
pub const MOST_VALUES: usize = 2_500_000;
/// A text with aliases (`*name`) has no more than this, its values times its bytes: the parser copies what a name
/// stands for, up to a hundred times for each value. 8 MB of text became 20 GB.
const MOST_WITH_ALIASES: usize = 10_000_000;
/// A text has no more directives (`%TAG …`): the parser compares each with all before it.
const MOST_DIRECTIVES: usize = 8;

/// A text that is not given to a parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbounded {
    /// The line, from 1.
    pub line: usize,
    what: &'static str,
    most: usize,
}

impl fmt::Display for Unbounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, what, most } = self;
        match most {
            0 => write!(f, "line {line}: {what}: write out what they stand for"),
            most => {
                write!(f, "line {line}: more than {most} {what}, which no file of lienav has; is it the right file?")
            }
        }
    }
}

impl std::error::Error for Unbounded {}

/// What the scan is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Between tokens.
    Token,
    /// In a plain scalar.
    Plain,
    /// In a plain scalar, behind a blank.
    PlainBlank,
    /// Between the quotes of a scalar.
    Double,
    /// Behind a backslash between them.
    Escape,
    Single,
    /// Behind a single quote, which ends the scalar unless another one follows.
    SingleEnd,
    Comment,
    Anchor,
    Tag,
    /// `!<…>`.
    VerbatimTag,
    /// In the header or the lines of a block scalar.
    Block,
}

/// One reading of the text up to some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    mode: Mode,
    /// Brackets and braces that are open.
    depth: usize,
}

/// Checks a text before it is parsed.
///
/// # Errors
/// It is nested deeper than [`MOST_LEVELS`], or has more values than [`MOST_VALUES`].
pub fn check_yaml(text: &str) -> Result<(), Unbounded> {
    let (mut line, mut values, mut directives) = (1, 0, 0);
    let (mut has_anchor, mut first_alias) = (false, None);
    let mut is_line_start = true;
    let mut readings = vec![Reading { mode: Mode::Token, depth: 0 }];
    let mut next = Vec::new();
    let mut chars = text.chars();
    while let Some(sign) = chars.next() {
        let rest = chars.as_str();
        let refuse = |what, most| Err(Unbounded { line, what, most });
        let mut begins_value = false;
        for reading in &readings {
            let sight = Sight { sign, rest, is_line_start };
            begins_value |= reading.mode == Mode::Token && begins_a_value(sign, rest);
            if reading.mode == Mode::Token && rest.starts_with(is_of_name) {
                has_anchor |= sign == '&';
                first_alias = first_alias.or((sign == '*').then_some(line));
            }
            for after in step(*reading, &sight).into_iter().flatten() {
                if !next.contains(&after) {
                    next.push(after);
                }
            }
        }
        values += usize::from(begins_value);
        directives += usize::from(is_line_start && sign == '%');
        if next.iter().any(|reading| reading.depth > MOST_LEVELS) {
            return refuse("brackets in each other", MOST_LEVELS);
        }
        if values > MOST_VALUES {
            return refuse("values", MOST_VALUES);
        }
        if directives > MOST_DIRECTIVES {
            return refuse("directives", MOST_DIRECTIVES);
        }
        std::mem::swap(&mut readings, &mut next);
        next.clear();
        line += usize::from(sign == '\n');
        is_line_start = is_break(sign) || (is_line_start && sign == '\u{feff}');
    }
    match first_alias {
        Some(line) if has_anchor && values.saturating_mul(text.len()) > MOST_WITH_ALIASES => {
            Err(Unbounded { line, what: "aliases (`*name`) in so long a text", most: 0 })
        }
        _ => Ok(()),
    }
}

/// A character and what is around it.
struct Sight<'a> {
    sign: char,
    rest: &'a str,
    is_line_start: bool,
}

impl Sight<'_> {
    fn is_before_blank(&self) -> bool {
        self.rest.chars().next().is_none_or(is_blank_or_break)
    }
}

fn is_break(sign: char) -> bool {
    matches!(sign, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(sign: char) -> bool {
    matches!(sign, ' ' | '\t')
}

fn is_blank_or_break(sign: char) -> bool {
    is_blank(sign) || is_break(sign)
}

/// Whether the name of an anchor or an alias may have a character.
fn is_of_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "-_".contains(sign)
}

/// A dash with a blank behind it counts too: an entry that is left out is null.
fn begins_a_value(sign: char, rest: &str) -> bool {
    match sign {
        ' ' | '\t' | ']' | '}' | '#' => false,
        ':' => !rest.starts_with(is_blank_or_break),
        sign => !is_break(sign),
    }
}

/// What a reading becomes with a character: one reading, or two where the text leaves it open.
fn step(reading: Reading, sight: &Sight) -> [Option<Reading>; 2] {
    let Reading { mode, depth } = reading;
    let to = |mode| [Some(Reading { mode, depth }), None];
    let sign = sight.sign;
    match mode {
        Mode::Token => [Some(token(depth, sight)), None],
        Mode::Plain | Mode::PlainBlank => plain(reading, sight),
        Mode::Double => match sign {
            '"' => to(Mode::Token),
            '\\' => to(Mode::Escape),
            _ => to(Mode::Double),
        },
        Mode::Escape => to(Mode::Double),
        Mode::Single => to(if sign == '\'' { Mode::SingleEnd } else { Mode::Single }),
        Mode::SingleEnd if sign == '\'' => to(Mode::Single),
        Mode::SingleEnd => [Some(token(depth, sight)), None],
        Mode::Comment => to(if is_break(sign) { Mode::Token } else { Mode::Comment }),
        Mode::Anchor if is_of_name(sign) => to(Mode::Anchor),
        Mode::Anchor => [Some(token(depth, sight)), None],
        Mode::Tag if is_blank_or_break(sign) || ",[]{}".contains(sign) => [Some(token(depth, sight)), None],
        Mode::Tag => to(if sign == '<' { Mode::VerbatimTag } else { Mode::Tag }),
        Mode::VerbatimTag => to(if sign == '>' || is_blank_or_break(sign) { Mode::Token } else { Mode::VerbatimTag }),
        // It ends with a line that is indented less.
        Mode::Block if is_break(sign) => {
            [Some(Reading { mode: Mode::Block, depth }), Some(Reading { mode: Mode::Token, depth })]
        }
        Mode::Block => to(Mode::Block),
    }
}

/// What begins with a character between tokens.
fn token(depth: usize, sight: &Sight) -> Reading {
    let to = |mode| Reading { mode, depth };
    let is_marker = |marker: &str| {
        sight.is_line_start
            && sight.rest.strip_prefix(marker).is_some_and(|rest| rest.chars().next().is_none_or(is_blank_or_break))
    };
    let is_in_flow = depth > 0;
    match sight.sign {
        sign if is_blank_or_break(sign) => to(Mode::Token),
        '\u{feff}' if sight.is_line_start => to(Mode::Token),
        '[' | '{' => Reading { mode: Mode::Token, depth: depth + 1 },
        ']' | '}' => Reading { mode: Mode::Token, depth: depth.saturating_sub(1) },
        ',' => to(Mode::Token),
        '#' => to(Mode::Comment),
        '%' if sight.is_line_start => to(Mode::Comment),
        '"' => to(Mode::Double),
        '\'' => to(Mode::Single),
        '-' if sight.is_before_blank() => to(Mode::Token),
        // The two that follow are plain scalars, whose next character is a blank.
        '-' if is_marker("--") => to(Mode::Anchor),
        '.' if is_marker("..") => to(Mode::Plain),
        '?' | ':' if is_in_flow || sight.is_before_blank() => to(Mode::Token),
        '&' | '*' => to(Mode::Anchor),
        '!' => to(Mode::Tag),
        '|' | '>' if !is_in_flow => to(Mode::Block),
        _ => to(Mode::Plain),
    }
}

/// What a plain scalar becomes with a character.
fn plain(reading: Reading, sight: &Sight) -> [Option<Reading>; 2] {
    let Reading { mode, depth } = reading;
    let (sign, is_in_flow) = (sight.sign, depth > 0);
    let one = |mode| [Some(Reading { mode, depth }), None];
    if is_break(sign) {
        let goes_on = Reading { mode: Mode::PlainBlank, depth };
        // In a block, it ends where the next line is indented less.
        return [Some(goes_on), (!is_in_flow).then_some(Reading { mode: Mode::Token, depth })];
    }
    let ends = (is_in_flow && ",[]{}".contains(sign))
        || (sign == ':' && sight.is_before_blank())
        || (sign == '#' && mode == Mode::PlainBlank);
    match sign {
        _ if ends => [Some(token(depth, sight)), None],
        sign if is_blank(sign) => one(Mode::PlainBlank),
        _ => one(Mode::Plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_texts_pass() {
        let map = "landmarks:\n".to_owned() + &"- {id: 7, x_m: 1.25, covariance_m2: [1, 2, 3]}\n".repeat(10_000);
        let comments = "a: 1 # in [0, 1)\n# [[[[[[ (\nb: \"[{[\" # [\nc: '[it''s ['\nd: x[0\n".repeat(100);
        let prose =
            "a: |\n  in [0, 1]\n  \"quoted\"\nb: two words\n  and more\n\"c\": [x, \"]\", '}', {y: z}]\n".repeat(100);
        for text in [map, comments, prose, "[".repeat(MOST_LEVELS) + &"]".repeat(MOST_LEVELS), String::new()] {
            assert_eq!(check_yaml(&text), Ok(()), "{}", &text[..text.len().min(80)]);
        }
    }

    #[test]
    fn what_is_nested_is_found_in_every_disguise() {
        let opens = "[".repeat(MOST_LEVELS + 1);
        let disguises = [
            opens.clone(),
            "a: ".to_owned() + &opens,
            "{a: ".repeat(MOST_LEVELS + 1),
            // Closed only in comments, quotes and scalars.
            "[ # ]\n".repeat(MOST_LEVELS + 1),
            "[ \"]\", ".repeat(MOST_LEVELS + 1),
            "[ ']''', ".repeat(MOST_LEVELS + 1),
            "[ \"\\\"]\", ".repeat(MOST_LEVELS + 1),
            // Quotes without meaning: within a plain scalar, or in its second line.
            format!("a: it's {{\nb: {opens}"),
            format!("a: b\n  \"c\nd: {opens}"),
            format!("a: b\n\"x\n\": {opens}"),
            format!("a: |\n  \"\nb: {opens}"),
            format!("a: &b \"c\"\nd: {opens}"),
            format!("--- \"#\"\n--- {opens}"),
            format!("--- # \"\n{opens}"),
            format!("# comment\u{2028}{opens}"),
            format!("# comment\u{85}{opens}"),
            format!("a: !b \"c # \" {opens}"),
            format!("[\" #\", {opens}"),
            format!("- !<]]]> {opens}"),
            format!("\u{feff}{opens}"),
        ];
        for text in disguises {
            let refused = check_yaml(&text).expect_err(&text).to_string();
            assert!(refused.contains("more than 64 brackets in each other"), "{refused}");
        }
    }

    #[test]
    fn aliases_are_for_short_texts() {
        let base = "base: &base {a: 1, b: 2}\n";
        let bombs = [
            format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a,".repeat(10_000)),
            format!("a: &a \"{}\"\n{}", "x".repeat(100_000), "- *a\n".repeat(10_000)),
        ];
        for text in bombs {
            let refused = check_yaml(&text).unwrap_err().to_string();
            assert!(refused.starts_with("line 2: aliases (`*name`) in so long a text"), "{refused}");
        }
        let bullets = "a: |\n  & *b* *\n".to_owned() + &"- {id: 7, x_m: 1.25}\n".repeat(10_000);
        for text in [base.to_owned() + &"- *base\n".repeat(300), bullets, "/**: 1\n".repeat(10_000)] {
            assert_eq!(check_yaml(&text), Ok(()), "{}", &text[..text.len().min(80)]);
        }
    }

    #[test]
    fn values_and_directives_are_counted() {
        for (begin, many) in [("", "- a\n"), ("[", "a,"), ("[", "[]\n,"), ("", "- \n"), ("", "a: b\n")] {
            let text = begin.to_owned() + &many.repeat(MOST_VALUES + 1);
            assert!(check_yaml(&text).unwrap_err().to_string().contains("2500000 values"), "{many}");
        }
        let refused = check_yaml(&"%TAG !a! b\n".repeat(9)).unwrap_err();
        assert_eq!((refused.line, refused.what), (9, "directives"));
    }
}
