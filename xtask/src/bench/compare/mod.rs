//! Every subject beside its reference and beside the limits of the machine, in tenants of several sizes.

mod jobs;
mod lines;
mod lists;
mod meter;
mod own;
mod reference;
mod report;
mod running;
mod site;
mod start;
mod subjects;
mod tables;
mod trips;
mod verdict;
mod work;

use std::path::Path;

use backoffice_local_postgres::LocalPostgres;

use super::Options;
use super::database::Database;
use crate::Result;
use crate::process::say;
use meter::Meter;
pub(super) use report::Report;
use running::Running;
use site::Site;
use subjects::{READS, Subject, UPDATE_OF_TENANTS, USUAL, WRITES};

/// What all measurements share.
struct Bench<'a> {
    postgres: &'a LocalPostgres,
    database: &'a Database,
    program: &'a Path,
    work: &'a Path,
    options: &'a Options,
    meter: Meter<'a>,
}

/// Measures everything. Errors of a subject are in the report.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    site::prepare(&database)?;
    let mut sites = Vec::new();
    for (number, rows) in options.sizes().into_iter().enumerate() {
        sites.push(site::create(&database, rows, number, options.clients)?);
    }
    let writers = site::create_writers(&database, options.clients)?;
    site::complete(&database)?;
    let bench = Bench {
        postgres,
        database: &database,
        program,
        work,
        options,
        meter: Meter::new(&database, postgres.pid()),
    };
    if !bench.meter.counts_statements() {
        say("pg_stat_statements is not available: statements and blocks are not counted");
    }
    let usual = sites.iter().find(|site| site.rows == USUAL).or(sites.first());
    let usual = usual.ok_or("no tenant")?;
    let mut report = Report::new(options, program)?;
    report.start = start::measure(&bench, usual).map_err(|error| error.to_string());
    for limit in reference::LIMITS {
        say(&format!("{} ...", limit.name));
        report.limits.push((limit.name, bench.limit(limit, usual)));
    }
    for site in &sites {
        bench.site(site, &mut report);
    }
    let mut running = Running::new(&bench);
    let line = bench.line(&mut running, &UPDATE_OF_TENANTS, usual, &writers);
    report.lines.push(line);
    drop(running);
    say("round trips of an update ...");
    report.trips = trips::measure(&bench, usual).map_err(|error| error.to_string());
    report.own = own::measure(&bench, usual);
    Ok(report)
}

impl Bench<'_> {
    /// Measures the lines of a tenant, with a server of its own, so that no statement was prepared for another tenant.
    fn site(&self, site: &Site, report: &mut Report) {
        let mut running = Running::new(self);
        let callers = [site.email.clone()];
        let fits = |subject: &&Subject| !subject.is_usual_only || site.rows == USUAL;
        for subject in READS.iter().filter(fits) {
            let line = self.line(&mut running, subject, site, &callers);
            report.lines.push(line);
        }
        self.lists(&mut running, site, report);
        for subject in WRITES.iter().filter(fits) {
            let line = self.line(&mut running, subject, site, &callers);
            report.lines.push(line);
        }
        let line = self.bulk_job(&mut running, site);
        report.lines.push(line);
        let memory = running.get().and_then(super::server::Server::resident_kib);
        report.loaded_kib = report.loaded_kib.max(memory.unwrap_or(0));
    }
}
