//! Commands that need no database.

use serde_json::Value;

use crate::support::{Folder, errors, program, text};

#[test]
fn modules_lists_what_is_compiled_in() {
    let folder = Folder::new();

    let listed: Vec<Value> = serde_json::from_str(&text(&folder.run(&["modules", "--json"]))).expect("JSON");

    let listed: Vec<&str> = listed.iter().filter_map(|module| module["name"].as_str()).collect();
    let mut compiled: Vec<&str> = backoffice_server::modules::compiled()
        .iter()
        .map(|module| module.name)
        .collect();
    assert_eq!(listed.len(), compiled.len());
    compiled.retain(|name| !listed.contains(name));
    assert_eq!(compiled, [""; 0]);
}

#[test]
fn a_module_that_is_not_compiled_in_is_rejected_by_name() {
    let folder = Folder::new();

    let output = folder.run_with(&["modules"], &[("BACKOFFICE__MODULES", "directory,nonsense")]);

    assert!(!output.status.success());
    let errors = errors(&output);
    assert!(
        errors.contains("`nonsense`") || errors.contains("`directory`"),
        "{errors}"
    );
}

#[test]
fn openapi_is_a_document_of_the_enabled_modules() {
    let folder = Folder::new();

    let all: Value = serde_json::from_str(&text(&folder.run(&["openapi"]))).expect("JSON");
    let none: Value = serde_json::from_str(&text(&folder.run(&["openapi", "--set", "modules=[]"]))).expect("JSON");

    assert_eq!(all["openapi"], "3.1.0");
    let paths = |document: &Value| document["paths"].as_object().map_or(0, serde_json::Map::len);
    assert_eq!(paths(&none), 0);
    assert!(backoffice_server::modules::compiled().is_empty() || paths(&all) > 0);
}

#[test]
fn a_command_whose_reader_has_ended_ends_quietly() {
    let folder = Folder::new();
    for command in ["openapi", "modules", "config"] {
        let mut program = program(&folder);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);

        let output = program.arg(command).stdout(writer).output().expect("the program runs");

        assert_eq!(errors(&output), "", "{command}");
        assert_eq!(output.status.code(), Some(141), "{command}");
    }
}

#[test]
fn the_doctor_expects_no_public_url_of_an_untouched_installation() {
    let folder = Folder::new();
    let report = |arguments: &[&str]| {
        let output = folder.run(&[&["doctor"], arguments].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };

    let untouched = report(&[]);
    let plain = report(&["--set", "app.public_url=http://office.example"]);

    assert!(untouched.contains("none: links lead to the listener"), "{untouched}");
    assert!(plain.contains("http://office.example is not https"), "{plain}");
}

/// Commands that read the settings, and neither need a database nor a folder.
const DESCRIBING: &[&[&str]] = &[
    &["config"],
    &["modules"],
    &["openapi"],
    #[cfg(feature = "calendar")]
    &["calendar", "zones"],
];

#[test]
fn commands_without_a_database_reject_unknown_settings() {
    let folder = Folder::new();
    folder.write("typo.toml", "[http]\nlisen = '127.0.0.1:1'\n");

    for command in DESCRIBING.iter().copied().chain([&["secrets", "rotate", "jwt"][..]]) {
        let with = |arguments: &[&str]| folder.run(&[command, arguments].concat());

        for (output, name) in [
            (with(&["--config", "typo.toml"]), "lisen"),
            (with(&["--set", "jobs.wokers=4"]), "wokers"),
            (with(&["--set", "htpp.listen=127.0.0.1:1"]), "htpp: unknown section"),
            (
                folder.run_with(command, &[("BACKOFFICE__AUDIT__UNDO__TLT", "1")]),
                "tlt",
            ),
            #[cfg(feature = "auth")]
            (with(&["--set", "auth.sesion_ttl=8h"]), "sesion_ttl"),
            #[cfg(feature = "attachments")]
            (with(&["--set", "attachments.max_uplod=1MiB"]), "max_uplod"),
        ] {
            let reported = errors(&output);
            assert!(!output.status.success(), "{command:?}: {name}");
            assert!(reported.contains(name), "{command:?}: {reported}");
        }
    }
    assert!(!folder.path("var").exists());
}

#[test]
fn commands_without_a_database_create_no_folder() {
    let folder = Folder::new();

    for command in DESCRIBING {
        text(&folder.run(command));
    }

    assert!(!folder.path("var").exists());
}

#[test]
fn only_commands_that_set_up_create_a_database() {
    let folder = Folder::new();
    let id = "00000000-0000-7000-8000-000000000002";

    for command in [
        &["jobs", "list"][..],
        &["jobs", "retry", id],
        &["events", "dead-letters", "list"],
        &["worker"],
        #[cfg(feature = "directory")]
        &["tenant", "list"],
        #[cfg(feature = "directory")]
        &["tenant", "create", "New Ltd"],
        #[cfg(feature = "auth")]
        &["user", "list"],
        #[cfg(feature = "auth")]
        &["roles", "sync"],
    ] {
        let output = folder.run(&[command, &["--data-dir", "wrong"]].concat());

        let reported = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {reported}");
        assert!(
            reported.contains("there is no database") && reported.contains("/wrong has no private one"),
            "{command:?}: {reported}"
        );
    }
    let invalid = errors(&folder.run(&["jobs", "list", "--set", "jobs.wokers=4"]));
    assert!(invalid.contains("wokers"), "{invalid}");
    assert!(!folder.path("wrong").exists() && !folder.path("var").exists());
}

#[cfg(feature = "attachments")]
#[test]
fn the_doctor_names_a_folder_that_cannot_be_created() {
    let folder = Folder::new();
    folder.write("file", "");

    let output = folder.run(&["doctor", "--set", "attachments.root=file/attachments"]);

    let report = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{report}");
    assert!(report.contains("attachments.root: file/attachments"), "{report}");
}

#[test]
fn help_names_every_command() {
    let folder = Folder::new();

    let help = text(&folder.run(&["--help"]));

    for command in [
        "serve",
        "migrate",
        "init",
        "user",
        "tenant",
        "organization",
        "roles",
        "openapi",
        "modules",
        "doctor",
        "config",
    ] {
        assert!(help.contains(command), "{command}: {help}");
    }
}
