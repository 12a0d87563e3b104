//! The settings of a sidebar: order, titles and hidden items.

use std::collections::{BTreeMap, HashSet};

use backoffice_core::http::given;
use backoffice_core::input::Validator;
use backoffice_core::{Detail, document};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Jsonb;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::maps::{ItemsByGroup, SidebarTitles};

pub(super) const MAX_ID: usize = 128;
pub(super) const MAX_LABEL: usize = 120;
pub(super) const MAX_GROUPS: usize = 200;
pub(super) const MAX_ITEMS: usize = 500;

/// The settings of a sidebar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema, AsExpression, FromSqlRow)]
#[diesel(sql_type = Jsonb)]
#[serde(rename_all = "camelCase", default)]
pub struct SidebarSettings {
    /// Version of the format of these settings, set by the client.
    pub version: i32,
    /// Ids of groups, the first on top; other groups follow.
    pub group_order: Vec<String>,
    /// Custom titles of groups.
    pub group_labels: BTreeMap<String, String>,
    /// Custom titles of items.
    pub item_labels: BTreeMap<String, String>,
    /// Ids of hidden items.
    pub hidden_items: Vec<String>,
    /// Ids of items by group, the first on top; other items follow.
    pub item_order: BTreeMap<String, Vec<String>>,
}

impl Default for SidebarSettings {
    fn default() -> Self {
        Self {
            version: 1,
            group_order: Vec::new(),
            group_labels: BTreeMap::new(),
            item_labels: BTreeMap::new(),
            hidden_items: Vec::new(),
            item_order: BTreeMap::new(),
        }
    }
}

impl FromSql<Jsonb, Pg> for SidebarSettings {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let value = <Value as FromSql<Jsonb, Pg>>::from_sql(value)?;
        Ok(serde_json::from_value(value)?)
    }
}

impl ToSql<Jsonb, Pg> for SidebarSettings {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        let value = serde_json::to_value(self)?;
        <Value as ToSql<Jsonb, Pg>>::to_sql(&value, &mut out.reborrow())
    }
}

/// Settings in a request; a missing field counts as empty.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingsInput {
    /// 1 to 2147483647, 1 by default.
    #[schema(minimum = 1, maximum = 2_147_483_647, nullable = false)]
    #[serde(default, deserialize_with = "given")]
    version: Option<i32>,
    /// At most 200 ids of at most 128 characters; blank ones are dropped.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_items = 200, max_length = 128)]
    group_order: Option<Vec<String>>,
    /// At most 500 titles of at most 120 characters by ids of at most 128; blank ones are dropped.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SidebarTitles>, nullable = false)]
    group_labels: Option<BTreeMap<String, String>>,
    /// At most 500 titles of at most 120 characters by ids of at most 128; blank ones are dropped.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SidebarTitles>, nullable = false)]
    item_labels: Option<BTreeMap<String, String>>,
    /// At most 500 ids of at most 128 characters; blank ones are dropped.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_items = 500, max_length = 128)]
    hidden_items: Option<Vec<String>>,
    /// At most 200 groups with 500 ids each, all of at most 128 characters; blank ones are dropped.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<ItemsByGroup>, nullable = false)]
    item_order: Option<BTreeMap<String, Vec<String>>>,
}

impl SettingsInput {
    /// Returns the settings, trimmed, without blanks and repetitions; fields with a violated rule are empty.
    pub(crate) fn checked(&self, validator: &mut Validator) -> SidebarSettings {
        let version = self.version.unwrap_or(1);
        if version < 1 {
            validator.reject("version", "must be at least 1", "out_of_range");
        }
        let settings = SidebarSettings {
            version,
            group_order: validator.keep(ids("groupOrder", self.group_order.as_deref(), MAX_GROUPS)),
            group_labels: validator.keep(labels("groupLabels", self.group_labels.as_ref())),
            item_labels: validator.keep(labels("itemLabels", self.item_labels.as_ref())),
            hidden_items: validator.keep(ids("hiddenItems", self.hidden_items.as_deref(), MAX_ITEMS)),
            item_order: validator.keep(ordered(self.item_order.as_ref())),
        };
        validator.keep(document::check_size("", &settings));
        settings
    }
}

