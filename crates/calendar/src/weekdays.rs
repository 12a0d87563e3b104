//! Weekdays by their names in the API.

use time::Weekday;

/// The names, from Monday on.
pub(crate) const WORDS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The weekdays that are off in an organization without a working calendar.
pub(crate) const DEFAULT_OFF: [&str; 2] = ["sat", "sun"];

/// Returns the name of a weekday.
pub(crate) fn name(weekday: Weekday) -> &'static str {
    WORDS
        .get(usize::from(weekday.number_days_from_monday()))
        .copied()
        .unwrap_or("mon")
}

/// Returns the weekdays in the order of the week; `None` if one is unknown or repeated.
pub(crate) fn in_week_order(names: &[String]) -> Option<Vec<String>> {
    let ordered: Vec<String> = WORDS
        .iter()
        .filter(|word| names.iter().any(|name| name == *word))
        .map(|word| (*word).to_owned())
        .collect();
    (ordered.len() == names.len()).then_some(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekdays_are_sorted_unique_and_known() {
        let ordered = |names: &[&str]| in_week_order(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());

        assert_eq!(ordered(&["sun", "sat"]), Some(vec!["sat".to_owned(), "sun".to_owned()]));
        assert_eq!(ordered(&[]), Some(Vec::new()));
        assert_eq!(ordered(&["mon", "mon"]), None);
        assert_eq!(ordered(&["mon", "Tue"]), None);
        assert_eq!(name(Weekday::Sunday), "sun");
    }
}
