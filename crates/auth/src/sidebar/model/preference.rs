//! The sidebar settings of a user in a locale.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, ReplaceRow};
use backoffice_core::{Result, Timestamp};
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::auth_sidebar_preferences as preferences;
use crate::sidebar::{SidebarSettings, query};
use crate::stored::{parent_in, rows_of, snapshots, stored_rows, written_rows};
use crate::users::model::User;

/// The sidebar settings of a user, visible only to that user: a row of `auth_sidebar_preferences`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = preferences, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct SidebarPreference {
    /// Tenant of the user.
    pub tenant_id: Uuid,
    /// The id, derived from user and locale.
    pub id: Uuid,
    /// The user.
    pub user_id: Uuid,
    /// The locale.
    pub locale: String,
    /// The settings.
    pub settings: SidebarSettings,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for SidebarPreference {
    const KIND: &'static str = "auth.sidebar_preference";
    const NOT_FOUND: &'static str = "Preferences not found";
    const IS_PERSONAL: bool = true;

    /// Locks the user, whether the row exists or will be created.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let (tenant, user) = (locker.tenant(), locker.context().user_id()?);
        query::lock_user(locker.connection(), tenant, user).await?;
        let foreign: Vec<Uuid> = preferences::table
            .filter(preferences::tenant_id.eq(tenant))
            .filter(preferences::id.one_of(ids))
            .filter(preferences::user_id.ne(user))
            .select(preferences::id)
            .load(&mut locker.connection())
            .await?;
        let own = ids.iter().filter(|id| !foreign.contains(id));
        Ok(own.map(|id| LockedRow::new(*id, tenant)).collect())
    }

    stored_rows!(preferences);

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        parent_in(snapshot, "userId", User::KIND)
    }
}

written_rows!(SidebarPreference, preferences);
