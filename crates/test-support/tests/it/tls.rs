//! Every mode of TLS against a PostgreSQL with TLS.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use backoffice_core::Scope;
use backoffice_core::db::{Connector, Database, DatabaseOptions, TlsOptions};
use backoffice_local_postgres::{Listener, LocalPostgres, Settings};
use diesel_async::SimpleAsyncConnection;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tokio_postgres::Client;

const NAME: &str = "db.office.test";

/// Access rules: one user for each kind of connection.
const RULES: [&str; 4] = [
    "hostnossl all plain 127.0.0.0/8 trust",
    "hostssl all encrypted 127.0.0.0/8 trust",
    "hostssl all certified 127.0.0.0/8 trust clientcert=verify-ca",
    "host all all all reject",
];

/// A cluster with a listener, and its certificates.
struct Cluster {
    postgres: Option<LocalPostgres>,
    dir: PathBuf,
    files: PathBuf,
    address: IpAddr,
    owner: Client,
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    let pem = params.self_signed(&key).expect("a certificate").pem();
    Authority {
        issuer: Issuer::new(params, key),
        pem,
    }
}

impl Authority {
    /// Returns certificate and key.
    fn leaf(&self, names: &[&str], usage: ExtendedKeyUsagePurpose) -> (String, String) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(DnType::CommonName, "leaf");
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

impl Cluster {
    async fn start() -> Self {
        // Any loopback address will do; this one is unlikely to be in use.
        let [a, b, c, d] = std::process::id().to_be_bytes();
        let address = IpAddr::V4(Ipv4Addr::new(127, 1 + (a ^ b) % 250, c, 1 + d % 250));
        let dir = std::env::temp_dir().join(format!("backoffice-tls-{}", std::process::id()));
        let settings = Settings {
            durable: false,
            listener: Some(Listener {
                address,
                rules: RULES.map(str::to_owned).to_vec(),
            }),
            ..Settings::new(&dir)
        };
        let started = tokio::task::spawn_blocking(move || LocalPostgres::start(&settings)).await;
        let postgres = started.expect("it ends").expect("a private PostgreSQL starts");
        let files = postgres.dir().to_owned();
        let owner = Connector::new(
            "url",
            &postgres.url("postgres", "postgres").into(),
            &TlsOptions::default(),
        )
        .expect("a URL");
        let (owner, connection) = owner.connect().await.expect("connected");
        tokio::spawn(connection);
        let cluster = Self {
            postgres: Some(postgres),
            dir,
            files,
            address,
            owner,
        };
        cluster.prepare().await;
        cluster
    }

    async fn prepare(&self) {
        let (own, foreign) = (authority("own"), authority("foreign"));
        let (certificate, key) = own.leaf(&[NAME], ExtendedKeyUsagePurpose::ServerAuth);
        for (name, text) in [
            ("root.pem", own.pem.clone()),
            ("foreign.pem", foreign.pem.clone()),
            ("server.pem", certificate),
            ("server.key", key),
        ] {
            self.write(name, &text);
        }
        for (name, authority) in [("own", &own), ("stranger", &foreign)] {
            let (certificate, key) = authority.leaf(&["client"], ExtendedKeyUsagePurpose::ClientAuth);
            self.write(&format!("{name}-client.pem"), &certificate);
            self.write(&format!("{name}-client.key"), &key);
        }
        self.sql("create role plain login").await;
        self.sql("create role encrypted login").await;
        self.sql("create role certified login").await;
        for (setting, file) in [
            ("ssl_cert_file", "server.pem"),
            ("ssl_key_file", "server.key"),
            ("ssl_ca_file", "root.pem"),
        ] {
            self.sql(&format!("alter system set {setting} = '{}'", self.path(file).display()))
                .await;
        }
        self.switch("on").await;
    }

