//! The command line.

#[cfg(feature = "alerts")]
mod alerts;
#[cfg(feature = "api-keys")]
mod api_key;
#[cfg(all(feature = "attachments", feature = "directory"))]
mod attachments;
#[cfg(feature = "calendar")]
mod calendar;
mod config;
mod dead_letters;
mod init;
mod inspect;
mod jobs;
mod migrate;
#[cfg(feature = "onboarding")]
mod onboarding;
#[cfg(feature = "directory")]
pub(crate) mod organization;
mod output;
mod password;
mod rotate;
#[cfg(feature = "directory")]
pub(crate) mod tenant;
#[cfg(feature = "auth")]
mod user;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::{Settings, Sources};
use crate::host::{Host, Purpose};
use crate::secrets::Secret;
use crate::{Error, Result, doctor, logging, serve};
use output::Output;
use password::PasswordChoice;
use values::{Quota, assignment, instant, quota};

/// Multi-tenant back office: one JSON API assembled from modules.
#[derive(Debug, Parser)]
#[command(
    name = "backoffice",
    version,
    after_help = "Without a command, `serve` runs. `backoffice config` prints the settings."
)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
struct Global {
    /// File with the settings [default: backoffice.toml, if it exists]
    #[arg(long, global = true, env = "BACKOFFICE_CONFIG", value_name = "PATH")]
    config: Option<PathBuf>,
    /// Folder for all files that the program writes [default: var]
    #[arg(long, global = true, value_name = "PATH")]
    data_dir: Option<String>,
    /// Address of the API [default: 127.0.0.1:8080]
    #[arg(long, global = true, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Any other setting, as section.key=value
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = assignment)]
    settings: Vec<(String, String)>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API until SIGTERM or SIGINT
    Serve,
    /// Run pending migrations as the schema owner, and add new default grants
    Migrate,
    /// Create the secrets, the first tenant and its administrator, if they are missing
    Init(init::Arguments),
    /// Accounts
    #[command(subcommand)]
    User(UserCommand),
    /// Tenants
    #[command(subcommand)]
    Tenant(TenantCommand),
    /// Organizations of a tenant
    #[command(subcommand)]
    Organization(OrganizationCommand),
    /// Keys with which programs authenticate to the API
    #[command(subcommand)]
    ApiKey(ApiKeyCommand),
    /// Roles
    #[command(subcommand)]
    Roles(RolesCommand),
    /// Delivery of events
    #[command(subcommand)]
    Events(EventsCommand),
    /// Files
    #[command(subcommand)]
    Attachments(AttachmentsCommand),
    /// Alerts about assignments
    #[command(subcommand)]
    Alerts(AlertsCommand),
    /// Time zones of calendars
    #[command(subcommand)]
    Calendar(CalendarCommand),
    /// Sign-ups
    #[command(subcommand)]
    Onboarding(OnboardingCommand),
    /// Run background jobs and deliver events, without the API, until SIGTERM or SIGINT
    Worker,
    /// The queue of background jobs
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Print the OpenAPI document of the enabled modules
    Openapi,
    /// List the compiled-in modules
    Modules,
    /// Check the installation and print the next steps
    Doctor,
    /// Print the effective settings, without secrets
    Config,
    /// Signing keys
    #[command(subcommand)]
    Secrets(SecretsCommand),
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// Create an account
    Create(NewUser),
    /// Set the password of an account
    SetPassword(NewPassword),
    /// List the accounts
    List,
    /// Enable a disabled account
    Enable(NamedUser),
    /// Disable an account
    Disable(NamedUser),
}

#[derive(Debug, Args)]
struct NamedUser {
    /// E-mail address
    email: String,
    /// Tenant by id or name; needed if the address has accounts in several tenants
    #[arg(long)]
    tenant: Option<String>,
}

#[derive(Debug, Args)]
struct NewUser {
    /// E-mail address
    email: String,
    /// Display name
    #[arg(long)]
    name: Option<String>,
    /// Tenant by id or name [default: the only one]
    #[arg(long, conflicts_with = "platform")]
    tenant: Option<String>,
    /// Create a platform user without a tenant
    #[arg(long)]
    platform: bool,
    /// Organization by id
    #[arg(long)]
    organization: Option<uuid::Uuid>,
    /// Role by name; may be repeated
    #[arg(long = "role")]
    roles: Vec<String>,
    /// Give access to all tenants and all features
    #[arg(long)]
    super_admin: bool,
    #[command(flatten)]
    password: PasswordChoice,
}

