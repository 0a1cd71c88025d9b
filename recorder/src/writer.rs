//! The thread that compresses and writes.
//!
//! # Invariants
//!
//! * Whole blocks cross a bounded channel; their buffers come back to be filled again, so the
//!   number of buffers does not grow with the run.
//! * The first failure is kept and nothing is written after it; blocks are still received and
//!   dropped, so that no producer ever waits for a thread that has given up.
//! * A file never keeps part of a block: after a failed write it is cut back to the last whole one.
//! * Host time decides when producers are asked to flush, and nothing about what is written.
//!
//! What a block contains is not known here, except that a compressed one becomes one packet.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::directory;
use crate::error::RecordError;
use crate::pftrace::{Hint, Wrapper};

/// Blocks waiting for the thread.
const QUEUED: usize = 2;
/// Files kept open; with more, each write opens its file anew.
const MAX_OPEN: usize = 128;

/// A buffer of fixed size and how much of it is filled.
pub(crate) struct Block {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) len: usize,
    /// Where packets repeat earlier ones, for compressors that can use it.
    pub(crate) hints: Vec<Hint>,
}

impl Block {
    pub(crate) fn new(size: usize, hints: usize) -> Self {
        Self { bytes: vec![0; size].into_boxed_slice(), len: 0, hints: Vec::with_capacity(hints) }
    }

    /// Whether hints cover most of it.
    pub(crate) fn is_hinted(&self) -> bool {
        self.hints.first().is_some_and(|first| (first.start as usize) < self.len / 2)
    }

    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// How a block goes into its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Plain,
    /// Compressed, as one packet.
    Wrapped,
    /// As it is, until the next block takes its place.
    Provisional,
}

/// One of the files, by order of creation.
#[derive(Clone, Copy)]
pub(crate) struct FileId(usize);

enum Job {
    Write {
        file: FileId,
        form: Form,
        block: Block,
        from: usize,
    },
    /// Ends a file; what follows goes into a new one of this name.
    Next {
        file: FileId,
        name: String,
    },
    /// Answered when everything before was written.
    Flush(SyncSender<()>),
}

/// What the thread wants producers to notice, in one word: they look at it after every instant.
#[derive(Default)]
struct Signals {
    attention: AtomicU8,
    failure: Mutex<Option<RecordError>>,
}

/// There was a failure.
const FAILED: u8 = 1;
/// What is encoded should reach the files.
const FLUSH_DUE: u8 = 2;

impl Signals {
    fn get(&self) -> Option<RecordError> {
        // Acquire pairs with the Release in `keep`: whoever sees the flag sees the error.
        if self.attention.load(Ordering::Acquire) & FAILED == 0 {
            return None;
        }
        self.failure.lock().map_or(Some(RecordError::WriterLost), |first| first.clone())
    }

    fn keep(&self, error: RecordError) {
        if let Ok(mut first) = self.failure.lock() {
            first.get_or_insert(error);
        }
        self.attention.fetch_or(FAILED, Ordering::Release);
    }
}

/// What the thread reports when it ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    /// Bytes of the files that were followed by others, in order.
    pub(crate) ended: Vec<u64>,
    /// Bytes of the last file of each id.
    pub(crate) last: Vec<u64>,
    pub(crate) first_output_ns: u64,
}

/// Files to be written, before the thread starts.
pub(crate) struct WriterSetup {
    dir: PathBuf,
    files: Vec<OutputFile>,
    wrapper: Option<Wrapper>,
    spares: Vec<Sender<Block>>,
    sender: SyncSender<Job>,
    receiver: Receiver<Job>,
    signals: Arc<Signals>,
    opened: Instant,
    interval: Option<Duration>,
}

/// The running thread.
pub(crate) struct Writer {
    sender: SyncSender<Job>,
    thread: JoinHandle<Written>,
    signals: Arc<Signals>,
}

/// One encoder's way to the thread.
pub(crate) struct Outlet {
    sender: SyncSender<Job>,
    spare: Receiver<Block>,
    from: usize,
    size: usize,
    hints: usize,
    allocated: usize,
    stalls: u64,
    stall_ns: u64,
    signals: Arc<Signals>,
}

struct OutputFile {
    path: PathBuf,
    file: Option<File>,
    /// Whole blocks written.
    committed: u64,
    /// A provisional tail lies beyond `committed`.
    tail: bool,
}

