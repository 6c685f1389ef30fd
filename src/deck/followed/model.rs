//! [`Model`]: what the daemon has reported so far. The daemon's own fold keeps it current, so an
//! entry costs no call.

use std::collections::BTreeMap;

use crate::core::agent::Agent;
use crate::core::entry::TreeFound;
use crate::core::entry::{DeliveryRecord, Entry, EntryKind};
use crate::core::fold::fold;
use crate::core::id::{EntryId, Seq, SessionId};
use crate::core::live_turn::LiveTurn;
use crate::core::snapshot::{ChangedFiles, ProposalSnapshot, Snapshot, TreeInQuestion};
use crate::deck::deck_about::{DeckAbout, WaitingTrust};
use crate::deck::followed::approval_cards::ApprovalCards;
use crate::deck::followed::findings::FindingRows;
use crate::deck::followed::own_messages::OwnMessages;
use crate::deck::followed::queue_wait::waits_for;
use crate::deck::followed::row_facts::{DeliverySteps, RowFacts};
use crate::deck::followed::timeline::Timeline;
use crate::deck::followed::unclear::UnclearMessages;
use crate::deck::followed::work::WorkIndex;
use crate::wire::control::{EntryLine, EntryPage};
use crate::wire::status::Status;
use crate::wire::window::{WindowPage, WindowPlace, WindowRow};

/// How many steps of deliveries are kept: more than the messages on any screen have.
const STEPS_MAX: usize = 8_192;

/// How we stand to the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonLink {
    /// It is being started in this process; what is being done.
    Starting(String),
    /// It runs in this process.
    Hosting,
    /// It runs in another one and answers.
    Attached,
    /// It does not answer; why, in a sentence of ours.
    Reconnecting(String),
    /// It does not answer; why, as the transport says it.
    Silent(String),
    /// It does not answer, and the project's folder with the record is not where it was; a sentence.
    FolderGone(String),
    /// It ran in this process and has ended.
    Ended(String),
}

impl DaemonLink {
    /// Whether it is there and tells what becomes.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Hosting | Self::Attached)
    }
}

/// What the daemon told.
#[derive(Debug)]
pub struct Model {
    /// How we stand to it.
    link: DaemonLink,
    /// Since when it is not live, ms since the epoch; `None` while it is, and where nobody was told.
    lost_ms: Option<i64>,
    /// Its status, once told.
    pub status: Status,
    /// All of it was read at least once; until then nothing is claimed.
    pub is_read: bool,
    /// Why it cannot be read now, one sentence.
    pub unread: Option<String>,
    /// The folded world.
    pub world: Snapshot,
    /// What became of messages.
    pub deliveries: DeliverySteps,
    /// The rows of the timeline.
    pub timeline: Timeline,
    /// The work tree; `None` until somebody looked.
    pub tree: Option<TreeFound>,
    /// Until when the key that signs is unlocked in this deck, ms since the epoch.
    pub key_until_ms: Option<i64>,
    /// What of it differs from the tree that was approved last.
    pub changed: Option<ChangedFiles>,
    /// What of the configuration waits for trust, and since when this deck has known it, ms since the
    /// epoch.
    pub trust: Option<(WaitingTrust, i64)>,
    /// Agents that were started from this deck and have not come yet: when, ms since the epoch.
    pub started: BTreeMap<Agent, i64>,
    /// What Codex's turn has done so far.
    pub live_turn: LiveTurn,
    /// The operator's own last messages.
    pub own: OwnMessages,
    /// Messages that may have arrived or not.
    pub unclear: UnclearMessages,
    /// Its open handoffs as rows.
    pub work: WorkIndex,
    /// What reviews say.
    pub findings: FindingRows,
    /// The cards of what the agents ask.
    pub approvals: ApprovalCards,
    /// Whose deck it is.
    pub about: DeckAbout,
    /// How many steps there are among `deliveries`.
    steps: usize,
}

impl Model {
    /// The daemon says how things stand. Whether that is not what it said before.
    pub fn take_status(&mut self, status: Status) -> bool {
        self.started.retain(|agent, _| !status.is_attached(*agent));
        if status == self.status {
            return false;
        }
        let waits = |model: &Self| Agent::ALL.map(|agent| waits_for(&model.row_facts(), agent));
        let before = waits(self);
        let had = std::mem::replace(&mut self.status, status);
        let cut_off = &self.status.agents.claude.cut_off_ids;
        let is_cut_off_changed = *cut_off != had.agents.claude.cut_off_ids;
        if is_cut_off_changed {
            self.work.take_cut_off(&self.world, cut_off);
        }
        if is_cut_off_changed || waits(self) != before {
            self.with_timeline(|timeline, facts| timeline.refresh_waiting(facts));
        }
        true
    }

