//! Partitions.

use backoffice_core::command::Entity;
use backoffice_core::http::{
    Attempt, Created, Describe, Done, Extract, Id, Identified, Incoming, Json, Path, Query, Routes, Schemas, given,
    requires,
};
use backoffice_core::ids::wire_tenant;
use backoffice_core::input::Input;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Rejection, RequestContext, Result, Scope, Timestamp, VisibleTenants, crud};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::{RefOr, Required};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::commands::{CreatePartition, PartitionFields, UpdatePartition, not_allowed};
use crate::config::env_name;
use crate::documented::StorageDriver;
use crate::files::Files;
use crate::model::{PARTITION, Partition};
use crate::stores::probe;
use crate::{acl, hosts, query};

/// Tests of partitions by one tenant.
pub(crate) const TESTS: RateLimit = RateLimit::new("attachments.partition_test.tenant", 10, 60);

const PATH: &str = "/attachments/partitions";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(PATH, requires(&[acl::VIEW]), list_attachment_partitions)
        .shows(&[PARTITION])
        .across_tenants()
        .about("List the partitions of files");
    routes
        .post(PATH, requires(&[acl::PARTITIONS_MANAGE]), create_attachment_partition)
        .about("Create a partition")
        .rejects(&[409, 422]);
    routes
        .put(PATH, requires(&[acl::PARTITIONS_MANAGE]), update_attachment_partition)
        .across_tenants()
        .about("Change a partition")
        .rejects(&[404, 422]);
    routes
        .delete(PATH, requires(&[acl::PARTITIONS_MANAGE]), delete_attachment_partition)
        .across_tenants()
        .about("Delete a partition without files")
        .rejects(&[404, 409, 422]);
    routes
        .post(
            "/attachments/partitions/{id}/test",
            requires(&[acl::PARTITIONS_MANAGE]),
            test_attachment_partition,
        )
        .across_tenants()
        .about("Store, read and remove an object of 16 bytes in a partition")
        .without_command()
        .rejects(&[404, 429]);
}

/// A partition.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentPartition)]
struct PartitionItem {
    id: Uuid,
    /// Null for the partitions that every tenant has.
    tenant_id: Option<Uuid>,
    code: String,
    title: String,
    description: Option<String>,
    /// The environment variable that names the folder of the files.
    env_key: String,
    /// Whether everybody may read the files.
    is_public: bool,
    requires_ocr: bool,
    ocr_model: Option<String>,
    #[schema(value_type = StorageDriver)]
    storage_driver: String,
    #[schema(value_type = Option<Object>)]
    config_json: Option<Value>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
}

impl From<Partition> for PartitionItem {
    fn from(row: Partition) -> Self {
        Self {
            id: row.id,
            tenant_id: wire_tenant(row.tenant_id),
            env_key: format!("ATTACHMENTS_PARTITION_{}_ROOT", env_name(&row.code)),
            code: row.code,
            title: row.title,
            description: row.description,
            is_public: row.is_public,
            requires_ocr: row.requires_ocr,
            ocr_model: row.ocr_model,
            storage_driver: row.storage_driver,
            config_json: row.config,
            created_at: row.created_at,
            updated_at: Some(row.updated_at),
        }
    }
}

/// Partitions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentPartitions)]
struct PartitionList {
    items: Vec<PartitionItem>,
}

/// A partition that was written.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentPartitionResponse)]
struct PartitionResponse {
    item: PartitionItem,
}

fn response(row: Partition) -> PartitionResponse {
    PartitionResponse { item: row.into() }
}

async fn list_attachment_partitions(ctx: RequestContext) -> Result<Json<PartitionList>> {
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let partitions = query::partitions::visible(&connection, ctx.scope()).await?;
    let items = partitions.into_iter().map(PartitionItem::from).collect();
    Ok(Json(PartitionList { items }))
}

async fn create_attachment_partition(
    ctx: RequestContext,
    body: Attempt<Json<PartitionFields>>,
) -> Result<Created<PartitionResponse>> {
    Partition::check_writable(&ctx)?;
    let Json(fields) = body.0?;
    let command = CreatePartition::new(&ctx, &fields)?;
    check_endpoint(&ctx, &fields).await?;
    ctx.execute(&command, |row| Created(response(row))).await
}

async fn update_attachment_partition(
    ctx: RequestContext,
    body: Attempt<Identified<PartitionFields>>,
) -> Result<Json<PartitionResponse>> {
    Partition::check_writable(&ctx)?;
    let body = body.0?;
    let command = UpdatePartition::new(body.id, body.fields.clone())?;
    let row = visible(&ctx, body.id).await?;
    if row.is_default() && !ctx.rights().is_super_admin {
        return Err(Rejection::forbidden("Default partitions can only be changed by super administrators").into());
    }
    check_endpoint(&ctx, &body.fields).await?;
    // The scope of a selected tenant does not include a default partition.
    let ctx = match row.is_default() && ctx.scope().visible_tenants != VisibleTenants::All {
        true => ctx.with_scope(Scope::system()),
        false => ctx,
    };
    ctx.execute(&command, |row| Json(response(row))).await
}

