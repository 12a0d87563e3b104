//! Users.

use actix_web::HttpRequest;
use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{
    CheckedQuery, Created, Done, Json, Query, QueryInput, Routes, given, requires, wire_tenant,
};
use backoffice_core::input::{Bounded, Input, Validator};
use backoffice_core::list::{ById, CommaList, IdList, Page, PageQuery, search_pattern};
use backoffice_core::{Patch, Rejection, RequestContext, Result, Timestamp, Violations};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::invitations;
use super::passwords::{WithPassword, check_password, confirm_own, hashed, joined};
use crate::http::fields::{AccountEmail, NameOrBlank};
use crate::http::required_id;
use crate::users::commands::{CreateUser, DeleteUser, UpdateUser, UserChanges};
use crate::users::invitation;
use crate::users::query::{self, BesideUser, UserFilter, UserSummary};
use crate::{Error, acl, foreign, values};

/// Most roles in the filter of a list of users.
const MOST_ROLES: usize = 100;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/users", requires(&[acl::USERS_LIST]), list_users)
        .across_tenants()
        .shows(&[
            "auth.user",
            "auth.session",
            "auth.user_acl",
            "auth.role",
            "auth.role_acl",
            "directory.organization",
            "directory.tenant",
        ])
        .about("List users")
        .reads("auth.user");
    routes
        .post("/auth/users", requires(&[acl::USERS_CREATE]), create_user)
        .across_tenants()
        .about("Create a confirmed user")
        .rejects(&[409, 422, 429, 500]);
    routes
        .put("/auth/users", requires(&[acl::USERS_EDIT]), update_user)
        .across_tenants()
        .about("Change a user")
        .rejects(&[404, 409, 422, 429]);
    routes
        .delete("/auth/users", requires(&[acl::USERS_DELETE]), delete_user)
        .across_tenants()
        .about("Remove a user; its sessions end")
        .rejects(&[404, 409, 422]);
}

/// Parameters of the list of users.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct UserQuery {
    /// Substring of e-mail address, name, organization name or role name.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Substring of the name.
    #[param(max_length = 200)]
    name: Option<String>,
    /// Only users of this organization.
    organization_id: Option<Uuid>,
    /// Users with any of these roles: comma list or repeated, at most 100.
    #[serde(default, alias = "roleIds[]", alias = "roleId")]
    #[param(value_type = Option<Vec<IdList>>, inline)]
    role_ids: Option<Vec<String>>,
}

impl UserQuery {
    fn filter(&self, ids: Option<Vec<Uuid>>, violations: &mut Violations) -> UserFilter {
        let role_ids = self.role_ids.as_ref().map(|lists| {
            let lists = lists.iter().map(String::as_str);
            CommaList::new("roleIds").at_most(MOST_ROLES).ids(lists)
        });
        UserFilter {
            ids,
            pattern: violations.keep(search_pattern("search", self.search.as_deref())),
            found: None,
            name_pattern: violations.keep(search_pattern("name", self.name.as_deref())),
            organization: self.organization_id,
            roles: violations.keep(role_ids.transpose()),
        }
    }
}

impl QueryInput for UserQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(None, violations);
    }
}

/// A user of the list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UserItem {
    id: Uuid,
    email: String,
    name: Option<String>,
    organization_id: Option<Uuid>,
    organization_name: Option<String>,
    tenant_id: Option<Uuid>,
    tenant_name: Option<String>,
    /// Names of the user's roles.
    roles: Vec<String>,
    role_ids: Vec<Uuid>,
    is_active: bool,
    is_confirmed: bool,
    /// Only with `id`, otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    has_password: Option<bool>,
    last_login_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

fn item(line: UserSummary, beside: &BesideUser, single: bool) -> UserItem {
    let (role_ids, roles) = beside.roles.iter().map(|role| (role.id, role.name.clone())).unzip();
    UserItem {
        id: line.id,
        email: line.email,
        name: line.name,
        organization_id: line.organization_id,
        organization_name: beside.organization_name.clone(),
        tenant_id: wire_tenant(line.tenant_id),
        tenant_name: beside.tenant_name.clone(),
        roles,
        role_ids,
        is_active: line.is_active,
        is_confirmed: line.is_confirmed,
        has_password: single.then_some(line.has_password),
        last_login_at: line.last_login_at,
        created_at: line.created_at,
        updated_at: line.updated_at,
    }
}

