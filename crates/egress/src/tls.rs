//! TLS with the trusted roots of the system.

use std::sync::{Arc, OnceLock};

use backoffice_core::config::ConfigError;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};

/// The trusted roots; read from the system once, for the first client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roots(Arc<OnceLock<Arc<RootCertStore>>>);

impl Roots {
    /// Returns a configuration of rustls that verifies servers. `http2`: whether the server must agree to HTTP/2.
    pub(crate) fn client_config(&self, http2: bool) -> Result<ClientConfig, ConfigError> {
        let roots = Arc::clone(self.0.get_or_init(|| Arc::new(system())));
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError::new("egress", error.to_string()))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        if http2 {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
        Ok(config)
    }
}

fn system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::warn!(%error, "could not read a trusted certificate of the system");
    }
    roots.add_parsable_certificates(found.certs);
    roots
}
