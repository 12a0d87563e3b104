//! The rules for addresses.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::config::{Config, ConfigError};
use ipnet::IpNet;
use url::{Host, Url};

use crate::address::is_public;
use crate::client::{Client, ClientOptions, Error};
use crate::config::EgressConfig;
use crate::resolver::{Resolver, SystemResolver};
use crate::tls;

/// The setting with the exemptions.
const ALLOWED_HOSTS: &str = "egress.allowed_hosts";

/// Longest duration of a lookup.
const LOOK_UP: Duration = Duration::from_secs(10);

/// Why a request may not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Neither `https` nor an allowed `http`.
    #[error("the address must begin with https://")]
    Scheme,
    /// A user name or password.
    #[error("the address must not contain a user name or password")]
    UserInfo,
    /// A port that is not allowed.
    #[error("the port is not allowed")]
    Port,
    /// No host.
    #[error("the address has no host")]
    Host,
    /// An address that is not public.
    #[error("the host is not a public address")]
    Address,
}

/// A host that is exempt from the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    Name(String),
    Network(IpNet),
}

/// Decides to which addresses requests may be sent, and creates clients that follow it. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Egress {
    pub(crate) policy: Arc<Policy>,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) tls: tls::Roots,
}

/// The rules.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    allow_http: bool,
    ports: Vec<u16>,
    allowed: Vec<Allowed>,
}

impl Egress {
    /// Creates the rules from their section.
    ///
    /// # Errors
    /// When an allowed host is neither a name nor an address nor a network, or a port is 0.
    pub fn new(config: EgressConfig) -> Result<Self, ConfigError> {
        if config.ports.contains(&0) {
            return Err(ConfigError::new(
                "egress.ports",
                "must consist of ports from 1 to 65535",
            ));
        }
        let allowed = config.allowed_hosts.iter().map(|text| allowed(ALLOWED_HOSTS, text));
        let policy = Policy {
            allow_http: config.allow_http,
            ports: config.ports,
            allowed: allowed.collect::<Result<_, _>>()?,
        };
        Ok(Self {
            policy: Arc::new(policy),
            resolver: Arc::new(SystemResolver),
            tls: tls::Roots::default(),
        })
    }

    /// Creates the rules from the section `egress` of a configuration.
    ///
    /// # Errors
    /// When the section is invalid.
    pub fn of_config(config: &Config) -> Result<Self, ConfigError> {
        Self::new(config.section::<EgressConfig>("egress")?)
    }

    /// Returns the rules with further exempt hosts, which are the value of the setting `key`.
    ///
    /// # Errors
    /// When a host is neither a name nor an address nor a network.
    pub fn also_allowing(&self, key: &str, hosts: &[String]) -> Result<Self, ConfigError> {
        let mut policy = (*self.policy).clone();
        for host in hosts {
            policy.allowed.push(allowed(key, host)?);
        }
        Ok(Self {
            policy: Arc::new(policy),
            ..self.clone()
        })
    }

    /// Returns the rules with another resolver of names, for tests.
    #[must_use]
    pub fn with_resolver(self, resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, ..self }
    }

    /// Checks what an address shows without a lookup: scheme, port, and the host if it is an address. Names are checked when a client connects.
    ///
    /// # Errors
    /// Why no request may be sent there.
    pub fn check(&self, url: &Url) -> Result<(), Rejected> {
        self.policy.check(url)
    }

    /// Checks an address like [`check`](Self::check), and the addresses of its host.
    ///
    /// # Errors
    /// Why no request may be sent there, or that the host was not found in ten seconds.
    pub async fn look_up(&self, url: &Url) -> Result<(), Error> {
        self.check(url)?;
        let Some(Host::Domain(name)) = url.host() else {
            return Ok(());
        };
        let found = tokio::time::timeout(LOOK_UP, self.resolver.resolve(name)).await;
        let addresses = found
            .ok()
            .and_then(Result::ok)
            .filter(|addresses| !addresses.is_empty());
        let addresses = addresses.ok_or(Error::Unknown)?;
        match self.policy.admits(name, &addresses) {
            true => Ok(()),
            false => Err(Rejected::Address.into()),
        }
    }

    /// Creates a client. Its connections are kept for further requests, so it should be kept too.
    ///
    /// # Errors
    /// When TLS can't be set up.
    pub fn client(&self, options: ClientOptions) -> Result<Client, ConfigError> {
        Client::new(self, options)
    }
}

