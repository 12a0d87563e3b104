//! Series: rules that create windows.

use std::collections::{BTreeSet, HashMap};

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Prepared, Recurring, ReplaceRow};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, Insertable, JoinOnDsl, NullableExpressionMethods, QueryDsl, Queryable,
    Selectable, SelectableHelper, delete, insert_into, sql_query,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use uuid::Uuid;

use super::window::derive_all;
use super::{SERIES, WINDOW, Window};
use crate::changed::Changed;
use crate::day::Day;
use crate::plan::Plan;
use crate::recurrence::Rule;
use crate::schema::{calendar_series as series, calendar_windows as windows};
use crate::subject::{ResourceType, Subject};
use crate::{acl, query};

/// A series: a row of `calendar_series`. Its windows from `effective_from` on follow from it, apart from exceptions.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = series, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarSeries)]
pub struct SeriesRow {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// Type of the resource.
    pub resource_type: ResourceType,
    /// The resource.
    pub resource_id: Uuid,
    /// First day of the first occurrence.
    pub start_date: Day,
    /// Day after the last one of the first occurrence.
    pub end_date_exclusive: Day,
    /// The `startDate` that a client named, if an update with another rule has moved it since; otherwise absent.
    // Log entries of earlier releases have snapshots without it, which must stay equal to the present ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub named_start_date: Option<Day>,
    /// The recurrence rule (RFC 5545).
    pub rrule: String,
    /// Last day on which an occurrence starts; null without an end.
    pub ends_on: Option<Day>,
    /// Days without an occurrence: those of deleted windows.
    pub exdates: Vec<Day>,
    /// First day of the occurrences that follow the present rule; earlier windows stay as they were.
    pub effective_from: Day,
    /// Code of the reason: one of the dictionary of reasons.
    pub reason_code: String,
    /// At most 500 characters.
    pub note: Option<String>,
    /// Day up to which windows exist; 2199-12-31 if the rule has no further occurrences.
    pub created_until: Day,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl SeriesRow {
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            resource_type: self.resource_type,
            resource_id: self.resource_id,
            start_date: self.start_date,
            end_date_exclusive: self.end_date_exclusive,
            reason_code: self.reason_code.clone(),
            note: self.note.clone(),
        }
    }

    /// Takes over how far the platform has extended the stored series since this row was written. The last day of all says that the stored rule has no further
    /// occurrences, and nothing about another rule.
    fn keep_extension(&mut self, stored: &Self) {
        let has_same_rule =
            (&self.rrule, self.start_date, self.ends_on) == (&stored.rrule, stored.start_date, stored.ends_on);
        if has_same_rule || stored.created_until < Day::LAST {
            self.created_until = self.created_until.max(stored.created_until);
        }
    }

    pub(crate) fn set_plan(&mut self, plan: Plan) {
        self.resource_type = plan.resource_type;
        self.resource_id = plan.resource_id;
        self.start_date = plan.start_date;
        self.end_date_exclusive = plan.end_date_exclusive;
        self.reason_code = plan.reason_code;
        self.note = plan.note;
    }

    /// Returns the resource in its organization.
    #[must_use]
    pub fn subject(&self) -> Subject {
        Subject {
            organization: self.organization_id,
            resource_type: self.resource_type,
            id: self.resource_id,
        }
    }

    /// Returns the days from `effective_from` to `last` on which occurrences start, at most `most`, and whether the rule has no further ones.
    pub(crate) fn occurrences(&self, last: Day, most: usize) -> (Vec<Day>, bool) {
        self.occurrences_from(self.effective_from, last, most)
    }

    /// Returns the days after `created` up to `last` on which occurrences start, at most `most`, and whether the rule has no further ones.
    pub(crate) fn occurrences_after(&self, created: Day, last: Day, most: usize) -> (Vec<Day>, bool) {
        let first = created.plus_days(1).unwrap_or(Day::LAST).max(self.effective_from);
        self.occurrences_from(first, last, most)
    }

    fn occurrences_from(&self, first: Day, last: Day, most: usize) -> (Vec<Day>, bool) {
        let until = self.ends_on.map_or(last, |end| end.min(last));
        // A rule counts from its first day; at most one occurrence starts on each day before `first`.
        let skipped = usize::try_from(first.days_since(self.start_date).max(0)).unwrap_or(0);
        let counted = most.saturating_add(self.exdates.len()).saturating_add(skipped);
        let found = Rule::from_stored(&self.rrule).occurrences(self.start_date, until, counted);
        let left_out: BTreeSet<Day> = self.exdates.iter().copied().collect();
        let days = found
            .days
            .into_iter()
            .filter(|day| *day >= first && !left_out.contains(day));
        let days: Vec<Day> = days.take(most).collect();
        (days, found.is_complete || self.ends_on.is_some_and(|end| end <= last))
    }

    /// Returns the window of an occurrence. Its id and its time of creation follow from the series and the day, so that it is the same row whenever it is
    /// created again.
    pub(crate) fn window(&self, day: Day, now: Timestamp) -> Option<Window> {
        let length = self.end_date_exclusive.days_since(self.start_date);
        Some(Window {
            tenant_id: self.tenant_id,
            id: id_of_occurrence(self.id, day),
            organization_id: self.organization_id,
            resource_type: self.resource_type,
            resource_id: self.resource_id,
            start_date: day,
            end_date_exclusive: day.plus_days(length)?,
            start_at: now,
            end_at: now,
            reason_code: self.reason_code.clone(),
            note: self.note.clone(),
            series_id: Some(self.id),
            series_date: Some(day),
            is_exception: false,
            created_at: self.created_at,
            updated_at: now,
        })
    }
}

