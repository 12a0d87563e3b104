//! Creates, updates and deletes resources.

use backoffice_auth::find_tenant_users;
use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Detail, Error, Feature, Patch, Placement, Rejection, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::documented::{DispatchCode, DispatchName, ResourceTypeName, bodies};
use crate::model::Resource;
use crate::schema::dispatch_resources as resources;
use crate::values::{self, CODE_LENGTH, NOTES_LENGTH, RESOURCE_TYPES};

/// Creates a resource.
pub type CreateResource = Create<Resource>;
/// Updates a resource.
pub type UpdateResource = Update<Resource>;
/// Deletes a resource.
pub type DeleteResource = Delete<Resource>;

/// The changes of a resource: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceFields {
    /// The type, which cannot be changed later.
    #[serde(rename = "type")]
    #[schema(value_type = ResourceTypeName)]
    pub type_: Patch<String>,
    /// 1 to 200 characters.
    #[schema(value_type = DispatchName)]
    pub name: Patch<String>,
    /// At most 40 characters, unique among the resources of the type in the organization regardless of case.
    #[schema(value_type = Option<DispatchCode>)]
    pub code: Patch<String>,
    /// The user who is this worker, visible to the caller; for workers only, and for one of the organization.
    #[schema(value_type = Option<Uuid>)]
    pub user_id: Patch<Uuid>,
    /// Whether it can be assigned; true by default.
    #[schema(value_type = bool)]
    pub is_active: Patch<bool>,
    /// At most 2000 characters.
    #[schema(value_type = Option<String>, max_length = 2000)]
    pub notes: Patch<String>,
}

bodies!(ResourceFields: NewResource requires ["type", "name"], ResourceChanges);

impl Input for ResourceFields {
    fn require(&self, validator: &mut Validator) {
        if self.type_.is_keep() {
            validator.reject("type", "is required", "invalid_resource_type");
        }
        if self.name.is_keep() {
            validator.reject("name", "is required", "invalid_name");
        }
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Resource>(self, validator);
    }
}

impl Record for Resource {
    type Input = ResourceFields;
    const CREATE: CommandName = CommandName::new("dispatch.resource.create", "Create resource");
    const UPDATE: CommandName = CommandName::new("dispatch.resource.update", "Update resource");
    const DELETE: CommandName = CommandName::new("dispatch.resource.delete", "Delete resource");
    const MANAGE: &'static [Feature] = &[acl::MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            type_: String::new(),
            name: String::new(),
            code: None,
            user_id: None,
            is_active: true,
            notes: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        Some(self.organization_id)
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &ResourceFields, validator: &mut Validator) {
        let type_ = (RESOURCE_TYPES, "invalid_resource_type");
        values::word(validator, "type", &input.type_, &mut self.type_, type_);
        values::line(validator, "name", &input.name, &mut self.name, "invalid_name");
        let code = (CODE_LENGTH, "invalid_code");
        values::optional_line(validator, "code", &input.code, &mut self.code, code);
        validator.optional("userId", &input.user_id, &mut self.user_id, rules::any);
        validator.value("isActive", &input.is_active, &mut self.is_active, rules::any);
        let notes = (NOTES_LENGTH, "invalid_note");
        values::optional_text(validator, "notes", &input.notes, &mut self.notes, notes);
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &ResourceFields) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn check(&mut self, tx: &mut Tx<'_>, _input: &ResourceFields, before: Option<&Self>) -> Result<bool> {
        if before.is_some_and(|before| before.type_ != self.type_) {
            return Err(Detail::new("type", "can't be changed", "type_immutable").into());
        }
        let had = before.and_then(|before| before.user_id);
        if let Some(user) = self.user_id.filter(|user| had != Some(*user)) {
            if self.type_ != "worker" {
                let message = "must be null, as only workers are users";
                return Err(Detail::new("userId", message, "user_not_found").into());
            }
            let found = find_tenant_users(tx, &[user]).await?;
            if !found.iter().any(|one| one.is_visible) {
                return Err(Detail::new("userId", "must be a user of the tenant", "user_not_found").into());
            }
        }
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = resources::table
            .filter(resources::tenant_id.eq(tx.tenant()))
            .filter(resources::deleted_at.is_null())
            .filter(resources::id.one_of(ids))
            .select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(resources::table)
            .values(rows)
            .on_conflict((resources::tenant_id, resources::id))
            .do_update()
            .set(ReplaceRow::<resources::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("dispatch_resources_tenant_id_organization_id_type_code_idx") => {
                Rejection::conflict("Code is taken").code("resource_code_taken").into()
            }
            Some("dispatch_resources_tenant_id_organization_id_user_id_idx") => Rejection::not_unique("userId").into(),
            _ => error,
        }
    }
}