fn ordered(listed: Option<&BTreeMap<String, Vec<String>>>) -> Result<BTreeMap<String, Vec<String>>, Detail> {
    let mut kept = BTreeMap::new();
    let Some(listed) = listed else { return Ok(kept) };
    within("itemOrder", listed.len(), MAX_GROUPS)?;
    for (group, items) in listed {
        // The items of a blank group are left out, but they obey the same rules.
        let items = ids("itemOrder", Some(items), MAX_ITEMS)?;
        if let Some(group) = trimmed("itemOrder", group, MAX_ID)? {
            kept.entry(group).or_insert(items);
        }
    }
    Ok(kept)
}

fn within(path: &'static str, count: usize, most: usize) -> Result<(), Detail> {
    if count <= most {
        return Ok(());
    }
    let message = format!("must have at most {most} entries");
    Err(Detail::new(path, message, "too_long"))
}

/// Returns the trimmed text, or `None` if it is blank.
fn trimmed(path: &'static str, text: &str, longest: usize) -> Result<Option<String>, Detail> {
    let text = text.trim();
    if text.chars().count() > longest {
        let message = format!("must have texts of at most {longest} characters");
        return Err(Detail::new(path, message, "too_long"));
    }
    Ok(Some(text).filter(|text| !text.is_empty()).map(str::to_owned))
}

fn ids(path: &'static str, listed: Option<&[String]>, most: usize) -> Result<Vec<String>, Detail> {
    let listed = listed.unwrap_or_default();
    within(path, listed.len(), most)?;
    let (mut known, mut kept) = (HashSet::new(), Vec::with_capacity(listed.len()));
    for id in listed {
        match trimmed(path, id, MAX_ID)? {
            Some(id) if known.insert(id.clone()) => kept.push(id),
            _ => {}
        }
    }
    Ok(kept)
}

fn labels(path: &'static str, listed: Option<&BTreeMap<String, String>>) -> Result<BTreeMap<String, String>, Detail> {
    let mut kept = BTreeMap::new();
    let Some(listed) = listed else { return Ok(kept) };
    within(path, listed.len(), MAX_ITEMS)?;
    for (id, label) in listed {
        if let (Some(id), Some(label)) = (trimmed(path, id, MAX_ID)?, trimmed(path, label, MAX_LABEL)?) {
            kept.entry(id).or_insert(label);
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(value: Value) -> Result<SidebarSettings, Vec<Detail>> {
        let input: SettingsInput = serde_json::from_value(value).expect("the types are right");
        let mut validator = Validator::default();
        let settings = input.checked(&mut validator);
        match validator.into_details() {
            none if none.is_empty() => Ok(settings),
            details => Err(details),
        }
    }

    #[test]
    fn blanks_and_repetitions_are_dropped() {
        let settings = checked(json!({
            "groupOrder": [" a ", "", "b", "a"], "hiddenItems": ["x", " x"], "itemLabels": {" i ": " Label ", "j": " ", " ": "k"},
            "itemOrder": {" g ": ["2", " 1", "2"], "": ["3"]}
        }));

        let expected = json!({"version": 1, "groupOrder": ["a", "b"], "groupLabels": {}, "itemLabels": {"i": "Label"},
            "hiddenItems": ["x"], "itemOrder": {"g": ["2", "1"]}});
        assert_eq!(json!(settings.expect("valid")), expected);
    }

    #[test]
    fn f3_settings_have_a_largest_size() {
        let ids: Vec<String> = (0..500).map(|number| format!("{number:0>120}")).collect();
        let (fits, too_long) = (
            json!({"itemOrder": {"a": ids}}),
            json!({"itemOrder": {"a": ids, "b": ids}}),
        );

        assert!(checked(fits).is_ok());
        assert_eq!(checked(too_long).expect_err("too much")[0].code, "too_long");
    }

    #[test]
    fn a_value_that_is_too_long_is_named() {
        let many = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        for (value, path) in [
            (json!({"version": 0}), "version"),
            (json!({"groupOrder": many(201)}), "groupOrder"),
            (json!({"hiddenItems": many(501)}), "hiddenItems"),
            (json!({"hiddenItems": ["x".repeat(129)]}), "hiddenItems"),
            (json!({"groupLabels": {"g": "x".repeat(121)}}), "groupLabels"),
            (json!({"itemOrder": {"g": many(501)}}), "itemOrder"),
            (json!({"itemOrder": {"": ["x".repeat(129)]}}), "itemOrder"),
        ] {
            assert_eq!(checked(value).expect_err("too much")[0].path, path);
        }
        assert!(checked(json!({"groupOrder": many(200), "hiddenItems": many(500)})).is_ok());
        let two = json!({"version": 0, "groupOrder": many(201)});
        assert_eq!(checked(two).expect_err("too much").len(), 2);
    }
}
