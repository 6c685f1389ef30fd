//! [`Section`]: the parts of a packet, before anything is left out.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::staleness::Staleness;
use super::state_json::changed_since_by;
use crate::agent::{Agent, Party};
use crate::continuity_state::{
    ContinuityState, StateTag, StatedText, TouchedFile, WORKING_SET_MAX,
};
use crate::entry::ArtifactStatus;
use crate::hidden::letters;
use crate::id::{RuntimeSession, Seq};
use crate::kept_text::brief;
use crate::snapshot::{HandoffSnapshot, Snapshot};

/// How many done handoffs and artifacts are named.
const DONE_MAX: usize = 8;

/// How many blocker notes are named: the latest ones.
const BLOCKERS_MAX: usize = 8;

/// A part of a packet.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// Lower ones fill first.
    pub(super) weight: u8,
    /// It says something of the work, so that a packet is worth its room.
    pub(super) is_work: bool,
    pub(super) items: Vec<PacketItem>,
}

/// An item of a section.
#[derive(Debug)]
pub(super) struct PacketItem {
    /// What it says: somebody's words are among it.
    pub(super) text: String,
    /// Our word of who said it, where that is said.
    pub(super) tag: String,
}

impl From<String> for PacketItem {
    fn from(text: String) -> Self {
        let tag = String::new();
        Self { text, tag }
    }
}

/// What is left of an agent's work, for a glance at any part of it.
struct View<'a> {
    world: &'a Snapshot,
    agent: Agent,
    pair: &'a RuntimeSession,
    state: &'a ContinuityState,
    peers: Vec<ContinuityState>,
}

/// What git knows, gathered by somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitFacts {
    /// The branch; none on a detached head.
    pub branch: Option<String>,
    /// The commit.
    pub head: Option<String>,
    /// Files that differ from it, as `git status --short` names them.
    pub changed: Vec<String>,
    /// The latest commits, newest first: abbreviated hash and subject.
    pub commits: Vec<String>,
}

/// All sections that have an item, in the order in which they are read.
pub(super) fn sections(
    world: &Snapshot,
    git: Option<&GitFacts>,
    agent: Agent,
    pair: &RuntimeSession,
) -> Vec<Section> {
    let state = world.told_of(agent, pair);
    let view = View {
        world,
        agent,
        pair,
        state: &state,
        peers: world.peers_of(agent, pair),
    };
    let all = [
        work("Task", 0, view.tasks()),
        work("Objective", 0, state.objective.iter().map(said).collect()),
        section("Not said yet", 2, view.unsaid()),
        work("Constraints", 1, latest(&state.constraints)),
        work("Plan", 3, state.plan.iter().map(said).collect()),
        work("Decisions", 4, view.decisions()),
        work("Done, do not redo", 3, view.done()),
        work("In progress, yours", 2, view.in_progress()),
        work("Answered, not closed", 4, view.answered()),
        work("Next steps", 1, state.next_steps.iter().map(said).collect()),
        work("Not yours", 5, view.not_yours()),
        work("Waiting", 2, view.waiting()),
        work("Open questions", 5, latest(&state.questions)),
        work("Hypothesis", 5, state.hypothesis.iter().map(said).collect()),
        work("Assumptions", 6, latest(&state.assumptions)),
        work("Files you changed last", 4, view.files()),
        work("Files you read last", 7, paths(&state.reads)),
        section("Work tree", 6, git.map(tree).unwrap_or_default()),
        section("Before you go on", 7, checklist()),
    ];
    let with_items = all.into_iter().filter(|section| !section.items.is_empty());
    with_items.collect()
}

/// What waits for an agent or that it waits for, an item each.
pub(super) fn waiting(world: &Snapshot, agent: Agent, pair: &RuntimeSession) -> Vec<String> {
    let none = ContinuityState::default();
    let view = View {
        world,
        agent,
        pair,
        state: &none,
        peers: Vec::new(),
    };
    view.waiting()
}

