//! `/auth/sidebar/variants`: the caller's own, in the locale of the request.

use actix_web::HttpRequest;
use backoffice_core::http::{Access, Done, Json, Path, Routes, given, given_object, requires};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Patch, RequestContext, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{nested, own_scope};
use crate::http::fields::{NameOrBlank, SidebarName};
use crate::sessions::locale;
use crate::sidebar::commands::{
    CreateSidebarVariant, DeleteSidebarVariant, SidebarVariantChanges, UpdateSidebarVariant,
};
use crate::sidebar::model::SidebarVariant;
use crate::sidebar::{SettingsInput, SidebarSettings, query};
use crate::{Error, acl};

const LIST: &str = "/auth/sidebar/variants";
const ONE: &str = "/auth/sidebar/variants/{id}";

/// Longest name, in characters.
const MAX_NAME: usize = 120;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, Access::Authenticated, list_sidebar_variants)
        .about("The caller's sidebar variants")
        .rejects(&[403]);
    routes
        .post(LIST, requires(&[acl::SIDEBAR_MANAGE]), create_sidebar_variant)
        .about("Create a sidebar variant")
        .rejects(&[409, 422]);
    routes
        .get(ONE, Access::Authenticated, get_sidebar_variant)
        .about("One of the caller's sidebar variants")
        .rejects(&[403, 404]);
    routes
        .put(ONE, requires(&[acl::SIDEBAR_MANAGE]), update_sidebar_variant)
        .about("Change or activate a sidebar variant")
        .rejects(&[404, 409, 422]);
    routes
        .delete(ONE, requires(&[acl::SIDEBAR_MANAGE]), delete_sidebar_variant)
        .about("Remove a sidebar variant")
        .rejects(&[404, 409, 422]);
}

