//! English spelling, as far as the name of an entity needs it.

/// Returns the plural of a noun by the rules of spelling; irregular nouns are named on the command line.
pub(super) fn plural_of(noun: &str) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| noun.ends_with(ending));
    if let Some(stem) = noun.strip_suffix('y')
        && !ends(&["ay", "ey", "oy", "uy"])
    {
        return format!("{stem}ies");
    }
    let ending = if ends(&["s", "x", "z", "ch", "sh"]) { "es" } else { "s" };
    format!("{noun}{ending}")
}

/// Returns a noun after `a` or `an`.
pub(super) fn with_article(noun: &str) -> String {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| noun.starts_with(beginning));
    let sounds_like_consonant = begins(&["eu", "one", "uni", "us"]);
    let sounds_like_vowel = begins(&["a", "e", "i", "o", "u", "hour"]);
    let article = if sounds_like_vowel && !sounds_like_consonant {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_the_spelling() {
        for (one, many) in [
            ("item", "items"),
            ("time-entry", "time-entries"),
            ("key", "keys"),
            ("address", "addresses"),
            ("batch", "batches"),
            ("box", "boxes"),
        ] {
            assert_eq!(plural_of(one), many);
        }
    }

    #[test]
    fn articles_follow_the_sound() {
        for noun in [
            "an item",
            "an order",
            "an hour",
            "a list",
            "a unit",
            "a user",
            "a time entry",
        ] {
            let (_, name) = noun.split_once(' ').expect("two words");
            assert_eq!(with_article(name), noun);
        }
    }
}