impl View<'_> {
    /// Of this pair, for Codex of all, for there is one for all of them; and not of somebody else's
    /// record: nobody asked for that.
    fn is_ours(&self, seq: Seq, of: Option<&RuntimeSession>) -> bool {
        let is_of_pair = self.agent == Agent::Codex || of.is_none_or(|of| of == self.pair);
        !self.world.is_foreign(seq) && is_of_pair
    }

    fn handoffs(&self) -> impl Iterator<Item = &Arc<HandoffSnapshot>> {
        let standing = self.world.standing_handoffs();
        standing.filter(|handoff| self.is_ours(handoff.seq, handoff.runtime_session.as_ref()))
    }

    /// What the operator has it work at.
    fn tasks(&self) -> Vec<PacketItem> {
        let mut tasks: Vec<_> = self.world.current_tasks_of(self.agent, self.pair).collect();
        tasks.sort_by_key(|task| task.seq);
        // One may be current in several pairs.
        tasks.dedup_by_key(|task| task.seq);
        let items = tasks.into_iter().map(|task| PacketItem {
            text: format!("{}: {}", task.id, task.title),
            tag: tag(StateTag::You, task.named),
        });
        items.collect()
    }

    /// What an agent that works has not said of its work, or not for long.
    fn unsaid(&self) -> Vec<String> {
        let mut unsaid = Vec::new();
        if self.state.objective.is_none() && !self.state.files.is_empty() {
            unsaid.push("what you are at: append_note {\"kind\":\"goal\"}".to_owned());
        }
        let turns = self.state.turns_since_written;
        if Staleness::of(turns) == Staleness::Loud {
            unsaid.push(format!(
                "anything for {turns} turns: what stands here may be old; append_note what changed"
            ));
        }
        unsaid
    }

    fn decisions(&self) -> Vec<PacketItem> {
        // The peers' count too: what was decided holds for both.
        let mut decisions: Vec<&StatedText> = self.state.decisions.iter().collect();
        decisions.extend(self.peers.iter().flat_map(|peer| &peer.decisions));
        decisions.sort_by_key(|decision| std::cmp::Reverse(decision.seq));
        // What the operator says of both is one entry, or one for each where their work stands apart.
        decisions.dedup_by(|one, other| one.seq == other.seq || is_same_word(one, other));
        decisions.into_iter().map(said).collect()
    }

    fn done(&self) -> Vec<PacketItem> {
        let mut done = latest(&self.state.done);
        let by_me = |by: &Party| by.agent() == Some(self.agent);
        let closed = self.world.closed_handoffs.iter().rev();
        let closed = closed.filter(|handoff| {
            handoff.to.as_ref().is_some_and(by_me)
                && self.is_ours(handoff.seq, handoff.runtime_session.as_ref())
        });
        done.extend(closed.take(DONE_MAX).map(|handoff| {
            // Who handed it over may have taken it back.
            let how = match handoff.closed_by.as_ref().is_some_and(by_me) {
                true => "answered",
                false => "closed",
            };
            let ask = brief(&handoff.ask);
            format!("handoff {} is {how}: {ask}", handoff.id).into()
        }));
        let artifacts = self.world.artifacts.iter().rev();
        let mine = artifacts.filter(|artifact| {
            by_me(&artifact.by) && self.is_ours(artifact.seq, artifact.runtime_session.as_ref())
        });
        // The last word on each counts.
        let mut told = BTreeSet::new();
        let last = mine
            .map(|it| (it.seq, &it.artifact))
            .filter(|(_, it)| told.insert((it.kind.as_str(), it.title.as_str())));
        let passed = last.filter(|(_, it)| it.status == ArtifactStatus::Passed);
        done.extend(passed.take(DONE_MAX).map(|(seq, artifact)| {
            let how = match artifact.ran {
                Some(_) => "when you ran it",
                None => "as you recorded it",
            };
            let title = brief(&artifact.title);
            format!("{title} passed, {how} (entry #{})", seq.0).into()
        }));
        done
    }

    /// Its own, with whether it is done with them.
    fn mine(&self, is_answered: bool) -> impl Iterator<Item = &Arc<HandoffSnapshot>> {
        let mine = self
            .handoffs()
            .filter(|handoff| handoff.to.as_ref().and_then(Party::agent) == Some(self.agent));
        mine.filter(move |handoff| handoff.final_answer.is_some() == is_answered)
    }

    /// Codex's final answer closes nothing.
    fn answered(&self) -> Vec<String> {
        let answered = self.mine(true).filter_map(|handoff| {
            let (id, from, ask) = (&handoff.id, &handoff.from, brief(&handoff.ask));
            let at = handoff.final_answer?;
            Some(format!(
                "handoff {id} from {from}: you answered it (entry #{at}); not closed: {ask}"
            ))
        });
        answered.collect()
    }

    fn in_progress(&self) -> Vec<String> {
        let mut items: Vec<String> = self
            .mine(false)
            .map(|handoff| {
                let held_up = match &handoff.blocked_by {
                    Some(id) => format!(", held up by {id}"),
                    None => String::new(),
                };
                let ask = &handoff.ask;
                format!(
                    "handoff {} from {}{held_up}: {ask}",
                    handoff.id, handoff.from
                )
            })
            .collect();
        let is_own = self.world.foreign_through == Seq(0);
        let unfinished = self.state.unfinished.iter().filter(|_| is_own);
        items
            .extend(unfinished.map(|command| format!("no end was seen of the command: {command}")));
        items
    }

    fn not_yours(&self) -> Vec<String> {
        let peer = self.agent.peer();
        let name = peer.title();
        let its = self
            .handoffs()
            .filter(|handoff| handoff.to.as_ref().and_then(Party::agent) == Some(peer));
        let mut items: Vec<String> = its
            .map(|handoff| {
                let (id, ask) = (&handoff.id, brief(&handoff.ask));
                match handoff.final_answer {
                    Some(at) => {
                        format!("{name} answered handoff {id} (entry #{at}); not closed: {ask}")
                    }
                    None if handoff.delivered || handoff.answer.is_some() => {
                        format!("{name} has handoff {id}: {ask}")
                    }
                    None => format!("handoff {id} waits for {name}: {ask}"),
                }
            })
            .collect();
        let running = self.world.agents.get(&peer);
        if let Some(text) = running.and_then(|agent| agent.turn_text.as_deref()) {
            items.push(format!("{name} works on: {}", brief(text)));
        }
        // One of the operator's may be both agents'.
        let mine = self.state.objective.as_ref();
        let is_mine = |its: &StatedText| {
            mine.is_some_and(|mine| mine.seq == its.seq || is_same_word(mine, its))
        };
        let its = self.peers.iter().filter_map(|peer| peer.objective.as_ref());
        for objective in its.filter(|its| !is_mine(its)) {
            let item = format!("{name}'s objective: {}", brief(&objective.text));
            if !items.contains(&item) {
                items.push(item);
            }
        }
        let changed = self.changed_by_peers();
        if !changed.is_empty() {
            items.push(format!("{name} changed: {}", changed.join(", ")));
        }
        items
    }

    /// What the peers changed last, the latest first.
    fn changed_by_peers(&self) -> Vec<String> {
        let files = self.peers.iter().flat_map(|peer| peer.files.iter().rev());
        let mut files: Vec<&TouchedFile> = files.collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.seq));
        let mut names: Vec<String> = Vec::new();
        for name in files.into_iter().map(|file| name(&file.path)) {
            if names.len() < WORKING_SET_MAX && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The blocker notes that stand, whichever pair wrote them: each is in the way of every proposal.
    fn blockers(&self) -> Vec<String> {
        let standing = self.world.open_blockers.iter().rev();
        let mut standing = standing.filter(|blocker| self.is_ours(blocker.seq, None));
        let named = standing.by_ref().take(BLOCKERS_MAX);
        let mut items: Vec<String> = named
            .map(|blocker| format!("blocker {} by {}: {}", blocker.id, blocker.by, blocker.text))
            .collect();
        let more = standing.count();
        if more > 0 {
            items.push(format!("earlier blocker notes that stand too: {more}"));
        }
        items
    }

    fn waiting(&self) -> Vec<String> {
        let world = self.world;
        let mut items = self.blockers();
        let mail = world
            .unsettled
            .values()
            .filter(|message| message.to == self.agent)
            .filter(|message| self.is_ours(message.seq, message.runtime_session.as_ref()))
            .count();
        if mail > 0 {
            items.push(format!(
                "messages for you that you have not answered for: {mail}"
            ));
        }
        let questions = world.open_questions.iter();
        let questions = questions
            .filter(|(seq, question)| self.is_ours(**seq, question.runtime_session.as_ref()));
        for (_, question) in questions {
            let (id, from, text) = (&question.id, &question.from, &question.text);
            if question.to == self.agent {
                items.push(format!("{from} waits for your answer to {id}: {text}"));
            } else if from.agent() == Some(self.agent) {
                items.push(format!(
                    "you wait for an answer of {} to {id}: {text}",
                    question.to
                ));
            }
        }
        let approvals = world.open_approvals.values();
        let approvals = approvals
            .filter(|asked| asked.agent == self.agent)
            .filter(|asked| self.is_ours(asked.seq, asked.runtime_session.as_ref()))
            .count();
        if approvals > 0 {
            items.push(format!(
                "requests of yours that wait for the operator: {approvals}"
            ));
        }
        let proposals = world.pending_proposals.values();
        for pending in
            proposals.filter(|pending| self.is_ours(pending.seq, pending.runtime_session.as_ref()))
        {
            let (id, by) = (&pending.id, &pending.by);
            let summary = brief(&pending.proposal.summary);
            items.push(format!(
                "proposal {id} by {by} waits for the operator: {summary}"
            ));
        }
        items
    }

    fn files(&self) -> Vec<String> {
        let files = self.state.files.iter().rev();
        let files = files.map(|file| {
            let path = name(&file.path);
            match changed_since_by(file, self.agent, &self.peers) {
                Some(peer) => {
                    let peer = peer.title();
                    format!("{path} ({peer} changed it since: read it again)")
                }
                None => path,
            }
        });
        files.collect()
    }
}

