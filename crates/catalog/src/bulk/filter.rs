//! Which products a bulk deletion takes.

use backoffice_core::Result;
use backoffice_core::list::search_pattern;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::input::PRODUCT_TYPES;
use crate::query::products::ProductFilter;
use crate::range::{instant, invalid, uuids_of};

/// How the products are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogBulkScope)]
pub enum BulkScope {
    /// By their ids.
    Selected,
    /// By a filter, or by the ids that a client found with one.
    Filtered,
}

/// Several words: an array, or joined by commas as in the list's query. An empty list matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = CatalogWordList)]
pub enum List {
    /// One by one.
    Words(Vec<String>),
    /// Joined by commas.
    Joined(String),
}

impl List {
    fn words(&self) -> Vec<String> {
        let trimmed = |word: &str| Some(word.trim().to_owned()).filter(|word| !word.is_empty());
        match self {
            Self::Words(words) => words.iter().filter_map(|word| trimmed(word)).collect(),
            Self::Joined(text) => text.split(',').filter_map(trimmed).collect(),
        }
    }
}

/// Every member that is given must match. At least one is; `all` stands alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CatalogDeleteFilter)]
pub struct DeleteFilter {
    /// True = every product of the scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// Part of title, subtitle, sku, handle or a variant's sku.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Only those that are offered, or only the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// Of any of these types: `simple`, `configurable`, `virtual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_type: Option<List>,
    /// In any of these categories or below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category_ids: Option<List>,
    /// With any of these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<List>,
    /// Made then or later: a timestamp or a date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_from: Option<String>,
    /// Made then or earlier: a timestamp or a date, that day included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_to: Option<String>,
}

impl DeleteFilter {
    /// The filter of the list that says the same.
    ///
    /// # Errors
    /// 400 that names the member.
    pub fn to_product_filter(&self) -> Result<ProductFilter> {
        self.check_members()?;
        Ok(ProductFilter {
            pattern: search_pattern(self.search.as_deref())?,
            ids: None,
            is_active: self.is_active,
            product_types: self.product_types()?,
            category_ids: match &self.category_ids {
                Some(list) => Some(uuids_of("filter.categoryIds", &list.words())?),
                None => None,
            },
            tags: self.tags.as_ref().map(List::words),
            created_from: instant("filter.createdFrom", self.created_from.as_deref(), false)?,
            created_to: instant("filter.createdTo", self.created_to.as_deref(), true)?,
        })
    }

    /// A filter that says nothing, or nothing but blanks, must not delete everything.
    fn check_members(&self) -> Result<()> {
        let narrowing = Self {
            all: None,
            search: self.search.clone().filter(|search| !search.trim().is_empty()),
            ..self.clone()
        };
        let narrows = narrowing != Self::default();
        match (self.all, narrows) {
            (None, true) => Ok(()),
            (Some(true), false) if self.search.is_none() => Ok(()),
            (None, false) => Err(invalid("filter", "must have a member", "required")),
            (Some(_), _) => Err(invalid("filter.all", "must be true and stand alone", "invalid_value")),
        }
    }

    fn product_types(&self) -> Result<Option<Vec<String>>> {
        let Some(list) = &self.product_type else {
            return Ok(None);
        };
        let words = list.words();
        if words.iter().all(|word| PRODUCT_TYPES.contains(&word.as_str())) {
            return Ok(Some(words));
        }
        let rule = format!("must be of {}", PRODUCT_TYPES.join(", "));
        Err(invalid("filter.productType", rule, "invalid_value"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(filter: Value) -> Option<ProductFilter> {
        serde_json::from_value::<DeleteFilter>(filter)
            .ok()?
            .to_product_filter()
            .ok()
    }

    #[test]
    fn a_filter_that_says_nothing_is_refused() {
        for nothing in [
            json!({}),
            json!({"isActive": null}),
            json!({"search": " "}),
            json!({"search": ""}),
            json!({"all": false}),
            json!({"all": true, "isActive": false}),
            json!({"all": true, "search": "x"}),
            json!({"isActiv": false}),
        ] {
            assert_eq!(read(nothing.clone()), None, "{nothing}");
        }
    }

    #[test]
    fn everything_has_to_be_asked_for_in_so_many_words() {
        assert_eq!(read(json!({"all": true})), Some(ProductFilter::default()));
    }

    #[test]
    fn an_empty_list_stays_one() {
        let filter = read(json!({"tags": [], "productType": "simple, virtual"})).expect("a filter");

        assert_eq!(filter.tags, Some(Vec::new()));
        assert_eq!(
            filter.product_types,
            Some(vec!["simple".to_owned(), "virtual".to_owned()])
        );
    }
}
