//! What starts an agent, and what an agent starts: `ctxrelay claude` and `codex` with their panes,
//! and the bridge, the hook, the doorbell and the status line.

pub(in crate::cli) mod agent;
pub(in crate::cli) mod agent_place;
pub(in crate::cli) mod apart;
pub(in crate::cli) mod bridge;
pub(in crate::cli) mod claude;
pub(in crate::cli) mod codex;
pub(in crate::cli) mod doorbell;
pub(in crate::cli) mod hold;
pub(in crate::cli) mod hook;
pub(in crate::cli) mod launch;
pub(in crate::cli) mod own_pane;
pub(in crate::cli) mod pair_tmux;
pub(in crate::cli) mod statusline;
