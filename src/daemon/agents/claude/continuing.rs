//! How Claude continues after its context was compacted, cleared or started: what its hooks report
//! of that, and what it is given.

use crate::core::agent::Agent;
use crate::core::continuity::{PACKET_CHARS_MAX, SHORT_CHARS_MAX};
use crate::core::entry::{ReloadCause, ReloadStep, ReloadWay};
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::daemon::agents::reloads::ReloadOrder;
use crate::daemon::owners::continuation::ThenReloaded;
use crate::daemon::owners::{Agents, Base, Daemon, HeldByRows};
use crate::wire::control::{HookEvent, HookParams, SessionSource};

/// The tools of Claude's that read a file (2.1.330).
const READING: [&str; 1] = ["Read"];

/// Those that write one.
const WRITING: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// The most that joins the instructions of a compaction, in characters: Claude shows it to the
/// person too.
const KEEP_CHARS_MAX: usize = 300;

impl Agents {
    /// What a hook tells of the thread of Claude's work, whatever else it tells.
    pub(in crate::daemon) fn claude_continues(
        &mut self,
        base: &mut Base,
        pair: &RuntimeSession,
        params: &HookParams,
    ) {
        match &params.event {
            HookEvent::UserPromptSubmit => {
                self.claude_went_on(base, pair, true, params);
                // Of a turn that the person stopped no hook told the end.
                self.append_touched(base, pair);
                self.search_claudes_words(base, pair, params);
            }
            HookEvent::PostToolUse => {
                // It does not say that a compaction which is not done was given up.
                self.claude_went_on(base, pair, false, params);
                self.claude_touched(base, pair, params, &READING);
            }
            HookEvent::Stop | HookEvent::StopFailure => {
                self.claude_went_on(base, pair, true, params);
                self.append_touched(base, pair);
                self.search_claudes_words(base, pair, params);
                self.look_at_rules(base);
            }
            HookEvent::PreCompact => {
                // What it said and wrote is in its context no more, and in the packet only from here.
                self.append_touched(base, pair);
                self.search_claudes_words(base, pair, params);
                let trigger = params.detail.as_deref().unwrap_or_default();
                let now_ms = base.clock.now_ms();
                self.reloads.compacts(pair.clone(), trigger.into(), now_ms);
                base.clients.status_changed();
            }
            HookEvent::SessionStart if params.source() == Some(SessionSource::Compact) => {
                self.reloads.goes_on_compacted(pair);
            }
            HookEvent::SessionStart => {
                // What the Claude before this one began to compact stays as it was.
                self.reloads.compacted(pair);
                base.clients.status_changed();
                self.leave_claudes_turn(base, pair);
            }
            HookEvent::PostCompact => {
                let summary = params.text.clone().unwrap_or_default();
                let begun = self.reloads.compacted(pair);
                base.claude_compacted(pair, begun, params, summary);
            }
            HookEvent::SessionEnd => {
                self.search_claudes_words(base, pair, params);
                self.leave_claudes_turn(base, pair);
                self.reloads.left_compaction(pair, true);
                base.clients.status_changed();
                let why = "Claude's session ended before it was seen to go on".to_owned();
                self.settle_reload(base, Agent::Claude, pair, ReloadStep::Unknown { why });
            }
            _ => {}
        }
    }

    /// Claude starts a conversation, or goes on with one: gives what it needs for that to `then`.
    pub(in crate::daemon) fn reload_claude(
        &mut self,
        base: &mut Base,
        held: &mut HeldByRows,
        pair: &RuntimeSession,
        source: Option<SessionSource>,
        then: impl FnOnce(&mut Daemon, Option<String>) + Send + 'static,
    ) {
        let (cause, chars_max) = match source {
            Some(SessionSource::Compact) => (ReloadCause::Compacted, PACKET_CHARS_MAX),
            Some(SessionSource::Resume | SessionSource::Fork) => {
                (ReloadCause::Resumed, SHORT_CHARS_MAX)
            }
            Some(SessionSource::Clear) => (ReloadCause::Cleared, SHORT_CHARS_MAX),
            _ => (ReloadCause::Started, SHORT_CHARS_MAX),
        };
        let order = ReloadOrder {
            agent: Agent::Claude,
            pair: pair.clone(),
            cause,
            way: ReloadWay::Hook,
            chars_max,
            between_turns: false,
        };
        let then: ThenReloaded =
            Box::new(move |daemon, packet| then(daemon, packet.map(|packet| packet.text)));
        self.reload(base, held, order, then);
    }

