//! Companies: deals link to them, and people refer to them.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::crud::{self, Record};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::cleared::{self, ClearedReference};
use super::deal_sets::COMPANIES;
use super::restored_owners::{self, HasOwner};
use super::{COMPANY, PERSON, party};
use crate::schema::customers_companies as companies;
use crate::{acl, query};

/// A company.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = companies, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CompanyRow)]
pub struct Company {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization that the company belongs to.
    pub organization_id: Uuid,
    /// Display name, 1 to 200 characters.
    pub display_name: String,
    /// The registered name.
    pub legal_name: Option<String>,
    /// Notes.
    pub description: Option<String>,
    /// E-mail address.
    pub primary_email: Option<String>,
    /// Telephone number.
    pub primary_phone: Option<String>,
    /// Address of the web site, http or https.
    pub website_url: Option<String>,
    /// The industry.
    pub industry: Option<String>,
    /// The user who owns the record.
    pub owner_user_id: Option<Uuid>,
    /// Whether there is business with the company.
    pub is_active: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl HasOwner for Company {
    fn owner(&self) -> (Uuid, Option<Uuid>) {
        (self.id, self.owner_user_id)
    }

    fn clear_owner(&mut self) {
        self.owner_user_id = None;
    }
}

impl Entity for Company {
    const KIND: &'static str = COMPANY;
    const NOT_FOUND: &'static str = "Company not found";
    const VIEW: Option<Feature> = Some(acl::COMPANIES_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::companies::in_scope(locker.scope()).filter(companies::id.one_of(ids));
        // Blocks new references while the deletion is being checked.
        let locked = visible.order(companies::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let rows = crud::read::<Self>(tx, ids).await?;
        if rows.is_empty() {
            return Ok(Snapshots::new());
        }
        let tree = match depth {
            Depth::Own => None,
            Depth::Tree => {
                // People before deals, as the deletion of a person locks them.
                let people = cleared::people_of(tx, ids).await?;
                Some((COMPANIES.lock_links(tx, ids).await?, people))
            }
        };
        party::snapshots(&COMPANIES, &rows, tree.as_ref())
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        let mut dropped = party::leave_out_owners(tx, &mut rows).await?;
        Self::write(tx, &rows).await?;
        dropped.extend(party::restore_links(tx, &COMPANIES, &rows, snapshots).await?);
        dropped.extend(cleared::set_again(tx, snapshots).await?);
        Ok(dropped)
    }

    /// Deletes companies with the links of deals to them; their people remain without a company.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        COMPANIES.touch_deals(tx, ids).await?;
        cleared::clear(tx, ids).await?;
        let tenant = tx.tenant();
        let rows = companies::table.filter(companies::tenant_id.eq(tenant));
        delete(rows.filter(companies::id.one_of(ids)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    /// Rejects restoring an owner who may not own records of the organization.
    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        match step.to {
            Some(to) if step.restoring => restored_owners::validate(tx, step.from, to).await,
            _ => Ok(()),
        }
    }

    /// Returns the deals and people whose links or references a deletion removes.
    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        let people = ClearedReference::of(snapshot).unwrap_or_default();
        let people = people.into_iter().map(|one| EntityRef {
            kind: PERSON,
            id: one.id,
        });
        let deals = party::linked_deals(&COMPANIES, snapshot);
        deals.chain(people).take(100).collect()
    }
}
