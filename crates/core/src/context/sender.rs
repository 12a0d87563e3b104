//! The sender of a request: site, network, principal.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, OnceLock};

use uuid::Uuid;

use crate::identity::Identity;

/// The relation of the site that sent a request to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOrigin {
    /// This site, or the user directly.
    Same,
    /// Another site.
    Foreign,
    /// Unknown: neither `Sec-Fetch-Site` nor `Origin`. Programs and very old browsers send such requests.
    Unstated,
}

/// The known properties of the sender of a request, from the checks that the request has passed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sender {
    identity: Arc<OnceLock<Arc<Identity>>>,
    attempt: Arc<OnceLock<SignInAttempt>>,
}

/// The account whose password was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInAttempt {
    /// Hash of the normalized address, in hexadecimal digits. The address itself may belong to a person without an account.
    pub address_hash: String,
    /// Tenant and id of the only account of the address.
    pub account: Option<(Uuid, Uuid)>,
}

impl Sender {
    pub(crate) fn is(&self, identity: &Arc<Identity>) {
        // The first one stays: the sender of a request does not change.
        let _known = self.identity.set(Arc::clone(identity));
    }

    pub(crate) fn identity(&self) -> Option<&Arc<Identity>> {
        self.identity.get()
    }

    pub(crate) fn attempt(&self) -> Option<&SignInAttempt> {
        self.attempt.get()
    }

    pub(super) fn attempts(&self, attempt: SignInAttempt) {
        let _known = self.attempt.set(attempt);
    }
}

/// Returns the network by which limits count a client: its IPv4 address, or the /64 network of its IPv6 address, all of which belongs to one
/// client.
pub(super) fn network(ip: IpAddr) -> String {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("{}/64", Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f5_ipv6_clients_are_counted_by_their_64_prefix() {
        let counted = |ip: &str| network(ip.parse().expect("an address"));
        assert_eq!(counted("2001:db8:1:2::1"), counted("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_eq!(counted("2001:db8:1:2::1"), "2001:db8:1:2::/64");
        assert_ne!(counted("2001:db8:1:2::1"), counted("2001:db8:1:3::1"));
        assert_eq!([counted("192.0.2.1"), counted("::ffff:192.0.2.1")], ["192.0.2.1"; 2]);
    }
}
