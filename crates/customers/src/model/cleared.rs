//! References of people to a company: its deletion clears them, restoring it sets them again.

use backoffice_core::Result;
use backoffice_core::command::{LINKS, Snapshot, Tx};
use backoffice_core::db::{KeyColumn, Prepared};
use diesel::sql_types::{Array, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::PERSON;
use crate::schema::customers_people as people;

/// A reference held by another row, cleared when the row that it names is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearedReference {
    /// Kind of the row that holds the reference.
    pub kind: String,
    /// Id of that row.
    pub id: Uuid,
    /// The field of that row.
    pub field: String,
    /// The value of the field before the deletion.
    pub value: Uuid,
}

impl ClearedReference {
    /// Reads the references of a snapshot; empty if the snapshot does not contain them.
    pub(super) fn of(snapshot: &Snapshot) -> Result<Vec<Self>> {
        match snapshot.get(LINKS) {
            Some(links) => Ok(serde_json::from_value(links.clone())?),
            None => Ok(Vec::new()),
        }
    }
}

/// Returns the references of people to these companies. Locks the people until the end of the transaction, so that the snapshot shows exactly what
/// is cleared.
pub(super) async fn people_of(tx: &mut Tx<'_>, companies: &[Uuid]) -> Result<Vec<ClearedReference>> {
    let tenant = tx.tenant();
    let found: Vec<(Uuid, Option<Uuid>)> = people::table
        .filter(people::tenant_id.eq(tenant))
        .filter(people::company_id.one_of(companies))
        .order(people::id)
        .select((people::id, people::company_id))
        .for_no_key_update()
        .load(tx.conn())
        .await?;
    let reference = |(id, company): (Uuid, Option<Uuid>)| {
        Some(ClearedReference {
            kind: PERSON.to_owned(),
            id,
            field: "companyId".to_owned(),
            value: company?,
        })
    };
    Ok(found.into_iter().filter_map(reference).collect())
}

/// The foreign key would clear the references too, but would not change the people's `updated_at`.
const CLEAR: &str = "\
update customers_people set company_id = null, updated_at = greatest($3, updated_at + interval '1 millisecond')
where tenant_id = $1 and company_id = any(array(select unnest($2::uuid[])))";

/// Clears the company of all people of these companies.
pub(super) async fn clear(tx: &mut Tx<'_>, companies: &[Uuid]) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let statement = sql_query(CLEAR)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(companies)
        .bind::<Timestamptz, _>(now);
    Prepared(statement).execute(tx.conn()).await?;
    Ok(())
}

/// Sets the company of people who have none. Returns the other people, who were deleted or belong to another company by now; they stay unchanged.
const SET_AGAIN: &str = "\
with wanted as (
    select * from unnest($2, $3) as w (id, company_id)
), moved as (
    update customers_people p
    set company_id = w.company_id, updated_at = greatest($4, p.updated_at + interval '1 millisecond')
    from wanted w
    where p.tenant_id = $1 and p.id = w.id and p.company_id is null
    returning p.id
)
select w.id from wanted w
where w.id not in (select id from moved) and not exists (
    select from customers_people p where p.tenant_id = $1 and p.id = w.id and p.company_id = w.company_id)
order by w.id";

#[derive(QueryableByName)]
struct LeftOut {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// Assigns people to their restored companies again, and returns the people who are left out.
pub(super) async fn set_again(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
    let (mut ids, mut companies) = (Vec::new(), Vec::new());
    for snapshot in snapshots {
        for reference in ClearedReference::of(snapshot)? {
            ids.push(reference.id);
            companies.push(reference.value);
        }
    }
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (tenant, now) = (tx.tenant(), tx.now());
    let statement = sql_query(SET_AGAIN)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<SqlUuid>, _>(companies)
        .bind::<Timestamptz, _>(now);
    let left_out: Vec<LeftOut> = Prepared(statement).load(tx.conn()).await?;
    Ok(left_out.into_iter().map(|one| format!("{PERSON}:{}", one.id)).collect())
}