async fn list_users(
    ctx: RequestContext,
    query: CheckedQuery<UserQuery>,
    page: Query<PageQuery>,
    by_id: Query<ById>,
) -> Result<Json<Page<UserItem>>> {
    let mut violations = Violations::default();
    let window = violations.keep(page.0.window());
    let ids = violations.keep(by_id.0.requested());
    let filter = query.0.filter(ids, &mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::list(&connection, &ctx, &filter, window).await?;
    let single = by_id.0.is_single();
    let page = page.map(|(line, beside)| item(line, &beside, single));
    let access = if single { AccessType::Item } else { AccessType::List };
    let record = |user: &UserItem| Record::new(user.id, user.tenant_id).of(user.organization_id);
    ctx.log_reads(&connection, access, &page.items, record).await?;
    Ok(Json(page))
}

/// A user to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewUser {
    /// Address, unique in the tenant without regard to case.
    #[schema(value_type = AccountEmail)]
    email: String,
    /// At most 120 characters without control characters; null or white space means none.
    #[serde(default)]
    #[schema(value_type = Option<NameOrBlank>)]
    name: Patch<String>,
    /// An existing organization; the user belongs to its tenant.
    organization_id: Uuid,
    /// At most 50 existing roles of the tenant, by id or name.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>, nullable = false, max_items = 50)]
    roles: Option<Bounded<Vec<String>, 0, 50>>,
    /// 8 to 256 characters in NFC, unless the configuration has other bounds; not a common password, and not the address.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, format = Password, min_length = 8, max_length = 256, nullable = false)]
    password: Option<SecretString>,
    /// Whether to send an invitation; by default if there is no password and mail is configured. A user with `isActive: false` gets none.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    send_invite_email: Option<bool>,
    /// Whether the user may sign in; true by default.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_active: Option<bool>,
}

impl NewUser {
    fn address_and_name(&self, validator: &mut Validator) -> (String, Patch<String>) {
        let email = validator.accept("email", values::address(&self.email));
        let name = validator.accept("name", values::user_name(&self.name));
        (email.unwrap_or_default(), name.unwrap_or_default())
    }
}

impl Input for NewUser {
    const ACCEPTS_NUL: &'static [&'static str] = &["password"];

    fn validate(&self, validator: &mut Validator) {
        self.address_and_name(validator);
    }
}

/// The created user.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreatedUser {
    id: Uuid,
    /// Whether an invitation was sent; always false for a user with `isActive: false`, who could not use the link.
    email_sent: bool,
}

async fn create_user(
    ctx: RequestContext,
    request: HttpRequest,
    body: WithPassword<NewUser>,
) -> Result<Created<CreatedUser>> {
    let new = body.0.0;
    let mut validator = Validator::default();
    let (email, name) = new.address_and_name(&mut validator);
    let policy = check_password(&ctx, new.password.as_ref(), &email);
    if let Err(rejected) = validator.check() {
        return Err(joined(rejected, policy));
    }
    policy?;
    ctx.reject_repeat().await?;
    let tenant = {
        let mut connection = ctx.read().await?;
        foreign::tenant_of_organization(&mut connection, &ctx, new.organization_id).await?
    };
    let Some(tenant) = tenant else {
        return Err(Error::OrganizationNotFound.into());
    };
    let is_active = new.is_active.unwrap_or(true);
    let invitation = invitations::requested(&ctx, &request, new.send_invite_email, new.password.is_some())?;
    let password_hash = match &new.password {
        Some(password) => Some(hashed(&ctx, password, &email).await?),
        None => None,
    };
    if is_active && matches!(invitation, Ok(Some(_))) {
        invitations::count_mail(&ctx).await?;
    }
    let command = CreateUser {
        id: ctx.new_id(),
        tenant,
        organization: Some(new.organization_id),
        email,
        name: name.value(),
        roles: new.roles.unwrap_or_default().0,
        password_hash,
        is_active,
        // A user who may not sign in cannot use a link.
        invitation: invitation.map(|token| token.filter(|_| is_active)),
    };
    let mut created = ctx
        .execute(&command, |id| Created(CreatedUser { id, email_sent: false }))
        .await?;
    if let Ok(Some(token)) = &command.invitation {
        created.0.email_sent = invitation::mail(&ctx, tenant, created.0.id, token).await?;
    }
    Ok(created)
}

