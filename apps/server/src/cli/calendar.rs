//! `calendar`.

use backoffice_calendar::{Zone, database_version};
use serde_json::json;

use super::arguments::CalendarCommand;
use super::output::Output;
use crate::config::Settings;
use crate::{Result, host};

/// Runs the command, which needs no database.
pub(super) fn run(settings: &Settings, command: &CalendarCommand, output: Output) -> Result<()> {
    host::check_settings(settings)?;
    match command {
        CalendarCommand::Zones => {
            let (version, zones) = (database_version(), Zone::names().len());
            let text = format!("IANA time zone database {version}, {zones} zones");
            output.print(&text, &json!({"version": version, "zones": zones}))
        }
    }
}
