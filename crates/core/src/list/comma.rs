//! Lists of values in a query or a body: joined by commas, repeated, or both.

use std::collections::HashSet;
use std::hash::Hash;

use uuid::Uuid;

use crate::error::Detail;

/// Maximum number of values of a list, unless its endpoint declares another one.
pub const MOST_VALUES: usize = 200;

/// A parameter that holds a list: its name, and its maximum number of different values.
///
/// Parsing costs time in proportion to the text, and stops at the first value beyond the limit. Values are trimmed and each is kept once, in
/// the order of its first occurrence; an empty list has none, which differs from an absent list.
#[derive(Debug, Clone, Copy)]
pub struct CommaList<'p> {
    path: &'p str,
    most: usize,
}

impl<'p> CommaList<'p> {
    /// Declares a list of at most [`MOST_VALUES`].
    #[must_use]
    pub const fn new(path: &'p str) -> Self {
        Self {
            path,
            most: MOST_VALUES,
        }
    }

    /// Sets another limit.
    #[must_use]
    pub const fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Returns the words of these texts.
    ///
    /// # Errors
    /// `too_long` when there are too many.
    pub fn words<'t>(self, texts: impl IntoIterator<Item = &'t str>) -> Result<Vec<&'t str>, Detail> {
        self.parsed(texts, "", Some)
    }

    /// Returns the words as owned texts.
    ///
    /// # Errors
    /// As [`CommaList::words`].
    pub fn texts<'t>(self, texts: impl IntoIterator<Item = &'t str>) -> Result<Vec<String>, Detail> {
        Ok(self.words(texts)?.into_iter().map(str::to_owned).collect())
    }

    /// Parses the ids of these texts.
    ///
    /// # Errors
    /// `invalid_value` when one is malformed, `too_long` when there are too many.
    pub fn ids<'t>(self, texts: impl IntoIterator<Item = &'t str>) -> Result<Vec<Uuid>, Detail> {
        self.parsed(texts, "must be UUIDs joined by commas", |text| text.parse().ok())
    }

    /// Returns the words of these texts, each of which must be allowed.
    ///
    /// # Errors
    /// `invalid_value` when one is not allowed, `too_long` when there are too many.
    pub fn one_of<'t>(
        self,
        texts: impl IntoIterator<Item = &'t str>,
        allowed: &[&'static str],
    ) -> Result<Vec<&'static str>, Detail> {
        let expected = format!("must be one or more of {}", allowed.join(", "));
        self.parsed(texts, &expected, |text| {
            allowed.iter().copied().find(|one| *one == text)
        })
    }

    /// Parses the values of these texts with `read`; `expected` is the English message for an invalid value.
    ///
    /// # Errors
    /// `invalid_value` when `read` rejects a value, `too_long` when there are too many.
    pub fn parsed<'t, T: Clone + Eq + Hash>(
        self,
        texts: impl IntoIterator<Item = &'t str>,
        expected: &str,
        read: impl FnMut(&'t str) -> Option<T>,
    ) -> Result<Vec<T>, Detail> {
        self.parsed_parts(texts.into_iter().flat_map(|text| text.split(',')), expected, read)
    }

    /// Parses texts that are one value each, commas included.
    ///
    /// # Errors
    /// As [`CommaList::parsed`].
    pub fn parsed_parts<'t, T: Clone + Eq + Hash>(
        self,
        parts: impl IntoIterator<Item = &'t str>,
        expected: &str,
        mut read: impl FnMut(&'t str) -> Option<T>,
    ) -> Result<Vec<T>, Detail> {
        let (mut known, mut values) = (HashSet::new(), Vec::new());
        let parts = parts.into_iter().map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            let value = read(part).ok_or_else(|| Detail::new(self.path, expected, "invalid_value"))?;
            if !known.insert(value.clone()) {
                continue;
            }
            if values.len() == self.most {
                let message = format!("must be at most {} values", self.most);
                return Err(Detail::new(self.path, message, "too_long"));
            }
            values.push(value);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::{Hash, Hasher};

    use super::*;

    const ONE: Uuid = Uuid::from_u128(1);

    thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    #[derive(Clone)]
    struct Counted<'t>(&'t str);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted<'_> {}

    impl Hash for Counted<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    fn many(count: usize) -> String {
        (0..count).map(|number| format!("{number},")).collect()
    }

    #[test]
    fn a_list_is_trimmed_and_each_value_is_kept_once() {
        let words = CommaList::new("x").words([" b, a,b,", "a ,c"]);

        assert_eq!(words, Ok(vec!["b", "a", "c"]));
        assert_eq!(CommaList::new("x").words([" , "]), Ok(Vec::new()));
    }

    #[test]
    fn one_malformed_id_spoils_a_list() {
        let list = CommaList::new("ids");

        assert_eq!(list.ids([format!("{ONE}, {ONE}").as_str()]), Ok(vec![ONE]));
        assert_eq!(
            list.ids([format!("{ONE},x").as_str()]).unwrap_err().code,
            "invalid_value"
        );
    }

    #[test]
    fn repeated_values_count_once_and_one_too_many_is_named() {
        let list = CommaList::new("x").at_most(2);

        assert_eq!(list.words(["a,b,a,b,a"]), Ok(vec!["a", "b"]));
        let detail = list.words(["a,b,c"]).unwrap_err();
        assert_eq!((detail.path.as_str(), &*detail.code), ("x", "too_long"));
    }

    #[test]
    fn f4_the_work_is_linear_in_the_text() {
        let (few, more) = (many(10_000), many(40_000));
        let compared = |text: &str| {
            COMPARED.set(0);
            let list = CommaList::new("x").at_most(usize::MAX);
            let kept = list
                .parsed([text], "", |word| Some(Counted(word)))
                .map(|list| list.len());
            assert!(kept.is_ok());
            COMPARED.get()
        };

        // Distinct words are compared only where their hashes meet by chance; every repetition costs one comparison.
        assert!(compared(&few) < 10_000 && compared(&more) < 40_000);
        assert!(compared(&few.repeat(4)) < 4 * 10_000);
    }

    #[test]
    fn f4_nothing_is_read_beyond_the_bound() {
        let (text, mut read) = (many(20_000), 0);

        let detail = CommaList::new("x").parsed([text.as_str()], "", |word| {
            read += 1;
            Some(word)
        });

        assert_eq!(
            (detail.map_err(|one| one.code.into_owned()), read),
            (Err("too_long".to_owned()), 201)
        );
    }

    #[test]
    fn only_allowed_words_pass() {
        let list = CommaList::new("status");

        assert_eq!(list.one_of(["won, won"], &["open", "won"]), Ok(vec!["won"]));
        assert!(list.one_of(["gone"], &["open", "won"]).is_err());
    }
}
