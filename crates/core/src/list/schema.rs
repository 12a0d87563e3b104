//! The schemas of pages and of list parameters.

use std::borrow::Cow;

use utoipa::openapi::schema::Type;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::Page;
use crate::http::{DAY, TIME};

/// Implemented by hand: with a derive, all pages would share the schema of one of them.
impl<T: ToSchema> PartialSchema for Page<T> {
    fn schema() -> RefOr<Schema> {
        page_of(&T::name())
    }
}

/// Returns the schema of a page of rows, which have the schema of this name.
fn page_of(row: &str) -> RefOr<Schema> {
    let number = |about: &str, least: u32| {
        let number = ObjectBuilder::new().schema_type(Type::Integer);
        number.description(Some(about)).minimum(Some(least)).build()
    };
    let items = ArrayBuilder::new()
        .items(Ref::from_schema_name(row))
        .description(Some("The rows."))
        .build();
    let mut page = ObjectBuilder::new().description(Some("One page of a list."));
    page = page.property("items", items).required("items");
    for (name, about, least) in [
        ("total", "Rows of all pages.", 0),
        ("page", "Page number from 1.", 1),
        ("pageSize", "Rows of a page at most.", 1),
        ("totalPages", "Number of pages, at least 1.", 1),
    ] {
        page = page.property(name, number(about, least)).required(name);
    }
    page.build().into()
}

impl<T: ToSchema> ToSchema for Page<T> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("PageOf{}", T::name()))
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}

/// Schema of a parameter that holds UUIDs joined by commas.
#[derive(Debug)]
pub struct IdList;

/// Schema of a parameter that holds UUIDs joined by commas, where `none` stands for no reference.
#[derive(Debug)]
pub struct IdsOrNone;

/// Schema of a parameter that holds an RFC 3339 timestamp or a date.
#[derive(Debug)]
pub struct InstantOrDate;

const UUID: &str = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";

/// Returns the pattern of values joined by commas, with optional spaces around them.
fn joined(value: &str) -> String {
    format!("^ *({value})?( *, *({value})?)* *$")
}

fn text(pattern: String) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern))
        .build()
        .into()
}

impl PartialSchema for IdList {
    fn schema() -> RefOr<Schema> {
        text(joined(UUID))
    }
}

impl ToSchema for IdList {}

impl PartialSchema for IdsOrNone {
    fn schema() -> RefOr<Schema> {
        text(joined(&format!("none|{UUID}")))
    }
}

impl ToSchema for IdsOrNone {}

impl PartialSchema for InstantOrDate {
    fn schema() -> RefOr<Schema> {
        text(format!("^{DAY}({TIME})?$"))
    }
}

impl ToSchema for InstantOrDate {}
