//! [`Readers`]: reads of the record beside the loop, so that a client that pages delays nobody.
//!
//! The loop begins a read with the ledger and the world as they are at that moment. Whatever was
//! acknowledged to a client was on the disk and folded before, so a client's later reads include
//! it.
//!
//! Clients take turns: each client has at most one read that competes for the processor, so a
//! client with many reads delays one with a single read only once.
//!
//! Reads that also run git take turns of their own: on a disk that hangs, or in a very large
//! repository, git does not hold up reads of the record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::adapters::git::deadline::GitDeadline;
use crate::core::lock::lock;
use crate::daemon::attach::ConnId;
use crate::daemon::reply::{ReplySender, answer, too_much};
use crate::wire::control::{Refusal, RefusalCode, Reply};

/// How many reads are carried out at once, of the record alone and with git each: more would only
/// take the processor from the loop.
const AT_ONCE: usize = 2;

/// How many reads one client may have asked for at once, those that wait for their turn included.
/// One more is refused; what others asked for does not count. As many calls as a connection takes.
const READS_MAX: usize = 64;

/// The slots for reads beside the loop.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Readers {
    record: Turns,
    git: Turns,
}

/// The slots for reads of one kind.
#[derive(Debug)]
struct Turns {
    lines: Lines,
    turns: Arc<Semaphore>,
}

/// The line of each client that reads.
type Lines = Arc<Mutex<HashMap<ConnId, Line>>>;

/// The reads of one client.
#[derive(Debug)]
struct Line {
    reads: usize,
    /// Whose turn it is among them, in the order of the requests.
    first: Arc<Semaphore>,
}

/// A place in the line of a client, returned when the read is answered.
struct Place {
    lines: Lines,
    client: ConnId,
}

