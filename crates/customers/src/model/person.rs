//! People.

use backoffice_core::command::{LockedRow, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::deal_sets::{DealSet, PEOPLE};
use super::party::{Party, PartyEntity, Verbs};
use super::{COMPANY, PERSON, locked_rows};
use crate::commands::people::PersonFields;
use crate::query::people::in_scope;
use crate::schema::{customers_companies as companies, customers_people as people};
use crate::{Placement, acl};

/// A person.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = people, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct PersonRow {
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

/// Entity kind `customers.person`.
pub type Person = PartyEntity<PersonRow>;

impl Party for PersonRow {
    const KIND: &'static str = PERSON;
    const NOT_FOUND: &'static str = "Person not found";
    const VERBS: Verbs = Verbs {
        create: ("customers.person.create", "Create person"),
        update: ("customers.person.update", "Update person"),
        delete: ("customers.person.delete", "Delete person"),
    };
    const VIEW: Feature = acl::PEOPLE_VIEW;
    const MANAGE: &'static [Feature] = &[acl::PEOPLE_MANAGE];
    const DEALS: DealSet = PEOPLE;
    type Fields = PersonFields;

    fn blank(id: Uuid, place: Placement, now: Timestamp) -> Self {
        Self {
            tenant_id: place.tenant,
            id,
            organization_id: place.organization,
            first_name: String::new(),
            last_name: String::new(),
            display_name: String::new(),
            job_title: None,
            primary_email: None,
            primary_phone: None,
            company_id: None,
            owner_user_id: None,
            is_active: true,
            created_at: now,
            updated_at: now,
        }
    }

    fn id(&self) -> Uuid {
        self.id
    }

    fn place(&self) -> Placement {
        Placement {
            tenant: self.tenant_id,
            organization: self.organization_id,
        }
    }

    fn updated_at(&self) -> Timestamp {
        self.updated_at
    }

    fn owner(&self) -> Option<Uuid> {
        self.owner_user_id
    }

    fn company(&self) -> Option<Uuid> {
        self.company_id
    }

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let rows = in_scope(tx.scope())
            .filter(people::id.eq_any(ids))
            .order(people::id)
            .select((people::id, people::tenant_id))
            .for_update()
            .load(tx.conn())
            .await?;
        Ok(locked_rows(rows))
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let tenant = tx.tenant();
        let rows = people::table
            .filter(people::tenant_id.eq(tenant))
            .filter(people::id.eq_any(ids))
            .select(Self::as_select())
            .load(tx.conn())
            .await?;
        Ok(rows)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<()> {
        let now = tx.now();
        let stamp = |row: &Self| Self {
            updated_at: now,
            ..row.clone()
        };
        insert_into(people::table)
            .values(rows.iter().map(stamp).collect::<Vec<_>>())
            .on_conflict((people::tenant_id, people::id))
            .do_update()
            .set((
                people::organization_id.eq(excluded(people::organization_id)),
                people::first_name.eq(excluded(people::first_name)),
                people::last_name.eq(excluded(people::last_name)),
                people::display_name.eq(excluded(people::display_name)),
                people::job_title.eq(excluded(people::job_title)),
                people::primary_email.eq(excluded(people::primary_email)),
                people::primary_phone.eq(excluded(people::primary_phone)),
                people::company_id.eq(excluded(people::company_id)),
                people::owner_user_id.eq(excluded(people::owner_user_id)),
                people::is_active.eq(excluded(people::is_active)),
                people::created_at.eq(excluded(people::created_at)),
                people::updated_at.eq(excluded(people::updated_at)),
            ))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    async fn delete(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        let gone = people::table
            .filter(people::tenant_id.eq(tenant))
            .filter(people::id.eq_any(ids));
        diesel::delete(gone).execute(tx.conn()).await?;
        Ok(())
    }

    async fn without_deleted(tx: &mut Tx<'_>, rows: &mut [Self]) -> Result<Vec<String>> {
        let tenant = tx.tenant();
        let named: Vec<Uuid> = rows.iter().filter_map(|row| row.company_id).collect();
        let there: Vec<Uuid> = companies::table
            .filter(companies::tenant_id.eq(tenant))
            .filter(companies::id.eq_any(named))
            .select(companies::id)
            .load(tx.conn())
            .await?;
        let mut dropped = Vec::new();
        for row in rows {
            if let Some(gone) = row.company_id.take_if(|company| !there.contains(company)) {
                dropped.push(format!("{COMPANY}:{gone}"));
            }
        }
        Ok(dropped)
    }
}