/// Changes of a user; absent fields stay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UserPatch {
    id: Uuid,
    /// New address, unique in the tenant without regard to case.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<AccountEmail>, nullable = false)]
    email: Option<String>,
    /// New name, at most 120 characters without control characters; null or white space clears it.
    #[serde(default)]
    #[schema(value_type = Option<NameOrBlank>)]
    name: Patch<String>,
    /// Existing organization of the same tenant.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    organization_id: Option<Uuid>,
    /// New password: 8 to 256 characters in NFC, unless the configuration has other bounds; not a common password, and not the address. Every
    /// session of the user ends.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, format = Password, min_length = 8, max_length = 256, nullable = false)]
    password: Option<SecretString>,
    /// The whole set of roles: at most 50 existing ones of the tenant, by id or name. One active super administrator must remain.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>, nullable = false, max_items = 50)]
    roles: Option<Bounded<Vec<String>, 0, 50>>,
    /// Whether the user may sign in; not false for oneself, or for the last super administrator.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_active: Option<bool>,
    /// The present password, required for one's own address or password.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, format = Password, nullable = false)]
    current_password: Option<SecretString>,
}

impl Input for UserPatch {
    const ACCEPTS_NUL: &'static [&'static str] = &["password"];

    fn validate(&self, validator: &mut Validator) {
        values::address_and_name(self.email.as_deref(), &self.name, validator);
    }
}

async fn update_user(ctx: RequestContext, body: WithPassword<UserPatch>) -> Result<Json<Done>> {
    let patch = body.0.0;
    let mut validator = Validator::default();
    let (email, name) = values::address_and_name(patch.email.as_deref(), &patch.name, &mut validator);
    let changes = UserChanges {
        email,
        name,
        organization: patch.organization_id,
        password_hash: None,
        confirmed_hash: None,
        roles: patch.roles.map(|roles| roles.0),
        is_active: patch.is_active,
    };
    let address = changes.email.as_deref().unwrap_or_default();
    let policy = check_password(&ctx, patch.password.as_ref(), address);
    if let Err(rejected) = validator.check() {
        return Err(joined(rejected, policy));
    }
    policy?;
    let (mut password_hash, mut confirmed_hash) = (None, None);
    if patch.email.is_some() || patch.password.is_some() {
        let user = {
            let mut connection = ctx.read().await?;
            query::find(&mut connection, &ctx, patch.id).await?
        };
        let Some(user) = user else {
            return Err(Rejection::not_found("User not found").into());
        };
        let address = changes.email.as_deref().unwrap_or(&user.email);
        check_password(&ctx, patch.password.as_ref(), address)?;
        if ctx.identity().id == Some(user.id) {
            confirmed_hash = confirm_own(&ctx, &user, patch.current_password.as_ref()).await?;
        }
        if let Some(password) = &patch.password {
            password_hash = Some(hashed(&ctx, password, address).await?);
        }
    }
    let command = UpdateUser {
        id: patch.id,
        changes: UserChanges {
            password_hash,
            confirmed_hash,
            ..changes
        },
    };
    ctx.execute(&command, |()| Json(Done::OK)).await
}

/// The user to delete.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct UserId {
    /// The id. It must not be the caller's own, or that of the last super administrator.
    #[param(value_type = Uuid)]
    id: Option<String>,
}

async fn delete_user(ctx: RequestContext, query: Query<UserId>) -> Result<Json<Done>> {
    let id = required_id("id", query.0.id.as_deref(), "User id required")?;
    ctx.execute(&DeleteUser { id }, |()| Json(Done::OK)).await
}
