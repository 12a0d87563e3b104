//! Child processes of the program: parsers of documents, which run apart from the server.

use std::process::ExitCode;

/// Runs this process as a child of the server if its arguments say so; called before any thread is started. Returns `None` for other arguments.
#[must_use]
pub fn run_child() -> Option<ExitCode> {
    #[cfg(feature = "attachments")]
    return backoffice_attachments::run_child(std::env::args_os().skip(1));
    #[cfg(not(feature = "attachments"))]
    return None;
}
