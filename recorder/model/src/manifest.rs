//! `clock-manifest.json`, version 1: what a run is made of, written before its first event.
//!
//! The keys are a convention shared with other recorders; additions of ours live under
//! `clockweave`. Integers are read as integers of up to 128 bits, never through floating point.
//! Unknown keys are ignored.

use std::collections::BTreeMap;

use num_rational::Ratio;
use serde::{Deserialize, Serialize};

use crate::domain::{ClockDomain, ClockDomains, DomainError};
use crate::event::check_printable;
use crate::quantity::Seconds;
use crate::scheduling::MachineEntry;

const VERSION: u64 = 1;
/// Longest name accepted when reading.
const MAX_READ_NAME: usize = 1024;

/// Why a manifest was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// Not JSON, or not of the expected shape.
    #[error("the manifest is not valid: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version of the convention.
    #[error("the manifest's version is {found}; expected {VERSION}, which this program reads")]
    Version {
        /// The version found, or that it is missing.
        found: String,
    },
    /// A domain that cannot be.
    #[error("the manifest's domains: {0}")]
    Domain(#[from] DomainError),
    /// A period or phase too wide, or with denominator zero.
    #[error(
        "the manifest's domain {id} (`{name}`): {key} {num}/{den} is no ratio whose reduced parts fit 64 bits"
    )]
    Ratio {
        /// Domain id.
        id: u32,
        /// Domain name.
        name: String,
        /// `period` or `phase`.
        key: &'static str,
        /// Numerator found.
        num: u128,
        /// Denominator found.
        den: u128,
    },
    /// A name that is not printable ASCII or too long.
    #[error("the manifest's {what} `{name}` is not 1 to {MAX_READ_NAME} printable ASCII characters")]
    BadName {
        /// What the name is of.
        what: &'static str,
        /// The name, cut to 64 characters.
        name: String,
    },
    /// A stream in a domain that is not listed.
    #[error("the manifest's unit `{unit}` (id {unit_id}) is in domain {domain_id}, which is not listed")]
    UnknownDomain {
        /// Unit name.
        unit: String,
        /// Unit id.
        unit_id: u64,
        /// Domain id.
        domain_id: u32,
    },
    /// Two units with one id or one name, or one unit in two domains.
    #[error(
        "the manifest's unit `{unit}` (id {unit_id}) contradicts another row: unit ids and names are unique"
    )]
    DuplicateUnit {
        /// Unit name.
        unit: String,
        /// Unit id.
        unit_id: u64,
    },
}

/// A clock domain as the manifest writes it: period and phase in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestDomain {
    /// Domain id.
    pub id: u32,
    /// Domain name.
    pub name: String,
    /// Period numerator.
    pub period_num: u128,
    /// Period denominator.
    pub period_den: u128,
    /// Phase numerator.
    pub phase_num: u128,
    /// Phase denominator.
    pub phase_den: u128,
}

/// One producer of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestStream {
    /// Unit id.
    pub unit_id: u64,
    /// Unit name.
    pub unit: String,
    /// The unit's domain.
    pub domain_id: u32,
    /// Packet sequence in the trace.
    pub sequence: u64,
    /// Track uuid in the trace.
    pub track: u64,
    /// 0 for the unit itself.
    pub producer_order: u64,
}

/// A clock-crossing FIFO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FifoEntry {
    /// FIFO id.
    pub id: u32,
    /// FIFO name.
    pub name: String,
    /// Entries of its RAM.
    pub depth: u64,
    /// Registers of each synchronizer.
    pub stages: u32,
    /// Name of the writing unit.
    pub writer: String,
    /// Name of the reading unit.
    pub reader: String,
}

/// What clockweave adds to the convention.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManifestExtension {
    /// Version of the program that wrote the run.
    pub tool_version: String,
    /// Options of the run that determine its bytes.
    pub configuration: BTreeMap<String, String>,
    /// `events` or `full`.
    pub view: String,
    /// `debug` or `annotations`.
    pub args: String,
    /// The FIFOs by id.
    pub fifos: Vec<FifoEntry>,
    /// Machines that schedule threads, by unit id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineEntry>,
}

