//! The host side of the embedded engine's imports: no files, no clock, no environment, a bounded heap.
//!
//! Invariants: the engine sees the same world on every host, so it gives the same answers; every pointer it passes is
//! checked against its memory. Calls that must not return trap; all others that are not implemented give an error
//! number. Deliberately knows nothing of the messages exchanged.

use wasmtime::{
    AsContext, Caller, Error, ExternType, FuncType, Linker, Memory, Module, Result, Store, StoreLimits,
    StoreLimitsBuilder, Val, ValType, bail,
};

use super::transport::Reply;
use crate::printable::printable;

const PAGE: u64 = 65_536;
/// `ENOSYS` in the engine's C library.
const ENOSYS: i32 = 52;
/// Longest tail of printed output that is kept for messages.
const PRINTED: usize = 4096;

/// What host functions can reach.
pub(crate) struct Host {
    /// Enforced on every growth of the engine's memory.
    pub(crate) limits: StoreLimits,
    /// Largest memory the engine may have, in bytes.
    pub(crate) memory_limit: u64,
    /// Set once a growth was refused.
    pub(crate) starved: bool,
    /// The last the engine printed.
    pub(crate) printed: Vec<u8>,
    /// Whether pointers are 64 bits wide.
    pub(crate) wide: bool,
    /// Takes copies of the reply stream; `false` means nobody listens any more.
    pub(crate) deliver: Box<dyn FnMut(Reply) -> bool + Send>,
    ticks: u32,
}

impl Host {
    pub(crate) fn new(memory_limit: u64, wide: bool, deliver: Box<dyn FnMut(Reply) -> bool + Send>) -> Self {
        let bytes = usize::try_from(memory_limit).unwrap_or(usize::MAX);
        let limits = StoreLimitsBuilder::new().memory_size(bytes).memories(1).instances(1).build();
        Self { limits, memory_limit, starved: false, printed: Vec::new(), wide, deliver, ticks: 0 }
    }

    fn print(&mut self, text: &[u8]) {
        self.printed.extend_from_slice(text);
        let excess = self.printed.len().saturating_sub(PRINTED);
        self.printed.drain(..excess);
    }
}

type Call<'a> = Caller<'a, Host>;
type Handler = fn(&mut Call<'_>, &[Val], &mut [Val]) -> Result<()>;

/// Gives every import of `module` a host function.
pub(crate) fn define(linker: &mut Linker<Host>, module: &Module) -> Result<()> {
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty() else {
            bail!("import {}.{} is no function", import.module(), import.name());
        };
        let handler = implemented(import.name());
        let errno = if import.module() == "wasi_snapshot_preview1" { ENOSYS } else { -ENOSYS };
        let results = ty.clone();
        linker.func_new(
            import.module(),
            import.name(),
            ty,
            move |mut caller, parameters, out| match handler {
                Some(handler) => handler(&mut caller, parameters, out),
                None => refuse(&results, errno, out),
            },
        )?;
    }
    Ok(())
}

fn implemented(name: &str) -> Option<Handler> {
    Some(match name {
        "_abort_js" => |_, _, _| bail!("abort"),
        "__assert_fail" => assert_fail,
        "emscripten_get_now" => ticks,
        "emscripten_date_now" => |_, _, out| set(out, Val::F64(0)),
        "emscripten_resize_heap" => resize_heap,
        "emscripten_get_heap_max" => heap_max,
        "environ_sizes_get" => environ_sizes_get,
        "environ_get" => |_, _, out| set(out, Val::I32(0)),
        "fd_write" => fd_write,
        "emscripten_err" => print_line,
        "_tzset_js" => tzset,
        "_localtime_js" | "_gmtime_js" => broken_down_time,
        _ => return None,
    })
}

/// What an import that is never needed answers: an error number, or zero where the type has none.
fn refuse(ty: &FuncType, errno: i32, out: &mut [Val]) -> Result<()> {
    for (slot, result) in out.iter_mut().zip(ty.results()) {
        *slot = match result {
            ValType::I32 => Val::I32(errno),
            ValType::I64 => Val::I64(errno.into()),
            ValType::F64 => Val::F64(0),
            other => bail!("import with a result of type {other}"),
        };
    }
    Ok(())
}

