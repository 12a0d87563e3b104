//! Dates in the languages of the texts.

use std::borrow::Cow;

use time::Date;
use time::macros::format_description;

/// The names of the months, in the form that they have in a date.
type Months = [&'static str; 12];

/// How a language writes a date.
struct DateForm {
    locale: &'static str,
    months: Months,
    /// Stands between the day and the month.
    after_day: &'static str,
    /// Stands between the month and the year.
    after_month: &'static str,
}

const FORMS: [DateForm; 4] = [
    DateForm {
        locale: "en",
        months: [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        after_day: " ",
        after_month: " ",
    },
    DateForm {
        locale: "pl",
        months: [
            "stycznia",
            "lutego",
            "marca",
            "kwietnia",
            "maja",
            "czerwca",
            "lipca",
            "sierpnia",
            "września",
            "października",
            "listopada",
            "grudnia",
        ],
        after_day: " ",
        after_month: " ",
    },
    DateForm {
        locale: "es",
        months: [
            "enero",
            "febrero",
            "marzo",
            "abril",
            "mayo",
            "junio",
            "julio",
            "agosto",
            "septiembre",
            "octubre",
            "noviembre",
            "diciembre",
        ],
        after_day: " de ",
        after_month: " de ",
    },
    DateForm {
        locale: "de",
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        after_day: ". ",
        after_month: " ",
    },
];

impl DateForm {
    fn written(&self, date: Date) -> String {
        let (day, year) = (date.day(), date.year());
        let month = self.months[usize::from(u8::from(date.month())) - 1];
        format!("{day}{}{month}{}{year}", self.after_day, self.after_month)
    }
}

/// Writes a date (`2026-01-06`), or a date with a time of day (`2026-01-06 09:00`), in a language: `6 January 2026, 09:00`. Another text, and another
/// language, stay as they are.
pub(crate) fn in_language<'a>(text: &'a str, locale: &str) -> Cow<'a, str> {
    let (date, time) = match text.split_once(' ') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let date = Date::parse(date, format_description!("[year]-[month]-[day]"));
    let form = FORMS.iter().find(|form| form.locale == locale);
    let (Ok(date), Some(form)) = (date, form) else {
        return Cow::Borrowed(text);
    };
    let date = form.written(date);
    Cow::Owned(match time {
        Some(time) => format!("{date}, {time}"),
        None => date,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_the_form_of_the_language() {
        for (locale, day, time) in [
            ("en", "6 January 2026", "31 May 2026, 09:05"),
            ("pl", "6 stycznia 2026", "31 maja 2026, 09:05"),
            ("es", "6 de enero de 2026", "31 de mayo de 2026, 09:05"),
            ("de", "6. Januar 2026", "31. Mai 2026, 09:05"),
            ("fr", "2026-01-06", "2026-05-31 09:05"),
        ] {
            assert_eq!(in_language("2026-01-06", locale), day);
            assert_eq!(in_language("2026-05-31 09:05", locale), time);
        }
        assert_eq!(in_language("2026-12-24", "de"), "24. Dezember 2026");
        for text in ["", "tomorrow", "2026-02-30", "2026-01-06T09:00:00Z"] {
            assert_eq!(in_language(text, "de"), text);
        }
    }
}
