//! The schema of the filter, for the API document.

use std::borrow::Cow;

use backoffice_core::list::{IdList, InstantOrDate, MAX_SEARCH_LENGTH};
use utoipa::openapi::schema::{AdditionalProperties, RefBuilder, Type};
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, OneOfBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{DeleteFilter, List};
use crate::values::PRODUCT_TYPES;

const UUID: &str = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";

fn text(pattern: String) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// Builds the schema of a list of values of this form: an array, or a text joined by commas.
fn list(about: &str, form: &str, joined: impl Into<RefOr<Schema>>) -> OneOfBuilder {
    OneOfBuilder::new()
        .description(Some(about))
        .item(ArrayBuilder::new().items(text(format!("^ *({form} *)?$"))))
        .item(joined)
}

fn described(mut schema: RefOr<Schema>, about: &str) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        object.description = Some(about.to_owned());
    }
    schema
}

impl PartialSchema for DeleteFilter {
    fn schema() -> RefOr<Schema> {
        let closed = || Some(AdditionalProperties::<Schema>::FreeForm(false));
        let boolean = |about: &str| ObjectBuilder::new().schema_type(Type::Boolean).description(Some(about));
        let all = ObjectBuilder::new()
            .description(Some("Every product of the scope."))
            .property("all", boolean("Literally true.").enum_values(Some([true])))
            .required("all")
            .additional_properties(closed());
        let search = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "Part of title, subtitle, sku, handle or a variant's sku. A blank one is not enough by itself.",
            ))
            .max_length(Some(MAX_SEARCH_LENGTH));
        let types = PRODUCT_TYPES.join("|");
        let joined_types = text(format!("^ *({types})?( *, *({types})?)* *$"));
        let tags = RefBuilder::new()
            .ref_location_from_schema_name(List::name())
            .description(Some("With any of these tags, at most 200."));
        let filtering = ObjectBuilder::new()
            .description(Some("The products that match every field; at least one is required."))
            .property("search", search)
            .property("isActive", boolean("Only those that are offered, or only the others."))
            .property(
                "productType",
                list("Of any of these types.", &format!("({types})"), joined_types),
            )
            .property(
                "categoryIds",
                list(
                    "In any of these categories or below, at most 200.",
                    UUID,
                    IdList::schema(),
                ),
            )
            .property("tags", tags)
            .property(
                "createdFrom",
                described(
                    InstantOrDate::schema(),
                    "Created at this time or later: a timestamp or a date.",
                ),
            )
            .property(
                "createdTo",
                described(
                    InstantOrDate::schema(),
                    "Created at this time or earlier: a timestamp or a date, that day included.",
                ),
            )
            .min_properties(Some(1))
            .additional_properties(closed());
        OneOfBuilder::new()
            .description(Some(
                "Which products are deleted: all, or those that match every field.",
            ))
            .item(all)
            .item(filtering)
            .into()
    }
}

impl ToSchema for DeleteFilter {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("CatalogDeleteFilter")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((List::name().into_owned(), List::schema()));
        List::schemas(schemas);
    }
}
