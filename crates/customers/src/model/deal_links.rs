//! Links of deals as a company or a person takes them along when it goes, and brings them back.

use backoffice_core::db::{Prepared, Tx};
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::DEAL;

/// A table of links, seen from the side that deals link to.
#[derive(Debug, Clone, Copy)]
pub struct DealLinks {
    /// Kind of its rows in images.
    pub kind: &'static str,
    /// Its name.
    pub table: &'static str,
    /// The column of this side.
    pub column: &'static str,
    /// The same in images.
    pub member: &'static str,
}

/// A link of a deal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, QueryableByName)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DealLink {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) deal_id: Uuid,
    #[serde(alias = "companyId", alias = "personId")]
    #[diesel(sql_type = SqlUuid)]
    party_id: Uuid,
    #[diesel(sql_type = Timestamptz)]
    created_at: Timestamp,
}

#[derive(QueryableByName)]
struct Gone {
    #[diesel(sql_type = SqlUuid)]
    deal_id: Uuid,
}

impl DealLinks {
    /// The links to these, by id.
    pub(super) async fn load(&self, tx: &mut Tx<'_>, parties: &[Uuid]) -> Result<Vec<DealLink>> {
        let Self { table, column, .. } = self;
        let tenant = tx.tenant();
        let statement = sql_query(format!(
            "select id, deal_id, {column} as party_id, created_at from {table}
            where tenant_id = $1 and {column} = any($2) order by id"
        ));
        let statement = statement.bind::<SqlUuid, _>(tenant).bind::<Array<SqlUuid>, _>(parties);
        Ok(Prepared(statement).load(tx.conn()).await?)
    }

    /// The images of the links to one of them.
    pub(super) fn images(&self, links: &[DealLink], party: Uuid) -> Vec<Value> {
        let own = links.iter().filter(|link| link.party_id == party);
        own.map(|link| {
            json!({"id": link.id, "dealId": link.deal_id, self.member: link.party_id, "createdAt": link.created_at})
        })
        .collect()
    }

    /// Makes the links to these exactly the given ones, ids and all, but for those of deals that are gone; names these deals.
    pub(super) async fn replace(&self, tx: &mut Tx<'_>, parties: &[Uuid], links: &[DealLink]) -> Result<Vec<String>> {
        let Self { table, column, .. } = self;
        let (tenant, now) = (tx.tenant(), tx.now());
        let statement = sql_query(format!(
            "with wanted as (
                select w.*, d.id is null as is_gone
                from unnest($2, $3, $4, $5) as w (id, deal_id, party_id, created_at)
                left join customers_deals d on d.tenant_id = $1 and d.id = w.deal_id
            ), surplus as (
                delete from {table} where tenant_id = $1 and {column} = any($6) and id <> all($2)
            ), stored as (
                insert into {table} (tenant_id, id, deal_id, {column}, created_at, updated_at)
                select $1, id, deal_id, party_id, created_at, $7 from wanted where not is_gone
                on conflict do nothing
            )
            select deal_id from wanted where is_gone order by deal_id"
        ));
        let column_of = |pick: fn(&DealLink) -> Uuid| links.iter().map(pick).collect::<Vec<Uuid>>();
        let statement = statement
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(column_of(|link| link.id))
            .bind::<Array<SqlUuid>, _>(column_of(|link| link.deal_id))
            .bind::<Array<SqlUuid>, _>(column_of(|link| link.party_id))
            .bind::<Array<Timestamptz>, _>(links.iter().map(|link| link.created_at).collect::<Vec<_>>())
            .bind::<Array<SqlUuid>, _>(parties)
            .bind::<Timestamptz, _>(now);
        let gone: Vec<Gone> = Prepared(statement).load(tx.conn()).await?;
        Ok(gone.into_iter().map(|one| format!("{DEAL}:{}", one.deal_id)).collect())
    }
}
