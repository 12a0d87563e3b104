//! The action `CALL_WEBHOOK`: its address, headers and body.

use backoffice_egress::Egress;
use serde_json::{Map, Value};
use url::Url;
use uuid::Uuid;

use super::template::{Exceeded, Part, Template};
use crate::condition::Facts;
use crate::engine::redact::is_secret;
use crate::header_values;

/// The methods, the first one by default.
pub(crate) const METHODS: [&str; 5] = ["POST", "GET", "PUT", "PATCH", "DELETE"];
/// Longest address of a rule, in characters.
pub(super) const LONGEST_URL: usize = 2000;
/// Longest address to which a request is sent, in characters.
const LONGEST_SENT: usize = 2 * LONGEST_URL;
/// Most headers.
const MOST_HEADERS: usize = 20;
/// Longest name and value of a header, in bytes.
const LONGEST_NAME: usize = 100;
const LONGEST_VALUE: usize = 2000;
/// Headers that the platform sets, and those that concern the connection.
const RESERVED: [&str; 9] = [
    "host",
    "content-length",
    "connection",
    "cookie",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
];

/// A request to an address of the tenant's choice.
#[derive(Debug, Clone)]
pub(crate) struct Webhook {
    pub(crate) url: UrlTemplate,
    pub(crate) method: &'static str,
    /// Names in lower case, and values.
    pub(crate) headers: Vec<(String, HeaderText)>,
    /// The body; `None` for the usual one.
    pub(crate) body: Option<Value>,
}

/// The value of a header.
#[derive(Debug, Clone)]
pub(crate) enum HeaderText {
    /// A text with references.
    Plain(Template),
    /// A sealed value without references, by its id.
    Sealed(Uuid),
}

/// An address with references in its path and query only.
#[derive(Debug, Clone)]
pub(crate) struct UrlTemplate(Template);

impl UrlTemplate {
    /// Parses an address.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str, egress: Option<&Egress>) -> Result<Self, String> {
        let invalid =
            || "must be a URL such as https://example.com/path, with references only behind the host".to_owned();
        let authority = text.find("://").map(|at| at + 3).ok_or_else(invalid)?;
        let rest = text.get(authority..).unwrap_or_default();
        let end = rest.find(['/', '?', '#']).map_or(text.len(), |at| authority + at);
        if text.find("{{").is_some_and(|at| at < end) || text.contains(|c: char| c.is_control() || c == '\\') {
            return Err(invalid());
        }
        let template = Template::parse(text);
        let sample: String = template.0.iter().map(sample).collect();
        let url = Url::parse(&sample).map_err(|_| invalid())?;
        if has_dots(&sample) {
            return Err("must not have `.` or `..` in its path".to_owned());
        }
        if let Some(egress) = egress {
            if url.as_str().len() > LONGEST_SENT {
                return Err(format!(
                    "must have at most {LONGEST_SENT} characters when it is percent-encoded"
                ));
            }
            // Hosts may have characters that a request can't have.
            url.as_str().parse::<http::Uri>().map_err(|_| invalid())?;
            egress.check(&url).map_err(|reason| reason.to_string())?;
        }
        Ok(Self(template))
    }

    /// Returns the address as it is sent: with percent-encoded values in place of references, the host in its ASCII form, and everything else
    /// percent-encoded that a request can't contain. `None` if values would change its path.
    ///
    /// # Errors
    /// If it is too long, or the budget of the run is used up.
    pub(crate) fn text(&self, facts: &Facts<'_>) -> Result<Option<String>, Exceeded> {
        let text = self.0.encoded(facts, LONGEST_SENT)?;
        if has_dots(&text) {
            return Ok(None);
        }
        match Url::parse(&text) {
            Ok(url) if url.as_str().len() > LONGEST_SENT => Err(Exceeded::Length),
            Ok(url) => Ok(Some(url.into())),
            Err(_) => Ok(None),
        }
    }
}

fn sample(part: &Part) -> &str {
    match part {
        Part::Text(own) => own,
        Part::Reference(_) => "x",
    }
}

/// Whether a path has segments that would remove others.
pub(super) fn has_dots(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.split('/')
        .any(|segment| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | ".."))
}

