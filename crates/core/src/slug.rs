//! Slugs: names for URLs, `^[a-z0-9]+(-[a-z0-9]+)*$`.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;

/// The form of one kind of slug.
#[derive(Debug, Clone, Copy)]
pub struct SlugForm {
    /// Longest slug, in characters.
    pub longest: usize,
    /// Slug for a name without any letter that has a Latin form.
    pub fallback: &'static str,
}

impl SlugForm {
    /// Returns whether the text is a valid slug of this form.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        text.len() <= self.longest
            && text.split('-').all(|word| {
                !word.is_empty()
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            })
    }

    /// Derives a slug from a name: drops accents, converts to lower case, replaces everything else by a hyphen.
    #[must_use]
    pub fn derive(&self, name: &str) -> String {
        let mut slug = String::with_capacity(name.len());
        for letter in name.nfkd().flat_map(char::to_lowercase) {
            match latin(letter) {
                Some(text) => slug.push_str(text),
                None if letter.is_ascii_alphanumeric() => slug.push(letter),
                // A combining mark is dropped; the letter before it stays.
                None if unicode_normalization::char::is_combining_mark(letter) => {}
                None if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
                None => {}
            }
        }
        let slug = cut(&slug, self.longest);
        if slug.is_empty() {
            self.fallback.to_owned()
        } else {
            slug.to_owned()
        }
    }

    /// Returns the common beginning of all numbered forms of a derived slug: numbering cuts a long one.
    #[must_use]
    pub fn stem<'a>(&self, base: &'a str) -> &'a str {
        base.get(..self.longest.saturating_sub(12)).unwrap_or(base)
    }

    /// Returns the first of `base`, `base-2`, `base-3`, … that is not taken.
    #[must_use]
    pub fn first_free(&self, base: &str, taken: &HashSet<String>) -> String {
        let numbered = (2_u32..).map(|number| {
            let suffix = format!("-{number}");
            format!("{}{suffix}", cut(base, self.longest.saturating_sub(suffix.len())))
        });
        std::iter::once(base.to_owned())
            .chain(numbered)
            .find(|slug| !taken.contains(slug))
            .unwrap_or_default()
    }
}

/// Returns the Latin form of letters that Unicode does not decompose.
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

    const FORM: SlugForm = SlugForm {
        longest: 100,
        fallback: "organization",
    };

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
            assert_eq!(FORM.matches(text), expected, "{text}");
        }
        assert!(FORM.matches(&"a".repeat(100)));
        assert!(!FORM.matches(&"a".repeat(101)));
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
            assert_eq!(FORM.derive(name), expected, "{name}");
        }
    }

    #[test]
    fn a_long_name_is_cut_to_a_slug() {
        let slug = FORM.derive(&format!("{} b", "a".repeat(99)));

        assert_eq!(slug, "a".repeat(99));
        assert!(FORM.matches(&slug));
    }

    #[test]
    fn a_taken_slug_is_numbered_from_two() {
        let taken = HashSet::from(["acme", "acme-2", "acme-4"].map(str::to_owned));

        assert_eq!(FORM.first_free("acme", &taken), "acme-3");
        assert_eq!(FORM.first_free("free", &taken), "free");
    }

    #[test]
    fn a_numbered_slug_is_never_too_long() {
        let base = "a".repeat(100);

        let slug = FORM.first_free(&base, &HashSet::from([base.clone()]));

        assert_eq!(slug, format!("{}-2", "a".repeat(98)));
    }
}
