//! The people and companies of deals: sets that a deal owns, and whose links are deleted with the person or company.

use std::collections::BTreeSet;

use backoffice_core::command::Tx;
use backoffice_core::db::Prepared;
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{COMPANY, DEAL, PERSON};
use crate::Error;

/// A table of links between deals and parties.
#[derive(Debug, Clone, Copy)]
pub struct DealSet {
    /// Kind of the link rows in snapshots.
    pub(crate) kind: &'static str,
    /// The field of a deal that lists the linked ids.
    pub(crate) field: &'static str,
    /// Kind of the linked records.
    pub(crate) party: &'static str,
    table: &'static str,
    column: &'static str,
    parties: &'static str,
}

/// The people of deals.
pub(crate) const PEOPLE: DealSet = DealSet {
    kind: "customers.deal_person",
    field: "personIds",
    party: PERSON,
    table: "customers_deal_people",
    column: "person_id",
    parties: "customers_people",
};

/// The companies of deals.
pub(crate) const COMPANIES: DealSet = DealSet {
    kind: "customers.deal_company",
    field: "companyIds",
    party: COMPANY,
    table: "customers_deal_companies",
    column: "company_id",
    parties: "customers_companies",
};

/// A link between a deal and a party.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, QueryableByName)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Link {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) deal_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) party_id: Uuid,
    #[diesel(sql_type = Timestamptz)]
    created_at: Timestamp,
}

#[derive(QueryableByName)]
struct PartyId {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// The end of a link by which links are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Deal,
    Party,
}

#[derive(QueryableByName)]
struct Deleted {
    #[diesel(sql_type = Text)]
    gone: String,
}

impl DealSet {
    /// Returns the links of these deals, ordered by id.
    pub(crate) async fn links_of(&self, tx: &mut Tx<'_>, deals: &[Uuid]) -> Result<Vec<Link>> {
        let Self { table, column, .. } = self;
        let tenant = tx.tenant();
        let statement = sql_query(format!(
            "select id, deal_id, {column} as party_id, created_at from {table} \
             where tenant_id = $1 and deal_id = any(array(select unnest($2::uuid[]))) order by id"
        ));
        let statement = statement.bind::<SqlUuid, _>(tenant).bind::<Array<SqlUuid>, _>(deals);
        Ok(Prepared(statement).load(tx.conn()).await?)
    }

    /// Returns the links of these parties, ordered by id. Locks their deals and then the links until the end of the transaction, so that the snapshot
    /// shows exactly what is deleted: a link that another transaction has deleted is left out after the wait for its deal. The locked parties take no
    /// new links.
    pub(crate) async fn lock_links(&self, tx: &mut Tx<'_>, parties: &[Uuid]) -> Result<Vec<Link>> {
        let Self { table, column, .. } = self;
        let tenant = tx.tenant();
        let statement = sql_query(format!(
            "with shown as ({}) \
             select id, deal_id, {column} as party_id, created_at from {table} \
             where tenant_id = $1 and {column} = any(array(select unnest($2::uuid[]))) and deal_id in (select id from shown) \
             order by id for update",
            self.locked_deals()
        ));
        let statement = statement.bind::<SqlUuid, _>(tenant).bind::<Array<SqlUuid>, _>(parties);
        Ok(Prepared(statement).load(tx.conn()).await?)
    }

    /// The query for the deals of a tenant ($1) that link to parties ($2). It locks them in the order in which commands on deals lock them.
    fn locked_deals(&self) -> String {
        let Self { table, column, .. } = self;
        format!(
            "select id from customers_deals \
             where tenant_id = $1 and id in (select deal_id from {table} where tenant_id = $1 and {column} = any(array(select unnest($2::uuid[])))) \
             order by id for update"
        )
    }

