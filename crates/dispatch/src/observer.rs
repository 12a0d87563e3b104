//! A new time zone of an organization moves its assignments that were given by dates.

use backoffice_calendar::{Changed, DatedTable, Day, Observer, lock_zones};
use backoffice_core::Result;
use backoffice_core::command::{Entity, Tx};
use backoffice_core::db::Prepared;
use diesel::sql_types::{Array, Date, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, sql_query};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::intervals;
use crate::model::Assignment;
use crate::schema::dispatch_assignments as assignments;

/// Derives the instants of assignments again.
pub(crate) const DERIVE_ASSIGNMENTS: Observer = Observer {
    id: "dispatch.derive_assignments",
    run: derive_all,
};

/// The assignments that were given by dates.
pub(crate) const DATED_ASSIGNMENTS: DatedTable = DatedTable {
    name: "dispatch_assignments",
    condition: "start_date is not null",
};

fn derive_all<'a>(tx: &'a mut Tx<'_>, changes: &'a [Changed]) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        for change in changes {
            if let Changed::WorkingCalendar { organization } = change {
                derive_in(tx, *organization).await?;
            }
        }
        Ok(())
    })
}

/// An assignment that moves to a later start is reminded of again.
const DERIVE: &str = "\
update dispatch_assignments a
set start_at = d.start_at, end_at = d.end_at,
    reminded_at = case when d.start_at > a.start_at then null else a.reminded_at end
from unnest($3, $4, $5, $6) as d (start_date, end_date_exclusive, start_at, end_at)
where a.tenant_id = $1 and a.organization_id = $2
    and a.start_date = d.start_date and a.end_date_exclusive = d.end_date_exclusive
    and (a.start_at, a.end_at) <> (d.start_at, d.end_at)";

/// Derives the instants of the organization's assignments from their dates: each pair of dates once, all rows with one statement. Days that do not
/// exist in the new zone keep their instants.
async fn derive_in(tx: &mut Tx<'_>, organization: Uuid) -> Result<()> {
    let tenant = tx.tenant();
    let dates: Vec<(Option<Day>, Option<Day>)> = assignments::table
        .filter(assignments::tenant_id.eq(tenant))
        .filter(assignments::organization_id.eq(organization))
        .filter(assignments::start_date.is_not_null())
        .select((assignments::start_date, assignments::end_date_exclusive))
        .distinct()
        .load(tx.conn())
        .await?;
    if dates.is_empty() {
        return Ok(());
    }
    let Some(zone) = lock_zones(tx, &[organization]).await?.remove(&organization) else {
        return Ok(());
    };
    let (mut firsts, mut ends, mut starts_at, mut ends_at) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (first, end) in dates.into_iter().filter_map(|(first, end)| first.zip(end)) {
        let Some((start_at, end_at)) = intervals::of_days(&zone, (first, end)) else {
            continue;
        };
        firsts.push(first);
        ends.push(end);
        starts_at.push(start_at);
        ends_at.push(end_at);
    }
    let statement = sql_query(DERIVE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(organization)
        .bind::<Array<Date>, _>(firsts)
        .bind::<Array<Date>, _>(ends)
        .bind::<Array<Timestamptz>, _>(starts_at)
        .bind::<Array<Timestamptz>, _>(ends_at);
    if Prepared(statement).execute(tx.conn()).await? > 0 {
        tx.changed(Assignment::KIND);
    }
    Ok(())
}
