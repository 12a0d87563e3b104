//! Slugs: `^[a-z0-9]+(-[a-z0-9]+)*$`, at most 100 characters.

use unicode_normalization::UnicodeNormalization;

/// Longest slug, in characters.
pub(crate) const LONGEST: usize = 100;
/// The slug of a name without a letter that has a Latin form.
const FALLBACK: &str = "organization";

/// Whether the text is a slug.
pub(crate) fn is_slug(text: &str) -> bool {
    text.len() <= LONGEST
        && text.split('-').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// The slug that a name suggests: accents dropped, lower case, everything else a hyphen.
pub(crate) fn from_name(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for letter in name.nfkd().flat_map(char::to_lowercase) {
        match latin(letter) {
            Some(text) => slug.push_str(text),
            None if letter.is_ascii_alphanumeric() => slug.push(letter),
            // A combining mark: the letter before it stays.
            None if unicode_normalization::char::is_combining_mark(letter) => {}
            None if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            None => {}
        }
    }
    let slug = cut(&slug, LONGEST);
    if slug.is_empty() {
        FALLBACK.to_owned()
    } else {
        slug.to_owned()
    }
}

/// The first of `base`, `base-2`, `base-3`, … that is not taken.
pub(crate) fn first_free(base: &str, taken: &[String]) -> String {
    let free = |slug: &String| !taken.contains(slug);
    let numbered = (2_u32..).map(|number| {
        let suffix = format!("-{number}");
        format!("{}{suffix}", cut(base, LONGEST - suffix.len()))
    });
    std::iter::once(base.to_owned())
        .chain(numbered)
        .find(free)
        .unwrap_or_default()
}

/// Letters that Unicode does not take apart.
fn latin(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ł' => "l",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ħ' => "h",
        'ı' => "i",
        _ => return None,
    })
}

fn cut(ascii: &str, length: usize) -> &str {
    ascii.get(..length).unwrap_or(ascii).trim_end_matches('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_slug_is_checked() {
        for (text, expected) in [
            ("a", true),
            ("north-2", true),
            ("", false),
            ("-a", false),
            ("a-", false),
            ("a--b", false),
            ("A", false),
            ("ä", false),
            ("a b", false),
        ] {
            assert_eq!(is_slug(text), expected, "{text}");
        }
        assert!(is_slug(&"a".repeat(100)));
        assert!(!is_slug(&"a".repeat(101)));
    }

    #[test]
    fn a_name_becomes_its_plain_letters() {
        for (name, expected) in [
            ("Acme Inc.", "acme-inc"),
            ("  Łódź & Söhne  ", "lodz-sohne"),
            ("Straße 9/11", "strasse-9-11"),
            ("İstanbul", "istanbul"),
            ("日本", "organization"),
            ("---", "organization"),
        ] {
            assert_eq!(from_name(name), expected, "{name}");
        }
    }

    #[test]
    fn a_long_name_is_cut_to_a_slug() {
        let slug = from_name(&format!("{} b", "a".repeat(99)));

        assert_eq!(slug, "a".repeat(99));
        assert!(is_slug(&slug));
    }

    #[test]
    fn a_taken_slug_is_numbered_from_two() {
        let taken = ["acme", "acme-2", "acme-4"].map(str::to_owned);

        assert_eq!(first_free("acme", &taken), "acme-3");
        assert_eq!(first_free("free", &taken), "free");
    }

    #[test]
    fn a_numbered_slug_is_never_too_long() {
        let base = "a".repeat(100);

        let slug = first_free(&base, std::slice::from_ref(&base));

        assert_eq!(slug, format!("{}-2", "a".repeat(98)));
    }
}
