//! Merged rows as Parquet, for engines that query the logs of many runs in place.
//!
//! Rows keep the exact order: row groups follow each other in time, and so do files where the rows are
//! partitioned by time. Numbers without sign are unsigned 64-bit columns. The exact time is two columns of
//! decimal(38, 0); where some clock's numbers do not fit that, two columns of text, decided by the clocks
//! alone. A gap is a row, as in CSV. Invariants: one row group is held in memory, a bounded share of what is
//! given; the bytes follow from the rows.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clockweave_model::{ClockDomain, Seconds as Span};
use num_bigint::BigUint;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};

use crate::logs::Catalog;
use crate::progress::Progress;
use crate::run::Run;

use super::rows::{Row, RowWriter};
use super::timeline::Seconds;
use super::{MergeError, MergeOptions, MergeReport, merge_rows};

/// Most rows of a row group.
const GROUP: u64 = 1 << 17;
/// Bytes that a row takes in memory until its group is written, roughly.
const ROW_BYTES: u64 = 256;

/// Where the rows go.
pub enum ParquetPlace<'a> {
    /// Into one file.
    File(&'a mut (dyn Write + Send)),
    /// Into a file for each period of exact time, in an empty folder. The file `part-N.parquet`, N with leading zeros, holds the times from
    /// `N * period` up to and without `(N + 1) * period`.
    Folder {
        /// The folder.
        path: PathBuf,
        /// The period, above zero.
        period: Span,
    },
}

type Out<'a> = Box<dyn Write + Send + 'a>;

fn write_error(error: ParquetError) -> MergeError {
    MergeError::Write(match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    })
}

/// The schema; `exact` is the type of the two columns of exact time.
fn schema(exact: [&str; 2]) -> TypePtr {
    let [kind, meaning] = exact;
    let text = format!(
        "message merged {{
           required byte_array run (STRING);
           required {kind} time_num ({meaning});
           required {kind} time_den ({meaning});
           required int64 ts;
           required int32 domain_id (INTEGER(32,false));
           required byte_array unit (STRING);
           required int64 local_cycle (INTEGER(64,false));
           required byte_array event (STRING);
           required int32 phase (INTEGER(8,false));
           required int64 transaction_id (INTEGER(64,false));
           required int64 fifo_id (INTEGER(64,false));
           required int64 value (INTEGER(64,false));
           required int64 ordinal (INTEGER(64,false));
         }}"
    );
    Arc::new(parse_message_type(&text).expect("the schema is well formed"))
}

