//! Headless Chromium through chromedriver: the part of the WebDriver protocol that the tests need.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine;
use futures_util::FutureExt;
use serde_json::{Value, json};

/// The names of the programs in Debian's packages `chromium` and `chromium-driver`; they are searched for in `PATH`.
const CHROMIUM: &str = "chromium";
const CHROMEDRIVER: &str = "chromedriver";

/// The TAB key in WebDriver.
pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const SPACE: &str = " ";

/// Runs a test in a browser of its own. Without a browser the test fails in CI; elsewhere it prints that it was skipped.
pub(crate) async fn browse(test: impl AsyncFnOnce(&Browser)) {
    let (Some(chromium), Some(driver)) = (program(CHROMIUM), program(CHROMEDRIVER)) else {
        let missing = "Chromium is missing: apt-get install chromium chromium-driver";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("SKIPPED: {missing}");
        return;
    };
    let browser = Browser::start(&chromium, &driver).await;
    let outcome = AssertUnwindSafe(test(&browser)).catch_unwind().await;
    browser.command("DELETE", "", Value::Null).await;
    drop(browser);
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

fn program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// A browser session.
pub(crate) struct Browser {
    port: u16,
    session: String,
    // In this order: the folder is deleted after the driver has stopped writing into it.
    _driver: Driver,
    _folder: Folder,
}

/// The folder of the driver's and the browser's profile and temporary files; deleted with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // Not below the target folder: the browser creates sockets in it, whose paths must be short.
        let path = std::env::temp_dir().join(format!("backoffice-browser-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the browser");
        Self(path)
    }
}