/// The manifest of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    version: u64,
    /// Name of the run.
    pub run_id: String,
    time_unit: String,
    perfetto_unit: String,
    /// Whether recording waited rather than dropped.
    pub lossless: bool,
    /// Records per stream ring.
    pub stream_capacity: u64,
    /// Domains with units, by id.
    pub domains: Vec<ManifestDomain>,
    /// Streams; one per unit from clockweave, in canonical order.
    pub streams: Vec<ManifestStream>,
    /// Kind numbers and names.
    pub events: BTreeMap<u32, String>,
    /// Additions; absent in other recorders' manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clockweave: Option<ManifestExtension>,
}

impl From<&ClockDomain> for ManifestDomain {
    fn from(domain: &ClockDomain) -> Self {
        let (period, phase) = (domain.period().ratio(), domain.phase().ratio());
        Self {
            id: domain.id(),
            name: domain.name().to_owned(),
            period_num: (*period.numer()).into(),
            period_den: (*period.denom()).into(),
            phase_num: (*phase.numer()).into(),
            phase_den: (*phase.denom()).into(),
        }
    }
}

impl ManifestDomain {
    /// The domain, reduced and checked.
    ///
    /// # Errors
    /// A ratio too wide or with denominator zero, a bad name, a period of zero.
    pub fn to_domain(&self) -> Result<ClockDomain, ManifestError> {
        let ratio = |key, num: u128, den: u128| {
            let bad = || ManifestError::Ratio { id: self.id, name: self.name.clone(), key, num, den };
            if den == 0 {
                return Err(bad());
            }
            let reduced = Ratio::new(num, den);
            match (u64::try_from(*reduced.numer()), u64::try_from(*reduced.denom())) {
                (Ok(num), Ok(den)) => Seconds::from_ratio(num, den).map_err(|_| bad()),
                _ => Err(bad()),
            }
        };
        let period = ratio("period", self.period_num, self.period_den)?;
        let phase = ratio("phase", self.phase_num, self.phase_den)?;
        Ok(ClockDomain::recorded(self.id, &self.name, period, phase)?)
    }
}

impl Manifest {
    /// An empty manifest of this version.
    pub fn new(run_id: &str) -> Self {
        Self {
            version: VERSION,
            run_id: run_id.to_owned(),
            time_unit: "rational seconds".to_owned(),
            perfetto_unit: "ns (floor)".to_owned(),
            lossless: true,
            stream_capacity: 0,
            domains: Vec::new(),
            streams: Vec::new(),
            events: BTreeMap::new(),
            clockweave: None,
        }
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        let mut text =
            serde_json::to_string_pretty(self).expect("a manifest has only strings, integers and lists");
        text.push('\n');
        text
    }

    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// Not JSON, another version, names out of range, contradicting units, impossible domains.
    pub fn from_json(text: &[u8]) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        #[serde(expecting = "an object with the key `version`")]
        struct Versioned {
            version: Option<serde_json::Value>,
        }
        let found: Versioned = serde_json::from_slice(text)?;
        match found.version {
            Some(version) if version == VERSION => {}
            Some(other) => return Err(ManifestError::Version { found: other.to_string() }),
            None => return Err(ManifestError::Version { found: "missing".to_owned() }),
        }
        let manifest: Self = serde_json::from_slice(text)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The domains, checked for unique ids and names.
    ///
    /// # Errors
    /// As [`ManifestDomain::to_domain`], and duplicates.
    pub fn clock_domains(&self) -> Result<ClockDomains, ManifestError> {
        let mut domains = ClockDomains::new();
        for domain in &self.domains {
            domains.insert(domain.to_domain()?)?;
        }
        Ok(domains)
    }