    /// Nothing was told yet.
    pub fn new(link: DaemonLink, about: DeckAbout) -> Self {
        Self {
            link,
            lost_ms: None,
            status: Status::default(),
            is_read: false,
            unread: None,
            world: Snapshot::default(),
            deliveries: DeliverySteps::new(),
            timeline: Timeline::default(),
            tree: None,
            key_until_ms: None,
            changed: None,
            trust: None,
            started: BTreeMap::new(),
            live_turn: LiveTurn::default(),
            own: OwnMessages::default(),
            unclear: UnclearMessages::default(),
            work: WorkIndex::default(),
            findings: FindingRows::default(),
            approvals: ApprovalCards::default(),
            about,
            steps: 0,
        }
    }

    /// How we stand to the daemon.
    pub fn link(&self) -> &DaemonLink {
        &self.link
    }

    /// We stand to the daemon like this since `now_ms`, since the epoch. From one way of being away
    /// to another it is away since the first.
    pub fn set_link(&mut self, link: DaemonLink, now_ms: i64) {
        self.lost_ms = match link.is_live() {
            true => None,
            false => self.lost_ms.or(Some(now_ms)),
        };
        self.link = link;
    }

    /// Since when what was read is not kept current, ms since the epoch: the daemon is away.
    pub fn lost_ms(&self) -> Option<i64> {
        self.lost_ms.filter(|_| self.is_read)
    }

    /// The session that the rows are of; the status is read apart from them.
    pub fn session(&self) -> Option<&SessionId> {
        let told = self.status.session_id.as_ref();
        self.world.session_id.as_ref().or(told)
    }

    /// The session of this name on the screen, where it is still the one that the rows are of.
    pub fn session_named(&self, name: &str) -> Option<&SessionId> {
        self.session().filter(|id| session_name(id) == name)
    }

    /// What of the configuration waits for trust now.
    pub fn set_trust(&mut self, found: Option<WaitingTrust>, now_ms: i64) {
        let before = self.trust.take();
        self.trust = found.map(|found| match before {
            Some((before, since_ms)) if before.digest == found.digest => (found, since_ms),
            _ => (found, now_ms),
        });
    }