    /// Claude's model was asked: what it was given before is in its context, and a compaction of
    /// which it said no more is over.
    fn claude_went_on(
        &mut self,
        base: &mut Base,
        pair: &RuntimeSession,
        is_new_turn: bool,
        params: &HookParams,
    ) {
        self.settle_reload(base, Agent::Claude, pair, ReloadStep::Given);
        if let Some(begun) = self.reloads.left_compaction(pair, is_new_turn) {
            base.claude_compacted(pair, Some(begun), params, String::new());
        }
    }

    /// A helper of Claude's used a tool on a file: what it wrote is Claude's work, and what it read is
    /// not in Claude's context.
    pub(in crate::daemon) fn helper_touched(
        &mut self,
        base: &Base,
        pair: &RuntimeSession,
        params: &HookParams,
    ) {
        self.claude_touched(base, pair, params, &[]);
    }

    fn claude_touched(
        &mut self,
        base: &Base,
        pair: &RuntimeSession,
        params: &HookParams,
        reading: &[&str],
    ) {
        let (Some(tool), Some(path)) = (&params.tool, &params.path) else {
            return;
        };
        let is_written = WRITING.contains(&tool.as_str());
        if is_written || reading.contains(&tool.as_str()) {
            let below = base.in_project(path).unwrap_or_else(|| path.clone());
            if is_written {
                let now_ms = base.clock.now_ms();
                self.recent_writes
                    .wrote(Agent::Claude, below.clone(), now_ms);
            }
            self.touched.file(pair, below, is_written);
        }
    }

    /// Before the next process, which knows of a turn that runs only what the record says, and before
    /// another task becomes the current one.
    pub(in crate::daemon) fn append_touched_so_far(&mut self, base: &mut Base) {
        for (pair, files) in self.touched.take_all() {
            base.append_files(&pair, files);
        }
    }

    /// A turn is over, ended by Claude or by the person.
    pub(in crate::daemon) fn append_touched(&mut self, base: &mut Base, pair: &RuntimeSession) {
        if let Some(files) = self.touched.take(pair) {
            base.append_files(pair, files);
        }
    }
}

impl Base {
    /// Packets that a previous daemon was about to give: its hooks are gone, and nobody knows which
    /// of them got their answer.
    pub(in crate::daemon) fn lose_claudes_packets(&mut self) {
        let states = self.recorder.world().continuity.get(&Agent::Claude);
        let offered = states.into_iter().flatten().filter_map(|(pair, state)| {
            let packet = state.packet.as_ref()?;
            let is_open = matches!(packet.step, ReloadStep::Offered { .. });
            is_open.then(|| (pair.clone(), packet.as_reload()))
        });
        for (pair, reload) in offered.collect::<Vec<_>>() {
            let why = "the daemon ended before Claude was seen to go on".to_owned();
            self.note_reload(Agent::Claude, &pair, reload, ReloadStep::Unknown { why });
        }
    }

    /// What a summary must not lose: the ids that are open.
    pub(in crate::daemon) fn ids_to_keep(&self, pair: &RuntimeSession) -> Option<String> {
        let world = self.recorder.world();
        // An id of somebody else's record may be any text, and this one is shown on a terminal.
        let is_ours = |id: &EntryId, seq: Seq, of: Option<&RuntimeSession>| {
            let is_plain = id
                .as_str()
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
            is_plain && !world.is_foreign(seq) && of.is_none_or(|of| of == pair)
        };
        let handoffs = world
            .standing_handoffs()
            .filter(|handoff| is_ours(&handoff.id, handoff.seq, handoff.runtime_session.as_ref()))
            .map(|handoff| format!("handoff {}", handoff.id));
        let questions = world.open_questions.iter();
        let questions = questions
            .filter(|(seq, asked)| is_ours(&asked.id, **seq, asked.runtime_session.as_ref()))
            .map(|(_, asked)| format!("message {}", asked.id));
        let proposals = world.pending_proposals.values();
        let proposals = proposals
            .filter(|pending| is_ours(&pending.id, pending.seq, pending.runtime_session.as_ref()))
            .map(|pending| format!("proposal {}", pending.id));
        let mut text = String::from("Keep these ids of contextrelay in the summary:");
        let mut is_empty = true;
        for id in handoffs.chain(proposals).chain(questions) {
            if text.chars().count() + id.chars().count() + 2 > KEEP_CHARS_MAX {
                break;
            }
            text.push_str(if is_empty { " " } else { ", " });
            text.push_str(&id);
            is_empty = false;
        }
        (!is_empty).then_some(text)
    }
}
