//! Types of notifications, which modules declare with their texts.

use std::borrow::Cow;

use backoffice_core::Platform;
use serde_json::{Map, Value};

use crate::dates;

/// The channels on which a type of notifications reaches its recipients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    /// In the application. A type that is switched off there reaches its recipients on no channel.
    pub in_app: bool,
    /// As a push message to the devices of the recipient.
    pub push: bool,
    /// By mail.
    pub email: bool,
}

impl Channels {
    /// In the application and as a push message, without mail.
    pub const USUAL: Self = Self {
        in_app: true,
        push: true,
        email: false,
    };
}

/// The texts of a type in a language. In `title` and `body`, `{name}` stands for the parameter of that name. `{name:date}` writes it as a date of the
/// language if it is a date (`2026-01-06`), or a date with a time of day (`2026-01-06 09:00`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeTexts {
    /// Code of the language: `en`, `pl`, `es` or `de`.
    pub locale: &'static str,
    /// The name of the type in the preferences of users.
    pub name: &'static str,
    /// The title of a notification.
    pub title: &'static str,
    /// The text of a notification.
    pub body: &'static str,
}

/// The texts that stand for a value of a parameter, for example for the code of an error. Without them the value itself is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueTexts {
    /// The value as the parameter has it.
    pub value: &'static str,
    /// The code of each language with the text in it. In another language, the text is the first one.
    pub texts: &'static [(&'static str, &'static str)],
}

impl ValueTexts {
    fn text(&self, locale: &str) -> Option<&'static str> {
        let own = self.texts.iter().find(|(code, _)| *code == locale);
        own.or_else(|| self.texts.first()).map(|(_, text)| *text)
    }
}

/// A type of notifications. A module offers it with `registry.extend(TYPE)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotificationType {
    /// The name: `<module>.<what has happened>`, at most 100 characters.
    pub id: &'static str,
    /// The channels of users who have no preference.
    pub channels: Channels,
    /// The texts, at least one; the first one is the default.
    pub texts: &'static [TypeTexts],
    /// The values of parameters that have texts of their own.
    pub values: &'static [ValueTexts],
}

/// Title and text of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    /// The title, at most 200 characters.
    pub title: String,
    /// The text, at most 2000 characters.
    pub body: String,
}

/// Writes a notification in a language, with the texts of its type; in the first language of the type if it has no texts in that one. `None` if no
/// enabled module offers the type.
#[must_use]
pub fn wording(platform: &Platform, id: &str, locale: &str, params: &Map<String, Value>) -> Option<Wording> {
    find(platform, id).map(|found| found.wording(locale, params))
}

/// Longest title, in characters.
const LONGEST_TITLE: usize = 200;
/// Longest text, in characters.
const LONGEST_BODY: usize = 2000;

impl NotificationType {
    /// Returns the texts in a language, else in the default one.
    pub(crate) fn texts(&self, locale: &str) -> Option<&'static TypeTexts> {
        let own = self.texts.iter().find(|texts| texts.locale == locale);
        own.or_else(|| self.texts.first())
    }

    /// Writes a notification in the default language of the type.
    pub(crate) fn default_wording(&self, params: &Map<String, Value>) -> Wording {
        self.wording(self.texts.first().map_or("", |texts| texts.locale), params)
    }

    /// Writes a notification in a language.
    pub(crate) fn wording(&self, locale: &str, params: &Map<String, Value>) -> Wording {
        let texts = self.texts(locale);
        let locale = texts.map_or(locale, |texts| texts.locale);
        let filled = |template: Option<&str>, longest| {
            let text = filled(template.unwrap_or_default(), params, |value, is_date| match is_date {
                true => dates::in_language(value, locale),
                false => Cow::Borrowed(self.text_of(value, locale)),
            });
            text.chars().take(longest).collect()
        };
        Wording {
            title: filled(texts.map(|texts| texts.title), LONGEST_TITLE),
            body: filled(texts.map(|texts| texts.body), LONGEST_BODY),
        }
    }

    /// Returns the text that stands for a value of a parameter, or the value.
    fn text_of<'a>(&self, value: &'a str, locale: &str) -> &'a str {
        let known = self.values.iter().find(|known| known.value == value);
        known.and_then(|known| known.text(locale)).unwrap_or(value)
    }
}