/// Parses the headers of a request.
///
/// # Errors
/// What is wrong with them.
pub(super) fn headers(config: &Map<String, Value>) -> Result<Vec<(String, HeaderText)>, String> {
    let fields = match config.get("headers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("must be an object with texts".to_owned()),
    };
    if fields.len() > MOST_HEADERS {
        return Err(format!("must have at most {MOST_HEADERS} headers"));
    }
    let mut headers: Vec<(String, HeaderText)> = Vec::new();
    for (name, value) in fields {
        let lower = name.to_ascii_lowercase();
        let is_name = http::HeaderName::from_bytes(lower.as_bytes()).is_ok() && lower.len() <= LONGEST_NAME;
        if !is_name || headers.iter().any(|(known, _)| *known == lower) {
            return Err("must have names of headers, each once".to_owned());
        }
        if RESERVED.contains(&lower.as_str()) || lower.starts_with("webhook-") || lower.starts_with("proxy-") {
            return Err(format!("must not set the header {lower}"));
        }
        if let Some(id) = header_values::referenced(value).filter(|_| is_secret(&lower)) {
            headers.push((lower, HeaderText::Sealed(id)));
            continue;
        }
        let text = value.as_str().filter(|text| text.len() <= LONGEST_VALUE);
        let text = text.filter(|text| !text.contains(char::is_control));
        let text = text.ok_or_else(|| format!("must have texts of at most {LONGEST_VALUE} characters as values"))?;
        if is_secret(&lower) && text.contains("{{") {
            return Err(format!("must not have references in the secret header {lower}"));
        }
        headers.push((lower, HeaderText::Plain(Template::parse(text))));
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use backoffice_egress::EgressConfig;
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_encoded_and_only_behind_the_host() {
        let data = json!({"a": "x/../y?z&ü", "dots": ".."});
        let facts = Facts::for_test(&data);
        let filled = |url: &str| UrlTemplate::parse(url, None).map(|url| url.text(&facts));

        assert_eq!(
            filled("https://example.com/a/{{a}}?b={{a}}"),
            Ok(Ok(Some(
                "https://example.com/a/x%2F..%2Fy%3Fz%26%C3%BC?b=x%2F..%2Fy%3Fz%26%C3%BC".to_owned()
            )))
        );
        assert_eq!(filled("https://example.com/a/{{dots}}/b"), Ok(Ok(None)));
        let long = format!("https://example.com/{}", "{{a}}".repeat(300));
        assert_eq!(filled(&long), Ok(Err(Exceeded::Length)));
        for url in [
            "https://{{a}}/",
            "https://example.com{{a}}",
            "{{a}}",
            "example.com",
            "https://e.com/../x",
        ] {
            assert!(filled(url).is_err(), "{url}");
        }
    }

    #[test]
    fn an_address_has_the_form_in_which_it_is_sent() {
        let data = json!({"a": "ü"});
        let facts = Facts::for_test(&data);
        let egress = Egress::new(EgressConfig::default()).expect("created");
        let filled = |url: &str| {
            let url = UrlTemplate::parse(url, Some(&egress)).expect("an address");
            url.text(&facts)
        };

        for (url, expected) in [
            (
                " HTTPS://Bücher.example:443/ä b/{{a}}?q=<\"ß\"> ",
                "https://xn--bcher-kva.example/%C3%A4%20b/%C3%BC?q=%3C%22%C3%9F%22%3E",
            ),
            ("https://example.com", "https://example.com/"),
            ("https://example.com?{{a}}", "https://example.com/?%C3%BC"),
        ] {
            let sent = filled(url).expect("within the limits").expect("an address");
            assert_eq!(sent, expected);
            assert!(sent.parse::<http::Uri>().is_ok(), "{sent}");
        }
        let long = format!("https://example.com/{}", "ü".repeat(1000));
        assert!(UrlTemplate::parse(&long, Some(&egress)).is_err());
        let stored = UrlTemplate::parse(&long, None).expect("an address");
        assert_eq!(stored.text(&facts), Err(Exceeded::Length));
        assert!(UrlTemplate::parse("https://exa\"mple.com/", Some(&egress)).is_err());
    }

    #[test]
    fn rul_11_literal_addresses_that_are_not_public_are_rejected() {
        let egress = Egress::new(EgressConfig::default()).expect("created");
        for url in [
            "http://127.0.0.1/",
            "https://[::ffff:10.0.0.1]/x",
            "https://localhost/{{a}}",
            "https://user@example.com/",
            "https://example.com:22/",
        ] {
            assert!(UrlTemplate::parse(url, Some(&egress)).is_err(), "{url}");
        }
        assert!(UrlTemplate::parse("https://example.com/{{a}}", Some(&egress)).is_ok());
    }

    #[test]
    fn reserved_headers_and_references_in_secret_ones_are_rejected() {
        let parse =
            |value: Value| headers(json!({"headers": value}).as_object().expect("an object")).map(|one| one.len());

        assert_eq!(parse(json!({"X-Source": "a {{b}}", "Accept": "text/plain"})), Ok(2));
        assert_eq!(
            parse(json!({"Authorization": "Bearer x", "X-Api-Key": {"sealed": Uuid::nil()}})),
            Ok(2)
        );
        assert!(parse(json!({"Authorization": "Bearer {{x}}"})).is_err());
        assert!(parse(json!({"X-Source": {"sealed": Uuid::nil()}})).is_err());
        for name in ["Host", "Webhook-Id", "Cookie", "a b", "Content-Length"] {
            assert!(parse(json!({name: "x"})).is_err(), "{name}");
        }
        assert!(parse(json!({"x-a": 1})).is_err());
        assert!(parse(json!({"x-a": "a\r\nb: c"})).is_err());
    }
}
