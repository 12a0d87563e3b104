//! The navigation of the administration.

use actix_web::HttpRequest;
use backoffice_core::http::{Access, Json, Query, Routes};
use backoffice_core::{RequestContext, Result, Scope};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{Group, Item, Viewer};
use crate::foreign::{self, ShownOrganization};
use crate::sessions::locale;
use crate::sidebar::{self, SidebarSettings};

pub(crate) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/admin/nav", Access::Authenticated, get_navigation)
        .about("The menu of the administration, as the caller sees it");
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct NavigationQuery {
    /// Keeps the items that the settings hide, and marks them.
    include_hidden: Option<bool>,
}

/// The menu.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Navigation {
    /// The brand of the current organization, if it has a logo.
    brand: Option<Brand>,
    groups: Vec<MenuGroup>,
    settings_sections: Vec<MenuSection>,
    /// Paths of the entries of the settings.
    settings_path_prefixes: Vec<String>,
    profile_sections: Vec<MenuSection>,
    /// Paths of the entries of the profile.
    profile_path_prefixes: Vec<String>,
    /// Every feature that the caller holds, sorted.
    granted_features: Vec<&'static str>,
    /// Names of the caller's roles, sorted.
    roles: Vec<String>,
    /// The selected organization, else the caller's own.
    current_organization: Option<CurrentOrganization>,
}

/// The organization under whose name the application appears.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Brand {
    name: String,
    logo_url: String,
}

/// An organization.
#[derive(Debug, Serialize, ToSchema)]
struct CurrentOrganization {
    id: Uuid,
    name: String,
}

/// A group of the main menu.
#[derive(Debug, Serialize, ToSchema)]
struct MenuGroup {
    id: &'static str,
    name: String,
    items: Vec<MenuItem>,
}

/// An entry of the main menu.
#[derive(Debug, Serialize, ToSchema)]
struct MenuItem {
    id: &'static str,
    href: String,
    title: String,
    /// `true` if the settings hide the item, otherwise absent; such items are included only on request.
    #[serde(skip_serializing_if = "is_false")]
    hidden: bool,
}

/// A section of the settings or the profile.
#[derive(Debug, Serialize, ToSchema)]
struct MenuSection {
    id: &'static str,
    label: String,
    items: Vec<SectionItem>,
}

/// An entry of a section.
#[derive(Debug, Serialize, ToSchema)]
struct SectionItem {
    id: &'static str,
    label: String,
    href: String,
    /// `true` if the settings hide the item, otherwise absent; such items are included only on request.
    #[serde(skip_serializing_if = "is_false")]
    hidden: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl From<Group> for MenuGroup {
    fn from(group: Group) -> Self {
        let item = |item: Item| MenuItem {
            id: item.id,
            href: item.href,
            title: item.title,
            hidden: item.is_hidden,
        };
        Self {
            id: group.id,
            name: group.title,
            items: group.items.into_iter().map(item).collect(),
        }
    }
}

impl From<Group> for MenuSection {
    fn from(group: Group) -> Self {
        let item = |item: Item| SectionItem {
            id: item.id,
            label: item.title,
            href: item.href,
            hidden: item.is_hidden,
        };
        Self {
            id: group.id,
            label: group.title,
            items: group.items.into_iter().map(item).collect(),
        }
    }
}

async fn get_navigation(
    ctx: RequestContext,
    query: Query<NavigationQuery>,
    request: HttpRequest,
) -> Result<Json<Navigation>> {
    let locale = locale::of(&ctx, &request).await?;
    let settings = settings_that_count(&ctx, &locale).await?;
    let organization = current_organization(&ctx).await?;
    let platform = ctx.platform();
    let catalogue = platform.catalogue();
    let scope = ctx.scope();
    let holds = |feature: &str| scope.holds(feature, catalogue);
    let menu = Viewer {
        holds,
        locale: &locale,
        console_path: &platform.app().console_path,
        settings: &settings,
        include_hidden: query.0.include_hidden.unwrap_or_default(),
    }
    .menu(platform.modules());
    let mut roles: Vec<String> = ctx.identity().roles.iter().map(|role| role.name.clone()).collect();
    roles.sort();
    let granted = catalogue.ids().filter(|feature| holds(feature));
    Ok(Json(Navigation {
        granted_features: granted.collect(),
        brand: organization.as_ref().and_then(brand),
        settings_path_prefixes: paths(&menu.settings),
        profile_path_prefixes: paths(&menu.profile),
        groups: menu.main.into_iter().map(MenuGroup::from).collect(),
        settings_sections: menu.settings.into_iter().map(MenuSection::from).collect(),
        profile_sections: menu.profile.into_iter().map(MenuSection::from).collect(),
        roles,
        current_organization: organization.map(|one| CurrentOrganization {
            id: one.id,
            name: one.name,
        }),
    }))
}

fn brand(organization: &ShownOrganization) -> Option<Brand> {
    let logo_url = organization.logo_url.clone()?;
    Some(Brand {
        name: organization.name.clone(),
        logo_url,
    })
}

fn paths(groups: &[Group]) -> Vec<String> {
    let items = groups.iter().flat_map(|group| &group.items);
    let mut paths: Vec<String> = items.map(|item| item.href.clone()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the settings that apply: those of the caller's active variant, else the caller's own, else those of the first role by name that has some.
async fn settings_that_count(ctx: &RequestContext, locale: &str) -> Result<SidebarSettings> {
    let identity = ctx.identity();
    if let Ok(user) = ctx.user_id() {
        let scope = Scope::tenant(identity.tenant);
        let connection = ctx.database().read_briefly(&scope).await?;
        let variant = sidebar::query::active_variant(&connection, &scope, user, locale);
        let own = sidebar::query::own(&connection, &scope, user, locale);
        let (variant, own) = futures_util::future::try_join(variant, own).await?;
        if let Some(settings) = variant.map(|row| row.settings).or(own.map(|row| row.settings)) {
            return Ok(settings);
        }
    }
    let mut roles: Vec<_> = identity.roles.iter().collect();
    roles.sort_by_key(|role| (role.name.to_lowercase(), role.id));
    if roles.is_empty() {
        return Ok(SidebarSettings::default());
    }
    let tenant = ctx.scope().tenant.unwrap_or(identity.tenant);
    let scope = Scope::tenant(tenant);
    let connection = ctx.database().read_briefly(&scope).await?;
    let ids: Vec<Uuid> = roles.iter().map(|role| role.id).collect();
    let rows = sidebar::query::of_roles(&connection, &scope, tenant, &ids, locale).await?;
    let first = ids.iter().find_map(|id| rows.iter().find(|row| row.role_id == *id));
    Ok(first.map(|row| row.settings.clone()).unwrap_or_default())
}

async fn current_organization(ctx: &RequestContext) -> Result<Option<ShownOrganization>> {
    let (scope, identity) = (ctx.scope(), ctx.identity());
    let (tenant, id) = match (scope.selected, identity.organization) {
        _ if scope.all_selected => return Ok(None),
        (Some(selected), _) => (scope.tenant.unwrap_or(identity.tenant), selected),
        (None, Some(own)) => (identity.tenant, own),
        (None, None) => return Ok(None),
    };
    let scope = Scope::tenant(tenant);
    let connection = ctx.database().read_briefly(&scope).await?;
    foreign::shown_organization(&connection, &scope, id).await
}
