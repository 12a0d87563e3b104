//! Constraints of the files of fields.

use std::collections::BTreeSet;

use backoffice_core::http::{CheckedQuery, CreatedId, Done, Id, Json, Query, QueryInput, Routes, requires};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::input::{Input, Validator};
use backoffice_core::list::ById;
use backoffice_core::{Detail, Rejection, RequestContext, Result, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::commands::{DeleteField, SetField};
use crate::documented::{AttachmentExtension, AttachmentRecordText};
use crate::error::Error;
use crate::model::{FIELD, Field, PARTITION, Partition};
use crate::{acl, hosts, query, values};

const PATH: &str = "/attachments/fields";
/// Most extensions of a field.
const MOST_EXTENSIONS: usize = 100;
/// Largest file that any configuration allows.
const LARGEST_FILE: i64 = 5 * 1024 * 1024 * 1024;
/// Longest extension.
const LONGEST_EXTENSION: usize = 20;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(PATH, requires(&[acl::VIEW]), list_attachment_fields)
        .shows(&[FIELD, PARTITION])
        .about("List the constraints of fields");
    routes
        .put(PATH, requires(&[acl::PARTITIONS_MANAGE]), set_attachment_field)
        .about("Set the constraints of a field")
        .rejects(&[422]);
    routes
        .delete(PATH, requires(&[acl::PARTITIONS_MANAGE]), delete_attachment_field)
        .about("Delete the constraints of a field")
        .rejects(&[404, 422]);
}

/// The kind of records.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct FieldQuery {
    /// Only fields of this kind of records.
    #[param(value_type = Option<AttachmentRecordText>, inline)]
    entity_id: Option<String>,
}

impl FieldQuery {
    fn kind(&self) -> Option<String> {
        self.entity_id.as_deref().map(values::normal_kind)
    }
}

impl QueryInput for FieldQuery {
    fn validate(&self, violations: &mut Violations) {
        if self.kind().is_some_and(|entity| !values::is_id(&entity)) {
            let message = "must be 1 to 255 characters without control characters";
            violations.add(Detail::new("entityId", message, "invalid_value"));
        }
    }
}

/// Who has set constraints.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AttachmentFieldSource)]
enum Source {
    /// An administrator of the tenant.
    Tenant,
    /// A module.
    Declared,
}

/// The constraints of a field.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentField)]
struct FieldItem {
    id: Uuid,
    entity_id: String,
    /// `*`: all files of the kind, with or without a field.
    field_key: String,
    accept_extensions: Option<Vec<String>>,
    /// Most bytes of a file.
    max_bytes: Option<i64>,
    /// Most files of a field of a record.
    max_count: Option<i32>,
    partition_code: Option<String>,
    /// `tenant`: an administrator has set them; `declared`: a module has.
    source: Source,
}

impl FieldItem {
    fn of((row, is_declared): (Field, bool), partitions: &[Partition]) -> Self {
        let partition = partitions
            .iter()
            .find(|partition| Some(partition.id) == row.partition_id);
        Self {
            id: row.id,
            entity_id: row.entity_id,
            field_key: row.field_key,
            accept_extensions: row.accept_extensions,
            max_bytes: row.max_bytes,
            max_count: row.max_count,
            partition_code: partition.map(|partition| partition.code.clone()),
            source: match is_declared {
                true => Source::Declared,
                false => Source::Tenant,
            },
        }
    }
}

/// Constraints of fields, by kind of records and key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentFields)]
struct FieldList {
    items: Vec<FieldItem>,
}

async fn list_attachment_fields(
    ctx: RequestContext,
    query: CheckedQuery<FieldQuery>,
    by_id: Query<ById>,
) -> Result<Json<FieldList>> {
    let mut violations = Violations::default();
    query.0.validate(&mut violations);
    let requested = violations.keep(by_id.0.requested());
    violations.check()?;
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let fields = query::fields::applying(&ctx, &connection, query.0.kind().as_deref()).await?;
    let partitions = query::partitions::visible(&connection, ctx.scope()).await?;
    let items = fields
        .into_iter()
        .filter(|(field, _)| requested.as_ref().is_none_or(|ids| ids.contains(&field.id)))
        .map(|field| FieldItem::of(field, &partitions))
        .collect();
    Ok(Json(FieldList { items }))
}

