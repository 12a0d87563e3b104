//! Sources of settings, and rejected settings.

use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::{Folder, errors, program, text};

/// Returns the line of a setting.
pub(crate) fn line(text: &str, key: &str) -> String {
    text.lines()
        .find(|line| line.starts_with(&format!("{key} = ")))
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn each_source_wins_over_the_ones_before_it() {
    let folder = Folder::new();
    let variable = [("BACKOFFICE__HTTP__LISTEN", "127.0.0.1:8003")];

    let built_in = text(&folder.run(&["config"]));
    folder.write("backoffice.toml", "[http]\nlisten = '127.0.0.1:8002'\n");
    let file = text(&folder.run(&["config"]));
    let environment = text(&folder.run_with(&["config"], &variable));
    let flag = text(&folder.run_with(&["config", "--listen", "127.0.0.1:8004"], &variable));

    for (found, port) in [(built_in, 8080), (file, 8002), (environment, 8003), (flag, 8004)] {
        let listen = line(&found, "http.listen");
        assert!(
            listen.starts_with(&format!("http.listen = \"127.0.0.1:{port}\"")),
            "{listen}"
        );
    }
}

#[test]
fn the_file_overrides_generated_secrets() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("office")).expect("a data folder");
    folder.write(
        "office/secrets.toml",
        "[log]\nlevel = 'warn'\n[http]\nproxy_depth = 1\n",
    );
    folder.write("backoffice.toml", "data_dir = 'office'\n[log]\nlevel = 'error'\n");

    let found = text(&folder.run(&["config"]));

    assert!(line(&found, "log.level").contains("\"error\""), "{found}");
    assert!(line(&found, "http.proxy_depth").contains("= 1"), "{found}");
}

#[test]
fn an_unknown_key_is_rejected_by_name() {
    let folder = Folder::new();
    folder.write("backoffice.toml", "[database]\npool_sise = 4\n");

    let output = folder.run(&["config"]);

    assert!(!output.status.success());
    assert!(errors(&output).contains("pool_sise"), "{}", errors(&output));
}

#[test]
fn an_unknown_section_is_rejected_by_name() {
    let folder = Folder::new();

    let output = folder.run_with(&["config"], &[("BACKOFFICE__HTPP__LISTEN", "127.0.0.1:1")]);

    assert!(!output.status.success());
    let reported = errors(&output);
    assert!(
        reported.contains("htpp: unknown section") && reported.contains(", http, "),
        "{reported}"
    );
}

#[test]
fn a_key_of_core_is_checked_before_anything_starts() {
    let folder = Folder::new();

    for command in ["serve", "config"] {
        let output = folder.run(&[command, "--set", "http.lisen=127.0.0.1:1"]);

        assert!(!output.status.success());
        assert!(errors(&output).contains("lisen"), "{}", errors(&output));
    }
    assert!(!folder.path("var/postgres").exists());
}

/// Checks that both commands reject each setting with its name, and start nothing.
fn rejects_by_name(settings: &[&str]) {
    let folder = Folder::new();
    for setting in settings {
        for command in ["serve", "config"] {
            let output = folder.run(&[command, "--set", setting]);

            assert!(!output.status.success(), "{setting}");
            let (name, _value) = setting.split_once('=').expect("a name and a value");
            assert!(errors(&output).contains(name), "{setting}: {}", errors(&output));
        }
    }
    assert!(!folder.path("var/postgres").exists());
}

#[test]
fn unusable_values_are_rejected_before_anything_starts() {
    rejects_by_name(&[
        "database.statement_timeout=2147483648ms",
        "database.statement_timeout=25d",
        "database.pool_size=0",
        "database.max_connection_age=366d",
        "http.body_limit=0",
        "http.body_timeout=2d",
        "http.workers=0",
        "http.workers=513",
        "http.drain_delay=61s",
        "app.public_url=office.example",
        "app.public_url=https://office.example/app",
        "log.level=warning",
        "log.level=info,loud",
        "modules=directory,directory",
        "app.login_path=javascript:alert(1)",
        "app.login_path=",
        "app.console_path=//office.example",
        "app.allowed_origins=*",
    ]);
}