/// Returns the types that the modules of the platform offer, by their names.
pub(crate) fn known(platform: &Platform) -> Vec<NotificationType> {
    let mut types: Vec<NotificationType> = platform.extensions().copied().collect();
    types.sort_by_key(|one: &NotificationType| one.id);
    types
}

/// Returns the type of this name, if a module offers it.
pub(crate) fn find(platform: &Platform, id: &str) -> Option<NotificationType> {
    platform
        .extensions()
        .find(|one: &&NotificationType| one.id == id)
        .copied()
}

/// Replaces `{name}` by the parameter of that name: by what `text_of` returns for a text, and whether it is a date, and by a number; others are empty.
fn filled<'a>(
    template: &str,
    params: &'a Map<String, Value>,
    text_of: impl Fn(&'a str, bool) -> Cow<'a, str>,
) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            text.push('{');
            rest = after;
            continue;
        };
        let (name, is_date) = match name.strip_suffix(":date") {
            Some(name) => (name, true),
            None => (name, false),
        };
        match params.get(name) {
            Some(Value::String(value)) => text.push_str(&text_of(value, is_date)),
            Some(Value::Number(value)) => text.push_str(&value.to_string()),
            _ => {}
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TYPE: NotificationType = NotificationType {
        id: "sample.done",
        channels: Channels::USUAL,
        texts: &[
            TypeTexts {
                locale: "en",
                name: "Done",
                title: "{what} is done",
                body: "{count} of {total}{",
            },
            TypeTexts {
                locale: "de",
                name: "Fertig",
                title: "{what} ist fertig",
                body: "",
            },
        ],
        values: &[ValueTexts {
            value: "report",
            texts: &[("en", "The report"), ("de", "Der Bericht")],
        }],
    };

    #[test]
    fn parameters_take_the_place_of_their_names() {
        let params = json!({"what": "{count}", "count": 3, "total": null});
        let params = params.as_object().expect("an object");

        for (locale, title, body) in [
            ("en", "{count} is done", "3 of {"),
            ("de", "{count} ist fertig", ""),
            ("pl", "{count} is done", "3 of {"),
        ] {
            let wording = TYPE.wording(locale, params);
            assert_eq!(
                (wording.title.as_str(), wording.body.as_str()),
                (title, body),
                "{locale}"
            );
        }
    }

    #[test]
    fn values_are_written_in_the_language_of_the_text() {
        let params = json!({"what": "report"});
        let params = params.as_object().expect("an object");

        for (locale, title) in [
            ("en", "The report is done"),
            ("de", "Der Bericht ist fertig"),
            ("pl", "The report is done"),
        ] {
            assert_eq!(TYPE.wording(locale, params).title, title, "{locale}");
        }
    }

    #[test]
    fn dates_are_written_in_the_language_of_the_text() {
        let texts = |locale, body| TypeTexts {
            locale,
            name: "Done",
            title: "{day}",
            body,
        };
        let all = [texts("en", "On {day:date}"), texts("de", "Am {day:date}")];
        let params = json!({"day": "2026-01-06"});
        let params = params.as_object().expect("an object");
        let done = NotificationType {
            texts: Box::leak(Box::new(all)),
            ..TYPE
        };

        for (locale, body) in [
            ("en", "On 6 January 2026"),
            ("de", "Am 6. Januar 2026"),
            ("pl", "On 6 January 2026"),
        ] {
            let wording = done.wording(locale, params);
            assert_eq!((wording.title.as_str(), wording.body.as_str()), ("2026-01-06", body));
        }
    }

    #[test]
    fn long_parameters_are_cut() {
        let params = json!({"what": "ä".repeat(300)});

        let wording = TYPE.wording("en", params.as_object().expect("an object"));

        assert_eq!(wording.title.chars().count(), 200);
    }
}
