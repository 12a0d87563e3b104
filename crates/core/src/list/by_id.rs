//! The parameters `id` and `ids` of every list.

use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::{CommaList, IdList};
use crate::error::Detail;
use crate::http::given;

/// Selects rows of a list by their ids.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ById {
    /// Only the row with this id.
    #[serde(default, deserialize_with = "given")]
    pub id: Option<Uuid>,
    /// Only the rows with these ids: joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    pub ids: Option<String>,
}

impl ById {
    /// Returns the requested ids; `None` for all rows. If both parameters are given, both must match.
    ///
    /// # Errors
    /// When an id is malformed, or there are too many.
    pub fn requested(&self) -> Result<Option<Vec<Uuid>>, Detail> {
        let listed = self.ids.as_deref().map(|text| CommaList::new("ids").ids([text]));
        let listed = listed.transpose()?;
        Ok(match (self.id, listed) {
            (None, listed) => listed,
            (Some(id), None) => Some(vec![id]),
            (Some(id), Some(listed)) => Some(listed.into_iter().filter(|one| *one == id).collect()),
        })
    }

    /// Whether a single row is requested by its id.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.id.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_and_a_list_must_both_match() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let requested = |id: Option<Uuid>, ids: Option<String>| ById { id, ids }.requested().expect("valid");

        assert_eq!(requested(None, None), None);
        assert_eq!(requested(None, Some(" , ".to_owned())), Some(Vec::new()));
        assert_eq!(requested(Some(one), None), Some(vec![one]));
        assert_eq!(requested(Some(one), Some(format!("{other},{one}"))), Some(vec![one]));
        assert_eq!(requested(Some(one), Some(other.to_string())), Some(Vec::new()));
    }
}
