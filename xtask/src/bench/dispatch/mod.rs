//! Reads of a small and of a large dispatch tenant, and the cost of writes beside many assignments.

mod due;
mod writes;

use std::fmt;
use std::path::Path;

use backoffice_local_postgres::LocalPostgres;
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use writes::Figure;

use super::Options;
use super::capture::{Kind, Log};
use super::database::{Database, PASSWORD};
use super::http::Client;
use super::report::{median, verdict};
use super::server::{Server, WITHOUT_LIMITS};
use crate::Result;
use crate::process::say;

/// Assignments, and as many windows, of the small and the large tenant. Both have the same number of them on a day.
const SIZES: [u32; 2] = [1_000, 50_000];
/// Assignments and windows of each of the tenants that only fill the tables.
const OTHERS: (u32, u32) = (9, 50_000);
const RESOURCES: u32 = 200;
/// Assignments and windows on a day.
const DENSITY: u32 = 10;
/// Open alerts of the small and the large tenant.
const ALERTS: [u32; 2] = [1_000, 100_000];
/// Open alerts of each of the other tenants.
const OTHER_ALERTS: u32 = 10_000;
/// Assignments at the site that is closed.
const AFFECTED: u32 = 500;
/// Subjects of these assignments: as many as a change recomputes by itself at most (`alerts.inline_subjects`).
const AFFECTED_SUBJECTS: u32 = 200;
const REQUESTS: usize = 100;
const CHANGES: usize = 10;
/// Prefixes of the modules' tables.
const TABLES: [&str; 3] = ["alerts_", "calendar_", "dispatch_"];
/// Maximum time of a read of the large tenant, against the small one.
const WANTED_RATIO: f64 = 2.0;
/// Maximum milliseconds of a read of alerts in the large tenant.
const WANTED_ALERTS: f64 = 10.0;
/// Maximum statements of a read, beside those of every request.
const WANTED_STATEMENTS: usize = 2;
/// Maximum milliseconds of the recomputation.
const WANTED_RECOMPUTATION: f64 = 50.0;

/// A read, with the median milliseconds in the small and in the large tenant.
#[derive(Debug)]
struct Read {
    name: &'static str,
    milliseconds: [f64; 2],
    /// Statements on the tables of the modules.
    statements: usize,
    /// All statements: those of the session and the scope too.
    all_statements: usize,
}

/// The measurements.
#[derive(Debug)]
pub(super) struct Report {
    reads: Vec<Read>,
    /// Milliseconds of a change of a site that affects no assignment.
    unaffected: f64,
    /// Milliseconds of the change of the site with assignments, and the alerts that it opens.
    affected: f64,
    opened: usize,
    figures: Vec<Figure>,
}