#[derive(Debug, Args)]
struct NewPassword {
    #[command(flatten)]
    user: NamedUser,
    #[command(flatten)]
    password: PasswordChoice,
}

#[derive(Debug, Subcommand)]
enum TenantCommand {
    /// Create a tenant with its root organization and roles
    Create {
        /// Name
        name: String,
        /// Name of the root organization [default: the tenant's]
        #[arg(long)]
        organization: Option<String>,
    },
    /// List the tenants
    List,
}

#[derive(Debug, Subcommand)]
enum OrganizationCommand {
    /// Create an organization
    Create {
        /// Name
        name: String,
        /// Tenant by id or name [default: the only one]
        #[arg(long)]
        tenant: Option<String>,
        /// Parent organization by id
        #[arg(long)]
        parent: Option<uuid::Uuid>,
    },
    /// List the organizations
    List {
        /// Tenant by id or name [default: all]
        #[arg(long)]
        tenant: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
enum ApiKeyCommand {
    /// Create a key; its secret is printed only once
    Create(NewApiKey),
    /// Revoke a key; from then on all processes reject it
    Revoke {
        /// Id of the key
        id: uuid::Uuid,
    },
}

#[derive(Debug, Args)]
struct NewApiKey {
    /// Name
    #[arg(long)]
    name: String,
    /// Tenant by id or name [default: the only one]
    #[arg(long)]
    tenant: Option<String>,
    /// Organization by id [default: the whole tenant]
    #[arg(long)]
    organization: Option<uuid::Uuid>,
    /// Role by name; may be repeated
    #[arg(long = "role")]
    roles: Vec<String>,
    /// Time of expiry, for example 2027-01-31T00:00:00Z [default: never]
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    expires: Option<backoffice_core::Timestamp>,
}

#[derive(Debug, Subcommand)]
enum RolesCommand {
    /// Add new default grants to the seeded roles; grants that an administrator removed are not restored
    Sync {
        /// Tenant by id or name [default: all]
        #[arg(long)]
        tenant: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
enum EventsCommand {
    /// Events whose delivery to a subscriber failed permanently
    #[command(subcommand)]
    DeadLetters(DeadLettersCommand),
}

#[derive(Debug, Subcommand)]
enum AttachmentsCommand {
    /// Compare the files of all tenants with their objects, and the counters; fails if anything differs
    Check {
        /// Remove objects without a file, and correct counters; files without their object are only reported
        #[arg(long)]
        repair: bool,
    },
    /// Move the files of a partition from its older stores to its present one, in a background job
    Move {
        /// Code of the partition
        partition: String,
        /// Tenant by id or name [default: the partitions that every tenant has]
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Set the bytes that the files of a tenant may have
    Quota {
        /// Tenant by id or name
        tenant: String,
        /// For example 2GiB or 500MiB; `default` for `attachments.tenant_quota`
        #[arg(value_parser = quota)]
        size: Quota,
    },
}

#[derive(Debug, Subcommand)]
enum JobsCommand {
    /// List open and dead jobs
    List {
        /// Include finished and cancelled jobs
        #[arg(long)]
        all: bool,
    },
    /// Return a dead or cancelled job to the queue
    Retry {
        /// Id of the job
        id: uuid::Uuid,
    },
    /// Cancel a job; completed steps are not undone
    Cancel {
        /// Id of the job
        id: uuid::Uuid,
    },
}

#[derive(Debug, Subcommand)]
enum AlertsCommand {
    /// Recompute all alerts, and correct those that differ from what they depend on
    Recompute {
        /// Id of a tenant; otherwise all tenants
        #[arg(long)]
        tenant: Option<uuid::Uuid>,
    },
}

#[derive(Debug, Subcommand)]
enum CalendarCommand {
    /// Print the version of the bundled database of time zones
    Zones,
}

#[derive(Debug, Subcommand)]
enum OnboardingCommand {
    /// List the requests that are open or have failed
    List {
        /// Include completed and expired requests
        #[arg(long)]
        all: bool,
    },
    /// End a pending request, whose link then leads nowhere
    Expire {
        /// Id of the request
        id: uuid::Uuid,
    },
}

#[derive(Debug, Subcommand)]
enum DeadLettersCommand {
    /// List the undelivered dead letters
    List {
        /// Include dead letters that were delivered later
        #[arg(long)]
        all: bool,
    },
    /// Retry the delivery
    Retry {
        /// Id of a dead letter
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<uuid::Uuid>,
        /// All undelivered dead letters
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
enum SecretsCommand {
    /// Create a new first key; the previous first key becomes the second, so that what was created with it remains valid
    Rotate {
        #[command(subcommand)]
        secret: RotatedSecret,
    },
}

#[derive(Debug, Subcommand)]
enum RotatedSecret {
    /// The keys that sign access tokens
    Jwt,
    /// The keys that compute the integrity codes of consents
    Consent,
    /// The keys that seal secrets of tenants; a background job seals stored values with the new key, then the old one can be removed
    Vault,
    /// The key with which browsers subscribe to push messages; all their subscriptions end, and they register again
    Webpush,
}

impl From<RotatedSecret> for Secret {
    fn from(secret: RotatedSecret) -> Self {
        match secret {
            RotatedSecret::Jwt => Self::Jwt,
            RotatedSecret::Consent => Self::Consent,
            RotatedSecret::Vault => Self::Vault,
            RotatedSecret::Webpush => Self::WebPush,
        }
    }
}

/// Runs the command given by the process's arguments.
pub async fn run() -> ExitCode {
    let arguments = Arguments::parse();
    match execute(arguments).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("backoffice: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn execute(arguments: Arguments) -> Result<ExitCode> {
    let output = Output {
        json: arguments.global.json,
    };
    let settings = arguments.global.sources().read()?;
    logging::start(&settings.log)?;
    match arguments.command.unwrap_or(Command::Serve) {
        Command::Serve => serve::serve(settings).await?,
        Command::Worker => serve::work(settings).await?,
        Command::Attachments(command) => return attachments(settings, command, output).await,
        Command::Alerts(command) => conflicts(settings, command, output).await?,
        Command::Calendar(command) => zones(&command, output)?,
        Command::Onboarding(command) => sign_ups(settings, command, output).await?,
        Command::Jobs(command) => {
            let host = Host::open(settings, Purpose::Command).await?;
            let outcome = jobs::run(&host, command, output).await;
            host.close().await.and(outcome)?;
        }
        Command::Migrate => migrate::migrate(settings, output).await?,
        Command::Init(requested) => init::init(settings, requested, output).await?,
        Command::User(command) => user(settings, command, output).await?,
        Command::Tenant(command) => tenants(settings, command, output).await?,
        Command::Organization(command) => organizations(settings, command, output).await?,
        Command::ApiKey(command) => api_keys(settings, command, output).await?,
        Command::Roles(command) => roles(settings, command, output).await?,
        Command::Events(EventsCommand::DeadLetters(command)) => {
            let host = Host::open(settings, Purpose::Command).await?;
            let outcome = dead_letters::run(&host, command, output).await;
            host.close().await.and(outcome)?;
        }
        Command::Openapi => inspect::openapi(&settings)?,
        Command::Modules => inspect::modules(&settings, output)?,
        Command::Doctor => return doctor::run(&settings, output.json).await,
        Command::Config => config::print(&settings, output)?,
        Command::Secrets(SecretsCommand::Rotate { secret }) => rotate::rotate(&settings, secret.into(), output)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Global {
    fn sources(self) -> Sources {
        let named = [("data_dir", self.data_dir), ("http.listen", self.listen)];
        let named = named
            .into_iter()
            .filter_map(|(key, value)| value.map(|value| (key.to_owned(), value)));
        Sources {
            file: self.config,
            environment: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            flags: self.settings.into_iter().chain(named).collect(),
        }
    }
}

/// Opens the host for one command on a module's data, and closes it whether the command succeeds or fails.
#[cfg_attr(
    not(feature = "directory"),
    expect(dead_code, reason = "used by commands of modules that are not compiled in")
)]
async fn opened<T>(settings: Settings, module: &str, command: impl AsyncFnOnce(&Host) -> Result<T>) -> Result<T> {
    let host = Host::open(settings, Purpose::Command).await?;
    let outcome = if host.has(module) {
        command(&host).await
    } else {
        Err(not_enabled(module))
    };
    host.close().await.and(outcome)
}

fn not_enabled(module: &str) -> Error {
    Error::other(format!(
        "the command needs the module `{module}`; add it to `modules` in the settings"
    ))
}

#[cfg(not(all(
    feature = "directory",
    feature = "auth",
    feature = "api-keys",
    feature = "alerts",
    feature = "attachments",
    feature = "calendar",
    feature = "onboarding"
)))]
fn not_compiled(module: &str) -> Error {
    Error::other(format!(
        "the command needs the module `{module}`, which is not compiled in; build with `--features {module}`"
    ))
}

#[cfg(feature = "auth")]
async fn user(settings: Settings, command: UserCommand, output: Output) -> Result<()> {
    opened(settings, "auth", async |host| user::run(host, command, output).await).await
}

#[cfg(not(feature = "auth"))]
async fn user(_settings: Settings, _command: UserCommand, _output: Output) -> Result<()> {
    Err(not_compiled("auth"))
}

#[cfg(all(feature = "attachments", feature = "directory"))]
async fn attachments(settings: Settings, command: AttachmentsCommand, output: Output) -> Result<ExitCode> {
    opened(settings, "attachments", async |host| {
        attachments::run(host, command, output).await
    })
    .await
}

#[cfg(not(all(feature = "attachments", feature = "directory")))]
async fn attachments(_settings: Settings, _command: AttachmentsCommand, _output: Output) -> Result<ExitCode> {
    Err(not_compiled(if cfg!(feature = "attachments") {
        "directory"
    } else {
        "attachments"
    }))
}

#[cfg(feature = "alerts")]
async fn conflicts(settings: Settings, command: AlertsCommand, output: Output) -> Result<()> {
    opened(settings, "alerts", async |host| {
        alerts::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "alerts"))]
async fn conflicts(_settings: Settings, _command: AlertsCommand, _output: Output) -> Result<()> {
    Err(not_compiled("alerts"))
}

#[cfg(feature = "calendar")]
fn zones(command: &CalendarCommand, output: Output) -> Result<()> {
    calendar::run(command, output);
    Ok(())
}

#[cfg(not(feature = "calendar"))]
fn zones(_command: &CalendarCommand, _output: Output) -> Result<()> {
    Err(not_compiled("calendar"))
}

#[cfg(feature = "onboarding")]
async fn sign_ups(settings: Settings, command: OnboardingCommand, output: Output) -> Result<()> {
    opened(settings, "onboarding", async |host| {
        onboarding::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "onboarding"))]
async fn sign_ups(_settings: Settings, _command: OnboardingCommand, _output: Output) -> Result<()> {
    Err(not_compiled("onboarding"))
}

#[cfg(feature = "api-keys")]
async fn api_keys(settings: Settings, command: ApiKeyCommand, output: Output) -> Result<()> {
    opened(settings, "api-keys", async |host| {
        api_key::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "api-keys"))]
async fn api_keys(_settings: Settings, _command: ApiKeyCommand, _output: Output) -> Result<()> {
    Err(not_compiled("api-keys"))
}

#[cfg(feature = "auth")]
async fn roles(settings: Settings, command: RolesCommand, output: Output) -> Result<()> {
    let RolesCommand::Sync { tenant } = command;
    opened(settings, "auth", async |host| {
        user::sync_roles(host, tenant, output).await
    })
    .await
}

#[cfg(not(feature = "auth"))]
async fn roles(_settings: Settings, _command: RolesCommand, _output: Output) -> Result<()> {
    Err(not_compiled("auth"))
}

#[cfg(feature = "directory")]
async fn tenants(settings: Settings, command: TenantCommand, output: Output) -> Result<()> {
    opened(settings, "directory", async |host| {
        tenant::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "directory"))]
async fn tenants(_settings: Settings, _command: TenantCommand, _output: Output) -> Result<()> {
    Err(not_compiled("directory"))
}

#[cfg(feature = "directory")]
async fn organizations(settings: Settings, command: OrganizationCommand, output: Output) -> Result<()> {
    opened(settings, "directory", async |host| {
        organization::run(host, command, output).await
    })
    .await
}

#[cfg(not(feature = "directory"))]
async fn organizations(_settings: Settings, _command: OrganizationCommand, _output: Output) -> Result<()> {
    Err(not_compiled("directory"))
}
