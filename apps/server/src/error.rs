//! What keeps the host from starting or a command from succeeding. Every text names the next step.

use std::path::PathBuf;

use backoffice_core::config::ConfigError;

/// The result of the host's steps.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the host or a command stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value of the configuration can't be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The platform refused or failed.
    #[error("{}", describe(.0))]
    Platform(#[from] backoffice_core::Error),
    /// The private PostgreSQL did not start or stop.
    #[error(transparent)]
    PrivateDatabase(#[from] backoffice_local_postgres::Error),
    /// The database can't be reached, or refused a statement of the host.
    #[error("{}", database_text(.0))]
    Database(#[from] tokio_postgres::Error),
    /// A file could not be read or written.
    #[error("{}: {source}; check the path and its permissions", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Anything else, said in full.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// An error said in full.
    pub fn other(message: impl Into<String>) -> Self {
        Self::Other(message.into())
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

/// The violated rules of a refusal say more than its text.
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
        Some(rejected) => format!("the database refused: {}", rejected.message()),
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
