//! `clock-manifest.json`: clock domains, units and event kinds.
//!
//! Invariants after parsing: ids are unique, every unit's domain exists, every period is positive. Numbers of any size
//! are kept exactly.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use num_traits::Zero;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Longest name that is read.
const MAX_NAME: usize = 1024;

/// A clock domain: edge n is at phase + n * period, in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Domain {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) period: (BigUint, BigUint),
    pub(crate) phase: (BigUint, BigUint),
}

impl Domain {
    /// The name of its log.
    pub(crate) fn log_name(&self) -> String {
        format!("text-domain-{}.log", self.name)
    }
}

/// A unit: a source of events with ordinals of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) id: u64,
    pub(crate) name: String,
    /// Index into [`Manifest::domains`].
    pub(crate) domain: usize,
    /// Numbers (uuids) of its track in the trace; empty where the recorder does not tell.
    pub(crate) tracks: Vec<u64>,
}

/// A clock-crossing FIFO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fifo {
    pub(crate) name: String,
    /// Entries of its memory.
    pub(crate) depth: u64,
    /// Registers of each synchronizer.
    pub(crate) stages: u64,
    /// Index into [`Manifest::units`].
    pub(crate) writer: u32,
    /// Index into [`Manifest::units`].
    pub(crate) reader: u32,
}

/// A modelled machine, as far as the laws of scheduling rest on it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Machine {
    pub(crate) unit: String,
    pub(crate) cpus: u32,
    pub(crate) slice_ns: u64,
    pub(crate) quantum_ns: u64,
    pub(crate) latency_ns: u64,
    pub(crate) section_ns: u64,
    pub(crate) patience_ns: u64,
    pub(crate) steady: bool,
    pub(crate) jobs: Vec<MachineJob>,
    pub(crate) threads: Vec<MachineThread>,
}

/// A job of a machine.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MachineJob {
    pub(crate) weight: u64,
}

/// A thread of a machine.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MachineThread {
    pub(crate) name: String,
    pub(crate) job: usize,
    /// Where it may run.
    pub(crate) cpus: Vec<u32>,
}

/// What a run is made of.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) run_id: String,
    pub(crate) domains: Vec<Domain>,
    /// In ascending order of name, which is the order of units within one instant and phase.
    pub(crate) units: Vec<Unit>,
    /// Kind names; a kind is an index into this.
    pub(crate) kinds: Vec<String>,
    /// By id; empty where the recorder wrote no table of them.
    pub(crate) fifos: BTreeMap<u64, Fifo>,
    pub(crate) machines: Vec<Machine>,
    kind_of_name: BTreeMap<Vec<u8>, u16>,
    unit_of_id: BTreeMap<u64, u32>,
}

#[derive(Deserialize)]
struct File {
    run_id: String,
    domains: Vec<FileDomain>,
    streams: Vec<FileStream>,
    events: BTreeMap<String, String>,
    clockweave: Option<Extension>,
}

#[derive(Deserialize)]
struct Extension {
    #[serde(default)]
    fifos: Vec<FileFifo>,
    #[serde(default)]
    machines: Vec<Machine>,
}

#[derive(Deserialize)]
struct FileFifo {
    id: u64,
    name: String,
    depth: u64,
    stages: u64,
    writer: String,
    reader: String,
}

#[derive(Deserialize)]
struct FileDomain {
    id: u64,
    name: String,
    period_num: Box<RawValue>,
    period_den: Box<RawValue>,
    phase_num: Box<RawValue>,
    phase_den: Box<RawValue>,
}

#[derive(Deserialize)]
struct FileStream {
    unit_id: u64,
    unit: String,
    domain_id: u64,
    track: Option<u64>,
}

