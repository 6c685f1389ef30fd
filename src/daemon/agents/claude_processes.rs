//! [`ClaudeProcesses`]: what is known of each Claude process: its monitor, its hooks, its bridge.
//! The pid comes from clients, and no permission depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::adapters::claude::hooks_switch::HooksOff;
use crate::core::policy::ClaudeHooks;
use crate::daemon::agents::claude_folders::ClaudeFolders;
use crate::daemon::attach::ConnId;
use crate::wire::control::Hello;

/// A bridge that Claude starts for a call hears of that call within this long, ms. Claude takes
/// well below a second for it; a human takes longer from Reconnect to the next prompt's call.
const FOR_A_CALL_MS: i64 = 2_000;

/// How many processes are known. Of those that ended nobody asks, so that the one with the lowest
/// id goes: most likely it is the oldest.
const PROCESSES_MAX: usize = 64;

/// What is known of Claude's processes.
#[derive(Debug, Default)]
pub struct ClaudeProcesses {
    known: BTreeMap<u32, ClaudeProcess>,
    /// A file switches off the hooks of each that was not started to keep them.
    hooks_off: Option<HooksOff>,
    folders: Arc<ClaudeFolders>,
}

/// What is known of one, in this process and in the next.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::daemon) struct ClaudeProcess {
    /// It says that its monitor does not run.
    is_monitor_off: bool,
    /// Its doorbell was here.
    had_doorbell: bool,
    /// It has run a hook of ours, so that it runs the one of a turn's beginning.
    runs_hooks: bool,
    /// One of them judges each call of a tool.
    is_judged: bool,
    /// Its bridge died while it lived.
    dead_bridge: Option<DeadBridge>,
}

/// A bridge that died while its Claude lived.
///
/// Claude starts a dead bridge again for its next call, that call works, and then the tools are
/// withdrawn although the new process lives; `/mcp` -> Reconnect gives them back (Claude Code
/// 2.1.330, observed, 3 of 3). So a bridge that comes for a call has lost its tools, and one that
/// comes without a call was connected again by the human.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeadBridge {
    pid: u32,
    heir: Option<HeirBridge>,
}

/// The bridge that came instead of one that died.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeirBridge {
    pid: u32,
    /// `None` while it is not connected.
    #[serde(skip)]
    conn: Option<ConnId>,
    /// It came for a call, and has no tools.
    for_a_call: bool,
}

impl DeadBridge {
    /// The bridge that came instead, where that is this process and has no tools.
    fn toolless_heir(&mut self, pid: u32) -> Option<&mut HeirBridge> {
        let heir = self.heir.as_mut();
        heir.filter(|heir| heir.pid == pid && heir.for_a_call)
    }
}

impl ClaudeProcesses {
    /// The doorbell of this Claude is here.
    pub(in crate::daemon) fn bell_came(&mut self, claude: u32) {
        let process = self.of(claude);
        process.is_monitor_off = false;
        process.had_doorbell = true;
    }

    /// This Claude says whether its monitor runs. Returns whether that is new.
    pub(in crate::daemon) fn monitor(&mut self, claude: u32, runs: bool) -> bool {
        let is_monitor_off = &mut self.of(claude).is_monitor_off;
        std::mem::replace(is_monitor_off, !runs) == runs
    }

    /// This Claude runs our hooks. `is_judged`: that of a call of a tool as well.
    pub(in crate::daemon) fn hook_ran(&mut self, claude: u32, is_judged: bool) {
        let process = self.of(claude);
        process.runs_hooks = true;
        process.is_judged |= is_judged;
    }

