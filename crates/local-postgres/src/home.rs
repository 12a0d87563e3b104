//! The folder of a cluster: its parts, its owner, and its alternative when the user that runs the server for root cannot reach it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{
    Error,
    error::failed,
    owner::{Owner, current_uid},
};

pub(crate) const START_LOCK: &str = "start.lock";
pub(crate) const USERS_LOCK: &str = "users.lock";
pub(crate) const LOG: &str = "server.log";
const DATA: &str = "data";

const ROOT: u32 = 0;

/// The folder of a cluster and the user who runs it.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    dir: PathBuf,
    owner: Owner,
}

/// Returns whether the folder, or the one that root's server has in its place, holds a cluster.
pub(crate) fn has_cluster(dir: &Path) -> Result<bool, Error> {
    let dir = std::path::absolute(dir).map_err(failed("resolve", dir))?;
    let mut candidates = vec![dir.clone()];
    if current_uid()? == ROOT {
        candidates.push(elsewhere(&dir));
        candidates.push(in_temp(&dir, &Owner::for_root()?));
    }
    for candidate in candidates {
        let data = candidate.join(DATA);
        if data.try_exists().map_err(failed("look at", &data))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the folder that root's server has in place of one that its user cannot reach.
fn elsewhere(dir: &Path) -> PathBuf {
    Path::new("/var/lib/backoffice").join(short_name(dir, ROOT))
}

/// Returns the folder that root's server has if that user cannot reach [`elsewhere`] either.
fn in_temp(dir: &Path, owner: &Owner) -> PathBuf {
    temp_dir(owner).join(format!("backoffice-cluster-{}", short_name(dir, ROOT)))
}

impl Home {
    /// Finds or creates the folder.
    pub(crate) fn open_or_create(dir: &Path) -> Result<Self, Error> {
        let dir = std::path::absolute(dir).map_err(failed("resolve", dir))?;
        match current_uid()? {
            ROOT => Self::for_root(&dir),
            uid => Self::for_user(&dir, uid),
        }
    }

    fn for_user(dir: &Path, uid: u32) -> Result<Self, Error> {
        let builder = &mut DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(failed("create", dir))?;
        let home = Self {
            dir: canonical(dir)?,
            owner: Owner::myself(uid),
        };
        match fs::metadata(home.data()) {
            Ok(meta) if meta.uid() != uid => Err(Error::OtherOwner {
                dir: home.data(),
                uid: meta.uid(),
            }),
            _ => Ok(home),
        }
    }

    fn for_root(dir: &Path) -> Result<Self, Error> {
        let owner = match fs::metadata(dir.join(DATA)) {
            Ok(meta) if meta.uid() != ROOT => Owner::other(meta.uid(), meta.gid()),
            _ => Owner::for_root()?,
        };
        let elsewhere = elsewhere(dir);
        let was_moved = !dir.join(DATA).exists() && elsewhere.join(DATA).exists();
        if !was_moved && owner.can_reach(dir) {
            create_open(dir)?;
            let dir = canonical(dir)?;
            return Ok(Self { dir, owner });
        }
        Self::moved(dir, &elsewhere, owner)
    }

    fn moved(requested: &Path, elsewhere: &Path, owner: Owner) -> Result<Self, Error> {
        let in_temp = in_temp(requested, &owner);
        let prepared = create_open(elsewhere);
        let dir = match prepared.is_ok() && owner.can_reach(elsewhere) {
            true => elsewhere,
            false => &in_temp,
        };
        private_dir(dir, 0o755, &Owner::myself(ROOT))?;
        tracing::info!(
            requested = %requested.display(), dir = %dir.display(),
            "requested folder not accessible to the user that runs PostgreSQL for root; using another one"
        );
        Ok(Self {
            dir: canonical(dir)?,
            owner,
        })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join(DATA)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join(LOG)
    }

    pub(crate) fn packages(&self) -> PathBuf {
        self.dir.join("packages")
    }

    /// Opens a file of this folder for reading and writing; creates it if it is missing.
    pub(crate) fn open(&self, name: &str) -> Result<File, Error> {
        let path = self.dir.join(name);
        let options = &mut OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let file = file.map_err(failed("open", &path))?;
        self.keep_owner(&path)?;
        Ok(file)
    }

    /// Replaces a file of this folder atomically.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let (path, draft) = (self.dir.join(name), self.dir.join(format!("{name}.new")));
        fs::write(&draft, text).map_err(failed("write", &draft))?;
        fs::set_permissions(&draft, std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .map_err(failed("open up", &draft))?;
        self.keep_owner(&draft)?;
        fs::rename(&draft, &path).map_err(failed("replace", &path))
    }

    /// Gives a file that root created in a user's folder to that user, who may start without root the next time.
    fn keep_owner(&self, path: &Path) -> Result<(), Error> {
        let folder = fs::metadata(&self.dir).map_err(failed("look at", &self.dir))?;
        let file = fs::metadata(path).map_err(failed("look at", path))?;
        if file.uid() != ROOT || folder.uid() == ROOT {
            return Ok(());
        }
        chown(path, Some(folder.uid()), Some(folder.gid())).map_err(failed("hand over", path))
    }
}

/// Creates the missing folders of a path so that every user may enter them, regardless of the umask. Any number of processes may do so at the same
/// time: the missing part is renamed to its place in one step, complete and with the lock file in it, so that it never replaces an existing folder.
fn create_open(path: &Path) -> Result<(), Error> {
    static DRAFTS: AtomicU32 = AtomicU32::new(0);
    let Some(top) = path.ancestors().take_while(|folder| !folder.is_dir()).last() else {
        return Ok(());
    };
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = top.with_file_name(format!(".backoffice-{}-{number}", std::process::id()));
    let placed = draw(&draft, top, path).and_then(|()| fs::rename(&draft, top));
    let Err(error) = placed else { return Ok(()) };
    let _ = fs::remove_dir_all(&draft);
    if top.is_dir() {
        // Another process was faster, with this path or a sibling.
        return create_open(path);
    }
    Err(failed("create", path)(error))
}

/// Creates `draft` with the content that `top` is to have, down to `path`.
fn draw(draft: &Path, top: &Path, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut folder = draft.to_owned();
    let below = path.strip_prefix(top).map_err(io::Error::other)?;
    for name in std::iter::once(Path::new("")).chain(below.iter().map(Path::new)) {
        if !name.as_os_str().is_empty() {
            folder.push(name);
        }
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
    }
    let lock = &mut OpenOptions::new();
    lock.write(true).create(true).truncate(false).mode(0o600);
    lock.open(folder.join(START_LOCK)).map(drop)
}

/// Creates a folder for `owner` with exactly these permissions, or accepts an existing one if `owner` owns it.
pub(crate) fn private_dir(path: &Path, mode: u32, owner: &Owner) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed("open up", path))?;
            owner.take(path)?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed("create", path)(error)),
    }
    let meta = fs::symlink_metadata(path).map_err(failed("look at", path))?;
    let reason = match () {
        () if !meta.is_dir() => "it is not a folder",
        () if meta.uid() != owner.uid => "it belongs to another user",
        () if meta.mode() & 0o777 & !mode != 0 => "its permissions are too wide",
        () => return Ok(()),
    };
    Err(Error::Untrusted {
        dir: path.to_owned(),
        reason,
    })
}

