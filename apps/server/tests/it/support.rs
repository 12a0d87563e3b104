//! Runs the program in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A working folder, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("server-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("a file for the test");
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, &[])
    }

    pub(crate) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut program = program(self);
        program.args(arguments).envs(variables.iter().copied());
        program.output().expect("the program runs")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that could not be deleted is below the target folder.
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// The program in this folder, with nothing of the caller's settings.
pub(crate) fn program(folder: &Folder) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_backoffice"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BACKOFFICE") {
            program.env_remove(name);
        }
    }
    program.current_dir(&folder.0);
    program
}

pub(crate) fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", errors(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
