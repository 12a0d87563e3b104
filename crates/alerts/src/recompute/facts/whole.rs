//! All facts about subjects: five statements, sent in two round trips.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_calendar::Subject;
use backoffice_core::Result;
use backoffice_core::db::Prepared;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join4;
use uuid::Uuid;

use super::rows::{AlertRow, AssignmentRow, SiteRow, SubjectRow, WindowRow};
use super::statements::{self, about, with_ids};
use super::{SubjectWithFacts, Subjects};
use crate::engine::SiteDays;
use crate::recompute::Moment;

impl SubjectWithFacts {
    /// Reads everything about these subjects.
    pub(in crate::recompute) async fn read(
        connection: &AsyncPgConnection,
        moment: Moment<'_>,
        subjects: &[Subject],
    ) -> Result<Vec<Self>> {
        let statement = |text| Prepared(about(text, moment, subjects));
        let (rows, assignments, windows, alerts) = try_join4(
            statement(statements::SUBJECTS).load::<SubjectRow>(&mut &*connection),
            statement(statements::ASSIGNMENTS).load::<AssignmentRow>(&mut &*connection),
            statement(statements::WINDOWS).load::<WindowRow>(&mut &*connection),
            statement(statements::ALERTS).load::<AlertRow>(&mut &*connection),
        )
        .await?;
        let sites: BTreeSet<Uuid> = assignments.iter().map(|row| row.job_site_id).collect();
        let sites: Vec<SiteRow> = with_ids(statements::SITES, moment.tenant, Vec::from_iter(sites))
            .load(&mut &*connection)
            .await?;
        let sites: BTreeMap<Uuid, SiteDays> = sites.iter().map(|row| (row.id, row.days.days())).collect();
        let mut read = Subjects::new(moment, subjects, rows)?;
        for row in assignments {
            let (one, zone) = read.with_zone(row.number)?;
            if let Some(days) = sites.get(&row.job_site_id) {
                one.facts.sites.insert(row.job_site_id, *days);
            }
            one.facts.assignments.push(row.live_in(&zone));
        }
        for row in windows {
            read.numbered(row.number)?.facts.windows.push(row.interval());
        }
        read.add_alerts(alerts)?;
        Ok(read.all)
    }
}
