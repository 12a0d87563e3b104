//! The program `backoffice`.

use std::process::ExitCode;

use backoffice_server::cli;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Two threads: requests run on the workers' own, these carry background work and the start.
#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    cli::run().await
}
