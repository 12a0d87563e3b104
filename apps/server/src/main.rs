//! The program `backoffice`.

use std::process::ExitCode;

use backoffice_server::cli;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Two threads: requests run on the workers' own threads, these run start-up and background work.
#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    cli::run().await
}
