//! Consents of users. No command deletes them; the decisions of a user stay on record.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Error, Result, Timestamp};
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::auth_consents as consents;
use crate::stored::parent_in;
use crate::users::model::User;

/// The decision of a user: a row of `auth_consents`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = consents, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct Consent {
    /// Tenant of the user.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The user.
    pub user_id: Uuid,
    /// The user's organization at the time of the first decision.
    pub organization_id: Option<Uuid>,
    /// The subject of the consent.
    pub consent_type: String,
    /// Whether the user agrees.
    pub is_granted: bool,
    /// Time of the last agreement.
    pub granted_at: Option<Timestamp>,
    /// Time when the user last withdrew or declined.
    pub withdrawn_at: Option<Timestamp>,
    /// Where the user decided: `profile`.
    pub source: Option<String>,
    /// IP address from which the user decided.
    pub ip_address: Option<String>,
    #[serde(skip)]
    pub(crate) integrity: Vec<u8>,
    #[serde(skip)]
    pub(crate) integrity_kid: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for Consent {
    const KIND: &'static str = "auth.consent";
    const SECRET: &'static [&'static str] = &["integrity", "integrityKid"];
    const NOT_FOUND: &'static str = "Consent not found";

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let rows = consents::table.filter(locker.scope().owns(consents::tenant_id));
        let rows = rows.filter(consents::id.one_of(ids)).order(consents::id);
        let rows = rows.select((consents::id, consents::tenant_id)).for_update();
        Ok(rows.load(&mut locker.connection()).await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = consents::table.filter(consents::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(consents::id.one_of(ids)).select(Self::as_select());
        let rows: Vec<Self> = rows.load(tx.conn()).await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> Result<Vec<String>> {
        Err(Error::internal("consents cannot be restored"))
    }

    async fn remove(_tx: &mut Tx<'_>, _ids: &[Uuid]) -> Result<()> {
        Err(Error::internal("consents cannot be deleted"))
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        parent_in(snapshot, "userId", User::KIND)
    }
}
