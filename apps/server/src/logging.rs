//! Log lines, on standard error: standard output belongs to data.

use std::io::{self, IsTerminal};

use backoffice_core::config::ConfigError;
use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};
use crate::{Error, Result};

/// Starts writing log lines. To be called once.
///
/// # Errors
/// When the level can't be read, or something else writes log lines already.
pub(crate) fn start(config: &LogConfig) -> Result<()> {
    // The listeners' own lines repeat what the host says; directives of the setting win over this one.
    let filter = EnvFilter::try_new(format!("actix_server=warn,{}", config.level))
        .map_err(|error| ConfigError::new("log.level", format!("{error}; write error, warn, info, debug or trace")))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    let started = match config.format {
        LogFormat::Text => lines
            .with_target(false)
            .with_ansi(io::stderr().is_terminal())
            .try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Error::other(error.to_string()))
}