impl Policy {
    pub(crate) fn check(&self, url: &Url) -> Result<(), Rejected> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Rejected::UserInfo);
        }
        let is_http = match url.scheme() {
            "https" => false,
            "http" => true,
            _ => return Err(Rejected::Scheme),
        };
        let host = url.host().ok_or(Rejected::Host)?;
        let address = match host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            Host::Domain(_) => None,
        };
        let is_exempt = match (address, &host) {
            (Some(address), _) => self.allows_address(address),
            (None, Host::Domain(name)) => self.allows_name(name),
            (None, _) => false,
        };
        if is_exempt {
            return Ok(());
        }
        if is_http && !self.allow_http {
            return Err(Rejected::Scheme);
        }
        let port = url.port_or_known_default();
        let is_plain_http = is_http && port == Some(80);
        if !is_plain_http && !port.is_some_and(|port| self.ports.contains(&port)) {
            return Err(Rejected::Port);
        }
        match (address, host) {
            (Some(address), _) if !is_public(address) => Err(Rejected::Address),
            (None, Host::Domain(name)) if is_local(name) => Err(Rejected::Address),
            _ => Ok(()),
        }
    }

    /// Returns whether requests may go to all these addresses of a name.
    pub(crate) fn admits(&self, name: &str, addresses: &[IpAddr]) -> bool {
        let is_fine = |address: &IpAddr| is_public(*address) || self.allows_address(*address);
        self.allows_name(name) || addresses.iter().all(is_fine)
    }

    fn allows_name(&self, name: &str) -> bool {
        let is_own =
            |allowed: &Allowed| matches!(allowed, Allowed::Name(own) if own.eq_ignore_ascii_case(without_dot(name)));
        self.allowed.iter().any(is_own)
    }

    fn allows_address(&self, address: IpAddr) -> bool {
        let contains = |allowed: &Allowed| matches!(allowed, Allowed::Network(network) if network.contains(&address));
        self.allowed.iter().any(contains)
    }
}

