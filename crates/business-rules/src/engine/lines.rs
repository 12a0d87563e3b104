//! Lines that rules write into the log of the server.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use backoffice_core::Timestamp;
use backoffice_core::text::escape_control_characters;
use uuid::Uuid;

use super::PlannedLine;
use crate::action::MessageLevel;
use crate::compiled::CompiledRule;

/// Maximum number of lines that the rules of all tenants write per second in one process; a flood must not fill the disk.
const LINES_PER_SECOND: u32 = 20;
/// Maximum number of them that the rules of one tenant write.
const LINES_OF_TENANT: u32 = 5;

/// Counts the lines of one process.
#[derive(Debug, Default)]
pub(crate) struct LineLog(Mutex<Second>);

#[derive(Debug, Default)]
struct Second {
    unix: i64,
    lines: u32,
    /// The tenants that have written a line.
    of_tenants: HashMap<Uuid, u32>,
    suppressed: u64,
}

impl LineLog {
    /// Writes a line of a rule, unless its tenant or all tenants have written too many in this second. `now` is the time of the clock, not that of
    /// the request: runs take long.
    pub(crate) fn write(&self, now: Timestamp, tenant: Uuid, rule: &CompiledRule, line: &PlannedLine) {
        let Some(suppressed) = self.admit(now, tenant) else {
            return;
        };
        if suppressed > 0 {
            tracing::warn!(lines.suppressed = suppressed, "lines of rules not logged");
        }
        let text = escape_control_characters(&line.text);
        match line.level {
            MessageLevel::Error => tracing::error!(rule.id = %rule.id, message = %text, "rule logged"),
            MessageLevel::Warning => tracing::warn!(rule.id = %rule.id, message = %text, "rule logged"),
            MessageLevel::Info => tracing::info!(rule.id = %rule.id, message = %text, "rule logged"),
        }
    }

    /// Returns the number of lines left out since the last one, or `None` when this line must be left out too.
    fn admit(&self, now: Timestamp, tenant: Uuid) -> Option<u64> {
        let unix = now.get().unix_timestamp();
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if second.unix != unix {
            second.unix = unix;
            second.lines = 0;
            second.of_tenants.clear();
        }
        let of_tenant = second.of_tenants.get(&tenant).copied().unwrap_or_default();
        if second.lines == LINES_PER_SECOND || of_tenant == LINES_OF_TENANT {
            second.suppressed += 1;
            return None;
        }
        second.lines += 1;
        second.of_tenants.insert(tenant, of_tenant + 1);
        Some(std::mem::take(&mut second.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("an instant")
    }

    #[test]
    fn a_flood_of_lines_is_counted_and_not_written() {
        let log = LineLog::default();
        let (now, next) = (at("2026-11-20T08:00:00.100Z"), at("2026-11-20T08:00:01Z"));

        let admitted = (0..1000).filter(|number| log.admit(now, Uuid::from_u128(*number)).is_some());

        assert_eq!(admitted.count(), LINES_PER_SECOND as usize);
        let suppressed = 1000 - u64::from(LINES_PER_SECOND);
        assert_eq!(log.admit(next, Uuid::nil()), Some(suppressed));
        assert_eq!(log.admit(next, Uuid::nil()), Some(0));
    }

    #[test]
    fn a_tenant_leaves_lines_to_others() {
        let log = LineLog::default();
        let (now, next) = (at("2026-11-20T08:00:00.100Z"), at("2026-11-20T08:00:01Z"));
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));

        let admitted = (0..1000).filter(|_| log.admit(now, one).is_some()).count();

        assert_eq!(admitted, LINES_OF_TENANT as usize);
        assert_eq!(log.admit(now, other), Some(1000 - u64::from(LINES_OF_TENANT)));
        assert_eq!(log.admit(next, one), Some(0));
    }
}
