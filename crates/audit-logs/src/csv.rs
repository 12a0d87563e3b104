//! The lines of the export (audit specification, section 11.3): RFC 4180, with cells that no spreadsheet interprets as formulas.

use std::borrow::Cow;

use backoffice_core::document::parse_stored;
use backoffice_core::text::is_invisible;
use serde_json::Value;

use crate::query::export::ExportRow;

pub(crate) const COLUMNS: [&str; 13] = [
    "When",
    "User",
    "Action",
    "Label",
    "Resource",
    "Record",
    "Field",
    "Old Value",
    "New Value",
    "Source",
    "Organization",
    "State",
    "Log Id",
];

/// Maximum length of a cell, in characters.
const LONGEST: usize = 32_767;

/// Returns the line with the column names.
pub(crate) fn header() -> String {
    COLUMNS.join(",") + "\r\n"
}

/// Returns the lines of these entries: one per changed field, at least one per entry.
pub(crate) fn lines(rows: &[ExportRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let changes = row.changes.as_deref().and_then(|text| parse_stored(text).ok());
        let changes = changes.as_ref().and_then(Value::as_object);
        let mut fields: Vec<(&String, &Value)> = changes.into_iter().flatten().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        if fields.is_empty() {
            push_line(&mut text, row, ["", "", ""].map(str::to_owned));
        }
        for (name, change) in fields {
            push_line(
                &mut text,
                row,
                [guarded(name), value(change, "from"), value(change, "to")],
            );
        }
    }
    text
}

fn push_line(text: &mut String, row: &ExportRow, change: [String; 3]) {
    let actor = row.actor_id.map(|id| id.to_string());
    let user = row.actor_name.as_deref().or(actor.as_deref()).unwrap_or("System");
    let optional = |cell: &Option<String>| guarded(cell.as_deref().unwrap_or_default());
    let [field, from, to] = change;
    let cells = [
        row.created_at.to_string(),
        guarded(user),
        guarded(&row.action_type),
        guarded(&row.action_label),
        optional(&row.resource_kind),
        optional(&row.resource_id),
        field,
        from,
        to,
        guarded(&row.source),
        optional(&row.name),
        guarded(&row.execution_state),
        row.id.to_string(),
    ];
    text.push_str(&cells.join(","));
    text.push_str("\r\n");
}

/// Returns one side of a change.
fn value(change: &Value, side: &str) -> String {
    if change["redacted"] == true {
        return "***".to_owned();
    }
    match &change[side] {
        Value::Null => String::new(),
        Value::String(text) => guarded(text),
        plain @ (Value::Bool(_) | Value::Number(_)) => plain.to_string(),
        json => guarded(&json.to_string()),
    }
}

/// Converts a text to a cell.
fn guarded(text: &str) -> String {
    let text = shortened(text);
    // Spreadsheets skip invisible characters, for example a byte order mark.
    let visible = text.trim_start_matches(|c| is_invisible(c) && !matches!(c, '\t' | '\r' | '\n'));
    let formula = visible.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
    if formula {
        format!("\"'{}\"", text.replace('"', "\"\""))
    } else if text.contains(['"', ',', '\r', '\n']) || blank(text.chars().next()) || blank(text.chars().next_back()) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn aud_28_cells_are_no_formulas_and_keep_quotes_and_line_breaks() {
        for (text, cell) in [
            ("=1+1", "\"'=1+1\""),
            ("+x", "\"'+x\""),
            ("-x", "\"'-x\""),
            ("@x", "\"'@x\""),
            ("\tx", "\"'\tx\""),
            ("＝1", "\"'＝1\""),
            ("=\"a\"", "\"'=\"\"a\"\"\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\r\nb", "\"a\r\nb\""),
            ("a,b", "\"a,b\""),
            (" a", "\" a\""),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(guarded(text), cell, "{text:?}");
        }
    }

    #[test]
    fn f24_a_formula_behind_invisible_characters_is_none() {
        for (text, cell) in [
            ("\u{FEFF}=1+1", "\"'\u{FEFF}=1+1\""),
            ("\u{200B}\u{2060}@x", "\"'\u{200B}\u{2060}@x\""),
            ("\u{FEFF}\t=1", "\"'\u{FEFF}\t=1\""),
            ("\u{FEFF}a=1", "\u{FEFF}a=1"),
            ("\u{FEFF}", "\u{FEFF}"),
        ] {
            assert_eq!(guarded(text), cell, "{text:?}");
        }
    }

    #[test]
    fn aud_28_values_have_their_forms() {
        for (change, cell) in [
            (json!({"from": -5}), "-5"),
            (json!({"from": true}), "true"),
            (json!({"from": null}), ""),
            (json!({"from": "-5"}), "\"'-5\""),
            (json!({"from": ["a"]}), "\"[\"\"a\"\"]\""),
            (json!({"from": null, "to": null, "redacted": true}), "***"),
        ] {
            assert_eq!(value(&change, "from"), cell, "{change}");
        }
    }

    #[test]
    fn a_cell_ends_after_32767_characters() {
        let cell = guarded(&"ä".repeat(LONGEST + 1));

        assert_eq!((cell.chars().count(), cell.ends_with('…')), (LONGEST + 1, true));
        assert_eq!(guarded(&"ä".repeat(LONGEST)).chars().count(), LONGEST);
    }
}