#[cfg(feature = "auth")]
#[test]
fn unusable_values_of_accounts_are_rejected_before_anything_starts() {
    rejects_by_name(&[
        "auth.access_token_ttl=0s",
        "auth.session_ttl=0s",
        "auth.remember_ttl=0s",
        "auth.session_ttl=99999999d",
        "auth.identity_cache_ttl=99999999999999d",
        "auth.sessions_per_user=-1",
        "auth.reset.ttl=0s",
        "auth.invite.ttl=0s",
        "auth.login.max_candidates=0",
        "auth.password.min_length=257",
    ]);
}

#[test]
fn a_value_of_a_wrong_type_is_named_with_its_source() {
    let folder = Folder::new();
    folder.write("xml.toml", "[log]\nformat = 'xml'\n");
    let variable = ("BACKOFFICE__HTTP__BODY_TIMEOUT", "abc");

    let flag = errors(&folder.run(&["config", "--set", "http.listen=x"]));
    let environment = errors(&folder.run_with(&["config"], &[variable]));
    let file = errors(&folder.run(&["config", "--config", "xml.toml"]));

    for (reported, key, source) in [
        (flag, "http.listen: ", "the command line"),
        (environment, "http.body_timeout: invalid duration `abc`", variable.0),
        (file, "log.format: ", "xml.toml"),
    ] {
        assert!(reported.contains(key) && reported.contains(source), "{reported}");
    }
}

#[cfg(feature = "auth")]
#[test]
fn a_rate_limit_is_named_in_quotes() {
    let folder = Folder::new();
    folder.write("limits.toml", "[rate_limits.limits]\n\"auth.login.ip\" = \"50/60\"\n");
    let table = r#"{"auth.login.ip"="50/60"}"#;
    let flag = format!("rate_limits.limits={table}");

    for found in [
        folder.run(&["config", "--config", "limits.toml"]),
        folder.run_with(&["config"], &[("BACKOFFICE__RATE_LIMITS__LIMITS", table)]),
        folder.run(&["config", "--set", &flag]),
    ] {
        let found = text(&found);
        assert!(
            found.contains(r#"rate_limits.limits."auth.login.ip" = "50/60""#),
            "{found}"
        );
    }
    let unquoted = errors(&folder.run(&["config", "--set", "rate_limits.limits.auth.login.account_ip=3/600"]));
    let remedy = r#"rate_limits.limits={"auth.login.ip"="50/60"}"#;
    assert!(
        unquoted.contains("rate_limits.limits: `auth`") && unquoted.contains(remedy),
        "{unquoted}"
    );
}

#[test]
fn the_longest_limits_are_accepted() {
    let folder = Folder::new();
    let longest = [
        "config",
        "--set",
        "database.statement_timeout=2147483647ms",
        "--set",
        "http.workers=512",
    ];

    let found = text(&folder.run(&longest));

    assert!(line(&found, "http.workers").contains("512"), "{found}");
}

#[test]
fn secrets_are_printed_as_stars() {
    let folder = Folder::new();
    folder.write(
        "backoffice.toml",
        "[database]\nurl = 'postgres://app:hidden-one@localhost/office'\n",
    );
    let variables = [(
        "BACKOFFICE__DATABASE__OWNER_URL",
        "postgres://owner:hidden-two@localhost/office",
    )];

    let plain = text(&folder.run_with(&["config"], &variables));
    let json = text(&folder.run_with(&["config", "--json"], &variables));

    assert!(
        line(&plain, "database.url").contains("postgres://app:***@localhost/office"),
        "{plain}"
    );
    assert!(!plain.contains("hidden") && !json.contains("hidden"), "{plain}{json}");
}

/// Returns everything that a command that must fail has printed.
pub(crate) fn printed(output: &Output) -> String {
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), errors(output));
    assert!(!output.status.success(), "{printed}");
    printed
}