/// Returns the system's folder for temporary files, or `/tmp` if the server's user cannot reach that.
pub(crate) fn temp_dir(owner: &Owner) -> PathBuf {
    let dir = std::env::temp_dir();
    if owner.can_reach(&dir) {
        dir
    } else {
        PathBuf::from("/tmp")
    }
}

/// Returns a short name that depends only on path and user. Uses FNV-1a, because it must not change with the compiler.
pub(crate) fn short_name(path: &Path, uid: u32) -> String {
    let bytes = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .copied()
        .chain(uid.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn canonical(dir: &Path) -> Result<PathBuf, Error> {
    dir.canonicalize().map_err(failed("resolve", dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_differ_by_path_and_user_and_stay() {
        assert_eq!(short_name(Path::new("/a"), 0), short_name(Path::new("/a"), 0));
        assert_ne!(short_name(Path::new("/a"), 0), short_name(Path::new("/b"), 0));
        assert_ne!(short_name(Path::new("/a"), 0), short_name(Path::new("/a"), 1));
        assert_eq!(short_name(Path::new("/a"), 0), "df221ed690a50e7d");
    }

    #[test]
    fn many_may_create_the_same_folder_at_once() {
        use std::os::unix::fs::PermissionsExt;
        use std::sync::Barrier;
        const THREADS: usize = 8;
        let root = std::env::temp_dir().join(format!("backoffice-at-once-{}", std::process::id()));
        fs::create_dir(&root).expect("files can be made and read");
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).expect("files can be made and read");

        for round in 0..200 {
            let (path, together) = (root.join(format!("{round}/target/cluster")), Barrier::new(THREADS));
            std::thread::scope(|scope| {
                for number in 0..THREADS {
                    let (path, together) = (&path, &together);
                    scope.spawn(move || {
                        together.wait();
                        create_open(path).expect("a folder");
                        fs::write(path.join(number.to_string()), "").expect("files can be made and read");
                    });
                }
            });
            let entries = |dir: &Path| fs::read_dir(dir).expect("files can be made and read").count();
            assert_eq!(entries(&path), THREADS + 1, "all are in the same folder, with the lock");
            assert_eq!(entries(&root.join(round.to_string())), 1, "nothing else is left");
            let mode = fs::metadata(&path).expect("it is there").mode() & 0o777;
            assert_eq!(mode, 0o755);
        }

        fs::remove_dir_all(&root).expect("files can be made and read");
    }

    #[test]
    fn a_folder_that_others_can_enter_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let dir = std::env::temp_dir().join(format!("backoffice-trust-{}", std::process::id()));
        let me = Owner::myself(current_uid().expect("it is there"));

        private_dir(&dir, 0o700, &me).expect("it is there");
        private_dir(&dir, 0o700, &me).expect("it is there");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("files can be made and read");
        let wide = private_dir(&dir, 0o700, &me);
        let foreign = private_dir(&dir, 0o755, &Owner::myself(4_000_000));

        fs::remove_dir(&dir).expect("files can be made and read");
        assert!(matches!(
            wide,
            Err(Error::Untrusted {
                reason: "its permissions are too wide",
                ..
            })
        ));
        assert!(matches!(
            foreign,
            Err(Error::Untrusted {
                reason: "it belongs to another user",
                ..
            })
        ));
    }
}
