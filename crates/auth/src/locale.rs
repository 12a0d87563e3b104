//! Locales: what people write becomes a base code.

/// Longest locale that is read, in characters.
const LONGEST: usize = 35;

/// The lower-case base code of a locale (`en_GB` gives `en`); `None` for what is no locale.
pub(crate) fn base_code(input: &str) -> Option<String> {
    let input = input.trim();
    if input.len() > LONGEST {
        return None;
    }
    let mut parts = input.split(['-', '_']);
    let base = parts.next()?;
    let is_base = (2..=3).contains(&base.len()) && base.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_rest = parts.all(|part| (2..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()));
    (is_base && is_rest).then(|| base.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_is_cut_to_its_base_code() {
        for (input, expected) in [
            ("en", "en"),
            (" en_GB ", "en"),
            ("EN-us", "en"),
            ("zh-Hant-TW", "zh"),
            ("gsw", "gsw"),
        ] {
            assert_eq!(base_code(input).as_deref(), Some(expected), "{input}");
        }
    }

    #[test]
    fn what_is_no_locale_has_no_base_code() {
        for input in [
            "",
            "e",
            "engl",
            "e1",
            "en-",
            "en--GB",
            "en-G",
            "en-abcdefghi",
            "en GB",
            "ën",
            "*",
            "en-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd",
        ] {
            assert_eq!(base_code(input), None, "{input}");
        }
    }
}
