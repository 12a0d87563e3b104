//! The server is killed while it writes, undoes and redoes, again and again. What it acknowledged is what is there, nothing is half
//! there, and it serves again soon. `BACKOFFICE_CRASH_ROUNDS` sets how often.

use std::collections::BTreeMap;
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
const PASSWORD: &str = "killed-Often-4711";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aud_20_a_killed_server_loses_nothing_that_it_acknowledged() {
    let modules = backoffice_server::modules::compiled();
    let database = TestDatabase::create(&modules).await;
    let folder = Folder::new();
    let rounds = std::env::var("BACKOFFICE_CRASH_ROUNDS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut clients = accounts(&folder, &database).await;
    let token = clients[0].token.clone();
    let mut slowest = Duration::ZERO;

    for round in 0..=rounds {
        let started = Instant::now();
        let server = Server::start(&folder, &database);
        server.wait_for("/api/auth/profile", &token).await;
        slowest = slowest.max(started.elapsed());
        if round == rounds {
            break;
        }
        clients = server.kill_under_load(clients, round).await;
        wait_until_disconnected(&database).await;
        for client in &mut clients {
            client.check(&database).await;
        }
        check_log(&database).await;
    }

    let acknowledged: usize = clients.iter().map(|client| client.ledger.len()).sum();
    let lost: usize = clients.iter().map(|client| client.lost).sum();
    let of = |what: What| {
        clients
            .iter()
            .flat_map(|client| &client.ledger)
            .filter(|one| one.what == what)
            .count()
    };
    let (undone, redone) = (of(What::Undo), of(What::Redo));
    println!(
        "{rounds} kills: {acknowledged} writes, {undone} of them undos, {redone} redos, {lost} that became true unanswered; \
         slowest start {slowest:?}"
    );
    assert!(
        acknowledged >= rounds * CLIENTS && undone > 0 && redone > 0,
        "too little was written to show anything: {acknowledged}"
    );
    assert!(slowest <= Duration::from_secs(2), "{slowest:?}");
}

/// Makes an administrator of the first tenant for each client, and signs in.
async fn accounts(folder: &Folder, database: &TestDatabase) -> Vec<Client> {
    folder.write("password", PASSWORD);
    let url = database.application_url();
    let run = |arguments: &[&str]| {
        let output = folder.run_with(arguments, &[("BACKOFFICE__DATABASE__URL", &url)]);
        assert!(output.status.success(), "{}", errors(&output));
    };
    run(&["init", "--generate"]);
    let emails: Vec<String> = (0..CLIENTS)
        .map(|number| format!("writer{number}@example.com"))
        .collect();
    for email in &emails {
        let options = ["--tenant", "Main", "--role", "admin", "--password-file", "password"];
        run(&[&["user", "create", email], &options[..]].concat());
    }
    let server = Server::start(folder, database);
    server.wait_for("/api/version", "").await;
    let sign_in = |(number, email): (usize, &String)| {
        let body = json!({"email": email, "password": PASSWORD});
        let mut connection = Connection::open(server.api).expect("the server listens");
        let answer = connection
            .send("POST", "/api/auth/login", "", Some(&body))
            .expect("an answer");
        let token = answer.body["token"]
            .as_str()
            .unwrap_or_else(|| panic!("signed in: {}", answer.body));
        Client::new(number, email, token)
    };
    emails.iter().enumerate().map(sign_in).collect()
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
    async fn kill_under_load(mut self, clients: Vec<Client>, round: usize) -> Vec<Client> {
        let api = self.api;
        let writing: Vec<_> = clients
            .into_iter()
            .map(|client| thread::spawn(move || client.write_until_killed(api, round)))
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Create,
    Rename,
    Undo,
    Redo,
}

/// A write as its client knows it; the id is its entry's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Write {
    id: String,
    what: What,
    role: String,
    /// What the role is called since.
    name: String,
}

/// A role as its client knows it.
#[derive(Debug)]
struct Role {
    id: String,
    name: String,
    /// Undoes the last rename: entry, token, the name before.
    undo: Option<(String, String, String)>,
    /// The rename that was just undone, and its name.
    redo: Option<(String, String)>,
}

/// Makes roles, renames them (each name once), undoes and redoes.
#[derive(Debug)]
struct Client {
    number: usize,
    email: String,
    token: String,
    roles: Vec<Role>,
    ledger: Vec<Write>,
    /// Sent and not answered: it may have become true.
    sent: Option<Write>,
    /// How many of those became true.
    lost: usize,
}

impl Client {
    fn new(number: usize, email: &str, token: &str) -> Self {
        Self {
            number,
            email: email.to_owned(),
            token: token.to_owned(),
            roles: Vec::new(),
            ledger: Vec::new(),
            sent: None,
            lost: 0,
        }
    }

    fn write_until_killed(mut self, api: SocketAddr, round: usize) -> Self {
        let Ok(mut connection) = Connection::open(api) else {
            return self;
        };
        for step in 0.. {
            let name = format!("crash {round} {} {step}", self.number);
            let done = if self.roles.len() < ROLES_OF_A_CLIENT || step == 0 {
                self.create(&mut connection, name)
            } else {
                let index = step / 4 % self.roles.len();
                self.change(&mut connection, index, step % 4, name)
            };
            if done.is_err() {
                break;
            }
        }
        self
    }

    /// Sends a write and enters it once it is acknowledged; `id` takes the id of its entry from the answer.
    fn acknowledged(
        &mut self,
        connection: &mut Connection,
        request: (&str, &str, Value),
        write: Write,
        id: impl Fn(&Answer) -> String,
    ) -> std::io::Result<Answer> {
        self.sent = Some(write.clone());
        let (method, path, body) = request;
        let answer = connection.send(method, path, &self.token, Some(&body))?;
        assert!(
            matches!(answer.status, 200 | 201),
            "{path} {body}: {} {}",
            answer.status,
            answer.body
        );
        self.sent = None;
        let role = if write.what == What::Create {
            string(&answer.body["id"])
        } else {
            write.role
        };
        self.ledger.push(Write {
            id: id(&answer),
            role,
            ..write
        });
        Ok(answer)
    }

    fn create(&mut self, connection: &mut Connection, name: String) -> std::io::Result<()> {
        let write = Write {
            id: String::new(),
            what: What::Create,
            role: String::new(),
            name: name.clone(),
        };
        let request = ("POST", "/api/auth/roles", json!({"name": name}));
        let answer = self.acknowledged(connection, request, write, |answer| answer.operation.clone())?;
        self.roles.push(Role {
            id: string(&answer.body["id"]),
            name,
            undo: None,
            redo: None,
        });
        Ok(())
    }

    /// Rename, undo, redo, undo; a rename where there is nothing to undo or redo.
    fn change(&mut self, connection: &mut Connection, index: usize, turn: usize, name: String) -> std::io::Result<()> {
        let role = &mut self.roles[index];
        let write = |what, name: &str| Write {
            id: String::new(),
            what,
            role: role.id.clone(),
            name: name.to_owned(),
        };
        match (turn, role.undo.take(), role.redo.take()) {
            (1 | 3, Some((entry, token, before)), _) => {
                let (write, undone) = (write(What::Undo, &before), role.name.clone());
                let request = (
                    "POST",
                    "/api/audit_logs/audit-logs/actions/undo",
                    json!({"undoToken": token}),
                );
                self.acknowledged(connection, request, write, |answer| string(&answer.body["traceLogId"]))?;
                let role = &mut self.roles[index];
                role.name = before;
                role.redo = Some((entry, undone));
            }
            (2, _, Some((entry, again))) => {
                let (write, before) = (write(What::Redo, &again), role.name.clone());
                let request = (
                    "POST",
                    "/api/audit_logs/audit-logs/actions/redo",
                    json!({"logId": entry}),
                );
                let answer = self.acknowledged(connection, request, write, |answer| string(&answer.body["logId"]))?;
                let role = &mut self.roles[index];
                role.name = again;
                role.undo = Some((string(&answer.body["logId"]), string(&answer.body["undoToken"]), before));
            }
            _ => {
                let (write, before) = (write(What::Rename, &name), role.name.clone());
                let request = ("PUT", "/api/auth/roles", json!({"id": role.id, "name": name}));
                let answer = self.acknowledged(connection, request, write, |answer| answer.operation.clone())?;
                let role = &mut self.roles[index];
                role.name = name;
                role.undo = Some((answer.operation, answer.undo_token, before));
            }
        }
        Ok(())
    }

    /// The log holds exactly what was acknowledged, in that order, and at most the one write more that was under way; the roles are as
    /// the last of them left them.
    async fn check(&mut self, database: &TestDatabase) {
        let log = format!(
            "select l.id, l.command_id, l.history_action, l.resource_id, l.snapshot_after ->> 'name' as name, r.name as present
             from audit_action_logs l join auth_users u on u.tenant_id = l.tenant_id and u.id = l.actor_id
             left join auth_roles r on r.tenant_id = l.tenant_id and r.id::text = l.resource_id
             where u.email = '{}' order by l.seq",
            self.email
        );
        let rows = database.rows(&log).await;
        let stored: Vec<Write> = rows.iter().map(write_of).collect();
        let known = self.ledger.len();
        assert_eq!(
            stored.get(..known),
            Some(&self.ledger[..]),
            "what was acknowledged is there"
        );
        assert!(
            stored.len() <= known + 1,
            "one write was under way: {:#?}",
            &stored[known..]
        );
        let sent = self.sent.take();
        if let Some(extra) = stored.get(known) {
            let sent = sent.unwrap_or_else(|| panic!("nobody sent {extra:?}"));
            assert_eq!((sent.what, &sent.name), (extra.what, &extra.name));
            assert!(sent.role == extra.role || sent.what == What::Create);
            self.lost += 1;
            self.ledger.push(extra.clone());
        }
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        for write in &self.ledger {
            last.insert(&write.role, &write.name);
        }
        for row in &rows {
            let role = string(&row["resource_id"]);
            assert_eq!(row["present"].as_str(), last.get(role.as_str()).copied(), "{role}");
        }
        // What was under way is not undone or redone by its client: it has no token of it.
        self.roles = last
            .iter()
            .map(|(id, name)| Role {
                id: (*id).to_owned(),
                name: (*name).to_owned(),
                undo: None,
                redo: None,
            })
            .collect();
    }
}

fn write_of(row: &Value) -> Write {
    let what = match (row["history_action"].as_str(), row["command_id"].as_str()) {
        (Some("undo"), _) => What::Undo,
        (Some("redo"), _) => What::Redo,
        (_, Some("auth.role.create")) => What::Create,
        _ => What::Rename,
    };
    Write {
        id: string(&row["id"]),
        what,
        role: string(&row["resource_id"]),
        name: string(&row["name"]),
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// What must never be seen, each as a query for the offending rows.
const OFFENCES: &[(&str, &str)] = &[
    (
        "a role has as many versions as changes that are no undo or redo, and is in the state of its last entry",
        "select r.id, v.version, v.max_version, l.* from auth_roles r
         left join audit_resource_versions v on v.tenant_id = r.tenant_id and v.resource_kind = 'auth.role' and v.resource_id = r.id::text
         left join lateral (
             select count(*) filter (where e.history_action is null) as changes,
                 (array_agg(coalesce(e.version_after, s.version_before) order by e.seq desc))[1] as state
             from audit_action_logs e
             left join audit_action_logs s on s.tenant_id = e.tenant_id and s.id = e.source_log_id and e.history_action = 'undo'
             where e.tenant_id = r.tenant_id and e.resource_kind = 'auth.role' and e.resource_id = r.id::text) l on true
         where starts_with(r.name, 'crash ')
           and (v.max_version is distinct from l.changes or v.version is distinct from l.state or l.changes = 0)",
    ),
    (
        "each image follows from the one before, and the last is the row",
        "select * from (
             select l.id, l.snapshot_before ->> 'name' as was, l.snapshot_after ->> 'name' as became, r.name,
                 lag(l.snapshot_after ->> 'name') over history as earlier, lead(l.id) over history as later
             from audit_action_logs l
             left join auth_roles r on r.tenant_id = l.tenant_id and r.id::text = l.resource_id
             where l.command_id in ('auth.role.create', 'auth.role.update')
             window history as (partition by l.tenant_id, l.resource_id order by l.seq)) e
         where was is distinct from earlier or (later is null and became is distinct from name)",
    ),
    (
        "an entry is undone or redone exactly when there is an entry that says so, and then has no token",
        "select l.id, l.execution_state from audit_action_logs l
         left join (
             select tenant_id, source_log_id, count(*) filter (where history_action = 'undo') as undos,
                 count(*) filter (where history_action = 'redo') as redos
             from audit_action_logs where source_log_id is not null group by 1, 2
         ) h on h.tenant_id = l.tenant_id and h.source_log_id = l.id
         where (coalesce(h.undos, 0), coalesce(h.redos, 0)) <> (case l.execution_state when 'done' then 0 else 1 end,
                                      case l.execution_state when 'redone' then 1 else 0 end)
            or (l.execution_state <> 'done' and l.undo_secret is not null)",
    ),
    (
        "an entry has its event",
        "select l.id from audit_action_logs l
         left join (select distinct tenant_id, log_id from core_outbox_events) e on e.tenant_id = l.tenant_id and e.log_id = l.id
         where e.log_id is null",
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
    /// What undoes it.
    undo_token: String,
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
    let member = |name: &str| {
        let (_, rest) = header("x-operation")?.split_once(&format!("%22{name}%22%3A%22"))?;
        rest.split_once("%22").map(|(value, _)| value.to_owned())
    };
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        operation: member("id").unwrap_or_default(),
        undo_token: member("undoToken").unwrap_or_default(),
        body: serde_json::from_str(body).unwrap_or_default(),
    })
}
