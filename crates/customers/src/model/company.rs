//! Companies.

use backoffice_core::command::{LockedRow, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::cleared::{self, ClearedReference};
use super::deal_sets::{COMPANIES, DealSet};
use super::party::{Party, PartyEntity, Verbs};
use super::{COMPANY, locked_rows};
use crate::commands::companies::CompanyFields;
use crate::query::companies::in_scope;
use crate::schema::customers_companies as companies;
use crate::{Placement, acl};

/// A company.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = companies, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct CompanyRow {
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

/// Entity kind `customers.company`.
pub type Company = PartyEntity<CompanyRow>;

impl Party for CompanyRow {
    const KIND: &'static str = COMPANY;
    const NOT_FOUND: &'static str = "Company not found";
    const VERBS: Verbs = Verbs {
        create: ("customers.company.create", "Create company"),
        update: ("customers.company.update", "Update company"),
        delete: ("customers.company.delete", "Delete company"),
    };
    const VIEW: Feature = acl::COMPANIES_VIEW;
    const MANAGE: &'static [Feature] = &[acl::COMPANIES_MANAGE];
    const DEALS: DealSet = COMPANIES;
    type Fields = CompanyFields;

    fn blank(id: Uuid, place: Placement, now: Timestamp) -> Self {
        Self {
            tenant_id: place.tenant,
            id,
            organization_id: place.organization,
            display_name: String::new(),
            legal_name: None,
            description: None,
            primary_email: None,
            primary_phone: None,
            website_url: None,
            industry: None,
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

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let rows = in_scope(tx.scope())
            .filter(companies::id.eq_any(ids))
            .order(companies::id)
            .select((companies::id, companies::tenant_id))
            // Blocks new references while the deletion is being checked.
            .for_update()
            .load(tx.conn())
            .await?;
        Ok(locked_rows(rows))
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let tenant = tx.tenant();
        let rows = companies::table
            .filter(companies::tenant_id.eq(tenant))
            .filter(companies::id.eq_any(ids))
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
        insert_into(companies::table)
            .values(rows.iter().map(stamp).collect::<Vec<_>>())
            .on_conflict((companies::tenant_id, companies::id))
            .do_update()
            .set((
                companies::organization_id.eq(excluded(companies::organization_id)),
                companies::display_name.eq(excluded(companies::display_name)),
                companies::legal_name.eq(excluded(companies::legal_name)),
                companies::description.eq(excluded(companies::description)),
                companies::primary_email.eq(excluded(companies::primary_email)),
                companies::primary_phone.eq(excluded(companies::primary_phone)),
                companies::website_url.eq(excluded(companies::website_url)),
                companies::industry.eq(excluded(companies::industry)),
                companies::owner_user_id.eq(excluded(companies::owner_user_id)),
                companies::is_active.eq(excluded(companies::is_active)),
                companies::created_at.eq(excluded(companies::created_at)),
                companies::updated_at.eq(excluded(companies::updated_at)),
            ))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    async fn delete(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        cleared::clear(tx, ids).await?;
        let tenant = tx.tenant();
        let gone = companies::table
            .filter(companies::tenant_id.eq(tenant))
            .filter(companies::id.eq_any(ids));
        diesel::delete(gone).execute(tx.conn()).await?;
        Ok(())
    }

    async fn inbound(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<ClearedReference>> {
        cleared::people_of(tx, ids).await
    }

    async fn refer_again(tx: &mut Tx<'_>, references: &[ClearedReference]) -> Result<Vec<String>> {
        cleared::set_again(tx, references).await
    }
}
