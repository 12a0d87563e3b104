//! Sign-ups: the time until the tenant can be used, alone and 50 at once, and what the duration of a submission reveals.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backoffice_local_postgres::LocalPostgres;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::database::{Database, EMAIL};
use super::http::Client;
use super::report::{median, verdict};
use super::server::{Server, WITHOUT_LIMITS};
use super::{Options, pause};
use crate::Result;
use crate::process::say;

const SITE: (&str, &str) = ("BACKOFFICE__APP__PUBLIC_URL", "https://office.example");
const INTO_FILES: (&str, &str) = ("BACKOFFICE__MAIL__TRANSPORT", "file");
/// Sign-ups one after the other.
const ALONE: usize = 20;
/// Sign-ups at once.
const AT_ONCE: usize = 50;
/// Longest wait for a mail or a tenant.
const PATIENCE: Duration = Duration::from_secs(60);
const PACE: Duration = Duration::from_millis(5);
/// Pace of each of many clients at once, which would otherwise send 10,000 requests a second beside the sign-ups. The page of a browser is slower still.
const PACE_AT_ONCE: Duration = Duration::from_millis(100);
/// Maximum time until the tenant can be used, without the mail.
const WANTED_MILLISECONDS: f64 = 2000.0;
/// Maximum relative difference of the medians of submissions.
const WANTED_DIFFERENCE: f64 = 0.05;
const WARM_UP: usize = 10;

/// The measurements, in milliseconds.
#[derive(Debug)]
pub(super) struct Report {
    known: f64,
    unknown: f64,
    pairs: usize,
    alone: Vec<f64>,
    /// Time until the last of the tenants of [`AT_ONCE`] sign-ups could be used.
    at_once: f64,
    tenants: usize,
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    database.seed(&Options {
        users: options.users.min(1000),
        ..options.clone()
    })?;
    let mails = work.join("mails");
    if mails.exists() {
        std::fs::remove_dir_all(&mails)?;
    }
    let dir = mails.to_string_lossy();
    let settings = [WITHOUT_LIMITS, SITE, INTO_FILES, ("BACKOFFICE__MAIL__DIR", &*dir)];
    let server = Server::start_with(program, work, &database, &settings)?;
    let people = People { server, mails };
    people.submissions(WARM_UP)?;
    say("submissions for a known and an unknown address ...");
    let pairs = options.pairs.min(200);
    let [known, unknown] = people.submissions(pairs)?;
    say("sign-ups one after the other ...");
    let mut alone = Vec::new();
    for number in 0..ALONE {
        let token = people.invited(&format!("alone{number}@example.com"))?;
        alone.push(people.sign_up(&token, PACE)?.0);
    }
    alone.sort_by(f64::total_cmp);
    say("sign-ups at once ...");
    let mut tokens = Vec::new();
    for number in 0..AT_ONCE {
        tokens.push(people.invited(&format!("crowd{number}@example.com"))?);
    }
    let signed_up: Vec<Result<(f64, String)>> = std::thread::scope(|scope| {
        let clients: Vec<_> = tokens
            .iter()
            .map(|token| scope.spawn(|| people.sign_up(token, PACE_AT_ONCE)))
            .collect();
        let joined = clients.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|one| one.map_err(|_| "a client panicked")?).collect()
    });
    let signed_up = signed_up.into_iter().collect::<Result<Vec<_>>>()?;
    let tenants: BTreeSet<&String> = signed_up.iter().map(|(_, tenant)| tenant).collect();
    Ok(Report {
        known: median(known.into_iter()),
        unknown: median(unknown.into_iter()),
        pairs,
        alone,
        at_once: signed_up.iter().map(|(time, _)| *time).fold(0.0, f64::max),
        tenants: tenants.len(),
    })
}

struct People {
    server: Server,
    mails: PathBuf,
}

