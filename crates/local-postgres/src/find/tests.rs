use std::fs;

use super::*;

/// A folder that is removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("backoffice-find-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("files can be made and read");
        Self(dir.canonicalize().expect("it is there"))
    }

    /// Creates programs that only print their version.
    fn server(&self, folder: &str, version: &str) -> PathBuf {
        let dir = self.0.join(folder);
        fs::create_dir_all(&dir).expect("files can be made and read");
        for program in PROGRAMS {
            Self::script(&dir.join(program), &format!("postgres (PostgreSQL) {version}"));
        }
        dir
    }

    /// Writes a script by another process: a test that forks meanwhile would inherit the open file and prevent its execution.
    fn script(path: &Path, prints: &str) {
        fs::create_dir_all(path.parent().expect("the script is in a folder")).expect("files can be made and read");
        let mut shell = Command::new("/bin/sh");
        shell
            .args([
                "-c",
                "printf '%s\n' '#!/bin/sh' \"echo '$1'\" >\"$0\" && chmod 755 \"$0\"",
            ])
            .arg(path)
            .arg(prints);
        assert!(shell.status().expect("sh runs").success());
    }

    fn environment(&self) -> Environment {
        Environment {
            pg_bin: None,
            path: vec![self.0.join("path")],
            root: self.0.clone(),
            download: false,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn wanting(major: u32, environment: &Environment) -> Result<Binaries, Error> {
    let owner = Owner::myself(current_uid()?);
    Search {
        environment,
        owner: &owner,
        packages: None,
        requested: Some(major),
    }
    .run(Path::new("/data"))
}

#[test]
fn the_configured_folder_wins_over_all_others() {
    let scratch = Scratch::new("configured");
    scratch.server("path", "17.1");
    let configured = scratch.server("own", "16.3");

    let found = find(&Environment {
        pg_bin: Some(configured.clone()),
        ..scratch.environment()
    })
    .expect("it is there");

    assert_eq!(
        found,
        Binaries {
            dir: configured,
            version: Version { major: 16, minor: 3 }
        }
    );
}

#[test]
fn a_configured_folder_that_cannot_be_used_is_an_error() {
    let scratch = Scratch::new("misconfigured");
    scratch.server("path", "17.1");
    let old = scratch.server("old", "14.9");

    for (dir, reason) in [
        (old, "version 14.9 is older than 15"),
        (scratch.0.join("none"), "there is no initdb"),
    ] {
        let error = find(&Environment {
            pg_bin: Some(dir),
            ..scratch.environment()
        })
        .expect_err("it is refused");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn path_comes_before_pg_config_before_the_newest_of_the_distribution() {
    let scratch = Scratch::new("order");
    let debian_15 = scratch.server("usr/lib/postgresql/15/bin", "15.2");
    let debian_9 = scratch.server("usr/lib/postgresql/9/bin", "9.6");
    let debian_18 = scratch.server("usr/lib/postgresql/18/bin", "18.1");
    let dir = |environment: &Environment| find(environment).expect("it is there").dir;

    assert_eq!(dir(&scratch.environment()), debian_18);
    fs::remove_dir_all(&debian_18).expect("files can be made and read");
    assert_eq!(dir(&scratch.environment()), debian_15, "not {}", debian_9.display());

    let by_pg_config = scratch.server("opt/own", "16.1");
    Scratch::script(
        &scratch.0.join("path/pg_config"),
        by_pg_config.to_str().expect("it is there"),
    );
    assert_eq!(dir(&scratch.environment()), by_pg_config);

    scratch.server("path", "17.1");
    assert_eq!(dir(&scratch.environment()), scratch.0.join("path"));
}

#[test]
fn a_link_in_path_leads_to_the_folder_of_the_other_programs() {
    let scratch = Scratch::new("link");
    let real = scratch.server("opt/real", "17.1");
    fs::create_dir_all(scratch.0.join("path")).expect("files can be made and read");
    std::os::unix::fs::symlink(real.join("postgres"), scratch.0.join("path/postgres"))
        .expect("files can be made and read");

    assert_eq!(find(&scratch.environment()).expect("it is there").dir, real);
}

#[test]
fn existing_data_chooses_its_major_version() {
    let scratch = Scratch::new("wanted");
    let debian_15 = scratch.server("usr/lib/postgresql/15/bin", "15.2");
    scratch.server("usr/lib/postgresql/18/bin", "18.1");

    assert_eq!(wanting(15, &scratch.environment()).expect("it is there").dir, debian_15);
    let error = wanting(16, &scratch.environment()).expect_err("a rejection");
    assert!(matches!(error, Error::OtherVersion { major: 16, .. }), "{error}");
}

#[test]
#[cfg(not(target_os = "macos"))]
fn nothing_found_names_the_command_of_the_system() {
    let scratch = Scratch::new("nothing");
    fs::create_dir_all(scratch.0.join("etc")).expect("files can be made and read");
    for (release, command) in [
        ("NAME=x\nID=debian\n", "`apt-get install -y postgresql`"),
        (
            "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
            "`dnf install -y postgresql-server`",
        ),
        ("ID=alpine\n", "`apk add postgresql`"),
    ] {
        fs::write(scratch.0.join("etc/os-release"), release).expect("files can be made and read");

        let error = find(&scratch.environment()).expect_err("a rejection").to_string();

        assert!(error.contains(command), "{error}");
    }
}

#[test]
fn s8_packages_are_downloaded_in_a_terminal_or_on_request() {
    for (setting, is_interactive, expected) in [
        (None, true, true),
        (None, false, false),
        (Some(""), false, false),
        (Some("allow"), false, true),
        (Some("never"), true, false),
        (Some("perhaps"), true, false),
    ] {
        let setting = setting.map(OsStr::new);
        assert_eq!(may_download(setting, is_interactive), expected, "{setting:?}");
    }
}
