#![doc = include_str!("../README.md")]

mod bench;
mod ci;
mod features;
mod fuzz;
mod migrations;
mod openapi;
mod process;
mod python;
mod scaffold;
mod scratch;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::process::{Outcome, explained};
use crate::workspace::Workspace;

/// The result of every task; its error is a human-readable text.
type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The project's own tools.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Runs all tests on a private PostgreSQL
    Test {
        /// Arguments of the test runner: name filters or options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Runs every check and all tests, as required for a merge
    Ci,
    /// Checks the rules of the architecture
    Tidy,
    /// Writes docs/openapi.json from the endpoint declarations of all modules
    Openapi {
        /// Do not write; fail if the file differs
        #[arg(long)]
        check: bool,
        #[command(subcommand)]
        task: Option<OpenapiTask>,
    },
    /// Checks migrations
    #[command(subcommand)]
    Migrations(MigrationsTask),
    /// Checks the host without modules and with each single module
    Features,
    /// Measures the server beside hand-written references and prints tables
    Bench(bench::Options),
    /// Modules
    #[command(subcommand)]
    Module(ModuleTask),
}

#[derive(Debug, Subcommand)]
enum OpenapiTask {
    /// Validates docs/openapi.json with an independent program
    Validate,
    /// Sends valid and invalid requests to a server on a database of its own
    Fuzz {
        /// Maximum duration in seconds
        #[arg(long, default_value_t = fuzz::SECONDS)]
        seconds: u32,
        /// Seed of the requests
        #[arg(long, default_value_t = fuzz::SEED)]
        seed: u32,
    },
}

#[derive(Debug, Subcommand)]
enum MigrationsTask {
    /// Applies, reverts and reapplies all migrations; applies each set of modules that can be enabled alone
    Check,
}

#[derive(Debug, Subcommand)]
enum ModuleTask {
    /// Scaffolds a module crate with its migrations and adds it to the host
    New {
        /// Name of the crate without its prefix, for example `price-lists`
        name: String,
        /// Name of the entity, in the singular, for example `time-entry`
        #[arg(long, default_value = "item")]
        entity: String,
        /// Plural of the entity [default: formed by the rules of spelling]
        #[arg(long)]
        plural: Option<String>,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::Failed(code)) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {}", explained(&*error));
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<Outcome> {
    let workspace = Workspace::find()?;
    match task {
        Task::Test { arguments } => test::run(&workspace, &arguments),
        Task::Ci => ci::run(&workspace),
        Task::Tidy => tidy::run(&workspace),
        Task::Openapi {
            task: Some(OpenapiTask::Validate),
            ..
        } => openapi::validate(&workspace),
        Task::Openapi {
            task: Some(OpenapiTask::Fuzz { seconds, seed }),
            ..
        } => fuzz::run(&workspace, seconds, seed),
        Task::Openapi { check: false, .. } => openapi::write(&workspace),
        Task::Openapi { check: true, .. } => openapi::check(&workspace),
        Task::Migrations(MigrationsTask::Check) => migrations::check(&workspace),
        Task::Features => features::run(&workspace),
        Task::Bench(options) => bench::run(&workspace, &options),
        Task::Module(ModuleTask::New { name, entity, plural }) => {
            let names = scaffold::Names {
                module: &name,
                entity: &entity,
                plural: plural.as_deref(),
            };
            scaffold::run(&workspace, names)
        }
    }
}
