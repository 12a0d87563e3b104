//! Tables that are partitioned by the month of their ids: what modules declare, and the functions of the database that create and drop months.
//!
//! A migration of the module passes the table to `app_partition_by_month`. From then on [`retention`](crate::retention) creates its coming months
//! and drops the old ones.

use std::sync::Arc;
use std::time::Duration;

use diesel::sql_types::{Bool, Integer, Text, Timestamptz};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use crate::collections;
use crate::config::{AuditConfig, Config, ConfigError};
use crate::db::Connector;
use crate::error::{Error, Result};
use crate::platform::Platform;
use crate::time::Timestamp;

/// The table of the action log.
pub(crate) const ACTION_LOG: &str = "audit_action_logs";
/// Months that exist ahead of the present one.
const AHEAD: i32 = 3;
/// Two hundred years, which PostgreSQL can subtract from any instant of a clock.
const FOR_EVER_MONTHS: u32 = 2400;

/// How long the rows of a table are kept. A month is dropped when all of its rows are older.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// No month is dropped.
    ForEver,
    /// Calendar months.
    Months(u32),
    /// At least a day.
    Time(Duration),
}

impl Kept {
    /// Returns the duration as PostgreSQL reads intervals.
    fn interval(self) -> String {
        let longest = u64::from(FOR_EVER_MONTHS) * 30 * 24 * 3600;
        match self {
            Self::ForEver => format!("{FOR_EVER_MONTHS} months"),
            Self::Months(months) => format!("{} months", months.min(FOR_EVER_MONTHS)),
            Self::Time(time) => format!("{} seconds", time.as_secs().min(longest)),
        }
    }
}

/// A table that is partitioned by the month of its ids.
#[derive(Debug)]
pub struct MonthlyTable {
    /// The table, which a migration of the module has passed to `app_partition_by_month`.
    pub name: &'static str,
    /// The kind of its rows: lists that show it have another version after months were dropped.
    pub kind: &'static str,
    /// Reads from the configuration how long rows are kept.
    pub kept: fn(&Config) -> Result<Kept, ConfigError>,
}

/// The tables of core.
const OF_CORE: &[MonthlyTable] = &[
    MonthlyTable {
        name: ACTION_LOG,
        kind: collections::LOG,
        kept: |config| {
            let audit: AuditConfig = config.section("audit")?;
            Ok(match audit.checked()?.action.retention_months {
                0 => Kept::ForEver,
                months => Kept::Months(months),
            })
        },
    },
    MonthlyTable {
        name: "audit_access_logs",
        kind: collections::ACCESS_LOG,
        kept: |config| {
            let audit: AuditConfig = config.section("audit")?;
            Ok(match audit.checked()?.access.retention_days {
                0 => Kept::ForEver,
                days => Kept::Time(Duration::from_secs(u64::from(days) * 24 * 3600)),
            })
        },
    },
];

/// A monthly table with its configured retention.
#[derive(Debug, Clone, Copy)]
pub struct ConfiguredTable {
    /// The table.
    pub name: &'static str,
    /// The kind of its rows.
    pub kind: &'static str,
    /// How long rows are kept.
    pub kept: Kept,
}

/// Returns the tables of core and these ones, with the configured retention.
pub(crate) fn configured(
    config: &Config,
    declared: impl IntoIterator<Item = &'static MonthlyTable>,
) -> Result<Vec<ConfiguredTable>, ConfigError> {
    let all = OF_CORE.iter().chain(declared);
    all.map(|table| {
        Ok(ConfiguredTable {
            name: table.name,
            kind: table.kind,
            kept: (table.kept)(config)?,
        })
    })
    .collect()
}

/// The monthly tables of the enabled modules.
pub(crate) struct MonthlyTables(pub(crate) Arc<[ConfiguredTable]>);

impl Platform {
    /// Returns the tables of core and of the enabled modules that are partitioned by month.
    #[must_use]
    pub fn monthly_tables(&self) -> Arc<[ConfiguredTable]> {
        Arc::clone(&self.services::<MonthlyTables>().0)
    }
}

#[derive(QueryableByName)]
struct Created {
    #[diesel(sql_type = Bool)]
    complete: bool,
}

/// Creates the coming months of a table. Returns false if another session held a lock for too long.
pub(crate) async fn create(connection: &mut AsyncPgConnection, table: &ConfiguredTable) -> Result<bool> {
    let created: Created = sql_query("select complete from app_make_months($1, $2)")
        .bind::<Text, _>(table.name)
        .bind::<Integer, _>(AHEAD)
        .get_result(connection)
        .await?;
    Ok(created.complete)
}

/// The result of dropping months.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct Dropped {
    /// Number of months, and of rows from before the first one.
    #[diesel(sql_type = Integer)]
    pub(crate) gone: i32,
    /// False if another session held a lock for too long, or more rows are left.
    #[diesel(sql_type = Bool)]
    pub(crate) complete: bool,
}

/// Drops the months of a table that are older than its retention.
pub(crate) async fn drop_old(
    connection: &mut AsyncPgConnection,
    table: &ConfiguredTable,
    now: Timestamp,
) -> Result<Dropped> {
    if table.kept == Kept::ForEver {
        return Ok(Dropped {
            gone: 0,
            complete: true,
        });
    }
    let dropped = sql_query("select gone, complete from app_drop_months($1, $2 - $3::interval)")
        .bind::<Text, _>(table.name)
        .bind::<Timestamptz, _>(now)
        .bind::<Text, _>(table.kept.interval())
        .get_result(connection)
        .await?;
    Ok(dropped)
}

/// Stores the configured retention of these tables, as the schema's owner: from then on the application's role can't drop younger rows.
///
/// # Errors
/// When the database can't be reached, or no migration has partitioned a table.
pub async fn keep(owner: &Connector, tables: &[ConfiguredTable]) -> Result<()> {
    let mut connection = owner.diesel().await?;
    for table in tables {
        let stored = sql_query("update core_monthly_tables set kept = $2::interval where name = $1")
            .bind::<Text, _>(table.name)
            .bind::<Text, _>(table.kept.interval())
            .execute(&mut connection)
            .await?;
        if stored == 0 {
            let message = format!(
                "table {} is not partitioned by month; call app_partition_by_month in a migration",
                table.name
            );
            return Err(Error::internal(message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retentions_are_intervals_of_at_most_two_hundred_years() {
        let intervals = [
            (Kept::ForEver, "2400 months"),
            (Kept::Months(24), "24 months"),
            (Kept::Months(u32::MAX), "2400 months"),
            (Kept::Time(Duration::from_secs(86_400)), "86400 seconds"),
            (Kept::Time(Duration::MAX), "6220800000 seconds"),
        ];

        for (kept, interval) in intervals {
            assert_eq!(kept.interval(), interval);
        }
    }

    #[test]
    fn the_logs_are_kept_as_configured() {
        let kept = |text: &str| {
            let config = Config::from_toml(text).expect("valid TOML");
            configured(&config, []).map(|tables| tables.iter().map(|table| table.kept).collect::<Vec<_>>())
        };

        let days = |days: u64| Kept::Time(Duration::from_secs(days * 86_400));
        assert_eq!(kept("").expect("defaults"), [Kept::Months(24), days(90)]);
        let for_ever = "[audit]\naction.retention_months = 0\naccess.retention_days = 0\n";
        assert_eq!(kept(for_ever).expect("valid"), [Kept::ForEver, Kept::ForEver]);
        let error = kept("[audit.action]\nretention_months = 1201\n").expect_err("too long");
        assert_eq!(error.key, "audit.action.retention_months");
    }
}