/// Returns a UUID of version 7 with the time of the series' id.
fn id_of_occurrence(series: Uuid, day: Day) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(series.as_bytes());
    hash.update(day.to_string());
    let digest: [u8; 32] = hash.finalize().into();
    let mut bytes = *series.as_bytes();
    for (byte, random) in bytes.iter_mut().zip(digest).skip(6) {
        *byte = random;
    }
    bytes[6] = bytes[6] & 0x0f | 0x70;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Uuid::from_bytes(bytes)
}

/// A window of a series that does not follow from its present rule: a client has changed it individually, or an earlier rule has created it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeriesException {
    /// The id.
    pub id: Uuid,
    /// The day for which the series created it.
    pub series_date: Day,
    /// Type of the resource.
    pub resource_type: ResourceType,
    /// The resource.
    pub resource_id: Uuid,
    /// First day.
    pub start_date: Day,
    /// Day after the last one.
    pub end_date_exclusive: Day,
    /// Code of the reason.
    pub reason_code: String,
    /// The note.
    pub note: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Whether an earlier rule has created it, and no client has changed it individually.
    // Absent from the snapshots of earlier releases, in which these windows were exceptions too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_earlier: bool,
}

impl SeriesException {
    fn from_window(window: Window) -> Option<(Uuid, Self)> {
        let exception = Self {
            id: window.id,
            series_date: window.series_date?,
            resource_type: window.resource_type,
            resource_id: window.resource_id,
            start_date: window.start_date,
            end_date_exclusive: window.end_date_exclusive,
            reason_code: window.reason_code,
            note: window.note,
            created_at: window.created_at,
            is_earlier: !window.is_exception,
        };
        Some((window.series_id?, exception))
    }

    fn window(&self, row: &SeriesRow, now: Timestamp) -> Window {
        Window {
            tenant_id: row.tenant_id,
            id: self.id,
            organization_id: row.organization_id,
            resource_type: self.resource_type,
            resource_id: self.resource_id,
            start_date: self.start_date,
            end_date_exclusive: self.end_date_exclusive,
            start_at: now,
            end_at: now,
            reason_code: self.reason_code.clone(),
            note: self.note.clone(),
            series_id: Some(row.id),
            series_date: Some(self.series_date),
            is_exception: !self.is_earlier,
            created_at: self.created_at,
            updated_at: now,
        }
    }
}

/// A series with its exceptions, the entity `calendar.series`. Snapshots hold the rule and the windows that do not follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// The row.
    #[serde(flatten)]
    pub row: SeriesRow,
    /// The windows that do not follow from the rule, by the days for which they were created.
    pub exceptions: Vec<SeriesException>,
}

impl Series {
    /// Returns the resources of the series and of its exceptions.
    fn subjects(&self) -> impl Iterator<Item = Subject> {
        let organization = self.row.organization_id;
        let others = self.exceptions.iter().map(move |exception| Subject {
            organization,
            resource_type: exception.resource_type,
            id: exception.resource_id,
        });
        std::iter::once(self.row.subject()).chain(others)
    }
}

/// See the lock of windows.
const LOCK_ZONES: &str = "select pg_advisory_xact_lock_shared(calendar_zone_lock(s.tenant_id, s.organization_id)) from ( \
    select distinct tenant_id, organization_id from calendar_series where tenant_id = $1 and id = any(array(select unnest($2::uuid[]))) order by 1, 2) s";

