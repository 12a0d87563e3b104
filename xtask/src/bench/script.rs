//! Captured statements as a script of pgbench, with the same parameters. Values that differ between requests are generated anew in each transaction,
//! and every client renames a role of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::capture::{Entry, Kind};
use super::database::Database;
use super::subject::{ROLE_PREFIX, Subject, role, role_name};
use super::types::typed;
use crate::Result;

/// A script with the values of its variables.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) file: PathBuf,
    pub(super) values: Vec<(String, String)>,
    /// Number of statements that it runs.
    pub(super) statements: usize,
    /// Number of statements that the server only prepared.
    pub(super) prepared: usize,
}

/// Writes the script of a request that was captured twice.
pub(super) fn write(
    database: &Database,
    subject: &Subject,
    first: &[Entry],
    second: &[Entry],
    work: &Path,
) -> Result<Script> {
    let is_run = |entry: &&Entry| entry.kind == Kind::Run;
    let (runs, again): (Vec<&Entry>, Vec<&Entry>) = (
        first.iter().filter(is_run).collect(),
        second.iter().filter(is_run).collect(),
    );
    if runs.is_empty() {
        return Err(format!("{} ran no statement", subject.title).into());
    }
    if let Some(number) = difference(&runs, &again) {
        let sql = |entries: &[&Entry]| -> String {
            let entry = entries.get(number);
            entry.map_or_else(|| "none".to_owned(), |entry| entry.sql.chars().take(300).collect())
        };
        return Err(format!(
            "{} did not run the same statements twice; statement {}: {} / {}",
            subject.title,
            number + 1,
            sql(&runs),
            sql(&again)
        )
        .into());
    }
    let mut writer = Writer::default();
    let mut body = String::new();
    for (one, other) in runs.iter().zip(&again) {
        let (sql, types) = typed(database, one)?;
        let expressions: Vec<String> = one
            .parameters
            .iter()
            .zip(&other.parameters)
            .zip(&types)
            .map(|((one, other), kind)| writer.expression(one.as_deref(), one != other, kind))
            .collect();
        body.push_str(&substituted(&sql, &expressions));
        body.push_str(";\n");
    }
    let file = work.join(format!("{}.sql", subject.name));
    std::fs::write(&file, format!("{}{body}", writer.settings()))?;
    Ok(Script {
        file,
        values: writer.values,
        statements: runs.len(),
        prepared: first.len() - runs.len(),
    })
}

/// Returns the index of the first statement that only one of the lists has at its place.
fn difference(first: &[&Entry], second: &[&Entry]) -> Option<usize> {
    let longer = first.len().max(second.len());
    (0..longer).find(|&number| match (first.get(number), second.get(number)) {
        (Some(one), Some(other)) => one.sql != other.sql,
        _ => true,
    })
}

/// Replaces `$1`, `$2` outside of quotes by expressions.
pub(super) fn substituted(sql: &str, expressions: &[String]) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql.chars().peekable();
    let mut quote = None;
    while let Some(character) = rest.next() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '$') => {
                let mut number = 0;
                while let Some(digit) = rest.peek().and_then(|next| next.to_digit(10)) {
                    number = number * 10 + digit as usize;
                    rest.next();
                }
                text.push_str(expressions.get(number.wrapping_sub(1)).map_or("null", String::as_str));
                continue;
            }
            _ => {}
        }
        text.push(character);
    }
    text
}

#[derive(Debug, Default)]
struct Writer {
    values: Vec<(String, String)>,
    fresh: BTreeMap<String, String>,
}

impl Writer {
    fn expression(&mut self, value: Option<&str>, differs: bool, kind: &str) -> String {
        let Some(value) = value else {
            return format!("null::{kind}");
        };
        let array = value
            .strip_prefix('{')
            .and_then(|value| value.strip_suffix('}'))
            .filter(|_| kind.starts_with('_'));
        let scalar = match array {
            Some(element) if element.parse::<Uuid>().is_ok() => self.varying(element, differs),
            Some(_) => None,
            None => self.varying(value, differs),
        };
        match (scalar, array) {
            (Some(scalar), Some(_)) => format!("array[{scalar}]::{kind}"),
            (Some(scalar), None) => format!("({scalar})::{kind}"),
            (None, _) => {
                let name = format!("p{}", self.values.len());
                self.values.push((name.clone(), value.to_owned()));
                format!(":{name}::{kind}")
            }
        }
    }

    /// Returns an expression for a value that depends on the client or the transaction.
    fn varying(&mut self, value: &str, differs: bool) -> Option<String> {
        let name = role_name(0, 0);
        let name = name.trim_end_matches('0');
        if value == role(0) {
            return Some(format!("'{ROLE_PREFIX}' || lpad(:client_id::text, 12, '0')"));
        }
        if differs && value.starts_with(name) {
            return Some("'bench role ' || :client_id::text || ' ' || lpad(:round::text, 12, '0')".to_owned());
        }
        if differs && value.parse::<Uuid>().is_ok() {
            let number = self.fresh.len();
            let variable = self
                .fresh
                .entry(value.to_owned())
                .or_insert_with(|| format!("f{number}"));
            return Some(format!(
                "'{}' || lpad(to_hex(:{variable}::int8), 12, '0')",
                &value[..24]
            ));
        }
        None
    }

    /// Returns the first lines of the script.
    fn settings(&self) -> String {
        let random = |name: &str, below: u64| format!("\\set {name} random(1, {below})\n");
        let mut text = String::new();
        if !self.fresh.is_empty() {
            text.push_str(&random("round", 999_999_999_999));
        }
        for name in self.fresh.values() {
            text.push_str(&random(name, 281_474_976_710_655));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_in_quotes_are_text() {
        let sql = substituted("select '$1', $2, \"$1\", $1 $12", &["a".to_owned(), "b".to_owned()]);

        assert_eq!(sql, "select '$1', b, \"$1\", a null");
    }

    #[test]
    fn an_id_that_is_new_in_every_request_is_generated_anew() {
        let mut writer = Writer::default();
        let id = "0198a000-0000-7000-8000-0123456789ab";

        let scalar = writer.expression(Some(id), true, "uuid");
        let array = writer.expression(Some(&format!("{{{id}}}")), true, "_uuid");

        assert_eq!(
            scalar,
            "('0198a000-0000-7000-8000-' || lpad(to_hex(:f0::int8), 12, '0'))::uuid"
        );
        assert_eq!(
            array,
            "array['0198a000-0000-7000-8000-' || lpad(to_hex(:f0::int8), 12, '0')]::_uuid"
        );
        assert!(writer.values.is_empty());
    }

    #[test]
    fn what_stays_is_a_variable() {
        let mut writer = Writer::default();

        assert_eq!(writer.expression(Some("it's"), false, "text"), ":p0::text");
        assert_eq!(writer.expression(None, false, "int8"), "null::int8");
        assert_eq!(writer.values, [("p0".to_owned(), "it's".to_owned())]);
    }
}