/// A signed-in caller of a tenant.
struct Caller {
    token: String,
    resources: String,
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, _options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    let mut tenants = Vec::new();
    for (name, size, alerts) in [("Small", SIZES[0], ALERTS[0]), ("Large", SIZES[1], ALERTS[1])] {
        say(&format!("tenant {name} with {size} assignments and windows ..."));
        database.command(&["tenant", "create", name])?;
        database.create_administrator(&email(name), name)?;
        let tenant: Uuid = database
            .text(&format!("select id from directory_tenants where name = '{name}'"))?
            .parse()?;
        let organization: Uuid = database
            .text(&format!(
                "select id from directory_organizations where tenant_id = '{tenant}'"
            ))?
            .parse()?;
        seed(&database, (tenant, organization), size, alerts)?;
        tenants.push((name, tenant));
    }
    say("other tenants ...");
    for number in 0..OTHERS.0 {
        let other = Uuid::from_u128(0xd15_0000_0000 + u128::from(number));
        seed(&database, (other, other), OTHERS.1, OTHER_ALERTS)?;
    }
    // As if the instants had been derived by an earlier start: the job of the first one would run beside the measurements.
    database.execute(
        "insert into calendar_zone_databases (tenant_id, id, organization_id, version, created_at, updated_at)
         select t, t, t, '9999z', now(), now() from (values ('00000000-0000-0000-0000-000000000000'::uuid)) x (t)",
    )?;
    database.execute("vacuum analyze")?;
    let server = Server::start_with(program, work, &database, &[WITHOUT_LIMITS])?;
    let mut callers = Vec::new();
    for (name, tenant) in &tenants {
        let resources = database.text(&format!(
            "select string_agg(id::text, ',') from dispatch_resources where tenant_id = '{tenant}' and name like 'Resource %'"
        ))?;
        callers.push(Caller {
            token: server.log_in(&email(name), PASSWORD)?,
            resources,
        });
    }
    let mut reads = Vec::new();
    for (name, path) in paths() {
        say(&format!("{name} ..."));
        reads.push(read(&database, &server, &callers, name, path)?);
    }
    say("changes ...");
    let (_, tenant) = tenants[0];
    let (unaffected, affected, opened) = changes(&database, &server, &callers[0], tenant)?;
    let mut figures = writes::measure(&database, program, work, &server, &callers[0], &callers[1])?;
    let second = Server::start_with(program, work, &database, &[WITHOUT_LIMITS])?;
    figures.extend(due::measure(&database, [&server, &second])?);
    Ok(Report {
        reads,
        unaffected,
        affected,
        opened,
        figures,
    })
}

fn email(tenant: &str) -> String {
    format!("{}@example.com", tenant.to_lowercase())
}

/// Inserts job sites, resources, assignments, windows and alerts. Assignments and windows of a day are spread over the resources.
fn seed(database: &Database, (tenant, organization): (Uuid, Uuid), size: u32, alerts: u32) -> Result<()> {
    let own = format!("'{tenant}', md5('{tenant}' || kind || n)::uuid, '{organization}'");
    let reference = |kind: &str, number: &str| format!("md5('{tenant}' || '{kind}' || {number})::uuid");
    let (site, resource) = (
        reference("site", "(n % 50)"),
        reference("resource", &format!("(n % {RESOURCES})")),
    );
    let (start, now) = (
        format!("timestamptz '2026-12-01T08:00Z' + (n / {DENSITY}) * interval '1 day'"),
        "now(), now()",
    );
    database.execute(&format!(
        "set session_replication_role = replica;
         insert into dispatch_job_sites (tenant_id, id, organization_id, name, status, created_at, updated_at)
         select {own}, 'Site ' || n, 'active', {now} from generate_series(0, 51) n, (values ('site')) k (kind);
         insert into dispatch_resources (tenant_id, id, organization_id, type, name, is_active, created_at, updated_at)
         select {own}, 'worker', 'Resource ' || n, true, {now}
         from generate_series(0, {RESOURCES} - 1) n, (values ('resource')) k (kind);
         insert into dispatch_assignments (tenant_id, id, organization_id, job_site_id, subject_type, subject_id, start_at, end_at, status,
             created_at, updated_at)
         select {own}, {site}, 'worker', {resource}, {start}, {start} + interval '8 hours', 'planned', {now}
         from generate_series(1, {size}) n, (values ('assignment')) k (kind);
         insert into calendar_windows (tenant_id, id, organization_id, resource_type, resource_id, start_date, end_date_exclusive, start_at,
             end_at, reason_code, is_exception, created_at, updated_at)
         select {own}, 'worker', {resource}, ({start})::date + 3, ({start})::date + 5, date_trunc('day', {start}, 'UTC') + interval '3 days',
             date_trunc('day', {start}, 'UTC') + interval '5 days', 'vacation', false, {now}
         from generate_series(1, {size}) n, (values ('window')) k (kind);
         insert into alerts_alerts (tenant_id, id, organization_id, kind, family, urgency_rank, subject_type, subject_id, subject_name,
             identity_key, occurred_at, expires_at, created_at, updated_at)
         select {own}, 'subject_inactive', 'subject_inactive', 1, 'worker', md5('{tenant}' || 'gone' || n)::uuid, 'Gone ' || n, 'subject',
             now() - n * interval '1 second', '2100-01-01', {now}
         from generate_series(1, {alerts}) n, (values ('alert')) k (kind);
         insert into alerts_counts (tenant_id, id, organization_id, kind, alerts, created_at, updated_at)
         select {own}, 'subject_inactive', {alerts}, {now} from (values ('count', 0)) k (kind, n);
         insert into dispatch_resources (tenant_id, id, organization_id, type, name, is_active, created_at, updated_at)
         select {own}, 'worker', 'Affected ' || n, true, {now} from generate_series(0, {AFFECTED_SUBJECTS} - 1) n, (values ('affected')) k (kind);
         insert into dispatch_assignments (tenant_id, id, organization_id, job_site_id, subject_type, subject_id, start_at, end_at, status,
             created_at, updated_at)
         select {own}, {closed}, 'worker', md5('{tenant}' || 'affected' || n % {AFFECTED_SUBJECTS})::uuid,
             timestamptz '2090-01-02T08:00Z' + n * interval '1 day', timestamptz '2090-01-02T16:00Z' + n * interval '1 day', 'planned', {now}
         from generate_series(1, {AFFECTED}) n, (values ('at the closed site')) k (kind);
         set session_replication_role = origin",
        closed = reference("site", "50"),
    ))?;
    Ok(())
}

