//! Output folders: all or nothing.
//!
//! Invariants: a folder is filled under a temporary name beside its place and renamed; an existing one is
//! replaced only on request and only if it holds nothing but files of the kind that is written.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::output::{OutputError, folder_of, sync_folder};
use crate::scratch::TempFolder;

/// A folder that takes its place only when committed.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    folder: TempFolder,
    filling: PathBuf,
}

impl OutputFolder {
    /// A folder at `path` for files whose names `is_ours`.
    ///
    /// # Errors
    /// There is something else, or a folder of ours and `force` is not given; the place cannot be written.
    pub fn create(path: &Path, force: bool, is_ours: impl Fn(&str) -> bool) -> Result<Self, OutputError> {
        let io = |source| OutputError::Io { path: path.to_owned(), source };
        match fs::read_dir(path) {
            Ok(entries) => {
                let mut names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
                let other =
                    names.find(|name: &io::Result<String>| !name.as_ref().is_ok_and(|name| is_ours(name)));
                match other {
                    Some(other) => {
                        let found = other.map_err(io)?;
                        return Err(OutputError::Foreign { path: path.to_owned(), found });
                    }
                    None if !force && fs::read_dir(path).map_err(io)?.next().is_some() => {
                        return Err(OutputError::Exists { path: path.to_owned() });
                    }
                    None => {}
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io(error)),
        }
        let place = if path.exists() { fs::canonicalize(path).map_err(io)? } else { path.to_owned() };
        let mut folder = TempFolder::new_in(folder_of(&place));
        let filling = folder.folder().map_err(io)?;
        Ok(Self { path: place, folder, filling })
    }

    /// The folder under its temporary name.
    pub fn filling(&self) -> &Path {
        &self.filling
    }

    /// Gives the folder its place.
    ///
    /// # Errors
    /// It cannot be renamed; then the old one is there.
    pub fn commit(self) -> Result<(), OutputError> {
        let Self { path, folder, filling } = self;
        let kept = allow_all(&filling)
            .and_then(|()| File::open(&filling)?.sync_all())
            .and_then(|()| folder.keep(&path))
            .and_then(|()| sync_folder(folder_of(&path)));
        kept.map_err(|source| OutputError::Io { path, source })
    }
}

/// Gives a folder that was temporary the permissions of any new one.
fn allow_all(folder: &Path) -> io::Result<()> {
    let plain = folder.join("new");
    fs::create_dir(&plain)?;
    let usual = fs::metadata(&plain)?.permissions();
    fs::remove_dir(&plain)?;
    fs::set_permissions(folder, usual)
}