impl Manifest {
    /// Parses a manifest's text; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            version: Box<RawValue>,
        }
        let version: Version = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if version.version.get() != "1" {
            return Err(format!("found version {}, expected version 1", version.version.get()));
        }
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        printable("run_id", &file.run_id)?;
        let domains = file.domains.iter().map(domain).collect::<Result<Vec<_>, _>>()?;
        unique("domain id", domains.iter().map(|domain| domain.id))?;
        unique("domain name", domains.iter().map(|domain| domain.name.to_ascii_lowercase()))?;
        let units = units(&file.streams, &domains)?;
        let mut kinds = Vec::new();
        for (number, name) in &file.events {
            number.parse::<u64>().map_err(|_| format!("found event kind {number:?}, expected a number"))?;
            printable("event name", name)?;
            kinds.push(name.clone());
        }
        unique("event name", kinds.iter())?;
        let index =
            |position: usize| u16::try_from(position).map_err(|_| "found more than 65536 event kinds");
        let mut kind_of_name = BTreeMap::new();
        for (position, name) in kinds.iter().enumerate() {
            kind_of_name.insert(name.clone().into_bytes(), index(position)?);
        }
        let (listed, machines) =
            file.clockweave.map(|extension| (extension.fifos, extension.machines)).unwrap_or_default();
        let fifos = fifos(listed, &units)?;
        for machine in &machines {
            printable("machine", &machine.unit)?;
            if units.binary_search_by(|unit| unit.name.cmp(&machine.unit)).is_err() {
                return Err(format!("found a machine {:?}, expected a listed unit", machine.unit));
            }
        }
        let unit_of_id =
            (0..).zip(&units).map(|(position, unit): (u32, &Unit)| (unit.id, position)).collect();
        Ok(Self { run_id: file.run_id, domains, units, kinds, fifos, machines, kind_of_name, unit_of_id })
    }

    /// The kind of an event name.
    pub(crate) fn kind(&self, name: &[u8]) -> Option<u16> {
        self.kind_of_name.get(name).copied()
    }

    /// The index of the unit with an id.
    pub(crate) fn unit(&self, id: u64) -> Option<u32> {
        self.unit_of_id.get(&id).copied()
    }
}

fn domain(file: &FileDomain) -> Result<Domain, String> {
    let place = format!("domain {}", file.id);
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !file.name.bytes().all(valid) || ["", ".", ".."].contains(&&*file.name) || file.name.len() > MAX_NAME {
        let name: String = file.name.chars().take(64).collect();
        return Err(format!("{place}: found name {name:?}, expected letters, digits, '.', '_' and '-'"));
    }
    let ratio = |key: &str, num: &RawValue, den: &RawValue| {
        let part = |raw: &RawValue| natural(raw).ok_or_else(|| format!("{place}: found {key} {raw}"));
        let (num, den) = (part(num)?, part(den)?);
        if den.is_zero() {
            return Err(format!("{place}: found {key} with denominator 0"));
        }
        Ok((num, den))
    };
    let period = ratio("period", &file.period_num, &file.period_den)?;
    let phase = ratio("phase", &file.phase_num, &file.phase_den)?;
    if period.0.is_zero() {
        return Err(format!("{place}: found period 0, expected a positive one"));
    }
    Ok(Domain { id: file.id, name: file.name.clone(), period, phase })
}

/// A natural number written as JSON integer or as a string of digits, of at most 1,000 digits.
fn natural(raw: &RawValue) -> Option<BigUint> {
    let text = raw.get();
    let digits = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let plain =
        !digits.is_empty() && digits.len() <= 1000 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { BigUint::parse_bytes(digits.as_bytes(), 10) } else { None }
}

/// One unit per id; recorders may list a row per producer of a unit.
fn units(streams: &[FileStream], domains: &[Domain]) -> Result<Vec<Unit>, String> {
    let domain_of_id: BTreeMap<u64, usize> = (0..).zip(domains).map(|(at, domain)| (domain.id, at)).collect();
    let mut units: BTreeMap<u64, Unit> = BTreeMap::new();
    for stream in streams {
        let place = format!("unit {}", stream.unit_id);
        printable("unit name", &stream.unit)?;
        let domain = domain_of_id
            .get(&stream.domain_id)
            .copied()
            .ok_or_else(|| format!("{place}: found domain {}, expected a listed one", stream.domain_id))?;
        let unit = || Unit { id: stream.unit_id, name: stream.unit.clone(), domain, tracks: Vec::new() };
        let known = units.entry(stream.unit_id).or_insert_with(unit);
        if known.name != stream.unit || known.domain != domain {
            return Err(format!("{place}: found two names or domains, expected one"));
        }
        known.tracks.extend(stream.track);
    }
    let mut units: Vec<Unit> = units.into_values().collect();
    unique("unit name", units.iter().map(|unit| unit.name.clone()))?;
    units.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(units)
}

/// The FIFOs by id; `units` are in ascending order of name.
fn fifos(listed: Vec<FileFifo>, units: &[Unit]) -> Result<BTreeMap<u64, Fifo>, String> {
    unique("FIFO id", listed.iter().map(|fifo| fifo.id))?;
    let one = |FileFifo { id, name, depth, stages, writer, reader }: FileFifo| {
        printable("FIFO name", &name)?;
        for (what, found) in [("depth", depth), ("stages", stages)] {
            if found == 0 {
                return Err(format!("FIFO {id}: found {what} 0, expected a positive number"));
            }
        }
        let unit = |end: &str, name: &str| match units.binary_search_by(|unit| (*unit.name).cmp(name)) {
            Ok(unit) => Ok(unit as u32),
            Err(_) => {
                let shown: String = name.chars().take(64).collect();
                Err(format!("FIFO {id}: found {end} {shown:?}, expected a listed unit"))
            }
        };
        let (writer, reader) = (unit("writer", &writer)?, unit("reader", &reader)?);
        Ok((id, Fifo { name, depth, stages, writer, reader }))
    };
    listed.into_iter().map(one).collect()
}

