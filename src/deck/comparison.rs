//! [`Comparison`]: how the work tree differs from a commit, read beside the deck's loop.

use std::sync::Arc;

use ctxrelay_ui::Msg;
use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinHandle, spawn_blocking};

use super::deck_options::ReadDiff;

/// Compares one commit at a time; the last one that is asked for is told.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// The commit that was asked for last, and who answers.
    asked: Option<(String, JoinHandle<()>)>,
    /// Whose turn it is: git goes through the whole work tree, and what it does cannot be stopped.
    turn: Arc<Mutex<()>>,
}

impl Comparison {
    /// Compares with this commit, after what goes on. Who asks for the same one again shares the
    /// answer; what was asked for before another one is not told any more.
    pub(super) fn ask(&mut self, commit: String, read: &ReadDiff, answers: &mpsc::Sender<Msg>) {
        if let Some((_, task)) = self
            .asked
            .take_if(|(asked, task)| *asked != commit || task.is_finished())
        {
            task.abort();
        }
        if self.asked.is_none() {
            let turn = Arc::clone(&self.turn);
            let task = compare(turn, Arc::clone(read), commit.clone(), answers.clone());
            self.asked = Some((commit, tokio::spawn(task)));
        }
    }
}

/// What differs from a commit, whenever that is read.
async fn compare(turn: Arc<Mutex<()>>, read: ReadDiff, commit: String, answers: mpsc::Sender<Msg>) {
    let turn = turn.lock_owned().await;
    let of = commit.clone();
    let read = spawn_blocking(move || {
        // As long as it is read, and not as long as somebody waits for that.
        let _turn = turn;
        read(&of)
    });
    let read = read.await;
    let read = read.unwrap_or_else(|_| Err("what differs cannot be read".to_owned()));
    // Nobody waits for it where the deck was left.
    let _ = answers.send(Msg::Diff { commit, read }).await;
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex};

    use ctxrelay_ui::Msg;
    use tokio::sync::mpsc;

    use super::{Comparison, ReadDiff};

    /// Reads that begin and end in a test's own time.
    struct SlowReads {
        read: ReadDiff,
        begun: mpsc::UnboundedReceiver<String>,
        go_on: Sender<()>,
        log: Arc<Mutex<Vec<String>>>,
    }

    fn slow_reads() -> SlowReads {
        let (begins, begun) = mpsc::unbounded_channel();
        let (go_on, goes_on) = channel();
        let goes_on = Mutex::new(goes_on);
        let log = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&log);
        let read: ReadDiff = Arc::new(move |commit| {
            written.lock().unwrap().push(format!("{commit} begins"));
            begins.send(commit.to_owned()).unwrap();
            goes_on.lock().unwrap().recv().unwrap();
            written.lock().unwrap().push(format!("{commit} ends"));
            Ok(format!("+{commit}"))
        });
        SlowReads {
            read,
            begun,
            go_on,
            log,
        }
    }

    /// The commit of the next answer, if there is one.
    async fn told(came: &mut mpsc::Receiver<Msg>) -> Option<String> {
        match came.recv().await? {
            Msg::Diff { commit, read } => {
                assert_eq!(read, Ok(format!("+{commit}")));
                Some(commit)
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn another_commit_is_compared_once_the_one_before_is_read_and_alone_is_told() {
        let mut reads = slow_reads();
        let (answers, mut came) = mpsc::channel(8);
        let mut comparison = Comparison::default();
        comparison.ask("a".to_owned(), &reads.read, &answers);
        assert_eq!(reads.begun.recv().await.unwrap(), "a");
        // The one in the middle has not begun: it never does.
        for commit in ["b", "c"] {
            comparison.ask(commit.to_owned(), &reads.read, &answers);
        }
        reads.go_on.send(()).unwrap();
        assert_eq!(reads.begun.recv().await.unwrap(), "c");
        reads.go_on.send(()).unwrap();
        drop(answers);
        assert_eq!(told(&mut came).await.as_deref(), Some("c"));
        assert_eq!(told(&mut came).await, None);
        let log = reads.log.lock().unwrap();
        assert_eq!(*log, ["a begins", "a ends", "c begins", "c ends"]);
    }

    #[tokio::test]
    async fn the_same_commit_is_compared_once_while_that_goes_on_and_again_afterwards() {
        let mut reads = slow_reads();
        let (answers, mut came) = mpsc::channel(8);
        let mut comparison = Comparison::default();
        comparison.ask("a".to_owned(), &reads.read, &answers);
        assert_eq!(reads.begun.recv().await.unwrap(), "a");
        comparison.ask("a".to_owned(), &reads.read, &answers);
        reads.go_on.send(()).unwrap();
        assert_eq!(told(&mut came).await.as_deref(), Some("a"));
        let (_, task) = comparison.asked.as_mut().unwrap();
        task.await.unwrap();
        comparison.ask("a".to_owned(), &reads.read, &answers);
        reads.go_on.send(()).unwrap();
        drop(answers);
        assert_eq!(told(&mut came).await.as_deref(), Some("a"));
        assert_eq!(told(&mut came).await, None);
        assert_eq!(reads.log.lock().unwrap().len(), 4);
    }
}
