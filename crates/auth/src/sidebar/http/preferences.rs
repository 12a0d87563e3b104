//! `/auth/sidebar/preferences`

use actix_web::HttpRequest;
use backoffice_core::http::{Access, Json, Query, Routes, given, given_object, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Detail, RequestContext, Result, Scope, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::scope::{PreferenceScope, RequestedScope, ScopeType};
use super::{nested, own_scope};
use crate::http::required_id;
use crate::sessions::locale;
use crate::sidebar::commands::{
    DeleteRoleSidebarPreference, RoleOfSidebar, UpdateRoleSidebarPreference, UpdateSidebarPreference,
};
use crate::sidebar::query::{self, SidebarRole};
use crate::sidebar::{SettingsInput, SidebarSettings};
use crate::{Error, acl};

const PATH: &str = "/auth/sidebar/preferences";

/// Most roles of one request.
const MOST_ROLES: usize = 500;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(PATH, Access::Authenticated, get_sidebar_preferences)
        .about("Sidebar settings of the caller or of a role")
        .rejects(&[403, 404]);
    routes
        .put(PATH, requires(&[acl::SIDEBAR_MANAGE]), update_sidebar_preferences)
        .about("Set the sidebar settings of the caller or of a role")
        .rejects(&[404, 409, 422])
        .rejects_with::<Vec<String>>(400, "missing");
    routes
        .delete(PATH, requires(&[acl::SIDEBAR_MANAGE]), delete_sidebar_preferences)
        .about("Remove the sidebar settings of a role")
        .rejects(&[404, 409, 422]);
}

/// The owner of the settings.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct RoleQuery {
    /// A role; without it the caller.
    #[param(value_type = Option<Uuid>)]
    role_id: Option<String>,
}

/// The role whose settings are deleted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct DeletedQuery {
    /// The role. One tenant must be selected.
    #[param(value_type = Uuid)]
    role_id: Option<String>,
}

/// A role whose settings can be set.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RoleOption {
    id: Uuid,
    name: String,
    /// Whether the role has settings in this locale.
    has_preference: bool,
}

impl From<SidebarRole> for RoleOption {
    fn from(role: SidebarRole) -> Self {
        Self {
            id: role.id,
            name: role.name,
            has_preference: role.has_preference,
        }
    }
}

/// Sidebar settings in the locale of the request.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Preferences {
    /// Code of the locale. `i18n.locales` has the codes: the set is open.
    locale: String,
    settings: SidebarSettings,
    /// Whether the caller may set the settings of roles.
    can_apply_to_roles: bool,
    /// The roles whose settings the caller may set.
    roles: Vec<RoleOption>,
    scope: PreferenceScope,
    /// Null if these are the defaults.
    updated_at: Option<Timestamp>,
}

/// The written settings.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreferencesWritten {
    #[serde(flatten)]
    preferences: Preferences,
    /// Roles that now have the settings.
    applied_roles: Vec<Uuid>,
    /// Roles that no longer have settings.
    cleared_roles: Vec<Uuid>,
}

/// Returns the tenant whose roles a read concerns.
fn tenant_of_roles(ctx: &RequestContext) -> Uuid {
    ctx.scope().tenant.unwrap_or(ctx.identity().tenant)
}

async fn role_options(ctx: &RequestContext, locale: &str) -> Result<Vec<RoleOption>> {
    if !ctx.holds(acl::SIDEBAR_MANAGE) {
        return Ok(Vec::new());
    }
    let connection = ctx.read().await?;
    let roles = query::roles(&connection, ctx, tenant_of_roles(ctx), locale, None).await?;
    Ok(roles.into_iter().map(RoleOption::from).collect())
}

/// Returns the roles with these ids that the caller sees in the tenant, and the ids without such a role.
async fn resolve(
    ctx: &RequestContext,
    tenant: Uuid,
    locale: &str,
    ids: &[Uuid],
) -> Result<(Vec<RoleOfSidebar>, Vec<Uuid>)> {
    let connection = ctx.read().await?;
    let found = query::roles(&connection, ctx, tenant, locale, Some(ids)).await?;
    let missing = ids.iter().filter(|id| !found.iter().any(|role| role.id == **id));
    let missing = missing.copied().collect();
    let role = |role: SidebarRole| RoleOfSidebar {
        tenant: role.tenant_id,
        id: role.id,
    };
    Ok((found.into_iter().map(role).collect(), missing))
}

async fn find_role(ctx: &RequestContext, tenant: Uuid, locale: &str, id: Uuid) -> Result<RoleOfSidebar> {
    let (found, _) = resolve(ctx, tenant, locale, &[id]).await?;
    found.first().copied().ok_or_else(|| Error::RoleNotFound.into())
}

