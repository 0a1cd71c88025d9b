//! Output files: all or nothing.
//!
//! Invariants: a file is written under a temporary name beside its place, synced and renamed, so
//! whatever happens there is the old file, the new one, or none; an existing file is replaced only
//! on request; no input is ever the output, through links either. What is no regular file (a pipe, a
//! device) is written as it is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Stdout, Write};
use std::path::{Path, PathBuf};

use same_file::Handle;

use crate::scratch::TempFile;

/// Why an output was refused or could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// There is something already.
    #[error("{}: the file exists; pass --force to replace it", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The output is an input.
    #[error("{}: the output is the same file as the input {}; give another output", path.display(), input.display())]
    IsInput {
        /// The output.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// The output is a folder.
    #[error("{}: found a folder, expected a file name", path.display())]
    Folder {
        /// The output.
        path: PathBuf,
    },
    /// The folder holds something else.
    #[error("{}: found `{found}` in the folder, expected an empty one, or one that was written before", path.display())]
    Foreign {
        /// The output.
        path: PathBuf,
        /// What is there.
        found: String,
    },
    /// The output is a link to nothing.
    #[error("{}: the symbolic link points to nothing; remove it or create its target's folder", path.display())]
    Dangling {
        /// The output.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The output.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

#[derive(Debug)]
enum Sink {
    Stdout(Stdout),
    /// A pipe or a device.
    Special(File),
    Regular {
        file: TempFile,
        place: PathBuf,
        replace: bool,
    },
}

/// An output that takes its place only when committed.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    sink: Sink,
}

/// Whether a path stands for stdin or stdout.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Output {
    /// An output at `path`, or stdout if that is `-`; `inputs` are paths too, `-` for stdin.
    ///
    /// # Errors
    /// The output exists and `force` is not given, is one of the inputs, is a folder, or cannot be
    /// created.
    pub fn create(path: &Path, force: bool, inputs: &[&Path]) -> Result<Self, OutputError> {
        let io = |source| OutputError::Io { path: path.to_owned(), source };
        if is_dash(path) {
            refuse_inputs(path, Handle::stdout(), inputs)?;
            return Ok(Self { path: path.to_owned(), sink: Sink::Stdout(io::stdout()) });
        }
        let place = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(OutputError::Folder { path: path.to_owned() }),
            Ok(found) if found.is_file() => {
                refuse_inputs(path, Handle::from_path(path), inputs)?;
                if !force {
                    return Err(OutputError::Exists { path: path.to_owned() });
                }
                fs::canonicalize(path).map_err(io)?
            }
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path).map_err(io)?;
                return Ok(Self { path: path.to_owned(), sink: Sink::Special(file) });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(OutputError::Dangling { path: path.to_owned() });
                }
                path.to_owned()
            }
            Err(error) => return Err(io(error)),
        };
        let file = TempFile::new_in(folder_of(&place)).map_err(io)?;
        Ok(Self { path: path.to_owned(), sink: Sink::Regular { file, place, replace: force } })
    }

    /// The path given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file under its temporary name, for writers that need a file of their own; `None` for stdout, pipes and
    /// devices.
    pub fn file_path(&self) -> Option<&Path> {
        match &self.sink {
            Sink::Regular { file, .. } => Some(file.path()),
            _ => None,
        }
    }

    /// Writes what is left and gives the file its place.
    ///
    /// # Errors
    /// Something could not be written, or a file appeared meanwhile and `force` was not given; then
    /// there is no output.
    pub fn commit(self) -> Result<(), OutputError> {
        let path = self.path;
        let io = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => OutputError::Exists { path: path.clone() },
            _ => OutputError::Io { path: path.clone(), source },
        };
        match self.sink {
            Sink::Stdout(mut stdout) => stdout.flush().map_err(io),
            Sink::Special(mut file) => file.flush().map_err(io),
            Sink::Regular { mut file, place, replace } => {
                file.file().sync_all().map_err(io)?;
                file.keep(&place, replace).map_err(io)?;
                sync_folder(folder_of(&place)).map_err(io)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(stdout) => {
                // Blocks come whole; what is written is to be read at once.
                let written = stdout.write(bytes)?;
                stdout.flush()?;
                Ok(written)
            }
            Sink::Special(file) => file.write(bytes),
            Sink::Regular { file, .. } => file.file().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Special(file) => file.flush(),
            Sink::Regular { file, .. } => file.file().flush(),
        }
    }
}

pub(crate) fn folder_of(place: &Path) -> &Path {
    match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems cannot sync a folder.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// The files that inputs stand for: themselves, and those in them if they are directories.
pub fn files_of<P: AsRef<Path>>(inputs: &[P]) -> Vec<PathBuf> {
    let files_in = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    inputs
        .iter()
        .map(AsRef::as_ref)
        .flat_map(|path| [path.to_owned()].into_iter().chain(files_in(path)))
        .collect()
}

/// An error if stdout is one of `inputs` or in one, as after `>>`.
///
/// # Errors
/// [`OutputError::IsInput`].
pub fn check_stdout<P: AsRef<Path>>(inputs: &[P]) -> Result<(), OutputError> {
    let files = files_of(inputs);
    refuse_inputs(Path::new("-"), Handle::stdout(), &files.iter().map(PathBuf::as_path).collect::<Vec<_>>())
}

/// An error if `output`, a regular file, is one of `inputs`.
fn refuse_inputs(path: &Path, output: io::Result<Handle>, inputs: &[&Path]) -> Result<(), OutputError> {
    let Ok(output) = output else { return Ok(()) };
    if !output.as_file().metadata().is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    for input in inputs {
        // Opening a pipe would wait for its other end.
        let is_file = || fs::metadata(input).is_ok_and(|found| found.is_file());
        let handle = match is_dash(input) {
            true => Handle::stdin(),
            false if is_file() => Handle::from_path(input),
            false => continue,
        };
        if handle.is_ok_and(|handle| handle == output) {
            return Err(OutputError::IsInput { path: path.to_owned(), input: (*input).to_owned() });
        }
    }
    Ok(())
}

/// Whether the folder of `file` is `folder`, links looked through.
pub(crate) fn folder_holds(folder: &Path, file: &Path) -> bool {
    let same = same_file::is_same_file(folder, folder_of(file));
    same.unwrap_or(false)
}
