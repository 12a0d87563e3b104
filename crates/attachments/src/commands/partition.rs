//! Creates, updates and deletes partitions.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::crud::{self, CommandName, Delete, Record};
use backoffice_core::db::ReplaceRow;
use backoffice_core::input::{Input, Validator, Violation, rules};
use backoffice_core::{Error as CoreError, Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::{LocalSettings, PartitionCode, PartitionModel, PartitionTitle, StorageDriver};
use crate::model::{DEFAULT_PRIVATE, DEFAULT_PUBLIC, Partition, Store};
use crate::schema::{attachments_partitions as partitions, attachments_stores as stores};
use crate::{acl, query};

/// Most partitions of a tenant.
const MOST_PARTITIONS: i64 = 100;
/// The drivers of stores.
pub(crate) const DRIVERS: &[&str] = &["local"];

/// Deletes a partition without files.
pub type DeletePartition = Delete<Partition>;

/// The fields of a partition: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = AttachmentPartitionFields)]
pub struct PartitionFields {
    /// 2 to 60 of `A-Z a-z 0-9 _ -`, unique regardless of case; required for a new partition, cannot be changed later.
    #[schema(value_type = PartitionCode, required = true)]
    pub code: Patch<String>,
    /// 1 to 120 characters; required for a new partition.
    #[schema(value_type = PartitionTitle, required = true)]
    pub title: Patch<String>,
    /// At most 500 characters.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub description: Patch<String>,
    /// Whether everybody may read the files; default false.
    #[schema(value_type = bool)]
    pub is_public: Patch<bool>,
    /// Whether texts of images are to be recognized; default false.
    #[schema(value_type = bool)]
    pub requires_ocr: Patch<bool>,
    /// The model that recognizes them, at most 50 characters.
    #[schema(value_type = Option<PartitionModel>)]
    pub ocr_model: Patch<String>,
    /// `local`.
    #[schema(value_type = StorageDriver)]
    pub storage_driver: Patch<String>,
    /// Settings of the driver; `local` has none.
    #[schema(value_type = Option<LocalSettings>)]
    pub config_json: Patch<Map<String, Value>>,
    /// Must be true when a partition with files becomes public.
    #[schema(value_type = bool)]
    pub confirm_public: Patch<bool>,
}

impl Input for PartitionFields {
    fn require(&self, validator: &mut Validator) {
        validator.require("code", &self.code);
        validator.require("title", &self.title);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Partition>(self, validator);
    }
}

impl Record for Partition {
    type Input = PartitionFields;
    const CREATE: CommandName = CommandName::new("attachments.partition.create", "Create partition");
    const UPDATE: CommandName = CommandName::new("attachments.partition.update", "Update partition");
    const DELETE: CommandName = CommandName::new("attachments.partition.delete", "Delete partition");
    const MANAGE: &'static [Feature] = &[acl::PARTITIONS_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            code: String::new(),
            title: String::new(),
            description: None,
            is_public: false,
            requires_ocr: false,
            ocr_model: None,
            storage_driver: DRIVERS[0].to_owned(),
            config: None,
            store_id: id,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        None
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &PartitionFields, validator: &mut Validator) {
        validator.text("code", &input.code, &mut self.code, code);
        validator.text("title", &input.title, &mut self.title, rules::line(120));
        validator.optional_text(
            "description",
            &input.description,
            &mut self.description,
            rules::text(500),
        );
        validator.value("isPublic", &input.is_public, &mut self.is_public, rules::any);
        validator.value("requiresOcr", &input.requires_ocr, &mut self.requires_ocr, rules::any);
        validator.optional_text("ocrModel", &input.ocr_model, &mut self.ocr_model, rules::line(50));
        let driver = rules::one_of(DRIVERS);
        validator.text("storageDriver", &input.storage_driver, &mut self.storage_driver, driver);
        let config = input.config_json.clone().map(Value::Object);
        validator.optional("configJson", &config, &mut self.config, local_config);
        validator.value("confirmPublic", &input.confirm_public, &mut false, rules::any);
    }

    async fn place(&mut self, _tx: &mut Tx<'_>, _input: &PartitionFields) -> Result<()> {
        Ok(())
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = partitions::table.filter(partitions::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(partitions::id.eq_any(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(partitions::table)
            .values(rows)
            .on_conflict((partitions::tenant_id, partitions::id))
            .do_update()
            .set(ReplaceRow::<partitions::table>::default())
            .returning(Self::as_returning());
        Ok(statement.get_results(tx.conn()).await?)
    }

    fn rejection(error: CoreError) -> CoreError {
        match error.violated_constraint() {
            Some("attachments_partitions_tenant_id_code_key") => code_exists().into(),
            Some(
                "attachments_attachments_partition_tenant_id_partition_id_fkey"
                | "attachments_fields_partition_tenant_id_partition_id_fkey",
            ) => Rejection::conflict("Partition is in use").into(),
            _ => error,
        }
    }
}

fn code_exists() -> Rejection {
    Rejection::conflict("Partition code already exists").code("not_unique")
}

/// Accepts a code of 2 to 60 characters.
fn code(text: &str) -> Result<String, Violation> {
    let fits = (2..=60).contains(&text.len());
    if !fits
        || !text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    {
        return Err(Violation::invalid("must be 2 to 60 of A-Z, a-z, 0-9, _ and -"));
    }
    Ok(text.to_owned())
}

/// Accepts the settings of the driver `local`.
fn local_config(config: &Value) -> Result<Value, Violation> {
    match config.as_object().is_some_and(Map::is_empty) {
        true => Ok(config.clone()),
        false => Err(Violation::invalid("must be empty for the driver `local`")),
    }
}

/// Creates a partition of a tenant, with its store.
#[derive(Debug, Clone)]
pub struct CreatePartition {
    row: Partition,
}

impl CreatePartition {
    /// Validates the fields.
    ///
    /// # Errors
    /// 400 for invalid fields or without one tenant, 409 for the code of a partition that every tenant has.
    pub fn new(ctx: &RequestContext, fields: &PartitionFields) -> Result<Self> {
        let mut validator = Validator::default();
        fields.require(&mut validator);
        fields.validate(&mut validator);
        validator.check()?;
        let tenant = ctx.tenant()?;
        if tenant == backoffice_core::ids::PLATFORM_TENANT {
            return Err(Rejection::tenant_required().into());
        }
        let placement = Placement {
            tenant,
            ..Placement::UNKNOWN
        };
        let mut row = Partition::blank(placement, ctx.new_id(), ctx.now());
        row.fill(fields, &mut Validator::default());
        if [DEFAULT_PUBLIC, DEFAULT_PRIVATE]
            .iter()
            .any(|code| code.eq_ignore_ascii_case(&row.code))
        {
            return Err(code_exists().into());
        }
        row.store_id = ctx.new_id();
        Ok(Self { row })
    }
}

impl Command for CreatePartition {
    const ID: &'static str = Partition::CREATE.id;
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = Partition::CREATE.label;
    const FEATURES: &'static [Feature] = Partition::MANAGE;
    type Entity = Partition;
    type Output = Partition;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.row.tenant_id,
            id: self.row.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Partition> {
        if query::partitions::count(tx).await? >= MOST_PARTITIONS {
            let text = format!("at most {MOST_PARTITIONS} partitions are possible");
            return Err(Rejection::bad_request(text).code("too_many_partitions").into());
        }
        let store = Store {
            tenant_id: self.row.tenant_id,
            id: self.row.store_id,
            driver: self.row.storage_driver.clone(),
            config: json!({"code": self.row.code}),
            created_at: self.row.created_at,
            updated_at: self.row.created_at,
        };
        insert_into(stores::table).values(&store).execute(tx.conn()).await?;
        let rows = std::slice::from_ref(&self.row);
        let written = Partition::write(tx, rows).await.map_err(Partition::rejection)?;
        Ok(written.into_iter().next().unwrap_or_else(|| self.row.clone()))
    }
}

/// Updates a partition.
#[derive(Debug, Clone)]
pub struct UpdatePartition {
    id: Uuid,
    fields: PartitionFields,
}

impl UpdatePartition {
    /// Validates the fields, as far as possible without the stored row.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(id: Uuid, fields: PartitionFields) -> Result<Self> {
        let mut validator = Validator::default();
        fields.validate_update(&mut validator);
        validator.check()?;
        Ok(Self { id, fields })
    }
}

impl Command for UpdatePartition {
    const ID: &'static str = Partition::UPDATE.id;
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = Partition::UPDATE.label;
    const FEATURES: &'static [Feature] = Partition::MANAGE;
    type Entity = Partition;
    type Output = Partition;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Partition> {
        let before = crud::read::<Partition>(tx, &[self.id]).await?.pop();
        let before = before.ok_or_else(|| Rejection::not_found(Partition::NOT_FOUND))?;
        let (mut row, mut validator) = (before.clone(), Validator::default());
        row.fill(&self.fields, &mut validator);
        validator.check()?;
        if row.code != before.code {
            return Err(Rejection::immutable("code").into());
        }
        if row == before {
            return Ok(before);
        }
        let is_confirmed = self.fields.confirm_public == Patch::Set(true);
        if row.is_public && !before.is_public && !is_confirmed && query::partitions::has_files(tx, self.id).await? {
            let text = "The partition has files; `confirmPublic` must be true to show them to everybody";
            return Err(Rejection::bad_request(text).code("confirm_public").into());
        }
        row.updated_at = tx.now();
        let written = Partition::write(tx, &[row.clone()]).await?;
        Ok(written.into_iter().next().unwrap_or(row))
    }
}