/// Whether the operator said the same twice.
fn is_same_word(one: &StatedText, other: &StatedText) -> bool {
    one.by == Party::Human && other.by == Party::Human && one.text == other.text
}

fn work(title: &'static str, weight: u8, items: Vec<impl Into<PacketItem>>) -> Section {
    Section {
        is_work: true,
        ..section(title, weight, items)
    }
}

fn section(title: &'static str, weight: u8, items: Vec<impl Into<PacketItem>>) -> Section {
    Section {
        title,
        weight,
        is_work: false,
        items: items.into_iter().map(Into::into).collect(),
    }
}

/// A value, who said it and where.
fn said(said: &StatedText) -> PacketItem {
    PacketItem {
        text: said.text.clone(),
        tag: tag(said.tag, said.seq),
    }
}

fn tag(how: StateTag, seq: Seq) -> String {
    format!(" [{} #{}]", how.as_str(), seq.0)
}

/// Newest first, so that what has no room is old.
fn latest(listed: &VecDeque<StatedText>) -> Vec<PacketItem> {
    listed.iter().rev().map(said).collect()
}

fn paths(files: &VecDeque<TouchedFile>) -> Vec<String> {
    files.iter().rev().map(|file| name(&file.path)).collect()
}

/// A file's name on one line: a break in it would begin a line of ours.
pub(super) fn name(path: &str) -> String {
    let seen = |(letter, is_hidden): (char, bool)| match letter.is_control() || is_hidden {
        true => '\u{fffd}',
        false => letter,
    };
    letters(path).map(seen).collect()
}

fn tree(git: &GitFacts) -> Vec<String> {
    let mut items = Vec::new();
    let branch = git.branch.as_deref().unwrap_or("no branch");
    let head = git.head.as_deref().unwrap_or("no commit yet");
    items.push(format!("{branch} at {head}"));
    if !git.changed.is_empty() {
        items.push(format!("not committed: {}", git.changed.join(", ")));
    }
    items.extend(git.commits.iter().cloned());
    items
}

fn checklist() -> Vec<String> {
    vec![
        "read the files that you go on with; do not trust a summary for their text".to_owned(),
        "read_context {\"view\":\"resume\"} pages all of this; task_state lists what is open"
            .to_owned(),
        "append_note what changed: objective, next step, decisions".to_owned(),
    ]
}
