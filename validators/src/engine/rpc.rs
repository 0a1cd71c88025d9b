//! Perfetto's `TraceProcessorRpcStream`: the messages we use, and cutting a reply stream into them.
//!
//! Field numbers are those of Perfetto's `trace_processor.proto`. Deliberately holds only what is sent or read here.

use prost::Message;

use super::error::EngineError;
use crate::printable::printable;
use crate::scan;

/// `TraceProcessorRpc.TraceProcessorMethod`
pub(crate) mod method {
    pub(crate) const APPEND_TRACE_DATA: i32 = 1;
    pub(crate) const FINALIZE_TRACE_DATA: i32 = 2;
    pub(crate) const QUERY_STREAMING: i32 = 3;
    pub(crate) const RESTORE_INITIAL_TABLES: i32 = 7;
    pub(crate) const GET_STATUS: i32 = 10;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Rpc {
    #[prost(int64, optional, tag = "1")]
    pub(crate) seq: Option<i64>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) request: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) response: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(crate) invalid_request: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "5")]
    pub(crate) fatal_error: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "101")]
    pub(crate) append_trace_data: Option<Vec<u8>>,
    #[prost(message, optional, tag = "103")]
    pub(crate) query_args: Option<QueryArgs>,
    #[prost(message, optional, tag = "201")]
    pub(crate) append_result: Option<AppendResult>,
    #[prost(message, optional, tag = "203")]
    pub(crate) query_result: Option<QueryResult>,
    #[prost(message, optional, tag = "210")]
    pub(crate) status: Option<StatusResult>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct QueryArgs {
    #[prost(string, optional, tag = "1")]
    pub(crate) sql_query: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AppendResult {
    /// Text that may quote any bytes of the trace.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) error: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatusResult {
    #[prost(string, optional, tag = "2")]
    pub(crate) human_readable_version: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct QueryResult {
    #[prost(string, repeated, tag = "1")]
    pub(crate) column_names: Vec<String>,
    /// Text that may quote any bytes of the trace.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) error: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) batch: Vec<CellsBatch>,
}

/// `QueryResult.CellsBatch.CellType`
pub(crate) mod cell {
    pub(crate) const NULL: i32 = 1;
    pub(crate) const VARINT: i32 = 2;
    pub(crate) const FLOAT64: i32 = 3;
    pub(crate) const STRING: i32 = 4;
    pub(crate) const BLOB: i32 = 5;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CellsBatch {
    #[prost(int32, repeated, tag = "1")]
    pub(crate) cells: Vec<i32>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) varint_cells: Vec<i64>,
    #[prost(double, repeated, tag = "3")]
    pub(crate) float64_cells: Vec<f64>,
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub(crate) blob_cells: Vec<Vec<u8>>,
    /// Zero-terminated strings, one after another; traces may put any bytes into them.
    #[prost(bytes = "vec", optional, tag = "5")]
    pub(crate) string_cells: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "6")]
    pub(crate) is_last_batch: Option<bool>,
}

/// A message as it goes over the pipe: field 1 of the stream.
pub(crate) fn frame(message: &Rpc) -> Vec<u8> {
    let length = message.encoded_len();
    let mut out = Vec::with_capacity(length + 11);
    out.push(scan::PACKET_TAG);
    prost::encoding::encode_varint(length as u64, &mut out);
    message.encode_raw(&mut out);
    out
}

/// An error text of the engine, made safe to show.
pub(crate) fn words(text: &[u8]) -> String {
    printable(&String::from_utf8_lossy(text))
}

/// Cuts the pieces of a reply stream into messages and checks that none is missing.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    pending: Vec<u8>,
    consumed: usize,
    next_seq: i64,
}

impl Replies {
    /// Takes in a piece of the stream.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.pending.drain(..self.consumed);
        self.consumed = 0;
        self.pending.extend_from_slice(piece);
    }

    /// The next whole message, if it is there.
    pub(crate) fn next_message(&mut self) -> Result<Option<Rpc>, EngineError> {
        let odd = |detail: String| EngineError::Incompatible { detail };
        let mut entries = scan::Entries::new(&self.pending[self.consumed..]);
        let entry = match entries.next() {
            None => return Ok(None),
            Some(Ok(entry)) => entry,
            Some(Err(error)) => {
                return match error.fault {
                    scan::EntryFault::TornHeader | scan::EntryFault::TornPayload { .. } => Ok(None),
                    fault => Err(odd(format!("in its reply stream {fault}"))),
                };
            }
        };
        let message =
            Rpc::decode(entry.payload).map_err(|error| odd(format!("in its reply stream {error}")))?;
        self.consumed += entry.total_len() as usize;
        if let Some(fatal) = message.fatal_error {
            return Err(EngineError::Aborted { detail: words(&fatal) });
        }
        if message.seq != Some(self.next_seq) {
            return Err(odd(format!("found reply {:?}, expected reply {}", message.seq, self.next_seq)));
        }
        self.next_seq += 1;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_of_any_pieces_and_a_lost_one_is_noticed() {
        let message = |seq| Rpc { seq: Some(seq), response: Some(method::QUERY_STREAMING), ..Rpc::default() };
        let stream = [frame(&message(0)), frame(&message(1)), frame(&message(2))].concat();
        for size in 1..stream.len() {
            let mut replies = Replies::default();
            let mut seen = Vec::new();
            for piece in stream.chunks(size) {
                replies.push(piece);
                while let Some(message) = replies.next_message().unwrap() {
                    seen.push(message.seq);
                }
            }
            assert_eq!(seen, [Some(0), Some(1), Some(2)], "pieces of {size}");
        }
        let mut replies = Replies::default();
        replies.push(&frame(&message(1)));
        assert!(replies.next_message().unwrap_err().to_string().contains("expected reply 0"));
    }

    #[test]
    fn a_frame_is_field_one_of_the_stream() {
        let message = Rpc { seq: Some(5), request: Some(2), ..Rpc::default() };
        assert_eq!(frame(&message), [0x0a, 0x04, 0x08, 0x05, 0x10, 0x02]);
    }
}