    fn check(&self) -> Result<(), ManifestError> {
        let name = |what, name: &str| {
            if check_printable(name, MAX_READ_NAME) {
                Ok(())
            } else {
                Err(ManifestError::BadName { what, name: name.chars().take(64).collect() })
            }
        };
        name("run id", &self.run_id)?;
        let domains = self.clock_domains()?;
        let mut by_id: BTreeMap<u64, &ManifestStream> = BTreeMap::new();
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for stream in &self.streams {
            name("unit name", &stream.unit)?;
            if domains.get(stream.domain_id).is_none() {
                return Err(ManifestError::UnknownDomain {
                    unit: stream.unit.clone(),
                    unit_id: stream.unit_id,
                    domain_id: stream.domain_id,
                });
            }
            let known = by_id.entry(stream.unit_id).or_insert(stream);
            let named = *by_name.entry(&stream.unit).or_insert(stream.unit_id);
            if known.unit != stream.unit || known.domain_id != stream.domain_id || named != stream.unit_id {
                return Err(ManifestError::DuplicateUnit {
                    unit: stream.unit.clone(),
                    unit_id: stream.unit_id,
                });
            }
        }
        self.events.values().try_for_each(|kind| name("event kind", kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"{"version":1, "run_id":"r", "time_unit":"rational seconds", "perfetto_unit":"ns (floor)",
        "lossless":true, "stream_capacity":4096, "future":[1.5],
        "domains":[{"id":1,"name":"sm","period_num":2,"period_den":1828000000,"phase_num":0,"phase_den":7}],
        "streams":[{"unit_id":1,"unit":"producer","domain_id":1,"sequence":2,"track":123,"producer_order":0},
                   {"unit_id":1,"unit":"producer","domain_id":1,"sequence":3,"track":123,"producer_order":2}],
        "events":{"1":"fifo.write","256":"user"}}"#;

    #[test]
    fn other_recorders_rows_are_read_and_reduced() {
        let manifest = Manifest::from_json(SAMPLE.as_bytes()).unwrap();
        let domains = manifest.clock_domains().unwrap();
        assert_eq!(domains.get(1).unwrap().frequency().label(), "914 MHz");
        assert_eq!(manifest.events[&256], "user");
        assert_eq!(manifest.streams.len(), 2);
        assert_eq!(Manifest::from_json(manifest.to_json().as_bytes()).unwrap(), manifest);
    }

    #[test]
    fn numbers_beyond_64_bits_are_read_exactly() {
        // 2^65 / 2^95 reduces to 1 / 2^30.
        let text = SAMPLE
            .replace("\"period_num\":2", "\"period_num\":36893488147419103232")
            .replace("1828000000", &(1u128 << 95).to_string());
        let domains = Manifest::from_json(text.as_bytes()).unwrap().clock_domains().unwrap();
        assert_eq!(domains.get(1).unwrap().frequency().label(), "1073741824 Hz");
    }

    #[test]
    fn refusals_have_errors_of_their_own() {
        let read =
            |from: &str, to: &str| Manifest::from_json(SAMPLE.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(
            matches!(read("\"version\":1", "\"version\":2"), ManifestError::Version { found } if found == "2")
        );
        assert!(matches!(read("\"version\":1,", ""), ManifestError::Version { found } if found == "missing"));
        assert!(matches!(read("1828000000", "0"), ManifestError::Ratio { key: "period", .. }));
        assert!(matches!(
            read("\"phase_den\":7", "\"phase_den\":0"),
            ManifestError::Ratio { key: "phase", .. }
        ));
        assert!(matches!(read("\"period_num\":2", "\"period_num\":0"), ManifestError::Domain(_)));
        assert!(matches!(read("\"domain_id\":1", "\"domain_id\":9"), ManifestError::UnknownDomain { .. }));
        assert!(matches!(
            read("\"unit\":\"producer\"", "\"unit\":\"p\""),
            ManifestError::DuplicateUnit { .. }
        ));
        assert!(matches!(read("\"run_id\":\"r\"", "\"run_id\":\"\\u0000\""), ManifestError::BadName { .. }));
        assert!(matches!(read("\"period_num\":2", "\"period_num\":2.5"), ManifestError::Json(_)));
        assert!(matches!(Manifest::from_json(b"{"), Err(ManifestError::Json(_))));
        for (text, said) in [
            ("[]", "expected an object with the key `version`"),
            ("{}", "the manifest's version is missing; expected 1"),
            (r#"{"version":"1"}"#, "the manifest's version is \"1\"; expected 1"),
        ] {
            let error = Manifest::from_json(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
