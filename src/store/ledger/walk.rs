//! [`walk`]: goes through a ledger line by line, with the work on each line spread over the cores.

use std::io::{self, Read};
use std::num::NonZero;
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use sha2::{Digest as _, Sha256};

use super::check::Checker;
use super::lines::Lines;
use ctxrelay_core::entry::Entry;
use ctxrelay_core::wire::line::{BadLine, ChainLink, LINE_MAX, ParsedLine, hash_line};

/// How many bytes of lines are worked on together: enough to make the handing over cheap.
const BATCH_BYTES: usize = 256 * 1024;

/// How many batches are under way for each worker: one in hand, one waiting.
const BATCHES_EACH: usize = 2;

/// How many bytes of lines are under way at most, one batch aside: a ledger from elsewhere may be
/// made of the longest lines, and what is made of them takes several times as much.
const UNDER_WAY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// More workers would wait for the one thread that follows the chain.
const WORKERS_MAX: usize = 8;

/// What is made of a line.
pub(super) trait Linked: Send {
    /// The line's place in the chain.
    fn link(&self) -> Option<&ChainLink>;
    /// The entry, if it was read, and its place in the chain.
    fn split(self) -> (Option<Entry>, Option<ChainLink>);
}

impl Linked for ParsedLine {
    fn link(&self) -> Option<&ChainLink> {
        self.link.as_ref()
    }

    fn split(self) -> (Option<Entry>, Option<ChainLink>) {
        (Some(self.entry), self.link)
    }
}

impl Linked for Option<ChainLink> {
    fn link(&self) -> Option<&ChainLink> {
        self.as_ref()
    }

    fn split(self) -> (Option<Entry>, Option<ChainLink>) {
        (None, self)
    }
}

/// A line and the result of parsing it.
pub(super) struct Walked<'a, T> {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Where the next one begins.
    pub end: u64,
    /// Its bytes without the newline; empty when it is too long.
    pub text: &'a [u8],
    /// It ends with a newline; only the last one of a file may not.
    pub complete: bool,
    pub made: Made<T>,
    /// The digest of all bytes to its end, while there is no chain.
    pub after: Option<Sha256>,
}

/// What was made of a line.
pub(super) struct Made<T> {
    pub line: Result<T, BadLine>,
    /// Its bytes match the hash on it.
    pub is_intact: bool,
}

impl<T: Linked> Made<T> {
    fn of(text: Option<&[u8]>, work: &impl Fn(&[u8]) -> Result<T, BadLine>) -> Self {
        let line = text.map_or(Err(BadLine::TooLong(LINE_MAX)), work);
        let link = line.as_ref().ok().and_then(Linked::link);
        let is_intact = link.is_some_and(|link| {
            let hash = hash_line(text.unwrap_or_default(), &link.prev);
            hash.as_ref() == Some(&link.hash)
        });
        Self { line, is_intact }
    }

    /// The entry, where it was read, and its place in the chain, or why it is none.
    pub(super) fn split(self) -> (Option<Entry>, Result<Option<ChainLink>, BadLine>) {
        match self.line {
            Ok(line) => {
                let (entry, link) = line.split();
                (entry, Ok(link))
            }
            Err(bad) => (None, Err(bad)),
        }
    }
}

