//! The origin of a request, and the allowed targets of a redirect.

use std::net::{IpAddr, SocketAddr};

use actix_web::HttpRequest;
use actix_web::http::header::{HOST, ORIGIN};

use crate::context::RequestOrigin;

/// Returns the client's address: the socket's peer, or the address written by the proxy at the configured depth. An IPv4 address is recognized
/// in any form, also as `::ffff:a.b.c.d`.
pub(super) fn client_ip(request: &HttpRequest, proxy_depth: usize) -> Option<IpAddr> {
    written_ip(request, proxy_depth).map(|ip| ip.to_canonical())
}

fn written_ip(request: &HttpRequest, proxy_depth: usize) -> Option<IpAddr> {
    let peer = request.peer_addr().map(|address| address.ip());
    if proxy_depth == 0 {
        return peer;
    }
    // Parts are counted before they are parsed: each proxy appends one, and the client may have sent any before them.
    let forwarded: Vec<&[u8]> = request
        .headers()
        .get_all("x-forwarded-for")
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .collect();
    forwarded
        .len()
        .checked_sub(proxy_depth)
        .and_then(|index| forwarded.get(index))
        .and_then(|part| address(str::from_utf8(part).ok()?.trim()))
        .or(peer)
}

/// Parses an address in the forms of proxies: alone, with a port, in brackets.
fn address(part: &str) -> Option<IpAddr> {
    let bare = part.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let with_port = || part.parse::<SocketAddr>().ok().map(|address| address.ip());
    bare.unwrap_or(part).parse().ok().or_else(with_port)
}

/// Determines the origin of a request from `Sec-Fetch-Site`, else from `Origin`.
pub(super) fn request_origin(request: &HttpRequest, public_url: Option<&str>) -> RequestOrigin {
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    let is_same = if let Some(site) = header("sec-fetch-site") {
        matches!(site, "same-origin" | "none")
    } else {
        let Some(origin) = header(ORIGIN.as_str()) else {
            return RequestOrigin::Unstated;
        };
        match public_url {
            Some(public) => origin.eq_ignore_ascii_case(public.trim_end_matches('/')),
            None => header(HOST.as_str()).is_some_and(|host| {
                origin
                    .split_once("://")
                    .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
            }),
        }
    };
    match is_same {
        true => RequestOrigin::Same,
        false => RequestOrigin::Foreign,
    }
}

/// Returns the target of a redirect if it stays on this site: path, query and fragment (accounts specification, section 3.5). Without a public
/// URL only targets that start with `/` are accepted.
#[must_use]
pub fn safe_local_path(target: &str, public_url: Option<&str>) -> Option<String> {
    if target.is_empty()
        || target.chars().count() > 2048
        || target.trim() != target
        || target.chars().any(|c| c.is_control() || c == '\\')
    {
        return None;
    }
    if public_url.is_none() && !target.starts_with('/') {
        return None;
    }
    let base = url::Url::parse(public_url.unwrap_or("http://localhost")).ok()?;
    let resolved = base.join(target).ok()?;
    let same = resolved.scheme() == base.scheme()
        && resolved.host() == base.host()
        && resolved.port_or_known_default() == base.port_or_known_default()
        && resolved.username().is_empty()
        && resolved.password().is_none();
    let path = resolved.path();
    let decoded = percent_decoded(path);
    let rejected = path.contains("//")
        || decoded.starts_with("//")
        || decoded.starts_with("/\\")
        || ["/api/auth/logout", "/api/auth/autologin", "/api/auth/session/refresh"].contains(&decoded.as_str());
    if !same || rejected {
        return None;
    }
    let mut local = path.to_owned();
    for (mark, part) in [('?', resolved.query()), ('#', resolved.fragment())] {
        if let Some(part) = part {
            local.push(mark);
            local.push_str(part);
        }
    }
    Some(local)
}

fn percent_decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape = (first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        if let Some(byte) = escape {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn forwarded(parts: &[&str], depth: usize) -> String {
        let peer = "10.0.0.1:50000".parse().expect("an address");
        let request = TestRequest::default().peer_addr(peer);
        let request = parts.iter().fold(request, |request, part| {
            request.append_header(("x-forwarded-for", (*part).to_owned()))
        });
        let found = client_ip(&request.to_http_request(), depth);
        found.expect("an address").to_string()
    }

    #[test]
    fn the_client_is_what_the_proxy_at_the_depth_wrote_however_it_writes() {
        for (written, read) in [
            ("203.0.113.7", "203.0.113.7"),
            ("203.0.113.7:4711", "203.0.113.7"),
            ("2001:db8::7", "2001:db8::7"),
            ("[2001:db8::7]", "2001:db8::7"),
            ("[2001:db8::7]:4711", "2001:db8::7"),
            ("unknown", "10.0.0.1"),
            ("", "10.0.0.1"),
        ] {
            assert_eq!(forwarded(&[&format!("198.51.100.1, {written}")], 1), read, "{written}");
            assert_eq!(forwarded(&["198.51.100.1", written], 1), read, "{written}");
            assert_eq!(
                forwarded(&[&format!("198.51.100.1, {written},10.0.0.2:80")], 2),
                read,
                "{written}"
            );
        }
    }

    #[test]
    fn f5_a_mapped_address_is_the_address_that_it_maps() {
        assert_eq!(forwarded(&["::ffff:192.0.2.1"], 1), "192.0.2.1");
        assert_eq!(forwarded(&["[::ffff:c000:201]:4711"], 1), "192.0.2.1");
    }

    #[test]
    fn fewer_parts_than_proxies_are_not_believed() {
        assert_eq!(forwarded(&["198.51.100.1"], 2), "10.0.0.1");
        assert_eq!(forwarded(&["198.51.100.1"], 0), "10.0.0.1");
        assert_eq!(forwarded(&[], 1), "10.0.0.1");
    }

    #[test]
    fn a_target_outside_the_site_is_rejected() {
        let public = Some("https://office.example");
        for target in [
            "//evil.test",
            "/\\evil.test",
            "https://evil.test",
            "/%2F/evil.test",
            "/a//b",
            "/\t/evil.test",
            "javascript:alert(1)",
            "https://user@office.example/",
            "https://office.example:444/",
            "http://office.example/",
            " /a",
            "/api/auth/logout",
            "/%5Cevil.test",
            "/%2f%2fevil.test",
            "/api/auth/%6cogout",
            "/api/x/../auth/autologin?a=b",
            "/api/auth/session/refres%68",
            "/.//evil.test",
            "/a/..//evil.test",
            "/%2e//evil.test",
            "https:///evil.test",
            "",
        ] {
            assert_eq!(safe_local_path(target, public), None, "{target}");
        }
    }

    #[test]
    fn a_target_on_the_site_keeps_path_query_and_fragment() {
        assert_eq!(
            safe_local_path("https://office.example/a/b?c=d#e", Some("https://office.example")),
            Some("/a/b?c=d#e".to_owned())
        );
        assert_eq!(safe_local_path("/deals", None), Some("/deals".to_owned()));
        // The URL rules read a scheme without slashes as a path of the same site.
        assert_eq!(
            safe_local_path("https:evil.test", Some("https://office.example")),
            Some("/evil.test".to_owned())
        );
    }
}