#[test]
fn malformed_secrets_are_not_printed() {
    let folder = Folder::new();
    for setting in [
        "database=postgres://app:hidden@db/office",
        "auth.jwt=hidden",
        "auth.jwt.keys=hidden",
        "auth.jwt.keys=[\"hidden\"]",
        "vault=hidden",
        "mail=smtp://app:hidden@mail.example",
        "mail.transport=smtp://app:hidden@mail.example",
    ] {
        for command in ["config", "doctor"] {
            let printed = printed(&folder.run(&[command, "--set", setting]));
            let (section, _) = setting.split_once(['.', '=']).expect("a section");
            assert!(printed.contains(section), "{setting}: {printed}");
            assert!(!printed.contains("hidden"), "{setting}: {printed}");
        }
    }
    let variable = ("BACKOFFICE__DATABASE", "postgres://app:hidden@db/office");
    let printed = printed(&folder.run_with(&["config"], &[variable]));
    assert!(printed.contains(variable.0) && !printed.contains("hidden"), "{printed}");
}

#[test]
fn files_with_syntax_errors_are_reported_without_an_excerpt() {
    let folder = Folder::new();
    folder.write("open.toml", "[database]\nurl = 'postgres://app:hidden@db/office\n");
    std::fs::create_dir(folder.path("var")).expect("a data folder");
    folder.write(
        "var/secrets.toml",
        "[vault]\nkeys = [{ kid = 'a' secret = 'hidden' }]\n",
    );

    for (arguments, file) in [
        (
            &["config", "--config", "open.toml", "--data-dir", "other"][..],
            "open.toml",
        ),
        (&["config"], "secrets.toml"),
        (&["secrets", "rotate", "vault"], "secrets.toml"),
    ] {
        let printed = printed(&folder.run(arguments));
        assert!(
            printed.contains(file) && printed.contains("line 2, column "),
            "{printed}"
        );
        assert!(!printed.contains("hidden"), "{printed}");
    }
}

#[test]
fn a_secret_may_stand_in_a_file_of_its_own() {
    let folder = Folder::new();
    folder.write("url", "no url\n");
    let unreadable = folder.run(&["serve", "--set", "database.url_file=nowhere"]);
    let duplicates = folder.run(&[
        "serve",
        "--set",
        "database.url_file=url",
        "--set",
        "database.url=postgres://app@localhost/office",
    ]);

    assert!(
        errors(&unreadable).contains("database.url_file: nowhere"),
        "{}",
        errors(&unreadable)
    );
    assert!(errors(&duplicates).contains("not both"), "{}", errors(&duplicates));
}

#[test]
fn migrate_names_the_key_that_it_needs() {
    let folder = Folder::new();

    let output = folder.run(&["migrate", "--set", "database.url=postgres://app@localhost:1/office"]);

    assert!(!output.status.success());
    assert!(errors(&output).contains("database.owner_url"), "{}", errors(&output));
}

/// Creates the file of the generated secrets, without any.
fn without_secrets() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("var")).expect("a data folder");
    folder.write("var/secrets.toml", "");
    folder
}

#[test]
fn keys_are_rotated_one_pair_at_a_time() {
    let folder = without_secrets();

    for secret in [
        "jwt", "consent", "consent", "consent", "vault", "vault", "vault", "webpush", "webpush",
    ] {
        text(&folder.run(&["secrets", "rotate", secret]));
    }

    let written = std::fs::read_to_string(folder.path("var/secrets.toml")).expect("the file");
    let (others, webpush) = written.split_once("[push.webpush]").expect("the key of web push");
    assert_eq!(webpush.matches("kid =").count(), 1, "browsers subscribe with one key");
    let (signing, vault) = others.split_once("[vault]").expect("the keys of the vault");
    assert_eq!(
        vault.matches("kid =").count(),
        3,
        "all, until every value is sealed again"
    );
    let (jwt, consent) = signing.split_once("[auth.consent]").expect("both pairs");
    assert!(jwt.contains("[auth.jwt]"), "{written}");
    assert_eq!(jwt.matches("kid =").count(), 1);
    assert_eq!(consent.matches("kid =").count(), 2, "the new one and the one before");
}

