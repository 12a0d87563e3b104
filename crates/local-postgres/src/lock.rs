//! Two advisory locks: one serializes starting and stopping, one counts the users of the cluster.
//!
//! The kernel releases both with the process, so a killed process never leaves them behind. They are unlocked
//! explicitly, because a child that is being spawned at that moment holds a copy of the descriptor for an instant.

use std::{
    fs::{File, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
};

use crate::{
    Error,
    error::failed,
    home::{Home, START_LOCK, USERS_LOCK},
};

/// Held while the cluster is being started or stopped.
pub(crate) struct StartLock(File);

impl StartLock {
    /// Waits for the lock.
    pub(crate) fn acquire(home: &Home) -> Result<Self, Error> {
        let file = home.open(START_LOCK)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            tracing::debug!(dir = %home.dir().display(), "waiting for another process that starts or stops the cluster");
        }
        file.lock().map_err(failed("lock", home.dir().join(START_LOCK)))?;
        Ok(Self(file))
    }
}

impl Drop for StartLock {
    fn drop(&mut self) {
        // Closing releases it as well.
        let _ = self.0.unlock();
    }
}

/// Whether others may use the cluster at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    Alone,
    WithOthers,
}

/// The registration of a user of the cluster.
#[derive(Debug)]
pub(crate) struct Users {
    file: File,
    sharing: Sharing,
}

impl Users {
    /// Registers a user. Also returns whether there is no other user. Must be called under the [`StartLock`].
    pub(crate) fn claim(home: &Home, sharing: Sharing) -> Result<(Self, bool), Error> {
        let path = home.dir().join(USERS_LOCK);
        let mut file = home.open(USERS_LOCK)?;
        let alone = match (try_exclusive(&file), sharing) {
            (true, _) => true,
            (false, Sharing::WithOthers) if file.try_lock_shared().is_ok() => false,
            (false, _) => {
                return Err(Error::InUse {
                    dir: home.dir().to_owned(),
                    holder: holder(&mut file),
                });
            }
        };
        if alone {
            sign(&mut file, sharing).map_err(failed("write", &path))?;
        }
        if alone && sharing == Sharing::WithOthers {
            // No other claim can intervene: every claim happens under the start lock.
            file.unlock()
                .and_then(|()| file.lock_shared())
                .map_err(failed("lock", &path))?;
        }
        Ok((Self { file, sharing }, alone))
    }

    /// Unregisters the user and returns whether no other user is left. Must be called under the [`StartLock`].
    pub(crate) fn leave(&self) -> bool {
        if self.sharing == Sharing::Alone {
            return true;
        }
        // If unlocking fails, the next line reports another user, and the cluster keeps running.
        let _ = self.file.unlock();
        try_exclusive(&self.file)
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        // Closing releases it as well, but only when no child being spawned holds a copy.
        let _ = self.file.unlock();
    }
}

fn try_exclusive(file: &File) -> bool {
    file.try_lock().is_ok()
}

/// Records the user of the cluster for the error message of other processes.
fn sign(file: &mut File, sharing: Sharing) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    match sharing {
        Sharing::Alone => write!(file, "{}", std::process::id()),
        Sharing::WithOthers => write!(file, "shared"),
    }
}

fn holder(file: &mut File) -> String {
    let mut note = String::new();
    match file.read_to_string(&mut note) {
        Ok(_) if note == "shared" => "processes that share it".to_owned(),
        Ok(_) if !note.is_empty() => format!("process {note}"),
        _ => "another process".to_owned(),
    }
}
