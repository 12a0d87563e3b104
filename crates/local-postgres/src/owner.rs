//! The operating system's user that runs the server. PostgreSQL does not run as root.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Error, error::failed};

/// The user that runs the server and owns its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    /// The group to switch to; `None` when the server runs as the current user.
    switch_to_gid: Option<u32>,
}

impl Owner {
    /// Creates the owner for a server that runs as the current user.
    pub(crate) fn myself(uid: u32) -> Self {
        Self {
            uid,
            switch_to_gid: None,
        }
    }

    /// Creates the owner for a server that runs as another user on behalf of root.
    pub(crate) fn other(uid: u32, gid: u32) -> Self {
        Self {
            uid,
            switch_to_gid: Some(gid),
        }
    }

    /// Returns the user that runs a new cluster for root.
    pub(crate) fn for_root() -> Result<Self, Error> {
        let users = fs::read_to_string("/etc/passwd").map_err(failed("read", "/etc/passwd"))?;
        if let Some(owner) = in_passwd(&users, "postgres") {
            return Ok(owner);
        }
        let owner = in_passwd(&users, "nobody").ok_or(Error::NoOwner)?;
        tracing::warn!(
            "PostgreSQL runs as the user `nobody`, whose other processes can reach the database; create a user `postgres` before the first start"
        );
        Ok(owner)
    }

    /// Creates a command that runs as this user, without the caller's environment variables of PostgreSQL.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("PG")) {
                command.env_remove(name);
            }
        }
        // This user may have no access to the current folder, which the server's programs must be able to read.
        command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
        if let Some(gid) = self.switch_to_gid {
            command.uid(self.uid).gid(gid);
        }
        command
    }

    /// Gives a file or folder that root created to this user.
    pub(crate) fn take(&self, path: &Path) -> Result<(), Error> {
        match self.switch_to_gid {
            Some(gid) => chown(path, Some(self.uid), Some(gid)).map_err(failed("hand over", path)),
            None => Ok(()),
        }
    }

    /// Returns whether this user may enter the existing part of `path`, according to the permission bits.
    pub(crate) fn can_reach(&self, path: &Path) -> bool {
        let Some(gid) = self.switch_to_gid else { return true };
        let existing = path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
        existing.is_some_and(|existing: PathBuf| existing.ancestors().all(|folder| self.can_enter(folder, gid)))
    }

    fn can_enter(&self, folder: &Path, gid: u32) -> bool {
        let Ok(meta) = fs::metadata(folder) else { return false };
        let bit = match () {
            () if meta.uid() == self.uid => 0o100,
            () if meta.gid() == gid => 0o010,
            () => 0o001,
        };
        meta.is_dir() && meta.mode() & bit != 0
    }
}

/// Returns the effective user id of this process.
pub(crate) fn current_uid() -> Result<u32, Error> {
    if let Ok(meta) = fs::metadata("/proc/self") {
        return Ok(meta.uid());
    }
    let output = Command::new("id").arg("-u").output().map_err(failed("run", "id"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .map_err(|error| failed("understand", "id -u")(std::io::Error::other(error)))
}

/// Finds a user in lines `name:password:uid:gid:...`; some systems write the ids of `nobody` as -2.
fn in_passwd(users: &str, name: &str) -> Option<Owner> {
    let fields = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields[0] == name)?;
    let id = |index: usize| -> Option<u32> {
        let text = fields.get(index)?;
        text.parse()
            .ok()
            .or_else(|| text.parse::<i32>().ok().map(i32::cast_unsigned))
    };
    Some(Owner::other(id(2)?, id(3)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_from_passwd_lines() {
        let users = "root:x:0:0::/root:/bin/sh\nnobody:*:-2:-2::/:/bin/false\npostgres:x:101:104::/:/bin/sh\n";

        assert_eq!(in_passwd(users, "postgres"), Some(Owner::other(101, 104)));
        assert_eq!(
            in_passwd(users, "nobody"),
            Some(Owner::other(u32::MAX - 1, u32::MAX - 1))
        );
        assert_eq!(in_passwd(users, "postgre"), None);
    }

    #[test]
    fn a_closed_folder_is_out_of_reach_for_others() {
        use std::os::unix::fs::PermissionsExt;
        let dir = std::env::temp_dir().join(format!("backoffice-reach-{}", std::process::id()));
        fs::create_dir(&dir).expect("files can be made and read");
        let stranger = Owner::other(4_000_000, 4_000_000);

        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("files can be made and read");
        let open = stranger.can_reach(&dir.join("not/yet/there"));
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("files can be made and read");
        let closed = stranger.can_reach(&dir.join("not/yet/there"));

        fs::remove_dir(&dir).expect("files can be made and read");
        assert_eq!((open, closed), (true, false));
    }
}