fn printable(what: &str, text: &str) -> Result<(), String> {
    let fits = (1..=MAX_NAME).contains(&text.len());
    if fits && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return Ok(());
    }
    let shown: String = text.chars().take(64).collect();
    Err(format!("found {what} {shown:?}, expected 1 to {MAX_NAME} printable ASCII characters"))
}

fn unique<T: Ord + std::fmt::Debug>(what: &str, items: impl Iterator<Item = T>) -> Result<(), String> {
    let mut sorted: Vec<T> = items.collect();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("found {what} {:?} twice, expected it once", pair[0])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"version":1,"run_id":"r","time_unit":"rational seconds","lossless":true,
        "domains":[{"id":7,"name":"sm","period_num":1,"period_den":914000000,"phase_num":0,"phase_den":1},
                   {"id":2,"name":"lts","period_num":340282366920938463463374607431768211457,
                    "period_den":36893488147419103232,"phase_num":"137","phase_den":1000000000000}],
        "streams":[{"unit_id":1,"unit":"b","domain_id":7,"producer_order":0},
                   {"unit_id":2,"unit":"a","domain_id":2,"producer_order":0},
                   {"unit_id":1,"unit":"b","domain_id":7,"producer_order":3}],
        "events":{"1":"fifo.write","256":"user"},
        "clockweave":{"fifos":[{"id":4,"name":"ab","depth":8,"stages":3,"writer":"b","reader":"a"}]}}"#;

    #[test]
    fn a_manifest_is_read_exactly_and_units_are_in_order_of_name() {
        let manifest = Manifest::parse(GOOD).unwrap();
        let wide = (BigUint::from(1_u8) << 128_u8) + 1_u8;
        assert_eq!(manifest.domains[1].period, (wide, BigUint::from(1_u8) << 65_u8));
        assert_eq!(manifest.domains[1].phase.0, BigUint::from(137_u8));
        let units: Vec<_> = manifest.units.iter().map(|unit| (unit.id, &*unit.name, unit.domain)).collect();
        assert_eq!(units, [(2, "a", 1), (1, "b", 0)]);
        assert_eq!(manifest.unit(1), Some(1));
        assert_eq!(manifest.kind(b"user").map(|kind| &*manifest.kinds[usize::from(kind)]), Some("user"));
        let fifo = Fifo { name: "ab".into(), depth: 8, stages: 3, writer: 1, reader: 0 };
        assert_eq!(manifest.fifos, BTreeMap::from([(4, fifo)]));
        assert_eq!((manifest.kind(b"nothing"), &*manifest.run_id), (None, "r"));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_was_found() {
        for (from, to, words) in [
            ("\"version\":1", "\"version\":2", "found version 2"),
            ("\"id\":7", "\"id\":2", "domain id 2 twice"),
            ("\"name\":\"sm\"", "\"name\":\"../x\"", "found name \"../x\""),
            ("\"name\":\"sm\"", "\"name\":\"LTS\"", "domain name \"lts\" twice"),
            ("\"period_den\":914000000", "\"period_den\":0", "period with denominator 0"),
            ("\"period_num\":1,", "\"period_num\":0,", "found period 0"),
            ("\"period_num\":1,", "\"period_num\":1.5,", "found period 1.5"),
            ("\"phase_num\":0", "\"phase_num\":-1", "found phase -1"),
            ("\"domain_id\":2", "\"domain_id\":3", "found domain 3"),
            ("\"unit\":\"a\"", "\"unit\":\"b\"", "unit name \"b\" twice"),
            ("\"unit\":\"a\"", "\"unit\":\"\\u00e4\"", "printable"),
            ("\"256\":\"user\"", "\"x\":\"user\"", "event kind \"x\""),
            ("\"256\":\"user\"", "\"256\":\"fifo.write\"", "event name \"fifo.write\" twice"),
            ("\"run_id\":\"r\",", "", "run_id"),
            ("\"depth\":8", "\"depth\":0", "FIFO 4: found depth 0"),
            ("\"reader\":\"a\"", "\"reader\":\"c\"", "FIFO 4: found reader \"c\""),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let error = Manifest::parse(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(words), "{to}: {error}");
        }
    }
}
