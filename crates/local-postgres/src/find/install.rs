//! The command that installs PostgreSQL on this system.

use std::{fs, path::Path};

/// Values of `ID` and `ID_LIKE` in os-release, and the command of that family.
const COMMANDS: &[(&str, &str)] = &[
    ("debian", "apt-get install -y postgresql"),
    ("ubuntu", "apt-get install -y postgresql"),
    ("fedora", "dnf install -y postgresql-server"),
    ("rhel", "dnf install -y postgresql-server"),
    ("arch", "pacman -S --noconfirm postgresql"),
    ("alpine", "apk add postgresql"),
    ("suse", "zypper install -y postgresql-server"),
    ("opensuse", "zypper install -y postgresql-server"),
    ("gentoo", "emerge dev-db/postgresql"),
    ("void", "xbps-install -y postgresql"),
    ("nixos", "nix-shell -p postgresql"),
];

/// Returns the command for the system's own name, else for a system that it is similar to.
pub(super) fn command(root: &Path) -> String {
    if cfg!(target_os = "macos") {
        return "brew install postgresql@17".to_owned();
    }
    let release = fs::read_to_string(root.join("etc/os-release")).unwrap_or_default();
    let mut names = ["ID", "ID_LIKE"]
        .iter()
        .filter_map(|key| value(&release, key))
        .flat_map(str::split_whitespace);
    let known = |name: &str| {
        COMMANDS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, command)| *command)
    };
    names
        .find_map(known)
        .unwrap_or("your package manager (the package is called postgresql)")
        .to_owned()
}

fn value<'a>(release: &'a str, key: &str) -> Option<&'a str> {
    let line = release
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(line.trim_matches(['"', '\'']))
}