    fn column_of(&self, end: End) -> &'static str {
        match end {
            End::Deal => "deal_id",
            End::Party => self.column,
        }
    }

    /// Returns those of the parties that exist in the tenant and are visible to the caller.
    pub(crate) async fn seen(&self, tx: &mut Tx<'_>, parties: &[Uuid]) -> Result<BTreeSet<Uuid>> {
        let (tenant, read) = (tx.tenant(), tx.scope().organizations.clone());
        let statement = sql_query(format!(
            "select id from {} where tenant_id = $1 and id = any($2) and ($3 is null or organization_id = any($3))",
            self.parties
        ));
        let statement = statement
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(parties)
            .bind::<Nullable<Array<SqlUuid>>, _>(read);
        let seen: Vec<PartyId> = Prepared(statement).load(tx.conn()).await?;
        Ok(seen.into_iter().map(|one| one.id).collect())
    }

    /// Replaces the set of a deal; links that remain keep their ids.
    ///
    /// # Errors
    /// [`Error::UnknownReference`] when one of the parties was deleted meanwhile.
    pub(crate) async fn set(&self, tx: &mut Tx<'_>, deal: Uuid, parties: &BTreeSet<Uuid>) -> Result<()> {
        let stored = self.links_of(tx, &[deal]).await?;
        let (kept, gone): (Vec<Link>, Vec<Link>) = stored.into_iter().partition(|one| parties.contains(&one.party_id));
        let now = tx.now();
        let added = parties
            .iter()
            .filter(|id| !kept.iter().any(|link| link.party_id == **id))
            .map(|party| Link {
                id: tx.new_id(),
                deal_id: deal,
                party_id: *party,
                created_at: now,
            });
        let added: Vec<Link> = added.collect();
        if !gone.is_empty() {
            self.keep_only(tx, End::Deal, &[deal], &kept).await?;
        }
        if !added.is_empty() && !self.insert(tx, &added).await?.is_empty() {
            return Err(Error::UnknownReference(self.field).into());
        }
        Ok(())
    }

    /// Advances `updated_at` of the deals that link to these parties, because a deletion or its undo changes their sets.
    pub(crate) async fn touch_deals(&self, tx: &mut Tx<'_>, parties: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let statement = sql_query(format!(
            "with shown as ({}) \
             update customers_deals d set updated_at = greatest($3, d.updated_at + interval '1 millisecond') \
             from shown where d.tenant_id = $1 and d.id = shown.id",
            self.locked_deals()
        ));
        let statement = statement
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(parties)
            .bind::<Timestamptz, _>(now);
        Prepared(statement).execute(tx.conn()).await?;
        Ok(())
    }

    /// Replaces the links at these ends by these links, with their ids. Leaves out links whose other end is missing and returns those ends.
    pub(crate) async fn restore(&self, tx: &mut Tx<'_>, end: End, ids: &[Uuid], links: &[Link]) -> Result<Vec<String>> {
        self.keep_only(tx, end, ids, links).await?;
        if links.is_empty() {
            return Ok(Vec::new());
        }
        self.insert(tx, links).await
    }

    async fn keep_only(&self, tx: &mut Tx<'_>, end: End, ids: &[Uuid], links: &[Link]) -> Result<()> {
        let tenant = tx.tenant();
        let statement = sql_query(format!(
            "delete from {} where tenant_id = $1 and {} = any(array(select unnest($2::uuid[]))) and id <> all($3)",
            self.table,
            self.column_of(end)
        ));
        let statement = statement
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(ids)
            .bind::<Array<SqlUuid>, _>(links.iter().map(|link| link.id).collect::<Vec<_>>());
        Prepared(statement).execute(tx.conn()).await?;
        Ok(())
    }

    /// Inserts the missing links whose ends exist, and returns the ends that do not.
    async fn insert(&self, tx: &mut Tx<'_>, links: &[Link]) -> Result<Vec<String>> {
        let Self {
            table,
            column,
            parties,
            party,
            ..
        } = self;
        let (tenant, now) = (tx.tenant(), tx.now());
        let statement = sql_query(format!(
            "with wanted as ( \
                 select w.*, case when p.id is null then '{party}:' || w.party_id when d.id is null then '{DEAL}:' || w.deal_id end as gone \
                 from unnest($2, $3, $4, $5) as w (id, deal_id, party_id, created_at) \
                 left join {parties} p on p.tenant_id = $1 and p.id = w.party_id \
                 left join customers_deals d on d.tenant_id = $1 and d.id = w.deal_id \
             ), stored as ( \
                 insert into {table} (tenant_id, id, deal_id, {column}, created_at, updated_at) \
                 select $1, id, deal_id, party_id, created_at, $6 from wanted where gone is null \
                 on conflict (tenant_id, id) do nothing \
             ) \
             select distinct gone from wanted where gone is not null order by 1"
        ));
        let of = |pick: fn(&Link) -> Uuid| links.iter().map(pick).collect::<Vec<Uuid>>();
        let statement = statement
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(of(|link| link.id))
            .bind::<Array<SqlUuid>, _>(of(|link| link.deal_id))
            .bind::<Array<SqlUuid>, _>(of(|link| link.party_id))
            .bind::<Array<Timestamptz>, _>(links.iter().map(|link| link.created_at).collect::<Vec<_>>())
            .bind::<Timestamptz, _>(now);
        let gone: Vec<Deleted> = Prepared(statement).load(tx.conn()).await?;
        Ok(gone.into_iter().map(|one| one.gone).collect())
    }
}
