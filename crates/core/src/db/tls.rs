//! TLS of the connections to the database, with the names of libpq.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::Deserialize;

use crate::config::ConfigError;

type Result<T, E = ConfigError> = std::result::Result<T, E>;

/// Extent of the verification of the server, as `sslmode` of libpq.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// No TLS.
    Disable,
    /// TLS if the server has it; nothing is verified.
    Prefer,
    /// Always TLS. Nothing is verified, unless roots are given: then as [`TlsMode::VerifyCa`].
    Require,
    /// The certificate must come from a trusted root.
    VerifyCa,
    /// As [`TlsMode::VerifyCa`]; the certificate must also be for the host of the URL.
    VerifyFull,
}

impl TlsMode {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

/// Section `database.tls`. The parameters `sslmode`, `sslrootcert`, `sslcert` and `sslkey` of a URL take precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsOptions {
    /// `disable`, `prefer`, `require`, `verify-ca` or `verify-full`. Default: `disable` on the same machine, else `verify-full`.
    pub mode: Option<TlsMode>,
    /// File with the trusted roots. Default: those of the system.
    pub root_cert_file: Option<PathBuf>,
    /// File with the client certificate (and its chain).
    pub cert_file: Option<PathBuf>,
    /// File with the key of that certificate.
    pub key_file: Option<PathBuf>,
}

impl TlsOptions {
    /// Takes one parameter of a URL; false when it is not a TLS parameter.
    pub(super) fn take(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "sslmode" => {
                let unknown =
                    || ConfigError::new("sslmode", "must be disable, prefer, require, verify-ca or verify-full");
                self.mode = Some(TlsMode::parse(value).ok_or_else(unknown)?);
            }
            "sslrootcert" if value == "system" => self.root_cert_file = None,
            "sslrootcert" => self.root_cert_file = Some(value.into()),
            "sslcert" => self.cert_file = Some(value.into()),
            "sslkey" => self.key_file = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the configuration of rustls for a mode. `configured` are the options without the parameters of the URL: errors about their files name
    /// the settings, others name the parameters.
    pub(super) fn client_config(&self, mode: TlsMode, configured: &Self) -> Result<ClientConfig> {
        let names = Names::new(self, configured);
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| ConfigError::new("database.tls", error.to_string()))?;
        let mode = match mode {
            TlsMode::Require if self.root_cert_file.is_some() => TlsMode::VerifyCa,
            mode => mode,
        };
        let builder = if mode == TlsMode::VerifyFull {
            builder.with_root_certificates(self.roots(names.root)?)
        } else {
            let roots = match mode {
                TlsMode::VerifyCa => Some(self.roots(names.root)?),
                _ => None,
            };
            let verifier = Arc::new(AnyName { roots, provider });
            builder.dangerous().with_custom_certificate_verifier(verifier)
        };
        match (&self.cert_file, &self.key_file) {
            (Some(cert), Some(key)) => {
                let chain = certificates(names.cert, cert)?;
                let key_text = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(names.key, key, &error))?;
                builder
                    .with_client_auth_cert(chain, key_text)
                    .map_err(|error| unreadable(names.cert, cert, &error))
            }
            (None, None) => Ok(builder.with_no_client_auth()),
            (Some(_), None) => Err(alone(names.cert, names.missing_key)),
            (None, Some(_)) => Err(alone(names.key, names.missing_cert)),
        }
    }

    /// Returns the trusted roots. `name` is the name of the file with them.
    fn roots(&self, name: &str) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = &self.root_cert_file {
            for certificate in certificates(name, path)? {
                roots.add(certificate).map_err(|error| unreadable(name, path, &error))?;
            }
            return Ok(roots);
        }
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let text = "the system has no trusted roots; name a file with database.tls.root_cert_file";
            return Err(ConfigError::new("database.tls", text));
        }
        Ok(roots)
    }
}

/// The names of the files in errors: settings, or parameters of the URL.
#[derive(Debug, Clone, Copy)]
struct Names {
    root: &'static str,
    cert: &'static str,
    key: &'static str,
    /// The key that is missing beside the certificate.
    missing_key: &'static str,
    /// The certificate that is missing beside the key.
    missing_cert: &'static str,
}

impl Names {
    fn new(used: &TlsOptions, configured: &TlsOptions) -> Self {
        let name = |is_setting: bool, setting, parameter| if is_setting { setting } else { parameter };
        let (cert, key) = (
            used.cert_file == configured.cert_file,
            used.key_file == configured.key_file,
        );
        Self {
            root: name(
                used.root_cert_file == configured.root_cert_file,
                "database.tls.root_cert_file",
                "sslrootcert",
            ),
            cert: name(cert, CERT_FILE, "sslcert"),
            key: name(key, KEY_FILE, "sslkey"),
            missing_key: name(cert, KEY_FILE, "sslkey"),
            missing_cert: name(key, CERT_FILE, "sslcert"),
        }
    }
}

const CERT_FILE: &str = "database.tls.cert_file";
const KEY_FILE: &str = "database.tls.key_file";

fn alone(present: &str, missing: &str) -> ConfigError {
    ConfigError::new(present, format!("needs {missing}, which is not set"))
}

fn certificates(key: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| unreadable(key, path, &error))?;
    if found.is_empty() {
        return Err(unreadable(key, path, &"no certificate in it"));
    }
    Ok(found)
}

fn unreadable(key: &str, path: &Path, cause: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::new(key, format!("{}: {cause}", path.display()))
}

/// Accepts any server name, and any certificate when there are no roots; the server must hold the key of its certificate.
#[derive(Debug)]
struct AnyName {
    roots: Option<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
