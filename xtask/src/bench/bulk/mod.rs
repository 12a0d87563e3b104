//! A bulk job over 10,000 deals: its rate compared with PostgreSQL running the same writes one by one, and its cost for other requests.

mod baseline;
mod beside;

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use backoffice_local_postgres::LocalPostgres;
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::capture::{Kind, Log};
use super::database::{Database, EMAIL, PASSWORD};
use super::http::Client;
use super::report::{median, verdict};
use super::server::Server;
use super::{Options, pause};
use crate::Result;
use crate::process::say;
use beside::Beside;

/// Deals of the large job.
pub(super) const DEALS: usize = 10_000;
/// Items of a chunk.
const CHUNK: usize = 100;
const PATIENCE: Duration = Duration::from_secs(300);
/// Pause between two polls of a job: long enough that the server does not count as in use.
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// Pause between two polls while other clients use the server anyway.
const SHORTLY: Duration = Duration::from_millis(50);

/// The measurements.
#[derive(Debug)]
pub(super) struct Bulk {
    /// Pairs of items per second: of the job alone, and of pgbench, in turns.
    rates: Vec<(f64, f64)>,
    /// Statements of a chunk.
    statements: usize,
    beside: Vec<Beside>,
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Bulk> {
    let database = Database::create(postgres, program, work)?;
    let tenant = database.tenant()?;
    seed(&database, tenant, DEALS)?;
    let neighbours = beside::neighbours(&database)?;
    let server = Server::start(program, work, &database)?;
    let token = server.log_in(EMAIL, PASSWORD)?;
    let owner = database.text(&format!("select id from auth_users where email_norm = '{EMAIL}'"))?;
    let mut large = Job::new(server.api(), token, owner);
    let ids = deals(tenant_number(0), DEALS);
    large.prepare(&database)?;
    large.run(&ids, BETWEEN_LOOKS)?;
    let mut rates = Vec::new();
    for round in 0..options.rounds() {
        say(&format!("round {} of {} ...", round + 1, options.rounds()));
        large.prepare(&database)?;
        let served = large.run(&ids, BETWEEN_LOOKS)?.rate(&database)?;
        rates.push((served, baseline::run(postgres, &database, work, tenant, options)?));
    }
    say("statements ...");
    large.prepare(&database)?;
    let log = Log::open(&database)?;
    let captured = log.during(|| large.run(&ids[..CHUNK], BETWEEN_LOOKS).map(|_| ()))?;
    log.close()?;
    let begins = captured
        .iter()
        .position(|entry| entry.sql.contains("core_jobs") && entry.sql.contains("for update"));
    let chunk = captured
        .iter()
        .skip(begins.unwrap_or(0))
        .filter(|entry| entry.kind == Kind::Run);
    let statements = chunk.take_while(|entry| entry.sql != "commit").count();
    say("beside it ...");
    let mut beside = Vec::new();
    for _ in 0..options.rounds() {
        large.prepare(&database)?;
        beside.push(beside::measure(&server, &database, &neighbours, || {
            large.run(&ids, SHORTLY)?.rate(&database)
        })?);
    }
    Ok(Bulk {
        rates,
        statements,
        beside,
    })
}

/// Returns the first part of the ids of a tenant's deals.
pub(super) fn tenant_number(number: usize) -> u64 {
    0x0192_0000 + number as u64
}

/// Returns the ids of the first deals of a tenant.
pub(super) fn deals(tenant: u64, count: usize) -> Vec<Uuid> {
    (1..=count)
        .map(|number| Uuid::from_u64_pair(tenant << 32 | 0x7000, 0x8000_0000_0000_0000 | number as u64))
        .collect()
}

pub(super) fn seed(database: &Database, tenant: Uuid, count: usize) -> Result<()> {
    seed_as(database, tenant, tenant_number(0), count)
}

/// Inserts deals into the first organization of a tenant.
pub(super) fn seed_as(database: &Database, tenant: Uuid, number: u64, count: usize) -> Result<()> {
    database.execute(&format!(
        "insert into customers_deals (tenant_id, id, organization_id, title, status, created_at, updated_at) \
         select '{tenant}', (lpad(to_hex({number}), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, o.id, \
             'Deal ' || n, 'open', now(), now() \
         from generate_series(1, {count}) n, \
             (select id from directory_organizations where tenant_id = '{tenant}' order by created_at, id limit 1) o"
    ))?;
    database.execute("vacuum analyze customers_deals")?;
    Ok(())
}

/// A user who assigns deals to an owner and removes the owner again.
#[derive(Debug)]
pub(super) struct Job {
    api: SocketAddr,
    token: String,
    owner: String,
    given: bool,
}

impl Job {
    pub(super) fn new(api: SocketAddr, token: String, owner: String) -> Self {
        Self {
            api,
            token,
            owner,
            given: false,
        }
    }

