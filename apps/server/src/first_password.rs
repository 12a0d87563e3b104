//! Shows the password that the first start generated.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::cli::output::print_lines;

const FILE: &str = "first-password.txt";

/// Shows the welcome on standard output, once. Under systemd standard output is the journal, which is kept and which other users read: there the text
/// is written to a file that only this user can read.
pub(crate) fn show(welcome: &str, data_dir: &Path) {
    let goes_to_journal = !io::stdout().is_terminal() && std::env::var_os("JOURNAL_STREAM").is_some();
    let kept = match goes_to_journal {
        true => keep(welcome, data_dir),
        false => Err(io::ErrorKind::Unsupported.into()),
    };
    match kept {
        Ok(()) => {
            let file = data_dir.join(FILE);
            tracing::info!(file = %file.display(), "first password written to a file; delete it after signing in");
        }
        Err(_) => {
            if let Err(error) = print_lines(welcome) {
                tracing::warn!(%error, "first password could not be printed; set another one with backoffice user set-password");
            }
        }
    }
}

fn keep(welcome: &str, data_dir: &Path) -> io::Result<()> {
    let file = data_dir.join(FILE);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(file, "{welcome}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn f23_a_kept_password_is_for_this_user_only() {
        let folder = std::env::temp_dir().join(format!("backoffice-welcome-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");

        let kept = keep("password  x", &folder);
        let again = keep("password  y", &folder);

        let file = folder.join(FILE);
        let mode = fs::metadata(&file).expect("a file").permissions().mode() & 0o777;
        let text = fs::read_to_string(&file).expect("text");
        fs::remove_dir_all(&folder).expect("removed");
        assert!(kept.is_ok() && again.is_err());
        assert_eq!((mode, text.as_str()), (0o600, "password  x\n"));
    }
}
