//! Reading a table of the tree: known keys only, each by type and range.

use std::ops::RangeInclusive;

use clockweave_model::QuantityError;

use super::error::{Fault, closest, cut};
use super::tree::{At, Entry, Located, Node, Table, Value};

pub(super) const TIME: &str = "a time, as in \"137ps\", \"1.5ns\" or \"1/2000000000 s\"";

/// A table whose keys are all known.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    table: &'a Table,
    at: At,
    /// What the table describes, for errors.
    owner: &'a str,
}

impl<'a> Fields<'a> {
    pub(super) fn new(table: &'a Table, at: At, owner: &'a str, known: &[&str]) -> Result<Self, Located> {
        let unknown = table.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        match unknown.min_by_key(|(_, entry)| entry.key_at) {
            None => Ok(Self { table, at, owner }),
            Some((key, entry)) => Err(Located::new(
                entry.key_at,
                Fault::UnknownKey {
                    key: cut(key),
                    owner: owner.to_owned(),
                    suggestion: closest(key, known.iter().copied()).map(str::to_owned),
                    expected: known.iter().map(|key| (*key).to_owned()).collect(),
                },
            )),
        }
    }

    /// The table that `node` is.
    pub(super) fn table(node: &'a Node, what: &str) -> Result<&'a Table, Located> {
        match &node.value {
            Value::Table(table) => Ok(table),
            _ => Err(wrong(node, what.to_owned(), "a table")),
        }
    }

    pub(super) fn at(&self) -> At {
        self.at
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.table.get(key).map(|entry| &entry.node)
    }

    /// Where `key` was written, or the table.
    pub(super) fn at_key(&self, key: &str) -> At {
        self.table.get(key).map_or(self.at, |entry| entry.node.at)
    }

    /// A value as errors name it.
    pub(super) fn name(&self, key: &str) -> String {
        format!("`{key}` of {}", self.owner)
    }

    /// A value that is not what was expected.
    pub(super) fn bad(&self, key: &str, expected: impl Into<String>) -> Located {
        match self.get(key) {
            Some(node) => wrong(node, self.name(key), expected),
            None => self.missing(key, expected),
        }
    }

    pub(super) fn missing(&self, key: &str, expected: impl Into<String>) -> Located {
        let (owner, key, expected) = (self.owner.to_owned(), key.to_owned(), expected.into());
        Located::new(self.at, Fault::Missing { owner, key, expected })
    }

    pub(super) fn text(&self, key: &str, expected: &str) -> Result<Option<&'a str>, Located> {
        match self.get(key) {
            None => Ok(None),
            Some(Node { value: Value::Text(text), .. }) => Ok(Some(text)),
            Some(_) => Err(self.bad(key, expected)),
        }
    }

    pub(super) fn need_text(&self, key: &str, expected: &str) -> Result<&'a str, Located> {
        self.text(key, expected)?.ok_or_else(|| self.missing(key, expected))
    }

    pub(super) fn integer(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Located> {
        match self.get(key) {
            None => Ok(None),
            Some(Node { value: Value::Integer(_, Some(value)), .. }) if range.contains(value) => {
                Ok(Some(*value))
            }
            Some(_) => Err(self.bad(key, numbers(&range))),
        }
    }

    pub(super) fn need_integer(&self, key: &str, range: RangeInclusive<u64>) -> Result<u64, Located> {
        let missing = self.missing(key, numbers(&range));
        self.integer(key, range)?.ok_or(missing)
    }

    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>, Located> {
        match self.get(key) {
            None => Ok(None),
            Some(Node { value: Value::Boolean(value), .. }) => Ok(Some(*value)),
            Some(_) => Err(self.bad(key, "true or false")),
        }
    }

    /// A quantity as text.
    pub(super) fn quantity<Q>(&self, key: &str, expected: &str) -> Result<Option<Q>, Located>
    where
        Q: std::str::FromStr<Err = QuantityError>,
    {
        let text = match self.get(key) {
            // `0` needs no unit; the quantity itself refuses any other bare number.
            Some(Node { value: Value::Integer(text, _), .. }) => text,
            _ => match self.text(key, expected)? {
                Some(text) => text,
                None => return Ok(None),
            },
        };
        let refused = |error| Located::new(self.at_key(key), Fault::Quantity { what: self.name(key), error });
        text.parse().map(Some).map_err(refused)
    }

    /// One of some words.
    pub(super) fn word(&self, key: &str, words: &[&'static str]) -> Result<Option<&'static str>, Located> {
        let expected = || format!("one of \"{}\"", words.join("\", \""));
        let Some(text) = self.text(key, &expected())? else { return Ok(None) };
        if let Some(word) = words.iter().find(|word| **word == text) {
            return Ok(Some(word));
        }
        Err(match closest(text, words.iter().copied()) {
            Some(word) => self.bad(key, format!("{} (did you mean \"{word}\"?)", expected())),
            None => self.bad(key, expected()),
        })
    }
}

fn wrong(node: &Node, what: String, expected: impl Into<String>) -> Located {
    let (found, expected) = (node.value.describe(), expected.into());
    Located::new(node.at, Fault::Value { what, found, expected })
}

/// A range as errors state it.
fn numbers(range: &RangeInclusive<u64>) -> String {
    match *range.end() {
        u64::MAX => format!("a whole number from {} on", range.start()),
        end => format!("a whole number from {} to {end}", range.start()),
    }
}

/// Entries in the order of the text.
pub(super) fn in_order(table: &Table) -> Vec<(&str, &Entry)> {
    let mut entries: Vec<_> = table.iter().map(|(key, entry)| (key.as_str(), entry)).collect();
    entries.sort_by_key(|(_, entry)| entry.key_at);
    entries
}
