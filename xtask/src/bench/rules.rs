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
use super::server::{Server, WITHOUT_LIMITS};
use super::{Options, pause};
use crate::Result;
use crate::process::say;

/// Updates of a measurement in each tenant, in turns.
const UPDATES: usize = 600;
const WARM_UP: usize = 50;
/// The tenant with guards; the first tenant has none while updates are measured.
const VALIDATED: &str = "Validated";
const VALIDATED_EMAIL: &str = "validated@example.com";
/// Modules of a server without business rules; a second server has these and business rules.
const MODULES: &str = "directory,auth,audit-logs,api-keys,notifications,progress,customers";
/// Maximum duration of a command without a matching rule, against the same command of a server without business rules.
const WANTED_RATIO: f64 = 1.02;
/// Time in which all nodes know a changed rule.
const KNOWN: Duration = Duration::from_millis(1500);
/// Maximum milliseconds that guards add to a command, beside the number of guards.
const WANTED: [(usize, f64); 2] = [(1, 0.2), (100, 0.2)];
/// Minimum share of the rate of a bulk job.
const WANTED_SHARE: f64 = 0.9;

/// Median milliseconds of updates of two tenants in turns: of one without rules, and of one with so many guards that pass.
#[derive(Debug)]
struct Guarded {
    guards: usize,
    without: f64,
    with: f64,
}

/// The measurements.
#[derive(Debug)]
pub(super) struct Report {
    /// Median milliseconds of updates without a rule, of a server without business rules and of one with them, in turns.
    unmatched: [f64; 2],
    guarded: Vec<Guarded>,
    /// Items per second of a bulk job without and with a guard, in turns.
    rates: Vec<(f64, f64)>,
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    let tenant = database.tenant()?;
    bulk::seed(&database, tenant, DEALS)?;
    database.command(&["tenant", "create", VALIDATED])?;
    database.create_administrator(VALIDATED_EMAIL, VALIDATED)?;
    let validated: Uuid = database
        .text(&format!("select id from directory_tenants where name = '{VALIDATED}'"))?
        .parse()?;
    bulk::seed_as(&database, validated, bulk::tenant_number(1), 1)?;
    let server = Server::start_with(program, work, &database, &[WITHOUT_LIMITS])?;
    let token = server.log_in(EMAIL, PASSWORD)?;
    let ids = bulk::deals(bulk::tenant_number(0), DEALS);
    let callers = [
        (token.clone(), ids.first().copied().ok_or("no deals")?),
        (
            server.log_in(VALIDATED_EMAIL, PASSWORD)?,
            bulk::deals(bulk::tenant_number(1), 1).remove(0),
        ),
    ];
    say("updates of servers without and with business rules ...");
    let unmatched = unmatched(program, work, &database, &callers[0])?;
    let mut guarded = Vec::new();
    for (number, _) in WANTED {
        say(&format!("updates with {number} guards ..."));
        guards(&database, validated, number)?;
        in_turns(&server, &callers, WARM_UP)?;
        let [without, with] = in_turns(&server, &callers, UPDATES)?;
        guarded.push(Guarded {
            guards: number,
            without: median(without.into_iter()),
            with: median(with.into_iter()),
        });
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
        unmatched,
        guarded,
        rates,
    })
}

/// Updates a deal without a matching rule with two servers in turns, one without the module. Returns the median milliseconds of each.
fn unmatched(program: &Path, work: &Path, database: &Database, (token, deal): &(String, Uuid)) -> Result<[f64; 2]> {
    let with = format!("{MODULES},business-rules");
    let start = |modules: &str| {
        let settings = [WITHOUT_LIMITS, ("BACKOFFICE__MODULES", modules)];
        Server::start_with(program, work, database, &settings)
    };
    let servers = [start(MODULES)?, start(&with)?];
    let mut clients = [Client::connect(servers[0].api())?, Client::connect(servers[1].api())?];
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..WARM_UP + UPDATES {
        for (number, ((server, client), times)) in servers.iter().zip(&mut clients).zip(&mut times).enumerate() {
            // The servers give the deal different titles, so that each update changes it.
            let milliseconds = update(server, client, token, *deal, number)?;
            if round >= WARM_UP {
                times.push(milliseconds);
            }
        }
    }
    Ok(times.map(|times| median(times.into_iter())))
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

/// Updates a deal of each caller in turns; returns the milliseconds of the updates of each.
fn in_turns(server: &Server, callers: &[(String, Uuid); 2], number: usize) -> Result<[Vec<f64>; 2]> {
    let mut client = Client::connect(server.api())?;
    let mut times = [Vec::with_capacity(number), Vec::with_capacity(number)];
    for round in 0..number {
        for ((token, deal), times) in callers.iter().zip(&mut times) {
            times.push(update(server, &mut client, token, *deal, round)?);
        }
    }
    Ok(times)
}

/// Updates a deal; returns the milliseconds.
fn update(server: &Server, client: &mut Client, token: &str, deal: Uuid, round: usize) -> Result<f64> {
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
    Ok(sent.elapsed().as_secs_f64() * 1000.0)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nUpdates of a deal that guards validate, and a bulk job over {DEALS} deals\n"
        )?;
        writeln!(f, "| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        let [bare, unmatched] = self.unmatched;
        writeln!(
            f,
            "| an update without a matching rule, {unmatched:.2} ms, against {bare:.2} ms without the module | {:.3}x | {WANTED_RATIO}x | {} |",
            unmatched / bare,
            verdict(unmatched <= bare * WANTED_RATIO)
        )?;
        for (guarded, (_, wanted)) in self.guarded.iter().zip(WANTED) {
            let (Guarded { guards, without, .. }, added) = (guarded, guarded.with - guarded.without);
            writeln!(
                f,
                "| {guards} guards that pass add to {without:.2} ms | {added:.2} ms | {wanted} ms | {} |",
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
