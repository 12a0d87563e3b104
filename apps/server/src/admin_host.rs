//! The host names that the operators' listener accepts. A web page whose name resolves to this machine (DNS rebinding) sends its own name and is
//! rejected.

use std::net::Ipv6Addr;
use std::sync::Arc;

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HOST;
use actix_web::middleware::Next;
use actix_web::{Error, HttpResponse};
use serde_json::json;

/// Rejects a request whose `Host` is neither an IP address nor `localhost` nor one of these names. HTTP/1.0 clients send no `Host`; they are
/// accepted.
pub(crate) async fn check<B: MessageBody + 'static>(
    allowed: Arc<[String]>,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, BoxBody>>, Error> {
    let is_allowed = match request.headers().get(HOST) {
        None => true,
        Some(host) => host.to_str().is_ok_and(|host| is_allowed(host, &allowed)),
    };
    if is_allowed {
        return next.call(request).await.map(ServiceResponse::map_into_left_body);
    }
    let body = json!({"error": "Unknown host; admin.allowed_hosts lists the names that may be used"});
    let response = HttpResponse::MisdirectedRequest().json(body);
    Ok(request.into_response(response).map_into_right_body())
}

fn is_allowed(host: &str, allowed: &[String]) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _port)) => return address.parse::<Ipv6Addr>().is_ok(),
        None => host.split_once(':').map_or(host, |(name, _port)| name),
    };
    let is = |other: &str| name.trim_end_matches('.').eq_ignore_ascii_case(other);
    name.parse::<std::net::Ipv4Addr>().is_ok() || is("localhost") || allowed.iter().any(|other| is(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s13_only_addresses_localhost_and_listed_names_are_served() {
        let allowed = ["metrics.internal".to_owned()];
        for host in [
            "127.0.0.1:9090",
            "10.1.2.3",
            "[::1]:9090",
            "[2001:db8::1]",
            "localhost:9090",
            "LocalHost",
            "Metrics.Internal:9090",
        ] {
            assert!(is_allowed(host, &allowed), "{host}");
        }
        for host in [
            "evil.test",
            "evil.test:9090",
            "127.0.0.1.evil.test",
            "[evil]:1",
            "localhost.evil.test",
            "",
        ] {
            assert!(!is_allowed(host, &allowed), "{host}");
        }
    }
}