impl Drop for Folder {
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing can be awaited here, and the test is over"
    )]
    fn drop(&mut self) {
        // The browser's last processes may still be writing.
        for _ in 0..40 {
            if std::fs::remove_dir_all(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The driver's process; killed with this value.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

impl Browser {
    async fn start(chromium: &Path, driver: &Path) -> Self {
        let folder = Folder::new();
        let (driver, port) = start_driver(driver, &folder.0);
        let options = json!({
            "binary": chromium,
            "args": [
                "--headless=new",
                // Chromium's sandbox does not run as root, which CI containers use; the tests open only their own pages.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--window-size=1280,900",
                "--lang=en-US"
            ],
        });
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let created = send(port, "POST", "/session", &capabilities).await;
        let session = created["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no browser: {created}"));
        Self {
            port,
            session: session.to_owned(),
            _driver: driver,
            _folder: folder,
        }
    }

    /// Runs a command of the session; `path` begins with a slash or is empty.
    pub(crate) async fn command(&self, method: &str, path: &str, body: Value) -> Value {
        let outcome = send(self.port, method, &format!("/session/{}{path}", self.session), &body).await;
        assert!(
            outcome.get("error").is_none_or(Value::is_null),
            "{method} {path}: {outcome}"
        );
        outcome
    }

    /// Runs a command of the browser's developer tools.
    pub(crate) async fn tools(&self, command: &str, parameters: Value) {
        let body = json!({"cmd": command, "params": parameters});
        self.command("POST", "/goog/cdp/execute", body).await;
    }

    /// Runs a script in every page that is opened later, before the page's own scripts.
    pub(crate) async fn at_start(&self, script: &str) {
        self.tools("Page.addScriptToEvaluateOnNewDocument", json!({"source": script}))
            .await;
    }

    /// Opens an address and waits until it is loaded.
    pub(crate) async fn open(&self, address: &str) {
        self.command("POST", "/url", json!({"url": address})).await;
    }

    /// Returns the address that the browser shows.
    pub(crate) async fn address(&self) -> String {
        let outcome = self.command("GET", "/url", Value::Null).await;
        outcome.as_str().expect("an address").to_owned()
    }

    /// Runs a script, the body of an async function, and returns its value.
    pub(crate) async fn run(&self, script: &str) -> Value {
        let script = format!("return (async () => {{ {script} }})()");
        self.command("POST", "/execute/sync", json!({"script": script, "args": []}))
            .await
    }

    /// Waits until an expression is true.
    pub(crate) async fn until(&self, expression: &str) {
        for _ in 0..150 {
            if self.run(&format!("return !!({expression})")).await == json!(true) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let page = self.run("return document.body.innerText").await;
        panic!("{expression} did not come true at {} with {page}", self.address().await);
    }

    /// Types on the keyboard into the focused element.
    pub(crate) async fn keys(&self, text: &str) {
        let strokes: Vec<Value> = text
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()})))
            .collect();
        let actions = json!({"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]});
        self.command("POST", "/actions", actions).await;
    }

    /// Clicks on the element that the selector matches.
    pub(crate) async fn click(&self, selector: &str) {
        let found = json!({"using": "css selector", "value": selector});
        let element = self.command("POST", "/element", found).await;
        let id = element.as_object().and_then(|element| element.values().next());
        let id = id.and_then(Value::as_str).expect("an element's id").to_owned();
        self.command("POST", &format!("/element/{id}/click"), json!({})).await;
    }

    /// Sets the size of the screen in CSS pixels; emulates a phone below 600 pixels of width.
    pub(crate) async fn screen(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 2, "mobile": width < 600});
        self.tools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Sets `prefers-color-scheme`.
    pub(crate) async fn color_scheme(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.tools("Emulation.setEmulatedMedia", features).await;
    }

    /// Sets the header with the preferred languages.
    pub(crate) async fn accept_language(&self, languages: &str) {
        self.tools("Network.enable", json!({})).await;
        let headers = json!({"headers": {"Accept-Language": languages}});
        self.tools("Network.setExtraHTTPHeaders", headers).await;
    }

    /// Connects or disconnects the network.
    pub(crate) async fn network(&self, is_there: bool) {
        self.tools("Network.enable", json!({})).await;
        let conditions = json!({"offline": !is_there, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.tools("Network.emulateNetworkConditions", conditions).await;
    }

    /// Returns the console's messages since the last call, except those about response statuses.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let entries = self.command("POST", "/se/log", json!({"type": "browser"})).await;
        let entries = entries.as_array().expect("a list of entries").clone();
        let reported = entries
            .into_iter()
            .filter(|entry| entry["source"] != "network" && entry["level"] != "DEBUG");
        reported.map(|entry| entry["message"].to_string()).collect()
    }

    /// Saves a screenshot of the whole page below the target folder.
    pub(crate) async fn picture(&self, name: &str) {
        let picture = self.command("GET", "/screenshot", Value::Null).await;
        let bytes = base64::engine::general_purpose::STANDARD.decode(picture.as_str().expect("a picture"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
        std::fs::create_dir_all(&folder).expect("a folder for pictures");
        std::fs::write(folder.join(format!("{name}.png")), bytes.expect("base64")).expect("a picture is written");
    }
}

/// Starts the driver on a free port and reads the port from its output.
fn start_driver(program: &Path, folder: &Path) -> (Driver, u16) {
    let child = Command::new(program)
        .arg("--port=0")
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut driver = Driver(child.expect("chromedriver starts"));
    let output = driver.0.stdout.take().expect("its output is a pipe");
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let port = lines.find_map(|line| {
        line.split_once("started successfully on port ")
            .and_then(|(_, rest)| rest.trim_end_matches('.').parse().ok())
    });
    // The pipe stays open: the driver ends if it can't write.
    std::thread::spawn(move || lines.for_each(drop));
    (driver, port.expect("chromedriver says its port"))
}

/// Sends one request on a connection of its own and returns the value of the response.
async fn send(port: u16, method: &str, path: &str, body: &Value) -> Value {
    let (method, path, body) = (method.to_owned(), path.to_owned(), body.clone());
    let exchange = move || exchange(port, &method, &path, &body);
    let outcome = tokio::task::spawn_blocking(exchange).await.expect("the exchange ends");
    let mut outcome = outcome.expect("a response of chromedriver");
    outcome["value"].take()
}

fn exchange(port: u16, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
