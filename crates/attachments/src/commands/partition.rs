//! Creates, updates and deletes partitions.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::crud::{self, CommandName, Delete, Record};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, Violation, rules};
use backoffice_core::{Error as CoreError, Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::store;
use crate::documented::{PartitionCode, PartitionModel, PartitionTitle, StorageDriver, StoreConfigSchema};
use crate::model::{DEFAULT_PRIVATE, DEFAULT_PUBLIC, Partition};
use crate::schema::attachments_partitions as partitions;
use crate::stores::REDACTED;
use crate::{acl, query};

/// Most partitions of a tenant.
const MOST_PARTITIONS: i64 = 100;
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
    /// `local` (default) or `s3`.
    #[schema(value_type = StorageDriver)]
    pub storage_driver: Patch<String>,
    /// Settings of the driver; `local` has none. `bucket` is required for `s3`.
    #[schema(value_type = Option<StoreConfigSchema>)]
    pub config_json: Patch<StoreConfig>,
    /// Must be true when a partition with files becomes public.
    #[schema(value_type = bool)]
    pub confirm_public: Patch<bool>,
}

/// Settings of a store as clients send them, possibly with credentials.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct StoreConfig(Map<String, Value>);

/// Writes the names of the fields only.
impl Serialize for StoreConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.keys().map(|name| (name, REDACTED)))
    }
}

/// Shows the names of the fields only.
impl std::fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl PartitionFields {
    /// Returns the settings that were sent.
    pub(crate) fn config(&self) -> Option<&Map<String, Value>> {
        match &self.config_json {
            Patch::Set(config) => Some(&config.0),
            Patch::Keep | Patch::Clear => None,
        }
    }
}

impl Input for PartitionFields {
    fn require(&self, validator: &mut Validator) {
        validator.require("code", &self.code);
        validator.require("title", &self.title);
    }

    fn validate(&self, validator: &mut Validator) {
        let mut row = new_row(Placement::UNKNOWN, Uuid::nil(), Timestamp::UNIX_EPOCH);
        row.fill(self, validator);
    }

    fn validate_update(&self, validator: &mut Validator) {
        crud::validate::<Partition>(self, validator);
    }
}

/// Creates the row of a new partition, which is in a folder unless the body names another driver.
fn new_row(placement: Placement, id: Uuid, now: Timestamp) -> Partition {
    let mut row = Partition::blank(placement, id, now);
    store::LOCAL.clone_into(&mut row.storage_driver);
    row
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
            storage_driver: String::new(),
            config: None,
            store_id: id,
            credentials_version: 0,
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
        let before = self.storage_driver.clone();
        let drivers = rules::one_of(store::DRIVERS);
        validator.text(
            "storageDriver",
            &input.storage_driver,
            &mut self.storage_driver,
            drivers,
        );
        if self.storage_driver != before {
            self.config = None;
        }
        let driver = match &input.storage_driver {
            Patch::Keep => before.as_str(),
            Patch::Set(driver) if store::DRIVERS.contains(&driver.trim()) => driver.trim(),
            // Settings do not violate a rule of a driver that is invalid itself.
            Patch::Set(_) | Patch::Clear => "",
        };
        let config = input.config_json.as_ref().map(|config| &config.0);
        // An update is validated first without its row, which may have settings.
        if !before.is_empty() || !config.is_keep() {
            self.config = store::settings(driver, config, self.config.take(), validator);
        }
        validator.value("confirmPublic", &input.confirm_public, &mut false, rules::any);
    }

    async fn place(&mut self, _tx: &mut Tx<'_>, _input: &PartitionFields) -> Result<()> {
        Ok(())
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = partitions::table.filter(partitions::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(partitions::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(partitions::table)
            .values(rows)
            .on_conflict((partitions::tenant_id, partitions::id))
            .do_update()
            .set(ReplaceRow::<partitions::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
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

/// Creates a partition of a tenant, with its store.
#[derive(Debug, Clone)]
pub struct CreatePartition {
    row: Partition,
    fields: PartitionFields,
}

impl CreatePartition {
    /// Validates the fields.
    ///
    /// # Errors
    /// 400 for invalid fields or without one tenant, 409 for the code of a partition that every tenant has.
    pub fn new(ctx: &RequestContext, fields: &PartitionFields) -> Result<Self> {
        let mut validator = Validator::default();
        fields.validate_new(&mut validator);
        validator.check()?;
        let mut validator = Validator::default();
        let tenant = ctx.tenant()?;
        if tenant == backoffice_core::ids::PLATFORM_TENANT {
            return Err(Rejection::tenant_required().into());
        }
        let placement = Placement {
            tenant,
            ..Placement::UNKNOWN
        };
        let mut row = new_row(placement, ctx.new_id(), ctx.now());
        row.fill(fields, &mut validator);
        validator.check()?;
        if [DEFAULT_PUBLIC, DEFAULT_PRIVATE]
            .iter()
            .any(|code| code.eq_ignore_ascii_case(&row.code))
        {
            return Err(code_exists().into());
        }
        Ok(Self {
            row,
            fields: fields.clone(),
        })
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
        let mut row = self.row.clone();
        store::apply(tx, None, &mut row, self.fields.config()).await?;
        let rows = std::slice::from_ref(&row);
        let written = Partition::write(tx, rows).await.map_err(Partition::rejection)?;
        Ok(written.into_iter().next().unwrap_or(row))
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
        store::apply(tx, Some(&before), &mut row, self.fields.config()).await?;
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
