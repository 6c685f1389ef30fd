//! Which conversation Claude is in, so that it can be taken up again by its id.

use crate::core::agent::{Agent, Party};
use crate::core::entry::{AgentChanged, EntryKind};
use crate::core::id::ThreadId;
use crate::core::resume_command::is_plain;
use crate::daemon::owners::Daemon;

impl Daemon {
    /// Claude had a prompt in this session of its own: from then on there is something to take up.
    /// What is no plain id is not believed: nothing could take it up. `/clear` and
    /// `--fork-session` begin another one (Claude Code 2.1.330, observed).
    pub(in crate::daemon) fn claude_converses(&mut self, session: Option<&str>) {
        let known = self.recorder.world().agent(Agent::Claude).thread_id;
        let session = session.filter(|id| is_plain(id)).map(ThreadId::new);
        let Some(session) = session.filter(|session| known.as_ref() != Some(session)) else {
            return;
        };
        let now = self.claude.state().now();
        let change = AgentChanged {
            agent: Agent::Claude,
            state: now.state,
            pid: now.pid,
            why: now.why.clone(),
            until_ms: None,
            thread_id: Some(session.clone()),
        };
        self.keep_fact(
            Party::System,
            EntryKind::AgentChanged(change),
            format!("Claude converses in session {session}"),
        );
    }
}
