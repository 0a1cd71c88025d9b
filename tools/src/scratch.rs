//! Temporary files that vanish in every case, a signal included.
//!
//! Every temporary file or folder is entered in one list before it exists and struck off when it is
//! renamed or removed. [`abandon`] removes what the list holds and never lets go of it, so that no
//! other thread can create anything behind its back.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempDir};

static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every temporary file and folder; from then on none can be created and no output
/// committed: whoever tries waits for ever. For a process about to exit.
pub fn abandon() {
    let live = live();
    for path in live.iter() {
        // Nothing can be done about what cannot be removed.
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    std::mem::forget(live);
}

/// A temporary file beside its target.
#[derive(Debug)]
pub(crate) struct TempFile(Option<NamedTempFile>);

impl TempFile {
    /// A new file in `folder` with the permissions any new file gets.
    pub(crate) fn new_in(folder: &Path) -> io::Result<Self> {
        let mut live = live();
        let mut builder = tempfile::Builder::new();
        builder.prefix(".clockweave-").suffix(".tmp");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder)?;
        live.insert(file.path().to_owned());
        Ok(Self(Some(file)))
    }

    fn held(&self) -> &NamedTempFile {
        self.0.as_ref().expect("held until kept or dropped")
    }

    pub(crate) fn path(&self) -> &Path {
        self.held().path()
    }

    pub(crate) fn file(&mut self) -> &mut File {
        self.0.as_mut().expect("held until kept or dropped").as_file_mut()
    }

    /// Gives the file its place; without `replace` only if there is none yet.
    pub(crate) fn keep(mut self, target: &Path, replace: bool) -> io::Result<()> {
        let mut live = live();
        let file = self.0.take().expect("held until kept or dropped");
        live.remove(file.path());
        let kept = if replace { file.persist(target) } else { file.persist_noclobber(target) };
        kept.map(drop).map_err(|error| error.error)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let mut live = live();
            live.remove(file.path());
            drop(file);
        }
    }
}

/// What a reader gave, in a temporary file: for work that needs a file and got a pipe.
#[derive(Debug)]
pub struct Spooled(TempFile);

impl Spooled {
    /// Copies `source` to its end, if it has no more than `most` bytes.
    ///
    /// # Errors
    /// It cannot be read, or the system's temporary folder has no room; [`io::ErrorKind::FileTooLarge`] for more bytes.
    pub fn new(source: impl io::Read, most: u64) -> io::Result<Self> {
        let mut file = TempFile::new_in(&std::env::temp_dir())?;
        let copied = io::copy(&mut source.take(most.saturating_add(1)), file.file())?;
        if copied > most {
            let words = format!("found more than {most} bytes, expected at most that");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
        }
        Ok(Self(file))
    }

    /// The file, which is removed with this value.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A temporary folder, created at the first use.
#[derive(Debug)]
pub(crate) struct TempFolder {
    parent: PathBuf,
    folder: Option<TempDir>,
    files: u64,
}

impl TempFolder {
    pub(crate) fn new_in(parent: &Path) -> Self {
        Self { parent: parent.to_owned(), folder: None, files: 0 }
    }

    /// The folder itself.
    pub(crate) fn folder(&mut self) -> io::Result<PathBuf> {
        let mut live = live();
        self.made(&mut live)
    }

    fn made(&mut self, live: &mut BTreeSet<PathBuf>) -> io::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.path().to_owned());
        }
        let folder = tempfile::Builder::new().prefix("clockweave-").tempdir_in(&self.parent)?;
        let path = folder.path().to_owned();
        live.insert(path.clone());
        self.folder = Some(folder);
        Ok(path)
    }

    /// A new file in the folder.
    pub(crate) fn create(&mut self) -> io::Result<(PathBuf, File)> {
        let mut live = live();
        let path = self.made(&mut live)?.join(self.files.to_string());
        let file = File::create_new(&path)?;
        self.files += 1;
        Ok((path, file))
    }

    /// Gives the folder its place; what was there is removed.
    #[cfg(feature = "parquet")]
    pub(crate) fn keep(mut self, target: &Path) -> io::Result<()> {
        let mut live = live();
        let folder = self.made(&mut live)?;
        // Nothing can end this process between the two renames but a kill.
        let old = match fs::symlink_metadata(target) {
            Ok(_) => {
                let old = tempfile::Builder::new().prefix("clockweave-").tempdir_in(&self.parent)?;
                fs::rename(target, old.path().join("old"))?;
                Some(old)
            }
            Err(_) => None,
        };
        fs::rename(&folder, target)?;
        live.remove(&folder);
        // It is no longer where this would remove it.
        self.folder.take().map(TempDir::keep);
        drop(live);
        drop(old);
        Ok(())
    }

    /// Where the folder is, or will be.
    pub(crate) fn place(&self) -> &Path {
        self.folder.as_ref().map_or(&self.parent, TempDir::path)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            let mut live = live();
            live.remove(folder.path());
            drop(folder);
        }
    }
}
