//! The command line.

#[cfg(feature = "alerts")]
mod alerts;
#[cfg(feature = "api-keys")]
mod api_key;
mod arguments;
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
mod modules;
#[cfg(feature = "onboarding")]
mod onboarding;
#[cfg(feature = "directory")]
pub(crate) mod organization;
pub(crate) mod output;
mod password;
mod rotate;
#[cfg(feature = "directory")]
pub(crate) mod tenant;
#[cfg(feature = "auth")]
mod user;
mod values;
#[cfg(feature = "business-rules")]
mod webhooks;

use std::process::ExitCode;

use clap::Parser;

use crate::config::Sources;
use crate::host::{Host, Purpose};
use crate::{Result, doctor, logging, serve};
use arguments::{Arguments, Command, EventsCommand, Global, SecretsCommand};
use output::Output;

/// The exit code of a program whose output no other program reads any more: 128 and the number of SIGPIPE.
const CLOSED_PIPE: u8 = 141;

/// Runs the command given by the process's arguments.
pub async fn run() -> ExitCode {
    let arguments = Arguments::parse();
    match execute(arguments).await {
        Ok(code) => code,
        Err(error) if error.is_closed_pipe() => ExitCode::from(CLOSED_PIPE),
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
        Command::Attachments(command) => return modules::attachments(settings, command, output).await,
        Command::Alerts(command) => modules::conflicts(settings, command, output).await?,
        Command::Calendar(command) => modules::zones(&settings, &command, output)?,
        Command::Onboarding(command) => modules::sign_ups(settings, command, output).await?,
        Command::Webhooks(command) => modules::webhooks(settings, command, output).await?,
        Command::Jobs(command) => {
            let host = Host::open(settings, Purpose::Command).await?;
            let outcome = jobs::run(&host, command, output).await;
            host.close().await.and(outcome)?;
        }
        Command::Migrate => migrate::migrate(settings, output).await?,
        Command::Init(requested) => init::init(settings, requested, output).await?,
        Command::User(command) => modules::user(settings, command, output).await?,
        Command::Tenant(command) => modules::tenants(settings, command, output).await?,
        Command::Organization(command) => modules::organizations(settings, command, output).await?,
        Command::ApiKey(command) => modules::api_keys(settings, command, output).await?,
        Command::Roles(command) => modules::roles(settings, command, output).await?,
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