/// Returns the reads with their paths; `{resources}` stands for the ids of the resources.
fn paths() -> [(&'static str, &'static str); 6] {
    [
        (
            "a week of assignments",
            "/dispatch/assignments?from=2026-12-07T00:00:00Z&to=2026-12-14T00:00:00Z&pageSize=100",
        ),
        (
            "a month of windows",
            "/calendar/availability-windows?from=2026-12-01&to=2027-01-01&pageSize=100",
        ),
        (
            "availability of 200 resources over 31 days",
            "/calendar/availability?resourceType=worker&from=2026-12-01T00:00:00Z&to=2027-01-01T00:00:00Z&resourceIds={resources}",
        ),
        (
            "resources available on a day",
            "/dispatch/resources?type=worker&availableFrom=2026-12-10T00:00:00Z&availableTo=2026-12-11T00:00:00Z",
        ),
        ("alerts", "/alerts/alerts"),
        ("summary of alerts", "/alerts/summary"),
    ]
}

fn read(
    database: &Database,
    server: &Server,
    callers: &[Caller],
    name: &'static str,
    path: &'static str,
) -> Result<Read> {
    let get = |client: &mut Client, caller: &Caller| {
        let path = path.replace("{resources}", &caller.resources);
        send(server, client, &caller.token, "GET", &path, None)
    };
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..REQUESTS + 10 {
        for (caller, times) in callers.iter().zip(&mut times) {
            // Each request has a new connection, as the server closes idle ones during other measurements.
            let mut client = Client::connect(server.api())?;
            let (milliseconds, _) = get(&mut client, caller)?;
            if round >= 10 {
                times.push(milliseconds);
            }
        }
    }
    let log = Log::open(database)?;
    let mut client = Client::connect(server.api())?;
    let captured = log.during(|| get(&mut client, &callers[1]).map(|_| ()));
    log.close()?;
    let [small, large] = times;
    let statements: Vec<_> = captured?.into_iter().filter(|entry| entry.kind == Kind::Run).collect();
    let of_modules = statements
        .iter()
        .filter(|entry| TABLES.iter().any(|table| entry.sql.contains(table)));
    Ok(Read {
        name,
        milliseconds: [median(small.into_iter()), median(large.into_iter())],
        statements: of_modules.count(),
        all_statements: statements.len(),
    })
}

