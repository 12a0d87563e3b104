//! Weighted lists of the headers `Accept` and `Accept-Language`.

use actix_web::http::header::{HeaderMap, HeaderName};

/// Maximum number of ranges of a header that are considered.
const MOST_RANGES: usize = 50;

/// A range of a weighted list: `text/*`, `en-GB`, `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedRange<'h> {
    /// The range, without parameters.
    pub range: &'h str,
    /// The weight in thousandths, 1000 by default. The client does not accept ranges of weight 0; an invalid weight counts as 0.
    pub weight: u16,
}

impl<'h> AcceptedRange<'h> {
    /// Parses the first 50 ranges of a list, in its order.
    pub fn parse(list: &'h str) -> impl Iterator<Item = Self> {
        let ranges = list.split(',').map(str::trim).filter(|range| !range.is_empty());
        ranges.take(MOST_RANGES).map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let range = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            Self {
                range,
                weight: weight.map_or(1000, thousandths),
            }
        })
    }
}

/// Returns the accepted ranges of a header, the most preferred first; of equal ones the first.
#[must_use]
pub fn accepted_ranges(headers: &HeaderMap, name: HeaderName) -> Vec<&str> {
    let texts = headers.get_all(name).filter_map(|value| value.to_str().ok());
    let mut ranges: Vec<_> = texts.flat_map(AcceptedRange::parse).take(MOST_RANGES).collect();
    ranges.retain(|one| one.weight > 0);
    ranges.sort_by_key(|one| std::cmp::Reverse(one.weight));
    ranges.into_iter().map(|one| one.range).collect()
}

/// Parses `0.8` as 800; further decimals are cut off.
fn thousandths(number: &str) -> u16 {
    let (whole, decimals) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let digits = format!("{whole}{decimals:0<3.3}");
    digits.parse().ok().filter(|weight| *weight <= 1000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{ACCEPT_LANGUAGE, HeaderValue};

    use super::*;

    #[test]
    fn a_weight_is_a_number_from_0_to_1() {
        for (text, expected) in [
            ("1", 1000),
            ("0.5", 500),
            (".25", 250),
            ("0.12345", 123),
            (" 0.9 ", 900),
            ("0", 0),
            ("1.5", 0),
            ("-1", 0),
            ("nonsense", 0),
            ("", 0),
        ] {
            assert_eq!(thousandths(text), expected, "{text}");
        }
    }

    #[test]
    fn ranges_keep_their_order_and_have_a_weight() {
        let parsed: Vec<_> = AcceptedRange::parse("text/plain; q=0, text/*;level=1;q=0.5,, */*")
            .map(|one| (one.range, one.weight))
            .collect();

        assert_eq!(parsed, [("text/plain", 0), ("text/*", 500), ("*/*", 1000)]);
        assert_eq!(AcceptedRange::parse(&"a,".repeat(100)).count(), MOST_RANGES);
    }

    #[test]
    fn the_most_preferred_range_of_all_headers_comes_first() {
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT_LANGUAGE, HeaderValue::from_static("fr;q=0.5, en;q=0, pl"));
        headers.append(ACCEPT_LANGUAGE, HeaderValue::from_static("de;q=0.7, es"));

        assert_eq!(accepted_ranges(&headers, ACCEPT_LANGUAGE), ["pl", "es", "de", "fr"]);
    }
}
