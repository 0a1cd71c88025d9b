//! Compiled engine modules, cached: compiled once per module content, compiler and host.
//!
//! Invariants: an artifact is read only from a folder and a file that nobody but the user can write, into memory of
//! our own, and used only if that very memory hashes to the digest stored behind it; it is written to a temporary
//! sibling and renamed. A missing or damaged one is compiled anew. One of the two places where unsafe is allowed.

use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};
use wasmtime::{Engine, Module};

use super::error::EngineError;
use super::lock::hex;

const DIGEST_LEN: usize = 32;
/// A compiled module takes about twice as many bytes as the module.
const GROWTH: u64 = 2;

/// The module with the given content hash: from the cache, or compiled from what `content` reads and then cached.
pub(crate) fn load_or_compile(
    engine: &Engine,
    folder: &Path,
    module_hash: &str,
    content: impl FnOnce() -> Result<Vec<u8>, EngineError>,
) -> Result<Module, EngineError> {
    private_folder(folder)?;
    let file = folder.join(format!("{}-{}.cwasm", &module_hash[..16], compatibility(engine)));
    if let Some(module) = load(engine, &file)? {
        return Ok(module);
    }
    let incompatible = |error: wasmtime::Error| EngineError::Incompatible { detail: format!("{error:#}") };
    let content = content()?;
    // Compiling takes seconds: they are not spent where the result cannot be kept.
    expect_room(folder, content.len() as u64 * GROWTH)?;
    let artifact = engine.precompile_module(&content).map_err(incompatible)?;
    store(folder, &file, &artifact)?;
    instantiate(engine, &artifact).map_err(incompatible)
}

/// A digest of everything that decides whether this host's compiler output can be loaded.
fn compatibility(engine: &Engine) -> String {
    struct Digesting(Sha256);

    impl Hasher for Digesting {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }

        fn finish(&self) -> u64 {
            0
        }
    }

    let mut digest = Digesting(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut digest);
    hex(&digest.0.finalize()[..8])
}

fn private_folder(folder: &Path) -> Result<(), EngineError> {
    let io = |error| EngineError::cache(folder, error);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
    let metadata = fs::symlink_metadata(folder).map_err(io)?;
    if !metadata.is_dir() {
        return Err(EngineError::NotPrivate { dir: folder.to_owned(), found: "no folder of its own".into() });
    }
    only_mine(folder, &metadata)
}

fn expect_room(folder: &Path, needed: u64) -> Result<(), EngineError> {
    // A file system that does not tell its size says nothing of its room.
    let Some(found) = rustix::fs::statvfs(folder).ok().filter(|found| found.f_blocks > 0) else {
        return Ok(());
    };
    let room = found.f_bavail.saturating_mul(found.f_frsize);
    if room >= needed {
        return Ok(());
    }
    let words = format!("found room for {room} bytes, expected room for {needed}");
    Err(EngineError::cache(folder, io::Error::new(io::ErrorKind::StorageFull, words)))
}

