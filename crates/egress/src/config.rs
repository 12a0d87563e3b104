//! Section `egress` of the configuration.

use serde::Deserialize;

/// To which addresses requests may be sent.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EgressConfig {
    /// Whether `http` is allowed beside `https`, and then port 80. Default false.
    pub allow_http: bool,
    /// Host names, addresses or networks that are exempt from the rules on scheme, port and address. Default: none.
    pub allowed_hosts: Vec<String>,
    /// Allowed ports. Default 443 and 8443.
    pub ports: Vec<u16>,
}

impl Default for EgressConfig {
    fn default() -> Self {
        Self {
            allow_http: false,
            allowed_hosts: Vec::new(),
            ports: vec![443, 8443],
        }
    }
}
