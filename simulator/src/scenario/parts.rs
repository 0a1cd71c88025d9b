//! Domains and units of a scenario.

use std::path::Path;

use clockweave_model::{ClockDomain, ClockDomains, Frequency, IMPLICIT_NAME, Seconds, check_printable};

use super::error::{Fault, closest, cut};
use super::fields::{Fields, TIME, in_order};
use super::joins::{self, FifoPlan, LinkPlan};
use super::model::{Model, Reading, Settings};
use super::tree::{At, Located, Node, Sources, Table, Value};
use crate::graph::{TopologyError, counts_nanoseconds};
use crate::models::Wiring;

#[derive(Clone, Debug)]
pub(super) struct UnitPlan {
    pub(super) name: String,
    pub(super) domain: String,
    pub(super) settings: Settings,
    pub(super) wiring: Wiring,
    pub(super) at: At,
}

pub(super) const FREQUENCY: &str = "a frequency, as in \"914MHz\", \"1.326GHz\" or \"5/3 Hz\"";

pub(super) fn read_domains(fields: &Fields<'_>) -> Result<ClockDomains, Located> {
    let mut domains = ClockDomains::new();
    let Some(node) = fields.get("domains") else { return Ok(domains) };
    for (name, entry) in in_order(Fields::table(node, "`domains`")?) {
        let owner = format!("domain `{}`", cut(name));
        let table = Fields::table(&entry.node, &owner)?;
        let domain = Fields::new(table, entry.key_at, &owner, &["id", "frequency", "period", "phase"])?;
        let id = domain.need_integer("id", 1..=u64::from(u32::MAX) - 1)? as u32;
        let frequency: Option<Frequency> = domain.quantity("frequency", FREQUENCY)?;
        let period: Option<Seconds> = domain.quantity("period", TIME)?;
        let phase = domain.quantity("phase", TIME)?.unwrap_or(Seconds::ZERO);
        let period = match (frequency, period) {
            (Some(frequency), None) => frequency.period(),
            (None, Some(period)) => period,
            (None, None) => return Err(domain.missing("frequency", format!("{FREQUENCY}, or `period`"))),
            (Some(_), Some(_)) => {
                return Err(domain.bad("period", "either `frequency` or `period`, not both"));
            }
        };
        ClockDomain::with_period(id, name, period, phase)
            .and_then(|domain| domains.insert(domain))
            .map_err(|error| Located::new(entry.key_at, error))?;
    }
    Ok(domains)
}

pub(super) fn read_units(
    fields: &Fields<'_>,
    sources: &Sources,
    domains: &ClockDomains,
    fifos: &[FifoPlan],
    links: &[LinkPlan],
) -> Result<Vec<UnitPlan>, Located> {
    let Some(node) = fields.get("units") else {
        return Err(fields.missing("units", "a table per unit, as in [units.producer]"));
    };
    let table = Fields::table(node, "`units`")?;
    let mut ports = joins::ports_by_unit(table, fifos, links)?;
    let dir = sources.dir();
    let (mut units, mut unmet) = (Vec::with_capacity(table.len()), None);
    for (name, entry) in in_order(table) {
        let owner = format!("unit `{}`", cut(name));
        if !check_printable(name, 128) {
            return Err(Located::new(entry.key_at, TopologyError::UnitName { name: cut(name) }));
        }
        let table = Fields::table(&entry.node, &owner)?;
        let (model, settings) = read_model(table, entry.key_at, &owner, dir)?;
        let domain = read_unit_domain(table, entry.key_at, &owner, domains)?;
        let clock = domains.by_name(&domain);
        if let (Settings::Machine(_), Some(clock)) =
            (&settings, clock.filter(|clock| !counts_nanoseconds(clock)))
        {
            let (unit, domain) = (name.to_owned(), clock.name().to_owned());
            return Err(Located::new(entry.key_at, TopologyError::MachineClock { unit, domain }));
        }
        let joined = ports.remove(name).unwrap_or_default();
        joins::check_ports(name, model, &joined)?;
        let wiring = Wiring::new(joined.iter().map(|(port, joined)| (*port, joined.joint)));
        units.push(UnitPlan { name: name.to_owned(), domain, settings, wiring, at: entry.key_at });
        unmet = unmet.or_else(|| joins::check_needs(name, model, &joined, entry.key_at).err());
    }
    // A port that was joined under a wrong name is the likelier mistake than one that was forgotten.
    if let Some(unmet) = unmet {
        return Err(unmet);
    }
    if units.is_empty() {
        return Err(Located::new(node.at, TopologyError::Empty));
    }
    Ok(units)
}

