//! Which conversation Claude is in, so that it can be resumed by its id.

use crate::core::agent::Agent;
use crate::core::entry::AgentChanged;
use crate::core::id::{RuntimeSession, ThreadId};
use crate::core::resume_command::is_plain;
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::base::recorder::Recorder;

/// Claude had a prompt in this session of its own: from then on there is something to take up. What
/// is no plain id is not believed: nothing could take it up. `/clear` and `--fork-session` begin
/// another one (Claude Code 2.1.330, observed). `None` where the record has it.
pub(in crate::daemon) fn conversation<T>(
    recorder: &Recorder<T>,
    claude: &ClaudeLane,
    pair: &RuntimeSession,
    session: Option<&str>,
) -> Option<AgentChanged> {
    let known = recorder.world().agent(Agent::Claude);
    let session = session.filter(|id| is_plain(id)).map(ThreadId::new)?;
    let mut said = recorder.said_on_the_way(Agent::Claude, pair.clone()).rev();
    let said = said.find_map(|said| said.thread_id.as_ref());
    if said.or_else(|| known.conversation(pair)) == Some(&session) {
        return None;
    }
    let now = claude.state(pair)?.now();
    Some(AgentChanged {
        pid: now.pid,
        why: now.why.clone(),
        thread_id: Some(session),
        ..AgentChanged::of(Agent::Claude, now.state)
    })
}