fn only_mine(path: &Path, metadata: &Metadata) -> Result<(), EngineError> {
    let (owner, me) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let found = if owner != me {
        format!("owner {owner} (you are {me})")
    } else if metadata.mode() & 0o022 != 0 {
        format!("mode {:o}", metadata.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(EngineError::NotPrivate { dir: path.to_owned(), found })
}

fn load(engine: &Engine, path: &Path) -> Result<Option<Module>, EngineError> {
    // Neither a link is followed nor the writer of a pipe waited for.
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
    let Ok(mut file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else {
        return Ok(None);
    };
    let metadata = file.metadata().map_err(|error| EngineError::cache(path, error))?;
    only_mine(path, &metadata)?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| EngineError::cache(path, error))?;
    let Some(split) = bytes.len().checked_sub(DIGEST_LEN) else { return Ok(None) };
    let (artifact, digest) = bytes.split_at(split);
    if Sha256::digest(artifact)[..] != *digest {
        return Ok(None);
    }
    Ok(instantiate(engine, artifact).ok())
}

/// Turns compiler output into a module.
fn instantiate(engine: &Engine, artifact: &[u8]) -> wasmtime::Result<Module> {
    // SAFETY: `Module::deserialize` requires that the bytes are unmodified output of `Engine::precompile_module` or
    // `Module::serialize`. Both callers hold such bytes in private memory that nothing else can change: one got them
    // from `precompile_module` just now; the other read them from a file that its owner, this user, wrote through
    // `store`, that no one else could write (`only_mine` on the opened file), and whose bytes, as they lie in this
    // buffer, match the SHA-256 that `store` computed over the compiler's output. Wasmtime itself refuses output of
    // another version, configuration or target.
    #[allow(unsafe_code)]
    unsafe {
        Module::deserialize(engine, artifact)
    }
}

fn store(folder: &Path, path: &Path, artifact: &[u8]) -> Result<(), EngineError> {
    let io = |error| EngineError::cache(path, error);
    let mut temporary = tempfile::Builder::new().prefix(".compiling-").tempfile_in(folder).map_err(io)?;
    temporary.as_file().set_permissions(Permissions::from_mode(0o600)).map_err(io)?;
    temporary.write_all(artifact).map_err(io)?;
    temporary.write_all(&Sha256::digest(artifact)).map_err(io)?;
    temporary.as_file().sync_all().map_err(io)?;
    temporary.persist(path).map_err(|error| io(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// `(module (func (export "answer") (result i32) i32.const 42))`
    const ANSWER: &[u8] = &[
        0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7f, 3, 2, 1, 0, 7, 10, 1, 6, b'a', b'n',
        b's', b'w', b'e', b'r', 0, 0, 10, 6, 1, 4, 0, 0x41, 42, 0x0b,
    ];
    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn answer(module: &Module, engine: &Engine) -> i32 {
        let mut store = wasmtime::Store::new(engine, ());
        let instance = wasmtime::Instance::new(&mut store, module, &[]).unwrap();
        instance.get_typed_func::<(), i32>(&mut store, "answer").unwrap().call(&mut store, ()).unwrap()
    }

    fn cached(folder: &Path) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "cwasm"))
            .collect();
        files.sort();
        files
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_module_is_compiled_once_and_then_loaded() {
        let (engine, folder) = (Engine::default(), folder());
        let compiled = folder.path().join("compiled");
        let first = load_or_compile(&engine, &compiled, HASH, || Ok(ANSWER.to_vec())).unwrap();
        assert_eq!(answer(&first, &engine), 42);
        assert_eq!(fs::metadata(&compiled).unwrap().mode() & 0o777, 0o700);
        let again = load_or_compile(&engine, &compiled, HASH, || panic!("must come from the cache")).unwrap();
        assert_eq!(answer(&again, &engine), 42);
        assert_eq!(cached(&compiled).len(), 1);
    }

    #[test]
    fn a_damaged_or_torn_artifact_is_compiled_anew() {
        let (engine, folder) = (Engine::default(), folder());
        load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap();
        let file = cached(folder.path()).remove(0);
        let whole = fs::read(&file).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for bytes in [&flipped[..], &whole[..whole.len() - 1], &whole[..7], &[]] {
            fs::write(&file, bytes).unwrap();
            assert!(load(&engine, &file).unwrap().is_none());
            let module = load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap();
            assert_eq!(answer(&module, &engine), 42);
            assert_eq!(fs::read(&file).unwrap().len(), whole.len());
        }
    }

    #[test]
    fn a_folder_or_file_that_others_can_write_is_refused() {
        let (engine, folder) = (Engine::default(), folder());
        load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap();
        let file = cached(folder.path()).remove(0);
        fs::set_permissions(&file, Permissions::from_mode(0o620)).unwrap();
        let refused = load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap_err();
        assert!(matches!(refused, EngineError::NotPrivate { .. }), "{refused}");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let refused = load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap_err();
        assert!(refused.to_string().contains("mode 777"), "{refused}");
    }

    #[test]
    fn many_threads_may_compile_the_same_module_at_once() {
        let (engine, folder) = (Engine::default(), folder());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let module =
                        load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap();
                    assert_eq!(answer(&module, &engine), 42);
                });
            }
        });
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path()).collect();
        assert_eq!(left, cached(folder.path()));
    }

    #[test]
    fn a_link_in_place_of_the_artifact_is_not_followed() {
        let (engine, folder) = (Engine::default(), folder());
        load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap();
        let file = cached(folder.path()).remove(0);
        let moved = folder.path().join("elsewhere");
        fs::rename(&file, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &file).unwrap();
        assert!(load(&engine, &file).unwrap().is_none());
    }

    #[test]
    fn a_full_disk_is_told_before_anything_is_compiled() {
        let folder = folder();
        expect_room(folder.path(), 1).unwrap();
        let error = expect_room(folder.path(), u64::MAX).unwrap_err().to_string();
        assert!(error.contains("expected room for 18446744073709551615"), "{error}");
        assert!(error.contains("CLOCKWEAVE_COMPILED_DIR"), "{error}");
    }

    #[test]
    fn a_pipe_in_place_of_the_artifact_is_not_waited_for() {
        let (engine, folder) = (Engine::default(), folder());
        load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap();
        let file = cached(folder.path()).remove(0);
        fs::remove_file(&file).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        let module = load_or_compile(&engine, folder.path(), HASH, || Ok(ANSWER.to_vec())).unwrap();
        assert_eq!(answer(&module, &engine), 42);
        assert!(fs::metadata(&file).unwrap().is_file());
    }
}