/// Looks up the host of a new endpoint, so that a private one is rejected before the first file. Its text is checked again by the command, and its
/// address at every connection.
async fn check_endpoint(ctx: &RequestContext, fields: &PartitionFields) -> Result<()> {
    let endpoint = fields.config().and_then(|config| config.get("endpoint"));
    let Some(Ok(url)) = endpoint.and_then(Value::as_str).map(Url::parse) else {
        return Ok(());
    };
    let files = ctx.call().provided::<Files>()?;
    let checked = files.stores.egress().look_up(&url).await;
    Ok(checked.map_err(|error| not_allowed("endpoint", &error.to_string()))?)
}

/// The query of a deletion.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PartitionQuery {
    /// The partition, unless the body names it.
    id: Option<Uuid>,
}

/// The body of a deletion.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AttachmentPartitionId)]
struct PartitionBody {
    /// The partition, unless the query names it.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    id: Option<Uuid>,
}

impl Input for PartitionBody {}

/// The partition that a request names in its query or in its body.
#[derive(Debug, Clone, Copy)]
struct NamedPartition(Uuid);

impl Extract for NamedPartition {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let Query(query) = Query::<PartitionQuery>::extract(incoming)?;
        let in_body = match incoming.body.trim_ascii() {
            [] => None,
            _ => Json::<PartitionBody>::extract(incoming)?.0.id,
        };
        if query.id.zip(in_body).is_some_and(|(one, other)| one != other) {
            let rule = "must be the same in the query and in the body";
            return Err(Rejection::invalid_field("id", rule, "invalid_value").into());
        }
        let id = query.id.or(in_body);
        let id = id.ok_or_else(|| Rejection::invalid_field("id", "is required", "required"))?;
        Ok(Self(id))
    }
}

impl Describe for NamedPartition {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        let operation = Query::<PartitionQuery>::describe(operation, schemas);
        let mut operation = Operation::from(Json::<PartitionBody>::describe(operation, schemas));
        if let Some(RefOr::T(body)) = &mut operation.request_body {
            body.required = Some(Required::False);
        }
        operation.into()
    }
}

async fn delete_attachment_partition(ctx: RequestContext, named: Attempt<NamedPartition>) -> Result<Json<Done>> {
    Partition::check_writable(&ctx)?;
    let NamedPartition(id) = named.0?;
    let row = visible(&ctx, id).await?;
    if row.is_default() {
        return Err(Rejection::bad_request("Default partitions cannot be deleted").into());
    }
    crud::delete::<Partition>(&ctx, row.id).await
}

/// The outcome of a test.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentPartitionTest)]
struct TestResponse {
    /// Whether the object was stored, read and removed.
    ok: bool,
    /// The reason why not.
    error: Option<String>,
    /// Duration in milliseconds.
    ms: u64,
}

async fn test_attachment_partition(ctx: RequestContext, path: Path<Id>) -> Result<Json<TestResponse>> {
    hosts::require_whole_tenant(ctx.scope())?;
    let tenant = ctx.tenant()?;
    let limits = ctx.platform().rate_limits();
    limits.count(ctx.call(), TESTS, &tenant.to_string()).await?;
    let partition = visible(&ctx, path.0.id).await?;
    let store = super::store::settings(&ctx, &partition).await?;
    let (clock, started) = (ctx.platform().clock(), ctx.platform().clock().now());
    let outcome = probe(ctx.call(), tenant, &store, &partition.code).await?;
    let ms = clock.now().unix_millis() - started.unix_millis();
    if let Err(error) = &outcome {
        tracing::warn!(%error, partition = %partition.id, "the test of a partition failed");
    }
    Ok(Json(TestResponse {
        ok: outcome.is_ok(),
        error: outcome.err().map(|error| match error.get_ref() {
            // Texts of the operating system may name paths.
            None => error.kind().to_string(),
            Some(own) => own.to_string(),
        }),
        ms: u64::try_from(ms).unwrap_or(0),
    }))
}

/// Returns a partition that the caller may see.
async fn visible(ctx: &RequestContext, id: Uuid) -> Result<Partition> {
    let connection = ctx.read().await?;
    let partitions = query::partitions::visible(&connection, ctx.scope()).await?;
    let found = partitions.into_iter().find(|partition| partition.id == id);
    found.ok_or_else(|| Rejection::not_found(Partition::NOT_FOUND).into())
}