fn properties() -> WriterPropertiesPtr {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("clockweave ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY);
    // These rise slowly; most others repeat.
    for rising in ["ts", "local_cycle", "ordinal"] {
        let path = ColumnPath::from(rising);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Arc::new(properties.build())
}

/// The parts of exact times.
enum Exact {
    Decimal([Vec<FixedLenByteArray>; 2]),
    Text([Vec<ByteArray>; 2]),
}

/// The columns of the row group that is being filled.
struct Group {
    run: Vec<ByteArray>,
    exact: Exact,
    ts: Vec<i64>,
    domain_id: Vec<i32>,
    unit: Vec<ByteArray>,
    cycle: Vec<i64>,
    event: Vec<ByteArray>,
    phase: Vec<i32>,
    /// Transaction, FIFO, value, ordinal.
    rest: [Vec<i64>; 4],
}

/// Writes the next column of `group`.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Out<'_>>,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has a column for each of ours");
    column.typed::<T>().write_batch(values, None, None)?;
    values.clear();
    column.close()
}

impl Group {
    fn new(decimal: bool) -> Self {
        let exact =
            if decimal { Exact::Decimal(Default::default()) } else { Exact::Text(Default::default()) };
        Self {
            run: Vec::new(),
            exact,
            ts: Vec::new(),
            domain_id: Vec::new(),
            unit: Vec::new(),
            cycle: Vec::new(),
            event: Vec::new(),
            phase: Vec::new(),
            rest: Default::default(),
        }
    }

    fn write(&mut self, file: &mut SerializedFileWriter<Out<'_>>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        column::<ByteArrayType>(&mut group, &mut self.run)?;
        match &mut self.exact {
            Exact::Decimal(parts) => {
                for part in parts {
                    column::<FixedLenByteArrayType>(&mut group, part)?;
                }
            }
            Exact::Text(parts) => {
                for part in parts {
                    column::<ByteArrayType>(&mut group, part)?;
                }
            }
        }
        column::<Int64Type>(&mut group, &mut self.ts)?;
        column::<Int32Type>(&mut group, &mut self.domain_id)?;
        column::<ByteArrayType>(&mut group, &mut self.unit)?;
        column::<Int64Type>(&mut group, &mut self.cycle)?;
        column::<ByteArrayType>(&mut group, &mut self.event)?;
        column::<Int32Type>(&mut group, &mut self.phase)?;
        for values in &mut self.rest {
            column::<Int64Type>(&mut group, values)?;
        }
        group.close().map(drop)
    }
}

/// The bytes of an unsigned 64-bit number, which the column's type says is one.
fn unsigned(value: u64) -> i64 {
    value.cast_signed()
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<ByteArray> {
    names.map(ByteArray::from).collect()
}

/// Names of one run as values of columns, which are shared by their rows.
struct Names {
    run: ByteArray,
    units: Vec<ByteArray>,
    events: Vec<ByteArray>,
}

/// The period of time whose file is being written.
struct Part {
    /// What the name of its file has.
    index: BigUint,
    /// Rows of earlier ns than this belong to it, those of its end perhaps.
    calm_until: u64,
}

struct Writer<'a> {
    /// The one file, until it is begun.
    out: Option<Out<'a>>,
    /// Folder and period of partitions.
    folder: Option<(PathBuf, Span)>,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    names: Vec<Names>,
    gap: ByteArray,
    group: Group,
    rows: usize,
    limit: usize,
    part: Option<Part>,
    file: Option<SerializedFileWriter<Out<'a>>>,
    /// What was made of the time columns of the edge before.
    stamp: Vec<u8>,
    exact: [ByteArray; 2],
}

impl<'a> Writer<'a> {
    fn new(place: ParquetPlace<'a>, memory: u64) -> Self {
        let limit = (memory / 4 / ROW_BYTES).clamp(1024, GROUP);
        let (out, folder): (Option<Out<'a>>, _) = match place {
            ParquetPlace::File(out) => (Some(Box::new(out)), None),
            ParquetPlace::Folder { path, period } => (None, Some((path, period))),
        };
        Self {
            out,
            folder,
            schema: schema(["byte_array", "STRING"]),
            properties: properties(),
            names: Vec::new(),
            gap: ByteArray::from(super::rows::GAP_EVENT),
            group: Group::new(false),
            rows: 0,
            limit: usize::try_from(limit).expect("at most 2^17"),
            part: None,
            file: None,
            stamp: Vec::new(),
            exact: Default::default(),
        }
    }

    /// Ends the open file, if there is one.
    fn end_file(&mut self) -> Result<(), MergeError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        if self.rows > 0 {
            self.rows = 0;
            self.group.write(&mut file).map_err(write_error)?;
        }
        file.close().map_err(write_error)?;
        Ok(())
    }

    fn begin_file(&mut self, out: Out<'a>) -> Result<(), MergeError> {
        let file = SerializedFileWriter::new(out, self.schema.clone(), self.properties.clone());
        self.file = Some(file.map_err(write_error)?);
        Ok(())
    }

    /// Goes on to the file that `row` belongs into.
    fn turn_to(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        let Some((path, period)) = &self.folder else { return Ok(()) };
        let calm = self.part.as_ref().map_or(0, |part| part.calm_until);
        if row.ts.unsigned_abs() < calm {
            return Ok(());
        }
        let (num, den) = row.time();
        let big = |text: &str| text.parse::<BigUint>().expect("the parts of a time are decimals");
        let period = period.ratio();
        let index = big(num) * *period.denom() / (big(den) * *period.numer());
        if self.part.as_ref().is_some_and(|part| part.index == index) {
            return Ok(());
        }
        // A row whose ns is below the ns of the end is before the end.
        let end_ns = (&index + 1u32) * *period.numer() * 1_000_000_000u32 / *period.denom();
        let part = Part { calm_until: u64::try_from(&end_ns).unwrap_or(u64::MAX), index };
        let file = File::create_new(path.join(format!("part-{:010}.parquet", part.index)));
        self.end_file()?;
        self.part = Some(part);
        self.begin_file(Box::new(Synced(file.map_err(MergeError::Write)?)))
    }

    /// Makes the time columns of `row`, unless the row before had the same.
    fn stamp(&mut self, row: &Row<'_>) {
        if self.stamp == row.stamp {
            return;
        }
        self.stamp.clear();
        self.stamp.extend_from_slice(row.stamp);
        let (num, den) = row.time();
        self.exact = match &self.group.exact {
            Exact::Text(_) => [num, den].map(ByteArray::from),
            Exact::Decimal(_) => [num, den].map(|text| {
                let value: i128 = text.parse().expect("these clocks' numbers have at most 38 digits");
                ByteArray::from(value.to_be_bytes().to_vec())
            }),
        };
    }
}