fn set(out: &mut [Val], value: Val) -> Result<()> {
    match out.first_mut() {
        Some(slot) => *slot = value,
        None => bail!("import without the expected result"),
    }
    Ok(())
}

/// A parameter that is a pointer or a size.
pub(crate) fn word(parameters: &[Val], index: usize) -> Result<u64> {
    match parameters.get(index) {
        Some(Val::I32(value)) => Ok(u64::from(*value as u32)),
        Some(Val::I64(value)) => Ok(*value as u64),
        _ => bail!("import without integer parameter {index}"),
    }
}

fn memory(caller: &mut Call<'_>) -> Result<Memory> {
    let memory = caller.get_export("memory").and_then(wasmtime::Extern::into_memory);
    memory.ok_or_else(|| Error::msg("the engine has no memory"))
}

/// A copy of `length` bytes at `pointer`.
pub(crate) fn copy_out(caller: &mut Call<'_>, pointer: u64, length: u64) -> Result<Vec<u8>> {
    let memory = memory(caller)?;
    let data = memory.data(caller.as_context());
    let range = usize::try_from(pointer)
        .ok()
        .zip(pointer.checked_add(length).and_then(|end| usize::try_from(end).ok()))
        .and_then(|(start, end)| data.get(start..end));
    range.map(<[u8]>::to_vec).ok_or_else(|| Error::msg("pointer outside the engine's memory"))
}

fn copy_in(caller: &mut Call<'_>, pointer: u64, bytes: &[u8]) -> Result<()> {
    let memory = memory(caller)?;
    Ok(memory.write(caller, usize::try_from(pointer)?, bytes)?)
}

fn put_word(caller: &mut Call<'_>, pointer: u64, value: u64) -> Result<()> {
    let bytes = value.to_le_bytes();
    let width = if caller.data().wide { 8 } else { 4 };
    copy_in(caller, pointer, &bytes[..width])
}

