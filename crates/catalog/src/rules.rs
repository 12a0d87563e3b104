//! Writes the fields of a request into a row and collects the broken rules.

use backoffice_core::text::{NO_CONTROL_CHARACTERS, has_control_characters};
use backoffice_core::{Detail, Rejection, Result, document};
use serde_json::Value;

/// A field of a request: absent, null, or a value.
pub(crate) type Given<T> = Option<Option<T>>;

/// A broken rule: message and code.
type Broken = (String, &'static str);

/// Collects the violations of an input.
#[derive(Debug, Default)]
pub struct Rules {
    place: String,
    broken: Vec<Detail>,
}

impl Rules {
    /// Sets the prefix of the following field paths (`variants[2].`); empty for the request itself.
    pub(crate) fn at(&mut self, place: String) {
        self.place = place;
    }

    /// Records a broken rule.
    pub(crate) fn broken(&mut self, path: &str, message: impl Into<String>, code: &'static str) {
        self.broken
            .push(Detail::new(format!("{}{path}", self.place), message, code));
    }

    /// Rejects an absent field.
    pub(crate) fn needs<T>(&mut self, path: &str, given: &Given<T>) {
        if given.is_none() {
            self.broken(path, "is required", "required");
        }
    }

    /// Writes a given value; null is rejected.
    pub(crate) fn value<T: Clone>(
        &mut self,
        path: &str,
        given: &Given<T>,
        slot: &mut T,
        rule: impl FnOnce(&T) -> Result<(), Broken>,
    ) {
        match given {
            None => {}
            Some(None) => self.broken(path, "must not be null", "required"),
            Some(Some(value)) => match rule(value) {
                Ok(()) => slot.clone_from(value),
                Err((message, code)) => self.broken(path, message, code),
            },
        }
    }

    /// Writes a given value; null clears.
    pub(crate) fn optional<T: Clone>(
        &mut self,
        path: &str,
        given: &Given<T>,
        slot: &mut Option<T>,
        rule: impl FnOnce(&T) -> Result<(), Broken>,
    ) {
        match given {
            None => {}
            Some(None) => *slot = None,
            Some(Some(value)) => match rule(value) {
                Ok(()) => *slot = Some(value.clone()),
                Err((message, code)) => self.broken(path, message, code),
            },
        }
    }

    /// Writes a given text, trimmed; a blank text and null are rejected.
    pub(crate) fn text(
        &mut self,
        path: &str,
        given: &Given<String>,
        slot: &mut String,
        rule: impl FnOnce(&str) -> Result<String, Broken>,
    ) {
        let mut written = None;
        self.optional_text(path, given, &mut written, rule);
        match (given, written) {
            (_, Some(text)) => *slot = text,
            (Some(None), None) => self.broken(path, "must not be null", "required"),
            (Some(Some(text)), None) if text.trim().is_empty() => {
                self.broken(path, "must not be blank", "required");
            }
            (_, None) => {}
        }
    }

    /// Writes a given text, trimmed; null and a blank text clear.
    pub(crate) fn optional_text(
        &mut self,
        path: &str,
        given: &Given<String>,
        slot: &mut Option<String>,
        rule: impl FnOnce(&str) -> Result<String, Broken>,
    ) {
        let Some(given) = given else { return };
        match given.as_deref().map(str::trim) {
            None | Some("") => *slot = None,
            Some(text) => match rule(text) {
                Ok(text) => *slot = Some(text),
                Err((message, code)) => self.broken(path, message, code),
            },
        }
    }

    /// Returns 400 `Invalid input` if a rule is broken.
    pub(crate) fn check(self) -> Result<()> {
        if self.broken.is_empty() {
            return Ok(());
        }
        Err(Rejection::invalid(self.broken).into())
    }
}

/// Accepts any value.
pub(crate) fn any<T>(_value: &T) -> Result<(), Broken> {
    Ok(())
}

/// Accepts a JSON document of the size that clients may store.
pub(crate) fn document(value: &Value) -> Result<(), Broken> {
    document::check("", value).map_err(|detail| {
        let code = if detail.code == "too_long" {
            "too_long"
        } else {
            "invalid_value"
        };
        (detail.message, code)
    })
}

/// Accepts an integer that is at least `least`.
pub(crate) fn at_least(least: i32) -> impl Fn(&i32) -> Result<(), Broken> {
    move |value| {
        if *value < least {
            return Err((format!("must be at least {least}"), "out_of_range"));
        }
        Ok(())
    }
}

/// Accepts one of these words.
pub(crate) fn one_of(words: &'static [&'static str]) -> impl Fn(&str) -> Result<String, Broken> {
    move |text| {
        if !words.contains(&text) {
            return Err((format!("must be one of {}", words.join(", ")), "invalid_value"));
        }
        Ok(text.to_owned())
    }
}