async fn get_sidebar_preferences(
    ctx: RequestContext,
    query: Query<RoleQuery>,
    request: HttpRequest,
) -> Result<Json<Preferences>> {
    let role = match &query.0.role_id {
        None => None,
        Some(id) => {
            ctx.require(&[acl::SIDEBAR_MANAGE])?;
            let parsed = id.trim().parse::<Uuid>();
            Some(parsed.map_err(|_| Detail::new("roleId", "must be a UUID", "invalid_value"))?)
        }
    };
    let locale = locale::of(&ctx, &request).await?;
    let (scope, row) = match role {
        None => (PreferenceScope::OWN, own(&ctx, &locale).await?),
        Some(id) => (PreferenceScope::role(id), of_role(&ctx, &locale, id).await?),
    };
    let (settings, updated_at) = row.map_or_else(Default::default, |(settings, at)| (settings, Some(at)));
    Ok(Json(Preferences {
        roles: role_options(&ctx, &locale).await?,
        can_apply_to_roles: ctx.holds(acl::SIDEBAR_MANAGE),
        locale,
        settings,
        scope,
        updated_at,
    }))
}

type Stored = Option<(SidebarSettings, Timestamp)>;

async fn own(ctx: &RequestContext, locale: &str) -> Result<Stored> {
    let (user, scope) = (ctx.user_id()?, own_scope(ctx));
    let connection = ctx.database().read_briefly(&scope).await?;
    let row = query::own(&connection, &scope, user, locale).await?;
    Ok(row.map(|row| (row.settings, row.updated_at)))
}

async fn of_role(ctx: &RequestContext, locale: &str, id: Uuid) -> Result<Stored> {
    let tenant = tenant_of_roles(ctx);
    find_role(ctx, tenant, locale, id).await?;
    let scope = Scope::tenant(tenant);
    let connection = ctx.database().read_briefly(&scope).await?;
    let rows = query::of_roles(&connection, &scope, tenant, &[id], locale).await?;
    let row = rows.into_iter().next();
    Ok(row.map(|row| (row.settings, row.updated_at)))
}

/// New settings, either in `settings` or at the top level.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreferencesPatch {
    /// The settings; they replace the present ones.
    #[serde(default, deserialize_with = "given_object")]
    #[schema(nullable = false)]
    settings: Option<SettingsInput>,
    #[serde(flatten)]
    fields: SettingsInput,
    /// The owner of the settings; by default the caller. For a role, one tenant must be selected, and `applyToRoles` and
    /// `clearRoleIds` must be empty.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<RequestedScope>, nullable = false)]
    scope: Option<PreferenceScope>,
    /// Roles that get the caller's settings: at most 500 existing ones; the caller's own tenant must be selected.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_items = 500)]
    apply_to_roles: Option<Vec<Uuid>>,
    /// Roles whose settings are deleted: at most 500 existing ones; the caller's own tenant must be selected.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_items = 500)]
    clear_role_ids: Option<Vec<Uuid>>,
}

/// The valid parts of a [`PreferencesPatch`].
struct Choices {
    settings: SidebarSettings,
    apply: Vec<Uuid>,
    clear: Vec<Uuid>,
}

impl PreferencesPatch {
    fn checked(&self, validator: &mut Validator) -> Choices {
        let settings = match nested(self.settings.as_ref(), validator) {
            Some(settings) => settings,
            None => self.fields.checked(validator),
        };
        let apply = validator.keep(distinct("applyToRoles", self.apply_to_roles.as_deref()));
        let mut clear = validator.keep(distinct("clearRoleIds", self.clear_role_ids.as_deref()));
        clear.retain(|id| !apply.contains(id));
        Choices { settings, apply, clear }
    }
}

impl Input for PreferencesPatch {
    fn validate(&self, validator: &mut Validator) {
        self.checked(validator);
    }
}

/// Returns each of these ids once, in the order of the request.
fn distinct(path: &'static str, ids: Option<&[Uuid]>) -> Result<Vec<Uuid>, Detail> {
    let ids = ids.unwrap_or_default();
    if ids.len() > MOST_ROLES {
        let message = format!("must have at most {MOST_ROLES} entries");
        return Err(Detail::new(path, message, "too_long"));
    }
    let mut kept = Vec::with_capacity(ids.len());
    for &id in ids {
        if !kept.contains(&id) {
            kept.push(id);
        }
    }
    Ok(kept)
}

