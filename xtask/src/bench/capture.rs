//! The statements that the server sends to its database, from the log of PostgreSQL.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use super::database::Database;
use super::pause;
use crate::Result;

/// The way in which a statement reached PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Prepared, not run.
    Parse,
    /// Run.
    Run,
}

/// A statement of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) sql: String,
    pub(super) parameters: Vec<Option<String>>,
}

/// PostgreSQL logs a statement after responding to it. The relay gathers commits for 20 ms, so its statements about a commit come later than this.
const LOGGED_WITHIN: Duration = Duration::from_millis(10);

/// Looks for due events, [`BETWEEN_LOOKS`] apart, in which all must have been delivered.
const LOOKS: u32 = 1200;

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Whether an event is due for a subscriber.
const IS_DUE: &str = "select exists (select from core_event_cursors c \
    join core_event_streams s on s.tenant_id = c.tenant_id and s.name = 'log' \
    where c.last_seq < s.last_seq and c.next_at <= now())";

/// Marks the first line of a message and names the program that caused it.
const PREFIX: &str = "@backoffice@ ";

/// The log of PostgreSQL while it contains every statement.
#[derive(Debug)]
pub(super) struct Log<'a> {
    database: &'a Database,
    file: PathBuf,
}

impl<'a> Log<'a> {
    pub(super) fn open(database: &'a Database) -> Result<Self> {
        database.execute("alter system set log_line_prefix = '@%a@ '")?;
        database.execute("alter system set log_min_duration_statement = 0")?;
        database.execute("select pg_reload_conf()")?;
        pause(Duration::from_millis(300));
        Ok(Self {
            database,
            file: database.log.clone(),
        })
    }

    pub(super) fn close(self) -> Result<()> {
        self.database.execute("alter system reset all")?;
        self.database.execute("select pg_reload_conf()")?;
        pause(Duration::from_millis(300));
        Ok(())
    }

    /// Waits until no event is due, then returns the statements logged while `work` runs. Those of the relay, after a commit, are not among them.
    ///
    /// # Errors
    /// As [`wait_for_deliveries`], and those of the work.
    pub(super) fn during(&self, work: impl FnOnce() -> Result<()>) -> Result<Vec<Entry>> {
        wait_for_deliveries(self.database)?;
        let mut file = File::open(&self.file)?;
        let start = file.seek(SeekFrom::End(0))?;
        work()?;
        pause(LOGGED_WITHIN);
        let end = file.metadata()?.len();
        let mut text = String::new();
        file.take(end - start).read_to_string(&mut text)?;
        Ok(entries(&text))
    }
}

/// Waits until no event is due.
///
/// # Errors
/// When events are still due after two minutes.
pub(super) fn wait_for_deliveries(database: &Database) -> Result<()> {
    let mut looks = 0;
    while database.text(IS_DUE)? == "t" {
        looks += 1;
        if looks > LOOKS {
            return Err("events are still due".into());
        }
        pause(BETWEEN_LOOKS);
    }
    // The relay looks again after its last delivery.
    pause(Duration::from_millis(200));
    Ok(())
}

fn entries(log: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut takes_details = false;
    for message in messages(log) {
        if let Some(text) = message.strip_prefix("LOG:  duration: ") {
            let entry = text.split_once(" ms  ").and_then(|(_, text)| entry(text));
            takes_details = entry.is_some();
            found.extend(entry);
        } else if let Some((word, text)) = message.strip_prefix("DETAIL:  ").and_then(|text| text.split_once(':'))
            && word.eq_ignore_ascii_case("parameters")
            && takes_details
            && let Some(last) = found.last_mut()
        {
            last.parameters = parameters(text);
        }
    }
    found
}

/// Returns the messages about the server's connections, with their lines joined.
fn messages(log: &str) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    let mut is_ours = false;
    for line in log.lines() {
        if let Some(text) = line.strip_prefix(PREFIX) {
            is_ours = true;
            messages.push(text.to_owned());
        } else if let Some(text) = line.strip_prefix('\t') {
            if let Some(last) = messages.last_mut().filter(|_| is_ours) {
                last.push('\n');
                last.push_str(text);
            }
        } else {
            is_ours = false;
        }
    }
    messages
}

/// Parses `statement: begin`, `parse s1: select`, `execute s1: select`; a bind is counted as a part of the execution.
fn entry(text: &str) -> Option<Entry> {
    let (head, sql) = text.split_once(": ")?;
    let kind = match head.split(' ').next()? {
        "parse" => Kind::Parse,
        "execute" | "statement" => Kind::Run,
        _ => return None,
    };
    Some(Entry {
        kind,
        sql: sql.to_owned(),
        parameters: Vec::new(),
    })
}

/// Parses `$1 = 'it''s', $2 = NULL`.
fn parameters(text: &str) -> Vec<Option<String>> {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(" = ") {
        if let Some(tail) = after.strip_prefix("NULL") {
            values.push(None);
            rest = tail;
            continue;
        }
        let mut value = String::new();
        let mut characters = after.char_indices().skip(1).peekable();
        let mut end = after.len();
        while let Some((index, character)) = characters.next() {
            if character != '\'' {
                value.push(character);
            } else if characters.next_if(|(_, next)| *next == '\'').is_some() {
                value.push('\'');
            } else {
                end = index + 1;
                break;
            }
        }
        values.push(Some(value));
        rest = &after[end..];
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_read_with_its_lines_and_parameters() {
        let log = "@other@ LOG:  duration: 1 ms  statement: select 2\n\tfrom x\n\
            @backoffice@ LOG:  duration: 0.1 ms  parse s1: select\n\t$1\n\
            @backoffice@ LOG:  duration: 0.1 ms  bind s1: select\n\t$1\n@backoffice@ DETAIL:  Parameters: $1 = 'x'\n\
            @backoffice@ LOG:  duration: 0.1 ms  execute s1: select\n\t$1\n\
            @backoffice@ DETAIL:  Parameters: $1 = 'it''s, $2 = ', $2 = NULL\n";

        let found = entries(log);

        let values = vec![Some("it's, $2 = ".to_owned()), None];
        let sql = "select\n$1".to_owned();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].kind, Kind::Parse);
        assert_eq!(
            found[1],
            Entry {
                kind: Kind::Run,
                sql,
                parameters: values
            }
        );
    }
}
