//! The records that this module offers to others: files may be attached to them.

use backoffice_core::records::{FoundRecord, RecordKind};
use backoffice_core::registry::Registry;
use backoffice_core::{Result, Scope};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::model::{COMPANY, DEAL, PERSON};
use crate::schema::{customers_companies as companies, customers_deals as deals, customers_people as people};
use crate::{acl, query};

pub(crate) fn register(registry: &mut Registry) {
    registry.extend(DEALS).extend(COMPANIES).extend(PEOPLE);
}

const DEALS: RecordKind = RecordKind {
    kind: DEAL,
    title: "Deal",
    view: &[acl::DEALS_VIEW],
    manage: &[acl::DEALS_MANAGE],
    find: find_deals,
};

const COMPANIES: RecordKind = RecordKind {
    kind: COMPANY,
    title: "Company",
    view: &[acl::COMPANIES_VIEW],
    manage: &[acl::COMPANIES_MANAGE],
    find: find_companies,
};

const PEOPLE: RecordKind = RecordKind {
    kind: PERSON,
    title: "Person",
    view: &[acl::PEOPLE_VIEW],
    manage: &[acl::PEOPLE_MANAGE],
    find: find_people,
};

/// Id, organization and label of a record.
type Row = (Uuid, Uuid, String);

fn found(rows: Vec<Row>) -> Vec<FoundRecord> {
    let record = |(id, organization, label)| FoundRecord {
        id,
        organization,
        label,
    };
    rows.into_iter().map(record).collect()
}

fn find_deals<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::deals::in_scope(scope).filter(deals::id.eq_any(ids));
        let rows = visible.select((deals::id, deals::organization_id, deals::title));
        Ok(found(rows.load::<Row>(&mut &*connection).await?))
    })
}

fn find_companies<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::companies::in_scope(scope).filter(companies::id.eq_any(ids));
        let rows = visible.select((companies::id, companies::organization_id, companies::display_name));
        Ok(found(rows.load::<Row>(&mut &*connection).await?))
    })
}

fn find_people<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::people::in_scope(scope).filter(people::id.eq_any(ids));
        let rows = visible.select((people::id, people::organization_id, people::display_name));
        Ok(found(rows.load::<Row>(&mut &*connection).await?))
    })
}
