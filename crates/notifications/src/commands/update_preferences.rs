use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::{self, Preference, Preferences};
use crate::schema::notifications_preferences as preferences;
use crate::types::{Channels, NotificationType};

/// The change of the preferences for a type; `None` keeps the channel as it is.
#[derive(Debug, Clone)]
pub struct PreferenceChange {
    /// The type.
    pub notification_type: NotificationType,
    /// In the application.
    pub in_app: Option<bool>,
    /// As a push message.
    pub push: Option<bool>,
    /// By mail.
    pub email: Option<bool>,
}

impl PreferenceChange {
    fn applied_to(&self, channels: Channels) -> Channels {
        Channels {
            in_app: self.in_app.unwrap_or(channels.in_app),
            push: self.push.unwrap_or(channels.push),
            email: self.email.unwrap_or(channels.email),
        }
    }
}

/// Changes the caller's preferences. Returns all of them.
#[derive(Debug, Clone)]
pub struct UpdatePreferences {
    /// The caller.
    pub user: Uuid,
    /// The changes.
    pub changes: Vec<PreferenceChange>,
}

impl Command for UpdatePreferences {
    const ID: &'static str = "notifications.preference.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Change notification preferences";
    const FEATURES: &'static [Feature] = &[];
    type Entity = Preferences;
    type Output = Vec<Preference>;

    fn target(&self) -> Target {
        Target::Existing(self.user)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Vec<Preference>> {
        let mut rows: Vec<Preference> = preferences::table
            .filter(preferences::tenant_id.eq(tx.tenant()))
            .filter(preferences::user_id.eq(self.user))
            .select(Preference::as_select())
            .load(tx.conn())
            .await?;
        let mut changed: Vec<Preference> = Vec::new();
        for change in &self.changes {
            let of = &change.notification_type;
            let current = model::channels_of(&rows, of);
            let requested = change.applied_to(current);
            if requested == current {
                continue;
            }
            let stored = rows.iter().position(|row| row.type_ == of.id);
            let stored = stored.map(|index| rows.remove(index));
            changed.retain(|row| row.type_ != of.id);
            let row = Preference {
                tenant_id: tx.tenant(),
                id: stored.as_ref().map_or_else(|| tx.new_id(), |row| row.id),
                user_id: self.user,
                type_: of.id.to_owned(),
                in_app: requested.in_app,
                push: requested.push,
                email: requested.email,
                created_at: stored.map_or(tx.now(), |row| row.created_at),
                updated_at: tx.now(),
            };
            rows.push(row.clone());
            changed.push(row);
        }
        if !changed.is_empty() {
            model::write(tx, changed).await?;
        }
        Ok(rows)
    }
}
