//! The schema of a page.

use std::borrow::Cow;

use utoipa::openapi::schema::Type;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::Page;

/// Derived, all pages would share one schema with the items of one of them.
impl<T: ToSchema> PartialSchema for Page<T> {
    fn schema() -> RefOr<Schema> {
        let number = |about: &str, least: u32| {
            let number = ObjectBuilder::new().schema_type(Type::Integer);
            number.description(Some(about)).minimum(Some(least)).build()
        };
        let items = ArrayBuilder::new()
            .items(Ref::from_schema_name(T::name()))
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
