//! A recorded run as found: its manifest and its text logs.
//!
//! Invariants: one log per domain that has units; a log in the directory that belongs to no domain
//! is an error, since its events would be lost in silence. Deliberately does not read the logs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clockweave_model::{ClockDomain, Manifest, ManifestError};
use clockweave_validators::open_regular;

use crate::logs::{Catalog, FileLog, LogSource};

/// Name of the manifest in a run directory.
pub const MANIFEST: &str = "clock-manifest.json";
/// Most bytes of a manifest.
const LONGEST_MANIFEST: u64 = 1 << 30;

/// Why a run directory was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// No directory at all.
    #[error("{}: found a file, expected a run directory (one with {MANIFEST})", path.display())]
    NoDirectory {
        /// The path given.
        path: PathBuf,
    },
    /// A directory without a manifest.
    #[error("{}: found no {MANIFEST}, expected a run directory", path.display())]
    NoManifest {
        /// The path given.
        path: PathBuf,
    },
    /// A manifest of absurd size.
    #[error("{}: the manifest is longer than {LONGEST_MANIFEST} bytes", path.display())]
    LongManifest {
        /// The manifest.
        path: PathBuf,
    },
    /// A manifest that was refused.
    #[error("{}: {error}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// Why.
        error: ManifestError,
    },
    /// A domain whose log is missing.
    #[error(
        "{}: found no such file, expected the log of domain `{domain}`; was the run recorded without text?",
        path.display()
    )]
    NoLog {
        /// The log.
        path: PathBuf,
        /// The domain.
        domain: String,
    },
    /// A log that belongs to no domain of the manifest, or a second one of a domain.
    #[error(
        "{name}: found a log of no domain with units in the manifest, or a second log of one; remove it or restore its manifest"
    )]
    StrayLog {
        /// The log.
        name: String,
    },
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was read.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// One domain's log.
pub struct RunLog {
    domain: u32,
    name: String,
    source: Box<dyn LogSource>,
}

impl RunLog {
    /// Index of the domain among those by id.
    pub(crate) fn domain(&self) -> u32 {
        self.domain
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its bytes.
    pub fn source(&self) -> &dyn LogSource {
        &*self.source
    }
}

/// A run: what its manifest says, and a log for each domain that has units.
pub struct Run {
    manifest: Manifest,
    catalog: Catalog,
    logs: Vec<RunLog>,
}

impl Run {
    /// The run in directory `path`.
    ///
    /// # Errors
    /// No directory, no manifest or a bad one, a log missing or too many.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| RunError::Io { path, source }
        };
        if !fs::metadata(path).map_err(io(path))?.is_dir() {
            return Err(RunError::NoDirectory { path: path.to_owned() });
        }
        let manifest_path = path.join(MANIFEST);
        let text = match read_manifest(&manifest_path) {
            Ok(Some(text)) => text,
            Ok(None) => return Err(RunError::LongManifest { path: manifest_path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(RunError::NoManifest { path: path.to_owned() });
            }
            Err(error) => return Err(io(&manifest_path)(error)),
        };
        let refused = |error| RunError::Manifest { path: manifest_path.clone(), error };
        let manifest = Manifest::from_json(&text).map_err(refused)?;
        let catalog = Catalog::new(&manifest).map_err(refused)?;
        let mut logs: Vec<(u32, Box<dyn LogSource>)> = Vec::new();
        let mut names = Vec::new();
        for (domain, used) in catalog.domains().iter().zip(used_domains(&catalog)) {
            let mut found = None;
            for suffix in FileLog::suffixes() {
                let file = format!("text-domain-{}.log{suffix}", domain.name());
                let log = path.join(&file);
                match FileLog::new(&log) {
                    // A second one is stray: its name is not noted.
                    Ok(source) if found.is_none() => {
                        found = Some(source);
                        names.push(file);
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(io(&log)(error)),
                }
            }
            match found {
                Some(source) => logs.push((domain.id(), Box::new(source))),
                None if used => {
                    let path = path.join(format!("text-domain-{}.log", domain.name()));
                    return Err(RunError::NoLog { path, domain: domain.name().to_owned() });
                }
                None => {}
            }
        }
        for entry in fs::read_dir(path).map_err(io(path))? {
            let name = entry.map_err(io(path))?.file_name();
            let text = name.to_string_lossy();
            let is_log = text.starts_with("text-domain-")
                && FileLog::suffixes()
                    .any(|suffix| text.strip_suffix(suffix).is_some_and(|log| log.ends_with(".log")));
            if is_log && !names.iter().any(|known| *known == text) {
                return Err(RunError::StrayLog { name: path.join(&name).display().to_string() });
            }
        }
        Self::new(manifest, logs).map_err(|error| match error {
            RunError::Manifest { error, .. } => refused(error),
            other => other,
        })
    }

    /// A run of `manifest` whose logs are given by domain id.
    ///
    /// # Errors
    /// Domains that cannot be, a log of no domain, two of one.
    pub fn new(manifest: Manifest, logs: Vec<(u32, Box<dyn LogSource>)>) -> Result<Self, RunError> {
        let catalog = Catalog::new(&manifest)
            .map_err(|error| RunError::Manifest { path: PathBuf::from(MANIFEST), error })?;
        let mut by_domain = BTreeMap::new();
        for (id, source) in logs {
            let name = source.name();
            let found = catalog.domains().binary_search_by_key(&id, ClockDomain::id);
            let Some(domain) = found.ok().and_then(|at| u32::try_from(at).ok()) else {
                return Err(RunError::StrayLog { name });
            };
            if by_domain.contains_key(&domain) {
                return Err(RunError::StrayLog { name });
            }
            by_domain.insert(domain, RunLog { domain, name, source });
        }
        Ok(Self { manifest, catalog, logs: by_domain.into_values().collect() })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What the logs may say.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The logs by domain id.
    pub fn logs(&self) -> &[RunLog] {
        &self.logs
    }
}

fn used_domains(catalog: &Catalog) -> Vec<bool> {
    let mut used = vec![false; catalog.domains().len()];
    for unit in catalog.units() {
        used[unit.domain as usize] = true;
    }
    used
}

fn read_manifest(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    open_regular(path)?.take(LONGEST_MANIFEST + 1).read_to_end(&mut text)?;
    Ok((text.len() as u64 <= LONGEST_MANIFEST).then_some(text))
}
