//! The server is killed while it writes, again and again. What it acknowledged stays, nothing is half there, and it serves again soon.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use backoffice_core::ids::Ids;
use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{Folder, errors};

const ROUNDS: usize = 20;
const CLIENTS: usize = 4;
const ROLES_OF_A_CLIENT: usize = 3;
const EMAIL: &str = "writer@example.com";
const PASSWORD: &str = "killed-Often-4711";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_nothing_that_it_acknowledged() {
    let modules = backoffice_server::modules::compiled();
    let database = TestDatabase::create(&modules).await;
    let folder = Folder::new();
    let token = account(&folder, &database).await;
    let mut clients: Vec<Client> = (0..CLIENTS).map(Client::new).collect();
    let mut slowest = Duration::ZERO;

    for round in 0..=ROUNDS {
        let started = Instant::now();
        let server = Server::start(&folder, &database);
        server.wait_for("/api/auth/profile", &token).await;
        slowest = slowest.max(started.elapsed());
        if round == ROUNDS {
            break;
        }
        clients = server.kill_under_load(clients, round, &token).await;
        wait_until_disconnected(&database).await;
        for client in &mut clients {
            client.check(&database).await;
        }
        check_log(&database).await;
    }

    let acknowledged: usize = clients.iter().map(|client| client.operations.len()).sum();
    println!("{acknowledged} acknowledged writes, slowest start {slowest:?}");
    assert!(
        acknowledged >= ROUNDS * CLIENTS,
        "too little was written to show anything: {acknowledged}"
    );
    assert!(slowest <= Duration::from_secs(2), "{slowest:?}");
}

/// Makes an administrator of the first tenant and signs in.
async fn account(folder: &Folder, database: &TestDatabase) -> String {
    folder.write("password", PASSWORD);
    let url = database.application_url();
    let init = ["init", "--generate"];
    let create = [
        "user",
        "create",
        EMAIL,
        "--tenant",
        "Main",
        "--role",
        "admin",
        "--password-file",
        "password",
    ];
    for arguments in [&init[..], &create[..]] {
        let output = folder.run_with(arguments, &[("BACKOFFICE__DATABASE__URL", &url)]);
        assert!(output.status.success(), "{}", errors(&output));
    }
    let server = Server::start(folder, database);
    server.wait_for("/api/version", "").await;
    let body = json!({"email": EMAIL, "password": PASSWORD});
    let answer = Connection::open(server.api).and_then(|mut one| one.send("POST", "/api/auth/login", "", Some(&body)));
    let answer = answer.expect("the login is answered");
    answer.body["token"]
        .as_str()
        .unwrap_or_else(|| panic!("signed in: {}", answer.body))
        .to_owned()
}

pub(crate) struct Server {
    child: Child,
    api: SocketAddr,
}

