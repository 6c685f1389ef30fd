//! What tells how full an agent's context is: Codex's figures, and the end of Claude's transcript.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use super::event::{Event, TranscriptRead};
use super::owners::Daemon;
use crate::adapters::claude::transcript;
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::Agent;
use crate::core::context_fill::ContextSource;
use crate::core::context_meter::ContextReading;
use crate::wire::claude::transcript::TranscriptEnd;
use crate::wire::control::HookParams;

/// When the transcript is looked at. While a tool has just run, the answer that called it is on
/// the disk.
const AT_ONCE: &[Duration] = &[Duration::ZERO];

/// At a turn's end its last answer is not there yet (2.1.330, observed): soon after, and once more
/// in case the disk was slow.
const AFTER_TURN: &[Duration] = &[Duration::from_millis(250), Duration::from_millis(1_750)];

/// The source of a `SessionStart` after a compaction.
const COMPACT: &str = "compact";

impl Daemon {
    /// Codex's turns, as far as they say how its context grows.
    pub(super) fn meter_codex(&mut self, fact: &CodexFact) {
        match fact {
            CodexFact::ThreadAdopted { thread_id } => {
                self.contexts.converses(Agent::Codex, thread_id.as_str());
            }
            CodexFact::TurnStarted { .. } => self.contexts.turn_began(Agent::Codex),
            CodexFact::TurnCompleted { .. } => self.contexts.turn_ended(Agent::Codex),
            _ => {}
        }
    }

    /// What Codex says of its context.
    pub(super) fn codex_context(&mut self, used: u64, window: Option<u64>) {
        let reading = ContextReading {
            used,
            source: ContextSource::Vendor,
            window: window.map(|window| (window, ContextSource::Vendor)),
            at_ms: self.clock.now_ms(),
        };
        if self.contexts.read(Agent::Codex, reading) {
            self.status_changed();
        }
    }

    /// Codex's context was compacted. Its figures follow by themselves, before this or after.
    pub(super) fn codex_was_compacted(&mut self) {
        let left = self.contexts.used(Agent::Codex);
        let now_ms = self.clock.now_ms();
        self.contexts.compacted(Agent::Codex, left, now_ms);
        self.status_changed();
    }

    /// A hook of Claude's: which conversation it is in, and what its context does.
    pub(super) fn meter_claude(&mut self, params: &HookParams) {
        let path = params.transcript.as_deref().map(Path::new);
        let Some(path) = path.filter(|path| path.is_absolute()) else {
            return;
        };
        self.contexts
            .converses(Agent::Claude, &path.to_string_lossy());
        match (params.event.as_str(), params.detail.as_deref()) {
            ("UserPromptSubmit", _) => self.contexts.turn_began(Agent::Claude),
            ("Stop" | "StopFailure", _) => {
                self.contexts.turn_ended(Agent::Claude);
                self.look_at_transcript(AFTER_TURN);
            }
            ("SessionStart", Some(COMPACT)) => {
                let now_ms = self.clock.now_ms();
                self.contexts.compacted(Agent::Claude, None, now_ms);
                self.status_changed();
                self.look_at_transcript(AFTER_TURN);
            }
            ("SessionStart" | "PostToolUse" | "PreCompact" | "PostCompact", _) => {
                self.look_at_transcript(AT_ONCE);
            }
            _ => {}
        }
    }

    /// What Claude gives to the person's status line.
    pub(super) fn meter_status_line(&mut self, params: &HookParams) {
        let path = params.transcript.as_deref().map(Path::new);
        let Some(path) = path.filter(|path| path.is_absolute()) else {
            return;
        };
        self.contexts
            .converses(Agent::Claude, &path.to_string_lossy());
        let figures = params.context.unwrap_or_default();
        let now_ms = self.clock.now_ms();
        let mut is_new = false;
        if let Some(window) = figures.window {
            is_new |= self.contexts.window_told(Agent::Claude, window, now_ms);
        }
        if let Some(used) = figures.used {
            let reading = ContextReading {
                used,
                source: ContextSource::StatusLine,
                window: None,
                at_ms: now_ms,
            };
            is_new |= self.contexts.read(Agent::Claude, reading);
        }
        if is_new {
            self.status_changed();
        }
    }

    /// The end of a transcript was read.
    pub(super) fn on_transcript(&mut self, read: TranscriptRead) {
        if read.is_last {
            self.contexts.looked();
        }
        let Some(end) = read.end.filter(|_| self.contexts.is_transcript(&read.path)) else {
            return;
        };
        let reading = ContextReading {
            used: end.used,
            source: ContextSource::Transcript,
            window: end.window,
            at_ms: self.clock.now_ms(),
        };
        if self.contexts.read(Agent::Claude, reading) {
            self.status_changed();
        }
    }

    /// Has the end of Claude's transcript read beside the loop, after each of these times.
    fn look_at_transcript(&mut self, after: &'static [Duration]) {
        let (Some(path), Some(events)) = (self.contexts.transcript(), self.events.upgrade()) else {
            return;
        };
        if !self.contexts.may_look(after.len() > 1) {
            return;
        }
        let events = events.downgrade();
        tokio::spawn(async move {
            for (at, wait) in after.iter().enumerate() {
                sleep(*wait).await;
                let read = TranscriptRead {
                    end: read_end(path.clone()).await,
                    path: path.clone(),
                    is_last: at + 1 == after.len(),
                };
                let Some(events) = events.upgrade() else {
                    return;
                };
                let _ = events.send(Event::TranscriptRead(read)).await;
            }
        });
    }
}

async fn read_end(path: PathBuf) -> Option<TranscriptEnd> {
    tokio::task::spawn_blocking(move || transcript::read_end(&path))
        .await
        .ok()
        .flatten()
}