impl WriterSetup {
    pub(crate) fn new(dir: &Path, wrapper: Option<Wrapper>, opened: Instant) -> Self {
        let (sender, receiver) = sync_channel(QUEUED);
        Self {
            dir: dir.to_owned(),
            files: Vec::new(),
            wrapper,
            spares: Vec::new(),
            sender,
            receiver,
            signals: Arc::default(),
            opened,
            interval: None,
        }
    }

    /// Asks producers for a flush after every `interval`.
    pub(crate) fn flush_every(&mut self, interval: Option<Duration>) {
        self.interval = interval;
    }

    /// Creates a file.
    pub(crate) fn create(&mut self, name: impl AsRef<Path>) -> Result<FileId, RecordError> {
        let (file, path) = directory::create(&self.dir, name)?;
        let file = (self.files.len() < MAX_OPEN).then_some(file);
        self.files.push(OutputFile { path, file, committed: 0, tail: false });
        Ok(FileId(self.files.len() - 1))
    }

    /// A way for one encoder, whose blocks have `size` bytes and at most `hints` hints.
    pub(crate) fn outlet(&mut self, size: usize, hints: usize) -> Outlet {
        let (give, spare) = channel();
        self.spares.push(give);
        Outlet {
            sender: self.sender.clone(),
            spare,
            from: self.spares.len() - 1,
            size,
            hints,
            allocated: 0,
            stalls: 0,
            stall_ns: 0,
            signals: Arc::clone(&self.signals),
        }
    }

    /// Starts the thread.
    pub(crate) fn start(self) -> Result<Writer, RecordError> {
        let Self { dir, files, wrapper, spares, sender, receiver, signals, opened, interval } = self;
        let mut backend = Backend {
            dir: dir.clone(),
            files,
            wrapper,
            spares,
            signals: Arc::clone(&signals),
            opened,
            interval,
            written: Written::default(),
        };
        let thread = std::thread::Builder::new()
            .name("clockweave-writer".to_owned())
            .spawn(move || {
                backend.serve(&receiver);
                backend.written
            })
            .map_err(|e| RecordError::io("starting the writing thread for", &dir, e))?;
        Ok(Writer { sender, thread, signals })
    }
}

impl Writer {
    /// Waits until everything handed over was written.
    pub(crate) fn flush(&self) -> Result<(), RecordError> {
        let (done, wait) = sync_channel(1);
        if self.sender.send(Job::Flush(done)).is_err() || wait.recv().is_err() {
            return Err(RecordError::WriterLost);
        }
        self.check()
    }

    /// Whether there is something to [`Writer::attend`] to.
    #[inline]
    pub(crate) fn wants_attention(&self) -> bool {
        self.signals.attention.load(Ordering::Relaxed) != 0
    }

    /// Whether a flush is due, which it then no longer is.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn attend(&self) -> Result<bool, RecordError> {
        self.check()?;
        let before = self.signals.attention.fetch_and(!FLUSH_DUE, Ordering::Relaxed);
        Ok(before & FLUSH_DUE != 0)
    }

    /// The first failure.
    pub(crate) fn check(&self) -> Result<(), RecordError> {
        self.signals.get().map_or(Ok(()), Err)
    }

    /// Ends the thread; every [`Outlet`] must be gone.
    pub(crate) fn join(self) -> Result<Written, RecordError> {
        drop(self.sender);
        let written = self.thread.join().map_err(|_| RecordError::WriterLost)?;
        self.signals.get().map_or(Ok(written), Err)
    }
}

impl Outlet {
    /// An empty block: one that came back, or a new one.
    pub(crate) fn block(&mut self) -> Block {
        if let Ok(mut block) = self.spare.try_recv() {
            block.len = 0;
            block.hints.clear();
            return block;
        }
        self.allocated += self.size + self.hints * size_of::<Hint>();
        Block::new(self.size, self.hints)
    }

    /// Hands a block over; waits while the thread is behind.
    pub(crate) fn send(&mut self, file: FileId, form: Form, block: Block) {
        let job = Job::Write { file, form, block, from: self.from };
        let sent = match self.sender.try_send(job) {
            Err(TrySendError::Full(job)) => {
                let since = Instant::now();
                let sent = self.sender.send(job).is_ok();
                self.stalls += 1;
                self.stall_ns += u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
                sent
            }
            other => other.is_ok(),
        };
        if !sent {
            self.signals.keep(RecordError::WriterLost);
        }
    }

    /// Ends a file and begins one named `name` in its place.
    pub(crate) fn next_file(&mut self, file: FileId, name: String) {
        if self.sender.send(Job::Next { file, name }).is_err() {
            self.signals.keep(RecordError::WriterLost);
        }
    }

