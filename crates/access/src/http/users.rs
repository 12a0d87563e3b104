//! The list of users, and one of them.

use backoffice_core::access_log::AccessType;
use backoffice_core::http::{CheckedQuery, Json, Path, Query, QueryInput, Routes, requires};
use backoffice_core::list::{ById, Page, PageQuery, search_pattern};
use backoffice_core::{Detail, RequestContext, Result, Violations};
use serde::Deserialize;
use utoipa::IntoParams;

use super::UserPath;
use super::items::AccessUser;
use crate::acl;
use crate::error::Error;
use crate::query::{self, RoleFilter, USER_KIND, UserFilter};
use crate::values::{AccessRoleFilter, AccessStatus, NO_ROLE, ROLE_NAMES, STATUSES, TeamRole, UserStatus};

/// Rows of a page by default.
const PAGE_SIZE: u32 = 20;

/// The kinds on which lists and items depend: invitations and the links to roles belong to users, and access control lists make super
/// administrators, whom others do not see.
const SHOWN: &[&str] = &[USER_KIND, "auth.role", "auth.role_acl", "auth.user_acl"];

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/access/users", requires(&[acl::USERS_VIEW]), list_access_users)
        .shows(SHOWN)
        .about("List users with their roles and invitations, by name")
        .reads(USER_KIND);
    routes
        .get("/access/users/{id}", requires(&[acl::USERS_VIEW]), get_access_user)
        .shows(SHOWN)
        .about("Return a user with role and invitation")
        .rejects(&[404])
        .reads(USER_KIND);
}

/// Parameters of the list of users.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct AccessUserQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 20)]
    page_size: Option<u32>,
    /// Part of the name or of the e-mail address, regardless of case.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Only users who are shown with this role; `none`: without a role of the team.
    #[param(value_type = Option<AccessRoleFilter>, inline)]
    role: Option<String>,
    /// Only users in this state.
    #[param(value_type = Option<AccessStatus>, inline)]
    status: Option<String>,
}

impl AccessUserQuery {
    fn role(&self, violations: &mut Violations) -> Option<RoleFilter> {
        let name = self.role.as_deref()?;
        let role = match name {
            NO_ROLE => Some(RoleFilter::None),
            name => TeamRole::parse(name).map(RoleFilter::Shown),
        };
        if role.is_none() {
            let text = format!("must be one of {}, {NO_ROLE}", ROLE_NAMES.join(", "));
            violations.add(Detail::new("role", text, "invalid_value"));
        }
        role
    }

    fn status(&self, violations: &mut Violations) -> Option<UserStatus> {
        let name = self.status.as_deref()?;
        let status = UserStatus::parse(name);
        if status.is_none() {
            let text = format!("must be one of {}", STATUSES.join(", "));
            violations.add(Detail::new("status", text, "invalid_value"));
        }
        status
    }
}

impl QueryInput for AccessUserQuery {
    fn validate(&self, violations: &mut Violations) {
        self.role(violations);
        self.status(violations);
    }
}

async fn list_access_users(
    ctx: RequestContext,
    query: CheckedQuery<AccessUserQuery>,
    by_id: Query<ById>,
) -> Result<Json<Page<AccessUser>>> {
    let query = query.0;
    let mut violations = Violations::default();
    let page = PageQuery::new(query.page, query.page_size.or(Some(PAGE_SIZE)));
    let window = violations.keep(page.window());
    let filter = UserFilter {
        ids: violations.keep(by_id.0.requested()),
        pattern: violations.keep(search_pattern("search", query.search.as_deref())),
        role: query.role(&mut violations),
        status: query.status(&mut violations),
    };
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::list(&connection, &ctx, &filter, window).await?;
    let page = page.map(|(user, beside)| AccessUser::new(&ctx, user, beside));
    ctx.log_reads(&connection, AccessType::List, &page.items, AccessUser::record)
        .await?;
    Ok(Json(page))
}

async fn get_access_user(ctx: RequestContext, path: Path<UserPath>) -> Result<Json<AccessUser>> {
    let id = path.0.id()?;
    let connection = ctx.read().await?;
    let found = query::find(&connection, &ctx, id).await?;
    let (user, beside) = found.ok_or(Error::UserNotFound)?;
    let user = AccessUser::new(&ctx, user, beside);
    ctx.log_reads(
        &connection,
        AccessType::Item,
        std::slice::from_ref(&user),
        AccessUser::record,
    )
    .await?;
    Ok(Json(user))
}