/// A file that is on the disk when it was flushed for the last time.
struct Synced(File);

impl Write for Synced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}

/// Whether every time of the domain has at most 38 digits above and below.
fn fits_decimal(domain: &ClockDomain) -> bool {
    matches!(Seconds::new(domain), Seconds::Narrow { .. })
}

impl RowWriter for Writer<'_> {
    fn begin(&mut self, runs: &[&Catalog], _holes: bool) -> Result<(), MergeError> {
        let decimal = runs.iter().flat_map(|run| run.domains()).all(fits_decimal);
        if decimal {
            self.schema = schema(["fixed_len_byte_array(16)", "DECIMAL(38,0)"]);
        }
        self.group = Group::new(decimal);
        self.names = runs
            .iter()
            .map(|run| Names {
                run: ByteArray::from(run.run_id()),
                units: names(run.units().iter().map(|unit| unit.name.as_str())),
                events: names(run.event_names().iter().map(String::as_str)),
            })
            .collect();
        self.out.take().map_or(Ok(()), |out| self.begin_file(out))
    }

    fn push(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        self.turn_to(row)?;
        self.stamp(row);
        let (names, fields) = (&self.names[row.run], &row.entry.fields);
        let group = &mut self.group;
        group.run.push(names.run.clone());
        for (at, part) in self.exact.iter().enumerate() {
            match &mut group.exact {
                Exact::Decimal(parts) => parts[at].push(part.clone().into()),
                Exact::Text(parts) => parts[at].push(part.clone()),
            }
        }
        group.ts.push(row.ts);
        group.domain_id.push(row.catalog.domains()[row.domain as usize].id().cast_signed());
        group.unit.push(names.units[row.entry.unit as usize].clone());
        group.cycle.push(unsigned(fields.cycle));
        group.event.push(names.events.get(row.entry.event as usize).unwrap_or(&self.gap).clone());
        group.phase.push(fields.phase.into());
        let rest = [fields.transaction, fields.fifo, row.value(), fields.ordinal];
        for (values, value) in group.rest.iter_mut().zip(rest) {
            values.push(unsigned(value));
        }
        self.rows += 1;
        if self.rows == self.limit {
            self.rows = 0;
            let file = self.file.as_mut().expect("a row has a file");
            group.write(file).map_err(write_error)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        self.end_file()
    }
}

/// Merges the logs of `runs` into Parquet at `place`.
///
/// # Errors
/// As [`super::merge`].
pub fn merge_parquet(
    runs: &[Run],
    options: &MergeOptions,
    place: ParquetPlace<'_>,
    progress: &mut dyn Progress,
) -> Result<MergeReport, MergeError> {
    merge_rows(runs, options, &mut Writer::new(place, options.memory), progress)
}
