//! One trace in one engine: hand it over, then ask.
//!
//! Rows are handed to the caller while the engine still produces them; a whole result is never held.
//! Deliberately knows no table and no check.

use std::io::Read;

use super::error::EngineError;
use super::rpc::{self, CellsBatch, QueryArgs, QueryResult, Replies, Rpc, method};
use super::transport::{Reply, Transport};

/// Bytes of trace per message.
const CHUNK: usize = 2 << 20;

/// One value of a result row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// SQL NULL.
    Null,
    /// An integer; u64 values above `i64::MAX` arrive as their two's complement.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string's bytes: a trace may hold any.
    Text(&'a [u8]),
    /// A blob.
    Blob(&'a [u8]),
}

/// One row of a result.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    query: &'a str,
    cells: &'a [Cell<'a>],
}

impl<'a> Row<'a> {
    /// All cells.
    pub fn cells(&self) -> &'a [Cell<'a>] {
        self.cells
    }

    /// The integer in a column.
    ///
    /// # Errors
    /// The column is missing or holds something else.
    #[inline]
    pub fn int(&self, column: usize) -> Result<i64, EngineError> {
        match self.cells.get(column) {
            Some(Cell::Int(value)) => Ok(*value),
            other => Err(self.shape(column, other, "an integer")),
        }
    }

    /// The unsigned integer that a column holds, whatever sign SQL gave it.
    ///
    /// # Errors
    /// The column is missing or holds something else.
    #[inline]
    pub fn word(&self, column: usize) -> Result<u64, EngineError> {
        self.int(column).map(|value| value as u64)
    }

    /// The text in a column, with bytes that are no UTF-8 replaced.
    ///
    /// # Errors
    /// The column is missing or holds something else.
    pub fn text(&self, column: usize) -> Result<std::borrow::Cow<'a, str>, EngineError> {
        match self.cells.get(column) {
            Some(Cell::Text(bytes)) => Ok(String::from_utf8_lossy(bytes)),
            other => Err(self.shape(column, other, "a string")),
        }
    }

    #[cold]
    fn shape(&self, column: usize, found: Option<&Cell<'_>>, expected: &str) -> EngineError {
        EngineError::Shape {
            name: self.query.to_owned(),
            found: found.map_or("no such column".to_owned(), |cell| format!("{cell:?} in column {column}")),
            expected: expected.to_owned(),
        }
    }
}

/// A trace loaded into an engine.
pub struct Session {
    transport: Box<dyn Transport>,
    replies: Replies,
    seq: i64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("seq", &self.seq).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(transport: Box<dyn Transport>) -> Self {
        Self { transport, replies: Replies::default(), seq: 0 }
    }

    fn send(&mut self, request: i32, fill: impl FnOnce(&mut Rpc)) -> Result<(), EngineError> {
        let mut message = Rpc { seq: Some(self.seq), request: Some(request), ..Rpc::default() };
        fill(&mut message);
        self.seq += 1;
        self.transport.send(rpc::frame(&message))
    }

    /// The next message that answers `request`; `None` once the engine has said all it will.
    fn answer(&mut self, request: i32) -> Result<Option<Rpc>, EngineError> {
        loop {
            if let Some(message) = self.replies.next_message()? {
                if message.response != Some(request) {
                    let detail =
                        format!("found an answer to {:?}, expected one to {request}", message.response);
                    return Err(EngineError::Incompatible { detail });
                }
                return Ok(Some(message));
            }
            match self.transport.receive()? {
                Reply::Bytes(piece) => self.replies.push(&piece),
                Reply::Idle => return Ok(None),
            }
        }
    }

