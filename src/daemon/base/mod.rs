//! What any flow may need: the owners of [`Base`](super::owners::Base) and the flows about these
//! alone. That is the record and what derives from it, clients, notices for the operator, the
//! settings, and work beside the loop.
//!
//! Knows nothing of a particular agent, of how messages travel, or of what waits for a decision.

pub(in crate::daemon) mod agent_programs;
pub(in crate::daemon) mod beside;
pub(in crate::daemon) mod bounded_map;
pub(in crate::daemon) mod clients;
pub(in crate::daemon) mod clock;
pub(in crate::daemon) mod configuration;
pub(in crate::daemon) mod configuring;
pub(in crate::daemon) mod disk_space;
pub(in crate::daemon) mod foreign;
pub(in crate::daemon) mod identity;
pub(in crate::daemon) mod loop_times;
pub(in crate::daemon) mod managed_blocks;
pub(in crate::daemon) mod notices;
pub(in crate::daemon) mod noticing;
pub(in crate::daemon) mod operations;
pub(in crate::daemon) mod readers;
pub(in crate::daemon) mod reading_tree;
pub(in crate::daemon) mod reads_beside;
pub(in crate::daemon) mod recorder;
pub(in crate::daemon) mod recording;
pub(in crate::daemon) mod rendering;
pub(in crate::daemon) mod renderings;
pub(in crate::daemon) mod settings;
pub(in crate::daemon) mod tree_commit;
pub(in crate::daemon) mod tree_reads;
pub(in crate::daemon) mod under_way;
pub(in crate::daemon) mod work_queue;