impl Entity for Series {
    const KIND: &'static str = SERIES;
    const VOLATILE: &'static [&'static str] = &["createdUntil", "updatedAt"];
    const NOT_FOUND: &'static str = "Series not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let zones = sql_query(LOCK_ZONES)
            .bind::<SqlUuid, _>(locker.tenant())
            .bind::<Array<SqlUuid>, _>(ids);
        let visible = query::series::in_scope(locker.scope()).filter(series::id.one_of(ids));
        let rows = visible
            .order(series::id)
            .select((series::id, series::tenant_id))
            .for_update();
        let mut connections = (locker.connection(), locker.connection());
        let (_locked, rows) = try_join(
            Prepared(zones).execute(&mut connections.0),
            rows.load(&mut connections.1),
        )
        .await?;
        Ok(rows)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = read_series(tx, ids).await?;
        rows.iter().map(|one| Ok((one.row.id, Snapshot::of(one)?))).collect()
    }

    /// Restores the windows of a live series as far as the platform has created them since.
    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        let ids: Vec<Uuid> = rows.iter().map(|one| one.row.id).collect();
        let stored = read_rows(tx, &ids).await?;
        for one in &mut rows {
            one.row.updated_at = tx.now();
            if let Some(stored) = stored.iter().find(|stored| stored.id == one.row.id) {
                one.row.keep_extension(stored);
            }
        }
        write_rows(tx, rows.iter().map(|one| one.row.clone()).collect()).await?;
        let old = windows::table.filter(windows::tenant_id.eq(tx.tenant()));
        delete(old.filter(windows::series_id.one_of(&ids)))
            .execute(tx.conn())
            .await?;
        let mut all: Vec<Window> = Vec::new();
        for one in &rows {
            let kept: BTreeSet<Day> = one.exceptions.iter().map(|exception| exception.series_date).collect();
            all.extend(
                one.exceptions
                    .iter()
                    .map(|exception| exception.window(&one.row, tx.now())),
            );
            let (days, _) = one.row.occurrences(one.row.created_until, usize::MAX);
            let days = days.into_iter().filter(|day| !kept.contains(day));
            all.extend(days.filter_map(|day| one.row.window(day, tx.now())));
        }
        add_windows(tx, all).await?;
        Ok(Vec::new())
    }

    /// Deletes series with their windows.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = series::table.filter(series::tenant_id.eq(tx.tenant()));
        delete(rows.filter(series::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        for snapshot in [step.from, step.to].into_iter().flatten() {
            let one: Self = snapshot.row()?;
            for subject in one.subjects() {
                tx.defer(Changed::Subject(subject));
            }
        }
        tx.changed(WINDOW);
        Ok(())
    }
}

/// Reads rows of the transaction's tenant, by id.
async fn read_rows(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<SeriesRow>> {
    Ok(series::table
        .filter(series::tenant_id.eq(tx.tenant()))
        .filter(series::id.one_of(ids))
        .order(series::id)
        .select(SeriesRow::as_select())
        .load(tx.conn())
        .await?)
}

/// Reads series of the transaction's tenant with the windows that do not follow from their rules: two statements.
pub(crate) async fn read_series(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Series>> {
    let tenant = tx.tenant();
    let rows = read_rows(tx, ids).await?;
    let of_series = series::tenant_id
        .eq(windows::tenant_id)
        .and(series::id.nullable().eq(windows::series_id));
    let is_earlier = windows::series_date.lt(series::effective_from.nullable());
    let exceptions: Vec<Window> = windows::table
        .inner_join(series::table.on(of_series))
        .filter(windows::tenant_id.eq(tenant))
        .filter(windows::series_id.one_of(ids))
        .filter(windows::is_exception.or(is_earlier))
        .order((windows::series_id, windows::series_date))
        .select(Window::as_select())
        .load(tx.conn())
        .await?;
    let mut by_series: HashMap<Uuid, Vec<SeriesException>> = HashMap::new();
    for (id, exception) in exceptions.into_iter().filter_map(SeriesException::from_window) {
        by_series.entry(id).or_default().push(exception);
    }
    let complete = |row: SeriesRow| Series {
        exceptions: by_series.remove(&row.id).unwrap_or_default(),
        row,
    };
    Ok(rows.into_iter().map(complete).collect())
}

/// Inserts series, or replaces the stored ones.
pub(crate) async fn write_rows(tx: &mut Tx<'_>, rows: Vec<SeriesRow>) -> Result<()> {
    insert_into(series::table)
        .values(&rows)
        .on_conflict((series::tenant_id, series::id))
        .do_update()
        .set(ReplaceRow::<series::table>::default())
        .prepared_if(rows.len() == 1)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Windows that one statement inserts: each has 16 values, and a statement at most 65,535.
const CHUNK: usize = 2000;

/// Inserts windows with the instants of their days. A day for which the series has a window is left out. Returns the number of new windows.
pub(crate) async fn add_windows(tx: &mut Tx<'_>, mut rows: Vec<Window>) -> Result<usize> {
    derive_all(tx, &mut rows).await?;
    insert_windows(tx.conn(), &rows).await
}

/// Inserts windows whose instants are derived, as [`add_windows`] does.
pub(crate) async fn insert_windows(connection: &mut AsyncPgConnection, rows: &[Window]) -> Result<usize> {
    let mut added = 0;
    for chunk in rows.chunks(CHUNK) {
        added += insert_into(windows::table)
            .values(chunk)
            .on_conflict((windows::tenant_id, windows::series_id, windows::series_date))
            .do_nothing()
            .prepared_if(chunk.len() == 1)
            .execute(&mut *connection)
            .await?;
    }
    Ok(added)
}
