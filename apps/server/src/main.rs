//! The program `backoffice`.

use std::process::ExitCode;
use std::time::Duration;

use backoffice_server::{child, cli};
use tokio::runtime::Builder;

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match child::run_child() {
        Some(code) => code,
        None => run(),
    }
}

/// Maximum time that the end of the process waits for blocking work without a caller, such as the look-up of a host name.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Runs the command on two threads: requests run on the workers' own threads, these run start-up and background work.
fn run() -> ExitCode {
    let runtime = match Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("backoffice: could not start threads: {error}; raise the limits of the process");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(cli::run());
    runtime.shutdown_timeout(LAST_WORK);
    code
}
