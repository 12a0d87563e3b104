//! The types of a captured statement's parameters. The log contains only their values. PostgreSQL infers the type of a parameter except in `unnest`:
//! there the statement needs a cast, and an array of nulls may be of any type.

use uuid::Uuid;

use super::capture::Entry;
use super::database::{Database, Prepared};
use super::script::substituted;
use crate::Result;

/// Types that a value may have, in order of likelihood; the empty string means no cast.
const NOTHING_SAID: [&str; 9] = [
    "text[]",
    "uuid[]",
    "jsonb[]",
    "int8[]",
    "int4[]",
    "int2[]",
    "bool[]",
    "timestamptz[]",
    "",
];

/// Returns the statement, with casts where PostgreSQL can't infer the type of a parameter, and the types.
pub(super) fn typed(database: &Database, entry: &Entry) -> Result<(String, Vec<String>)> {
    if entry.parameters.is_empty() {
        return Ok((entry.sql.clone(), Vec::new()));
    }
    let received = |sql: &str| database.prepare(sql);
    match search(&entry.sql, &entry.parameters, received)? {
        Ok(found) => Ok(found),
        Err(error) => Err(format!(
            "captured statement could not be prepared: {error}: {} {:?}",
            entry.sql, entry.parameters
        )
        .into()),
    }
}

/// Chooses the types one after the other such that PostgreSQL's error moves to a later position in the text. All casts have the same width, so
/// positions can be compared. The inner error is the one for the best choice.
fn search(
    sql: &str,
    parameters: &[Option<String>],
    prepare: impl Fn(&str) -> Result<Prepared>,
) -> Result<std::result::Result<(String, Vec<String>), String>> {
    let mut reached = match prepare(sql)? {
        Prepared::Types(types) => return Ok(Ok((sql.to_owned(), types))),
        Prepared::Rejected { error, .. } => (0, error),
    };
    let candidates: Vec<&[&str]> = parameters.iter().map(|value| candidates(value.as_deref())).collect();
    let mut choice: Vec<usize> = vec![0; candidates.len()];
    let mut is_first = true;
    loop {
        let mut better = None;
        let attempts = variants(&choice, &candidates, is_first);
        for attempt in attempts {
            let sql = with_casts(sql, &candidates, &attempt);
            match prepare(&sql)? {
                Prepared::Types(types) => return Ok(Ok((sql, types))),
                Prepared::Rejected { position, error } if position > reached.0 => {
                    reached = (position, error);
                    better = Some(attempt);
                    break;
                }
                Prepared::Rejected { .. } => {}
            }
        }
        is_first = false;
        match better {
            Some(attempt) => choice = attempt,
            None => return Ok(Err(reached.1)),
        }
    }
}

/// Returns the choice itself, if requested, and all choices that differ from it in one parameter.
fn variants(choice: &[usize], candidates: &[&[&str]], itself_too: bool) -> Vec<Vec<usize>> {
    let itself = itself_too.then(|| choice.to_vec());
    let others = candidates.iter().enumerate().flat_map(|(index, types)| {
        (0..types.len())
            .filter(move |other| choice[index] != *other)
            .map(move |other| {
                let mut changed = choice.to_vec();
                changed[index] = other;
                changed
            })
    });
    itself.into_iter().chain(others).collect()
}

fn with_casts(sql: &str, candidates: &[&[&str]], choice: &[usize]) -> String {
    let parameters: Vec<String> = candidates
        .iter()
        .zip(choice)
        .enumerate()
        .map(|(index, (types, chosen))| match types.get(*chosen) {
            None => format!("${}", index + 1),
            Some(&"") => format!("${}  {:13}", index + 1, ""),
            Some(name) => format!("${}::{name:13}", index + 1),
        })
        .collect();
    substituted(sql, &parameters)
}

/// Returns the candidate types; none for a value that is not an array.
fn candidates(value: Option<&str>) -> &'static [&'static str] {
    let Some(value) = value else { return &[] };
    if value == "{}" {
        return &NOTHING_SAID;
    }
    if !value.starts_with('{') || serde_json::from_str::<serde_json::Value>(value).is_ok() {
        return &[];
    }
    let inner = value.trim_start_matches('{').trim_end_matches('}');
    if value.starts_with("{\"{") {
        return &["jsonb[]", "text[]"];
    }
    let elements: Vec<&str> = inner.split(',').filter(|element| *element != "NULL").collect();
    let all = |fits: fn(&str) -> bool| elements.iter().all(|element| fits(element));
    if elements.is_empty() {
        &NOTHING_SAID
    } else if all(|element| element.parse::<Uuid>().is_ok()) {
        &["uuid[]", "text[]"]
    } else if all(|element| matches!(element, "t" | "f")) {
        &["bool[]", "text[]"]
    } else if all(|element| element.parse::<i64>().is_ok()) {
        &["int8[]", "int4[]", "int2[]", "text[]"]
    } else {
        &["text[]", "jsonb[]", "timestamptz[]"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(value: &str) -> Option<&'static str> {
        candidates(Some(value)).first().copied()
    }

    #[test]
    fn a_type_is_guessed_from_what_the_array_holds() {
        assert_eq!(first("{t,f,NULL}"), Some("bool[]"));
        assert_eq!(first("{NULL,0198a000-0000-7000-8000-0123456789ab}"), Some("uuid[]"));
        assert_eq!(first("{7,-1}"), Some("int8[]"));
        assert_eq!(first("{\"{\\\"a\\\": 1}\"}"), Some("jsonb[]"));
        assert_eq!(first("{auth.roles.view}"), Some("text[]"));
        for anything in ["{}", "{NULL}", "{NULL,NULL}"] {
            assert_eq!(candidates(Some(anything)).len(), NOTHING_SAID.len(), "{anything}");
        }
        assert_eq!(
            (first("{\"a\": 1}"), first("text"), candidates(None).len()),
            (None, None, 0)
        );
    }

    /// Rejects the first parameter that does not have the wanted type, as PostgreSQL does.
    fn server(wanted: &'static [&'static str]) -> impl Fn(&str) -> Result<Prepared> {
        move |sql| {
            let types: Vec<&str> = sql
                .split("::")
                .skip(1)
                .map(|rest| rest.split([' ', ',', ')']).next().unwrap_or(""))
                .collect();
            let wrong = (0..wanted.len()).find(|index| types.get(*index) != wanted.get(*index));
            Ok(match wrong {
                None => Prepared::Types(wanted.iter().map(|one| (*one).to_owned()).collect()),
                Some(index) => Prepared::Rejected {
                    position: u32::try_from(index).unwrap_or(0) + 1,
                    error: format!("wrong type at {index}"),
                },
            })
        }
    }

    #[test]
    fn arrays_of_nulls_get_the_types_that_the_server_accepts() {
        let wanted = ["uuid[]", "bool[]", "int8[]", "text[]"];
        let values = ["{NULL}", "{t}", "{NULL,NULL}", "{}"].map(|value| Some(value.to_owned()));

        let found = search(
            "select unnest($1, $2, $3, $4)",
            &values,
            server(&["uuid[]", "bool[]", "int8[]", "text[]"]),
        );

        let (sql, types) = found.expect("asked").expect("found");
        assert_eq!(types, wanted);
        assert!(sql.contains("$1::uuid[]"), "{sql}");
    }

    #[test]
    fn a_parameter_without_a_fitting_type_is_reported() {
        let found = search("select unnest($1)", &[Some("{t}".to_owned())], server(&["uuid[]"]));

        assert_eq!(found.expect("asked"), Err("wrong type at 0".to_owned()));
    }
}
