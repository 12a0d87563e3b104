//! The channels on which the caller gets each type of notifications.

use actix_web::HttpRequest;
use backoffice_core::http::{Access, Json, Routes, given};
use backoffice_core::input::{Bounded, Input};
use backoffice_core::{Detail, Platform, RequestContext, Result, Violations};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::locale;
use crate::commands::{PreferenceChange, UpdatePreferences};
use crate::model::{Preference, channels_of};
use crate::{query, types};

const PREFERENCES: &str = "/notifications/preferences";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(PREFERENCES, Access::Authenticated, list_notification_preferences)
        .about("List the types of notifications with the caller's channels");
    routes
        .put(PREFERENCES, Access::Authenticated, update_notification_preferences)
        .about("Change the caller's channels of types of notifications")
        .rejects(&[404, 422]);
}

/// The channels of a type.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreferenceItem {
    /// Name of the type. Modules define the types: the set is open.
    r#type: String,
    /// Name of the type in the language of the caller.
    title: String,
    /// In the application; false: on no channel.
    in_app: bool,
    /// As a push message to the caller's devices.
    push: bool,
    /// By mail.
    email: bool,
}

/// The channels of all types.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct PreferenceList {
    items: Vec<PreferenceItem>,
}

impl PreferenceList {
    fn new(platform: &Platform, locale: &str, stored: &[Preference]) -> Self {
        let item = |known: types::NotificationType| {
            let channels = channels_of(stored, &known);
            PreferenceItem {
                r#type: known.id.to_owned(),
                title: known.texts(locale).map_or(known.id, |texts| texts.name).to_owned(),
                in_app: channels.in_app,
                push: channels.push,
                email: channels.email,
            }
        };
        Self {
            items: types::known(platform).into_iter().map(item).collect(),
        }
    }
}

async fn list_notification_preferences(ctx: RequestContext, request: HttpRequest) -> Result<Json<PreferenceList>> {
    let Ok(user) = ctx.user_id() else {
        // API keys have none.
        return Ok(Json(PreferenceList { items: Vec::new() }));
    };
    let locale = locale(&ctx, &request).await?;
    let scope = query::own_scope(&ctx);
    let connection = ctx.database().read_briefly(&scope).await?;
    let stored = query::preferences_of(&connection, &scope, user).await?;
    Ok(Json(PreferenceList::new(ctx.platform(), &locale, &stored)))
}

/// The change of the channels of a type; absent ones stay as they are.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreferenceInput {
    /// Name of the type. Modules define the types: the set is open.
    #[schema(value_type = String, min_length = 1, max_length = 100)]
    r#type: Bounded<String, 1, 100>,
    /// In the application; false: on no channel.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    in_app: Option<bool>,
    /// As a push message.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    push: Option<bool>,
    /// By mail.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    email: Option<bool>,
}

/// Changes of the channels.
#[derive(Debug, Clone, Deserialize, ToSchema)]
struct PreferencesInput {
    /// The changes, each of another type.
    #[schema(value_type = Vec<PreferenceInput>, max_items = 200)]
    items: Bounded<Vec<PreferenceInput>, 0, 200>,
}

impl Input for PreferencesInput {}

impl PreferencesInput {
    fn changes(self, platform: &Platform) -> Result<Vec<PreferenceChange>> {
        let mut violations = Violations::default();
        let mut changes: Vec<PreferenceChange> = Vec::new();
        for (index, input) in self.items.0.into_iter().enumerate() {
            let path = format!("items[{index}].type");
            match types::find(platform, &input.r#type.0) {
                None => violations.add(Detail::new(path, "must be a known type", "unknown_reference")),
                Some(known) if changes.iter().any(|change| change.notification_type.id == known.id) => {
                    violations.add(Detail::new(path, "must be in the list once", "not_unique"));
                }
                Some(notification_type) => changes.push(PreferenceChange {
                    notification_type,
                    in_app: input.in_app,
                    push: input.push,
                    email: input.email,
                }),
            }
        }
        violations.check()?;
        Ok(changes)
    }
}

async fn update_notification_preferences(
    ctx: RequestContext,
    body: Json<PreferencesInput>,
    request: HttpRequest,
) -> Result<Json<PreferenceList>> {
    let user = ctx.user_id()?;
    let changes = body.0.changes(ctx.platform())?;
    let locale = locale(&ctx, &request).await?;
    let command = UpdatePreferences { user, changes };
    let listed = |stored: Vec<Preference>| Json(PreferenceList::new(ctx.platform(), &locale, &stored));
    ctx.with_scope(query::own_scope(&ctx)).execute(&command, listed).await
}
