//! [`Gates`]: the current run of gates, one gate after the other. At most one run at a time: two
//! would disturb each other's work tree.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::core::entry::Entry;
use crate::core::id::{EntryId, SessionId};
use crate::core::snapshot::ChangedFiles;
use crate::wire::config::Gate;
use crate::wire::control::{EndedRun, ReleaseOutcome, ReleaseToSign};
use crate::wire::status::GateRunning;

/// How many of the last lines are shown while a gate runs.
const LINES_SHOWN: usize = 8;

/// How many proposals wait for their gates at most.
const PROPOSALS_MAX: usize = 16;

/// How much of one of them is shown, in characters.
const LINE_CHARS: usize = 200;

/// The current run of gates, and the result of the last one.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Gates {
    runs: u64,
    run: Option<Run>,
    ended: Option<EndedRun>,
    /// The artifact of the last run that waits for the operator's signature.
    unsigned: Option<Entry>,
    /// Proposals whose gates run after the current run, oldest first, and what changed for each.
    proposals: VecDeque<(EntryId, Option<ChangedFiles>)>,
}

/// The outcome of a release gate's artifact.
#[derive(Debug)]
pub(in crate::daemon) enum ReleaseEnd {
    /// There is none.
    None,
    Recorded(EntryId, Option<ReleaseOutcome>),
    /// It is recorded once the operator has signed it.
    Unsigned(Box<Entry>, ReleaseToSign),
}

#[derive(Debug)]
struct Run {
    waiting: VecDeque<Gate>,
    /// The names of the gates that have begun.
    begun: Vec<String>,
    now: Option<Now>,
    is_release: bool,
    /// The proposal for which it runs without a command.
    proposal: Option<EntryId>,
    is_stopped: bool,
    why: Option<String>,
}

/// The gate that runs.
#[derive(Debug)]
struct Now {
    shown: GateRunning,
    began_in: SessionId,
    /// Dropping it stops the gate as well.
    stop: Option<oneshot::Sender<()>>,
}

impl Gates {
    /// Runs are numbered from the moment at which the daemon began, so that none has the number of
    /// a run of an earlier daemon, for which somebody may still wait.
    pub(in crate::daemon) fn numbered_from(now_ms: i64) -> Self {
        Self {
            runs: now_ms.unsigned_abs(),
            ..Self::default()
        }
    }

    /// Whether none runs.
    pub(in crate::daemon) fn is_idle(&self) -> bool {
        self.run.is_none()
    }

    /// Takes a run on; to be begun with [`Self::next`]. Only when none is under way.
    pub(in crate::daemon) fn begin(&mut self, gates: Vec<Gate>, is_release: bool) {
        self.runs += 1;
        self.unsigned = None;
        self.run = Some(Run {
            waiting: gates.into(),
            begun: Vec::new(),
            now: None,
            is_release,
            proposal: None,
            is_stopped: false,
            why: None,
        });
    }

    /// Takes a run on that is to prove a proposal. Only when none is under way.
    pub(in crate::daemon) fn begin_for(&mut self, proposal: EntryId, gates: Vec<Gate>) {
        self.begin(gates, false);
        if let Some(run) = &mut self.run {
            run.proposal = Some(proposal);
        }
    }

    /// A proposal is to be proven behind what is under way. When too many wait already it is left
    /// to the operator.
    pub(in crate::daemon) fn put_behind(
        &mut self,
        proposal: EntryId,
        changed: Option<ChangedFiles>,
    ) {
        if self.proposals.len() < PROPOSALS_MAX {
            self.proposals.push_back((proposal, changed));
        }
    }

    /// The proposal that is to be proven next; nothing while a run is under way.
    pub(in crate::daemon) fn next_proposal(&mut self) -> Option<(EntryId, Option<ChangedFiles>)> {
        match self.is_idle() {
            true => self.proposals.pop_front(),
            false => None,
        }
    }