    /// A bridge is there.
    pub(in crate::daemon) fn bridge_came(&mut self, conn: ConnId, bridge: &Hello) {
        if let Some(folder) = &bridge.folder {
            self.folders.came(conn, folder);
        }
        let Some(claude) = bridge.agent_pid else {
            return;
        };
        let Some(process) = self.known.get_mut(&claude) else {
            return;
        };
        let dead = &mut process.dead_bridge;
        if let Some(heir) = dead
            .as_mut()
            .and_then(|dead| dead.toolless_heir(bridge.pid))
        {
            // It only lost its connection, and its tools are gone as before.
            heir.conn = Some(conn);
            return;
        }
        match dead {
            Some(dead) if dead.pid != bridge.pid => {
                dead.heir = Some(HeirBridge {
                    pid: bridge.pid,
                    conn: Some(conn),
                    for_a_call: false,
                });
            }
            dead => *dead = None,
        }
    }

    /// Where the Claudes that are here were started.
    pub(in crate::daemon) fn folders(&self) -> &Arc<ClaudeFolders> {
        &self.folders
    }

    /// A client is gone: what was a bridge says of no folder any more.
    pub(in crate::daemon) fn client_left(&mut self, conn: ConnId) {
        self.folders.left(conn);
    }

    /// A bridge is gone. It may dial again: then it did not die.
    pub(in crate::daemon) fn bridge_left(&mut self, bridge: &Hello) {
        let Some(claude) = bridge.agent_pid else {
            return;
        };
        let pid = bridge.pid;
        let dead = &mut self.of(claude).dead_bridge;
        match dead.as_mut().and_then(|dead| dead.toolless_heir(pid)) {
            Some(heir) => heir.conn = None,
            None => *dead = Some(DeadBridge { pid, heir: None }),
        }
    }

    /// A tool was called through this bridge, so long after it came, ms. Returns whether that says
    /// something new.
    pub(in crate::daemon) fn called(&mut self, conn: ConnId, claude: u32, after_ms: i64) -> bool {
        let Some(process) = self.known.get_mut(&claude) else {
            return false;
        };
        let Some(dead) = &mut process.dead_bridge else {
            return false;
        };
        match &mut dead.heir {
            Some(heir) if heir.conn == Some(conn) => {
                if after_ms < FOR_A_CALL_MS {
                    return !std::mem::replace(&mut heir.for_a_call, true);
                }
                process.dead_bridge = None;
                true
            }
            _ => false,
        }
    }

    /// Nothing of Claude is here. A bridge that died may yet come again, for a call.
    pub(in crate::daemon) fn all_left(&mut self) {
        self.known.retain(|_, process| {
            *process = ClaudeProcess {
                dead_bridge: process.dead_bridge,
                ..ClaudeProcess::default()
            };
            process.dead_bridge.is_some()
        });
    }

    /// Whether this Claude says that its monitor does not run.
    pub(in crate::daemon) fn is_monitor_off(&self, claude: u32) -> bool {
        self.get(claude)
            .is_some_and(|process| process.is_monitor_off)
    }

    /// Whether the doorbell of this Claude was here.
    pub(in crate::daemon) fn had_doorbell(&self, claude: u32) -> bool {
        self.get(claude).is_some_and(|process| process.had_doorbell)
    }

    /// Whether this Claude has run a hook of ours.
    pub(in crate::daemon) fn runs_hooks(&self, claude: u32) -> bool {
        self.get(claude).is_some_and(|process| process.runs_hooks)
    }

    /// A file switches hooks off now, or no longer. Whose hooks may have ended is judged again once one
    /// of them has run: `keeping` are the others.
    pub(in crate::daemon) fn hooks_switched(
        &mut self,
        off: Option<HooksOff>,
        keeping: &BTreeSet<u32>,
    ) {
        if let Some(off) = &off {
            for (claude, process) in &mut self.known {
                process.is_judged &= !off.is_managed && keeping.contains(claude);
            }
        }
        self.hooks_off = off;
    }

