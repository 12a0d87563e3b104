//! Reminders and escalations that become due together, with two servers on one database.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::super::database::Database;
use super::super::http::Client;
use super::super::pause;
use super::super::server::Server;
use super::writes::Figure;
use super::{email, seed};
use crate::Result;
use crate::process::say;

const REMINDERS: u64 = 10_000;
const ESCALATIONS: u64 = 1_000;
/// Counters of what the servers have committed.
const COUNTERS: [&str; 2] = ["dispatch_reminders_total", "alerts_escalated_total"];
/// Both jobs run once a minute.
const PATIENCE: Duration = Duration::from_secs(240);

/// Makes reminders and escalations due, and waits until all are sent. Counts what each server reports to have committed, so that a repetition is seen
/// although it refreshes a notification instead of adding one.
pub(super) fn measure(database: &Database, servers: [&Server; 2]) -> Result<Vec<Figure>> {
    say("reminders and escalations of two nodes ...");
    database.command(&["tenant", "create", "Due"])?;
    database.create_administrator(&email("Due"), "Due")?;
    let id = |sql: &str| -> Result<Uuid> { Ok(database.text(sql)?.parse()?) };
    let tenant = id("select id from directory_tenants where name = 'Due'")?;
    let organization = id(&format!(
        "select id from directory_organizations where tenant_id = '{tenant}'"
    ))?;
    seed(database, (tenant, organization), 1, 1)?;
    let before = committed(servers)?;
    database.execute(&format!(
        "set session_replication_role = replica;
         update dispatch_resources set user_id = (select id from auth_users where tenant_id = '{tenant}')
         where tenant_id = '{tenant}' and name = 'Resource 0';
         insert into dispatch_assignments (tenant_id, id, organization_id, job_site_id, subject_type, subject_id, start_at, end_at, status,
             created_at, updated_at)
         select r.tenant_id, gen_random_uuid(), r.organization_id, s.id, 'worker', r.id, now() + interval '1 hour' + n * interval '3 seconds',
             now() + interval '1 hour' + n * interval '3 seconds' + interval '1 second', 'planned', now(), now()
         from dispatch_resources r join dispatch_job_sites s on s.tenant_id = r.tenant_id and s.name = 'Site 0', generate_series(1, {REMINDERS}) n
         where r.tenant_id = '{tenant}' and r.name = 'Resource 0';
         insert into alerts_alerts (tenant_id, id, organization_id, kind, family, urgency_rank, subject_type, subject_id, subject_name,
             identity_key, occurred_at, expires_at, created_at, updated_at)
         select '{tenant}', gen_random_uuid(), '{organization}', 'subject_unavailable', 'subject_unavailable', 0, 'worker', gen_random_uuid(),
             'Due ' || n, n, now() - interval '1 hour', '2100-01-01', now(), now()
         from generate_series(1, {ESCALATIONS}) n;
         set session_replication_role = origin"
    ))?;
    let sent = || -> Result<[u64; 2]> {
        let committed = committed(servers)?;
        Ok([committed[0] - before[0], committed[1] - before[1]])
    };
    until(|| Ok(sent()? != [0, 0]))?;
    let started = Instant::now();
    until(|| {
        let [reminders, escalations] = sent()?;
        Ok(reminders >= REMINDERS && escalations >= ESCALATIONS)
    })?;
    let seconds = started.elapsed().as_secs_f64();
    // A repetition would be one of the next run.
    pause(Duration::from_secs(70));
    let [reminders, escalations] = sent()?;
    let notified = |source: &str| -> Result<u64> {
        let sql = format!(
            "select count(distinct source_entity_id) from notifications_notifications where tenant_id = '{tenant}' and type = '{source}'"
        );
        Ok(database.text(&sql)?.parse()?)
    };
    let found = [
        notified("dispatch.assignment.reminder")?,
        notified("alerts.alert.escalated")?,
    ];
    let wrong = REMINDERS.abs_diff(reminders)
        + ESCALATIONS.abs_diff(escalations)
        + REMINDERS.abs_diff(found[0])
        + ESCALATIONS.abs_diff(found[1]);
    Ok(vec![
        Figure {
            name: format!(
                "{reminders} reminders and {escalations} escalations of two nodes for {} assignments and {} alerts, missing or repeated",
                found[0], found[1]
            ),
            measured: f64::from(u32::try_from(wrong)?),
            wanted: 0.0,
            unit: "",
        },
        Figure {
            name: "time from the first to the last of them".to_owned(),
            measured: seconds,
            wanted: 60.0,
            unit: " s",
        },
    ])
}

fn until(condition: impl Fn() -> Result<bool>) -> Result<()> {
    let started = Instant::now();
    while !condition()? {
        if started.elapsed() > PATIENCE {
            return Err("reminders and escalations were not sent in time".into());
        }
        pause(Duration::from_millis(100));
    }
    Ok(())
}

/// Returns what the servers have committed since their start.
fn committed(servers: [&Server; 2]) -> Result<[u64; 2]> {
    let mut sums = [0, 0];
    for server in servers {
        let text = metrics(server.admin())?;
        for (name, sum) in COUNTERS.iter().zip(&mut sums) {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            *sum += line.map_or(Ok(0), |value| value.trim().parse::<u64>())?;
        }
    }
    Ok(sums)
}

fn metrics(admin: SocketAddr) -> Result<String> {
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {admin}\r\n\r\n");
    let (status, body) = Client::connect(admin)?.send(request.as_bytes())?;
    match status {
        200 => Ok(String::from_utf8(body)?),
        _ => Err(format!("{status} to the metrics").into()),
    }
}
