//! Errors that keep the host from starting or a command from succeeding. Every text names the next step.

use std::io::ErrorKind;
use std::path::PathBuf;

use backoffice_core::config::ConfigError;

/// The result type of the host.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why the host or a command stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration value is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The platform rejected an operation or failed.
    #[error("{}", describe(.0))]
    Platform(#[from] backoffice_core::Error),
    /// The private PostgreSQL did not start or stop.
    #[error(transparent)]
    PrivateDatabase(#[from] backoffice_local_postgres::Error),
    /// The database can't be reached, or rejected a statement of the host.
    #[error("{}", database_text(.0))]
    Database(#[from] tokio_postgres::Error),
    /// A file could not be read or written.
    #[error("{}: {source}; check the path and its permissions", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Any other error, with its full text.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Creates an error with this text.
    pub fn other(message: impl Into<String>) -> Self {
        Self::Other(message.into())
    }

    /// Returns whether the reader of standard output closed the pipe.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == ErrorKind::BrokenPipe)
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

/// Describes an error. For a rejection, its details are more specific than its text.
fn describe(error: &backoffice_core::Error) -> String {
    match error {
        backoffice_core::Error::Rejected(rejection) => {
            let details = rejection
                .details
                .iter()
                .map(|detail| format!("\n  {}: {}", detail.path, detail.message));
            format!("{}{}", rejection.message, details.collect::<String>())
        }
        other => chain(other),
    }
}

fn database_text(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(rejected) => format!("the database rejected the operation: {}", rejected.message()),
        None => format!(
            "the database can't be reached: {}; check database.url and the server",
            chain(error)
        ),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