    /// Gives the engine a whole trace.
    ///
    /// # Errors
    /// The source fails, the importer refuses the trace, or the engine breaks off.
    pub(crate) fn import(&mut self, mut trace: impl Read) -> Result<(), EngineError> {
        let read = |source| EngineError::Io { path: "trace".into(), source };
        let mut outstanding = 0_u32;
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            trace.by_ref().take(CHUNK as u64).read_to_end(&mut chunk).map_err(read)?;
            let last = chunk.is_empty();
            if !last {
                self.send(method::APPEND_TRACE_DATA, |message| message.append_trace_data = Some(chunk))?;
                outstanding += 1;
            }
            // One chunk is read while another is imported.
            while outstanding > u32::from(!last) {
                self.finish_append()?;
                outstanding -= 1;
            }
            if last {
                break;
            }
        }
        self.send(method::FINALIZE_TRACE_DATA, |_| {})?;
        while self.answer(method::FINALIZE_TRACE_DATA)?.is_some() {}
        Ok(())
    }

    fn finish_append(&mut self) -> Result<(), EngineError> {
        while let Some(message) = self.answer(method::APPEND_TRACE_DATA)? {
            let error = message.append_result.and_then(|result| result.error);
            if let Some(message) = error.filter(|error| !error.is_empty()) {
                return Err(EngineError::Import { message: rpc::words(&message) });
            }
        }
        Ok(())
    }

    /// Runs a query and hands over every row.
    ///
    /// # Errors
    /// The query fails, the engine breaks off, or `each` says so.
    pub fn query<E: From<EngineError>>(
        &mut self,
        name: &str,
        sql: &str,
        mut each: impl FnMut(&Row<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let args = QueryArgs { sql_query: Some(sql.to_owned()) };
        self.send(method::QUERY_STREAMING, |message| message.query_args = Some(args))?;
        let mut columns = 0;
        let mut ended = false;
        let mut failed = None;
        while let Some(message) = self.answer(method::QUERY_STREAMING)? {
            // After a failure the rest of the answer is let pass, so that the next query finds its own.
            if failed.is_some() {
                continue;
            }
            match take_result(name, &message.query_result.unwrap_or_default(), &mut columns, &mut each) {
                Ok(last) => ended |= last,
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if !ended {
            let detail = format!("the result of {name} has no last batch");
            return Err(EngineError::Incompatible { detail }.into());
        }
        Ok(())
    }
}

/// Hands over the rows of one message; gives whether it was the last of its result.
fn take_result<E: From<EngineError>>(
    name: &str,
    result: &QueryResult,
    columns: &mut usize,
    each: &mut impl FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<bool, E> {
    if let Some(message) = result.error.as_ref().filter(|error| !error.is_empty()) {
        return Err(EngineError::Query { name: name.to_owned(), message: rpc::words(message) }.into());
    }
    if *columns == 0 {
        *columns = result.column_names.len();
    }
    let mut ended = false;
    for batch in &result.batch {
        let cells = cells_of(batch).ok_or_else(|| EngineError::Incompatible {
            detail: format!("a batch of the result of {name} announces cells that it does not hold"),
        })?;
        if !cells.is_empty() && (*columns == 0 || cells.len() % *columns != 0) {
            let detail = format!("found {} cells in rows of {columns} in the result of {name}", cells.len());
            return Err(EngineError::Incompatible { detail }.into());
        }
        for cells in cells.chunks_exact((*columns).max(1)) {
            each(&Row { query: name, cells })?;
        }
        ended |= batch.is_last_batch == Some(true);
    }
    Ok(ended)
}

/// A batch's cells in order, or `None` if it announces more than it holds.
fn cells_of(batch: &CellsBatch) -> Option<Vec<Cell<'_>>> {
    let mut ints = batch.varint_cells.iter();
    let mut floats = batch.float64_cells.iter();
    let mut blobs = batch.blob_cells.iter();
    let mut strings = batch.string_cells.as_deref().unwrap_or_default();
    let mut cells = Vec::with_capacity(batch.cells.len());
    for kind in &batch.cells {
        cells.push(match *kind {
            rpc::cell::NULL => Cell::Null,
            rpc::cell::VARINT => Cell::Int(*ints.next()?),
            rpc::cell::FLOAT64 => Cell::Float(*floats.next()?),
            rpc::cell::BLOB => Cell::Blob(blobs.next()?),
            rpc::cell::STRING => {
                let end = strings.iter().position(|byte| *byte == 0)?;
                let (text, rest) = strings.split_at(end);
                strings = &rest[1..];
                Cell::Text(text)
            }
            _ => return None,
        });
    }
    Some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_its_cells_in_order_and_nothing_it_does_not_hold() {
        let batch = CellsBatch {
            cells: vec![rpc::cell::STRING, rpc::cell::VARINT, rpc::cell::NULL, rpc::cell::STRING],
            varint_cells: vec![-1],
            string_cells: Some(b"ab\0\0".to_vec()),
            ..CellsBatch::default()
        };
        let expected = [Cell::Text(b"ab"), Cell::Int(-1), Cell::Null, Cell::Text(b"")];
        assert_eq!(cells_of(&batch).unwrap(), expected);
        for broken in [
            CellsBatch { varint_cells: vec![], ..batch.clone() },
            CellsBatch { string_cells: Some(b"ab\0".to_vec()), ..batch.clone() },
            CellsBatch { cells: vec![9], ..batch.clone() },
        ] {
            assert!(cells_of(&broken).is_none());
        }
    }

    #[test]
    fn u64_values_above_the_signed_range_are_restored() {
        let cells = [Cell::Int(-1), Cell::Int(i64::MIN), Cell::Null];
        let row = Row { query: "q", cells: &cells };
        assert_eq!(row.word(0).unwrap(), u64::MAX);
        assert_eq!(row.word(1).unwrap(), 1 << 63);
        assert!(row.word(2).unwrap_err().to_string().contains("expected an integer"));
        assert!(row.word(3).is_err());
    }
}
