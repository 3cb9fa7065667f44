//! Estimates of other programs that the user names.

use super::super::failure::Failure;
use super::recordings::ALL;

/// An estimate of another program that the user names: `RECORDING:NAME=SOURCE`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) recording: String,
    pub(super) name: String,
    pub(super) source: String,
}

impl Given {
    /// Takes `RECORDING:NAME=SOURCE` apart.
    ///
    /// # Errors
    /// It is not of this form, or no recording has this name.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let parts = text.split_once(':').and_then(|(recording, rest)| {
            let (name, source) = rest.split_once('=')?;
            Some((recording, name, source))
        });
        let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        let Some((recording, name, source)) = parts.filter(|(_, name, source)| is_word(name) && !source.is_empty())
        else {
            let problem = format!("--estimate is '{text}'; give RECORDING:NAME=FILE, as in city_trees_0:mine=mine.csv");
            return Err(Failure::WrongCall(problem));
        };
        let known: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
        if !known.contains(&recording) {
            let problem = format!("--estimate: there is no recording '{recording}'; there are {}", known.join(", "));
            return Err(Failure::WrongCall(problem));
        }
        Ok(Self { recording: recording.to_owned(), name: name.to_owned(), source: source.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_of_the_user_names_its_recording() {
        let given = Given::parse("broad_01:mine=a/b=c.csv").unwrap();
        assert_eq!(
            (given.recording.as_str(), given.name.as_str(), given.source.as_str()),
            ("broad_01", "mine", "a/b=c.csv")
        );
        for wrong in ["", "broad_01", "broad_01:mine", "broad_01:=x", "broad_01:mine=", "nowhere:mine=x"] {
            assert!(matches!(Given::parse(wrong), Err(Failure::WrongCall(_))), "{wrong}");
        }
    }
}
