//! Errors of the database.

use diesel::result::{DatabaseErrorKind, Error as DieselError};

use super::Error;

impl From<DieselError> for Error {
    fn from(error: DieselError) -> Self {
        let DieselError::DatabaseError(kind, information) = &error else {
            return Self::Internal(Box::new(error));
        };
        match kind {
            DatabaseErrorKind::SerializationFailure => Self::Collision(Box::new(error)),
            // After a failover, the server may be a standby, which accepts no writes.
            DatabaseErrorKind::ClosedConnection
            | DatabaseErrorKind::UnableToSendCommand
            | DatabaseErrorKind::ReadOnlyTransaction => Self::Unavailable(Box::new(error)),
            _ => match information.message() {
                "deadlock detected" => Self::Collision(Box::new(error)),
                // 40P01, 55P03 and the 57P0x family have no kind of their own in diesel, which hides their SQLSTATE, so the English message is
                // compared; startup rejects a server with messages in another language.
                "canceling statement due to lock timeout"
                | "canceling statement due to statement timeout"
                | "canceling statement due to user request"
                | "connection closed"
                | "terminating connection due to administrator command"
                | "terminating connection due to idle-session timeout"
                | "terminating connection due to unexpected postmaster exit"
                | "terminating connection because of crash of another server process"
                | "the database system is shutting down"
                | "the database system is starting up" => Self::Unavailable(Box::new(error)),
                message if lacks_resources(message) => Self::Unavailable(Box::new(error)),
                _ => Self::Internal(Box::new(error)),
            },
        }
    }
}

/// Returns whether a message is one of 53100 or 53200: the server has no free disk or memory.
fn lacks_resources(message: &str) -> bool {
    matches!(message, "out of memory" | "out of shared memory")
        || message.starts_with("could not extend file ")
        || message.ends_with(": No space left on device")
}

/// A connection that could not be opened or has ended. The text of the error does not contain its cause.
impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Unavailable(match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}").into(),
            None => Box::new(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_free_disk_or_memory_is_unavailable() {
        let converted = |message: &str| {
            let information = Box::new(message.to_owned());
            Error::from(DieselError::DatabaseError(DatabaseErrorKind::Unknown, information))
        };

        for message in [
            "could not extend file \"base/16384/16397\": No space left on device",
            "could not extend file \"base/16384/16397\": wrote only 4096 of 8192 bytes at block 7",
            "could not write to file \"base/pgsql_tmp/pgsql_tmp9.0\": No space left on device",
            "out of memory",
            "out of shared memory",
        ] {
            let error = converted(message);
            assert!(matches!(error, Error::Unavailable(_)), "{message}: {error:?}");
        }
        for message in [
            "division by zero",
            "invalid input syntax for type json: \": No space left on device\"",
        ] {
            let error = converted(message);
            assert!(matches!(error, Error::Internal(_)), "{message}: {error:?}");
        }
    }
}
