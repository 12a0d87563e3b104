//! Sends messages to a mail server.

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lettre::message::Mailbox;
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{AsyncSmtpTransportBuilder, PoolConfig};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use secrecy::{ExposeSecret, SecretString};
use url::Url;
use uuid::Uuid;

use super::config::MailConfig;
use super::failure::cause;
use super::message::{domain, message};
use super::{Mail, MailError, Mailer};
use crate::config::ConfigError;

/// Longest duration of a delivery for which a client waits, from the connection to the server's last response; and of a connection attempt.
const PATIENCE: Duration = Duration::from_secs(8);

/// Longest duration of a delivery in a job. Servers may examine a message before they accept it; a delivery that is abandoned meanwhile is repeated, and
/// the recipient gets both messages. The job's lease is renewed meanwhile; a process that stops does not wait for it.
const PATIENCE_OF_JOBS: Duration = Duration::from_secs(60);

/// Sends messages to an SMTP server, each over its own connection.
#[derive(Debug)]
pub struct SmtpMailer {
    builder: AsyncSmtpTransportBuilder,
    /// Created by the first delivery, in its runtime.
    transport: OnceLock<AsyncSmtpTransport<Tokio1Executor>>,
    from: Mailbox,
    patience: Duration,
    patience_of_jobs: Duration,
}

impl SmtpMailer {
    pub(super) fn new(settings: &MailConfig, from: Mailbox) -> Result<Self, ConfigError> {
        let url: SecretString = settings.server()?;
        let (Ok(builder), Ok(url)) = (
            AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret()),
            Url::parse(url.expose_secret()),
        ) else {
            return Err(ConfigError::new(
                "mail.smtp_url",
                "is not a valid URL of the form smtps://user:password@host or smtp://user:password@host?tls=required",
            ));
        };
        // The mail library would send without credentials.
        if url.username().is_empty() == url.password().is_some() {
            return Err(ConfigError::new(
                "mail.smtp_url",
                "must have both a user and a password, or neither: smtps://user:password@host or smtps://host",
            ));
        }
        let has_name = !url.path().trim_matches('/').is_empty();
        let builder = match has_name {
            true => builder,
            false => builder.hello_name(ClientId::Domain(domain(&from))),
        };
        Ok(Self {
            // A pool without a place closes each connection in the background: a delivery ends when the server has accepted the message, and a server that
            // does not respond to `QUIT` does not fail it.
            builder: builder
                .timeout(Some(PATIENCE))
                .pool_config(PoolConfig::new().max_size(0)),
            transport: OnceLock::new(),
            from,
            patience: PATIENCE,
            patience_of_jobs: PATIENCE_OF_JOBS,
        })
    }

    async fn deliver(&self, mail: &Mail, job: Option<Uuid>, patience: Duration) -> Result<(), MailError> {
        let message = message(mail, &self.from, job)?;
        let transport = self.transport.get_or_init(|| self.builder.clone().build());
        match tokio::time::timeout(patience, transport.send(message)).await {
            Ok(Ok(_accepted)) => Ok(()),
            Ok(Err(error)) => Err(MailError(cause(&error))),
            Err(_late) => Err(MailError("the mail server did not respond in time".to_owned())),
        }
    }
}