    /// What rows are made of.
    pub(in crate::deck) fn row_facts(&self) -> RowFacts<'_> {
        RowFacts {
            world: &self.world,
            deliveries: &self.deliveries,
            status: &self.status,
            is_lost: self.lost_ms().is_some(),
            local: &self.about.local,
        }
    }

    /// The timeline, and what it makes its rows of.
    fn with_timeline(&mut self, change: impl FnOnce(&mut Timeline, &RowFacts<'_>)) {
        let mut timeline = std::mem::take(&mut self.timeline);
        change(&mut timeline, &self.row_facts());
        self.timeline = timeline;
    }

    /// The tree of a proposal, to ask the gates about it.
    pub fn in_question<'a>(&'a self, proposal: &'a ProposalSnapshot) -> TreeInQuestion<'a> {
        TreeInQuestion {
            tree: proposal.proposal.tree.as_ref(),
            is_unreadable: self.tree.as_ref().is_some_and(TreeFound::is_unreadable),
            since: Some(proposal.seq),
            changed: self.changed.as_ref(),
        }
    }

    /// Begins again from what was just read, as it stands at `now_ms` (since the epoch). What was
    /// appended between the two reads comes as a notification too.
    pub fn reset(&mut self, world: Snapshot, rows: WindowPage, now_ms: i64) {
        let is_same = self.world.session_id == world.session_id;
        self.world = world;
        self.work.begin_again(&self.world, now_ms);
        self.is_read = true;
        self.unread = None;
        if !is_same {
            self.deliveries.clear();
            self.own.clear();
            self.steps = 0;
        }
        self.unclear.begin_again(&self.world, is_same);
        self.take_steps(&rows);
        self.with_timeline(|timeline, facts| timeline.reset(facts, rows, is_same));
    }

    /// Rows that were asked for.
    pub fn take_rows(&mut self, place: WindowPlace, rows: WindowPage) {
        self.take_steps(&rows);
        self.with_timeline(|timeline, facts| timeline.take(facts, place, rows));
        self.forget_steps();
    }

    fn take_steps(&mut self, rows: &WindowPage) {
        for row in &rows.rows {
            if let WindowRow::Entry { entry, .. } = row {
                self.own.take(entry);
            }
        }
        for step in &rows.steps {
            self.take_step(step.line, &step.record, step.at_ms);
        }
    }

    fn take_step(&mut self, line: u64, record: &DeliveryRecord, at_ms: i64) {
        let steps = self
            .deliveries
            .entry(record.message_id.clone())
            .or_default();
        let is_new = steps.insert(line, (record.clone(), at_ms)).is_none();
        self.steps += usize::from(is_new);
    }

    /// Lets go of steps of messages that are nowhere on the screen, when there are too many.
    fn forget_steps(&mut self) {
        if self.steps <= STEPS_MAX {
            return;
        }
        // The latest stay: their messages may be told of, and opened, at any time.
        let oldest = self.world.seq.0.saturating_sub(STEPS_MAX as u64 / 2);
        let (timeline, own) = (&self.timeline, &self.own);
        self.deliveries.retain(|id, steps| {
            let is_late = steps
                .last_key_value()
                .is_some_and(|(line, _)| *line >= oldest);
            is_late || timeline.has(id) || own.has(id)
        });
        self.steps = self.deliveries.values().map(BTreeMap::len).sum();
    }

    /// An entry was appended. Returns `false` when one before it is missing: read again.
    pub fn append(&mut self, entry: &Entry) -> bool {
        if matches!(entry.kind, EntryKind::SessionStarted { .. })
            && self.world.session_id.as_ref() != Some(&entry.session_id)
        {
            // A clear: the world is empty again, the agents are still who they are.
            return false;
        }
        if entry.seq <= self.world.seq {
            return true;
        }
        let in_order = entry.seq.0 == self.world.seq.0 + 1 || self.world.seq == Seq(0);
        if !in_order {
            // Its row would hide that rows are missing before it.
            return false;
        }
        let touched = WorkIndex::touched(&self.world, entry);
        fold(&mut self.world, entry);
        self.unclear.take(&self.world, &touched);
        self.work.take(&self.world, touched);
        self.remember(entry);
        self.own.take(entry);
        self.with_timeline(|timeline, facts| timeline.append(facts, entry));
        true
    }

    /// The hash on the line of the entry that was appended last.
    pub fn note_hash(&mut self, id: &EntryId, hash: &str) {
        self.world.note_hash(id, hash);
    }

    /// Before each view: time has passed, which makes handoffs stale, and what is kept for the view
    /// may be of an earlier world.
    pub fn advance(&mut self, now_ms: i64) {
        self.work.advance(&self.world, now_ms);
        self.findings.follow(&self.world);
        let (open, rules) = (&self.world.open_approvals, &self.status.policy.rules);
        self.approvals.follow(open, rules, &self.about.root);
    }

    fn remember(&mut self, entry: &Entry) {
        if let EntryKind::Delivery(record) = &entry.kind {
            self.take_step(entry.seq.0, record, entry.timestamp_ms);
            // Not with each of them: looking through them costs.
            if self.steps.is_multiple_of(STEPS_MAX) {
                self.forget_steps();
            }
        }
    }
}

/// The entry of a line, with the number of that line where it is known: what ContextRelay 3 wrote
/// carries none itself. `None` for a line that is none.
pub fn entry(line: impl Into<EntryLine>, place: Option<u64>) -> Option<Entry> {
    let mut entry = line.into().entry()?;
    if let Some(place) = place {
        entry.seq = Seq(place);
    }
    Some(entry)
}

/// The entries of a page that can be read.
pub fn entries(page: EntryPage) -> Vec<Entry> {
    // A daemon of an earlier build names no places.
    let places = page.places.into_iter().map(Some);
    page.entries
        .into_iter()
        .zip(places.chain(std::iter::repeat(None)))
        .filter_map(|(line, place)| entry(line, place))
        .collect()
}

/// How a session's record is named on the screen: the time in an id tells sessions apart for
/// machines, the digits behind it for people.
pub fn session_name(id: &SessionId) -> &str {
    let id = id.as_str();
    id.rsplit_once('_').map_or(id, |(_, digits)| digits)
}

#[cfg(test)]
mod cost_tests;
#[cfg(test)]
mod tests;
