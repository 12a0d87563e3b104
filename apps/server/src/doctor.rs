//! `doctor`: checks the installation and prints the next steps.

mod sealed;

use std::process::ExitCode;
use std::time::Duration;

use backoffice_core::config::AppConfig;
use backoffice_core::db::{DatabaseOptions, TlsOptions, open_rights, unprotected_tables};
use backoffice_core::module::in_order;
use backoffice_core::time::{Clock, SystemClock};
use backoffice_core::vault::states;
use backoffice_core::{Call, Module};
use backoffice_local_postgres::Environment;
use secrecy::SecretString;
use serde_json::json;
use tokio_postgres::Client;

use crate::cli::output::print_lines;
use crate::config::Settings;
use crate::host::{Host, Purpose};
use crate::private_database::PrivateDatabase;
use crate::session::PoolSession;
use crate::{Error, Result, database, host, modules};

/// A larger difference between clocks makes tokens and windows end at the wrong time.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

/// One line of the report.
#[derive(Debug)]
struct Finding {
    verdict: Verdict,
    subject: &'static str,
    text: String,
}

/// The findings so far.
#[derive(Debug, Default)]
struct Report(Vec<Finding>);

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

impl Report {
    fn add(&mut self, verdict: Verdict, subject: &'static str, text: impl Into<String>) {
        self.0.push(Finding {
            verdict,
            subject,
            text: text.into(),
        });
    }

    /// Adds the outcome to the report and returns the value for the checks that depend on it.
    fn note<T>(&mut self, subject: &'static str, fine: impl FnOnce(&T) -> String, outcome: Result<T>) -> Option<T> {
        match outcome {
            Ok(value) => {
                self.add(Verdict::Ok, subject, fine(&value));
                Some(value)
            }
            Err(error) => {
                self.add(Verdict::Fail, subject, error.to_string());
                None
            }
        }
    }

