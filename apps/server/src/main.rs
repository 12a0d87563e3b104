//! The program `backoffice`.

use std::process::ExitCode;

use backoffice_server::{child, cli};

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match child::run_child() {
        Some(code) => code,
        None => run(),
    }
}

/// Two threads: requests run on the workers' own threads, these run start-up and background work.
#[tokio::main(worker_threads = 2)]
async fn run() -> ExitCode {
    cli::run().await
}
