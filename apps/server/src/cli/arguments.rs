//! The arguments of the program.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::init;
use super::password::PasswordChoice;
use super::values::{Quota, assignment, instant, quota};
use crate::secrets::Secret;

/// Multi-tenant back office: one JSON API assembled from modules.
#[derive(Debug, Parser)]
#[command(
    name = "backoffice",
    version,
    after_help = "Without a command, `serve` runs. `backoffice config` prints the settings."
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Args)]
pub(super) struct Global {
    /// File with the settings [default: backoffice.toml, if it exists]
    #[arg(long, global = true, env = "BACKOFFICE_CONFIG", value_name = "PATH")]
    pub(super) config: Option<PathBuf>,
    /// Folder for all files that the program writes [default: var]
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) data_dir: Option<String>,
    /// Address of the API [default: 127.0.0.1:8080]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
    /// Any other setting, as section.key=value
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = assignment)]
    pub(super) settings: Vec<(String, String)>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
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
    /// Webhooks of business rules
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
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
    /// Print the settings that are set and their origins, without secrets
    Config,
    /// Signing keys
    #[command(subcommand)]
    Secrets(SecretsCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
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
pub(super) struct NamedUser {
    /// E-mail address
    pub(super) email: String,
    /// Tenant by id or name; needed if the address has accounts in several tenants
    #[arg(long, conflicts_with = "platform")]
    pub(super) tenant: Option<String>,
    /// Name a platform user, who belongs to no tenant
    #[arg(long)]
    pub(super) platform: bool,
}

#[derive(Debug, Args)]
pub(super) struct NewUser {
    /// E-mail address
    pub(super) email: String,
    /// Display name
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Tenant by id or name [default: the only one]
    #[arg(long, conflicts_with = "platform")]
    pub(super) tenant: Option<String>,
    /// Create a platform user without a tenant
    #[arg(long)]
    pub(super) platform: bool,
    /// Organization by id
    #[arg(long)]
    pub(super) organization: Option<uuid::Uuid>,
    /// Role by name; may be repeated
    #[arg(long = "role")]
    pub(super) roles: Vec<String>,
    /// Give access to all tenants and all features
    #[arg(long)]
    pub(super) super_admin: bool,
    #[command(flatten)]
    pub(super) password: PasswordChoice,
}

#[derive(Debug, Args)]
pub(super) struct NewPassword {
    #[command(flatten)]
    pub(super) user: NamedUser,
    #[command(flatten)]
    pub(super) password: PasswordChoice,
}

#[derive(Debug, Subcommand)]
pub(super) enum TenantCommand {
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
pub(super) enum OrganizationCommand {
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
pub(super) enum ApiKeyCommand {
    /// Create a key; its secret is printed only once
    Create(NewApiKey),
    /// Revoke a key; all processes reject it within a second
    Revoke {
        /// Id of the key
        id: uuid::Uuid,
    },
}

#[derive(Debug, Args)]
pub(super) struct NewApiKey {
    /// Name
    #[arg(long)]
    pub(super) name: String,
    /// Tenant by id or name [default: the only one]
    #[arg(long)]
    pub(super) tenant: Option<String>,
    /// Organization by id [default: the whole tenant]
    #[arg(long)]
    pub(super) organization: Option<uuid::Uuid>,
    /// Role by name; may be repeated
    #[arg(long = "role")]
    pub(super) roles: Vec<String>,
    /// Time of expiry, for example 2027-01-31T00:00:00Z [default: never]
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    pub(super) expires: Option<backoffice_core::Timestamp>,
}

#[derive(Debug, Subcommand)]
pub(super) enum RolesCommand {
    /// Create missing roles of modules, and add new default grants to the seeded roles; grants that an administrator removed are not restored
    Sync {
        /// Tenant by id or name [default: all]
        #[arg(long)]
        tenant: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum EventsCommand {
    /// Events whose delivery to a subscriber failed permanently
    #[command(subcommand)]
    DeadLetters(DeadLettersCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum AttachmentsCommand {
    /// Compare the files of all tenants with their objects, and the counters; fails if anything differs
    Check {
        /// Remove objects without a file, and correct counters; files without their object, and objects of others, are only reported
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
pub(super) enum JobsCommand {
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
pub(super) enum AlertsCommand {
    /// Recompute all alerts, and correct those that differ from what they depend on
    Recompute {
        /// Tenant by id or name [default: all]
        #[arg(long)]
        tenant: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum CalendarCommand {
    /// Print the version of the bundled database of time zones
    Zones,
}

#[derive(Debug, Subcommand)]
pub(super) enum WebhooksCommand {
    /// List the deliveries that are due or have failed
    List {
        /// Tenant by id or name [default: all]
        #[arg(long)]
        tenant: Option<String>,
        /// Include deliveries that were sent
        #[arg(long)]
        all: bool,
    },
    /// Send a failed delivery again
    Retry {
        /// Id of the delivery
        id: uuid::Uuid,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum OnboardingCommand {
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
pub(super) enum DeadLettersCommand {
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
pub(super) enum SecretsCommand {
    /// Create a new first key; the old one still verifies, or opens what it sealed. If several processes run, stop them first
    Rotate {
        #[command(subcommand)]
        secret: RotatedSecret,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum RotatedSecret {
    /// The keys that sign access tokens
    Jwt,
    /// The keys that compute the integrity codes of consents; those of keys before the previous one can no longer be verified
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
