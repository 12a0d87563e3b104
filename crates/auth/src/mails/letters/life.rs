//! Lifetimes of links in words.

use std::time::Duration;

/// The forms of a unit: for 1; for 2 to 4 and numbers that end like them, except 12 to 14; for others. Only Polish distinguishes the last two.
type Forms = [&'static str; 3];

/// The units of one language, in the form that they have after "for".
pub(super) struct Units {
    pub(super) days: Forms,
    pub(super) hours: Forms,
    pub(super) minutes: Forms,
    pub(super) seconds: Forms,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Units {
    /// Writes a duration in whole hours, or in whole days if there are more than two, and else in minutes. What is left of a minute is omitted: a mail
    /// must not promise more than there is.
    pub(super) fn duration(&self, duration: Duration) -> String {
        let seconds = duration.as_secs();
        let (number, forms) = if seconds > 2 * DAY && seconds.is_multiple_of(DAY) {
            (seconds / DAY, self.days)
        } else if seconds >= HOUR && seconds.is_multiple_of(HOUR) {
            (seconds / HOUR, self.hours)
        } else if seconds >= MINUTE {
            (seconds / MINUTE, self.minutes)
        } else {
            (seconds, self.seconds)
        };
        format!("{number} {}", form(number, forms))
    }
}

fn form(number: u64, [one, few, many]: Forms) -> &'static str {
    let is_few = (2..=4).contains(&(number % 10)) && !(12..=14).contains(&(number % 100));
    match number {
        1 => one,
        _ if is_few => few,
        _ => many,
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::Texts;
    use super::*;

    fn written(locale: &str, seconds: u64) -> String {
        Texts::of(locale).units.duration(Duration::from_secs(seconds))
    }

    #[test]
    fn a_lifetime_is_written_in_a_fitting_unit() {
        for (seconds, text) in [
            (48 * HOUR, "48 hours"),
            (72 * HOUR, "3 days"),
            (36_500 * DAY, "36500 days"),
            (73 * HOUR, "73 hours"),
            (24 * HOUR, "24 hours"),
            (HOUR, "1 hour"),
            (90 * MINUTE, "90 minutes"),
            (HOUR + 1, "60 minutes"),
            (119, "1 minute"),
            (59, "59 seconds"),
            (1, "1 second"),
        ] {
            assert_eq!(written("en", seconds), text);
        }
    }

    #[test]
    fn units_have_the_plural_forms_of_the_language() {
        for (locale, hours, text) in [
            ("pl", 1, "1 godzinę"),
            ("pl", 2, "2 godziny"),
            ("pl", 5, "5 godzin"),
            ("pl", 12, "12 godzin"),
            ("pl", 21, "21 godzin"),
            ("pl", 22, "22 godziny"),
            ("pl", 48, "48 godzin"),
            ("pl", 113, "113 godzin"),
            ("es", 1, "1 hora"),
            ("es", 3, "3 horas"),
            ("de", 1, "1 Stunde"),
            ("de", 48, "48 Stunden"),
            ("en", 23, "23 hours"),
        ] {
            assert_eq!(written(locale, hours * HOUR), text);
        }
    }
}
