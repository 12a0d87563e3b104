//! An installation with an administrator who can sign in, and with mails that are written to files.

use std::fs;
use std::process::Output;
use std::time::Duration;

use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::server::Server;
use crate::support::{Folder, errors, text};

pub(crate) const ADMINISTRATOR: &str = "admin@example.com";
pub(crate) const PASSWORD: &str = "serves-Twice-4711";
/// Settings of a process that runs no jobs.
pub(crate) const NO_WORKERS: (&str, &str) = ("BACKOFFICE__JOBS__WORKERS", "0");
/// For tests that send more requests than clients do.
pub(crate) const NO_LIMITS: (&str, &str) = ("BACKOFFICE__RATE_LIMITS__ENABLED", "false");

pub(crate) struct Office {
    folder: Folder,
    url: String,
}

/// Creates an installation on a database of its own.
pub(crate) async fn office() -> (Office, TestDatabase) {
    let database = TestDatabase::create(&backoffice_server::modules::compiled()).await;
    (Office::init(database.application_url(), &[]), database)
}

impl Office {
    /// Creates an installation on an empty database that belongs to this owner.
    pub(crate) fn migrated(url: String, owner_url: &str) -> Self {
        Self::init(url, &[("BACKOFFICE__DATABASE__OWNER_URL", owner_url)])
    }

    fn init(url: String, variables: &[(&str, &str)]) -> Self {
        let office = Self {
            folder: Folder::new(),
            url,
        };
        office.folder.write("password", PASSWORD);
        let arguments = ["init", "--email", ADMINISTRATOR, "--password-file", "password"];
        text(&office.folder.run_with(&arguments, &office.variables(variables)));
        office
    }

    fn variables<'a>(&'a self, further: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = [
            ("BACKOFFICE__DATABASE__URL", self.url.as_str()),
            ("BACKOFFICE__MAIL__TRANSPORT", "file"),
            ("BACKOFFICE__APP__PUBLIC_URL", "https://office.example"),
        ];
        own.into_iter().chain(further.iter().copied()).collect()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.folder.run_with(arguments, &self.variables(&[]))
    }

    /// Returns the JSON output of a command.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&text(&output)).expect("JSON")
    }

    /// Returns the JSON output of a command that must fail because of what it reports.
    pub(crate) fn failed_json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert!(!output.status.success(), "{arguments:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", errors(&output)))
    }

    /// Returns a path in the folder of the installation.
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path(name)
    }

    /// Returns the error output of a command that must fail.
    pub(crate) fn rejected(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        errors(&output)
    }

    /// Starts `serve` and waits until it is ready.
    pub(crate) async fn serve(&self, variables: &[(&str, &str)]) -> Server {
        self.start("serve", variables).await
    }

    /// Starts `worker` and waits until it is ready.
    pub(crate) async fn work(&self, variables: &[(&str, &str)]) -> Server {
        self.start("worker", variables).await
    }

    async fn start(&self, command: &str, variables: &[(&str, &str)]) -> Server {
        let server = Server::run(&self.folder, command, &self.variables(variables));
        server.wait_until_ready().await;
        server
    }

    /// Creates a user of the first tenant.
    pub(crate) fn create_user(&self, email: &str, role: &str) {
        let options = ["--tenant", "Main", "--role", role, "--password-file", "password"];
        text(&self.run(&[&["user", "create", email], &options[..]].concat()));
    }

    /// Returns the mails in a folder.
    pub(crate) fn mails_in(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder.path(folder)) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.expect("a file").path());
        let mails = paths.filter(|path| path.extension().is_some_and(|extension| extension == "eml"));
        mails.map(|path| fs::read_to_string(path).expect("a mail")).collect()
    }

    /// Returns the number of mails to an address.
    pub(crate) fn mails_to(&self, email: &str) -> usize {
        let mails = self.mails_in("var/mail");
        mails.iter().filter(|mail| recipient(mail) == email).count()
    }

    /// Waits for a mail to this address.
    pub(crate) async fn wait_for_mail(&self, email: &str, server: &Server) {
        let started = Instant::now();
        while self.mails_to(email) == 0 {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "no mail to {email}: {:#}\n{}",
                self.json(&["jobs", "list", "--all"]),
                server.log()
            );
            sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Returns the recipient of a mail.
pub(crate) fn recipient(mail: &str) -> &str {
    let to = mail.lines().find_map(|line| line.strip_prefix("To: "));
    let to = to.expect("a mail has a recipient");
    to.rsplit_once('<')
        .map_or(to, |(_, address)| address.trim_end_matches('>'))
}

/// Signs in and returns the access token.
pub(crate) fn sign_in(server: &Server, email: &str) -> String {
    let response = server.post("/api/auth/login", "", &json!({"email": email, "password": PASSWORD}));
    let token = response.body["token"].as_str();
    token
        .unwrap_or_else(|| panic!("signed in: {}", response.text))
        .to_owned()
}

/// Requests the mail that resets a forgotten password, which takes two jobs.
pub(crate) fn order_mail(server: &Server, email: &str) {
    let response = server.post("/api/auth/reset", "", &json!({"email": email}));
    assert_eq!(response.status, 200, "{}", response.text);
}

/// Returns SQL that creates `count` users of the first tenant: `user1@example.com` and so on.
pub(crate) fn many_users(count: usize) -> String {
    format!(
        "insert into auth_users select created.* from auth_users u, generate_series(1, {count}) n, jsonb_populate_record(u, jsonb_build_object(
             'id', gen_random_uuid(), 'email', 'user' || n || '@example.com', 'email_norm', 'user' || n || '@example.com')) created
         where u.email = '{ADMINISTRATOR}'"
    )
}
