//! Fetching or taking the pinned wheel and unpacking it: the only code that lets pip reach for a network.
//!
//! Invariants: every unpacked file has the pinned hash; the package folder appears by one rename, so an interrupted or
//! concurrent installation leaves the old package, the new one or none. Deliberately unpacks no unlisted file.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;
use tempfile::TempDir;
use zip::ZipArchive;

use super::error::EngineError;
use super::lock::{Lock, sha256};
use super::store::{EngineDirs, EngineStatus, status};

/// Largest file a package may hold: several times the engine's.
pub(super) const MAX_MEMBER: u64 = 64 << 20;

/// Where the wheel comes from.
#[derive(Clone, Debug)]
pub enum InstallSource {
    /// pip downloads the pinned version.
    Pip,
    /// A wheel downloaded before.
    File(PathBuf),
}

/// What an installation did.
#[derive(Clone, Debug, Serialize)]
pub struct Installed {
    /// Whether anything was written; `false` if the package was there and whole.
    pub changed: bool,
    /// The state afterwards.
    pub status: EngineStatus,
}

pub(crate) fn install(
    dirs: &EngineDirs,
    lock: &Lock,
    source: &InstallSource,
) -> Result<Installed, EngineError> {
    let before = status(dirs, lock);
    if before.usable {
        return Ok(Installed { changed: false, status: before });
    }
    fs::create_dir_all(&dirs.packages).map_err(|error| EngineError::io(&dirs.packages, error))?;
    let staging = tempfile::Builder::new()
        .prefix(".installing-")
        .tempdir_in(&dirs.packages)
        .map_err(|error| EngineError::io(&dirs.packages, error))?;
    let wheel = match source {
        InstallSource::File(file) => file.clone(),
        InstallSource::Pip => download(lock, staging.path())?,
    };
    let unpacked = staging.path().join("package");
    unpack(lock, &wheel, &unpacked)?;
    publish(dirs, lock, &unpacked, &staging)?;
    Ok(Installed { changed: true, status: status(dirs, lock) })
}

fn download(lock: &Lock, staging: &Path) -> Result<PathBuf, EngineError> {
    let folder = staging.join("wheel");
    let mut arguments = vec!["-m".to_owned(), "pip".to_owned(), "download".to_owned()];
    let mut argument = |text: &str| arguments.push(text.to_owned());
    for flag in ["--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary=:all:"] {
        argument(flag);
    }
    for platform in &lock.download.platforms {
        argument("--platform");
        argument(platform);
    }
    for (flag, value) in [
        ("--python-version", &lock.download.python_version),
        ("--implementation", &lock.download.implementation),
        ("--abi", &lock.download.abi),
    ] {
        argument(flag);
        argument(value);
    }
    argument(&format!("{}=={}", lock.package.name, lock.package.version));
    let command = format!("python3 {}", arguments.join(" "));
    let failed = |detail: String| EngineError::Download { command: command.clone(), detail };
    let output = Command::new("python3")
        .args(&arguments)
        .arg("--dest")
        .arg(&folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(format!("python3 could not be started: {error}")))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message").trim();
        return Err(failed(format!("{}: {last}", output.status)));
    }
    let wheel = folder.join(&lock.package.wheel);
    let bytes = fs::read(&wheel).map_err(|error| failed(format!("{}: {error}", lock.package.wheel)))?;
    let (found, expected) = (sha256(&bytes), lock.package.wheel_sha256.clone());
    if found != expected {
        return Err(EngineError::HashMismatch { file: wheel, found, expected });
    }
    Ok(wheel)
}

fn unpack(lock: &Lock, wheel: &Path, target: &Path) -> Result<(), EngineError> {
    let bad = |member: &str, detail: String| EngineError::BadArchive {
        archive: wheel.to_owned(),
        member: member.to_owned(),
        detail,
        package: lock.label(),
    };
    let file = File::open(wheel).map_err(|error| EngineError::io(wheel, error))?;
    let mut archive = ZipArchive::new(file).map_err(|error| bad("zip directory", error.to_string()))?;
    for (path, expected) in &lock.files {
        let member = format!("{}/{path}", lock.package.root);
        let mut bytes = Vec::new();
        let entry = archive.by_name(&member).map_err(|error| bad(&member, error.to_string()))?;
        let mut entry = entry.take(MAX_MEMBER + 1);
        entry.read_to_end(&mut bytes).map_err(|error| bad(&member, error.to_string()))?;
        if bytes.len() as u64 > MAX_MEMBER {
            return Err(bad(&member, format!("more than {MAX_MEMBER} bytes")));
        }
        let found = sha256(&bytes);
        if found != *expected {
            let file = wheel.join(&member);
            return Err(EngineError::HashMismatch { file, found, expected: expected.clone() });
        }
        write_synced(&target.join(path), &bytes)?;
    }
    Ok(())
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let io = |error| EngineError::io(path, error);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io)?;
    }
    let mut file = File::create(path).map_err(io)?;
    file.write_all(bytes).map_err(io)?;
    file.sync_all().map_err(io)
}

