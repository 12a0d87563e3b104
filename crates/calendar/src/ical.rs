//! Writes calendars in the format `iCalendar` (RFC 5545).

use std::fmt::Write as _;

use backoffice_core::Timestamp;
use time::Duration;
use uuid::Uuid;

use crate::day::Day;

/// Longest line in bytes, without its end.
const LINE: usize = 75;
/// Rounds an end up to a whole second. Instants are written in whole seconds, and the end must be later than the start (RFC 5545, 3.8.2.2).
const ALMOST_A_SECOND: Duration = Duration::milliseconds(999);

/// When an event takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    /// Whole days; the second one is exclusive.
    Days(Day, Day),
    /// Instants.
    Instants(Timestamp, Timestamp),
}

/// An event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: Uuid,
    pub(crate) period: Period,
    pub(crate) summary: String,
    pub(crate) description: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) updated_at: Timestamp,
}

/// Returns the calendar with this name and these events.
pub(crate) fn calendar(name: &str, events: &[Event]) -> String {
    let mut text = String::with_capacity(events.len() * 320 + 200);
    for line in [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Backoffice//Calendar//EN",
        "CALSCALE:GREGORIAN",
    ] {
        push(&mut text, line);
    }
    push(&mut text, &format!("X-WR-CALNAME:{}", escaped(name)));
    for event in events {
        push_event(&mut text, event);
    }
    push(&mut text, "END:VCALENDAR");
    text
}

fn push_event(text: &mut String, event: &Event) {
    push(text, "BEGIN:VEVENT");
    push(text, &format!("UID:{}@calendar.backoffice", event.id));
    push(text, &format!("DTSTAMP:{}", instant(event.updated_at)));
    push(text, &format!("LAST-MODIFIED:{}", instant(event.updated_at)));
    match event.period {
        Period::Days(first, end) => {
            push(text, &format!("DTSTART;VALUE=DATE:{}", day(first)));
            push(text, &format!("DTEND;VALUE=DATE:{}", day(end)));
        }
        Period::Instants(start, end) => {
            push(text, &format!("DTSTART:{}", instant(start)));
            push(text, &format!("DTEND:{}", instant(end.after(ALMOST_A_SECOND))));
        }
    }
    push(text, &format!("SUMMARY:{}", escaped(&event.summary)));
    for (property, value) in [("DESCRIPTION", &event.description), ("LOCATION", &event.location)] {
        if let Some(value) = value {
            push(text, &format!("{property}:{}", escaped(value)));
        }
    }
    push(text, "END:VEVENT");
}

/// Adds a line. A long one is folded between characters; each part after the first begins with a space.
fn push(text: &mut String, line: &str) {
    let mut rest = line;
    let mut room = LINE;
    while rest.len() > room {
        let end = (0..=room).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(0);
        let (part, after) = rest.split_at(end);
        text.push_str(part);
        text.push_str("\r\n ");
        rest = after;
        room = LINE - 1;
    }
    text.push_str(rest);
    text.push_str("\r\n");
}

fn day(day: Day) -> String {
    day.to_string().replace('-', "")
}

fn instant(at: Timestamp) -> String {
    let at = at.get();
    let (hour, minute, second) = at.to_hms();
    let mut text = String::with_capacity(16);
    let _written = write!(
        text,
        "{:04}{:02}{:02}T{hour:02}{minute:02}{second:02}Z",
        at.year(),
        u8::from(at.month()),
        at.day()
    );
    text
}

/// Escapes a text. Control characters other than line breaks are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\\' | ';' | ',' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\n' | '\r' => escaped.push_str("\\n"),
            '\t' => escaped.push(' '),
            character if character.is_control() => {}
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("a;b,c\\d\r\ne\nf\u{7}"), "a\\;b\\,c\\\\d\\ne\\nf");
    }

    #[test]
    fn long_lines_are_folded_between_characters() {
        let mut text = String::new();
        let line = format!("SUMMARY:{}", "ż".repeat(100));

        push(&mut text, &line);

        assert!(text.split("\r\n").all(|line| line.len() <= LINE), "{text}");
        assert_eq!(text.replace("\r\n ", ""), format!("{line}\r\n"));
    }

    #[test]
    fn an_end_is_rounded_up_to_be_later_than_the_start() {
        let at = |text: &str| Timestamp::parse(text).expect("an instant");
        for (start, end, written) in [
            ("08:00:00.100", "08:00:00.900", ["080000", "080001"]),
            ("08:00:00", "08:00:00.001", ["080000", "080001"]),
            ("08:00:59.999", "08:01:00", ["080059", "080100"]),
            ("08:00:00.500", "08:59:59.500", ["080000", "090000"]),
        ] {
            let [start, end] = [start, end].map(|time| at(&format!("2026-01-06T{time}Z")));
            let event = Event {
                id: Uuid::from_u128(1),
                period: Period::Instants(start, end),
                summary: "S".to_owned(),
                description: None,
                location: None,
                updated_at: start,
            };

            let text = calendar("N", &[event]);

            let [start, end] = written;
            let lines = format!("DTSTART:20260106T{start}Z\r\nDTEND:20260106T{end}Z\r\n");
            assert!(text.contains(&lines), "{text}");
        }
    }

    #[test]
    fn days_and_instants_have_forms_of_their_own() {
        let at = |text: &str| Timestamp::parse(text).expect("an instant");
        let date = |text: &str| Day::parse(text).expect("a day");
        let event = |period| Event {
            id: Uuid::from_u128(1),
            period,
            summary: "S".to_owned(),
            description: None,
            location: None,
            updated_at: at("2026-01-05T08:00:00.500Z"),
        };
        let instants = Period::Instants(at("2026-01-06T08:00:00Z"), at("2026-01-06T12:30:00Z"));

        let text = calendar(
            "N",
            &[
                event(Period::Days(date("2026-01-06"), date("2026-01-08"))),
                event(instants),
            ],
        );

        for line in [
            "DTSTART;VALUE=DATE:20260106\r\n",
            "DTEND;VALUE=DATE:20260108\r\n",
            "DTSTART:20260106T080000Z\r\n",
            "DTEND:20260106T123000Z\r\n",
            "DTSTAMP:20260105T080000Z\r\n",
        ] {
            assert!(text.contains(line), "{line}");
        }
    }
}
