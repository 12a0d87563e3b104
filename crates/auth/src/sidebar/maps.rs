//! Schemas of the maps in sidebar settings.

use backoffice_core::text_schemas;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, RefOr, Schema};

use super::settings::{MAX_GROUPS, MAX_ID, MAX_ITEMS, MAX_LABEL};

text_schemas! {
    /// Titles by the id of their group or item.
    SidebarTitles: map().additional_properties(Some(text(MAX_LABEL))).max_properties(Some(MAX_ITEMS));
    /// Ids of items by the id of their group.
    ItemsByGroup: map().additional_properties(Some(ids())).max_properties(Some(MAX_GROUPS));
}

/// Returns the schema of an object whose fields have ids as names.
fn map() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property_names(Some(text(MAX_ID)))
}

fn ids() -> ArrayBuilder {
    ArrayBuilder::new()
        .items(RefOr::T(text(MAX_ID)))
        .max_items(Some(MAX_ITEMS))
}

fn text(longest: usize) -> Schema {
    let text = ObjectBuilder::new().schema_type(Type::String);
    Schema::Object(text.max_length(Some(longest)).build())
}
