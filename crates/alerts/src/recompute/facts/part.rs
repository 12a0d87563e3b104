//! The facts about changed assignments and windows only, so that the cost of a change does not depend on the number of assignments of its subject:
//! two or three statements in one round trip where nothing is in conflict, and at most seven in three.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_calendar::Subject;
use backoffice_core::db::Prepared;
use backoffice_core::{Result, Timestamp};
use diesel::pg::Pg;
use diesel::sql_types::{Array, BigInt, Bool, Integer, Text, Timestamptz};
use diesel::{QueryResult, QueryableByName};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join3;
use uuid::Uuid;

use super::rows::{AlertRow, AssignmentRow, ChangedRow, ClosedSiteRow, GroupRow, MetWindowRow, SubjectRow};
use super::statements::{self, Statement, about, with_pairs};
use super::{SubjectWithFacts, Subjects};
use crate::engine::Part;
use crate::kinds::{Kind, OVERLAP};
use crate::recompute::Moment;

/// How often the interval of a group is widened by the assignments that meet it. A subject with a longer chain of overlaps is read as a whole.
const MOST_STEPS: i32 = 16;

/// What has changed about a subject.
#[derive(Debug, Clone, Default)]
pub(in crate::recompute) struct ChangedPart {
    pub(in crate::recompute) assignments: BTreeSet<Uuid>,
    /// Those that alerts may contain already.
    known: BTreeSet<Uuid>,
    pub(in crate::recompute) windows: BTreeSet<Uuid>,
}

impl ChangedPart {
    pub(in crate::recompute) fn add_assignment(&mut self, id: Uuid, is_new: bool) {
        self.assignments.insert(id);
        if !is_new {
            self.known.insert(id);
        }
    }
}

/// An id that belongs to a subject, which has this number.
type Numbered = (i64, Uuid);

/// What the changed assignments and their alerts lead to.
#[derive(Debug, Default)]
struct Concerned {
    intervals: Vec<(i64, Timestamp, Timestamp)>,
    windows: BTreeSet<Numbered>,
    sites: BTreeSet<Numbered>,
}

/// The rows about changed assignments.
struct Found {
    changed: Vec<ChangedRow>,
    groups: Vec<GroupRow>,
    windows: Vec<MetWindowRow>,
    sites: Vec<ClosedSiteRow>,
}

impl SubjectWithFacts {
    /// Reads what the changes of these subjects concern. Returns the subjects that must be read as a whole besides.
    pub(in crate::recompute) async fn read_parts(
        connection: &AsyncPgConnection,
        moment: Moment<'_>,
        parts: &[(Subject, ChangedPart)],
    ) -> Result<(Vec<Self>, Vec<Subject>)> {
        let subjects: Vec<Subject> = parts.iter().map(|(subject, _)| *subject).collect();
        let statement = |text| about(text, moment, &subjects);
        let assignments = pairs(parts, |part| &part.assignments);
        let changed_windows = pairs(parts, |part| &part.windows);
        let of_windows = changed_windows.iter().map(|pair| (*pair, Kind::SubjectUnavailable));
        let known = pairs(parts, |part| &part.known);
        let (rows, changed, alerts) = try_join3(
            Prepared(statement(statements::SUBJECTS)).load::<SubjectRow>(&mut &*connection),
            load_about::<ChangedRow>(connection, statement(statements::CHANGED), &assignments),
            alerts_about(
                connection,
                statement(statements::ALERTS_ABOUT),
                &known,
                false,
                of_windows.collect(),
            ),
        )
        .await?;
        let mut read = Subjects::new(moment, &subjects, rows)?;
        let mut concerned = Concerned::new(moment, parts, &alerts);
        concerned.windows.extend(changed_windows);
        for row in &changed {
            concerned.add(row, &mut read)?;
        }

        let windows = Vec::from_iter(concerned.windows);
        let sites = Vec::from_iter(concerned.sites);
        let (groups, windows, sites) = try_join3(
            groups(connection, statement(statements::GROUPS), concerned.intervals),
            load_about::<MetWindowRow>(connection, statement(statements::MET_WINDOWS), &windows),
            load_about::<ClosedSiteRow>(connection, statement(statements::CLOSED_SITES), &sites),
        )
        .await?;
        let found = Found {
            changed,
            groups,
            windows,
            sites,
        };
        let further = found
            .further_alerts(connection, statement(statements::ALERTS_ABOUT))
            .await?;
        let known: BTreeSet<Uuid> = alerts.iter().map(|row| row.id).collect();
        read.add_alerts(alerts)?;
        read.add_alerts(further.into_iter().filter(|row| !known.contains(&row.id)).collect())?;
        found.fill(read, parts)
    }
}

