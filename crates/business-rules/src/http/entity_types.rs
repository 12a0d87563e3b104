//! The kinds of records to which rules apply.

use backoffice_core::RequestContext;
use backoffice_core::Result;
use backoffice_core::http::{Json, Routes, requires};
use backoffice_core::records::RecordKind;
use serde::Serialize;
use utoipa::ToSchema;

use crate::acl;
use crate::documented::BusinessRuleFieldType;

/// The changes of records that every kind has.
const EVENTS: [&str; 5] = ["created", "updated", "deleted", "undone", "redone"];

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(
            "/business_rules/entity-types",
            requires(&[acl::VIEW]),
            list_business_rule_entity_types,
        )
        .about("List the kinds of records to which rules apply");
}

/// The kinds of records.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BusinessRuleEntityTypes)]
struct EntityTypes {
    /// By name.
    items: Vec<EntityType>,
}

/// A kind of records.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleEntityType)]
struct EntityType {
    /// The name; the set is open.
    entity_type: &'static str,
    /// The title.
    title: &'static str,
    /// Changes of such records. Rules that act apply to `created`, `updated`, `deleted` and to further events about a record, such as
    /// `owner_assigned`; rules that validate apply to `created`, `updated`, `deleted`, `undone` and `redone`.
    events: Vec<&'static str>,
    /// The fields of such records.
    fields: Vec<Field>,
    /// Whether rules validate changes of such records.
    guardable: bool,
}

/// A field of a record.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleField)]
struct Field {
    /// The name.
    path: &'static str,
    /// `text`, `number`, `boolean`, `id`, `date`, `time`, `list` or `object`.
    #[schema(value_type = BusinessRuleFieldType)]
    r#type: &'static str,
    /// Whether rules may set it.
    writable: bool,
}

async fn list_business_rule_entity_types(ctx: RequestContext) -> Result<Json<EntityTypes>> {
    let offered = ctx.platform().extensions::<RecordKind>().filter(|kind| kind.guardable);
    let mut items: Vec<EntityType> = offered
        .map(|kind| EntityType {
            entity_type: kind.kind,
            title: kind.title,
            events: [&EVENTS, kind.events].concat(),
            fields: kind
                .fields
                .iter()
                .map(|field| Field {
                    path: field.path,
                    r#type: field.field_type.as_str(),
                    writable: field.writable && kind.write.is_some(),
                })
                .collect(),
            guardable: kind.guardable,
        })
        .collect();
    items.sort_by_key(|item| item.entity_type);
    Ok(Json(EntityTypes { items }))
}
