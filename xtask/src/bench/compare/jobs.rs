//! The bulk job of the comparison; `bench bulk` measures more of it.

use std::time::Duration;

use super::super::bulk::{BETWEEN_LOOKS, Job};
use super::super::database::PASSWORD;
use super::super::load::Round;
use super::Bench;
use super::reference;
use super::report::{Line, Measured, Sample, failed};
use super::running::Running;
use super::site::Site;
use super::verdict::Target;
use crate::Result;
use crate::process::say;

/// Maximum number of deals of the job.
const DEALS: u32 = 1000;
/// Deals of a transaction of the reference.
const CHUNK: f64 = 100.0;
const TITLE: &str = "bulk job, deals";

impl Bench<'_> {
    /// Measures the rate at which a job changes deals, and that of one client that does the same in transactions.
    pub(super) fn bulk_job(&self, running: &mut Running<'_, '_>, site: &Site) -> Line {
        say(&format!("{TITLE}, {} rows ...", site.rows));
        let measured = self.job(running, site);
        Line {
            title: TITLE,
            rows: site.rows,
            beside: reference::BULK_JOB.name,
            target: Target::None,
            result: measured.map_err(|error| failed(TITLE, &*error)),
        }
    }

    fn job(&self, running: &mut Running<'_, '_>, site: &Site) -> Result<Measured> {
        let server = running.get()?;
        let count = site.rows.min(DEALS);
        let chosen = format!(
            "select id from customers_deals where tenant_id = '{}' order by id limit {count}",
            site.tenant
        );
        let ids = self
            .database
            .text(&format!("select string_agg(id::text, ',') from ({chosen}) d"))?;
        let ids: Vec<uuid::Uuid> = ids.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
        let token = server.log_in(&site.email, PASSWORD)?;
        let mut measured = Measured::default();
        for _ in 0..self.options.rounds() {
            // The reference has changed owners of the round before, and a job skips deals that have the owner already.
            self.database.execute(&format!(
                "update customers_deals set owner_user_id = null where owner_user_id is not null and id in ({chosen})"
            ))?;
            let mut job = Job::new(server.api(), token.clone(), site.user.to_string());
            let before = self.meter.read(Some(server))?;
            let rate = job.run(&ids, BETWEEN_LOOKS)?.rate(self.database)?;
            let cost = self.meter.read(Some(server))?.since(before, f64::from(count));
            let round = Round {
                requests: count,
                per_second: rate,
                p50: Duration::ZERO,
                p99: Duration::ZERO,
            };
            measured.served.push((round, cost));
            let Sample { rate, cost } = self.bare(reference::BULK_JOB, site, 1)?;
            measured.beside.push(Sample {
                rate: rate * CHUNK,
                cost: cost.divided(CHUNK),
            });
        }
        Ok(measured)
    }
}
