//! Selection of the products of a bulk deletion.

use std::hash::Hash;

use backoffice_core::document;
use backoffice_core::http::given;
use backoffice_core::list::{CommaList, search_pattern};
use backoffice_core::{Detail, Result, Violations};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::query::products::ProductFilter;
use crate::values::PRODUCT_TYPES;
use backoffice_core::list::instant;

/// How the products are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogBulkScope)]
pub enum BulkScope {
    /// By their ids.
    Selected,
    /// By a filter, or by the ids of products that the client found with a filter.
    Filtered,
}

/// Several values: an array, or a text joined by commas as in the query of the list. An empty list matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = CatalogWordList)]
pub enum List {
    /// An array.
    Words(Vec<String>),
    /// A text, joined by commas.
    Joined(String),
}

impl List {
    /// Returns the values without repetitions. Values of an array may contain commas.
    fn read<'t, T: Clone + Eq + Hash>(
        &'t self,
        path: &str,
        expected: &str,
        read: impl FnMut(&'t str) -> Option<T>,
    ) -> Result<Vec<T>, Detail> {
        let list = CommaList::new(path);
        match self {
            Self::Words(words) => list.parsed_parts(words.iter().map(String::as_str), expected, read),
            Self::Joined(text) => list.parsed([text.as_str()], expected, read),
        }
    }

    fn texts(&self, path: &str) -> Result<Vec<String>, Detail> {
        self.read(path, "", |word| Some(word.to_owned()))
    }
}

/// Products must match every field. At least one is required; `all` excludes the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteFilter {
    /// True = every product of the scope.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// Part of title, subtitle, sku, handle or a variant's sku.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Only active products, or only inactive ones.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// Of any of these types: `simple`, `configurable`, `virtual`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub product_type: Option<List>,
    /// In any of these categories or below.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub category_ids: Option<List>,
    /// With any of these tags.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub tags: Option<List>,
    /// Created at this time or later: a timestamp or a date.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub created_from: Option<String>,
    /// Created at this time or earlier: a timestamp or a date, that day included.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub created_to: Option<String>,
}

impl DeleteFilter {
    /// Converts the filter to that of the product list.
    ///
    /// # Errors
    /// 400 that names the invalid fields.
    pub fn to_product_filter(&self) -> Result<ProductFilter> {
        let mut violations = Violations::default();
        violations.keep(self.check_fields());
        let filter = self.values(&mut violations);
        violations.check().map(|()| filter)
    }

    /// Checks the values of the given fields.
    ///
    /// # Errors
    /// 400 that names the invalid fields.
    pub(crate) fn check_values(&self) -> Result<()> {
        let mut violations = Violations::default();
        self.values(&mut violations);
        violations.check()
    }

    /// Converts the values and records invalid ones.
    fn values(&self, violations: &mut Violations) -> ProductFilter {
        violations.keep(document::check_size("filter", self));
        let categories = self
            .category_ids
            .as_ref()
            .map(|list| list.read("filter.categoryIds", "must be UUIDs", |id| id.parse().ok()));
        let tags = self.tags.as_ref().map(|list| list.texts("filter.tags"));
        let (from, to) = (self.created_from.as_deref(), self.created_to.as_deref());
        ProductFilter {
            pattern: violations.keep(search_pattern("filter.search", self.search.as_deref())),
            found: None,
            ids: None,
            is_active: self.is_active,
            product_types: violations.keep(self.product_types()),
            category_ids: violations.keep(categories.transpose()),
            tags: violations.keep(tags.transpose()),
            created_from: violations.keep(instant("filter.createdFrom", from, false)),
            created_to: violations.keep(instant("filter.createdTo", to, true)),
        }
    }

    /// Rejects a filter without conditions, or with blank ones only, so that it can't delete everything.
    ///
    /// # Errors
    /// The violated rule.
    pub(crate) fn check_fields(&self) -> Result<(), Detail> {
        let filtering = Self {
            all: None,
            search: self.search.clone().filter(|search| !search.trim().is_empty()),
            ..self.clone()
        };
        let filters = filtering != Self::default();
        match (self.all, filters) {
            (None, true) => Ok(()),
            (Some(true), false) if self.search.is_none() => Ok(()),
            (None, false) => Err(Detail::new("filter", "must have a field", "required")),
            (Some(_), _) => Err(Detail::new(
                "filter.all",
                "must be true, without other fields",
                "invalid_value",
            )),
        }
    }

    fn product_types(&self) -> Result<Option<Vec<String>>, Detail> {
        let rule = format!("must be of {}", PRODUCT_TYPES.join(", "));
        let known = |word: &str| PRODUCT_TYPES.contains(&word).then(|| word.to_owned());
        let list = self.product_type.as_ref();
        list.map(|list| list.read("filter.productType", &rule, known))
            .transpose()
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
    fn a_filter_that_says_nothing_is_rejected() {
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
