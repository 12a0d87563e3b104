//! The commands on sidebars. They are written by hand: preferences are addressed by their owner and written whether or not they exist, and
//! an activation affects other variants.

mod create_sidebar_variant;
mod delete_role_sidebar_preference;
mod delete_sidebar_variant;
mod update_role_sidebar_preference;
mod update_sidebar_preference;
mod update_sidebar_variant;

use backoffice_core::Result;
use backoffice_core::command::{Entity, EntityRef, Tx};
use backoffice_core::db::Recurring;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::model::SidebarVariant;
use super::query;
use crate::Error;
use crate::error::on_violation;
use crate::schema::auth_sidebar_variants as variants;

pub use create_sidebar_variant::CreateSidebarVariant;
pub use delete_role_sidebar_preference::DeleteRoleSidebarPreference;
pub use delete_sidebar_variant::DeleteSidebarVariant;
pub use update_role_sidebar_preference::UpdateRoleSidebarPreference;
pub use update_sidebar_preference::{RoleOfSidebar, UpdateSidebarPreference};
pub use update_sidebar_variant::{SidebarVariantChanges, UpdateSidebarVariant};

/// Maps the violation of the unique key on the names of variants.
fn duplicate_name(error: backoffice_core::Error) -> backoffice_core::Error {
    let key = "auth_sidebar_variants_tenant_id_user_id_locale_name_norm_key";
    on_violation(key, Error::DuplicateVariantName)(error)
}

/// Returns the variants that an activation deactivates. Locks their user, so that no other transaction changes which variant is active.
async fn active_variants(tx: &mut Tx<'_>, user: Uuid, locale: &str, but: Uuid) -> Result<Vec<EntityRef>> {
    query::lock_user(tx.shared(), tx.tenant(), user).await?;
    let tenant = tx.tenant();
    let active: Vec<Uuid> = variants::table
        .filter(variants::tenant_id.eq(tenant))
        .filter(variants::user_id.eq(user))
        .filter(variants::locale.eq(locale))
        .filter(variants::is_active)
        .filter(variants::deleted_at.is_null())
        .filter(variants::id.ne(but))
        .select(variants::id)
        .load(tx.conn())
        .await?;
    let kind = SidebarVariant::KIND;
    Ok(active.into_iter().map(|id| EntityRef { kind, id }).collect())
}

/// Deactivates all variants of a user and locale but one.
async fn deactivate_others(tx: &mut Tx<'_>, user: Uuid, locale: &str, but: Uuid) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    diesel::update(
        variants::table
            .filter(variants::tenant_id.eq(tenant))
            .filter(variants::user_id.eq(user))
            .filter(variants::locale.eq(locale))
            .filter(variants::is_active)
            .filter(variants::deleted_at.is_null())
            .filter(variants::id.ne(but)),
    )
    .set((variants::is_active.eq(false), variants::updated_at.eq(now)))
    .prepared()
    .execute(tx.conn())
    .await?;
    Ok(())
}
