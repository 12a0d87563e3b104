//! Log lines on standard error; standard output is reserved for data.

use std::fmt::{self, Debug};
use std::io::{self, IsTerminal};

use backoffice_core::config::ConfigError;
use backoffice_core::text::escape_control_characters;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

use crate::config::{LogConfig, LogFormat};
use crate::{Error, Result};

/// Starts writing log lines. Must be called once.
///
/// # Errors
/// When the level is invalid, or another logger is already installed.
pub(crate) fn start(config: &LogConfig) -> Result<()> {
    // The listeners' own lines repeat those of the host; directives in the setting override this one.
    let filter = EnvFilter::try_new(format!("actix_server=warn,{}", config.level))
        .map_err(|error| ConfigError::new("log.level", format!("{error}; write error, warn, info, debug or trace")))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    let started = match config.format {
        LogFormat::Text => lines
            .with_target(false)
            .fmt_fields(text_fields())
            .with_ansi(io::stderr().is_terminal())
            .try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Error::other(error.to_string()))
}

/// Formats lines as `message field=value field=value`. Control characters in values are escaped, so that each event stays on one line.
fn text_fields() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    debug_fn(write_field).delimited(" ")
}

fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let value = format!("{value:?}");
    let value = escape_control_characters(&value);
    match field.name() {
        "message" => write!(writer, "{value}"),
        name => write!(writer, "{name}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use backoffice_test_support::Logs;

    use super::*;

    #[test]
    fn f16_a_value_stays_on_its_line_of_the_text_log() {
        let logs = Logs::default();
        let writer = logs.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(true)
            .with_target(false)
            .without_time()
            .fmt_fields(text_fields())
            .with_writer(move || writer.clone())
            .finish();
        let name = "x\r\nBcc: all\u{1b}[31m\u{2028}";

        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(mail.subject = %name, quoted = "a\nb", count = 2, "a mail was written");
        });

        let text = logs.text();
        assert_eq!(text.lines().count(), 1, "{text}");
        let escaped = r#"a mail was written mail.subject=x\r\nBcc: all\u{1b}[31m\u{2028} quoted="a\nb" count=2"#;
        assert!(text.trim_end().ends_with(escaped), "{text}");
    }
}
