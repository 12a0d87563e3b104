//! The settings with which sessions of the platform start. They are sent in the startup parameter `options`, which a pooler may reject or drop.

use std::time::Duration;

use tokio_postgres::{Client, Config};

use crate::error::Result;

/// What the planner assumes in sessions of the platform. `options` of the URL come after it and win.
///
/// PostgreSQL's defaults are those of disks that move a head: a random page costs as much as four consecutive ones, so a table of some hundred rows
/// is read as a whole although an index has the few rows. JIT compilation pays for statements of seconds; those of requests read a page of rows.
pub const PLANNER_OPTIONS: &str = "-c random_page_cost=1.1 -c jit=off";

/// The startup parameter `options` of sessions of the platform.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// `options` of the URL.
    given: String,
    /// Limits of time and the isolation level. They come after `options` of the URL and win. Values are as in `pg_settings.setting`; those of limits
    /// are in milliseconds.
    required: Vec<(&'static str, String)>,
}

/// A setting of a session that differs from the one with which the session should have started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmetSetting {
    /// Its name.
    pub name: String,
    /// The requested value; durations are in milliseconds.
    pub requested: String,
    /// The value in effect.
    pub found: String,
}

/// The settings of a session that are not in effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnmetSettings {
    /// Limits of time, without which a statement, a lock or an idle transaction may block others forever, and the isolation level: at a higher one,
    /// transactions that wait for each other's locks fail instead of continuing.
    pub required: Vec<UnmetSetting>,
    /// Assumptions of the planner, which only change the speed. Those that `options` of the URL mention are not compared.
    pub planner: Vec<UnmetSetting>,
}

impl SessionOptions {
    /// Returns the options for sessions of a configuration, whose own `options` come from the URL.
    #[must_use]
    pub fn new(config: &Config, statement_timeout: Duration) -> Self {
        Self {
            given: config.get_options().unwrap_or_default().to_owned(),
            required: vec![
                ("lock_timeout", "5000".to_owned()),
                ("idle_in_transaction_session_timeout", "60000".to_owned()),
                ("statement_timeout", statement_timeout.as_millis().to_string()),
                ("default_transaction_isolation", "read committed".to_owned()),
            ],
        }
    }

    /// Starts every session of the configuration with these options.
    pub fn apply(&self, config: &mut Config) {
        let mut options = format!("{PLANNER_OPTIONS} {}", self.given);
        for (name, value) in self.required() {
            // The server splits the options at spaces, unless a backslash precedes them.
            options.push_str(&format!(" -c {name}={}", value.replace(' ', r"\ ")));
        }
        config.options(options);
    }

    /// Returns the settings without which the platform does not serve, as names and values.
    pub fn required(&self) -> impl Iterator<Item = (&str, &str)> {
        self.required.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Compares the settings of a session with these options, in one statement.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn unmet(&self, client: &Client) -> Result<UnmetSettings> {
        let planner = settings(PLANNER_OPTIONS).filter(|(name, _)| !self.given.contains(name));
        let (planner, required): (Vec<_>, Vec<_>) = (planner.collect(), self.required().collect());
        let names: Vec<&str> = planner.iter().chain(&required).map(|(name, _)| *name).collect();
        let rows = client
            .query("select name, setting from pg_settings where name = any($1)", &[&names])
            .await?;
        let mut found: Vec<(&str, &str)> = Vec::with_capacity(rows.len());
        for row in &rows {
            found.push((row.try_get(0)?, row.try_get(1)?));
        }
        Ok(UnmetSettings {
            required: differing(&required, &found),
            planner: differing(&planner, &found),
        })
    }
}

/// Parses options of the form `-c name=value`.
fn settings(options: &str) -> impl Iterator<Item = (&str, &str)> {
    options
        .split("-c ")
        .filter_map(|option| option.trim_end().split_once('='))
}

fn differing(requested: &[(&str, &str)], found: &[(&str, &str)]) -> Vec<UnmetSetting> {
    let unmet = requested.iter().filter_map(|&(name, requested)| {
        let in_effect = found.iter().find(|(other, _)| *other == name);
        let found = in_effect.map_or("missing", |(_, value)| value);
        (found != requested).then(|| UnmetSetting {
            name: name.to_owned(),
            requested: requested.to_owned(),
            found: found.to_owned(),
        })
    });
    unmet.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_settings_win_over_the_url_and_the_url_over_the_planner() {
        let mut config = Config::new();
        config.options("-c jit=on -c lock_timeout=1h");

        let options = SessionOptions::new(&config, Duration::from_secs(30));
        options.apply(&mut config);

        assert_eq!(
            config.get_options(),
            Some(
                "-c random_page_cost=1.1 -c jit=off -c jit=on -c lock_timeout=1h \
                 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=60000 -c statement_timeout=30000 \
                 -c default_transaction_isolation=read\\ committed"
            )
        );
        let required: Vec<_> = options.required().collect();
        assert_eq!(
            required,
            [
                ("lock_timeout", "5000"),
                ("idle_in_transaction_session_timeout", "60000"),
                ("statement_timeout", "30000"),
                ("default_transaction_isolation", "read committed")
            ]
        );
    }
}
