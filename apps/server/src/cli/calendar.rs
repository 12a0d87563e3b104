//! `calendar`.

use backoffice_calendar::{Zone, database_version};
use serde_json::json;

use super::arguments::CalendarCommand;
use super::output::Output;
use crate::Result;

/// Runs the command, which needs no database.
pub(super) fn run(command: &CalendarCommand, output: Output) -> Result<()> {
    match command {
        CalendarCommand::Zones => {
            let (version, zones) = (database_version(), Zone::names().len());
            let text = format!("IANA time zone database {version}, {zones} zones");
            output.print(&text, &json!({"version": version, "zones": zones}))
        }
    }
}