    /// Bytes of all blocks made.
    pub(crate) fn allocated(&self) -> usize {
        self.allocated
    }

    /// How often, and how long in nanoseconds, the producer waited.
    pub(crate) fn stalls(&self) -> (u64, u64) {
        (self.stalls, self.stall_ns)
    }
}

struct Backend {
    dir: PathBuf,
    files: Vec<OutputFile>,
    wrapper: Option<Wrapper>,
    spares: Vec<Sender<Block>>,
    signals: Arc<Signals>,
    opened: Instant,
    interval: Option<Duration>,
    written: Written,
}

impl Backend {
    fn serve(&mut self, jobs: &Receiver<Job>) {
        let mut last = self.opened;
        loop {
            if let Some(interval) = self.interval.filter(|interval| last.elapsed() >= *interval) {
                last +=
                    interval * u32::try_from(last.elapsed().as_nanos() / interval.as_nanos()).unwrap_or(1);
                self.signals.attention.fetch_or(FLUSH_DUE, Ordering::Relaxed);
            }
            let job = match self.interval {
                None => jobs.recv().ok(),
                Some(interval) => match jobs.recv_timeout(interval.saturating_sub(last.elapsed())) {
                    Ok(job) => Some(job),
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => None,
                },
            };
            let Some(job) = job else { break };
            match job {
                Job::Flush(done) => {
                    // A producer that stopped waiting needs no answer.
                    let _ = done.send(());
                }
                Job::Next { file, name } => self.next_file(file, &name),
                Job::Write { file, form, block, from } => {
                    if self.signals.attention.load(Ordering::Relaxed) & FAILED == 0 {
                        self.write(file, form, &block);
                    }
                    // An encoder that is gone needs no blocks.
                    let _ = self.spares[from].send(block);
                }
            }
        }
        self.written.last = self.files.iter().map(|file| file.committed).collect();
        self.written.bytes = self.written.last.iter().chain(&self.written.ended).sum();
    }

    fn next_file(&mut self, file: FileId, name: &str) {
        if self.signals.attention.load(Ordering::Relaxed) & FAILED != 0 {
            return;
        }
        match directory::create(&self.dir, name) {
            Ok((created, path)) => {
                let target = &mut self.files[file.0];
                self.written.ended.push(target.committed);
                let file = target.file.is_some().then_some(created);
                *target = OutputFile { path, file, committed: 0, tail: false };
            }
            Err(error) => self.signals.keep(error),
        }
    }

    fn write(&mut self, file: FileId, form: Form, block: &Block) {
        let target = &mut self.files[file.0];
        let bytes = match (form, &mut self.wrapper) {
            (Form::Wrapped, Some(wrapper)) => wrapper.wrap(block),
            _ => block.filled(),
        };
        if let Err(error) = target.put(bytes, form == Form::Provisional) {
            target.cut();
            self.signals.keep(RecordError::io("writing", &target.path, error));
            return;
        }
        if self.written.first_output_ns == 0 {
            self.written.first_output_ns =
                u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        }
    }
}

impl OutputFile {
    fn put(&mut self, bytes: &[u8], provisional: bool) -> io::Result<()> {
        let mut opened;
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                opened = File::options().write(true).open(&self.path)?;
                opened.seek(SeekFrom::Start(self.committed))?;
                &mut opened
            }
        };
        if self.tail {
            file.set_len(self.committed)?;
            file.seek(SeekFrom::Start(self.committed))?;
        }
        self.tail = provisional;
        file.write_all(bytes)?;
        if !provisional {
            self.committed += bytes.len() as u64;
        }
        Ok(())
    }

    /// Takes back what a failed write left behind, as far as the system lets us.
    fn cut(&self) {
        let length = self.committed;
        let _ = match &self.file {
            Some(file) => file.set_len(length),
            None => File::options().write(true).open(&self.path).and_then(|file| file.set_len(length)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_output_is_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let opened = Instant::now();
        let mut setup = WriterSetup::new(dir.path(), None, opened);
        let file = setup.create("file").unwrap();
        let mut outlet = setup.outlet(4, 0);
        let writer = setup.start().unwrap();
        let mut write = || {
            let mut block = outlet.block();
            block.len = 4;
            outlet.send(file, Form::Plain, block);
            writer.flush().unwrap();
            opened.elapsed().as_nanos()
        };
        let (first, second) = (write(), write());
        drop(outlet);
        let written = writer.join().unwrap();
        assert!((1..=first).contains(&written.first_output_ns.into()) && first < second, "{written:?}");
        assert_eq!((written.bytes, written.last), (8, vec![8]));
    }
}
