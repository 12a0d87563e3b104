//! Faults of forms and queries.

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use url::form_urlencoded;

use super::wording::{plain, quoted, variants};
use super::{Attempts, Found};
use crate::error::{Detail, Violations};

/// A fault at which a deserializer stopped: the name of a parameter, and the error text.
struct Fault {
    name: String,
    said: String,
}

impl Fault {
    fn is_missing(&self) -> bool {
        self.said.starts_with("missing field")
    }
}

/// Deserializes `name=value&…`. If values have wrong types, `rules` validates the rest, so that everything that is wrong is reported at once.
pub(in super::super) fn from_form<T: DeserializeOwned>(
    text: &[u8],
    rules: impl Fn(&T, &mut Violations),
) -> Result<T, Vec<Detail>> {
    let validate = |text: &[u8], violations: &mut Violations| {
        if let Ok(rest) = read(text) {
            rules(&rest, violations);
        }
    };
    read(text).map_err(|fault| all_faults(text, fault, &|text| read::<T>(text).map(drop), &validate))
}

/// Reads a text and forgets its value. The search depends on the type of the input only through this function, so it is compiled once.
type Reader<'r> = dyn Fn(&[u8]) -> Result<(), Fault> + 'r;

/// Returns everything that is wrong with a text that has this fault. `validate` checks a text that can be deserialized.
fn all_faults(text: &[u8], first: Fault, read: &Reader<'_>, validate: &dyn Fn(&[u8], &mut Violations)) -> Vec<Detail> {
    let mut search = Search {
        pieces: text
            .split(|byte| *byte == b'&')
            .filter(|piece| !piece.is_empty())
            .map(<[u8]>::to_vec)
            .collect(),
        attempts: Attempts::new(text.len()),
        found: Found::default(),
        read,
    };
    if search.run(first).is_some() {
        let mut violations = Violations::default();
        validate(&search.text(), &mut violations);
        for detail in violations.into_details() {
            search.found.note(detail);
        }
    }
    search.found.0
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Fault> {
    let source = serde_html_form::Deserializer::from_bytes(text);
    serde_path_to_error::deserialize(source).map_err(|error| {
        let name = error.path().iter().find_map(|segment| match segment {
            Segment::Map { key } => Some(key.clone()),
            _ => None,
        });
        let said = error.into_inner().to_string();
        let is_about_a_name = ["missing field", "unknown field", "duplicate field"]
            .iter()
            .any(|start| said.starts_with(start));
        let quoted = quoted(&said).filter(|_| is_about_a_name).map(str::to_owned);
        Fault {
            name: quoted.or(name).unwrap_or_default(),
            said,
        }
    })
}

struct Search<'r> {
    pieces: Vec<Vec<u8>>,
    attempts: Attempts,
    found: Found,
    read: &'r Reader<'r>,
}

impl Search<'_> {
    /// Records faults until the rest can be deserialized; `None` when the search ends before.
    fn run(&mut self, first: Fault) -> Option<()> {
        let mut fault = first;
        loop {
            let is_known = self.found.covers(&fault.name);
            self.found.note(plain(fault.name.clone(), &fault.said));
            if self.found.is_full() || fault.name.is_empty() {
                return None;
            }
            let next = if is_known || fault.is_missing() {
                self.stand_in(&fault)?
            } else {
                self.pieces.retain(|piece| !is_of(piece, &fault.name));
                self.read()?
            };
            match next {
                Ok(()) => return Some(()),
                Err(next) => fault = next,
            }
        }
    }

    /// Returns the remaining parameters.
    fn text(&self) -> Vec<u8> {
        self.pieces.join(&b'&')
    }

    /// Deserializes the remaining parameters; `None` when the limit of attempts is reached.
    fn read(&mut self) -> Option<Result<(), Fault>> {
        self.attempts.next().then(|| (self.read)(&self.text()))
    }

    /// Deserializes again with a placeholder that the deserializer accepts for the parameter.
    fn stand_in(&mut self, fault: &Fault) -> Option<Result<(), Fault>> {
        let words = variants(&fault.said).into_iter().map(str::to_owned);
        let others = [
            "1",
            "true",
            "00000000-0000-0000-0000-000000000000",
            "2000-01-01T00:00:00Z",
        ];
        for value in words.chain(others.map(str::to_owned)) {
            self.pieces.retain(|piece| !is_of(piece, &fault.name));
            let mut piece = form_urlencoded::Serializer::new(String::new());
            piece.append_pair(&fault.name, &value);
            self.pieces.push(piece.finish().into_bytes());
            match self.read()? {
                Err(next) if next.name == fault.name => {}
                outcome => return Some(outcome),
            }
        }
        None
    }
}

/// Whether a `name=value` has this name.
fn is_of(piece: &[u8], name: &str) -> bool {
    form_urlencoded::parse(piece).any(|(given, _)| given == name)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use uuid::Uuid;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Parameters {
        user_id: Uuid,
        page: Option<u32>,
        is_active: Option<bool>,
        sort_dir: Option<Direction>,
        search: Option<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Direction {
        Asc,
        Desc,
    }

    fn faults(text: &str) -> Vec<(String, String)> {
        let unread = from_form::<Parameters>(text.as_bytes(), |_, _| {}).map(|_| ()).err();
        let details = unread.unwrap_or_default();
        let mut reported: Vec<_> = details
            .into_iter()
            .map(|one| (one.path, one.code.into_owned()))
            .collect();
        reported.sort();
        reported
    }

    #[test]
    fn every_parameter_that_is_wrong_is_found() {
        let reported = faults("page=x&isActive=maybe&sortDir=up&search=a%20b");

        let expected = [
            ("isActive", "invalid_value"),
            ("page", "invalid_type"),
            ("sortDir", "invalid_value"),
            ("userId", "required"),
        ];
        assert_eq!(
            reported,
            expected.map(|(path, code)| (path.to_owned(), code.to_owned()))
        );
    }

    #[test]
    fn repeated_parameters_and_invalid_ids_are_found() {
        let reported = faults("userId=x&page=1&page=2");

        let expected = [("page", "invalid_value"), ("userId", "invalid_value")];
        assert_eq!(
            reported,
            expected.map(|(path, code)| (path.to_owned(), code.to_owned()))
        );
        assert_eq!(faults("userId=00000000-0000-0000-0000-000000000000&page=4"), []);
    }
}