/// Returns the ids of each subject with its number.
fn pairs(parts: &[(Subject, ChangedPart)], ids: impl Fn(&ChangedPart) -> &BTreeSet<Uuid>) -> Vec<Numbered> {
    let numbered = (1..).zip(parts);
    numbered
        .flat_map(|(number, (_, part))| ids(part).iter().map(move |id| (number, *id)))
        .collect()
}

/// Runs a statement about these ids, if there are any.
async fn load_about<R>(connection: &AsyncPgConnection, statement: Statement, pairs: &[Numbered]) -> QueryResult<Vec<R>>
where
    R: QueryableByName<Pg> + Send + 'static,
{
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    Prepared(with_pairs(statement, pairs)).load(&mut &*connection).await
}

/// Reads the alerts of these assignments and identities, if there are any.
async fn alerts_about(
    connection: &AsyncPgConnection,
    statement: Statement,
    assignments: &[Numbered],
    is_of_overlaps: bool,
    identities: Vec<(Numbered, Kind)>,
) -> QueryResult<Vec<AlertRow>> {
    if assignments.is_empty() && identities.is_empty() {
        return Ok(Vec::new());
    }
    let numbers: Vec<i64> = identities.iter().map(|((number, _), _)| *number).collect();
    let families: Vec<&'static str> = identities.iter().map(|(_, kind)| kind.family()).collect();
    let keys: Vec<String> = identities.iter().map(|((_, id), _)| id.to_string()).collect();
    let statement = with_pairs(statement, assignments)
        .bind::<Bool, _>(is_of_overlaps)
        .bind::<Array<BigInt>, _>(numbers)
        .bind::<Array<Text>, _>(families)
        .bind::<Array<Text>, _>(keys);
    Prepared(statement).load(&mut &*connection).await
}

