//! What every list takes.

use backoffice_core::Result;
use backoffice_core::list::{PageQuery, Window, search_pattern};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::query::Sort;
use crate::range::{invalid, uuids_of};

/// Page, order and what to look for.
#[derive(Debug, Default, Deserialize, IntoParams, garde::Validate)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
#[garde(allow_unvalidated)]
pub(super) struct Listing {
    /// Page number from 1.
    #[param(minimum = 1, default = 1)]
    page: Option<u32>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
    /// A part of what people read of it.
    search: Option<String>,
    /// Only these: ids joined by commas, at most 200.
    ids: Option<String>,
    /// By what the list is sorted.
    sort_field: Option<String>,
    /// `asc` or `desc`; by default times begin with the latest, everything else with the least.
    sort_dir: Option<String>,
}

impl Listing {
    pub(super) fn window(&self) -> Result<Window> {
        PageQuery::new(self.page, self.page_size).window()
    }

    pub(super) fn pattern(&self) -> Result<Option<String>> {
        search_pattern(self.search.as_deref())
    }

    pub(super) fn ids(&self) -> Result<Option<Vec<Uuid>>> {
        uuids("ids", self.ids.as_deref())
    }

    /// The order; the first of the allowed members is the usual one.
    pub(super) fn sort(&self, allowed: &[&'static str]) -> Result<Sort> {
        let wanted = self.sort_field.as_deref().or(allowed.first().copied());
        let Some(field) = allowed.iter().find(|one| wanted == Some(**one)) else {
            let rule = format!("must be one of {}", allowed.join(", "));
            return Err(invalid("sortField", rule, "invalid_value"));
        };
        let descending = match self.sort_dir.as_deref() {
            None => field.ends_with("At"),
            Some("asc") => false,
            Some("desc") => true,
            Some(_) => return Err(invalid("sortDir", "must be asc or desc".to_owned(), "invalid_value")),
        };
        Ok(Sort { field, descending })
    }
}

/// The parts of a comma list, each once; an empty list stays empty and matches nothing.
pub(super) fn words(list: Option<&str>) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    for word in list?.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    Some(words)
}

/// The ids of a comma list.
pub(super) fn uuids(path: &str, list: Option<&str>) -> Result<Option<Vec<Uuid>>> {
    words(list).map(|words| uuids_of(path, &words)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_trimmed_and_an_empty_one_stays_empty() {
        assert_eq!(words(None), None);
        assert_eq!(words(Some(" , ")), Some(Vec::new()));
        assert_eq!(words(Some("b, a,b")), Some(vec!["b".to_owned(), "a".to_owned()]));
        assert!(uuids("ids", Some("x")).is_err());
        assert!(uuids("ids", Some(&vec![Uuid::nil().to_string(); 201].join(","))).is_ok());
    }

    #[test]
    fn only_allowed_members_sort_and_times_begin_with_the_latest() {
        let by = |field: Option<&str>, dir: Option<&str>| {
            let listing = Listing {
                sort_field: field.map(str::to_owned),
                sort_dir: dir.map(str::to_owned),
                ..Listing::default()
            };
            listing
                .sort(&["createdAt", "title"])
                .ok()
                .map(|sort| (sort.field, sort.descending))
        };

        assert_eq!(by(None, None), Some(("createdAt", true)));
        assert_eq!(by(Some("title"), None), Some(("title", false)));
        assert_eq!(by(None, Some("asc")), Some(("createdAt", false)));
        assert_eq!(by(Some("id"), None), None);
        assert_eq!(by(None, Some("up")), None);
    }
}
