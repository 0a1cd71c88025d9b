//! Perfetto's WebAssembly Trace Processor run in this process: one instance, one thread, one bounded memory.
//!
//! Invariants: the engine's store never leaves its thread, which has a stack large enough for the engine's own;
//! replies are copied inside the engine's callback and handed over through a bounded channel, so a slow reader slows
//! the engine instead of filling memory. Dropping the transport makes the engine's next reply its last; one that gave
//! no reply in time is not waited for. Interrupting it (wasmtime's epochs) would make every import a fifth slower.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::{
    Caller, Config, Engine, Func, FuncType, Instance, Linker, Memory, Module, Ref, Store, Val, ValType, bail,
};

use super::error::EngineError;
use super::imports::{self, Host};
use super::transport::{Reply, Transport};

/// What the engine's request buffer holds at most.
const REQUEST_MAX: usize = 32 << 20;
const WASM_STACK: usize = 8 << 20;
const THREAD_STACK: usize = WASM_STACK + (8 << 20);
/// Reply pieces that may wait for the reader.
const PIECES: usize = 16;

/// The compiler and runtime settings every embedded engine shares.
pub(crate) fn wasm_engine() -> Result<Engine, EngineError> {
    let mut config = Config::new();
    config.wasm_memory64(true).async_stack_size(WASM_STACK).max_wasm_stack(WASM_STACK);
    Engine::new(&config).map_err(|error| EngineError::Incompatible { detail: format!("{error:#}") })
}

type Message = Result<Reply, EngineError>;

/// A running instance.
pub(crate) struct Embedded {
    requests: Option<Sender<Vec<u8>>>,
    replies: Option<Receiver<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Starts an instance of `module` that may use `memory_limit` bytes.
    pub(crate) fn start(module: &Module, memory_limit: u64) -> Result<Self, EngineError> {
        let (requests, inbox) = channel();
        let (outbox, replies) = sync_channel(PIECES);
        let module = module.clone();
        let thread = std::thread::Builder::new()
            .name("trace-processor".into())
            .stack_size(THREAD_STACK)
            .spawn(move || serve(&module, memory_limit, &inbox, &outbox))
            .map_err(|error| EngineError::Aborted { detail: format!("its thread did not start: {error}") })?;
        Ok(Self { requests: Some(requests), replies: Some(replies), thread: Some(thread) })
    }
}

fn gone() -> EngineError {
    EngineError::Aborted { detail: "it ended before its reply".into() }
}

impl Transport for Embedded {
    fn send(&mut self, request: Vec<u8>) -> Result<(), EngineError> {
        let Some(requests) = &self.requests else { return Err(gone()) };
        // If the thread is gone, its reason waits among the replies.
        drop(requests.send(request));
        Ok(())
    }