    /// Starts a job and returns its id.
    fn start(&mut self, ids: &[Uuid]) -> Result<String> {
        self.given = !self.given;
        let owner = self.given.then_some(&self.owner);
        let body = json!({"ids": ids, "ownerUserId": owner}).to_string();
        let request = format!(
            "POST /api/customers/deals/bulk-update-owner HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.api,
            self.token,
            body.len()
        );
        // On a connection of its own: the server closes connections that are idle for the duration of a job.
        let (status, response) = Client::connect(self.api)?.send(request.as_bytes())?;
        let response: Value = serde_json::from_slice(&response)?;
        match response["progressJobId"].as_str() {
            Some(id) if status == 201 => Ok(id.to_owned()),
            _ => Err(format!("{status}: {response}").into()),
        }
    }

    /// Removes the owner of all deals, so that every job has the same work.
    pub(super) fn prepare(&mut self, database: &Database) -> Result<()> {
        database.execute("update customers_deals set owner_user_id = null where owner_user_id is not null")?;
        database.execute("vacuum analyze customers_deals")?;
        self.given = false;
        Ok(())
    }

    /// Assigns deals to an owner with a job and waits for its end, as its user does.
    pub(super) fn run(&mut self, ids: &[Uuid], between_looks: Duration) -> Result<Done> {
        let id = self.start(ids)?;
        let request = format!(
            "GET /api/progress/jobs/{id} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
            self.api, self.token
        );
        let mut client = Client::connect(self.api)?;
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            pause(between_looks);
            let (status, response) = client.send(request.as_bytes())?;
            let response: Value = serde_json::from_slice(&response)?;
            let succeeded = response["succeededCount"].as_u64();
            match response["status"].as_str() {
                Some("pending" | "running") => {}
                Some("completed") if succeeded == u64::try_from(ids.len()).ok() => return Ok(Done { id }),
                _ => return Err(format!("{status}: {response}").into()),
            }
        }
        Err("the job does not end".into())
    }
}

/// A completed job that has assigned all deals to an owner.
pub(super) struct Done {
    id: String,
}

impl Done {
    /// Returns its items per second.
    pub(super) fn rate(&self, database: &Database) -> Result<f64> {
        let rate = database.text(&format!(
            "select succeeded_count / greatest(extract(epoch from finished_at - started_at), 0.001) \
             from progress_jobs where id = '{}'",
            self.id
        ))?;
        Ok(rate.parse()?)
    }
}

impl fmt::Display for Bulk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let served = median(self.rates.iter().map(|(served, _)| *served));
        let bare = median(self.rates.iter().map(|(_, bare)| *bare));
        let share = served / bare;
        let items = CHUNK as f64;
        writeln!(f, "\nA bulk job over {DEALS} deals\n")?;
        writeln!(f, "| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        writeln!(f, "| deals per second | {served:.0} | | |")?;
        writeln!(
            f,
            "| pgbench, the same writes one by one, {CHUNK} a transaction | {bare:.0} | | |"
        )?;
        writeln!(f, "| share | {share:.2} | 0.5 | {} |", verdict(share >= 0.5))?;
        writeln!(
            f,
            "| statements of a chunk, and per item | {}, {:.2} | | |",
            self.statements,
            self.statements as f64 / items
        )?;
        beside::report(f, &self.beside)
    }
}