#[test]
fn rotations_at_the_same_time_lose_no_key() {
    let folder = without_secrets();
    let rotate = |_| {
        let mut program = program(&folder);
        program.args(["secrets", "rotate", "vault", "--json"]);
        program.stdout(Stdio::piped()).spawn().expect("the program runs")
    };
    let rotations: Vec<_> = (0..8).map(rotate).collect();

    let created = rotations.into_iter().map(|rotation| {
        let output = rotation.wait_with_output().expect("the program ends");
        let created: Value = serde_json::from_str(&text(&output)).expect("JSON");
        created["kid"].as_str().expect("a name").to_owned()
    });
    let created: Vec<String> = created.collect();

    let written = std::fs::read_to_string(folder.path("var/secrets.toml")).expect("the file");
    for kid in created {
        assert!(written.contains(&kid), "{kid}: {written}");
    }
}

#[test]
fn nothing_is_rotated_in_a_folder_without_secrets() {
    let folder = Folder::new();

    let output = folder.run(&["secrets", "rotate", "jwt", "--data-dir", "wrong"]);

    let reported = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{reported}");
    assert!(
        reported.contains("wrong/secrets.toml: does not exist") && reported.contains("`data_dir`"),
        "{reported}"
    );
    assert!(!folder.path("wrong").exists());
}

#[test]
fn keys_that_are_set_elsewhere_are_not_rotated() {
    let folder = Folder::new();
    let secret = "s".repeat(32);
    let keys = format!("[{{kid = 'a', secret = '{secret}'}}]");
    // Named like the file of the generated secrets.
    std::fs::create_dir(folder.path("etc")).expect("a folder");
    let file = format!("[auth.jwt]\nkeys = {keys}\n[auth.consent]\nkeys = {keys}\n[vault]\nkeys = {keys}\n");
    folder.write("etc/secrets.toml", &file);

    for (secret, section) in [("jwt", "auth.jwt"), ("consent", "auth.consent"), ("vault", "vault")] {
        let rotate = ["secrets", "rotate", secret];
        let variable = format!("BACKOFFICE__{}__KEYS", section.to_uppercase().replace('.', "__"));
        let list = format!("{section}.keys={keys}");
        let table = format!("{section}={{keys = {keys}}}");
        let with = |option: &str, value: &str| folder.run(&[&rotate[..], &[option, value]].concat());

        for (output, source) in [
            (with("--config", "etc/secrets.toml"), "etc/secrets.toml"),
            (folder.run_with(&rotate, &[(&variable, &keys)]), variable.as_str()),
            (with("--set", &list), "the command line"),
            (with("--set", &table), "the command line"),
        ] {
            let reported = errors(&output);
            assert!(!output.status.success(), "{section}: {source}");
            let expected = format!("{section}.keys: set in {source}: put a new key second there");
            assert!(reported.contains(&expected), "{reported}");
        }
    }
    assert!(!folder.path("var/secrets.toml").exists());
}

#[test]
fn a_worker_names_the_secret_that_is_missing() {
    let folder = Folder::new();

    let reported = errors(&folder.run(&["worker", "--set", "database.url=postgres://app@localhost:1/office"]));

    assert!(reported.contains("auth.jwt.keys"), "{reported}");
    assert!(!folder.path("var/secrets.toml").exists());
}

#[test]
fn acc_40_serve_names_the_secret_that_is_missing_empty_or_short() {
    let folder = Folder::new();
    let secret = "s".repeat(32);
    let serve = |consent: &str| {
        let jwt = format!("auth.jwt.keys=[{{kid = 'a', secret = '{secret}'}}]");
        let consent = format!("auth.consent.keys={consent}");
        let url = "database.url=postgres://app@localhost:1/office";
        errors(&folder.run(&["serve", "--set", url, "--set", &jwt, "--set", &consent]))
    };

    for (keys, reason) in [
        ("[]", "one or two keys"),
        ("[{kid = 'a', secret = ''}]", "at least 32 bytes"),
        ("[{kid = 'a', secret = 'short'}]", "at least 32 bytes"),
    ] {
        let reported = serve(keys);
        assert!(
            reported.contains("auth.consent.keys") && reported.contains(reason),
            "{reported}"
        );
    }
}