/// All constraints of a field: absent ones and null are none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentFieldConstraints)]
struct FieldBody {
    /// Kind of records: `module.entity` or `module:entity`.
    #[schema(value_type = AttachmentRecordText)]
    entity_id: String,
    /// Key of the field; `*` for all files of the kind, with or without a field.
    #[schema(value_type = AttachmentRecordText)]
    field_key: String,
    /// At most 100 extensions of up to 20 characters, regardless of case, with or without a dot.
    #[schema(value_type = Option<Vec<AttachmentExtension>>, min_items = 1, max_items = 100)]
    accept_extensions: Option<Vec<String>>,
    /// Most bytes of a file, up to 5 GiB.
    #[schema(minimum = 1, maximum = 5_368_709_120_i64)]
    max_bytes: Option<i64>,
    /// Most files of a field of a record.
    #[schema(minimum = 1, maximum = 2_147_483_647)]
    max_count: Option<i32>,
    /// Partition of files without one of their own.
    #[schema(value_type = Option<AttachmentRecordText>)]
    partition_code: Option<String>,
}

impl FieldBody {
    /// Returns the extensions, lower-case, without dots, each once.
    fn extensions(&self) -> Option<BTreeSet<String>> {
        let plain = |extension: &String| {
            let extension = extension.trim();
            extension.strip_prefix('.').unwrap_or(extension).to_lowercase()
        };
        Some(self.accept_extensions.as_ref()?.iter().map(plain).collect())
    }
}

impl Input for FieldBody {
    fn validate(&self, validator: &mut Validator) {
        for (name, text) in [
            ("entityId", Some(&self.entity_id)),
            ("fieldKey", Some(&self.field_key)),
            ("partitionCode", self.partition_code.as_ref()),
        ] {
            if text.is_some_and(|text| !values::is_id(text)) {
                validator.reject(
                    name,
                    "must be 1 to 255 characters without control characters",
                    "invalid_value",
                );
            }
        }
        let is_plain = |extension: &String| {
            (1..=LONGEST_EXTENSION).contains(&extension.len())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let count = self.accept_extensions.as_ref().map_or(1, Vec::len);
        if let Some(extensions) = self.extensions()
            && (count == 0 || count > MOST_EXTENSIONS || !extensions.iter().all(is_plain))
        {
            validator.reject(
                "acceptExtensions",
                "must be 1 to 100 extensions of letters and digits",
                "invalid_value",
            );
        }
        if self.max_bytes.is_some_and(|most| !(1..=LARGEST_FILE).contains(&most)) {
            validator.reject("maxBytes", "must be between 1 and 5 GiB", "out_of_range");
        }
        if self.max_count.is_some_and(|most| most < 1) {
            validator.reject("maxCount", "must be at least 1", "out_of_range");
        }
    }
}

async fn set_attachment_field(ctx: RequestContext, body: Json<FieldBody>) -> Result<Json<CreatedId>> {
    let body = body.0;
    let mut validator = Validator::default();
    body.validate(&mut validator);
    validator.check()?;
    hosts::require_whole_tenant(ctx.scope())?;
    let tenant = ctx.tenant()?;
    if tenant == PLATFORM_TENANT {
        return Err(Rejection::tenant_required().into());
    }
    let partition = match &body.partition_code {
        None => None,
        Some(code) => {
            let connection = ctx.read().await?;
            let partitions = query::partitions::visible(&connection, ctx.scope()).await?;
            let found = query::partitions::with_code(&partitions, code);
            Some(found.ok_or(Error::UnknownPartition)?.clone())
        }
    };
    let entity = values::normal_kind(&body.entity_id);
    let row = Field {
        tenant_id: tenant,
        id: Field::id_of(tenant, &entity, &body.field_key),
        accept_extensions: body.extensions().map(|extensions| extensions.into_iter().collect()),
        entity_id: entity,
        field_key: body.field_key,
        max_bytes: body.max_bytes,
        max_count: body.max_count,
        partition_tenant_id: partition.as_ref().map(|partition| partition.tenant_id),
        partition_id: partition.map(|partition| partition.id),
        created_at: ctx.now(),
        updated_at: ctx.now(),
    };
    ctx.execute(&SetField { row }, |id| Json(CreatedId { id })).await
}

async fn delete_attachment_field(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    hosts::require_whole_tenant(ctx.scope())?;
    ctx.execute(&DeleteField { id: query.0.id }, |()| Json(Done::OK)).await
}