/// Reads lines to the end of the file, or until `each` has enough. The checker is handed to `each`
/// with every line, in the order of the file, and is not changed here. Returns where the next line
/// would begin.
pub(super) fn walk<R: Read, T: Linked>(
    mut lines: Lines<R>,
    checker: &mut Checker,
    work: impl Fn(&[u8]) -> Result<T, BadLine> + Sync,
    mut each: impl FnMut(&mut Checker, Walked<'_, T>) -> ControlFlow<()>,
) -> io::Result<u64> {
    // An unchained beginning is one digest, which can only be made from the first byte on.
    while let Some(mut after) = checker.digest() {
        let Some(line) = lines.next(|piece| after.update(piece))? else {
            return Ok(lines.offset());
        };
        let (offset, complete) = (line.offset, line.complete);
        let text = line.text.unwrap_or_default().to_vec();
        let made = Made::of(line.text, &work);
        let end = lines.offset();
        let walked = Walked {
            offset,
            end,
            text: &text,
            complete,
            made,
            after: Some(after),
        };
        if each(checker, walked).is_break() {
            return Ok(end);
        }
    }

    let mut first = Batch::new();
    first.refill(&mut lines)?;
    if first.bytes.len() < BATCH_BYTES {
        first.make(&work);
        return Ok(match first.each(checker, &mut each) {
            ControlFlow::Continue(()) => lines.offset(),
            ControlFlow::Break(end) => end,
        });
    }
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    share(lines, first, workers.min(WORKERS_MAX), &work, |batch| {
        batch.each(checker, &mut each)
    })
}

/// Has every batch worked on by one of the workers in turn, and takes the results in that order.
fn share<R: Read, T: Linked>(
    mut lines: Lines<R>,
    first: Batch<T>,
    workers: usize,
    work: &(impl Fn(&[u8]) -> Result<T, BadLine> + Sync),
    mut each: impl FnMut(&mut Batch<T>) -> ControlFlow<u64>,
) -> io::Result<u64> {
    thread::scope(|scope| {
        let mut desks = Vec::with_capacity(workers);
        for _ in 0..workers {
            let (give, todo) = sync_channel::<Batch<T>>(BATCHES_EACH);
            let (done, take) = sync_channel(BATCHES_EACH);
            thread::Builder::new()
                .name("ledger-reader".to_owned())
                .spawn_scoped(scope, move || serve(&todo, &done, work))?;
            desks.push((give, take));
        }
        let (mut given, mut taken, mut bytes) = (0, 0, 0);
        let mut next = Some(first);
        // Used again, because the system takes its time to give and to take back so much at once.
        let mut spare: Vec<Batch<T>> = Vec::new();
        loop {
            while let Some(batch) = next
                .take_if(|_| given - taken < workers * BATCHES_EACH && bytes < UNDER_WAY_BYTES_MAX)
            {
                let (give, _) = &desks[given % workers];
                bytes += batch.bytes.len();
                give.send(batch).map_err(|_| lost())?;
                given += 1;
                let mut batch = spare.pop().unwrap_or_else(Batch::new);
                batch.refill(&mut lines)?;
                next = Some(batch).filter(|batch| !batch.lines.is_empty());
            }
            if taken == given {
                return Ok(lines.offset());
            }
            let (_, take) = &desks[taken % workers];
            let mut batch = take.recv().map_err(|_| lost())?;
            taken += 1;
            bytes -= batch.bytes.len();
            if let ControlFlow::Break(end) = each(&mut batch) {
                return Ok(end);
            }
            // What was grown for the longest lines is given back.
            if batch.bytes.capacity() <= 2 * BATCH_BYTES {
                spare.push(batch);
            }
        }
    })
}

fn serve<T: Linked>(
    todo: &Receiver<Batch<T>>,
    done: &SyncSender<Batch<T>>,
    work: &(impl Fn(&[u8]) -> Result<T, BadLine> + Sync),
) {
    while let Ok(mut batch) = todo.recv() {
        batch.make(work);
        if done.send(batch).is_err() {
            return;
        }
    }
}

/// Only a worker that panicked is gone.
fn lost() -> io::Error {
    io::Error::other("a thread that reads the ledger ended")
}

impl Held {
    fn text<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        self.bytes.clone().map(|held| &bytes[held])
    }
}

/// Some lines and the results of parsing them.
struct Batch<T> {
    bytes: Vec<u8>,
    lines: Vec<Held>,
    made: Vec<Made<T>>,
    /// Where the line after the last one begins.
    end: u64,
}

struct Held {
    offset: u64,
    /// Where its bytes are kept; `None` if it is too long.
    bytes: Option<Range<usize>>,
    complete: bool,
}

impl<T: Linked> Batch<T> {
    fn new() -> Self {
        Self {
            bytes: Vec::new(),
            lines: Vec::new(),
            made: Vec::new(),
            end: 0,
        }
    }

    /// Takes the next lines in place of what it held.
    fn refill<R: Read>(&mut self, from: &mut Lines<R>) -> io::Result<()> {
        self.bytes.clear();
        self.lines.clear();
        while self.bytes.len() < BATCH_BYTES {
            let Some(line) = from.next(|_| {})? else {
                break;
            };
            let start = self.bytes.len();
            self.bytes.extend_from_slice(line.text.unwrap_or_default());
            self.lines.push(Held {
                offset: line.offset,
                bytes: line.text.map(|text| start..start + text.len()),
                complete: line.complete,
            });
        }
        self.end = from.offset();
        Ok(())
    }

    fn make(&mut self, work: &impl Fn(&[u8]) -> Result<T, BadLine>) {
        let lines = self.lines.iter();
        let made = lines.map(|held| Made::of(held.text(&self.bytes), work));
        self.made.extend(made);
    }

    /// Breaks with the place where the next line would begin.
    fn each(
        &mut self,
        checker: &mut Checker,
        each: &mut impl FnMut(&mut Checker, Walked<'_, T>) -> ControlFlow<()>,
    ) -> ControlFlow<u64> {
        let ends = self.lines.iter().skip(1).map(|next| next.offset);
        let ends = ends.chain([self.end]);
        for ((held, end), made) in self.lines.iter().zip(ends).zip(self.made.drain(..)) {
            let walked = Walked {
                offset: held.offset,
                end,
                text: held.text(&self.bytes).unwrap_or_default(),
                complete: held.complete,
                made,
                after: None,
            };
            if each(checker, walked).is_break() {
                return ControlFlow::Break(end);
            }
        }
        ControlFlow::Continue(())
    }
}