/// Returns whether a name is one of the machine itself (RFC 6761).
fn is_local(name: &str) -> bool {
    let name = without_dot(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn allowed(key: &str, text: &str) -> Result<Allowed, ConfigError> {
    let text = text.trim();
    if let Ok(network) = text.parse::<IpNet>() {
        return Ok(Allowed::Network(network));
    }
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(Allowed::Network(address.into()));
    }
    match Host::parse(text) {
        Ok(Host::Domain(name)) => Ok(Allowed::Name(without_dot(&name).to_owned())),
        _ => Err(ConfigError::new(
            key,
            format!("`{text}` is neither a host name nor an address nor a network such as 10.1.0.0/16"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(egress: &Egress, url: &str) -> Result<(), Rejected> {
        egress.check(&Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}")))
    }

    fn strict() -> Egress {
        Egress::new(EgressConfig::default()).expect("created")
    }

    #[test]
    fn every_form_of_a_private_address_is_rejected() {
        for url in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://0177.0.0.1/",
            "https://0x7f.1/",
            "https://0x7f000001/",
            "https://2130706433/",
            "https://017700000001/",
            "https://0/",
            "https://0.0.0.0/",
            "https://10.1.2.3/",
            "https://0xa.1.2.3/",
            "https://167837955/",
            "https://172.16.0.1/",
            "https://192.168.1.1/",
            "https://0300.0250.1.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://0xa9fea9fe/",
            "https://2852039166/",
            "https://100.100.100.200/",
            "https://224.0.0.1/",
            "https://255.255.255.255/",
            "https://[::]/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:a9fe:a9fe]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[0:0:0:0:0:ffff:7f00:1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[64:ff9b::10.0.0.1]/",
            "https://[2002:7f00:1::]/",
            "https://[2002:c0a8:101::1]/",
            "https://[::127.0.0.1]/",
            "https://[fe80::1]/",
            "https://[fc00::1]/",
            "https://[fd00:ec2::254]/",
            "https://[ff02::1]/",
            "https://[2001::1]/",
            "https://localhost/",
            "https://LOCALHOST./",
            "https://app.localhost/",
            "https://127.0.0.1./",
            "https://%31%32%37.0.0.1/",
            "https://１２７.0.0.1/",
        ] {
            assert_eq!(check(&strict(), url), Err(Rejected::Address), "{url}");
        }
    }

    #[test]
    fn port_0_is_rejected_by_name() {
        let config = EgressConfig {
            ports: vec![443, 0],
            ..EgressConfig::default()
        };

        assert_eq!(Egress::new(config).expect_err("no port").key, "egress.ports");
    }

    #[test]
    fn scheme_port_and_user_info_are_checked() {
        for (url, expected) in [
            ("https://example.com/", Ok(())),
            ("https://example.com:8443/x?y", Ok(())),
            ("https://1.1.1.1/", Ok(())),
            ("http://example.com/", Err(Rejected::Scheme)),
            ("ftp://example.com/", Err(Rejected::Scheme)),
            ("file:///etc/passwd", Err(Rejected::Scheme)),
            ("https://example.com:22/", Err(Rejected::Port)),
            ("https://example.com:80/", Err(Rejected::Port)),
            ("https://user@example.com/", Err(Rejected::UserInfo)),
            ("https://:secret@example.com/", Err(Rejected::UserInfo)),
        ] {
            assert_eq!(check(&strict(), url), expected, "{url}");
        }
    }

    #[test]
    fn settings_exempt_hosts_and_allow_http() {
        let config = EgressConfig {
            allow_http: true,
            allowed_hosts: vec!["10.1.0.0/16".into(), "MinIO".into(), "[::1]".into()],
            ..EgressConfig::default()
        };
        let egress = Egress::new(config).expect("created");
        for (url, expected) in [
            ("http://example.com/", Ok(())),
            ("http://example.com:8080/", Err(Rejected::Port)),
            ("http://10.1.2.3:9000/", Ok(())),
            ("http://minio.:9000/", Ok(())),
            ("https://[::1]:9000/", Ok(())),
            ("https://10.2.0.1/", Err(Rejected::Address)),
        ] {
            assert_eq!(check(&egress, url), expected, "{url}");
        }
        let further = egress
            .also_allowing("x.hosts", &["10.2.0.1".to_owned()])
            .expect("extended");
        assert_eq!(check(&further, "http://10.2.0.1:1/"), Ok(()));
        assert_eq!(check(&egress, "http://10.2.0.1:1/"), Err(Rejected::Port));
        let invalid = egress
            .also_allowing("x.hosts", &["a b".to_owned()])
            .expect_err("invalid");
        assert!(invalid.to_string().starts_with("x.hosts"), "{invalid}");
    }

    #[test]
    fn one_private_address_of_a_name_rejects_it() {
        let policy = &strict().policy;
        let addresses =
            |texts: &[&str]| -> Vec<IpAddr> { texts.iter().map(|text| text.parse().expect("an address")).collect() };
        assert!(policy.admits("a.example", &addresses(&["1.1.1.1", "2606:4700::1"])));
        assert!(!policy.admits("a.example", &addresses(&["1.1.1.1", "127.0.0.1"])));
        assert!(!policy.admits("a.example", &addresses(&["::ffff:10.0.0.1"])));
    }
}
