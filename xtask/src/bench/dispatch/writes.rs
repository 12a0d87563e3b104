//! Writes beside many assignments, and a feed.

use std::path::Path;

use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::super::database::{Database, PASSWORD};
use super::super::http::Client;
use super::super::report::median;
use super::super::server::{Server, WITHOUT_LIMITS};
use super::{Caller, email, seed};
use crate::Result;
use crate::process::say;

/// Modules of a server without alerts; a second server has these and alerts.
const MODULES: &str = "directory,auth,audit-logs,notifications,progress,calendar,dispatch";
/// Other assignments of the subject of a new assignment.
const NEIGHBOURS: u32 = 20;
/// Live assignments of a busy subject.
const BUSY: u32 = 10_000;
/// Assignments of a bulk creation, and their subjects.
const BULK: (u32, u32) = (500, 50);
/// Windows whose instants follow from the zone of their organization.
const WINDOWS: u32 = 100_000;
/// Days with another assignment: Monday and Saturday of the first week, and a Saturday with hundreds of others in the year before. An assignment on a
/// Saturday opens an alert.
const WEEKDAY: &str = "2100-01-04";
const SATURDAY: &str = "2100-01-02";
const LATER_SATURDAY: &str = "2110-01-04";
const ROUNDS: usize = 100;
const WARM_UP: usize = 10;
const SITES: &str = "/dispatch/job-sites";
const RESOURCES: &str = "/dispatch/resources";
const ASSIGNMENTS: &str = "/dispatch/assignments";

/// A measurement in milliseconds, or a ratio.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) measured: f64,
    pub(super) wanted: f64,
    pub(super) unit: &'static str,
}

/// Measures in the tenant of this caller, and in one of their own.
pub(super) fn measure(
    database: &Database,
    program: &Path,
    work: &Path,
    server: &Server,
    caller: &Caller,
    large: &Caller,
) -> Result<Vec<Figure>> {
    say("new assignments ...");
    let site = create(server, caller, SITES, &json!({"name": "Measured"}))?;
    let subject = |name: &str| create(server, caller, RESOURCES, &json!({"type": "worker", "name": name}));
    let (quiet, busy) = (subject("With neighbours")?, subject("Busy")?);
    fill(database, &site, &quiet, NEIGHBOURS)?;
    fill(database, &site, &busy, BUSY)?;
    database.execute("analyze dispatch_assignments")?;
    let mut figures = Vec::new();
    let start = |modules: &str| {
        Server::start_with(
            program,
            work,
            database,
            &[WITHOUT_LIMITS, ("BACKOFFICE__MODULES", modules)],
        )
    };
    let (bare, with) = (start(MODULES)?, start(&format!("{MODULES},alerts"))?);
    for (day, name) in [(WEEKDAY, "beside"), (SATURDAY, "that opens an alert, beside")] {
        let [without, with] = in_turns([(&bare, &quiet, day), (&with, &quiet, day)], caller, &site)?;
        figures.push(Figure {
            name: format!(
                "a new assignment {name} {NEIGHBOURS} others, {with:.2} ms, against {without:.2} ms without alerts"
            ),
            measured: with / without,
            wanted: 1.5,
            unit: "x",
        });
    }
    drop(bare);
    let [few, many] = in_turns(
        [(server, &quiet, SATURDAY), (server, &busy, LATER_SATURDAY)],
        caller,
        &site,
    )?;
    figures.push(Figure {
        name: format!("a new assignment of a subject with {BUSY} live ones, on top of {few:.2} ms with {NEIGHBOURS}"),
        measured: many - few,
        wanted: 10.0,
        unit: " ms",
    });
    figures.push(bulk(server, caller, &site)?);
    figures.push(zone(database, server)?);
    figures.push(feed(server, large)?);
    Ok(figures)
}

/// Inserts assignments of a subject from the year 2100, one a day.
fn fill(database: &Database, site: &str, subject: &str, number: u32) -> Result<()> {
    database.execute(&format!(
        "set session_replication_role = replica;
         insert into dispatch_assignments (tenant_id, id, organization_id, job_site_id, subject_type, subject_id, start_at, end_at, status,
             created_at, updated_at)
         select s.tenant_id, gen_random_uuid(), s.organization_id, s.id, 'worker', '{subject}', timestamptz '2100-01-01T08:00Z' + n * interval '1 day',
             timestamptz '2100-01-01T16:00Z' + n * interval '1 day', 'planned', now(), now()
         from dispatch_job_sites s, generate_series(1, {number}) n where s.id = '{site}';
         set session_replication_role = origin"
    ))?;
    Ok(())
}