/// Renames the unpacked package into place; a package that another process put there meanwhile is as good.
fn publish(dirs: &EngineDirs, lock: &Lock, unpacked: &Path, staging: &TempDir) -> Result<(), EngineError> {
    let target = dirs.package(lock);
    let Err(first) = fs::rename(unpacked, &target) else { return Ok(()) };
    if status(dirs, lock).usable {
        return Ok(());
    }
    if !target.exists() {
        return Err(EngineError::io(&target, first));
    }
    fs::rename(&target, staging.path().join("damaged")).map_err(|error| EngineError::io(&target, error))?;
    match fs::rename(unpacked, &target) {
        Err(error) if !status(dirs, lock).usable => Err(EngineError::io(&target, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    fn dirs(root: &Path) -> EngineDirs {
        EngineDirs { packages: root.join("engine"), compiled: root.join("compiled") }
    }

    /// A lock of two files, and their content.
    fn lock() -> (Lock, BTreeMap<&'static str, &'static [u8]>) {
        let files: BTreeMap<&str, &[u8]> =
            BTreeMap::from([("ui/a.js", &b"a"[..]), ("tp.wasm", &b"engine"[..])]);
        let mut lock = Lock::pinned();
        lock.files = files.iter().map(|(path, content)| ((*path).to_owned(), sha256(content))).collect();
        lock.package.ui = "ui".into();
        (lock, files)
    }

    fn wheel(path: &Path, root: &str, files: &BTreeMap<&str, &[u8]>) -> InstallSource {
        let mut zip = ZipWriter::new(File::create(path).unwrap());
        for (name, content) in files {
            zip.start_file(format!("{root}/{name}"), SimpleFileOptions::default()).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.start_file(format!("{root}/../../escaped"), SimpleFileOptions::default()).unwrap();
        zip.finish().unwrap();
        InstallSource::File(path.to_owned())
    }

    fn entries(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_package_is_unpacked_once_and_a_damaged_one_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (dirs, (lock, files)) = (dirs(root.path()), lock());
        let source = wheel(&root.path().join("w.whl"), &lock.package.root, &files);
        assert!(!status(&dirs, &lock).usable);
        assert!(install(&dirs, &lock, &source).unwrap().changed);
        assert!(!install(&dirs, &lock, &source).unwrap().changed);
        assert_eq!(entries(&dirs.packages), [lock.folder()]);
        let package = dirs.package(&lock);
        assert_eq!(fs::read(package.join("ui/a.js")).unwrap(), b"a");
        assert!(!root.path().join("escaped").exists());

        fs::write(package.join("tp.wasm"), b"other").unwrap();
        let damaged = status(&dirs, &lock);
        assert!(!damaged.usable && damaged.problems[0].contains("tp.wasm"), "{damaged:?}");
        fs::remove_file(package.join("tp.wasm")).unwrap();
        let lacking = status(&dirs, &lock);
        assert!(lacking.problems[0].contains("run `clockweave engine install` again"), "{lacking:?}");
        assert!(install(&dirs, &lock, &source).unwrap().changed);
        assert!(status(&dirs, &lock).usable);
        assert_eq!(entries(&dirs.packages), [lock.folder()]);
    }

    #[test]
    fn a_wheel_of_other_content_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let (dirs, (lock, mut files)) = (dirs(root.path()), lock());
        let path = root.path().join("w.whl");
        files.insert("tp.wasm", b"evil");
        let error = install(&dirs, &lock, &wheel(&path, &lock.package.root, &files)).unwrap_err();
        assert!(matches!(error, EngineError::HashMismatch { .. }), "{error}");
        files.remove("tp.wasm");
        let error = install(&dirs, &lock, &wheel(&path, &lock.package.root, &files)).unwrap_err();
        assert!(matches!(error, EngineError::BadArchive { .. }), "{error}");
        fs::write(&path, b"no archive").unwrap();
        let error = install(&dirs, &lock, &InstallSource::File(path)).unwrap_err();
        assert!(matches!(error, EngineError::BadArchive { .. }), "{error}");
        assert!(entries(&dirs.packages).is_empty());
    }

    #[test]
    fn installations_at_once_end_in_one_whole_package() {
        let root = tempfile::tempdir().unwrap();
        let (dirs, (lock, files)) = (dirs(root.path()), lock());
        let source = wheel(&root.path().join("w.whl"), &lock.package.root, &files);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert!(install(&dirs, &lock, &source).unwrap().status.usable));
            }
        });
        assert_eq!(entries(&dirs.packages), [lock.folder()]);
    }
}