    /// Whether hooks of ours judge what the tools of all these Claudes are about to do.
    pub(in crate::daemon) fn hooks_of<'h>(
        &self,
        claudes: impl Iterator<Item = &'h Hello>,
    ) -> ClaudeHooks {
        let mut is_one_here = false;
        for hello in claudes {
            is_one_here = true;
            let off = self.hooks_off.as_ref();
            if let Some(off) = off.filter(|off| off.is_managed || !hello.keeps_hooks) {
                return off.clone().into();
            }
            let is_unseen = |folder: &String| !self.folders.looks_in(folder);
            let may_be_off = !hello.keeps_hooks
                && (hello.folder_unnamed || hello.folder.as_ref().is_some_and(is_unseen));
            if may_be_off || !hello.agent_pid.is_some_and(|claude| self.is_judged(claude)) {
                return ClaudeHooks::NotSeen;
            }
        }
        match &self.hooks_off {
            _ if is_one_here => ClaudeHooks::Judge,
            Some(off) => off.clone().into(),
            None => ClaudeHooks::NotSeen,
        }
    }

    fn is_judged(&self, claude: u32) -> bool {
        self.get(claude).is_some_and(|process| process.is_judged)
    }

    /// Whether this Claude has no tools, as far as can be told.
    pub(in crate::daemon) fn has_no_tools(&self, claude: u32) -> bool {
        self.get(claude)
            .and_then(|process| process.dead_bridge)
            .is_some_and(|dead| dead.heir.is_none_or(|heir| heir.for_a_call))
    }

    /// What the next process gets.
    pub(in crate::daemon) fn carried(&self) -> Vec<(u32, ClaudeProcess)> {
        let carried = self.known.iter().map(|(claude, process)| {
            let mut process = process.clone();
            // A bridge that has its tools is one like any other: to the next process it comes as a
            // new one, and may call in the same moment.
            let dead = process.dead_bridge;
            process.dead_bridge = dead.filter(|dead| dead.heir.is_none_or(|heir| heir.for_a_call));
            (*claude, process)
        });
        carried.collect()
    }

    /// Takes on what the previous process knew.
    pub(in crate::daemon) fn take_over(&mut self, carried: Vec<(u32, ClaudeProcess)>) {
        self.known.extend(carried);
    }

    fn get(&self, claude: u32) -> Option<&ClaudeProcess> {
        self.known.get(&claude)
    }

    fn of(&mut self, claude: u32) -> &mut ClaudeProcess {
        if self.known.len() >= PROCESSES_MAX && !self.known.contains_key(&claude) {
            self.known.pop_first();
        }
        self.known.entry(claude).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bridge(pid: u32) -> Hello {
        serde_json::from_value(serde_json::json!({
            "protocol": 1, "role": "claude", "pid": pid, "agentPid": 7,
        }))
        .unwrap()
    }

    #[test]
    fn a_switch_in_a_file_counts_for_those_that_do_not_keep_their_hooks() {
        let keeps = |pid: u32, keeps_hooks| Hello {
            agent_pid: Some(pid),
            keeps_hooks,
            ..bridge(pid)
        };
        let off = |is_managed| HooksOff {
            file: "/p/.claude/settings.local.json".into(),
            is_managed,
        };
        let (ours, plain) = (keeps(7, true), keeps(8, false));
        let mut known = ClaudeProcesses::default();
        for claude in [7, 8] {
            known.hook_ran(claude, true);
        }
        let both = |known: &ClaudeProcesses| known.hooks_of([&ours, &plain].into_iter());
        assert_eq!(both(&known), ClaudeHooks::Judge);
        known.hooks_switched(Some(off(false)), &BTreeSet::from([7]));
        assert_eq!(both(&known), off(false).into());
        assert_eq!(known.hooks_of([&ours].into_iter()), ClaudeHooks::Judge);
        assert_eq!(known.hooks_of([].into_iter()), off(false).into());
        // One that ran none since is not known to run them again.
        known.hooks_switched(None, &BTreeSet::from([7]));
        assert_eq!(both(&known), ClaudeHooks::NotSeen);
        known.hook_ran(8, true);
        assert_eq!(both(&known), ClaudeHooks::Judge);
        known.hooks_switched(Some(off(true)), &BTreeSet::from([7]));
        assert_eq!(known.hooks_of([&ours].into_iter()), off(true).into());
    }

    #[test]
    fn a_claude_in_a_folder_that_no_text_names_is_not_known_to_run_hooks_unless_it_keeps_them() {
        let mut known = ClaudeProcesses::default();
        known.hook_ran(7, true);
        let hooks = |folder_unnamed, keeps_hooks| {
            let there = Hello {
                agent_pid: Some(7),
                folder_unnamed,
                keeps_hooks,
                ..bridge(7)
            };
            known.hooks_of([&there].into_iter())
        };
        assert_eq!(hooks(true, false), ClaudeHooks::NotSeen);
        assert_eq!(hooks(true, true), ClaudeHooks::Judge);
        assert_eq!(hooks(false, false), ClaudeHooks::Judge);
    }

    #[test]
    fn a_folder_is_looked_at_for_as_long_as_a_bridge_of_its_claude_is_here() {
        let (first, second) = (ConnId::next(), ConnId::next());
        let mut known = ClaudeProcesses::default();
        let folders = Arc::clone(known.folders());
        let there = Hello {
            folder: Some("/p/web".to_owned()),
            ..bridge(1)
        };
        known.bridge_came(first, &there);
        known.bridge_came(second, &there);
        known.bridge_came(ConnId::next(), &bridge(2));
        assert_eq!(folders.all(), BTreeSet::from(["/p/web".into()]));
        known.client_left(first);
        assert_eq!(folders.all().len(), 1);
        known.client_left(second);
        assert_eq!(folders.all(), BTreeSet::new());
    }

    #[test]
    fn tools_are_gone_until_a_bridge_comes_that_was_not_started_for_a_call() {
        let (first, second) = (ConnId::next(), ConnId::next());
        let mut known = ClaudeProcesses::default();
        known.bridge_came(first, &bridge(1));
        assert!(!known.has_no_tools(7));
        known.bridge_left(&bridge(1));
        assert!(known.has_no_tools(7));
        // It only lost its connection.
        known.bridge_came(second, &bridge(1));
        assert!(!known.has_no_tools(7));

        known.bridge_left(&bridge(1));
        known.bridge_came(second, &bridge(2));
        assert!(known.called(second, 7, 300), "started for a call");
        assert!(known.has_no_tools(7));
        assert!(!known.called(second, 7, 310));
        // A later call shows that it has its tools.
        assert!(known.called(second, 7, 60_000));
        assert!(!known.has_no_tools(7));

        known.bridge_left(&bridge(2));
        known.bridge_came(first, &bridge(3));
        assert!(!known.has_no_tools(7), "the human connected it again");
    }

    #[test]
    fn what_is_known_of_a_process_goes_on_and_who_dials_again_got_no_tools_by_that() {
        let (first, second) = (ConnId::next(), ConnId::next());
        let mut known = ClaudeProcesses::default();
        known.bell_came(7);
        known.hook_ran(7, true);
        assert!(known.monitor(7, false));
        known.bridge_came(first, &bridge(1));
        known.bridge_left(&bridge(1));
        known.bridge_came(second, &bridge(2));
        assert!(known.called(second, 7, 300), "started for a call");
        // Not only to the next process.
        known.bridge_left(&bridge(2));
        known.bridge_came(first, &bridge(2));
        assert!(known.has_no_tools(7));

        let next = |known: &ClaudeProcesses| {
            let text = serde_json::to_string(&known.carried()).unwrap();
            let mut next = ClaudeProcesses::default();
            next.take_over(serde_json::from_str(&text).unwrap());
            next
        };
        let mut after = next(&known);
        assert!(after.is_monitor_off(7) && after.had_doorbell(7) && after.runs_hooks(7));
        assert!(after.is_judged(7) && after.has_no_tools(7));
        after.bridge_came(second, &bridge(2));
        assert!(after.has_no_tools(7));
        assert!(after.called(second, 7, 60_000));
        assert!(!after.has_no_tools(7));

        // The human connected this one, which repeats its call at the next process at once.
        known.bridge_left(&bridge(2));
        known.bridge_came(second, &bridge(3));
        let mut after = next(&known);
        after.bridge_came(first, &bridge(3));
        after.called(first, 7, 10);
        assert!(!after.has_no_tools(7));
    }
}