/// A variant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Variant {
    id: Uuid,
    name: String,
    /// Whether the settings of the variant apply.
    is_active: bool,
    settings: SidebarSettings,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<SidebarVariant> for Variant {
    fn from(row: SidebarVariant) -> Self {
        Self {
            id: row.id,
            name: row.name,
            is_active: row.is_active,
            settings: row.settings,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// The variants of a locale.
#[derive(Debug, Serialize, ToSchema)]
struct VariantList {
    /// Code of the locale. `i18n.locales` has the codes: the set is open.
    locale: String,
    variants: Vec<Variant>,
}

/// A variant with its locale.
#[derive(Debug, Serialize, ToSchema)]
struct VariantDetail {
    /// Code of the locale. `i18n.locales` has the codes: the set is open.
    locale: String,
    variant: Variant,
}

async fn list_sidebar_variants(ctx: RequestContext, request: HttpRequest) -> Result<Json<VariantList>> {
    let (user, scope) = (ctx.user_id()?, own_scope(&ctx));
    let locale = locale::of(&ctx, &request).await?;
    let connection = ctx.database().read_briefly(&scope).await?;
    let rows = query::variants(&connection, &scope, user, &locale).await?;
    let variants = rows.into_iter().map(Variant::from).collect();
    Ok(Json(VariantList { locale, variants }))
}

/// Path of a variant.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct VariantPath {
    /// The id.
    id: String,
}

/// Returns the variant of the path, if it is the caller's and of this locale.
async fn find(ctx: &RequestContext, path: &VariantPath, locale: &str) -> Result<SidebarVariant> {
    let (user, scope) = (ctx.user_id()?, own_scope(ctx));
    let Ok(id) = path.id.parse::<Uuid>() else {
        return Err(Error::VariantNotFound.into());
    };
    let connection = ctx.database().read_briefly(&scope).await?;
    let row = query::variant(&connection, &scope, user, locale, id).await?;
    row.ok_or_else(|| Error::VariantNotFound.into())
}

async fn get_sidebar_variant(
    ctx: RequestContext,
    path: Path<VariantPath>,
    request: HttpRequest,
) -> Result<Json<VariantDetail>> {
    let locale = locale::of(&ctx, &request).await?;
    Ok(detail(find(&ctx, &path.0, &locale).await?))
}

/// A variant to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewVariant {
    /// At most 120 characters without control characters, unique among the caller's without regard to case. Absent, null or white space:
    /// `My preferences`, with a number if needed.
    #[serde(default)]
    #[schema(value_type = Option<NameOrBlank>)]
    name: Patch<String>,
    /// The settings; the default settings if absent.
    #[serde(default, deserialize_with = "given_object")]
    #[schema(nullable = false)]
    settings: Option<SettingsInput>,
    /// Whether the variant replaces the active one.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_active: Option<bool>,
}

impl NewVariant {
    fn checked(&self, validator: &mut Validator) -> (Option<String>, Option<SidebarSettings>) {
        let mut name = None;
        validator.optional_text("name", &self.name, &mut name, rules::line(MAX_NAME));
        (name, nested(self.settings.as_ref(), validator))
    }
}

impl Input for NewVariant {
    fn validate(&self, validator: &mut Validator) {
        self.checked(validator);
    }
}

async fn create_sidebar_variant(
    ctx: RequestContext,
    body: Json<NewVariant>,
    request: HttpRequest,
) -> Result<Json<VariantDetail>> {
    let user = ctx.user_id()?;
    let new = body.0;
    let mut validator = Validator::default();
    let (name, settings) = new.checked(&mut validator);
    validator.check()?;
    let command = CreateSidebarVariant {
        id: ctx.new_id(),
        tenant: ctx.identity().tenant,
        user,
        name,
        settings: settings.unwrap_or_default(),
        is_active: new.is_active.unwrap_or_default(),
        locale: locale::of(&ctx, &request).await?,
    };
    ctx.with_scope(own_scope(&ctx)).execute(&command, detail).await
}

fn detail(row: SidebarVariant) -> Json<VariantDetail> {
    Json(VariantDetail {
        locale: row.locale.clone(),
        variant: row.into(),
    })
}

/// Changes of a variant; absent fields stay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct VariantPatch {
    /// 1 to 120 characters, not counting surrounding white space; no control characters. Unique among the caller's without regard to case.
    #[serde(default)]
    #[schema(value_type = SidebarName)]
    name: Patch<String>,
    /// All settings of the variant.
    #[serde(default, deserialize_with = "given_object")]
    #[schema(nullable = false)]
    settings: Option<SettingsInput>,
    /// Whether the variant becomes the active one, or is deactivated.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_active: Option<bool>,
}

impl VariantPatch {
    fn checked(&self, validator: &mut Validator) -> (Option<String>, Option<SidebarSettings>) {
        let mut name = String::new();
        validator.text("name", &self.name, &mut name, rules::line(MAX_NAME));
        let name = self.name.as_ref().map(|_| name).value();
        (name, nested(self.settings.as_ref(), validator))
    }
}

impl Input for VariantPatch {
    fn validate(&self, validator: &mut Validator) {
        self.checked(validator);
    }
}

async fn update_sidebar_variant(
    ctx: RequestContext,
    path: Path<VariantPath>,
    body: Json<VariantPatch>,
    request: HttpRequest,
) -> Result<Json<VariantDetail>> {
    let patch = body.0;
    let mut validator = Validator::default();
    let (name, settings) = patch.checked(&mut validator);
    validator.check()?;
    let changes = SidebarVariantChanges {
        name,
        settings,
        is_active: patch.is_active,
    };
    let locale = locale::of(&ctx, &request).await?;
    let stored = find(&ctx, &path.0, &locale).await?;
    let command = UpdateSidebarVariant {
        id: stored.id,
        user: stored.user_id,
        locale,
        changes,
    };
    ctx.with_scope(own_scope(&ctx)).execute(&command, detail).await
}

async fn delete_sidebar_variant(
    ctx: RequestContext,
    path: Path<VariantPath>,
    request: HttpRequest,
) -> Result<Json<Done>> {
    let locale = locale::of(&ctx, &request).await?;
    let id = find(&ctx, &path.0, &locale).await?.id;
    let own = ctx.with_scope(own_scope(&ctx));
    own.execute(&DeleteSidebarVariant { id }, |()| Json(Done::OK)).await
}
