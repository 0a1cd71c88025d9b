//! Texts that a trace states once per incremental state.
//!
//! # Invariants
//!
//! * A name's id is the same in every table and all through the trace, so a checkpoint only makes names be stated
//!   again.
//! * A name is stated in the first packet that uses it, per table.

use std::collections::HashMap;
use std::sync::Arc;

use crate::encoder::{Name, TraceError};
use crate::pftrace::{bytes, field};

/// Most names: Perfetto's own writers never state more in one table.
const MAX_NAMES: usize = 65_536;

/// Tables of `InternedData`, by their field numbers.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Table {
    Categories = 1,
    Events = 2,
    Annotations = 3,
    Texts = 29,
}

const TABLES: [Table; 4] = [Table::Categories, Table::Events, Table::Annotations, Table::Texts];

impl Table {
    fn index(self) -> usize {
        TABLES.iter().position(|table| *table as u32 == self as u32).expect("every table is listed")
    }
}

struct Entry {
    text: Arc<str>,
    /// By table, the incremental state in which the name was last stated; 0 for none.
    stated: [u32; TABLES.len()],
}

#[derive(Default)]
pub(super) struct Names {
    entries: Vec<Entry>,
    numbers: HashMap<Arc<str>, u32>,
    /// The present incremental state.
    state: u32,
    /// Stated since the last [`Names::keep`], with what was true before.
    fresh: Vec<(u32, usize, u32)>,
    /// `InternedData` of the packet in the making.
    data: Vec<u8>,
    entry: Vec<u8>,
}

impl Names {
    /// The name of a text, and whether it is a new one.
    pub(super) fn get(&mut self, text: &str) -> Result<(Name, bool), TraceError> {
        if let Some(number) = self.numbers.get(text) {
            return Ok((Name(*number), false));
        }
        if self.entries.len() == MAX_NAMES {
            return Err(TraceError::MetadataBudget { what: "number of names", budget: MAX_NAMES });
        }
        let (number, text) = (self.entries.len() as u32, Arc::<str>::from(text));
        self.numbers.insert(Arc::clone(&text), number);
        self.entries.push(Entry { text, stated: [0; TABLES.len()] });
        Ok((Name(number), true))
    }

    /// Forgets a name that is not wanted after all; it was the last one.
    pub(super) fn forget_last(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.numbers.remove(&entry.text);
        }
    }

    /// A new incremental state: nothing is stated in it.
    pub(super) fn clear_state(&mut self) {
        self.state += 1;
    }

    /// The id of `name` in `table`; states it in the packet in the making, if it has to be.
    #[inline]
    pub(super) fn id(&mut self, name: Name, table: Table) -> Result<u64, TraceError> {
        let index = table.index();
        let Some(entry) = self.entries.get_mut(name.0 as usize) else {
            return Err(TraceError::Unknown { what: "name", number: name.0 });
        };
        let id = u64::from(name.0) + 1;
        if entry.stated[index] != self.state {
            self.fresh.push((name.0, index, entry.stated[index]));
            entry.stated[index] = self.state;
            self.entry.clear();
            field(&mut self.entry, 1, id);
            bytes(&mut self.entry, 2, entry.text.as_bytes());
            bytes(&mut self.data, table as u32, &self.entry);
        }
        Ok(id)
    }

    /// What the packet in the making has to state.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    /// The packet in the making is written.
    pub(super) fn keep(&mut self) {
        self.fresh.clear();
        self.data.clear();
    }

    /// The packet in the making is not written.
    pub(super) fn undo(&mut self) {
        for (name, index, before) in self.fresh.drain(..).rev() {
            self.entries[name as usize].stated[index] = before;
        }
        self.data.clear();
    }
}
