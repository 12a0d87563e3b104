//! Messages as files, instead of a mail server: for development and demonstrations.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use lettre::message::Mailbox;

use super::message::message;
use super::{Mail, MailError, Mailer};
use crate::ids::Ids;

/// Writes every message to `<folder>/<id>.eml`; the ids sort by time. Only the user that runs the process can read the files: links in mails
/// are credentials.
#[derive(Debug)]
pub struct FileMailer {
    folder: PathBuf,
    from: Mailbox,
    ids: Ids,
}

impl FileMailer {
    pub(super) fn new(folder: PathBuf, from: Mailbox, ids: Ids) -> Self {
        Self { folder, from, ids }
    }
}

impl Mailer for FileMailer {
    fn send<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            let bytes = message(mail, &self.from, None)?.formatted();
            let name = self.ids.at(mail.written_at).to_string();
            let path = self.folder.join(format!("{name}.eml"));
            let (folder, target) = (self.folder.clone(), path.clone());
            let written = tokio::task::spawn_blocking(move || write(&folder, &name, &target, &bytes)).await;
            match written {
                Ok(Ok(())) => {
                    tracing::info!(mail.file = %path.display(), "wrote a mail to a file");
                    Ok(())
                }
                Ok(Err(error)) => Err(MailError(format!("{}: {error}", path.display()))),
                Err(error) => Err(MailError(error.to_string())),
            }
        })
    }
}

/// Writes under another name first, so that readers never find half a message.
fn write(folder: &Path, name: &str, target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let draft = folder.join(format!(".{name}"));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(bytes)?;
    std::fs::rename(draft, target)
}
