//! Users on the command line.

use serde_json::json;

use crate::office::{ADMINISTRATOR, office};
use crate::support::{Folder, errors, text};

#[test]
fn a_command_that_does_not_say_how_to_set_the_password_has_invalid_arguments() {
    let folder = Folder::new();
    for arguments in [
        &["user", "create", "new@example.com", "--tenant", "Main"][..],
        &["user", "set-password", "new@example.com"],
    ] {
        let output = folder.run(arguments);

        let reported = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{reported}");
        for option in ["--password-file", "--generate", "--invite"] {
            assert!(reported.contains(option), "{option}: {reported}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invitation_without_mail_creates_no_user() {
    let (office, _database) = office().await;
    let invite = ["user", "create", "new@example.com", "--invite"];
    let again = ["user", "set-password", "new@example.com", "--invite"];
    let without_mail = ["--set", "mail.transport=none"];

    let rejected = office.rejected(&[&invite[..], &without_mail].concat());

    assert!(rejected.contains("mail.transport: is `none`"), "{rejected}");
    let created = office.json(&invite);
    assert_eq!(
        (&created["emailSent"], office.mails_to("new@example.com")),
        (&json!(true), 1)
    );
    let rejected = office.rejected(&[&again[..], &without_mail].concat());
    assert!(rejected.contains("mail.transport: is `none`"), "{rejected}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_the_platform_is_named_beside_one_of_a_tenant_with_the_same_address() {
    let (office, _database) = office().await;
    let of_platform = ["--platform", "--invite"];
    let created = office.json(&[&["user", "create", ADMINISTRATOR], &of_platform[..]].concat());
    assert_eq!(
        (&created["emailSent"], office.mails_to(ADMINISTRATOR)),
        (&json!(true), 1)
    );
    let active = || {
        let users = office.json(&["user", "list"]);
        let users = users.as_array().expect("a list").iter();
        let mut active: Vec<(bool, bool)> = users
            .map(|user| (user["tenantId"].is_null(), user["isActive"] == true))
            .collect();
        active.sort_unstable();
        active
    };

    let ambiguous = office.rejected(&["user", "disable", ADMINISTRATOR]);
    let both = office.rejected(&["user", "disable", ADMINISTRATOR, "--platform", "--tenant", "Main"]);
    assert!(ambiguous.contains("--platform"), "{ambiguous}");
    assert!(both.contains("cannot be used with"), "{both}");
    assert_eq!(active(), [(false, true), (true, true)]);

    text(&office.run(&["user", "disable", ADMINISTRATOR, "--platform"]));
    assert_eq!(active(), [(false, true), (true, false)]);
    text(&office.run(&["user", "enable", ADMINISTRATOR, "--platform"]));
    assert_eq!(active(), [(false, true), (true, true)]);

    text(&office.run(&[&["user", "set-password", ADMINISTRATOR], &of_platform[..]].concat()));
    assert_eq!(office.mails_to(ADMINISTRATOR), 2);
    let set = office.json(&["user", "set-password", ADMINISTRATOR, "--platform", "--generate"]);
    assert!(
        set["password"].as_str().is_some_and(|password| password.len() == 22),
        "{set}"
    );
    let unknown = office.rejected(&["user", "enable", "nobody@example.com", "--platform"]);
    assert!(unknown.contains("User not found"), "{unknown}");
}
