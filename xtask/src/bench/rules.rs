//! The cost of business rules for the commands that they validate.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use backoffice_local_postgres::LocalPostgres;
use serde_json::json;
use tokio::time::Instant;
use uuid::Uuid;

use super::bulk::{self, BETWEEN_LOOKS, DEALS};
use super::database::{Database, EMAIL, PASSWORD};
use super::http::Client;
use super::report::{median, verdict};
use super::server::Server;
use super::{Options, pause};
use crate::Result;
use crate::process::say;

/// All requests come from one address.
const WITHOUT_LIMITS: (&str, &str) = ("BACKOFFICE__RATE_LIMITS__ENABLED", "false");
/// Updates of a measurement.
const UPDATES: usize = 400;
const WARM_UP: usize = 50;
/// Time in which all nodes know a changed rule.
const KNOWN: Duration = Duration::from_millis(1500);
/// Maximum milliseconds that guards add to a command, beside the number of guards.
const WANTED: [(usize, f64); 2] = [(1, 0.2), (100, 2.0)];
/// Minimum share of the rate of a bulk job.
const WANTED_SHARE: f64 = 0.9;

/// The measurements.
#[derive(Debug)]
pub(super) struct Report {
    /// Median milliseconds of an update without a matching rule, and with so many guards that pass.
    without: f64,
    with: Vec<(usize, f64)>,
    /// Items per second of a bulk job without and with a guard, in turns.
    rates: Vec<(f64, f64)>,
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    let tenant = database.tenant()?;
    bulk::seed(&database, tenant, DEALS)?;
    let server = Server::start_with(program, work, &database, &[WITHOUT_LIMITS])?;
    let token = server.log_in(EMAIL, PASSWORD)?;
    let ids = bulk::deals(bulk::tenant_number(0), DEALS);
    let deal = ids.first().copied().ok_or("no deals")?;
    say("updates without a matching rule ...");
    updates(&server, &token, deal, WARM_UP)?;
    let mut without = updates(&server, &token, deal, UPDATES)?;
    let mut with = Vec::new();
    for (number, _) in WANTED {
        say(&format!("updates with {number} guards ..."));
        guards(&database, tenant, number)?;
        updates(&server, &token, deal, WARM_UP)?;
        with.push((number, median(updates(&server, &token, deal, UPDATES)?.into_iter())));
        guards(&database, tenant, 0)?;
        updates(&server, &token, deal, WARM_UP)?;
        without.extend(updates(&server, &token, deal, UPDATES)?);
    }
    let owner = database.text(&format!("select id from auth_users where email_norm = '{EMAIL}'"))?;
    let mut job = bulk::Job::new(server.api(), token, owner);
    let mut rates = Vec::new();
    for round in 0..options.rounds() {
        say(&format!("bulk jobs, round {} of {} ...", round + 1, options.rounds()));
        let mut rate = |number| -> Result<f64> {
            guards(&database, tenant, number)?;
            job.prepare(&database)?;
            job.run(&ids, BETWEEN_LOOKS)?.rate(&database)
        };
        rates.push((rate(0)?, rate(1)?));
    }
    Ok(Report {
        without: median(without.into_iter()),
        with,
        rates,
    })
}

/// Replaces the rules of the tenant by so many guards that pass, and waits until the server knows them.
fn guards(database: &Database, tenant: Uuid, number: usize) -> Result<()> {
    let condition = json!({"operator": "AND", "rules": [
        {"field": "title", "operator": "!=", "value": ""}, {"field": "_before.status", "operator": "IN", "value": ["open", "won"]},
    ]});
    database.execute(&format!(
        "delete from business_rules_rules where tenant_id = '{tenant}';
         insert into business_rules_rules (tenant_id, id, rule_key, rule_name, rule_type, entity_type, condition_expression,
             success_actions, failure_actions, enabled, priority, version, effect_features, created_at, updated_at)
         select '{tenant}', gen_random_uuid(), 'rule ' || n, 'Rule ' || n, 'GUARD', 'customers.deal', '{condition}', '[]', '[]', true, 100, 1,
             '{{}}', now(), now()
         from generate_series(1, {number}) n;
         insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at)
         values ('{tenant}', gen_random_uuid(), 'business_rules.rule', 1, now(), now())
         on conflict (tenant_id, kind) do update set version = c.version + 1, updated_at = now()"
    ))?;
    pause(KNOWN);
    Ok(())
}

/// Updates a deal again and again; returns the milliseconds of each update.
fn updates(server: &Server, token: &str, deal: Uuid, number: usize) -> Result<Vec<f64>> {
    let mut client = Client::connect(server.api())?;
    let mut times = Vec::with_capacity(number);
    for round in 0..number {
        let body = json!({"id": deal, "title": format!("Deal {}", round % 2)}).to_string();
        let request = format!(
            "PUT /api/customers/deals HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            server.api(),
            body.len()
        );
        let sent = Instant::now();
        let (status, body) = client.send(request.as_bytes())?;
        if status != 200 {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
        times.push(sent.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(times)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nUpdates of a deal that guards validate, and a bulk job over {DEALS} deals\n"
        )?;
        writeln!(f, "| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        writeln!(f, "| an update without a matching rule | {:.2} ms | | |", self.without)?;
        for ((number, milliseconds), (_, wanted)) in self.with.iter().zip(WANTED) {
            let added = milliseconds - self.without;
            writeln!(
                f,
                "| {number} guards that pass add | {added:.2} ms | {wanted} ms | {} |",
                verdict(added <= wanted)
            )?;
        }
        let (without, with) = (
            median(self.rates.iter().map(|(without, _)| *without)),
            median(self.rates.iter().map(|(_, with)| *with)),
        );
        writeln!(
            f,
            "| deals per second without and with a guard | {without:.0}, {with:.0} | {WANTED_SHARE}x | {} |",
            verdict(with >= without * WANTED_SHARE)
        )
    }
}
