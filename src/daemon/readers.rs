//! [`Readers`]: reads of the record beside the loop, so that a client that pages delays nobody.
//!
//! A read is begun by the loop, with the ledger and the world of that moment. Whatever was
//! acknowledged to a client is on the disk and folded before its acknowledgement was sent, so that
//! what this client asks afterwards is answered with it.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::reply::{ReplySender, answer};
use crate::wire::control::{Refusal, RefusalCode, Reply};

/// How many reads are carried out at once: more would only take the processor from the loop.
const AT_ONCE: usize = 2;

/// How many reads may be asked for at once, those that wait for their turn included. A read that
/// comes when there are as many is refused.
const READS_MAX: usize = 256;

/// The places for reads.
#[derive(Debug)]
pub(super) struct Readers {
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

impl Default for Readers {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(READS_MAX)),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Readers {
    /// Has a read carried out on a thread of its own, in the order of the asking, and answered.
    pub(super) fn read(
        &self,
        reply: ReplySender,
        read: impl FnOnce() -> Result<Reply, Refusal> + Send + 'static,
    ) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return answer(reply, Err(overloaded()));
        };
        let turns = Arc::clone(&self.turns);
        tokio::spawn(async move {
            // Nobody closes it.
            let _turn = turns.acquire().await;
            let result = tokio::task::spawn_blocking(read).await;
            drop(place);
            answer(reply, result.unwrap_or_else(|_| Err(failed())));
        });
    }
}

fn overloaded() -> Refusal {
    Refusal::new(
        RefusalCode::Overloaded,
        format!("{READS_MAX} reads of the record wait already"),
        "nothing is wrong; try again in a moment",
    )
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
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::mpsc;

    use tokio::sync::oneshot;

    use super::*;

    /// Reads that go on until they are told to end.
    fn held(readers: &Readers, count: usize) -> Vec<(mpsc::Sender<()>, Answer)> {
        let one = |_| {
            let (end, ended) = mpsc::channel::<()>();
            let (reply, answer) = oneshot::channel();
            readers.read(reply, move || {
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
        readers.read(reply, || Ok(Reply::Done));
        assert_eq!(
            refused.await.unwrap().unwrap_err().code,
            RefusalCode::Overloaded
        );
        for (end, answer) in held {
            drop(end);
            assert_eq!(answer.await.unwrap(), Ok(Reply::Done));
        }
        let (reply, answered) = oneshot::channel();
        readers.read(reply, || Ok(Reply::Done));
        assert_eq!(answered.await.unwrap(), Ok(Reply::Done));
    }

    #[tokio::test]
    async fn a_read_that_panics_is_answered_and_gives_its_place_back() {
        let readers = Readers::default();
        for _ in 0..=READS_MAX {
            let (reply, answer) = oneshot::channel();
            readers.read(reply, || panic!("a test's"));
            let refusal = answer.await.unwrap().unwrap_err();
            assert_eq!(refusal.code, RefusalCode::LedgerUnreadable);
        }
    }
}
