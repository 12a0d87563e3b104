//! Services and tokens that get no message for a while, because the configured keys were rejected.
//!
//! A client may register a token that belongs to other keys. A rejection therefore stops the messages to that token only. It also stops its service
//! if tokens of several tenants were rejected there and no message was accepted: the keys are wrong then.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::Timestamp;
use uuid::Uuid;

/// Time for which a service or a token gets no message, and for which rejections and accepted messages count.
const STOPPED: time::Duration = time::Duration::minutes(5);
/// Tenants whose tokens a service must reject before it is stopped.
const TENANTS: usize = 3;
/// Services that are remembered; messages to further ones are tried.
const MOST_SERVICES: usize = 1000;
/// Tokens that are remembered; messages to further ones are tried.
const MOST_TOKENS: usize = 10_000;

/// A provider, or one of the services that it consists of.
pub(super) type Service = (&'static str, Option<String>);
/// The provider and the fingerprint of a token.
pub(super) type TokenKey = (&'static str, Vec<u8>);

/// What is remembered of services and tokens.
#[derive(Debug, Default)]
pub(super) struct Rejections {
    services: BTreeMap<Service, KnownService>,
    tokens: BTreeMap<TokenKey, Timestamp>,
}

/// What is known about a service until a time.
#[derive(Debug)]
struct KnownService {
    state: ServiceState,
    until: Timestamp,
    /// The end of the time in which further rejections of tokens are not reported.
    silent_until: Timestamp,
}

#[derive(Debug)]
enum ServiceState {
    /// The service has accepted a message, so the keys are right.
    Accepting,
    /// The service has rejected the keys for tokens of these tenants, and accepted no message since.
    Rejecting(BTreeSet<Uuid>),
    /// The service gets no message.
    Stopped,
}

impl Rejections {
    /// Returns until when a token gets no message.
    pub(super) fn stopped_until(&self, service: &Service, token: &TokenKey, now: Timestamp) -> Option<Timestamp> {
        let known = self.services.get(service);
        let of_service = known.filter(|known| matches!(known.state, ServiceState::Stopped));
        let of_service = of_service.map(|known| known.until);
        let of_token = self.tokens.get(token).copied();
        of_service.max(of_token).filter(|until| now < *until)
    }

    /// Notes that a service has accepted a message.
    pub(super) fn accept(&mut self, service: Service, now: Timestamp) {
        if let Some(known) = self.known(service, now) {
            known.state = ServiceState::Accepting;
            known.until = now.after(STOPPED);
        }
    }

    /// Stops a service that rejects the keys whatever the token, and returns until when.
    pub(super) fn stop(&mut self, service: Service, reason: &'static str, now: Timestamp) -> Timestamp {
        let (provider, until) = (service.0, now.after(STOPPED));
        let Some(known) = self.known(service, now) else {
            report_stop(provider, reason);
            return until;
        };
        known.stop(provider, reason, until);
        known.until
    }

    /// Stops a token of a tenant for which its service rejects the keys, and returns until when. The service is stopped as well if it rejects the
    /// keys for several tenants.
    pub(super) fn reject(
        &mut self,
        service: Service,
        (tenant, token): (Uuid, TokenKey),
        reason: &'static str,
        now: Timestamp,
    ) -> Timestamp {
        let (provider, until) = (service.0, now.after(STOPPED));
        self.stop_token(token, now);
        let Some(known) = self.known(service, now) else {
            report_rejection(provider, reason, tenant);
            return until;
        };
        if matches!(known.state, ServiceState::Stopped) {
            return known.until;
        }
        if now >= known.silent_until {
            report_rejection(provider, reason, tenant);
            known.silent_until = until;
        }
        if let ServiceState::Rejecting(tenants) = &mut known.state {
            tenants.insert(tenant);
            if tenants.len() >= TENANTS {
                known.stop(provider, reason, until);
            }
        }
        until
    }

    fn stop_token(&mut self, token: TokenKey, now: Timestamp) {
        if self.tokens.len() >= MOST_TOKENS {
            self.tokens.retain(|_, until| now < *until);
        }
        if self.tokens.len() < MOST_TOKENS {
            self.tokens.insert(token, now.after(STOPPED));
        }
    }

    /// Returns what is known about a service, which has rejected nothing if it is new; `None` if no further one can be remembered.
    fn known(&mut self, service: Service, now: Timestamp) -> Option<&mut KnownService> {
        if self.services.len() >= MOST_SERVICES && !self.services.contains_key(&service) {
            self.services.retain(|_, known| now < known.until);
            if self.services.len() >= MOST_SERVICES {
                return None;
            }
        }
        let new = || KnownService {
            state: ServiceState::Rejecting(BTreeSet::new()),
            until: now.after(STOPPED),
            silent_until: now,
        };
        let known = self.services.entry(service).or_insert_with(new);
        if now >= known.until {
            *known = new();
        }
        Some(known)
    }
}

impl KnownService {
    fn stop(&mut self, provider: &'static str, reason: &'static str, until: Timestamp) {
        if !matches!(self.state, ServiceState::Stopped) {
            report_stop(provider, reason);
            self.state = ServiceState::Stopped;
            self.until = until;
        }
    }
}

fn report_stop(provider: &'static str, reason: &'static str) {
    metrics::counter!("push_config_errors", "provider" => provider).increment(1);
    tracing::error!(
        provider,
        reason,
        "a provider of push messages rejects the configured keys; stopped for 5 minutes"
    );
}

fn report_rejection(provider: &'static str, reason: &'static str, tenant: Uuid) {
    metrics::counter!("push_config_errors", "provider" => provider).increment(1);
    tracing::warn!(
        provider,
        reason,
        tenant.id = %tenant,
        "a provider of push messages rejected the configured keys for a token; it gets no message for 5 minutes"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASON: &str = "rejected_key";
    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn service(name: usize) -> Service {
        ("webpush", Some(format!("https://{name}.example")))
    }

    fn token(number: u8) -> TokenKey {
        ("webpush", vec![number])
    }

    fn of_tenant(number: u8) -> (Uuid, TokenKey) {
        (Uuid::from_u128(number.into()), token(number))
    }

    #[test]
    fn rejections_for_one_tenant_stop_only_the_rejected_tokens() {
        let mut rejections = Rejections::default();
        let tenant = Uuid::from_u128(1);

        for number in 0..100 {
            let until = rejections.reject(service(1), (tenant, token(number)), REASON, NOW);
            assert_eq!(until, NOW.after(STOPPED));
        }

        let until = |number: u8, now: Timestamp| rejections.stopped_until(&service(1), &token(number), now);
        assert_eq!(until(7, NOW), Some(NOW.after(STOPPED)));
        assert_eq!(until(7, NOW.after(STOPPED)), None);
        assert_eq!(until(200, NOW), None);
    }

    #[test]
    fn rejections_for_several_tenants_stop_the_service() {
        let mut rejections = Rejections::default();

        for number in 1..=3 {
            assert_eq!(rejections.stopped_until(&service(1), &token(9), NOW), None);
            rejections.reject(service(1), of_tenant(number), REASON, NOW);
        }

        assert_eq!(
            rejections.stopped_until(&service(1), &token(9), NOW),
            Some(NOW.after(STOPPED))
        );
        assert_eq!(rejections.stopped_until(&service(2), &token(9), NOW), None);
    }

    #[test]
    fn a_service_that_accepts_messages_is_not_stopped() {
        let mut rejections = Rejections::default();
        rejections.reject(service(1), of_tenant(1), REASON, NOW);
        rejections.reject(service(1), of_tenant(2), REASON, NOW);
        rejections.accept(service(1), NOW);

        for number in 1..=9 {
            rejections.reject(service(1), of_tenant(number), REASON, NOW);
        }

        assert_eq!(rejections.stopped_until(&service(1), &token(10), NOW), None);
        let later = NOW.after(STOPPED);
        for number in 1..=3 {
            rejections.reject(service(1), of_tenant(number), REASON, later);
        }
        assert_eq!(
            rejections.stopped_until(&service(1), &token(10), later),
            Some(later.after(STOPPED))
        );
    }

    #[test]
    fn rejections_count_for_five_minutes() {
        let mut rejections = Rejections::default();
        let later = NOW.after(STOPPED);

        for (number, now) in [(1, NOW), (2, NOW), (3, later), (4, later)] {
            rejections.reject(service(1), of_tenant(number), REASON, now);
        }

        assert_eq!(rejections.stopped_until(&service(1), &token(9), later), None);
    }

    #[test]
    fn the_memory_of_services_and_tokens_is_bounded() {
        let mut rejections = Rejections::default();
        let tokens = (0..=MOST_TOKENS).map(|number| ("webpush", number.to_be_bytes().to_vec()));

        for (number, token) in tokens.enumerate() {
            rejections.reject(service(number), (Uuid::nil(), token), REASON, NOW);
            rejections.accept(service(MOST_TOKENS + number), NOW);
        }

        assert_eq!(
            (rejections.services.len(), rejections.tokens.len()),
            (MOST_SERVICES, MOST_TOKENS)
        );
        let later = NOW.after(STOPPED);
        rejections.reject(service(3 * MOST_TOKENS), of_tenant(1), REASON, later);
        assert_eq!((rejections.services.len(), rejections.tokens.len()), (1, 1));
    }
}
