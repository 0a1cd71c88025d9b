//! A scenario's text as a tree that remembers where everything was written.
//!
//! # Invariants
//!
//! * Every node and key has an offset into one of the texts it may come from: the file or an override.
//! * A tree is at most [`DEEPEST`] tables deep.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Fault, Place, ScenarioError, cut};

/// Tables within tables, at most; a scenario needs four.
const DEEPEST: usize = 16;

/// A place in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    source: u32,
    offset: usize,
}

/// A fault and its place.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub(super) at: At,
    pub(super) fault: Box<Fault>,
}

impl Located {
    pub(super) fn new(at: At, fault: impl Into<Fault>) -> Self {
        Self { at, fault: Box::new(fault.into()) }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    /// As written, and its value if it fits.
    Integer(String, Option<u64>),
    Boolean(bool),
    List(Vec<Node>),
    Table(Table),
    /// A type that scenarios do not use, by name and as written.
    Other(&'static str, String),
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key_at: At,
    pub(super) node: Node,
}

pub(super) type Table = BTreeMap<String, Entry>;

impl Value {
    /// As an error states it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{}\"", cut(text)),
            Self::Integer(text, _) => cut(text),
            Self::Boolean(value) => value.to_string(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
            Self::Other(name, text) => format!("the {name} {}", cut(text)),
        }
    }
}

/// A text that nodes come from.
#[derive(Clone, Debug)]
struct Source {
    /// `None` for an override.
    file: Option<String>,
    text: String,
}

/// The texts of a scenario: its file, then its overrides.
#[derive(Clone, Debug)]
pub(super) struct Sources(Vec<Source>);

/// The tree of a scenario and the texts it comes from.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) sources: Sources,
    pub(super) root: Table,
}

impl Sources {
    /// The start of the file, for what is missing.
    pub(super) const START: At = At { source: 0, offset: 0 };

    /// The folder of the file.
    pub(super) fn dir(&self) -> &Path {
        self.0[0].file.as_deref().and_then(|file| Path::new(file).parent()).unwrap_or(Path::new(""))
    }

    pub(super) fn locate(&self, located: Located) -> ScenarioError {
        let Located { at, fault } = located;
        let source = &self.0[at.source as usize];
        let end = source.text.floor_char_boundary(at.offset.min(source.text.len()));
        let before = &source.text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[line_start..].chars().count() + 1;
        let place = match &source.file {
            Some(file) => Place::File { file: file.clone(), line: before.matches('\n').count() + 1, column },
            None => Place::Override { text: cut(&source.text), column },
        };
        ScenarioError { place, fault }
    }
}

impl Tree {
    /// The tree of a file's text.
    pub(super) fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        let sources = Sources(vec![Source { file: Some(file.to_owned()), text: text.to_owned() }]);
        match table(text, 0) {
            Ok(root) => Ok(Self { sources, root }),
            Err(located) => Err(sources.locate(located)),
        }
    }

    /// Merges `key=value` into the tree: a value in TOML, or text where it is none.
    ///
    /// A run limit replaces any other.
    pub(super) fn set(&mut self, text: &str) -> Result<(), ScenarioError> {
        let source = self.sources.0.len() as u32;
        self.sources.0.push(Source { file: None, text: text.to_owned() });
        self.merge(text, source).map_err(|located| self.sources.locate(located))
    }

    fn merge(&mut self, text: &str, source: u32) -> Result<(), Located> {
        let Some(equals) = equals(text) else {
            let fault = Fault::Syntax("no `=`; expected KEY=VALUE, as in run.batches=1000".to_owned());
            return Err(Located::new(At { source, offset: text.len() }, fault));
        };
        let over = table(text, source).or_else(|error| {
            let value = text[equals + 1..].trim();
            // What begins like a value of TOML that needs quotes or brackets is meant as one.
            if value.starts_with(['"', '\'', '[', '{']) {
                return Err(error);
            }
            let quoted = toml::Value::String(value.to_owned()).to_string();
            table(&format!("{}={quoted}", &text[..equals]), source)
        })?;
        if let Some(Entry { node: Node { value: Value::Table(limits), .. }, .. }) = over.get("run")
            && super::settings::LIMITS.iter().any(|key| limits.contains_key(*key))
            && let Some(Entry { node: Node { value: Value::Table(run), .. }, .. }) = self.root.get_mut("run")
        {
            run.retain(|key, _| !super::settings::LIMITS.contains(&key.as_str()));
        }
        merge_tables(&mut self.root, over)
    }
}

/// The first `=` outside quotes.
fn equals(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(at, c)| {
        match (quote, c) {
            (None, '=') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        None
    })
}

fn merge_tables(base: &mut Table, over: Table) -> Result<(), Located> {
    for (key, entry) in over {
        match base.get_mut(&key) {
            None => {
                base.insert(key, entry);
            }
            Some(known) => merge_nodes(&mut known.node, entry.node)?,
        }
    }
    Ok(())
}

fn merge_nodes(base: &mut Node, over: Node) -> Result<(), Located> {
    match (&mut base.value, over.value) {
        (Value::Table(base), Value::Table(over)) => merge_tables(base, over),
        (Value::List(items), Value::Table(over)) => {
            let count = items.len();
            for (key, entry) in over {
                let item = key.parse().ok().and_then(|at: usize| items.get_mut(at));
                let Some(item) = item else {
                    let (what, found) = ("the place in the list".to_owned(), format!("`{}`", cut(&key)));
                    let expected = match count {
                        0 => "nothing, since the list is empty".to_owned(),
                        _ => format!("a number from 0 to {}", count - 1),
                    };
                    return Err(Located::new(entry.key_at, Fault::Value { what, found, expected }));
                };
                merge_nodes(item, entry.node)?;
            }
            Ok(())
        }
        (_, value) => {
            *base = Node { at: over.at, value };
            Ok(())
        }
    }
}

fn table(text: &str, source: u32) -> Result<Table, Located> {
    let parsed = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Located::new(At { source, offset }, Fault::Syntax(error.message().to_owned()))
    })?;
    convert_table(parsed.into_inner(), source, 0)
}

fn convert_table(table: DeTable<'_>, source: u32, depth: usize) -> Result<Table, Located> {
    let mut converted = Table::new();
    for (key, value) in table {
        let key_at = At { source, offset: key.span().start };
        let node = convert(value, source, depth + 1)?;
        converted.insert(key.into_inner().into_owned(), Entry { key_at, node });
    }
    Ok(converted)
}

fn convert(value: Spanned<DeValue<'_>>, source: u32, depth: usize) -> Result<Node, Located> {
    let at = At { source, offset: value.span().start };
    if depth > DEEPEST {
        let fault = Fault::Syntax(format!("nested too deep; expected at most {DEEPEST} levels"));
        return Err(Located::new(at, fault));
    }
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => {
            Value::Integer(integer.to_string(), u64::from_str_radix(integer.as_str(), integer.radix()).ok())
        }
        DeValue::Float(float) => Value::Other("number with a fraction", float.to_string()),
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Datetime(date) => Value::Other("date", date.to_string()),
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| convert(item, source, depth + 1));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Table(convert_table(table, source, depth)?),
    };
    Ok(Node { at, value })
}
