//! Creates, renames and deletes roles.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::crud::{self, CommandName, Create, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::error::{on_reference, on_violation};
use crate::http::fields::RoleName;
use crate::roles::model::Role;
use crate::roles::{grants, query, seed};
use crate::schema::auth_roles as roles;
use crate::{Error, acl};

/// Creates a role without any rights.
pub type CreateRole = Create<Role>;
/// Renames a role.
pub type UpdateRole = Update<Role>;

/// Deletes a role that no principal holds, with its ACL. Written by hand: the generic command has no hook for the rules of a deletion, and a
/// caller who may not delete the role must not learn whether it is held.
#[derive(Debug, Clone)]
pub struct DeleteRole {
    /// The role.
    pub id: Uuid,
}

/// The fields of a role: absent fields keep their values.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleInput {
    /// 1 to 100 characters, not counting surrounding white space; no control characters. Unique in the tenant without regard to case;
    /// `superadmin` is reserved, and the role of that name keeps it. Required for a new role.
    #[schema(value_type = RoleName, required = true)]
    pub name: Patch<String>,
    /// New roles of super administrators: an existing tenant; null or absent means a global role. Other callers create roles of their own
    /// tenant. A role never changes its tenant; if an update names one, it must be the role's, which is null for a global role.
    #[schema(value_type = Option<Uuid>)]
    pub tenant_id: Patch<Uuid>,
}

impl Input for RoleInput {
    fn require(&self, validator: &mut Validator) {
        validator.require("name", &self.name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Role>(self, validator);
    }
}

impl Record for Role {
    type Input = RoleInput;
    const CREATE: CommandName = CommandName::new("auth.role.create", "Create role");
    const UPDATE: CommandName = CommandName::new("auth.role.update", "Update role");
    const DELETE: CommandName = CommandName::new("auth.role.delete", "Delete role");
    const MANAGE: &'static [Feature] = &[acl::ROLES_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            name: String::new(),
            name_norm: String::new(),
            seeded_as: None,
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

    fn fill(&mut self, input: &RoleInput, validator: &mut Validator) {
        validator.text("name", &input.name, &mut self.name, rules::line(100));
        self.name_norm = self.name.to_lowercase();
    }

    /// Returns the tenant of a new role: for super administrators the named one, or else the platform, whose roles are global; for others
    /// their own.
    async fn placement(ctx: &RequestContext, input: &RoleInput) -> Result<Placement> {
        let tenant = match (ctx.rights().is_super_admin, input.tenant_id.value()) {
            (true, None) => PLATFORM_TENANT,
            (true, Some(tenant)) => live_tenant(ctx, tenant).await?,
            (false, _) => ctx.identity().tenant,
        };
        Ok(Placement {
            tenant,
            ..Placement::UNKNOWN
        })
    }

    async fn place(&mut self, _tx: &mut Tx<'_>, _input: &RoleInput) -> Result<()> {
        Ok(())
    }

    async fn check(&mut self, tx: &mut Tx<'_>, input: &RoleInput, before: Option<&Self>) -> Result<bool> {
        if before.is_some() {
            grants::may_change_role(tx, self.id).await?;
        }
        if !input.name.is_keep() {
            for role in before.into_iter().chain([&*self]) {
                seed::check_reserved(tx, &role.name, false)?;
            }
        }
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = roles::table.filter(roles::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(roles::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    /// A stored role keeps `seeded_as`, which old snapshots do not contain.
    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(roles::table)
            .values(rows)
            .on_conflict((roles::tenant_id, roles::id))
            .do_update()
            .set((
                roles::name.eq(excluded(roles::name)),
                roles::name_norm.eq(excluded(roles::name_norm)),
                roles::created_at.eq(excluded(roles::created_at)),
                roles::updated_at.eq(excluded(roles::updated_at)),
            ))
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: backoffice_core::Error) -> backoffice_core::Error {
        on_violation("auth_roles_tenant_id_name_norm_key", Error::DuplicateRoleName)(error)
    }
}

async fn live_tenant(ctx: &RequestContext, tenant: Uuid) -> Result<Uuid> {
    let mut connection = ctx.read().await?;
    match ctx.platform().provided().organizations() {
        Some(tree) if tree.tenant_is_live(&mut connection, tenant).await? => Ok(tenant),
        _ => Err(Rejection::bad_request("Tenant not found").into()),
    }
}

impl Command for DeleteRole {
    const ID: &'static str = Role::DELETE.id;
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = Role::DELETE.label;
    const FEATURES: &'static [Feature] = Role::MANAGE;
    type Entity = Role;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        grants::may_remove_role(tx, self.id).await?;
        let row: Role = crud::stored(tx, self.id).await?;
        seed::check_reserved(tx, &row.name, true)?;
        let context = tx.context();
        if query::is_held(tx.conn(), context, row.tenant_id, row.id).await? {
            return Err(Error::RoleInUse.into());
        }
        Role::remove(tx, &[self.id])
            .await
            .map_err(on_reference(Error::RoleInUse))
    }
}