async fn update_sidebar_preferences(
    ctx: RequestContext,
    body: Json<PreferencesPatch>,
    request: HttpRequest,
) -> Result<Json<PreferencesWritten>> {
    let patch = body.0;
    let mut validator = Validator::default();
    let Choices { settings, apply, clear } = patch.checked(&mut validator);
    validator.check()?;
    let scope = patch.scope.unwrap_or(PreferenceScope::OWN);
    match (scope.r#type, scope.role_id) {
        (ScopeType::User, _) => {
            let user = ctx.user_id()?;
            let locale = locale::of(&ctx, &request).await?;
            update_own(&ctx, user, locale, settings, apply, clear).await
        }
        (ScopeType::Role, None) => Err(Detail::new("scope.roleId", "must be a UUID", "required").into()),
        (ScopeType::Role, Some(id)) => {
            let locale = locale::of(&ctx, &request).await?;
            let tenant = ctx.tenant()?;
            let role = find_role(&ctx, tenant, &locale, id).await?;
            if !apply.is_empty() || !clear.is_empty() {
                let message = "only the caller's own settings are applied to roles";
                return Err(Detail::new("scope", message, "invalid_value").into());
            }
            update_role(&ctx, tenant, role, locale, settings).await
        }
    }
}

async fn update_own(
    ctx: &RequestContext,
    user: Uuid,
    locale: String,
    settings: SidebarSettings,
    apply: Vec<Uuid>,
    clear: Vec<Uuid>,
) -> Result<Json<PreferencesWritten>> {
    let named: Vec<Uuid> = apply.iter().chain(&clear).copied().collect();
    let mut apply_to = Vec::new();
    if !named.is_empty() {
        let tenant = ctx.tenant()?;
        let (found, missing) = resolve(ctx, tenant, &locale, &named).await?;
        if !missing.is_empty() {
            return Err(Error::InvalidRoles(missing).into());
        }
        apply_to = found;
        apply_to.retain(|role| apply.contains(&role.id));
        if tenant != ctx.identity().tenant {
            return Err(Error::RolesOfAnotherTenant.into());
        }
    }
    let mut preferences = Preferences {
        roles: role_options(ctx, &locale).await?,
        can_apply_to_roles: true,
        locale: locale.clone(),
        settings: settings.clone(),
        scope: PreferenceScope::OWN,
        updated_at: None,
    };
    mark(&mut preferences.roles, &apply, true);
    mark(&mut preferences.roles, &clear, false);
    let command = UpdateSidebarPreference {
        user,
        locale,
        settings,
        apply_to,
        clear: clear.clone(),
    };
    let response = |updated_at| {
        Json(PreferencesWritten {
            preferences: Preferences {
                updated_at,
                ..preferences.clone()
            },
            applied_roles: apply.clone(),
            cleared_roles: clear.clone(),
        })
    };
    ctx.with_scope(own_scope(ctx)).execute(&command, response).await
}

async fn update_role(
    ctx: &RequestContext,
    tenant: Uuid,
    role: RoleOfSidebar,
    locale: String,
    settings: SidebarSettings,
) -> Result<Json<PreferencesWritten>> {
    let mut preferences = Preferences {
        roles: role_options(ctx, &locale).await?,
        can_apply_to_roles: true,
        locale: locale.clone(),
        settings: settings.clone(),
        scope: PreferenceScope::role(role.id),
        updated_at: None,
    };
    mark(&mut preferences.roles, &[role.id], true);
    let command = UpdateRoleSidebarPreference { role, locale, settings };
    let response = |updated_at| {
        Json(PreferencesWritten {
            preferences: Preferences {
                updated_at,
                ..preferences.clone()
            },
            applied_roles: Vec::new(),
            cleared_roles: Vec::new(),
        })
    };
    ctx.with_scope(Scope::tenant(tenant)).execute(&command, response).await
}

fn mark(roles: &mut [RoleOption], ids: &[Uuid], has_preference: bool) {
    for role in roles.iter_mut().filter(|role| ids.contains(&role.id)) {
        role.has_preference = has_preference;
    }
}

/// Confirmation that the role has no settings.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct PreferencesRemoved {
    ok: bool,
    scope: PreferenceScope,
}

async fn delete_sidebar_preferences(
    ctx: RequestContext,
    query: Query<DeletedQuery>,
    request: HttpRequest,
) -> Result<Json<PreferencesRemoved>> {
    let id = required_id("roleId", query.0.role_id.as_deref(), "Role id required")?;
    let locale = locale::of(&ctx, &request).await?;
    let tenant = ctx.tenant()?;
    find_role(&ctx, tenant, &locale, id).await?;
    let removed = || {
        Json(PreferencesRemoved {
            ok: true,
            scope: PreferenceScope::role(id),
        })
    };
    let command = DeleteRoleSidebarPreference { role: id, locale };
    let ctx = ctx.with_scope(Scope::tenant(tenant));
    match ctx.execute(&command, |()| removed()).await {
        Err(error) if Error::NoRolePreference.is(&error) => Ok(removed()),
        other => other,
    }
}
