//! Stand-ins of push services. They share no code with the module: they know the protocols only.

mod browser;
mod http1;
mod http2;
mod keys;

pub(crate) use browser::{Browser, verify_es256};
pub(crate) use http1::{Received, Reply, Service};
pub(crate) use http2::AppleService;
pub(crate) use keys::{ec_key, rsa_key};

/// Configuration with which requests may go to services on this machine, and no limit is counted.
pub(crate) const LOCAL: &str = "[rate_limits]\nenabled = false\n[egress]\nallowed_hosts = ['127.0.0.1']\n";
/// A key of web push.
pub(crate) const WEBPUSH: &str = "[push.webpush]\nsubject = 'mailto:office@example.com'\nkeys = [{ kid = 'first', secret = 'webpushwebpushwebpushwebpushwebpush' }]\n";
