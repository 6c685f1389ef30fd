//! Which hooks count: those of the Claude that gets the deliveries.

use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::attach::ConnId;
use crate::daemon::base::clients::Clients;

/// Whether a hook is one of the Claude that gets the deliveries. A second Claude of the same pair
/// gets none, and what it does is not what the first one does; nor does one that a program has answer
/// a single prompt.
pub(in crate::daemon) fn is_receivers_hook(
    claude: &ClaudeLane,
    clients: &Clients,
    hook: ConnId,
    process: Option<u32>,
) -> bool {
    if (clients.get(hook)).is_some_and(|hook| hook.hello.in_print_mode) {
        return false;
    }
    let pair = clients.pair(hook, None);
    if clients.is_kept_for_another(&pair, process) {
        return false;
    }
    let Some(ladder) = claude.ladder(&pair) else {
        return true;
    };
    if ladder.receiver().is_some() {
        return ladder.is_receivers(process);
    }
    // Without a bridge the doorbell tells who it is, and without both the hook is all there is.
    let bell = ladder.bell().map(ConnId::of);
    let doorbell_pid = bell.and_then(|bell| clients.get(bell)?.hello.agent_pid);
    match (doorbell_pid, process) {
        (Some(doorbell_pid), Some(process)) => doorbell_pid == process,
        _ => true,
    }
}
