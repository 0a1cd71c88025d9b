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
const MAX_MEMBER: u64 = 64 << 20;

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
