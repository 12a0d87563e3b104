//! The lines of the report: the server and a reference in turns.

use std::time::Duration;

use super::super::database::{APPLICATION, PASSWORD};
use super::super::load::{Load, run};
use super::super::pgbench::Run;
use super::Bench;
use super::reference::Reference;
use super::report::{Line, Measured, Sample, Unmeasured, failed};
use super::running::Running;
use super::site::{self, Site};
use super::subjects::Subject;
use super::work::{Callers, Prepared, Work};
use crate::Result;
use crate::process::say;

/// The time of requests that are not counted, after which caches are filled and statements prepared.
pub(super) const WARM_UP: Duration = Duration::from_millis(300);
/// Changes that a client prepares for each second of a round in which it takes them back.
const PREPARED: u64 = 60;
/// Rows that the reference of a deletion can delete, for each client and second.
const SPARE: u64 = 800;

impl Bench<'_> {
    /// Measures a subject. With several accounts every client uses another one.
    pub(super) fn line(
        &self,
        running: &mut Running<'_, '_>,
        subject: &Subject,
        site: &Site,
        accounts: &[String],
    ) -> Line {
        say(&format!("{}, {} rows ...", subject.title, site.rows));
        let measured = self.compared(running, subject, site, accounts);
        Line {
            title: subject.title,
            rows: site.rows,
            beside: subject.beside.name,
            target: subject.target,
            result: measured.unwrap_or_else(|error| Err(failed(subject.title, &*error))),
        }
    }

    fn compared(
        &self,
        running: &mut Running<'_, '_>,
        subject: &Subject,
        site: &Site,
        accounts: &[String],
    ) -> Result<std::result::Result<Measured, Unmeasured>> {
        let server = running.get()?;
        let count = subject.clients.unwrap_or(self.options.clients);
        let sign_in = |email: &String| server.log_in(email, PASSWORD);
        let tokens = accounts.iter().map(sign_in).collect::<Result<Vec<_>>>()?;
        let callers = Callers {
            host: server.api(),
            tokens: &tokens,
        };
        let seconds = self.options.seconds();
        let mut measured = Measured::default();
        if subject.work.is_write() {
            site::vacuum(self.database)?;
        }
        for round in 0..=self.options.rounds() {
            let is_warm_up = round == 0;
            if is_warm_up && subject.work.is_prepared() {
                continue;
            }
            let prepared = subject.work.prepare(callers, site, count, seconds * PREPARED)?;
            let (clients, expected) = match prepared {
                Prepared::Requests(clients, expected) => (clients, expected),
                Prepared::Missing(what) => return Ok(Err(Unmeasured::Missing(what))),
            };
            let load = |duration| Load {
                clients,
                duration,
                expected,
            };
            if is_warm_up {
                run(callers.host, load(WARM_UP))?;
                continue;
            }
            let before = self.meter.read(Some(server))?;
            let round = run(callers.host, load(Duration::from_secs(seconds)))?;
            let cost = self.meter.read(Some(server))?.since(before, f64::from(round.requests));
            measured.served.push((round, cost));
            measured.beside.push(match subject.work {
                Work::Delete => self.deletions(subject.beside, site, count)?,
                _ => self.bare(subject.beside, site, count)?,
            });
        }
        Ok(Ok(measured))
    }

    /// Runs a reference for one round.
    pub(super) fn bare(&self, reference: Reference, site: &Site, clients: u32) -> Result<Sample> {
        let seconds = self.options.seconds();
        let run = Run {
            postgres: self.postgres,
            role: APPLICATION,
            tenant: site.tenant,
            clients,
            seconds,
        };
        let script = reference.write(&self.work.join("reference"))?;
        let before = self.meter.read(None)?;
        let rate = run.rate(&script, &site.variables())?;
        let transactions = rate * Duration::from_secs(seconds).as_secs_f64();
        let cost = self.meter.read(None)?.since(before, transactions);
        Ok(Sample { rate, cost })
    }

    /// Runs the reference of a deletion, which needs rows to delete.
    fn deletions(&self, reference: Reference, site: &Site, clients: u32) -> Result<Sample> {
        site::create_spare_roles(self.database, site, clients, self.options.seconds() * SPARE)?;
        let sample = self.bare(reference, site, clients)?;
        match site::spare_roles(self.database, site)? {
            0 => Err("the reference ran out of rows to delete".into()),
            _ => Ok(sample),
        }
    }

    /// Measures a limit of the machine.
    pub(super) fn limit(&self, limit: Reference, site: &Site) -> std::result::Result<Vec<Sample>, String> {
        let rounds = 0..self.options.rounds();
        let samples: Result<Vec<_>> = rounds.map(|_| self.bare(limit, site, self.options.clients)).collect();
        samples.map_err(|error| error.to_string())
    }
}