    fn receive(&mut self, limit: Duration) -> Result<Reply, EngineError> {
        let Some(replies) = &self.replies else { return Err(gone()) };
        match replies.recv_timeout(limit) {
            Ok(reply) => reply,
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
            Err(RecvTimeoutError::Timeout) => {
                // Nothing stops the module inside a call: its thread is left behind until the process ends.
                self.thread = None;
                Err(EngineError::Silent { seconds: limit.as_secs() })
            }
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.requests = None;
        self.replies = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn serve(module: &Module, memory_limit: u64, inbox: &Receiver<Vec<u8>>, outbox: &SyncSender<Message>) {
    let mut running = match Running::new(module, memory_limit, outbox.clone()) {
        Ok(running) => running,
        Err(error) => return drop(outbox.send(Err(error))),
    };
    let mut served = 0;
    for request in inbox {
        for piece in request.chunks(REQUEST_MAX) {
            if let Err(error) = running.request(piece) {
                return drop(outbox.send(Err(error)));
            }
        }
        served += 1;
        if outbox.send(Ok(Reply::Served(served))).is_err() {
            return;
        }
    }
}

/// An instance after its start sequence.
struct Running {
    store: Store<Host>,
    memory: Memory,
    on_request: Func,
    buffer: usize,
}

impl Running {
    fn new(module: &Module, memory_limit: u64, outbox: SyncSender<Message>) -> Result<Self, EngineError> {
        let deliver = Box::new(move |reply| outbox.send(Ok(reply)).is_ok());
        let incompatible =
            |error: wasmtime::Error| EngineError::Incompatible { detail: format!("{error:#}") };
        let wide = is_wide(module).map_err(incompatible)?;
        let mut store = Store::new(module.engine(), Host::new(memory_limit, wide, deliver));
        store.limiter(|host| &mut host.limits);
        start(&mut store, module, wide).map_err(incompatible).map(|(memory, on_request, buffer)| Self {
            store,
            memory,
            on_request,
            buffer,
        })
    }

    fn request(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let called =
            self.memory.write(&mut self.store, self.buffer, bytes).map_err(wasmtime::Error::from).and_then(
                |()| self.on_request.call(&mut self.store, &[Val::I32(bytes.len() as i32)], &mut []),
            );
        called.map_err(|error| {
            let (starved, printed) = imports::last_words(&self.store);
            if starved {
                return EngineError::OutOfMemory { limit: self.store.data().memory_limit };
            }
            EngineError::Aborted { detail: format!("{}; it printed: {printed}", error.root_cause()) }
        })
    }
}

/// Whether the module's pointers are 64 bits wide.
fn is_wide(module: &Module) -> wasmtime::Result<bool> {
    let init = module.get_export("trace_processor_rpc_init");
    match init.as_ref().and_then(wasmtime::ExternType::func).and_then(|ty| ty.param(0)) {
        Some(ValType::I32) => Ok(false),
        Some(ValType::I64) => Ok(true),
        _ => bail!("found no export trace_processor_rpc_init(index, size), expected Perfetto's engine"),
    }
}

/// Emscripten's start sequence, then the engine's own: it is given the reply callback and gives its request buffer.
fn start(store: &mut Store<Host>, module: &Module, wide: bool) -> wasmtime::Result<(Memory, Func, usize)> {
    let mut linker = Linker::new(module.engine());
    imports::define(&mut linker, module)?;
    let instance = linker.instantiate(&mut *store, module)?;
    export(&instance, store, "emscripten_stack_init")?.call(&mut *store, &[], &mut [])?;
    export(&instance, store, "__wasm_call_ctors")?.call(&mut *store, &[], &mut [])?;

    let pointer = if wide { ValType::I64 } else { ValType::I32 };
    let callback_type = FuncType::new(module.engine(), [pointer, ValType::I32], []);
    let callback = Func::new(&mut *store, callback_type, |mut caller: Caller<'_, Host>, parameters, _| {
        let piece =
            imports::copy_out(&mut caller, imports::word(parameters, 0)?, imports::word(parameters, 1)?)?;
        if !(caller.data_mut().deliver)(Reply::Bytes(piece)) {
            bail!("nobody listens");
        }
        Ok(())
    });
    let Some(table) = instance.get_table(&mut *store, "__indirect_function_table") else {
        bail!("found no export __indirect_function_table");
    };
    let index = table.grow(&mut *store, 1, Ref::Func(Some(callback)))?;
    let index = if wide { Val::I64(index as i64) } else { Val::I32(index as i32) };
    let mut buffer = [Val::I32(0)];
    let init = export(&instance, store, "trace_processor_rpc_init")?;
    init.call(&mut *store, &[index, Val::I32(REQUEST_MAX as i32)], &mut buffer)?;
    let buffer = usize::try_from(imports::word(&buffer, 0)?)?;
    let Some(memory) = instance.get_memory(&mut *store, "memory") else { bail!("found no export memory") };
    let on_request = export(&instance, store, "trace_processor_on_rpc_request")?;
    Ok((memory, on_request, buffer))
}

fn export(instance: &Instance, store: &mut Store<Host>, name: &str) -> wasmtime::Result<Func> {
    match instance.get_func(store, name) {
        Some(function) => Ok(function),
        None => bail!("found no export {name}"),
    }
}