async fn groups(
    connection: &AsyncPgConnection,
    statement: Statement,
    intervals: Vec<(i64, Timestamp, Timestamp)>,
) -> QueryResult<Vec<GroupRow>> {
    if intervals.is_empty() {
        return Ok(Vec::new());
    }
    let statement = statement
        .bind::<Array<BigInt>, _>(intervals.iter().map(|(number, _, _)| *number).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(intervals.iter().map(|(_, start_at, _)| *start_at).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(intervals.iter().map(|(_, _, end_at)| *end_at).collect::<Vec<_>>())
        .bind::<Integer, _>(MOST_STEPS);
    Prepared(statement).load(&mut &*connection).await
}

impl Concerned {
    /// Begins with the alerts that contain changed assignments: other assignments of a group may not overlap any more.
    fn new(moment: Moment<'_>, parts: &[(Subject, ChangedPart)], alerts: &[AlertRow]) -> Self {
        let mut concerned = Self::default();
        for row in alerts {
            let identity = row.identity_key.parse().ok().map(|id: Uuid| (row.number, id));
            match Kind::parse(&row.kind) {
                Some(kind) if kind.family() == OVERLAP => {
                    let index = usize::try_from(row.number - 1).unwrap_or(usize::MAX);
                    let changed = parts.get(index).map(|(_, part)| &part.assignments);
                    concerned.intervals.extend(row.others(changed, moment.now));
                }
                Some(Kind::SubjectUnavailable) => concerned.windows.extend(identity),
                Some(Kind::JobSiteClosed) => concerned.sites.extend(identity),
                _ => {}
            }
        }
        concerned
    }

    /// Adds what a changed assignment meets.
    fn add(&mut self, row: &ChangedRow, read: &mut Subjects) -> Result<()> {
        let number = row.assignment.number;
        if row.has_neighbours {
            self.intervals
                .push((number, row.assignment.start_at, row.assignment.end_at));
        }
        self.windows.extend(row.windows.iter().map(|id| (number, *id)));
        let (_, zone) = read.with_zone(number)?;
        let live = row.assignment.live_in(&zone);
        if row.site.days().excludes(live.first_day, live.last_day) {
            self.sites.insert((number, row.assignment.job_site_id));
        }
        Ok(())
    }
}

impl AlertRow {
    /// Returns the interval from the start of the first to the end of the last of its assignments that go on and have not changed.
    fn others(&self, changed: Option<&BTreeSet<Uuid>>, now: Timestamp) -> Option<(i64, Timestamp, Timestamp)> {
        let intervals = self.starts.iter().zip(&self.ends);
        let others = self.assignments.iter().zip(intervals);
        let others =
            others.filter(|(id, (_, end_at))| **end_at > now && !changed.is_some_and(|changed| changed.contains(*id)));
        others
            .map(|(_, (start_at, end_at))| (self.number, *start_at, *end_at))
            .reduce(|(number, start_at, end_at), (_, start, end)| (number, start_at.min(start), end_at.max(end)))
    }
}

impl Found {
    /// Reads the alerts of groups, windows and job sites that have been found, which need not contain a changed assignment.
    async fn further_alerts(&self, connection: &AsyncPgConnection, statement: Statement) -> Result<Vec<AlertRow>> {
        let assignments: Vec<Numbered> = self
            .groups
            .iter()
            .map(|row| (row.assignment.number, row.assignment.id))
            .collect();
        let windows = self.windows.iter().map(|row| (row.assignment.number, row.window_id));
        let sites = self.sites.iter().map(|row| (row.assignment.number, row.site_id));
        let identities: BTreeSet<(Numbered, Kind)> = windows
            .map(|pair| (pair, Kind::SubjectUnavailable))
            .chain(sites.map(|pair| (pair, Kind::JobSiteClosed)))
            .collect();
        Ok(alerts_about(connection, statement, &assignments, true, Vec::from_iter(identities)).await?)
    }

    /// Adds the facts to their subjects. Returns these, and the subjects that must be read as a whole: all assignments of an inactive resource
    /// are in conflict, and some groups are not complete.
    fn fill(
        self,
        mut read: Subjects,
        parts: &[(Subject, ChangedPart)],
    ) -> Result<(Vec<SubjectWithFacts>, Vec<Subject>)> {
        for (one, (_, part)) in read.all.iter_mut().zip(parts) {
            one.facts.part = Some(Part {
                assignments: part.assignments.clone(),
                ..Part::default()
            });
        }
        let mut assignments: BTreeMap<Numbered, AssignmentRow> = BTreeMap::new();
        let mut incomplete: BTreeSet<Subject> = BTreeSet::new();
        for row in &self.groups {
            let one = read.numbered(row.assignment.number)?;
            one.facts.part.get_or_insert_default().groups.insert(row.assignment.id);
            if !row.is_complete {
                incomplete.insert(one.subject);
            }
        }
        let mut windows = BTreeSet::new();
        for row in &self.windows {
            if windows.insert((row.assignment.number, row.window_id)) {
                let one = read.numbered(row.assignment.number)?;
                one.facts.windows.push(row.interval());
            }
        }
        for row in &self.sites {
            let one = read.numbered(row.assignment.number)?;
            one.facts.sites.insert(row.site_id, row.site.days());
            one.facts.part.get_or_insert_default().sites.insert(row.site_id);
        }
        let rows = self.changed.into_iter().map(|row| row.assignment);
        let rows = rows.chain(self.groups.into_iter().map(|row| row.assignment));
        let rows = rows.chain(self.windows.into_iter().map(|row| row.assignment));
        let rows = rows.chain(self.sites.into_iter().map(|row| row.assignment));
        assignments.extend(rows.map(|row| ((row.number, row.id), row)));
        for row in assignments.into_values() {
            let (one, zone) = read.with_zone(row.number)?;
            one.facts.assignments.push(row.live_in(&zone));
        }
        let (whole, complete): (Vec<_>, Vec<_>) = read
            .all
            .into_iter()
            .partition(|one| one.facts.is_inactive || incomplete.contains(&one.subject));
        Ok((complete, whole.into_iter().map(|one| one.subject).collect()))
    }
}