    /// The gate that is to run now, in this session, and what stops it; `None` when the run is over.
    pub(in crate::daemon) fn next(
        &mut self,
        now_ms: i64,
        session: &SessionId,
    ) -> Option<(Gate, oneshot::Receiver<()>)> {
        let run = self.run.as_mut()?;
        run.now = None;
        let gate = run.waiting.pop_front()?;
        let (stop, stopped) = oneshot::channel();
        run.begun.push(gate.name.clone());
        run.now = Some(Now {
            shown: GateRunning {
                name: gate.name.clone(),
                since: now_ms,
                left: run.waiting.len() as u64,
                lines: Vec::new(),
            },
            began_in: session.clone(),
            stop: Some(stop),
        });
        Some((gate, stopped))
    }

    /// Whether the gate that runs began in this session.
    pub(in crate::daemon) fn began_in(&self, session: &SessionId) -> bool {
        let now = self.run.as_ref().and_then(|run| run.now.as_ref());
        now.is_some_and(|now| now.began_in == *session)
    }

    /// The gate that runs printed this, without secrets. Whether that is worth telling.
    pub(in crate::daemon) fn printed(&mut self, text: &str) -> bool {
        let lines = last_lines(text);
        let now = self.run.as_mut().and_then(|run| run.now.as_mut());
        now.is_some_and(|now| {
            let is_news = now.shown.lines != lines;
            now.shown.lines = lines;
            is_news
        })
    }

    /// Stops what runs and begins nothing more. Whether anything was under way.
    pub(in crate::daemon) fn stop(&mut self) -> bool {
        let Some(run) = &mut self.run else {
            return false;
        };
        run.waiting.clear();
        run.is_stopped = true;
        if let Some(now) = &mut run.now {
            now.stop = None;
        }
        true
    }

    /// What a gate came to could not be recorded, so that it proves nothing: no other one begins.
    pub(in crate::daemon) fn give_up(&mut self, why: String) {
        self.stop();
        if let Some(run) = &mut self.run {
            run.why = Some(why);
        }
    }

    /// The names of what was run, where a release gate is to be recorded now.
    pub(in crate::daemon) fn release(&self) -> Option<&[String]> {
        let run = self.run.as_ref()?;
        (run.is_release && !run.is_stopped).then_some(&*run.begun)
    }

    /// The run is over; the proposal that it was for.
    pub(in crate::daemon) fn end(&mut self, release: ReleaseEnd) -> Option<EntryId> {
        let run = self.run.take()?;
        self.ended = Some(EndedRun {
            run: self.runs,
            names: run.begun,
            stopped: run.is_stopped,
            why: run.why,
            release: None,
            outcome: None,
            to_sign: None,
        });
        let ended = self.ended.as_mut()?;
        match release {
            ReleaseEnd::None => {}
            ReleaseEnd::Recorded(id, outcome) => {
                ended.release = Some(id);
                ended.outcome = outcome;
            }
            ReleaseEnd::Unsigned(entry, to_sign) => {
                ended.outcome = ReleaseOutcome::of(&entry);
                ended.to_sign = Some(to_sign);
                self.unsigned = Some(*entry);
            }
        }
        run.proposal
    }

    /// The artifact of that run, which waits for a signature, and what is signed of it.
    pub(in crate::daemon) fn unsigned(&self, run: u64) -> Option<(&Entry, &ReleaseToSign)> {
        let ended = self.ended.as_ref().filter(|ended| ended.run == run)?;
        self.unsigned.as_ref().zip(ended.to_sign.as_ref())
    }

    /// It is recorded.
    pub(in crate::daemon) fn signed(&mut self, id: EntryId) {
        self.unsigned = None;
        if let Some(ended) = &mut self.ended {
            ended.to_sign = None;
            ended.release = Some(id);
        }
    }

    /// The number of the run that is under way.
    pub(in crate::daemon) fn number(&self) -> Option<u64> {
        self.run.as_ref().map(|_| self.runs)
    }

    /// How the last run ended.
    pub(in crate::daemon) fn ended(&self) -> Option<&EndedRun> {
        self.ended.as_ref()
    }

    /// What the screen shows.
    pub(in crate::daemon) fn running(&self) -> Option<GateRunning> {
        Some(self.run.as_ref()?.now.as_ref()?.shown.clone())
    }
}

/// The last lines that say something, each cut to what a screen can show.
fn last_lines(text: &str) -> Vec<String> {
    let said = text.lines().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = said
        .rev()
        .take(LINES_SHOWN)
        .map(|line| line.chars().take(LINE_CHARS).collect())
        .collect();
    lines.reverse();
    lines
}
