//! Files that can't be read, and values of flags and variables that look like lists.

use crate::configuration::{line, printed};
use crate::support::{Folder, errors, text};

#[test]
fn an_address_of_ipv6_may_be_given_by_flag_and_variable() {
    let folder = Folder::new();
    let address = "[::1]:8111";
    let quoted = format!("\"{address}\"");

    for written in [address, quoted.as_str()] {
        for key in ["http.listen", "admin.listen"] {
            let variable = format!("BACKOFFICE__{}", key.to_uppercase().replace('.', "__"));
            let flag = folder.run(&["config", "--set", &format!("{key}={written}")]);
            let environment = folder.run_with(&["config"], &[(&variable, written)]);
            for found in [flag, environment] {
                let found = text(&found);
                assert!(line(&found, key).contains("\"[::1]:8111\""), "{written}: {found}");
            }
        }
        let found = text(&folder.run(&["config", "--listen", written]));
        assert!(line(&found, "http.listen").contains("\"[::1]:8111\""), "{found}");
    }
    let list = errors(&folder.run(&["config", "--set", "app.allowed_origins=[https://office.example"]));
    assert!(
        list.contains("app.allowed_origins") && list.contains("not valid TOML"),
        "{list}"
    );
}

#[test]
fn files_that_cannot_be_read_are_named_with_the_cause() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("office")).expect("a data folder");
    std::fs::create_dir_all(folder.path("other/secrets.toml")).expect("a folder in place of the file");
    std::fs::write(folder.path("latin.toml"), b"[log]\nlevel = '\xe4'\n").expect("a file");
    std::fs::write(folder.path("office/secrets.toml"), b"# \xe4\n").expect("a file");
    std::os::unix::fs::symlink("loop.toml", folder.path("loop.toml")).expect("a link");

    for (arguments, file, cause) in [
        (["--config", "office"], "office", "is not a file"),
        (["--config", "nowhere.toml"], "nowhere.toml", "does not exist"),
        (["--config", "latin.toml"], "latin.toml", "UTF-8"),
        (["--config", "loop.toml"], "loop.toml", "symbolic links"),
        (["--data-dir", "office"], "office/secrets.toml", "UTF-8"),
        (["--data-dir", "other"], "other/secrets.toml", "is not a file"),
    ] {
        for command in ["config", "doctor"] {
            let reported = printed(&folder.run(&[&[command], &arguments[..]].concat()));
            assert!(
                reported.contains(file) && reported.contains(cause),
                "{arguments:?}: {reported}"
            );
        }
    }
}