fn c_string(caller: &mut Call<'_>, pointer: u64) -> Result<String> {
    let mut text = Vec::new();
    for offset in 0..PRINTED as u64 {
        match copy_out(caller, pointer.saturating_add(offset), 1)?[0] {
            0 => break,
            byte => text.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn assert_fail(caller: &mut Call<'_>, parameters: &[Val], _: &mut [Val]) -> Result<()> {
    let condition = c_string(caller, word(parameters, 0)?)?;
    let file = c_string(caller, word(parameters, 1)?)?;
    bail!("assertion {condition} failed in {file}:{}", word(parameters, 2)?)
}

/// Milliseconds that pass one at a time with every question: real time would make answers differ.
fn ticks(caller: &mut Call<'_>, _: &[Val], out: &mut [Val]) -> Result<()> {
    let host = caller.data_mut();
    host.ticks = host.ticks.wrapping_add(1);
    set(out, Val::F64(f64::from(host.ticks).to_bits()))
}

fn resize_heap(caller: &mut Call<'_>, parameters: &[Val], out: &mut [Val]) -> Result<()> {
    let requested = word(parameters, 0)?;
    let memory = memory(caller)?;
    let have = memory.size(caller.as_context());
    let limit = caller.data().memory_limit / PAGE;
    let needed = requested.div_ceil(PAGE);
    // A little more than asked for: the allocator comes back for every block otherwise.
    let generous = (needed + needed / 16).min(limit).max(needed);
    let grown = needed <= have || memory.grow(&mut *caller, generous - have).is_ok();
    caller.data_mut().starved |= !grown;
    set(out, Val::I32(grown.into()))
}

fn heap_max(caller: &mut Call<'_>, _: &[Val], out: &mut [Val]) -> Result<()> {
    let limit = caller.data().memory_limit;
    let value = if caller.data().wide {
        Val::I64(i64::try_from(limit)?)
    } else {
        Val::I32(u32::try_from(limit).unwrap_or(u32::MAX - 65_535) as i32)
    };
    set(out, value)
}

fn environ_sizes_get(caller: &mut Call<'_>, parameters: &[Val], out: &mut [Val]) -> Result<()> {
    put_word(caller, word(parameters, 0)?, 0)?;
    put_word(caller, word(parameters, 1)?, 0)?;
    set(out, Val::I32(0))
}

fn fd_write(caller: &mut Call<'_>, parameters: &[Val], out: &mut [Val]) -> Result<()> {
    let (vectors, count) = (word(parameters, 1)?, word(parameters, 2)?);
    let width: u64 = if caller.data().wide { 8 } else { 4 };
    let mut written = 0;
    for index in 0..count.min(1024) {
        let entry = copy_out(caller, vectors + index * 2 * width, 2 * width)?;
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |value: u64, byte| value << 8 | u64::from(*byte));
        let (pointer, length) = (number(&entry[..width as usize]), number(&entry[width as usize..]));
        let text = copy_out(caller, pointer, length)?;
        written += length;
        caller.data_mut().print(&text);
    }
    put_word(caller, word(parameters, 3)?, written)?;
    set(out, Val::I32(0))
}

fn print_line(caller: &mut Call<'_>, parameters: &[Val], _: &mut [Val]) -> Result<()> {
    let line = c_string(caller, word(parameters, 0)?)?;
    caller.data_mut().print(line.as_bytes());
    caller.data_mut().print(b"\n");
    Ok(())
}

/// The engine's time zone is UTC everywhere.
fn tzset(caller: &mut Call<'_>, parameters: &[Val], _: &mut [Val]) -> Result<()> {
    put_word(caller, word(parameters, 0)?, 0)?;
    copy_in(caller, word(parameters, 1)?, &[0; 4])?;
    for name in [2, 3] {
        copy_in(caller, word(parameters, name)?, b"UTC\0")?;
    }
    Ok(())
}

/// Fills a C `struct tm` (nine ints and the offset from UTC) for a count of seconds since 1970.
fn broken_down_time(caller: &mut Call<'_>, parameters: &[Val], _: &mut [Val]) -> Result<()> {
    let seconds = word(parameters, 0)? as i64;
    let fields = utc_fields(seconds);
    let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
    let pointer = word(parameters, 1)?;
    copy_in(caller, pointer, &bytes)
}

/// second, minute, hour, day of month, month from 0, year since 1900, day of week from Sunday, day of year, no
/// daylight saving. The calendar arithmetic counts eras of 400 years from 1 March of year 0.
fn utc_fields(seconds: i64) -> [i32; 9] {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let from_march = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * from_march + 2) / 153;
    let day = from_march - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12;
    let year = era * 400 + year_of_era + i64::from(month < 2);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let of_year = if month < 2 { from_march - 306 } else { from_march + 59 + i64::from(leap) };
    let weekday = (days + 4).rem_euclid(7);
    [second % 60, second / 60 % 60, second / 3600, day, month, year - 1900, weekday, of_year, 0]
        .map(|field| field as i32)
}

/// Whether an error left the engine short of memory, and what it printed last.
pub(crate) fn last_words(store: &Store<Host>) -> (bool, String) {
    let host = store.data();
    let printed = String::from_utf8_lossy(&host.printed).trim().replace('\n', " | ");
    (host.starved, printable(&printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_fields_of_known_instants() {
        assert_eq!(utc_fields(0), [0, 0, 0, 1, 0, 70, 4, 0, 0]);
        // 29 February 2000, 23:59:59, a Tuesday.
        assert_eq!(utc_fields(951_868_799), [59, 59, 23, 29, 1, 100, 2, 59, 0]);
        // 31 December 2001, a Monday.
        assert_eq!(utc_fields(1_009_756_800), [0, 0, 0, 31, 11, 101, 1, 364, 0]);
        // 31 December 1969.
        assert_eq!(utc_fields(-1), [59, 59, 23, 31, 11, 69, 3, 364, 0]);
    }
}
