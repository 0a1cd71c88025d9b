//! The pinned engine package: which files, with which content, and how pip is asked for it.

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};

const LOCK: &str = include_str!("../../engine.lock.toml");

/// The content of `engine.lock.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lock {
    pub(crate) version: u32,
    pub(crate) package: Package,
    pub(crate) download: Download,
    /// sha256 in lower hexadecimal by path below the package's root.
    pub(crate) files: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) perfetto: String,
    pub(crate) wheel: String,
    pub(crate) wheel_sha256: String,
    pub(crate) root: String,
    pub(crate) ui: String,
    pub(crate) wasm32: String,
    pub(crate) wasm64: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Download {
    pub(crate) python_version: String,
    pub(crate) implementation: String,
    pub(crate) abi: String,
    pub(crate) platforms: Vec<String>,
}

impl Lock {
    /// The lock this version was built with.
    pub(crate) fn pinned() -> Self {
        let lock: Self = toml::from_str(LOCK).expect("engine.lock.toml is checked by a test");
        assert_eq!(lock.version, 1, "engine.lock.toml has another version than this crate reads");
        lock
    }

    /// Name and version, as people write them.
    pub(crate) fn label(&self) -> String {
        format!("{} {} (Perfetto {})", self.package.name, self.package.version, self.package.perfetto)
    }

    /// The folder's name that the package is unpacked to: another content never shares it.
    pub(crate) fn folder(&self) -> String {
        let digest = self.files.iter().fold(Sha256::new(), |digest, (path, hash)| {
            digest.chain_update(path).chain_update([0]).chain_update(hash).chain_update([0])
        });
        format!("{}-{}-{}", self.package.name, self.package.version, &hex(&digest.finalize())[..8])
    }
}

/// Lower hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// sha256 in lower hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_names_its_engines_and_ui_and_stays_inside_its_root() {
        let lock = Lock::pinned();
        for needed in [&lock.package.wasm32, &lock.package.wasm64, &format!("{}/index.html", lock.package.ui)]
        {
            assert!(lock.files.contains_key(needed), "{needed}");
        }
        for (path, hash) in &lock.files {
            assert!(path.split('/').all(|part| !part.is_empty() && part != "." && part != ".."), "{path}");
            assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{path}: {hash}");
        }
        assert_eq!(
            lock.files[&lock.package.wasm32],
            "aefaeb0edf102aef1408554ed203ab156266c8f3229e331bd909738fde830c6d"
        );
    }

    #[test]
    fn sha256_is_the_standard_one() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
