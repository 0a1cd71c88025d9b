//! Files that are read more than once or to their end: regular ones only.
//!
//! Opening a pipe waits for its writer, and a device may never end. Deliberately reads nothing.

use std::fs::{self, File, FileType};
use std::io;
use std::path::Path;

/// Opens a regular file, links looked through.
///
/// # Errors
/// There is none, or it is something else: that is [`io::ErrorKind::InvalidInput`] in words.
pub fn open_regular(path: &Path) -> io::Result<File> {
    check_regular(path)?;
    File::open(path)
}

/// The length of a regular file, links looked through.
///
/// # Errors
/// As of [`open_regular`].
pub fn check_regular(path: &Path) -> io::Result<u64> {
    let found = fs::metadata(path)?;
    if found.is_file() {
        return Ok(found.len());
    }
    let words = format!("found {}, expected a regular file", name(found.file_type()));
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}

#[cfg(unix)]
fn name(found: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match found {
        _ if found.is_dir() => "a folder",
        _ if found.is_fifo() => "a pipe",
        _ if found.is_socket() => "a socket",
        _ if found.is_char_device() || found.is_block_device() => "a device",
        _ => "something else",
    }
}

#[cfg(not(unix))]
fn name(found: FileType) -> &'static str {
    if found.is_dir() { "a folder" } else { "something else" }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let (file, link, socket) =
            (place.path().join("file"), place.path().join("link"), place.path().join("socket"));
        fs::write(&file, "four").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(check_regular(&link).unwrap(), 4);
        open_regular(&link).unwrap();
        for (path, words) in
            [(place.path(), "a folder"), (Path::new("/dev/null"), "a device"), (&socket, "a socket")]
        {
            let error = open_regular(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert_eq!(error.to_string(), format!("found {words}, expected a regular file"));
        }
        assert_eq!(open_regular(&place.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