impl Mailer for SmtpMailer {
    fn send<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(self.deliver(mail, None, self.patience))
    }

    fn send_in_job<'a>(&'a self, mail: &'a Mail, job: Uuid) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(self.deliver(mail, Some(job), self.patience_of_jobs))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::thread;

    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{ServerConfig, ServerConnection};

    use super::*;
    use crate::mail::Transport;
    use crate::time::Timestamp;

    /// Responses to commands, by their first words.
    type Responses = &'static [(&'static str, &'static str)];
    type Lines = Arc<Mutex<Vec<String>>>;

    /// A mail server that accepts each message after a delay, and every command without a response of the test's own.
    struct Server {
        address: SocketAddr,
        received: Lines,
    }

    impl Server {
        fn start(responses: Responses, delay: Duration) -> Self {
            let (listener, address) = listen();
            let received = Lines::default();
            let lines = Arc::clone(&received);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    // A client that ends the connection is not a failure of the test.
                    let _ended = converse(&stream, responses, delay, &lines);
                }
            });
            Self { address, received }
        }

        fn received(&self) -> Vec<String> {
            self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }
    }

    fn listen() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        (listener, address)
    }

    fn converse(
        mut stream: &TcpStream,
        responses: Responses,
        delay: Duration,
        received: &Lines,
    ) -> std::io::Result<()> {
        stream.write_all(b"220 mail.test\r\n")?;
        let mut reader = BufReader::new(stream);
        let mut in_message = false;
        loop {
            let mut line = Vec::new();
            if reader.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let word = line.split(' ').next().unwrap_or_default();
            let response = if in_message {
                in_message = line != ".";
                if in_message {
                    continue;
                }
                #[expect(clippy::disallowed_methods, reason = "the thread belongs to the server alone")]
                thread::sleep(delay);
                "250 taken\r\n"
            } else if let Some((_, response)) = responses.iter().find(|(command, _)| *command == word) {
                response
            } else if word == "DATA" {
                in_message = true;
                "354 go on\r\n"
            } else {
                "250 fine\r\n"
            };
            received.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            stream.write_all(response.as_bytes())?;
        }
    }

    fn mailer(url: &str, from: &str) -> Result<SmtpMailer, ConfigError> {
        let settings = MailConfig {
            transport: Some(Transport::Smtp),
            smtp_url: Some(url.into()),
            ..MailConfig::default()
        };
        SmtpMailer::new(&settings, from.parse().expect("a mailbox"))
    }

    fn mail() -> Mail {
        Mail {
            to: "ann@example.com".to_owned(),
            subject: "Hello".to_owned(),
            text: "Hello".to_owned(),
            html: "<p>Hello</p>".to_owned(),
            language: "en".to_owned(),
            written_at: Timestamp::UNIX_EPOCH,
        }
    }

    /// Returns the error of a delivery to this server.
    async fn failure_at(url: &str) -> String {
        let mailer = mailer(url, "office@office.example").expect("a valid URL");
        let sent = mailer.send(&mail()).await;
        sent.expect_err("the delivery fails").to_string()
    }

    #[tokio::test]
    async fn a_job_waits_longer_than_a_client() {
        let server = Server::start(&[], Duration::from_millis(600));
        let mut mailer = mailer(&format!("smtp://{}", server.address), "office@office.example").expect("a valid URL");
        assert!(mailer.patience < mailer.patience_of_jobs);
        (mailer.patience, mailer.patience_of_jobs) = (Duration::from_millis(200), Duration::from_secs(20));

        let waited_for = mailer.send(&mail()).await;
        let of_job = mailer.send_in_job(&mail(), Uuid::from_u128(7)).await;

        let late = waited_for.expect_err("the server is slow").to_string();
        assert_eq!(late, "the mail server did not respond in time");
        assert!(of_job.is_ok(), "{of_job:?}");
    }

    #[tokio::test]
    async fn a_server_that_does_not_respond_to_the_farewell_has_accepted_the_message() {
        let server = Server::start(&[("QUIT", "")], Duration::ZERO);
        let mut mailer = mailer(&format!("smtp://{}", server.address), "office@office.example").expect("a valid URL");
        mailer.patience = Duration::from_secs(4);

        let sent = mailer.send(&mail()).await;

        assert!(sent.is_ok(), "{sent:?}");
    }

    #[tokio::test]
    async fn operators_see_why_a_delivery_failed() {
        const AUTH: (&str, &str) = ("EHLO", "250-mail.test\r\n250 AUTH PLAIN LOGIN\r\n");
        let cases: [(&str, &str, Responses, &str); 7] = [
            (
                "smtp://",
                "/?tls=required",
                &[],
                "STARTTLS is not supported on this server",
            ),
            (
                "smtp://ann:hidden@",
                "",
                &[],
                "No compatible authentication mechanism was found",
            ),
            (
                "smtp://ann:hidden@",
                "",
                &[AUTH, ("AUTH", "535 wrong password of ann\r\n")],
                "the mail server rejected the credentials of `mail.smtp_url` (535)",
            ),
            (
                "smtp://",
                "",
                &[("MAIL", "530 who are you\r\n")],
                "the mail server requires credentials or TLS; set both in `mail.smtp_url` (530)",
            ),
            (
                "smtp://",
                "",
                &[("RCPT", "550 no ann@example.com here\r\n")],
                "the mail server rejected the message with 550",
            ),
            ("smtps://", "", &[], "no secure connection to the mail server: "),
            ("smtp://", "", &[("EHLO", "what\r\n")], "the connection broke"),
        ];
        for (scheme, rest, responses, expected) in cases {
            let server = Server::start(responses, Duration::ZERO);

            let failure = failure_at(&format!("{scheme}{}{rest}", server.address)).await;

            assert!(failure.contains(expected), "{scheme}{rest}: {failure}");
            assert!(!failure.contains("ann") && !failure.contains("hidden"), "{failure}");
        }
    }

    #[tokio::test]
    async fn operators_see_that_a_certificate_is_invalid() {
        let issued = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_no_client_auth()
            .with_single_cert(vec![issued.cert.der().clone()], key.into())
            .expect("a configuration");
        let (listener, address) = listen();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut connection = ServerConnection::new(Arc::new(config)).expect("a connection");
            // The client rejects the certificate.
            let _ended = connection.complete_io(&mut stream);
        });

        let failure = failure_at(&format!("smtps://{address}")).await;

        let expected = "no secure connection to the mail server: invalid peer certificate: UnknownIssuer";
        assert_eq!(failure, expected);
    }

    #[tokio::test]
    async fn the_client_introduces_itself_by_the_path_of_the_url_or_the_domain_of_the_sender() {
        for (path, from, expected) in [
            ("", "Office <office@office.example>", "EHLO office.example"),
            ("/", "office@b\u{fc}ro.example", "EHLO xn--bro-hoa.example"),
            ("/mx.example", "office@office.example", "EHLO mx.example"),
        ] {
            let server = Server::start(&[], Duration::ZERO);
            let mailer = mailer(&format!("smtp://{}{path}", server.address), from).expect("a valid URL");

            // The server does not offer SMTPUTF8, which the second sender needs.
            let _sent = mailer.send(&mail()).await;

            let received = server.received();
            assert_eq!(received.first().map(String::as_str), Some(expected), "{path}");
        }
    }

    #[test]
    fn a_user_without_a_password_is_rejected() {
        for url in [
            "smtps://ann@mail.example",
            "smtps://ann:@mail.example",
            "smtp://:hidden@mail.example",
        ] {
            let error = mailer(url, "office@office.example").expect_err("an invalid URL");

            let error = error.to_string();
            assert!(
                error.contains("mail.smtp_url: must have both a user and a password"),
                "{error}"
            );
            assert!(!error.contains("ann") && !error.contains("hidden"), "{error}");
        }
        for url in ["smtps://mail.example", "smtps://ann:hidden@mail.example"] {
            assert!(mailer(url, "office@office.example").is_ok(), "{url}");
        }
    }
}