/// Closes and opens two sites again and again: one without assignments, and one with an assignment of each affected subject. Returns the median
/// milliseconds of closing each, and the number of alerts that are open while the second is closed.
fn changes(database: &Database, server: &Server, caller: &Caller, tenant: Uuid) -> Result<(f64, f64, usize)> {
    let site = |number: u32| -> Result<String> {
        database.text(&format!(
            "select id from dispatch_job_sites where tenant_id = '{tenant}' and name = 'Site {number}'"
        ))
    };
    let put = |site: &str, status: &str| {
        let mut client = Client::connect(server.api())?;
        let body = json!({"status": status});
        let path = format!("/dispatch/job-sites/{site}");
        send(server, &mut client, &caller.token, "PUT", &path, Some(&body))
    };
    let (affected, unaffected) = (site(50)?, site(51)?);
    let (mut plain, mut recomputed, mut opened) = (Vec::new(), Vec::new(), 0);
    for _ in 0..CHANGES {
        plain.push(put(&unaffected, "closed")?.0);
        put(&unaffected, "active")?;
        recomputed.push(put(&affected, "closed")?.0);
        let open = database.text(&format!(
            "select count(*) from alerts_alerts where tenant_id = '{tenant}' and kind = 'job_site_closed' and resolved_at is null"
        ))?;
        opened = open.parse()?;
        put(&affected, "active")?;
    }
    Ok((median(plain.into_iter()), median(recomputed.into_iter()), opened))
}

/// Sends a request that must succeed; returns its milliseconds and the response.
fn send(
    server: &Server,
    client: &mut Client,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<(f64, Value)> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = format!(
        "{method} /api{path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.api(),
        body.len()
    );
    let sent = Instant::now();
    let (status, body) = client.send(request.as_bytes())?;
    let milliseconds = sent.elapsed().as_secs_f64() * 1000.0;
    match status {
        200 | 201 => Ok((milliseconds, serde_json::from_slice(&body)?)),
        _ => Err(format!("{status} to {method} {path:.80}: {}", String::from_utf8_lossy(&body)).into()),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [small, large] = SIZES.map(|size| size * 2);
        let all = large + small + OTHERS.0 * OTHERS.1 * 2;
        writeln!(
            f,
            "\nDispatch tenants with {small} and {large} assignments and windows, of {all} in the database; {} and {} open alerts, wanted \
             {WANTED_ALERTS} ms; wanted {WANTED_STATEMENTS} statements\n",
            ALERTS[0], ALERTS[1]
        )?;
        writeln!(
            f,
            "| read | small | large | ratio | wanted | | statements | with those of every request |\n\
             | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |"
        )?;
        for read in &self.reads {
            let [small, large] = read.milliseconds;
            let is_fast = match read.name.contains("alerts") {
                true => large <= small * WANTED_RATIO && large <= WANTED_ALERTS,
                false => large <= small * WANTED_RATIO,
            };
            writeln!(
                f,
                "| {} | {small:.2} ms | {large:.2} ms | {:.2}x | {WANTED_RATIO}x | {} | {} | {} |",
                read.name,
                large / small,
                verdict(is_fast && read.statements <= WANTED_STATEMENTS),
                read.statements,
                read.all_statements
            )?;
        }
        let recomputation = self.affected - self.unaffected;
        writeln!(f, "\n| change | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        writeln!(
            f,
            "| closing a site without assignments | {:.2} ms | | |",
            self.unaffected
        )?;
        writeln!(
            f,
            "| recomputation for {AFFECTED} assignments of {AFFECTED_SUBJECTS} subjects, {} alerts opened | {recomputation:.2} ms | {WANTED_RECOMPUTATION} ms | {} |",
            self.opened,
            verdict(recomputation <= WANTED_RECOMPUTATION)
        )?;
        for Figure {
            name,
            measured,
            wanted,
            unit,
        } in &self.figures
        {
            writeln!(
                f,
                "| {name} | {measured:.2}{unit} | {wanted}{unit} | {} |",
                verdict(measured <= wanted)
            )?;
        }
        Ok(())
    }
}
