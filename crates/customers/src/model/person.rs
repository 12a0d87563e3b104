//! People: deals link to them, and they may belong to a company.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::crud::{self, Record};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Feature, Rejection, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::deal_sets::{COMPANIES, PEOPLE};
use super::restored_owners::{self, HasOwner};
use super::{COMPANY, PERSON, party};
use crate::schema::{customers_companies as companies, customers_people as people};
use crate::{acl, query};

/// A person.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = people, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = PersonRow)]
pub struct Person {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization that the person belongs to.
    pub organization_id: Uuid,
    /// First name, 1 to 120 characters.
    pub first_name: String,
    /// Last name, 1 to 120 characters.
    pub last_name: String,
    /// Display name, 1 to 250 characters.
    pub display_name: String,
    /// The position in the company.
    pub job_title: Option<String>,
    /// E-mail address.
    pub primary_email: Option<String>,
    /// Telephone number.
    pub primary_phone: Option<String>,
    /// The company.
    pub company_id: Option<Uuid>,
    /// The user who owns the record.
    pub owner_user_id: Option<Uuid>,
    /// Whether there is business with the person.
    pub is_active: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl HasOwner for Person {
    fn owner(&self) -> (Uuid, Option<Uuid>) {
        (self.id, self.owner_user_id)
    }

    fn clear_owner(&mut self) {
        self.owner_user_id = None;
    }
}

impl Entity for Person {
    const KIND: &'static str = PERSON;
    const NOT_FOUND: &'static str = "Person not found";
    const VIEW: Option<Feature> = Some(acl::PEOPLE_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::people::in_scope(locker.scope()).filter(people::id.one_of(ids));
        let locked = visible.order(people::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let rows = crud::read::<Self>(tx, ids).await?;
        if rows.is_empty() {
            return Ok(Snapshots::new());
        }
        let tree = match depth {
            Depth::Own => None,
            Depth::Tree => Some((PEOPLE.lock_links(tx, ids).await?, Vec::new())),
        };
        party::snapshots(&PEOPLE, &rows, tree.as_ref())
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        let mut dropped = party::leave_out_owners(tx, &mut rows).await?;
        dropped.extend(leave_out(tx, &mut rows).await?);
        Self::write(tx, &rows).await?;
        dropped.extend(party::restore_links(tx, &PEOPLE, &rows, snapshots).await?);
        Ok(dropped)
    }

    /// Deletes people with the links of deals to them.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        PEOPLE.touch_deals(tx, ids).await?;
        let tenant = tx.tenant();
        let rows = people::table.filter(people::tenant_id.eq(tenant));
        delete(rows.filter(people::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    /// Rejects restoring a company that is not visible to the caller, or an owner who may not own records of the organization.
    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let Some(to) = step.to.filter(|_| step.restoring) else {
            return Ok(());
        };
        let company = company_of(to);
        if let Some(company) = company.filter(|_| step.from.and_then(company_of) != company)
            && COMPANIES.seen(tx, &[company]).await?.is_empty()
        {
            return Err(Rejection::undo_conflict(&["companyId"]).into());
        }
        restored_owners::validate(tx, step.from, to).await
    }

    /// Returns the company, and the deals whose links a deletion removes.
    fn related(snapshot: &Snapshot) -> Vec<EntityRef> {
        let company = company_of(snapshot).map(|id| EntityRef { kind: COMPANY, id });
        let deals = party::linked_deals(&PEOPLE, snapshot);
        company.into_iter().chain(deals).take(100).collect()
    }
}

fn company_of(snapshot: &Snapshot) -> Option<Uuid> {
    snapshot.get("companyId")?.as_str()?.parse().ok()
}

/// Clears references to missing companies and returns these.
async fn leave_out(tx: &mut Tx<'_>, rows: &mut [Person]) -> Result<Vec<String>> {
    let tenant = tx.tenant();
    let named: Vec<Uuid> = rows.iter().filter_map(|row| row.company_id).collect();
    let existing: Vec<Uuid> = companies::table
        .filter(companies::tenant_id.eq(tenant))
        .filter(companies::id.one_of(named))
        .select(companies::id)
        .load(tx.conn())
        .await?;
    let mut dropped = Vec::new();
    for row in rows {
        if let Some(missing) = row.company_id.take_if(|company| !existing.contains(company)) {
            dropped.push(format!("{COMPANY}:{missing}"));
        }
    }
    Ok(dropped)
}
