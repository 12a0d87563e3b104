//! Comma lists in a query.

use backoffice_core::{Detail, Refusal, Result};

/// Most words of a list.
const MOST: usize = 50;

/// The words of a list, repeated or joined by commas, each once; an empty list matches nothing.
pub(super) fn words(path: &'static str, given: Option<&[String]>) -> Result<Option<Vec<String>>> {
    let Some(given) = given else { return Ok(None) };
    let mut words: Vec<String> = Vec::new();
    let parts = given.iter().flat_map(|one| one.split(',')).map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        if !words.iter().any(|known| known == part) {
            words.push(part.to_owned());
        }
    }
    if words.len() > MOST {
        return Err(refused(path, format!("must be at most {MOST} values")));
    }
    Ok(Some(words))
}

/// The same, each of them one of those that `read` knows.
pub(super) fn known<T>(
    path: &'static str,
    given: Option<&[String]>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<Vec<T>>> {
    let Some(words) = words(path, given)? else {
        return Ok(None);
    };
    let unknown = |word: &String| refused(path, format!("has no value {word}"));
    words
        .iter()
        .map(|word| read(word).ok_or_else(|| unknown(word)))
        .collect::<Result<_>>()
        .map(Some)
}

fn refused(path: &'static str, message: String) -> backoffice_core::Error {
    Refusal::invalid(vec![Detail::new(path, message, "invalid_value")]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_trimmed_and_stand_once() {
        let given = ["b, a".to_owned(), "a,".to_owned()];

        assert_eq!(
            words("x", Some(&given)).ok(),
            Some(Some(vec!["b".to_owned(), "a".to_owned()]))
        );
        assert_eq!(words("x", Some(&[String::new()])).ok(), Some(Some(Vec::new())));
        assert_eq!(words("x", None).ok(), Some(None));
        assert!(words("x", Some(&[(0..51).map(|n| format!("{n},")).collect()])).is_err());
    }

    #[test]
    fn one_unknown_word_spoils_the_list() {
        let read = |word: &str| word.parse::<u8>().ok();

        assert_eq!(known("x", Some(&["1,2".to_owned()]), read).ok(), Some(Some(vec![1, 2])));
        assert!(known("x", Some(&["1,x".to_owned()]), read).is_err());
    }
}
