//! `/catalog/bulk-delete`

use std::borrow::Cow;

use backoffice_core::http::{Created, Json, Routes, given, given_object, requires};
use backoffice_core::input::schema;
use backoffice_core::input::{Input, Validator};
use backoffice_core::{RequestContext, Result};
use backoffice_progress::bulk::{MAX_ITEMS, Started, checked_ids, start, start_matching, validate_ids};
use serde::Deserialize;
use serde_json::Value;
use utoipa::openapi::schema::{AdditionalProperties, Type};
use utoipa::openapi::{ArrayBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use crate::acl;
use crate::bulk::{BulkDelete, BulkScope, DeleteFilter};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/catalog/bulk-delete", requires(&[acl::PRODUCTS_MANAGE]), bulk_delete)
        .about("Delete many products, in the background")
        .rejects(&[409, 422])
        .rejects_with::<i64>(400, "matched");
}

/// Products to delete, by their ids or by a filter. Unknown fields are rejected.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BulkDeletion {
    /// Must be true, to confirm the deletion.
    confirm: Value,
    /// `selected` requires `ids`; `filtered` requires `filter` or, alternatively, `ids`.
    scope: BulkScope,
    /// 1 to 10000 products; repeated ids count once.
    #[serde(default, deserialize_with = "given")]
    ids: Option<Vec<Uuid>>,
    /// The filter that the products match.
    #[serde(default, deserialize_with = "given_object")]
    filter: Option<DeleteFilter>,
}

impl Input for BulkDeletion {
    fn validate(&self, validator: &mut Validator) {
        if self.confirm != Value::Bool(true) {
            validator.reject("confirm", "must be true", "invalid_value");
        }
        if let Some(ids) = &self.ids {
            validate_ids(ids, validator);
        }
        if let Some(Err(error)) = self.filter.as_ref().map(DeleteFilter::check_values) {
            validator.note(error);
        }
    }
}

impl BulkDeletion {
    /// Validates which fields the request has. It is not part of [`Input::validate`], which also validates bodies without their faulty fields.
    fn validate_selection(&self, validator: &mut Validator) {
        let (path, rule) = match (self.scope, &self.ids, &self.filter) {
            (_, Some(_), None) => return,
            (BulkScope::Filtered, None, Some(filter)) => return validator.keep(filter.check_fields()),
            (BulkScope::Selected, _, Some(_)) => ("filter", "is allowed only with scope filtered"),
            (BulkScope::Selected, None, None) => ("ids", "is required with scope selected"),
            (BulkScope::Filtered, Some(_), Some(_)) => ("filter", "can't be combined with ids"),
            (BulkScope::Filtered, None, None) => ("filter", "is required, unless ids are given"),
        };
        validator.reject(path, rule, "invalid_value");
    }
}

impl PartialSchema for BulkDeletion {
    fn schema() -> RefOr<Schema> {
        let confirm = ObjectBuilder::new()
            .schema_type(Type::Boolean)
            .description(Some("Must be true, to confirm the deletion."))
            .enum_values(Some([true]))
            .build();
        let body = |about: &str| {
            ObjectBuilder::new()
                .description(Some(about))
                .property("confirm", confirm.clone())
                .required("confirm")
                .required("scope")
                .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        };
        let id = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)));
        let ids = ArrayBuilder::new()
            .items(id)
            .description(Some("1 to 10000 products; repeated ones are deleted once."))
            .min_items(Some(1))
            .max_items(Some(MAX_ITEMS));
        let by_ids = body("By their ids, whatever the scope.")
            .property("scope", Ref::from_schema_name(BulkScope::name()))
            .property("ids", ids)
            .required("ids");
        let by_filter = body("Those that the filter matches now, at most 10000.")
            .property("scope", schema::words(["filtered"]))
            .property("filter", Ref::from_schema_name(DeleteFilter::name()))
            .required("filter");
        OneOfBuilder::new()
            .description(Some(
                "Products to delete, by their ids or by a filter. Fields that are not listed here are rejected.",
            ))
            .item(by_ids)
            .item(by_filter)
            .into()
    }
}

impl ToSchema for BulkDeletion {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("CatalogBulkDelete")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((BulkScope::name().into_owned(), BulkScope::schema()));
        schemas.push((DeleteFilter::name().into_owned(), DeleteFilter::schema()));
        DeleteFilter::schemas(schemas);
    }
}

async fn bulk_delete(ctx: RequestContext, body: Json<BulkDeletion>) -> Result<Created<Started>> {
    let body = body.0;
    let mut validator = Validator::default();
    body.validate(&mut validator);
    body.validate_selection(&mut validator);
    validator.check()?;
    let operation = BulkDelete {
        scope: body.scope,
        filter: body.filter,
    };
    match body.ids {
        Some(ids) => start(&ctx, operation, checked_ids(ids)?).await,
        None => start_matching(&ctx, operation).await,
    }
}
