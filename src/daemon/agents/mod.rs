//! What is known of the agents: the owners of [`Agents`](super::owners::Agents) and their flows.
//! That is their lanes, turns, limits, contexts and processes, the rules they were told and the
//! packets that they are given.
//!
//! [`codex`] and [`claude`] hold what is specific to one agent: what it reports to us, and how to
//! reach it.

pub(in crate::daemon) mod agent_processes;
pub(in crate::daemon) mod claude;
pub(in crate::daemon) mod claude_folders;
pub(in crate::daemon) mod claude_lane;
pub(in crate::daemon) mod claude_processes;
pub(in crate::daemon) mod codex;
pub(in crate::daemon) mod codex_lane;
pub(in crate::daemon) mod contexts;
pub(in crate::daemon) mod costs;
pub(in crate::daemon) mod inferences;
pub(in crate::daemon) mod inferring;
pub(in crate::daemon) mod limiting;
pub(in crate::daemon) mod limits;
pub(in crate::daemon) mod metering;
pub(in crate::daemon) mod nothing_came;
pub(in crate::daemon) mod recent_writes;
pub(in crate::daemon) mod registering;
pub(in crate::daemon) mod reloading;
pub(in crate::daemon) mod reloads;
pub(in crate::daemon) mod reminders;
pub(in crate::daemon) mod rules_reading;
pub(in crate::daemon) mod rules_watch;
pub(in crate::daemon) mod running_tools;
pub(in crate::daemon) mod shown_turn;
pub(in crate::daemon) mod silence;
pub(in crate::daemon) mod spoken_turns;
pub(in crate::daemon) mod touched_files;
pub(in crate::daemon) mod watching_rules;
pub(in crate::daemon) mod watching_turns;
pub(in crate::daemon) mod working_set;
