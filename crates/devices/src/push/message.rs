//! The content of a push message.

use backoffice_core::Platform;
use backoffice_notifications::wording;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// What a delivery stores of its notification: enough to write the message in the language of the device when it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Payload {
    /// The type of the notification.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// How important it is: `info`, `warning`, `success` or `error`.
    pub(crate) severity: String,
    /// Path on the site.
    pub(crate) link_href: Option<String>,
    /// Values for the texts.
    pub(crate) params: Map<String, Value>,
    /// The title in the first language of the type.
    pub(crate) title: String,
    /// The text in that language.
    pub(crate) body: String,
    /// Messages of a topic replace each other while the device is not reachable: 32 characters.
    pub(crate) topic: Option<String>,
}

impl Payload {
    /// Writes the message in the language of a device. `locale` is a language tag.
    pub(crate) fn message(
        &self,
        platform: &Platform,
        locale: Option<&str>,
        id: Uuid,
        notification: Option<Uuid>,
    ) -> Message {
        let written = wording(platform, &self.kind, &base_code(locale), &self.params);
        let (title, body) = match written {
            Some(wording) => (wording.title, wording.body),
            None => (self.title.clone(), self.body.clone()),
        };
        Message {
            id,
            notification,
            kind: self.kind.clone(),
            severity: self.severity.clone(),
            title,
            body,
            link: self.link_href.clone(),
            topic: self.topic.clone(),
        }
    }
}

/// Returns the base code of a device's language tag (`de-AT` -> `de`); empty without a tag.
pub(super) fn base_code(locale: Option<&str>) -> String {
    let base = locale.unwrap_or_default().split(['-', '_']).next();
    base.unwrap_or_default().to_ascii_lowercase()
}

/// A message in the language of its device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// The id of the delivery.
    pub(crate) id: Uuid,
    /// The notification; none for a test message.
    pub(crate) notification: Option<Uuid>,
    /// The type of the notification.
    pub(crate) kind: String,
    /// How important it is.
    pub(crate) severity: String,
    /// The title.
    pub(crate) title: String,
    /// The text.
    pub(crate) body: String,
    /// Path on the site.
    pub(crate) link: Option<String>,
    /// Messages of a topic replace each other.
    pub(crate) topic: Option<String>,
}

impl Message {
    /// Returns whether the device should be woken up for it.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(self.severity.as_str(), "warning" | "error")
    }

    /// Returns everything that leaves the platform, besides the token.
    pub(crate) fn content(&self) -> Value {
        json!({
            "title": self.title, "body": self.body, "notificationId": self.notification, "type": self.kind, "linkHref": self.link,
            "severity": self.severity,
        })
    }

    /// Writes the message as `render` does, in at most `most` bytes: the text is shortened as far as needed, then the link is left out.
    pub(crate) fn within(&self, most: usize, render: impl Fn(&Self) -> Value) -> Vec<u8> {
        let mut message = self.clone();
        loop {
            let bytes = render(&message).to_string().into_bytes();
            if bytes.len() <= most {
                return bytes;
            }
            let surplus = bytes.len() - most;
            if !message.body.is_empty() {
                message.body = shortened(&message.body, surplus);
            } else if message.link.is_some() {
                message.link = None;
            } else if !message.title.is_empty() {
                message.title = shortened(&message.title, surplus);
            } else {
                return bytes;
            }
        }
    }
}

/// Removes characters at the end of a text until its JSON is at least `surplus` bytes shorter, and ends it with an ellipsis if anything remains.
fn shortened(text: &str, surplus: usize) -> String {
    const ELLIPSIS: char = '…';
    let (mut end, mut left) = (text.len(), surplus + ELLIPSIS.len_utf8());
    for (index, character) in text.char_indices().rev() {
        if left == 0 {
            break;
        }
        end = index;
        left = left.saturating_sub(length_in_json(character));
    }
    match text.get(..end).map(str::trim_end).unwrap_or_default() {
        "" => String::new(),
        kept => format!("{kept}{ELLIPSIS}"),
    }
}

/// Returns the bytes of a character in a text of JSON.
const fn length_in_json(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &str) -> Message {
        Message {
            id: Uuid::nil(),
            notification: None,
            kind: "samples.sample.done".to_owned(),
            severity: "info".to_owned(),
            title: "Title".to_owned(),
            body: body.to_owned(),
            link: Some("/samples/1".to_owned()),
            topic: None,
        }
    }

    #[test]
    fn a_long_text_is_shortened_until_the_message_fits() {
        for text in [
            "ä\"".repeat(3000),
            "x".repeat(9000),
            "\u{1}".repeat(2000),
            "😀".repeat(2000),
        ] {
            let bytes = message(&text).within(1000, Message::content);

            assert!(bytes.len() <= 1000, "{}", bytes.len());
            let value: Value = serde_json::from_slice(&bytes).expect("JSON");
            assert_eq!(value["title"], "Title");
            assert_eq!(value["linkHref"], "/samples/1");
            assert!(value["body"].as_str().expect("a text").ends_with('…'), "{value}");
        }
    }

    #[test]
    fn a_link_is_left_out_before_the_title_is_shortened() {
        let long = Message {
            link: Some(format!("/{}", "x".repeat(2000))),
            ..message("")
        };

        let value: Value = serde_json::from_slice(&long.within(300, Message::content)).expect("JSON");

        assert_eq!((&value["title"], &value["linkHref"]), (&json!("Title"), &Value::Null));
    }

    #[test]
    fn a_short_message_is_unchanged() {
        let short = message("Text");

        assert_eq!(
            short.within(1000, Message::content),
            short.content().to_string().into_bytes()
        );
    }
}
