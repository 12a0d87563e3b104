//! The server's main process as described by its pid file.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{Binaries, home::Home};

/// The content of `postmaster.pid`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Postmaster {
    pub(crate) pid: u32,
    pub(crate) socket_dir: PathBuf,
    pub(crate) status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Starting,
    Ready,
    Stopping,
}

impl Postmaster {
    /// Returns the server that runs on this data now. Ignores the file of a dead server.
    pub(crate) fn running(home: &Home, binaries: &Binaries) -> Option<Self> {
        Self::recorded(home).filter(|postmaster| postmaster.is_alive(home, binaries))
    }

    /// Returns the content of the file, whether the server runs or not.
    pub(crate) fn recorded(home: &Home) -> Option<Self> {
        Self::parse(&fs::read_to_string(home.data().join("postmaster.pid")).ok()?)
    }

    /// Parses the lines: pid, data folder, start time, port, socket folder, address, shared memory, status.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok()?;
        let socket_dir = PathBuf::from(lines.nth(3).unwrap_or_default());
        let status = match lines.nth(2).map(str::trim) {
            Some("ready" | "standby") => Status::Ready,
            Some("stopping") => Status::Stopping,
            _ => Status::Starting,
        };
        Some(Self {
            pid,
            socket_dir,
            status,
        })
    }

    /// Returns whether the process is alive and is the server of this data, not another process with the same id.
    pub(crate) fn is_alive(&self, home: &Home, binaries: &Binaries) -> bool {
        if Path::new("/proc/self/cmdline").exists() {
            return is_server_of(&PathBuf::from(format!("/proc/{}", self.pid)), &home.data());
        }
        let mut pg_ctl = home.owner().command(binaries.dir.join("pg_ctl"));
        let output = pg_ctl
            .args(["status", "--silent", "--pgdata"])
            .arg(home.data())
            .output();
        output.is_ok_and(|output| output.status.success())
    }

    /// Returns whether any process has this id, as far as the system reports it.
    pub(crate) fn number_is_taken(&self) -> bool {
        Path::new(&format!("/proc/{}", self.pid)).exists()
    }
}

/// Identifies the server by its arguments, which every user may read; a server started by other means by its current folder.
fn is_server_of(process: &Path, data: &Path) -> bool {
    let Ok(command_line) = fs::read(process.join("cmdline")) else {
        return false;
    };
    let mut words = command_line.split(|&byte| byte == 0);
    let program = words
        .next()
        .unwrap_or_default()
        .rsplit(|&byte| byte == b'/')
        .next()
        .unwrap_or_default();
    let is_server = program == b"postgres" || program == b"postmaster";
    let names_data = words.any(|word| word == data.as_os_str().as_bytes());
    is_server && (names_data || fs::read_link(process.join("cwd")).is_ok_and(|folder| folder == data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pid_file_is_read_by_lines() {
        let text = "4711\n/x/data\n1790000000\n5432\n/x/socket\n\n  2228290    163840\nready   \n";

        let postmaster = Postmaster::parse(text).expect("it is there");

        assert_eq!(postmaster.pid, 4711);
        assert_eq!(postmaster.socket_dir, Path::new("/x/socket"));
        assert_eq!(postmaster.status, Status::Ready);
    }

    #[test]
    fn a_file_that_is_being_written_means_starting() {
        assert_eq!(
            Postmaster::parse("4711\n/x/data\n").expect("it is there").status,
            Status::Starting
        );
        assert_eq!(Postmaster::parse(""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn another_process_with_the_number_is_not_the_server() {
        assert!(!is_server_of(
            Path::new("/proc/self"),
            &std::env::current_dir().expect("it is there")
        ));
    }
}
