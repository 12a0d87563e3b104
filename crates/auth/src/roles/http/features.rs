//! The features of the enabled modules, and those that the caller holds.

use backoffice_core::http::{Access, Json, Routes, requires};
use backoffice_core::input::{Bounded, Input};
use backoffice_core::{ErrorShape, Module, RequestContext, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/auth/feature-check", Access::Authenticated, check_features)
        .passes_over_selections()
        .about("Which of these features the caller holds")
        .errors(ErrorShape::OkFalse)
        .invalid("Invalid request")
        .without_command();
    routes
        .get("/auth/features", requires(&[acl::ACL_MANAGE]), list_features)
        .about("The features of the enabled modules");
}

/// Features to check.
#[derive(Debug, Deserialize, ToSchema)]
struct FeatureQuestion {
    /// At most 50 feature ids or wildcards of 1 to 128 characters.
    #[schema(value_type = Vec<String>, max_items = 50, min_length = 1, max_length = 128)]
    features: Bounded<Vec<Bounded<String, 1, 128>>, 0, 50>,
}

impl Input for FeatureQuestion {}

/// The checked features that the caller holds.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FeatureCheck {
    /// Whether the caller holds all of them.
    ok: bool,
    /// The held ones, in the order of the request.
    granted: Vec<String>,
    /// The user, or the API key.
    user_id: Option<Uuid>,
}

async fn check_features(ctx: RequestContext, question: Json<FeatureQuestion>) -> Result<Json<FeatureCheck>> {
    let catalogue = ctx.platform().catalogue();
    let held = |feature: &str| match feature.ends_with('*') {
        true => backoffice_core::acl::is_grant(feature) && ctx.pairs().holds_wildcard(feature, ctx.scope().selected),
        false => ctx.scope().holds(feature, catalogue),
    };
    let (mut granted, mut ok) = (Vec::new(), true);
    for Bounded(feature) in question.0.features.0 {
        if !held(&feature) {
            ok = false;
        } else if !granted.contains(&feature) {
            granted.push(feature);
        }
    }
    Ok(Json(FeatureCheck {
        ok,
        granted,
        user_id: ctx.identity().id,
    }))
}

/// A feature of the catalogue.
#[derive(Debug, Serialize, ToSchema)]
struct FeatureItem {
    id: &'static str,
    title: &'static str,
    module: String,
}

/// A module of the catalogue.
#[derive(Debug, Serialize, ToSchema)]
struct ModuleItem {
    id: String,
    title: &'static str,
}

/// The features of the enabled modules.
#[derive(Debug, Serialize, ToSchema)]
struct FeatureCatalogue {
    items: Vec<FeatureItem>,
    modules: Vec<ModuleItem>,
}

async fn list_features(ctx: RequestContext) -> Result<Json<FeatureCatalogue>> {
    let mut enabled = ctx.platform().modules().to_vec();
    enabled.sort_by_key(|module| module.name);
    let mut items: Vec<FeatureItem> = Vec::new();
    for module in &enabled {
        let mut own: Vec<FeatureItem> = module
            .features
            .iter()
            .map(|feature| FeatureItem {
                id: feature.id,
                title: feature.title,
                module: wire_module(module),
            })
            .collect();
        own.sort_by_key(|item| item.id);
        items.append(&mut own);
    }
    let modules = enabled
        .iter()
        .map(|module| ModuleItem {
            id: wire_module(module),
            title: module.title,
        })
        .collect();
    Ok(Json(FeatureCatalogue { items, modules }))
}

/// Returns the id of a module in the form with which its features and paths begin.
fn wire_module(module: &Module) -> String {
    module.name.replace('-', "_")
}
