//! The folder of the server's socket. Its permissions restrict the access to the cluster: only the server's user and root may enter.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    Error,
    home::{Home, private_dir, short_name, temp_dir},
};

/// PostgreSQL puts the port into the name. The folder contains no other socket, so the default port is always free.
pub(crate) const SOCKET: &str = ".s.PGSQL.5432";

/// Maximum length of a socket's path. Linux allows 107 bytes, macOS and BSD 103.
const LONGEST: usize = 103;

/// Creates the folder for the socket: beside the data, or in the temporary folder if the path would be too long.
pub(crate) fn prepare(home: &Home) -> Result<PathBuf, Error> {
    let dir = place(home.dir(), &temp_dir(home.owner()), home.owner().uid);
    private_dir(&dir, 0o700, home.owner())?;
    Ok(dir)
}

fn place(home: &Path, temp: &Path, uid: u32) -> PathBuf {
    let short = format!("backoffice-{}", short_name(home, uid));
    let places = [home.join("socket"), temp.join(&short)];
    places
        .into_iter()
        .find(|dir| fits(dir))
        .unwrap_or_else(|| Path::new("/tmp").join(short))
}

fn fits(dir: &Path) -> bool {
    // Clients interpret a comma as the end of a host name.
    let is_plain = dir.to_str().is_some_and(|dir| !dir.contains([',', '"']));
    is_plain && dir.join(SOCKET).as_os_str().len() <= LONGEST
}

/// Returns whether the folder that a running server reports is as private as one created here.
pub(crate) fn is_private(dir: &Path, home: &Home) -> bool {
    fs::symlink_metadata(dir)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == home.owner().uid && meta.mode() & 0o077 == 0)
}

/// Removes the files of a killed server, so that a process with its id does not block the start.
pub(crate) fn sweep(dir: &Path) {
    for name in [SOCKET.to_owned(), format!("{SOCKET}.lock")] {
        // Usually these files do not exist.
        let _ = fs::remove_file(dir.join(name));
    }
}

/// Returns `postgres://user@%2Fsocket%2Ffolder/database`.
pub(crate) fn url(dir: &Path, user: &str, database: &str) -> String {
    let host = percent_encoded(dir.as_os_str().as_encoded_bytes());
    format!(
        "postgres://{}@{host}/{}",
        percent_encoded(user.as_bytes()),
        percent_encoded(database.as_bytes())
    )
}

fn percent_encoded(bytes: &[u8]) -> String {
    let encode = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    bytes.iter().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_folder_gets_a_short_socket_path() {
        let deep = PathBuf::from("/a").join("b".repeat(100));

        assert_eq!(place(Path::new("/a/b"), Path::new("/tmp"), 7), Path::new("/a/b/socket"));
        let short = place(&deep, Path::new("/tmp"), 7);
        assert!(
            short.starts_with("/tmp") && short.as_os_str().len() < 40,
            "{}",
            short.display()
        );
        assert_ne!(short, place(&deep, Path::new("/tmp"), 8));
        assert!(place(Path::new("/a,b"), &deep, 7).starts_with("/tmp"));
    }

    #[test]
    fn urls_are_percent_encoded() {
        let url = url(Path::new("/tmp/a b"), "app@x", "one/two");

        assert_eq!(url, "postgres://app%40x@%2Ftmp%2Fa%20b/one%2Ftwo");
    }
}
