//! A folder per test, and a client of the server.
#![expect(clippy::disallowed_methods, reason = "waits for other processes, on a test thread")]

use std::{
    fs,
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use backoffice_local_postgres::{LocalPostgres, Settings};

/// Environment variable with the folder for a test that runs as a child process of another test.
pub(crate) const CHILD_DIR: &str = "LOCAL_POSTGRES_TEST_DIR";

/// A folder that the user which runs the server for root can reach, removed when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "backoffice-it-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let dir = std::env::temp_dir().join(name);
        fs::create_dir(&dir).expect("files can be made and read");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("files can be made and read");
        Self(dir.canonicalize().expect("it is there"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn settings(&self) -> Settings {
        volatile(self.0.join("cluster"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn volatile(dir: PathBuf) -> Settings {
    Settings {
        dir,
        durable: false,
        extra: vec![("shared_buffers".into(), "8MB".into())],
        listener: None,
    }
}

pub(crate) fn accepts_connections(socket_dir: &Path) -> bool {
    UnixStream::connect(socket_dir.join(".s.PGSQL.5432")).is_ok()
}

/// Runs a statement by psql and returns its rows without decoration.
pub(crate) fn sql(postgres: &LocalPostgres, statement: &str) -> String {
    let beside = postgres.bin_dir().join("psql");
    let psql = if beside.is_file() {
        beside
    } else {
        PathBuf::from("psql")
    };
    let url = postgres.url("postgres", "postgres");
    let output = Command::new(psql)
        .args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c", statement])
        .output();
    let output = output.expect("it is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is there").trim().to_owned()
}

/// Runs an ignored test of this binary in its own process and waits until it has a cluster.
pub(crate) fn child_with_cluster(test: &str, settings: &Settings) -> Child {
    let _ = fs::remove_file(settings.dir.join("ready"));
    let mut command = Command::new(std::env::current_exe().expect("it is there"));
    command
        .args(["--exact", test, "--ignored"])
        .env(CHILD_DIR, &settings.dir);
    let child = command.stdout(Stdio::null()).spawn().expect("the child runs");
    until(|| fs::read_to_string(settings.dir.join("ready")).is_ok_and(|pid| !pid.is_empty()));
    child
}

/// The child's side of [`child_with_cluster`].
pub(crate) fn hold(open: impl Fn(&Settings) -> LocalPostgres) {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let settings = volatile(PathBuf::from(dir));
    let postgres = open(&settings);
    fs::write(postgres.dir().join("ready"), postgres.pid().to_string()).expect("files can be made and read");
    std::thread::sleep(Duration::from_secs(120));
}

pub(crate) fn until(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills a process with SIGKILL.
pub(crate) fn kill_9(pid: u32) {
    assert!(
        Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .expect("it is there")
            .success()
    );
}
