//! One trace in one engine: hand it over, then ask.
//!
//! Rows are handed to the caller while the engine still produces them; a whole result is never held, and one that never
//! ends is given up.
//! Deliberately knows no table and no check.

use std::io::Read;
use std::time::{Duration, Instant};

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
    columns: &'a [String],
    cells: &'a [Cell<'a>],
}

impl<'a> Row<'a> {
    /// All cells.
    pub fn cells(&self) -> &'a [Cell<'a>] {
        self.cells
    }

    /// The columns' names.
    pub fn columns(&self) -> &'a [String] {
        self.columns
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
    /// Requests known to be served.
    served: u64,
    /// When the last request was sent: its whole answer is waited for at most so long.
    asked: Instant,
    limit: Duration,
    /// Columns of the last query.
    columns: Vec<String>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("seq", &self.seq).finish_non_exhaustive()
    }
}

impl Session {
    /// `limit`: how long the whole answer to a request is waited for.
    pub(crate) fn new(transport: Box<dyn Transport>, limit: Duration) -> Self {
        let (replies, columns, asked) = (Replies::default(), Vec::new(), Instant::now());
        Self { transport, replies, seq: 0, served: 0, asked, limit, columns }
    }

    /// Bounds how long the whole answer to a request may take from now on.
    pub fn limit_time(&mut self, limit: Duration) {
        self.limit = limit;
    }

    fn send(&mut self, request: i32, fill: impl FnOnce(&mut Rpc)) -> Result<(), EngineError> {
        let mut message = Rpc { seq: Some(self.seq), request: Some(request), ..Rpc::default() };
        fill(&mut message);
        self.seq += 1;
        self.asked = Instant::now();
        self.transport.send(rpc::frame(&message))
    }

    fn next_message(&mut self) -> Result<Rpc, EngineError> {
        loop {
            if let Some(message) = self.replies.next_message()? {
                return Ok(message);
            }
            if u64::try_from(self.seq) == Ok(self.served) {
                let detail = format!("request {} has no whole answer", self.seq - 1);
                return Err(EngineError::Incompatible { detail });
            }
            match self.receive()? {
                Reply::Bytes(piece) => self.replies.push(&piece),
                Reply::Served(count) => self.served = count,
            }
        }
    }

    fn receive(&mut self) -> Result<Reply, EngineError> {
        let silent = || EngineError::Silent { seconds: self.limit.as_secs() };
        let rest = self.limit.checked_sub(self.asked.elapsed()).ok_or_else(silent)?;
        match self.transport.receive(rest) {
            Err(EngineError::Silent { .. }) => Err(silent()),
            other => other,
        }
    }

    /// The next message, which must answer `request`.
    fn answer(&mut self, request: i32) -> Result<Rpc, EngineError> {
        let message = self.next_message()?;
        let detail = match (message.response, message.invalid_request) {
            (Some(found), _) if found == request => return Ok(message),
            (_, Some(unknown)) => format!("it does not know request {unknown}"),
            (found, None) => format!("found an answer to {found:?}, expected one to {request}"),
        };
        Err(EngineError::Incompatible { detail })
    }

    /// The engine's version in its own words, if it can tell.
    pub(crate) fn version(&mut self) -> Result<Option<String>, EngineError> {
        self.send(method::GET_STATUS, |_| {})?;
        let message = self.next_message()?;
        Ok(message.status.and_then(|status| status.human_readable_version).filter(|text| !text.is_empty()))
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
        self.answer(method::FINALIZE_TRACE_DATA).map(|_| ())
    }

    fn finish_append(&mut self) -> Result<(), EngineError> {
        let result = self.answer(method::APPEND_TRACE_DATA)?.append_result;
        match result.and_then(|result| result.error).filter(|error| !error.is_empty()) {
            Some(message) => Err(EngineError::Import { message: rpc::words(&message) }),
            None => Ok(()),
        }
    }

    /// Drops every table and view that queries have made.
    pub(crate) fn restore_tables(&mut self) -> Result<(), EngineError> {
        self.send(method::RESTORE_INITIAL_TABLES, |_| {})?;
        self.answer(method::RESTORE_INITIAL_TABLES).map(|_| ())
    }

    /// Names of the last query's columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
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
        self.columns.clear();
        let mut failed = None;
        loop {
            let result = self.answer(method::QUERY_STREAMING)?.query_result.unwrap_or_default();
            if self.columns.is_empty() {
                self.columns.clone_from(&result.column_names);
            }
            let error = result.error.as_ref().filter(|error| !error.is_empty());
            let last = error.is_some() || result.batch.iter().any(|batch| batch.is_last_batch == Some(true));
            // After a failure the rest of the answer is let pass, so that the next query finds its own.
            if failed.is_none() {
                failed = take_result(name, &result, &self.columns, &mut each).err();
            }
            if last {
                return failed.map_or(Ok(()), Err);
            }
        }
    }
}

/// Hands over the rows of one message.
fn take_result<E: From<EngineError>>(
    name: &str,
    result: &QueryResult,
    columns: &[String],
    each: &mut impl FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if let Some(message) = result.error.as_ref().filter(|error| !error.is_empty()) {
        return Err(EngineError::Query { name: name.to_owned(), message: rpc::words(message) }.into());
    }
    let width = columns.len();
    for batch in &result.batch {
        let cells = cells_of(batch).ok_or_else(|| EngineError::Incompatible {
            detail: format!("a batch of the result of {name} announces cells that it does not hold"),
        })?;
        if !cells.is_empty() && (width == 0 || cells.len() % width != 0) {
            let detail = format!("found {} cells in rows of {width} in the result of {name}", cells.len());
            return Err(EngineError::Incompatible { detail }.into());
        }
        for cells in cells.chunks_exact(width.max(1)) {
            each(&Row { query: name, columns, cells })?;
        }
    }
    Ok(())
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
        let row = Row { query: "q", columns: &[], cells: &cells };
        assert_eq!(row.word(0).unwrap(), u64::MAX);
        assert_eq!(row.word(1).unwrap(), 1 << 63);
        assert!(row.word(2).unwrap_err().to_string().contains("expected an integer"));
        assert!(row.word(3).is_err());
    }
}