/// A read's turn, and its turn among those of its client. Returned when the reading thread ends.
struct Turn {
    _first: Option<OwnedSemaphorePermit>,
    _turn: Option<OwnedSemaphorePermit>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            lines: Lines::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Readers {
    /// Has a read of this client carried out on a thread of its own, in the order of its asking,
    /// and answered.
    pub(in crate::daemon) fn read(
        &self,
        client: ConnId,
        reply: ReplySender,
        read: impl FnOnce() -> Result<Reply, Refusal> + Send + 'static,
    ) {
        let Some((place, first)) = self.record.line_up(client) else {
            return answer(reply, Err(overloaded()));
        };
        let turns = Arc::clone(&self.record.turns);
        tokio::spawn(async move {
            let turn = Turn::wait(Some(first), turns).await;
            carry_out(reply, place, turn, read).await;
        });
    }

    /// As [`Self::read`], of what asks git as well: for so long at most, the wait for its turn
    /// included. What git did not tell by then `read` says is not known.
    pub(in crate::daemon) fn read_with_git(
        &self,
        client: ConnId,
        reply: ReplySender,
        wait: Duration,
        read: impl FnOnce(GitDeadline) -> Result<Reply, Refusal> + Send + 'static,
    ) {
        let Some((place, first)) = self.git.line_up(client) else {
            return answer(reply, Err(overloaded()));
        };
        let turns = Arc::clone(&self.git.turns);
        let without_git = Arc::clone(&self.record.turns);
        let until = Instant::now() + wait;
        tokio::spawn(async move {
            let turn = match timeout_at(until, Turn::wait(Some(first), turns)).await {
                Ok(turn) => turn,
                // Its time is over, so that it begins no git.
                Err(_) => Turn::wait(None, without_git).await,
            };
            let read = move || read(GitDeadline::at(until.into_std()));
            carry_out(reply, place, turn, read).await;
        });
    }
}

/// Has it read on a thread of its own, and answers.
async fn carry_out(
    reply: ReplySender,
    place: Place,
    turn: Turn,
    read: impl FnOnce() -> Result<Reply, Refusal> + Send + 'static,
) {
    let read = move || {
        let _turn = turn;
        read()
    };
    let result = tokio::task::spawn_blocking(read).await;
    drop(place);
    answer(reply, result.unwrap_or_else(|_| Err(failed())));
}

impl Turn {
    /// `first`: whose turn it is among the reads of a client.
    async fn wait(first: Option<Arc<Semaphore>>, turns: Arc<Semaphore>) -> Self {
        // Nobody closes them.
        let first = match first {
            Some(first) => first.acquire_owned().await.ok(),
            None => None,
        };
        Self {
            _first: first,
            _turn: turns.acquire_owned().await.ok(),
        }
    }
}

impl Turns {
    fn line_up(&self, client: ConnId) -> Option<(Place, Arc<Semaphore>)> {
        let mut lines = lock(&self.lines);
        let line = lines.entry(client).or_insert_with(|| Line {
            reads: 0,
            first: Arc::new(Semaphore::new(1)),
        });
        if line.reads >= READS_MAX {
            return None;
        }
        line.reads += 1;
        let place = Place {
            lines: Arc::clone(&self.lines),
            client,
        };
        Some((place, Arc::clone(&line.first)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut lines = lock(&self.lines);
        if let Some(line) = lines.get_mut(&self.client) {
            line.reads -= 1;
            if line.reads == 0 {
                lines.remove(&self.client);
            }
        }
    }
}

fn overloaded() -> Refusal {
    too_much(format!(
        "{READS_MAX} of your reads of the record wait already"
    ))
}

/// The reading thread panicked, which nothing else hangs on: it changes nothing.
fn failed() -> Refusal {
    Refusal::new(
        RefusalCode::LedgerUnreadable,
        "the record could not be read: a fault of ours, which the log tells of",
        "nothing was changed; try again",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::oneshot;

    use super::*;

    fn client(number: u64) -> ConnId {
        ConnId::of(number)
    }

    /// Reads of the first client that go on until they are told to end.
    fn held(readers: &Readers, count: usize) -> Vec<(mpsc::Sender<()>, Answer)> {
        let one = |_| {
            let (end, ended) = mpsc::channel::<()>();
            let (reply, answer) = oneshot::channel();
            readers.read(client(1), reply, move || {
                let _ = ended.recv();
                Ok(Reply::Done)
            });
            (end, answer)
        };
        (0..count).map(one).collect()
    }

    type Answer = oneshot::Receiver<Result<Reply, Refusal>>;

    #[tokio::test]
    async fn a_read_too_many_is_refused_and_the_others_are_answered() {
        let readers = Readers::default();
        let held = held(&readers, READS_MAX);
        let (reply, refused) = oneshot::channel();
        readers.read(client(1), reply, || Ok(Reply::Done));
        assert_eq!(
            refused.await.unwrap().unwrap_err().code,
            RefusalCode::Overloaded
        );
        for (end, answer) in held {
            drop(end);
            assert_eq!(answer.await.unwrap(), Ok(Reply::Done));
        }
        let (reply, answered) = oneshot::channel();
        readers.read(client(1), reply, || Ok(Reply::Done));
        assert_eq!(answered.await.unwrap(), Ok(Reply::Done));
    }

    #[tokio::test]
    async fn who_reads_much_does_not_keep_others_from_reading() {
        let readers = Readers::default();
        let held = held(&readers, READS_MAX);
        for other in 2..5 {
            let (reply, answered) = oneshot::channel();
            readers.read(client(other), reply, || Ok(Reply::Done));
            assert_eq!(answered.await.unwrap(), Ok(Reply::Done));
        }
        let (ends, answers): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        drop(ends);
        for answer in answers {
            assert_eq!(answer.await.unwrap(), Ok(Reply::Done));
        }
        assert!(lock(&readers.record.lines).is_empty());
    }

    #[tokio::test]
    async fn reads_that_wait_for_git_keep_no_read_of_the_record_waiting_and_say_it_in_time() {
        let readers = Readers::default();
        let patient = Duration::from_secs(600);
        // Git hangs for each turn that there is, and for more reads of one client than it may have.
        let hanging = |number| {
            let (end, ended) = mpsc::channel::<()>();
            let (reply, answer) = oneshot::channel();
            readers.read_with_git(client(number), reply, patient, move |_| {
                let _ = ended.recv();
                Ok(Reply::Done)
            });
            (end, answer)
        };
        let hung: Vec<_> = (0..READS_MAX as u64 + 1).map(|_| hanging(1)).collect();
        let others: Vec<_> = (2..5).map(hanging).collect();
        for client_number in [1, 2, 9] {
            let (reply, answered) = oneshot::channel();
            readers.read(client(client_number), reply, || Ok(Reply::Done));
            assert_eq!(answered.await.unwrap(), Ok(Reply::Done));
        }
        // Who has no turn in time is answered without git.
        let (reply, answered) = oneshot::channel();
        readers.read_with_git(client(9), reply, Duration::from_millis(1), |deadline| {
            assert!(deadline.is_over());
            Ok(Reply::Done)
        });
        assert_eq!(answered.await.unwrap(), Ok(Reply::Done));
        let (ends, answers): (Vec<_>, Vec<_>) = hung.into_iter().chain(others).unzip();
        drop(ends);
        let mut refused = 0;
        for answer in answers {
            refused += usize::from(answer.await.unwrap().is_err());
        }
        assert_eq!(refused, 1);
        assert!(lock(&readers.git.lines).is_empty());
    }

    #[tokio::test]
    async fn a_read_that_panics_is_answered_and_gives_its_place_back() {
        let readers = Readers::default();
        for _ in 0..=READS_MAX {
            let (reply, answer) = oneshot::channel();
            readers.read(client(1), reply, || panic!("a test's"));
            let refusal = answer.await.unwrap().unwrap_err();
            assert_eq!(refusal.code, RefusalCode::LedgerUnreadable);
        }
    }
}
