//! Sources for how full an agent's context is: Codex's figures, and the end of Claude's transcript.

use std::time::Duration;

use tokio::time::sleep;

use crate::adapters::claude::transcript;
use crate::core::agent::Agent;
use crate::core::context_fill::ContextSource;
use crate::core::context_meter::ContextReading;
use crate::daemon::agents::contexts::Contexts;
use crate::daemon::base::reads_beside::ReadsBeside;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{Event, TranscriptRead};
use crate::wire::control::{HookEvent, HookParams, SessionSource};

/// When the transcript is looked at. While a tool has just run, the answer that called it is on
/// the disk.
const AT_ONCE: &[Duration] = &[Duration::ZERO];

/// At a turn's end its last answer is not there yet (2.1.330, observed): soon after, and once more
/// in case the disk was slow.
const AFTER_TURN: &[Duration] = &[Duration::from_millis(250), Duration::from_millis(1_750)];

/// What Codex says of its context. Whether that is new.
pub(in crate::daemon) fn codex_context(
    contexts: &mut Contexts,
    at_ms: i64,
    used: u64,
    window: Option<u64>,
) -> bool {
    let reading = ContextReading {
        used,
        source: ContextSource::Vendor,
        window: window.map(|window| (window, ContextSource::Vendor)),
        at_ms,
    };
    contexts.read(Agent::Codex, reading)
}

/// Codex's context was compacted. Its figures follow by themselves, before this or after.
pub(in crate::daemon) fn codex_was_compacted(contexts: &mut Contexts, now_ms: i64) {
    let left = contexts.used(Agent::Codex);
    contexts.compacted(Agent::Codex, left, now_ms);
}

/// A hook of Claude's: which conversation it is in, and what its context does. Whether that is new.
pub(in crate::daemon) fn meter_claude(
    contexts: &mut Contexts,
    reads: &ReadsBeside,
    now_ms: i64,
    params: &HookParams,
) -> bool {
    let Some(path) = params.transcript_path() else {
        return false;
    };
    contexts.converses(Agent::Claude, &path.to_string_lossy());
    match (&params.event, params.source()) {
        (HookEvent::Stop | HookEvent::StopFailure, _) => {
            look_at_transcript(contexts, reads, AFTER_TURN);
        }
        (HookEvent::SessionStart, Some(SessionSource::Compact)) => {
            contexts.compacted(Agent::Claude, None, now_ms);
            look_at_transcript(contexts, reads, AFTER_TURN);
            return true;
        }
        (
            HookEvent::SessionStart
            | HookEvent::PostToolUse
            | HookEvent::PreCompact
            | HookEvent::PostCompact,
            _,
        ) => {
            look_at_transcript(contexts, reads, AT_ONCE);
        }
        _ => {}
    }
    false
}

/// What Claude gives to the person's status line. Whether that is new.
pub(in crate::daemon) fn meter_status_line(
    contexts: &mut Contexts,
    now_ms: i64,
    params: &HookParams,
) -> bool {
    let Some(path) = params.transcript_path() else {
        return false;
    };
    contexts.converses(Agent::Claude, &path.to_string_lossy());
    let figures = params.context.unwrap_or_default();
    let mut is_new = false;
    if let Some(window) = figures.window {
        is_new |= contexts.window_told(Agent::Claude, window, now_ms);
    }
    if let Some(used) = figures.used {
        let reading = ContextReading {
            used,
            source: ContextSource::StatusLine,
            window: None,
            at_ms: now_ms,
        };
        is_new |= contexts.read(Agent::Claude, reading);
    }
    is_new
}

/// The end of a transcript was read. Whether that is new.
pub(in crate::daemon) fn on_transcript(
    contexts: &mut Contexts,
    at_ms: i64,
    read: TranscriptRead,
) -> bool {
    if read.is_last {
        contexts.looked();
    }
    let Some(end) = read.end.filter(|_| contexts.is_transcript(&read.path)) else {
        return false;
    };
    let reading = ContextReading {
        used: end.used,
        source: ContextSource::Transcript,
        window: end.window,
        at_ms,
    };
    contexts.read(Agent::Claude, reading)
}

/// Has the end of Claude's transcript read beside the loop, after each of these times.
fn look_at_transcript(contexts: &mut Contexts, reads: &ReadsBeside, after: &'static [Duration]) {
    let Some(path) = contexts.transcript() else {
        return;
    };
    if !contexts.may_look(after.len() > 1) {
        return;
    }
    let reads = reads.clone();
    tokio::spawn(async move {
        for (at, wait) in after.iter().enumerate() {
            sleep(*wait).await;
            let looked_at = path.clone();
            let look = move || transcript::read_end(&looked_at);
            let end = reads.read(WorkBeside::ContextLook, look).await;
            let read = TranscriptRead {
                end: end.flatten(),
                path: path.clone(),
                is_last: at + 1 == after.len(),
            };
            let Some(events) = reads.events().upgrade() else {
                return;
            };
            let _ = events.send(Event::TranscriptRead(read)).await;
        }
    });
}
