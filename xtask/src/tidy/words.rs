//! Words that the glossary of `docs/STYLE.md` retires.

use super::{Findings, Tree};
use crate::Result;

/// Retired words with the terms that replace them. A word ending with `*` stands for every word that begins so.
const RETIRED: &[(&str, &str)] = &[
    ("answer*", "response, respond, return"),
    ("bookkeeping", "unlogged"),
    ("courtesy", "throttle"),
    ("furnish*", "seed"),
    ("heard", "notified"),
    ("judge*", "validate"),
    ("keeper", "admin"),
    ("made", "created"),
    ("narrow*", "filter, limit"),
    ("nobody", "the actor: no caller, no user"),
    ("refus*", "reject"),
    ("somebody", "the actor: a caller, a user"),
    ("tell", "report, return"),
    ("tells", "reports, returns"),
    ("told", "reported, returned"),
    ("touched", "affected"),
    ("whoever", "the actor: the caller, the user"),
];

/// Identifiers that keep a retired word, each with its reason.
const KEPT: &[(&str, &str)] = &[
    ("touched", "a column of the action log"),
    ("ConnectionRefused", "the standard library's"),
    ("connection_refused", "the standard library's"),
];

pub(super) fn retired(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for (file, text) in tree.texts("", &["rs"])? {
        // The list itself.
        if file.ends_with("tidy/words.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let found = match line.trim_start().strip_prefix("//") {
                Some(comment) => in_comment(comment),
                None => in_code(line),
            };
            findings.extend(found.into_iter().map(|(word, instead)| {
                let (file, number) = (file.display(), number + 1);
                format!("{file}:{number}: `{word}` is retired; say {instead} (docs/STYLE.md)")
            }));
        }
    }
    Ok(findings)
}

fn replacement(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    let is_retired = |retired: &str| match retired.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == retired,
    };
    RETIRED
        .iter()
        .find(|(retired, _)| is_retired(retired))
        .map(|(_, instead)| *instead)
}

/// Retired words of the prose of a comment; code in backticks belongs to `in_code`, where it is defined.
fn in_comment(comment: &str) -> Vec<(String, &'static str)> {
    let prose = comment.split('`').step_by(2);
    let words = prose.flat_map(|prose| prose.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words
        .filter_map(|word| Some((word.to_owned(), replacement(word)?)))
        .collect()
}

/// Identifiers of a line of code with a retired word among their parts. Literals are left out.
fn in_code(line: &str) -> Vec<(String, &'static str)> {
    let code = line.split('"').step_by(2);
    let identifiers = code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
    identifiers
        .filter(|identifier| KEPT.iter().all(|(kept, _)| kept != identifier))
        .filter_map(|identifier| {
            let instead = parts(identifier).into_iter().find_map(|part| replacement(&part))?;
            Some((identifier.to_owned(), instead))
        })
        .collect()
}

/// The words of an identifier in any of the three cases.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_after_lower = false;
    for character in identifier.chars() {
        if character == '_' || (character.is_uppercase() && is_after_lower) {
            parts.push(String::new());
        }
        is_after_lower = character.is_lowercase() || character.is_numeric();
        if character != '_'
            && let Some(last) = parts.last_mut()
        {
            last.push(character);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(found: Vec<(String, &str)>) -> Vec<String> {
        found.into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn identifiers_are_checked_part_by_part() {
        assert_eq!(words(in_code("fn is_refused(x: Refusal) {")), ["is_refused", "Refusal"]);
        assert_eq!(words(in_code("const TOLD_TWICE: u8 = 1;")), ["TOLD_TWICE"]);
        assert!(in_code("let stella = \"refused\";").is_empty());
        assert!(in_code("touched.eq(None)").is_empty());
    }

    #[test]
    fn comments_are_checked_outside_of_backticks() {
        assert_eq!(words(in_comment("/ Refuses it.")), ["Refuses"]);
        assert!(in_comment("/ Sets `touched`.").is_empty());
    }
}
