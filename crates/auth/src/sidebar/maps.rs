//! Schemas of the maps in sidebar settings. The types have no values.

use utoipa::openapi::schema::Type;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::settings::{MAX_GROUPS, MAX_ID, MAX_ITEMS, MAX_LABEL};

fn text(longest: usize) -> Schema {
    let text = ObjectBuilder::new().schema_type(Type::String);
    Schema::Object(text.max_length(Some(longest)).build())
}

/// Titles by the id of their group or item.
#[derive(Debug)]
pub(super) struct SidebarTitles;

impl PartialSchema for SidebarTitles {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .property_names(Some(text(MAX_ID)))
            .additional_properties(Some(text(MAX_LABEL)))
            .max_properties(Some(MAX_ITEMS))
            .build()
            .into()
    }
}

impl ToSchema for SidebarTitles {}

/// Ids of items by the id of their group.
#[derive(Debug)]
pub(super) struct ItemsByGroup;

impl PartialSchema for ItemsByGroup {
    fn schema() -> RefOr<Schema> {
        let items = ArrayBuilder::new().items(RefOr::T(text(MAX_ID)));
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .property_names(Some(text(MAX_ID)))
            .additional_properties(Some(items.max_items(Some(MAX_ITEMS))))
            .max_properties(Some(MAX_GROUPS))
            .build()
            .into()
    }
}

impl ToSchema for ItemsByGroup {}