impl People {
    fn submit(&self, client: &mut Client, email: &str) -> Result<f64> {
        let body = json!({"email": email, "firstName": "Ann", "lastName": "Lee", "organizationName": "Measured",
            "password": "measured-Twice-0917", "confirmPassword": "measured-Twice-0917", "termsAccepted": true});
        let body = body.to_string();
        let request = format!(
            "POST /api/onboarding/onboarding HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.server.api(),
            body.len()
        );
        let sent = Instant::now();
        let (status, body) = client.send(request.as_bytes())?;
        match status {
            201 => Ok(milliseconds(sent)),
            _ => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    /// Returns the milliseconds of submissions for a known and for an unknown address; every other pair begins with the unknown one.
    fn submissions(&self, pairs: usize) -> Result<[Vec<f64>; 2]> {
        let mut client = Client::connect(self.server.api())?;
        let mut times = [Vec::new(), Vec::new()];
        for pair in 0..pairs {
            let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
            for which in order {
                // As long as the known one.
                let email = [EMAIL, "nobody@example.com"][which];
                times[which].push(self.submit(&mut client, email)?);
            }
        }
        Ok(times)
    }

    /// Submits a request and returns the token of its mail.
    fn invited(&self, email: &str) -> Result<String> {
        self.submit(&mut Client::connect(self.server.api())?, email)?;
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            for file in std::fs::read_dir(&self.mails)? {
                let Ok(mail) = std::fs::read_to_string(file?.path()) else {
                    continue;
                };
                if mail.contains(&format!("To: {email}"))
                    && let Some(token) = token(&mail)
                {
                    return Ok(token);
                }
            }
            pause(PACE);
        }
        Err(format!("no mail for {email}").into())
    }

    /// Confirms a request and waits for its tenant; returns the milliseconds and the tenant.
    fn sign_up(&self, token: &str, pace: Duration) -> Result<(f64, String)> {
        let mut client = Client::connect(self.server.api())?;
        let request = format!(
            "GET /api/onboarding/onboarding/verify?token={token} HTTP/1.1\r\nhost: {}\r\naccept: application/json\r\n\r\n",
            self.server.api()
        );
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let (status, body) = client.send(request.as_bytes())?;
            let body: Value = serde_json::from_slice(&body)?;
            match (status, body["status"].as_str(), body["tenantId"].as_str()) {
                (200, Some("completed"), Some(tenant)) => return Ok((milliseconds(started), tenant.to_owned())),
                (200, Some("processing"), _) => pause(pace),
                _ => return Err(format!("{status}: {body}").into()),
            }
        }
        Err("the tenant was not created".into())
    }
}

/// Returns the token of the link in a mail, whose body is quoted-printable.
fn token(mail: &str) -> Option<String> {
    let text = mail.replace("=\r\n", "").replace("=\n", "").replace("=3D", "=");
    let (_, rest) = text.split_once("verify?token=")?;
    let token = rest
        .split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c))
        .next()?;
    Some(token.to_owned())
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nSign-ups\n")?;
        writeln!(f, "| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        let slowest = self.alone.last().copied().unwrap_or(f64::NAN);
        writeln!(
            f,
            "| link to tenant, {ALONE} one after the other: median, slowest | {:.0}, {slowest:.0} ms | {WANTED_MILLISECONDS:.0} ms | {} |",
            median(self.alone.iter().copied()),
            verdict(slowest <= WANTED_MILLISECONDS)
        )?;
        writeln!(
            f,
            "| link to tenant, slowest of {AT_ONCE} at once | {:.0} ms | {WANTED_MILLISECONDS:.0} ms | {} |",
            self.at_once,
            verdict(self.at_once <= WANTED_MILLISECONDS)
        )?;
        writeln!(
            f,
            "| tenants of {AT_ONCE} sign-ups at once | {} | {AT_ONCE} | {} |",
            self.tenants,
            verdict(self.tenants == AT_ONCE)
        )?;
        let difference = (self.known - self.unknown).abs() / self.unknown;
        writeln!(
            f,
            "| submission, {} pairs: known, unknown address {:.2}, {:.2} ms | {:.1} % | {:.0} % | {} |",
            self.pairs,
            self.known,
            self.unknown,
            difference * 100.0,
            WANTED_DIFFERENCE * 100.0,
            verdict(difference <= WANTED_DIFFERENCE)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_in_a_folded_line() {
        let mail =
            "Confirm:\r\nhttps://office.example/api/onboarding/onboarding/verify?token=3Dab-=\r\nc_d\r\n\r\nOnce.";

        assert_eq!(token(mail).as_deref(), Some("ab-c_d"));
        assert_eq!(token("no link"), None);
    }
}