impl Server {
    pub(crate) fn start(folder: &Folder, database: &TestDatabase) -> Self {
        let (api, admin) = (free_address(), free_address());
        let mut program = Command::new(env!("CARGO_BIN_EXE_backoffice"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BACKOFFICE") {
                program.env_remove(name);
            }
        }
        let child = program
            .arg("serve")
            .current_dir(folder.path(""))
            .env("BACKOFFICE__DATABASE__URL", database.application_url())
            .env("BACKOFFICE__HTTP__LISTEN", api.to_string())
            .env("BACKOFFICE__ADMIN__LISTEN", admin.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        Self { child, api }
    }

    pub(crate) async fn wait_for(&self, path: &str, token: &str) {
        let started = Instant::now();
        loop {
            let answer = Connection::open(self.api).and_then(|mut one| one.send("GET", path, token, None));
            match answer {
                Ok(answer) if answer.status == 200 => return,
                outcome => assert!(started.elapsed() < Duration::from_secs(30), "{path}: {outcome:?}"),
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Lets the clients write and kills the server at a moment that they do not know.
    async fn kill_under_load(mut self, clients: Vec<Client>, round: usize, token: &str) -> Vec<Client> {
        let api = self.api;
        let writing: Vec<_> = clients
            .into_iter()
            .map(|client| {
                let token = token.to_owned();
                thread::spawn(move || client.write_until_killed(api, round, &token))
            })
            .collect();
        let [moment] = Ids::default().random::<1>();
        sleep(Duration::from_millis(100 + u64::from(moment) * 2)).await;
        self.child.kill().expect("the server was still running");
        self.child.wait().expect("the server is ours");
        writing
            .into_iter()
            .map(|client| client.join().expect("every other answer is a success"))
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already.
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("a bound listener has an address")
}

/// A role as its client knows it.
#[derive(Debug)]
struct Role {
    id: String,
    acknowledged: String,
    /// Sent and not answered: it may have become true.
    sent: Option<String>,
}

/// Makes roles and renames them, each name once.
#[derive(Debug)]
struct Client {
    number: usize,
    roles: Vec<Role>,
    operations: Vec<String>,
}

impl Client {
    fn new(number: usize) -> Self {
        Self {
            number,
            roles: Vec::new(),
            operations: Vec::new(),
        }
    }

    fn write_until_killed(mut self, api: SocketAddr, round: usize, token: &str) -> Self {
        let Ok(mut connection) = Connection::open(api) else {
            return self;
        };
        for step in 0.. {
            let name = format!("crash {round} {} {step}", self.number);
            let answer = if self.roles.len() < ROLES_OF_A_CLIENT || step == 0 {
                connection.send("POST", "/api/auth/roles", token, Some(&json!({"name": name})))
            } else {
                let index = step % self.roles.len();
                let role = &mut self.roles[index];
                role.sent = Some(name.clone());
                connection.send(
                    "PUT",
                    "/api/auth/roles",
                    token,
                    Some(&json!({"id": role.id, "name": name})),
                )
            };
            let Ok(answer) = answer else { break };
            assert!(matches!(answer.status, 200 | 201), "{}: {}", answer.status, answer.body);
            self.operations.push(answer.operation);
            if answer.status == 201 {
                let id = answer.body["id"].as_str().expect("a role has an id").to_owned();
                self.roles.push(Role {
                    id,
                    acknowledged: name,
                    sent: None,
                });
            } else {
                let renamed = self
                    .roles
                    .iter_mut()
                    .find(|role| role.sent.is_some())
                    .expect("one was renamed");
                renamed.acknowledged = name;
                renamed.sent = None;
            }
        }
        self
    }

    /// What was acknowledged is there, and every acknowledged operation has its entry.
    async fn check(&mut self, database: &TestDatabase) {
        for role in &mut self.roles {
            let stored = database
                .rows(&format!("select name from auth_roles where id = '{}'", role.id))
                .await;
            let name = stored.first().and_then(|row| row["name"].as_str()).map(str::to_owned);
            let expected = [Some(role.acknowledged.clone()), role.sent.take()];
            assert!(
                name.is_some() && expected.contains(&name),
                "{name:?} instead of {expected:?}"
            );
            role.acknowledged = name.unwrap_or_default();
        }
        let ids = self
            .operations
            .iter()
            .map(|id| format!("'{id}'"))
            .collect::<Vec<_>>()
            .join(", ");
        if !ids.is_empty() {
            let found = format!("select count(*) as found from audit_action_logs where id in ({ids})");
            assert_eq!(database.rows(&found).await[0]["found"], self.operations.len());
        }
    }
}

/// What must never be seen, each as a query for the offending rows.
const OFFENCES: &[(&str, &str)] = &[
    (
        "a role has as many entries as versions",
        "select r.id, v.max_version, l.entries from auth_roles r
         left join audit_resource_versions v on v.tenant_id = r.tenant_id and v.resource_kind = 'auth.role' and v.resource_id = r.id::text
         left join lateral (
             select count(*) as entries from audit_action_logs l
             where l.tenant_id = r.tenant_id and l.resource_kind = 'auth.role' and l.resource_id = r.id::text) l on true
         where starts_with(r.name, 'crash ')
           and (v.max_version is distinct from l.entries or v.version is distinct from v.max_version or l.entries = 0)",
    ),
    (
        "an entry has its change: the last image is the row, and each image follows from the one before",
        "select l.id, l.snapshot_before ->> 'name' as was, l.snapshot_after ->> 'name' as became, r.name from audit_action_logs l
         left join auth_roles r on r.tenant_id = l.tenant_id and r.id::text = l.resource_id
         left join audit_action_logs later on later.tenant_id = l.tenant_id and later.resource_kind = l.resource_kind
           and later.resource_id = l.resource_id and later.version_before = l.version_after
         where l.command_id in ('auth.role.create', 'auth.role.update')
           and (coalesce(later.snapshot_before ->> 'name', r.name) is distinct from l.snapshot_after ->> 'name' or r.id is null)",
    ),
    (
        "an entry has its event",
        "select l.id from audit_action_logs l where not exists (
             select from core_outbox_events e where e.tenant_id = l.tenant_id and e.log_id = l.id)",
    ),
    (
        "an event has its entry",
        "select e.id from core_outbox_events e where e.log_id is not null and not exists (
             select from audit_action_logs l where l.tenant_id = e.tenant_id and l.id = e.log_id)",
    ),
    (
        "commit numbers are unique and without gaps",
        "select s.tenant_id, s.last_seq, n.* from core_event_streams s
         cross join lateral (
             select count(*) as rows, count(distinct seq) as numbers, min(seq) as first, max(seq) as last from (
                 select seq from audit_action_logs where tenant_id = s.tenant_id
                 union all select seq from core_outbox_events where tenant_id = s.tenant_id) both_tables) n
         where s.name = 'log'
           and (n.rows <> n.numbers or n.rows <> s.last_seq or n.first <> 1 or n.last <> s.last_seq)",
    ),
    ("nothing failed", "select id, command_id from audit_action_logs where execution_state = 'failed'"),
];

async fn check_log(database: &TestDatabase) {
    for (rule, query) in OFFENCES {
        let offending = database.rows(query).await;
        assert!(offending.is_empty(), "{rule}: {offending:#?}");
    }
}

/// PostgreSQL finishes or rolls back what the killed server had begun, and only then the outcome is known.
async fn wait_until_disconnected(database: &TestDatabase) {
    let started = Instant::now();
    let others = "select pid from pg_stat_activity where datname = current_database() \
                  and backend_type = 'client backend' and pid <> pg_backend_pid()";
    while !database.rows(others).await.is_empty() {
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "connections of the killed server are left"
        );
        sleep(Duration::from_millis(5)).await;
    }
}

/// As much of HTTP/1.1 as this test needs.
struct Connection(TcpStream);

#[derive(Debug)]
struct Answer {
    status: u16,
    /// Id of the log entry.
    operation: String,
    body: Value,
}

impl Connection {
    fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self(stream))
    }

    fn send(&mut self, method: &str, path: &str, token: &str, body: Option<&Value>) -> std::io::Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let credential = if token.is_empty() {
            String::new()
        } else {
            format!("authorization: Bearer {token}\r\n")
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{credential}content-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes())?;
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            let read = self.0.read(&mut chunk)?;
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&chunk[..read]);
            if let Some(answer) = complete(&bytes) {
                return Ok(answer);
            }
        }
    }
}

/// The answer, once its last byte is there.
fn complete(bytes: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |wanted: &str| {
        let mut headers = head.lines().filter_map(|line| line.split_once(": "));
        headers
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value)
    };
    if body.len() < header("content-length")?.parse::<usize>().ok()? {
        return None;
    }
    let operation = header("x-operation")
        .and_then(|value| value.split_once("%22id%22%3A%22"))
        .map(|(_, rest)| rest);
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        operation: operation.and_then(|rest| rest.get(..36)).unwrap_or_default().to_owned(),
        body: serde_json::from_str(body).unwrap_or_default(),
    })
}