fn read_model(table: &Table, at: At, owner: &str, dir: &Path) -> Result<(&'static Model, Settings), Located> {
    let expected = || {
        let names: Vec<&str> = super::models().iter().map(|model| model.name).collect();
        format!("the name of a model: one of \"{}\"", names.join("\", \""))
    };
    let (name, name_at) = match table.get("model").map(|entry| &entry.node) {
        Some(Node { at, value: Value::Text(name) }) => (name, *at),
        Some(Node { at, value }) => {
            let (what, found) = (format!("`model` of {owner}"), value.describe());
            return Err(Located::new(*at, Fault::Value { what, found, expected: expected() }));
        }
        None => {
            // A key that is almost `model` is the likelier mistake.
            let keys = table.keys().map(String::as_str).filter(|key| *key != "domain");
            if let Some(near) = closest("model", keys) {
                let fault = Fault::UnknownKey {
                    key: cut(near),
                    owner: owner.to_owned(),
                    suggestion: Some("model".to_owned()),
                    expected: vec!["model".to_owned(), "domain".to_owned()],
                };
                return Err(Located::new(table[near].key_at, fault));
            }
            let (owner, key) = (owner.to_owned(), "model".to_owned());
            return Err(Located::new(at, Fault::Missing { owner, key, expected: expected() }));
        }
    };
    let model = Model::find(name, name_at)?;
    let parameters = model.parameters.iter().map(|parameter| parameter.key);
    let keys: Vec<&str> = ["model", "domain"].into_iter().chain(parameters).collect();
    let owner = format!("{owner} (model `{name}`)");
    let settings = model.read(&Reading { fields: Fields::new(table, at, &owner, &keys)?, dir })?;
    Ok((model, settings))
}

fn read_unit_domain(table: &Table, at: At, owner: &str, domains: &ClockDomains) -> Result<String, Located> {
    let known = || domains.iter().map(ClockDomain::name);
    let names = if domains.is_empty() { vec![IMPLICIT_NAME] } else { known().collect() };
    let node = table.get("domain").map(|entry| &entry.node);
    match node {
        Some(Node { at, value: Value::Text(name) }) => {
            let found = if domains.is_empty() {
                (name == IMPLICIT_NAME).then_some(IMPLICIT_NAME)
            } else {
                domains.by_name(name).map(ClockDomain::name)
            };
            let unknown = || Fault::unknown_name("domain", name, names.iter().copied());
            found.map(str::to_owned).ok_or_else(|| Located::new(*at, unknown()))
        }
        Some(Node { at, value }) => {
            let (what, found) = (format!("`domain` of {owner}"), value.describe());
            Err(Located::new(*at, Fault::Value { what, found, expected: "the name of a domain".to_owned() }))
        }
        None if domains.is_empty() => Ok(IMPLICIT_NAME.to_owned()),
        None => {
            let listed: Vec<&str> = names.into_iter().take(20).collect();
            let expected = format!("one of \"{}\"", listed.join("\", \""));
            let (owner, key) = (owner.to_owned(), "domain".to_owned());
            Err(Located::new(at, Fault::Missing { owner, key, expected }))
        }
    }
}
