//! Log lines on standard error; standard output is reserved for data.

use std::fmt::{self, Debug};
use std::io::{self, IsTerminal};

use backoffice_core::config::ConfigError;
use backoffice_core::text::escape_control_characters;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{LogConfig, LogFormat};
use crate::{Error, Result};

/// Starts writing log lines. Must be called once.
///
/// # Errors
/// When the level is invalid, or another logger is already installed.
pub(crate) fn start(config: &LogConfig) -> Result<()> {
    let filter = filter(&config.level)?;
    let lines = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(io::stderr);
    let started = match config.format {
        LogFormat::Text => lines
            .with_target(false)
            .fmt_fields(text_fields())
            .with_ansi(io::stderr().is_terminal())
            .finish()
            .with(filter)
            .try_init(),
        LogFormat::Json => lines.json().flatten_event(true).finish().with(filter).try_init(),
    };
    started.map_err(|error| Error::other(error.to_string()))
}

/// Levels of targets that `log.level` does not name. The listeners' own lines repeat those of the host, and every client can cause errors of the HTTP
/// parser.
const QUIET: [(&str, LevelFilter); 2] = [
    ("actix_server", LevelFilter::WARN),
    ("actix_http::h1::dispatcher", LevelFilter::OFF),
];

/// Parses a level, or directives such as `info,backoffice_core=debug`.
fn filter(level: &str) -> Result<Targets> {
    let invalid = |problem: String| {
        let message = format!(
            "{problem}; write off, error, warn, info, debug or trace, or directives such as info,backoffice_core=debug"
        );
        ConfigError::new("log.level", message)
    };
    let directives: Vec<&str> = level.split(',').map(str::trim).collect();
    // The parser takes any other word for a target, and an empty text for a level.
    let is_level = |text: &str| !text.is_empty() && text.parse::<LevelFilter>().is_ok();
    if let Some(word) = directives.iter().find(|text| !text.contains('=') && !is_level(text)) {
        return Err(invalid(format!("`{word}` is not a level")).into());
    }
    let named: Targets = directives
        .join(",")
        .parse()
        .map_err(|error: ParseError| invalid(error.to_string()))?;
    let is_named = |quiet: &str| named.iter().any(|(target, _)| quiet.starts_with(target));
    let quiet = QUIET.into_iter().filter(|(target, _)| !is_named(target));
    Ok(named.clone().with_targets(quiet))
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
    fn a_level_and_directives_for_targets_are_accepted() {
        use tracing::Level;

        let filter = filter("info,backoffice_core=debug").expect("a filter");

        assert!(filter.would_enable("backoffice_auth", &Level::INFO));
        assert!(!filter.would_enable("backoffice_auth", &Level::DEBUG));
        assert!(filter.would_enable("backoffice_core::jobs", &Level::DEBUG));
        assert!(!filter.would_enable("actix_server", &Level::INFO));
        let rejected = super::filter("info,backoffice_core=loud")
            .expect_err("no level")
            .to_string();
        assert!(rejected.contains("log.level"), "{rejected}");
    }

    #[test]
    fn a_word_that_is_not_a_level_is_rejected() {
        for level in [
            "warning",
            "loud",
            "",
            "info,",
            "info,backoffice_core",
            "backoffice_core=debug,warning",
        ] {
            let rejected = filter(level).expect_err("not a level").to_string();

            let names_levels = rejected.contains("log.level") && rejected.contains("off, error, warn, info");
            assert!(names_levels, "{level}: {rejected}");
        }
        for level in [
            "off",
            "WARN",
            "trace",
            "backoffice_core=debug",
            "info, backoffice_core=debug",
        ] {
            assert!(filter(level).is_ok(), "{level}");
        }
    }

    #[test]
    fn errors_that_clients_cause_are_logged_only_if_their_target_is_named() {
        use tracing::Level;
        const PARSER: &str = "actix_http::h1::dispatcher";
        let logs = |level: &str| filter(level).expect("a filter").would_enable(PARSER, &Level::ERROR);

        assert!(!logs("info") && !logs("trace") && !logs("info,backoffice_core=debug"));
        assert!(logs("info,actix_http=error") && logs("info,actix_http::h1::dispatcher=error"));
        assert!(
            filter("info")
                .expect("a filter")
                .would_enable("actix_http::h1::service", &Level::ERROR)
        );
    }

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