/// Accepts a line of at most `longest` characters.
pub(crate) fn line(longest: usize) -> impl Fn(&str) -> Result<String, Broken> {
    move |text| {
        if has_control_characters(text) {
            return Err((NO_CONTROL_CHARACTERS.to_owned(), "invalid_value"));
        }
        prose(longest)(text)
    }
}

/// Accepts a text with line breaks of at most `longest` characters.
pub(crate) fn prose(longest: usize) -> impl Fn(&str) -> Result<String, Broken> {
    move |text| {
        if text.chars().count() > longest {
            return Err((format!("must be at most {longest} characters"), "too_long"));
        }
        Ok(text.to_owned())
    }
}

/// Accepts a stock keeping unit: ASCII letters, digits, dots, hyphens and underscores.
pub(crate) fn sku(text: &str) -> Result<String, Broken> {
    spelled(text, 191, ".-_", "letters, digits, dots, hyphens and underscores")
}

/// Accepts a name for addresses and lower-cases it: letters, digits, hyphens and underscores.
pub(crate) fn handle(text: &str) -> Result<String, Broken> {
    spelled(
        &text.to_lowercase(),
        150,
        "-_",
        "letters, digits, hyphens and underscores",
    )
}

fn spelled(text: &str, longest: usize, beside: &str, rule: &str) -> Result<String, Broken> {
    if !text.chars().all(|c| c.is_ascii_alphanumeric() || beside.contains(c)) {
        return Err((format!("must consist of {rule}"), "invalid_value"));
    }
    prose(longest)(text)
}

/// Accepts a currency of three letters and converts it to upper case.
pub(crate) fn currency(text: &str) -> Result<String, Broken> {
    if text.len() != 3 || !text.chars().all(|c| c.is_ascii_alphabetic()) {
        return Err(("must be a currency code of three letters".to_owned(), "invalid_value"));
    }
    Ok(text.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Given<String> {
        Some(Some(text.to_owned()))
    }

    #[test]
    fn an_absent_field_stays_and_null_clears() {
        let (mut rules, mut slot) = (Rules::default(), Some("old".to_owned()));

        rules.optional_text("subtitle", &None, &mut slot, line(5));
        assert_eq!(slot.as_deref(), Some("old"));
        rules.optional_text("subtitle", &given(" new "), &mut slot, line(5));
        assert_eq!(slot.as_deref(), Some("new"));
        rules.optional_text("subtitle", &Some(None), &mut slot, line(5));
        assert_eq!(slot, None);
        assert!(rules.check().is_ok());
    }

    #[test]
    fn every_broken_rule_is_reported_with_its_path() {
        let (mut rules, mut slot) = (Rules::default(), "old".to_owned());

        rules.text("title", &given(" "), &mut slot, line(5));
        rules.text("title", &Some(None), &mut slot, line(5));
        rules.at("variants[1].".to_owned());
        rules.text("name", &given("too long"), &mut slot, line(5));

        let reported = rules.check().expect_err("three broken rules").to_rejection().details;
        let reported: Vec<_> = reported.iter().map(|one| (one.path.as_str(), &*one.code)).collect();
        assert_eq!(
            reported,
            [
                ("title", "required"),
                ("title", "required"),
                ("variants[1].name", "too_long")
            ]
        );
        assert_eq!(slot, "old");
    }

    #[test]
    fn skus_handles_and_currencies_have_their_letters() {
        assert_eq!(sku("A.b-1_"), Ok("A.b-1_".to_owned()));
        assert!(sku("a b").is_err() && sku("ä").is_err() && sku(&"x".repeat(192)).is_err());
        assert_eq!(handle("Red_Shoe-1"), Ok("red_shoe-1".to_owned()));
        assert!(handle("a.b").is_err() && handle(&"x".repeat(151)).is_err());
        assert_eq!(currency("eur"), Ok("EUR".to_owned()));
        assert!(currency("EURO").is_err() && currency("€").is_err());
    }
}
