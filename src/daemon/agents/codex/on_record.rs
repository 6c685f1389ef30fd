//! Records what happened to Codex, as far as the record does not say it yet.

use crate::core::agent::{Agent, Party};
use crate::core::entry::{AgentChanged, EntryKind};
use crate::core::id::RuntimeSession;
use crate::daemon::agents::codex_lane::{CodexNews, CodexOnRecord};
use crate::daemon::owners::{Agents, Base};

impl Agents {
    /// Has the record say what follows for Codex from this, where the lane finds that it has to.
    pub(in crate::daemon) fn record_codex(&self, base: &mut Base, news: CodexNews<'_>) {
        let Some((changed, text)) = self.codex.to_record(news, base.codex_on_record()) else {
            return;
        };
        let (source, kind) = (Party::System, EntryKind::AgentChanged(changed));
        match news {
            // It is told again by itself.
            CodexNews::Waits => base.recorder.mention(source, kind, text),
            _ => base.recorder.keep(source, kind, text),
        }
    }
}

impl Base {
    fn codex_on_record(&self) -> CodexOnRecord {
        let (recorder, shared) = (&self.recorder, RuntimeSession::default());
        let world = recorder.world().agent(Agent::Codex);
        let mut said = recorder.said_on_the_way(Agent::Codex, shared);
        let said = match said.rfind(|said| says_where(said)) {
            Some(said) => said.clone(),
            None => AgentChanged {
                pid: world.pid,
                thread_id: world.thread_id.clone(),
                why: world.why.clone(),
                ..AgentChanged::of(Agent::Codex, world.state)
            },
        };
        CodexOnRecord::of(said, world.why.clone())
    }
}

/// Whether it says on which thread Codex works, or that it does not: what it waits for meanwhile
/// says neither.
fn says_where(said: &AgentChanged) -> bool {
    said.thread_id.is_some() || !said.state.is_attached()
}