    fn print(&self, json: bool) -> Result<()> {
        if json {
            let lines: Vec<_> = self
                .0
                .iter()
                .map(|finding| json!({"verdict": finding.verdict.word(), "subject": finding.subject, "text": finding.text}))
                .collect();
            return print_lines(&format!("{:#}", json!(lines)));
        }
        let line =
            |Finding { verdict, subject, text }: &Finding| format!("{:<4}  {subject:<10}  {text}", verdict.word());
        print_lines(&self.0.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn code(&self) -> ExitCode {
        let failed = self.0.iter().any(|finding| finding.verdict == Verdict::Fail);
        if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Runs every check whose prerequisites hold; a failed check does not hide later ones. Returns a failure if any check fails.
pub(crate) async fn run(settings: &Settings, json: bool) -> Result<ExitCode> {
    let mut report = Report::default();
    let enabled = modules::enabled(settings.modules.as_deref()).and_then(|modules| Ok(in_order(&modules)?));
    let enabled = report.note("modules", |modules| names(modules), enabled);
    if let Some(enabled) = &enabled {
        check_configuration(&mut report, settings);
        if check_database(&mut report, settings, enabled).await {
            check_data(&mut report, settings).await;
        }
    }
    check_public_url(&mut report, settings);
    report.print(json)?;
    Ok(report.code())
}

fn names(modules: &[&'static Module]) -> String {
    if modules.is_empty() {
        return "none".to_owned();
    }
    modules.iter().map(|module| module.name).collect::<Vec<_>>().join(", ")
}

/// The modules validate their own sections, including the strength of secrets.
fn check_configuration(report: &mut Report, settings: &Settings) {
    report.note(
        "settings",
        |()| "every section is readable".to_owned(),
        host::check_start(settings),
    );
    for file in settings.exposed_files() {
        let text = format!(
            "{} holds secrets and every user may read it; run `chmod o-r` on it",
            file.display()
        );
        report.add(Verdict::Warn, "file", text);
    }
    match host::missing_secrets(settings) {
        Ok(missing) if missing.is_empty() => report.add(Verdict::Ok, "secrets", "present"),
        Ok(_) if settings.is_development() => {
            report.add(
                Verdict::Ok,
                "secrets",
                "none yet; the first `backoffice serve` creates them",
            );
        }
        Ok(missing) => {
            let names: Vec<&str> = missing.into_iter().map(crate::secrets::Secret::setting).collect();
            let text = format!("not set: {}; run `backoffice init`", names.join(", "));
            report.add(Verdict::Fail, "secrets", text);
        }
        Err(error) => report.add(Verdict::Fail, "secrets", error.to_string()),
    }
}

/// Returns whether the database can be used.
async fn check_database(report: &mut Report, settings: &Settings, enabled: &[&'static Module]) -> bool {
    if let Some(url) = &settings.database_url {
        let client = connect(url, &settings.database.tls).await;
        let Some((client, role)) = report.note("database", |_| "reachable".to_owned(), client) else {
            return false;
        };
        check_role(report, &client, &role).await;
        check_rights(report, &client).await;
        check_protection(report, &client).await;
        check_language(report, &client).await;
        check_encoding(report, &client).await;
        check_writes(report, &client).await;
        check_session(report, settings, url).await;
        check_clock(report, &client).await;
        return check_schema(report, client, enabled).await;
    }
    let binaries = backoffice_local_postgres::find(&Environment::current());
    let fine = |found: &backoffice_local_postgres::Binaries| format!("PostgreSQL in {}", found.dir.display());
    report.note("binaries", fine, binaries.map_err(Into::into));
    match PrivateDatabase::exists(&settings.data_dir) {
        Ok(true) => {}
        Ok(false) => {
            report.add(
                Verdict::Ok,
                "database",
                "none yet; the first `backoffice serve` creates a private one",
            );
            return false;
        }
        Err(error) => {
            report.add(Verdict::Fail, "database", error.to_string());
            return false;
        }
    }
    let private = PrivateDatabase::start(&settings.data_dir, enabled).await;
    let fine = |_: &PrivateDatabase| format!("private, in {}; its schema is current", settings.data_dir.display());
    let private = report.note("database", fine, private);
    let is_usable = private.is_some();
    if let Some(private) = private
        && let Err(error) = private.stop().await
    {
        report.add(Verdict::Warn, "database", error.to_string());
    }
    report.add(
        Verdict::Warn,
        "production",
        "a private database is for development; set database.url for anything else",
    );
    is_usable
}

/// Opens what is sealed, and the stores of files.
async fn check_data(report: &mut Report, settings: &Settings) {
    let host = Host::open(settings.clone(), Purpose::Command).await;
    let host = match host {
        Ok(host) => host,
        Err(error) => {
            report.add(Verdict::Fail, "data", error.to_string());
            return;
        }
    };
    let call = Call::internal(&host.runtime());
    match states(&call).await {
        Ok(states) => sealed::check(report, &states),
        Err(error) => report.add(Verdict::Fail, "vault", error.to_string()),
    }
    #[cfg(feature = "attachments")]
    if host.has("attachments") {
        check_stores(report, &call).await;
    }
    if let Err(error) = host.close().await {
        report.add(Verdict::Warn, "data", error.to_string());
    }
}

#[cfg(feature = "attachments")]
async fn check_stores(report: &mut Report, call: &Call) {
    match backoffice_attachments::check::probe_stores(call).await {
        Ok(probed) => {
            for store in probed {
                let (verdict, text) = match store.error {
                    None => (Verdict::Ok, "stores, reads and removes".to_owned()),
                    Some(error) if store.is_of_all => (Verdict::Fail, error),
                    Some(error) => (Verdict::Warn, error),
                };
                report.add(verdict, "store", format!("{}: {text}", store.name));
            }
        }
        Err(error) => report.add(Verdict::Fail, "store", error.to_string()),
    }
}

async fn connect(url: &SecretString, tls: &TlsOptions) -> Result<(Client, String)> {
    let connector = database::parse("database.url", url, tls)?;
    let client = database::connect(&connector).await?;
    Ok((client, database::user(&connector).to_owned()))
}

async fn check_rights(report: &mut Report, client: &Client) {
    match open_rights(client).await {
        Ok(open) if open.is_empty() => report.add(
            Verdict::Ok,
            "rights",
            "only the owner can create tables, including temporary ones",
        ),
        Ok(open) => {
            for right in open {
                report.add(Verdict::Warn, "rights", right);
            }
        }
        Err(error) => report.add(Verdict::Fail, "rights", error.to_string()),
    }
}

async fn check_protection(report: &mut Report, client: &Client) {
    match unprotected_tables(client)
        .await
        .map(|tables| database::protection_rejection(&tables))
    {
        Ok(None) => report.add(
            Verdict::Ok,
            "protection",
            "row-level security is forced on every table of tenants",
        ),
        Ok(Some(rejection)) => report.add(Verdict::Fail, "protection", rejection),
        Err(error) => report.add(Verdict::Fail, "protection", error.to_string()),
    }
}

async fn check_role(report: &mut Report, client: &Client, role: &str) {
    match database::role_powers(client).await.map(|powers| powers.rejection(role)) {
        Ok(None) => report.add(
            Verdict::Ok,
            "role",
            format!("{role} owns nothing and can't create roles, replicate or bypass row-level security"),
        ),
        Ok(Some(rejection)) => report.add(Verdict::Fail, "role", rejection),
        Err(error) => report.add(Verdict::Fail, "role", error.to_string()),
    }
}

async fn check_language(report: &mut Report, client: &Client) {
    match database::language_rejection(client).await {
        Ok(None) => report.add(Verdict::Ok, "language", "the server reports errors in English"),
        Ok(Some(rejection)) => report.add(Verdict::Fail, "language", rejection),
        Err(error) => report.add(Verdict::Fail, "language", error.to_string()),
    }
}

async fn check_encoding(report: &mut Report, client: &Client) {
    let found = async {
        Ok::<_, Error>(match database::encoding_rejection(client).await? {
            Some(rejection) => (Verdict::Fail, rejection),
            None => match database::case_warning(client).await? {
                Some(warning) => (Verdict::Warn, warning),
                None => (Verdict::Ok, "the database stores and compares every text".to_owned()),
            },
        })
    };
    match found.await {
        Ok((verdict, text)) => report.add(verdict, "encoding", text),
        Err(error) => report.add(Verdict::Fail, "encoding", error.to_string()),
    }
}

async fn check_writes(report: &mut Report, client: &Client) {
    match database::write_rejection(client).await {
        Ok(None) => report.add(Verdict::Ok, "writes", "the server accepts them"),
        Ok(Some(rejection)) => report.add(Verdict::Fail, "writes", rejection),
        Err(error) => report.add(Verdict::Fail, "writes", error.to_string()),
    }
}

/// On a connection of its own, because the options of the pools may keep it from being opened.
async fn check_session(report: &mut Report, settings: &Settings, url: &SecretString) {
    let options = DatabaseOptions {
        statement_timeout: settings.database.statement_timeout,
        tls: settings.database.tls.clone(),
        ..DatabaseOptions::new(url.clone())
    };
    let found = async {
        let session = PoolSession::open(&options).await?;
        let unmet = session.unmet().await?;
        Ok::<_, Error>((session.rejection(&unmet.required), session.warning(&unmet.planner)))
    };
    let (rejection, warning) = match found.await {
        Ok(found) => found,
        Err(error) => (Some(error.to_string()), None),
    };
    if rejection.is_none() {
        report.add(
            Verdict::Ok,
            "session",
            "the limits of time and the isolation level are in effect",
        );
    }
    for (verdict, text) in [(Verdict::Fail, rejection), (Verdict::Warn, warning)] {
        if let Some(text) = text {
            report.add(verdict, "session", text);
        }
    }
}

async fn check_clock(report: &mut Report, client: &Client) {
    let before = SystemClock.now().unix_millis();
    let asked = client
        .query_one("select (extract(epoch from clock_timestamp()) * 1000)::bigint", &[])
        .await;
    let after = SystemClock.now().unix_millis();
    match asked.and_then(|row| row.try_get::<_, i64>(0)) {
        Ok(server) => {
            let apart = (server - i64::midpoint(before, after)).unsigned_abs();
            let close = Duration::from_millis(apart) <= CLOCK_TOLERANCE;
            let text = format!("{apart} ms between this machine and the database");
            if close {
                report.add(Verdict::Ok, "clock", text);
            } else {
                report.add(Verdict::Warn, "clock", format!("{text}; set both by NTP"));
            }
        }
        Err(error) => report.add(Verdict::Fail, "clock", error.to_string()),
    }
}

/// Returns whether the schema is current.
async fn check_schema(report: &mut Report, client: Client, enabled: &[&'static Module]) -> bool {
    let state = database::schema_state(client, enabled).await;
    let rejection = state.as_ref().map(database::schema_rejection);
    match rejection {
        Ok(None) => {
            report.add(Verdict::Ok, "schema", "current");
            return true;
        }
        Ok(Some(rejection)) => report.add(Verdict::Fail, "schema", rejection),
        Err(error) => report.add(Verdict::Fail, "schema", error.to_string()),
    }
    false
}

fn check_public_url(report: &mut Report, settings: &Settings) {
    let app = settings.to_core().section::<AppConfig>("app").map_err(Into::into);
    let Some(app) = report.note("app", |_| "readable".to_owned(), app) else {
        return;
    };
    let (verdict, text) = match app.public_url.as_deref() {
        _ if settings.is_development() && !settings.has("app.public_url") => {
            (Verdict::Ok, "none: links lead to the listener".to_owned())
        }
        None => (
            Verdict::Warn,
            "not set; set app.public_url, or no mail can carry a link".to_owned(),
        ),
        Some(url) if !app.is_https() => (Verdict::Warn, format!("{url} is not https")),
        Some(url) => (Verdict::Ok, url.to_owned()),
    };
    report.add(verdict, "public_url", text);
}