    async fn switch(&self, ssl: &str) {
        self.sql(&format!("alter system set ssl = {ssl}")).await;
        self.sql("select pg_reload_conf()").await;
        for _ in 0..200 {
            let row = self.owner.query_one("show ssl", &[]).await.expect("a setting");
            if row.get::<_, String>(0) == ssl {
                // The backend that reports the setting may know it before the postmaster does.
                tokio::time::sleep(Duration::from_millis(300)).await;
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("ssl is not {ssl}");
    }

    async fn sql(&self, sql: &str) {
        self.owner
            .batch_execute(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files.join(name)
    }

    /// Writes a file that only the server's user can read.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        let owner = fs::metadata(self.files.join("data")).expect("the data");
        chown(&path, Some(owner.uid()), Some(owner.gid())).expect("an owner");
    }

    fn url(&self, user: &str, host: &str, parameters: &str) -> String {
        let files = self.files.display();
        let parameters = parameters.replace('@', &format!("{files}/"));
        format!(
            "postgres://{user}@{host}/postgres?hostaddr={}&{parameters}",
            self.address
        )
    }

    /// Returns whether the connection is encrypted, or why it failed.
    async fn connect(&self, user: &str, host: &str, parameters: &str) -> Result<bool, String> {
        let url = self.url(user, host, parameters);
        let connector =
            Connector::new("database.url", &url.into(), &TlsOptions::default()).map_err(|error| error.to_string())?;
        let (client, connection) = connector.connect().await.map_err(|error| format!("{error:?}"))?;
        tokio::spawn(connection);
        let row = client
            .query_one("select ssl from pg_stat_ssl where pid = pg_backend_pid()", &[])
            .await
            .map_err(|error| error.to_string())?;
        Ok(row.get(0))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.postgres.take());
        for dir in [&self.files, &self.dir] {
            // Both folders may be the same.
            let _deleted = fs::remove_dir_all(Path::new(dir));
        }
    }
}

#[actix_web::test]
async fn s2_each_mode_accepts_and_rejects_what_libpq_does() {
    let cluster = Cluster::start().await;
    let own_cert = "sslcert=@own-client.pem&sslkey=@own-client.key";
    let certified = format!("sslmode=verify-full&sslrootcert=@root.pem&{own_cert}");
    let stranger = certified.replace("own-client", "stranger-client");
    // User, host, parameters; whether the connection is encrypted, or a part of the error.
    let cases: &[(&str, &str, &str, Result<bool, &str>)] = &[
        ("plain", NAME, "sslmode=disable", Ok(false)),
        ("encrypted", NAME, "sslmode=disable", Err("no encryption")),
        ("encrypted", "other.test", "sslmode=prefer", Ok(true)),
        ("encrypted", "other.test", "sslmode=require", Ok(true)),
        (
            "encrypted",
            "other.test",
            "sslmode=require&sslrootcert=@root.pem",
            Ok(true),
        ),
        (
            "encrypted",
            NAME,
            "sslmode=require&sslrootcert=@foreign.pem",
            Err("UnknownIssuer"),
        ),
        (
            "encrypted",
            "other.test",
            "sslmode=verify-ca&sslrootcert=@root.pem",
            Ok(true),
        ),
        (
            "encrypted",
            NAME,
            "sslmode=verify-ca&sslrootcert=@foreign.pem",
            Err("UnknownIssuer"),
        ),
        ("encrypted", NAME, "sslmode=verify-full&sslrootcert=@root.pem", Ok(true)),
        (
            "encrypted",
            "other.test",
            "sslmode=verify-full&sslrootcert=@root.pem",
            Err("NotValidForName"),
        ),
        (
            "encrypted",
            NAME,
            "sslmode=verify-full&sslrootcert=@foreign.pem",
            Err("UnknownIssuer"),
        ),
        (
            "encrypted",
            NAME,
            "sslmode=verify-full&sslrootcert=@missing.pem",
            Err("missing.pem"),
        ),
        // The roots of the system, if there are any, do not verify this host.
        (
            "encrypted",
            "localhost",
            "sslmode=verify-full&sslrootcert=system",
            Err(""),
        ),
        (
            "certified",
            NAME,
            "sslmode=verify-full&sslrootcert=@root.pem",
            Err("client certificate"),
        ),
        ("certified", NAME, &certified, Ok(true)),
        ("certified", NAME, &stranger, Err("")),
    ];
    for (user, host, parameters, expected) in cases {
        let found = cluster.connect(user, host, parameters).await;
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{user} {host} {parameters}"),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{user} {host} {parameters}: {found}"),
            _ => panic!("{user} {host} {parameters}: {found:?}"),
        }
    }

    let verified = cluster.url("encrypted", NAME, "sslmode=verify-full&sslrootcert=@root.pem");
    the_pool_and_its_cancelling_are_encrypted(&cluster, &verified).await;

    cluster.switch("off").await;
    let plain = cluster.connect("plain", NAME, "sslmode=prefer").await;
    assert_eq!(plain, Ok(false), "a server without TLS");
    for mode in [
        "require",
        "verify-ca&sslrootcert=@root.pem",
        "verify-full&sslrootcert=@root.pem",
    ] {
        let rejected = cluster.connect("plain", NAME, &format!("sslmode={mode}")).await;
        let rejected = rejected.expect_err(mode);
        assert!(rejected.contains("does not support TLS"), "{mode}: {rejected}");
    }
}

async fn the_pool_and_its_cancelling_are_encrypted(cluster: &Cluster, url: &str) {
    let database = Database::new(DatabaseOptions {
        pool_size: 1,
        ..DatabaseOptions::new(url.to_owned().into())
    })
    .expect("a pool");
    let mut connection = database.read(&Scope::system()).await.expect("a connection");
    let work = async move { connection.batch_execute("select pg_sleep(60)").await };
    assert!(tokio::time::timeout(Duration::from_millis(300), work).await.is_err());
    let sleeping = "select count(*) from pg_stat_activity a join pg_stat_ssl s using (pid) \
        where a.usename = 'encrypted' and s.ssl and a.query like '%pg_sleep%' and a.state = 'active'";
    for _ in 0..200 {
        let row = cluster.owner.query_one(sleeping, &[]).await.expect("a count");
        if row.get::<_, i64>(0) == 0 {
            let next = database.read(&Scope::system()).await;
            next.expect("a connection");
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the statement goes on");
}