/// Creates an assignment with each server in turns, and deletes it again. Returns the median milliseconds of the creations of each.
fn in_turns(pairs: [(&Server, &String, &str); 2], caller: &Caller, site: &str) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..WARM_UP + ROUNDS {
        for ((server, subject, day), times) in pairs.iter().zip(&mut times) {
            let body = json!({"jobSiteId": site, "subjectType": "worker", "subjectId": subject,
                "startAt": format!("{day}T17:00:00Z"), "endAt": format!("{day}T20:00:00Z")});
            let (milliseconds, created) = send(server, caller, "POST", ASSIGNMENTS, Some(&body))?;
            let id = created["id"].as_str().ok_or("no id")?;
            send(server, caller, "DELETE", &format!("{ASSIGNMENTS}/{id}"), None)?;
            if round >= WARM_UP {
                times.push(milliseconds);
            }
        }
    }
    Ok(times.map(|times| median(times.into_iter())))
}

fn bulk(server: &Server, caller: &Caller, site: &str) -> Result<Figure> {
    say("bulk creations ...");
    let (number, subjects) = BULK;
    let ids: Vec<&str> = caller.resources.split(',').take(usize::try_from(subjects)?).collect();
    let mut times = Vec::new();
    for year in 2040..2045 {
        let items: Vec<Value> = (0..number)
            .map(|item| {
                let day = format!("{year}-{:02}-{:02}", 1 + item / subjects, 1 + item % 28);
                json!({"jobSiteId": site, "subjectType": "worker", "subjectId": ids[usize::try_from(item % subjects).unwrap_or_default()],
                    "startAt": format!("{day}T08:00:00Z"), "endAt": format!("{day}T16:00:00Z")})
            })
            .collect();
        let body = json!({ "items": items });
        times.push(send(server, caller, "POST", &format!("{ASSIGNMENTS}/bulk"), Some(&body))?.0);
    }
    Ok(Figure {
        name: format!("a bulk creation of {number} assignments of {subjects} subjects"),
        measured: median(times.into_iter()),
        wanted: 1000.0,
        unit: " ms",
    })
}

/// Changes the zone of an organization with many windows.
fn zone(database: &Database, server: &Server) -> Result<Figure> {
    say("a change of the zone ...");
    database.command(&["tenant", "create", "Zone"])?;
    database.create_administrator(&email("Zone"), "Zone")?;
    let tenant: Uuid = database
        .text("select id from directory_tenants where name = 'Zone'")?
        .parse()?;
    let organization = format!("select id from directory_organizations where tenant_id = '{tenant}'");
    let organization: Uuid = database.text(&organization)?.parse()?;
    seed(database, (tenant, organization), WINDOWS, 1)?;
    database.execute("vacuum analyze")?;
    let caller = Caller {
        token: server.log_in(&email("Zone"), PASSWORD)?,
        resources: String::new(),
    };
    let calendar = json!({"timeZone": "Europe/Warsaw", "offWeekdays": [], "holidays": []});
    let (measured, _) = send(server, &caller, "PUT", "/calendar/working-calendar", Some(&calendar))?;
    let moved =
        format!("select count(*) from calendar_windows where tenant_id = '{tenant}' and start_at::time = '23:00'");
    let moved = database.text(&moved)?;
    Ok(Figure {
        name: format!("another zone for {WINDOWS} windows, {moved} of them in winter time"),
        measured,
        wanted: 5000.0,
        unit: " ms",
    })
}

/// Reads a feed of as many events as there are in its time.
fn feed(server: &Server, caller: &Caller) -> Result<Figure> {
    say("a feed ...");
    let body = json!({"name": "Measured", "include": ["windows", "assignments"]});
    let (_, created) = send(server, caller, "POST", "/calendar/feeds", Some(&body))?;
    let url = created["url"].as_str().ok_or("no address")?;
    let path = url.find("/api/").and_then(|at| url.get(at..)).ok_or("no path")?;
    let mut times = Vec::new();
    let mut events = 0;
    for _ in 0..10 {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", server.api());
        let mut client = Client::connect(server.api())?;
        let sent = Instant::now();
        let (status, body) = client.send(request.as_bytes())?;
        times.push(sent.elapsed().as_secs_f64() * 1000.0);
        if status != 200 {
            return Err(format!("{status} to a feed").into());
        }
        events = String::from_utf8_lossy(&body).matches("BEGIN:VEVENT").count();
    }
    Ok(Figure {
        name: format!("a feed of {events} events"),
        measured: median(times.into_iter()),
        wanted: 300.0,
        unit: " ms",
    })
}

/// Creates a record and returns its id.
fn create(server: &Server, caller: &Caller, path: &str, body: &Value) -> Result<String> {
    let (_, created) = send(server, caller, "POST", path, Some(body))?;
    Ok(created["id"].as_str().ok_or("no id")?.to_owned())
}

fn send(server: &Server, caller: &Caller, method: &str, path: &str, body: Option<&Value>) -> Result<(f64, Value)> {
    // Each request has a new connection, as the server closes idle ones during other measurements.
    let mut client = Client::connect(server.api())?;
    super::send(server, &mut client, &caller.token, method, path, body)
}
