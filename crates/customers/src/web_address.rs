//! Web addresses that a browser opens.

use url::Url;

/// Returns true for a web address: http or https, a host, and no characters that could end it where it is displayed.
pub(crate) fn is_web_address(text: &str) -> bool {
    let Ok(address) = Url::parse(text) else { return false };
    let start = format!("{}://", address.scheme());
    matches!(address.scheme(), "http" | "https")
        && address.has_host()
        && text.to_ascii_lowercase().starts_with(&start)
        && !text
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || matches!(c, '"' | '<' | '>' | '\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_the_web() {
        for (text, expected) in [
            ("https://acme.example", true),
            ("HTTP://acme.example/a?b=c#d", true),
            ("http:acme.example", false),
            ("ftp://acme.example", false),
            ("javascript:alert(1)", false),
            ("https://", false),
            ("https://acme.example/a b", false),
            ("https://acme.example/\"><script>", false),
            ("acme.example", false),
        ] {
            assert_eq!(is_web_address(text), expected, "{text}");
        }
    }
}
