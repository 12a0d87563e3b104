//! Rules for texts from clients, shared by all modules.

use unicode_normalization::UnicodeNormalization as _;

/// Message of a validation error for a text that [`has_control_characters`]. Its code is `invalid_value`.
pub const NO_CONTROL_CHARACTERS: &str = "must not contain control characters";

/// Returns whether the text contains characters that a name must not have: control characters, line and paragraph separators, and characters that
/// change the direction of the surrounding text. In a log, a mail or a table they make a name look like something else.
#[must_use]
pub fn has_control_characters(text: &str) -> bool {
    text.chars().any(is_control)
}

/// Returns whether a character is a control character in the sense of [`has_control_characters`].
#[must_use]
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character usually has no glyph of its own: control characters, zero-width characters, soft hyphens, variation selectors, tags.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    is_control(c)
        || matches!(
            c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
                | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
                | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}'
        )
}

/// Returns the form in which a reserved name is compared: compatibility forms replaced (NFKC), invisible characters removed, lower case.
/// Letters of other scripts that only look alike stay different.
#[must_use]
pub fn reserved_form(name: &str) -> String {
    let visible = name.nfkc().filter(|c| !is_invisible(*c));
    visible.collect::<String>().trim().to_lowercase()
}

/// Escapes control characters of a text as Rust does (`\r`, `\u{1b}`), so that it stays on one line of a log.
#[must_use]
pub fn escape_control_characters(text: &str) -> std::borrow::Cow<'_, str> {
    if !has_control_characters(text) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_control(c) {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    escaped.into()
}

/// Returns the text with a space in place of every control character, for names in mails: earlier releases stored names without checking them.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.replace(is_control, " ")
}

/// Returns the bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f16_names_have_no_control_characters_separators_or_overrides() {
        for rejected in [
            "a\rb",
            "a\nb",
            "\u{1b}[31m",
            "a\u{85}",
            "a\u{2028}b",
            "a\u{2029}b",
            "a\u{202E}b",
            "a\u{2066}b",
            "\0",
        ] {
            assert!(has_control_characters(rejected), "{rejected:?}");
        }
        for accepted in ["", "Łódź", "O'Neill & Sons", "שלום\u{200F}", "日本", "a\u{200D}b", "👩‍👩‍👧"]
        {
            assert!(!has_control_characters(accepted), "{accepted:?}");
        }
    }

    #[test]
    fn f16_control_characters_are_escaped() {
        assert_eq!(escape_control_characters("Zoë 1"), "Zoë 1");
        assert_eq!(
            escape_control_characters("a\r\nb\u{1b}[31m\u{2028}"),
            "a\\r\\nb\\u{1b}[31m\\u{2028}"
        );
    }

    #[test]
    fn f20_a_reserved_name_is_compared_without_invisible_characters() {
        for same in [
            "superadmin",
            "SuperAdmin",
            "super\u{200B}admin",
            "ｓｕｐｅｒａｄｍｉｎ",
            "super\u{AD}admin\u{FEFF}",
        ] {
            assert_eq!(reserved_form(same), "superadmin", "{same:?}");
        }
        assert_ne!(reserved_form("ѕuperadmin"), "superadmin", "a Cyrillic letter");
    }
}
