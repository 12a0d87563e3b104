//! What narrows and orders a list.

pub use backoffice_core::list::Order;
use backoffice_core::{Detail, Refusal, Result};
use diesel::dsl::sql;
use diesel::sql_types::{Array, Bool, Uuid as SqlUuid};
use uuid::Uuid;

use crate::foreign::Fragment;

/// Most ids of a comma list.
const MOST_IDS: usize = 200;

/// Values of a reference that a list is narrowed to; none of them matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Any of these.
    pub ids: Vec<Uuid>,
    /// Or no reference at all.
    pub or_none: bool,
}

impl References {
    /// The condition on a column, which is named with its table.
    pub(crate) fn condition<T: 'static>(&self, column: &str) -> Fragment<T, Bool> {
        let rest = if self.or_none {
            format!(") or {column} is null)")
        } else {
            "))".to_owned()
        };
        Box::new(
            sql::<Bool>(&format!("({column} = any("))
                .bind::<Array<SqlUuid>, _>(self.ids.clone())
                .sql(&rest),
        )
    }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn invalid(path: &str, message: &str, code: &'static str) -> backoffice_core::Error {
    Refusal::invalid(vec![Detail::new(path, message, code)]).into()
}

/// Ids joined by commas; an empty list stays empty and matches nothing.
pub(crate) fn ids(path: &str, text: &str) -> Result<Vec<Uuid>> {
    let mut ids = Vec::new();
    for part in parts(text) {
        let id = part
            .parse()
            .map_err(|_| invalid(path, "must be UUIDs joined by commas", "invalid_value"))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.len() > MOST_IDS {
        return Err(invalid(path, "must be at most 200 ids", "too_long"));
    }
    Ok(ids)
}

/// The same, where `none` stands for no reference.
pub(crate) fn references(path: &str, text: &str) -> Result<References> {
    let or_none = parts(text).any(|part| part == "none");
    let rest: Vec<&str> = parts(text).filter(|part| *part != "none").collect();
    Ok(References {
        ids: ids(path, &rest.join(","))?,
        or_none,
    })
}

/// Words joined by commas, each one of those allowed.
pub(crate) fn words(path: &str, text: &str, allowed: &[&str]) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for part in parts(text) {
        if !allowed.contains(&part) {
            let message = format!("must be of {}", allowed.join(", "));
            return Err(invalid(path, &message, "invalid_value"));
        }
        if !words.iter().any(|known| known == part) {
            words.push(part.to_owned());
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Uuid = Uuid::from_u128(1);

    #[test]
    fn one_malformed_id_spoils_a_list_and_an_empty_one_stays_empty() {
        assert!(ids("ids", &format!("{ONE},x")).is_err());
        assert_eq!(ids("ids", " , ").expect("no ids"), Vec::<Uuid>::new());
        assert_eq!(ids("ids", &format!("{ONE}, {ONE}")).expect("one id"), [ONE]);
    }

    #[test]
    fn none_stands_beside_ids() {
        let wanted = references("ownerUserId", &format!("none,{ONE}")).expect("references");

        assert_eq!((wanted.ids, wanted.or_none), (vec![ONE], true));
        assert!(!references("ownerUserId", "").expect("nothing").or_none);
    }

    #[test]
    fn only_known_words_pass() {
        assert_eq!(words("status", "won, won", &["open", "won"]).expect("a word"), ["won"]);
        assert!(words("status", "gone", &["open", "won"]).is_err());
    }
}
