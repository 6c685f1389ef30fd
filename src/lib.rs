//! `ctxrelay`: Claude Code and Codex side by side as one auditable team.
//!
//! Who may import whom (held by cargo where a room is a crate, else by `tests/it/tidy.rs`):
//!
//! ```text
//!  main ─► cli ─┬─► demo ───┐
//!               ├─► bridge ─┼─► client ─► daemon ─► adapters ─► wire ─► core
//!               └─► deck ───┘     └─────────┴─────► store ────► wire
//!  cli, demo ─► host, and all to their right; of the daemon: how one is begun and ended
//!  client ─► of daemon and store: how one is reached
//!  deck, cli ─► ctxrelay-ui     host: composition root, may see all
//!
//!  crates: ctxrelay-core (core, wire) · ctxrelay-store · ctxrelay-ui · ctxrelay (the rest)
//! ```
//!
//! `core` and `wire` are below `src/core`, `ctxrelay-ui` is `ui/`. `src/guide` has the pages for
//! users, `src/proptest-regressions` cases that once failed: proptest runs them first.
//!
//! Invariants:
//!
//! - `core` does no IO, reads no clock and knows no runtime. It refuses, it does not fail.
//! - The ledger line and the protocols are written in `wire` alone.
//! - Only the daemon's loop changes the world, and always **append → fold → publish**: nobody
//!   learns a fact that the ledger does not hold.
//! - `bridge`, `cli` and `deck` ask the daemon through `client`, and in no other way.
//! - `ctxrelay-ui` does not know that a daemon, a socket, a file or a clock exists.
//! - Only `deck::terminal` has the terminal: it draws, copies through it, and sees who has it when an
//!   editor hangs. Beside it a verb asks there for a passphrase (`cli::signing`) or copies
//!   (`cli::output`). Other than these, only `bridge` and `cli::output` write to stdout.
//! - Every queue is bounded, by its length or by who may put something into it, and says what
//!   happens when it is full; every wait has a deadline.
//!
//! One word, one thing. Codex's own words (thread, turn, item, approval), MCP's (tool, resource,
//! notification) and those of databases (append, commit, checkpoint) mean here what they mean there.
//!
//! | word | what it is |
//! |---|---|
//! | entry, ledger, session, chain, head | a recorded fact; the file of all of them; the part between two clears; what ties a line to the one before; the last line's place, also kept outside of the project |
//! | fold, snapshot | from entries to the state of the world; that state |
//! | alarm, notice | somebody else was at the record or the key: in the record until the operator acknowledges it; a sentence of what is not as it should be, for as long as it lasts |
//! | foreign | written or brought by somebody else: shown, and not believed |
//! | request, approval, question | what waits for the operator's answer, all in `open_approvals`. An approval: what an agent's program asks before it goes on. A question is three things: one with answers to choose from, for which a program waits too (`ApprovalKind::Question`); what an agent asks the operator by `ask_user`, for which none waits (`UserQuestion`); and, no request at all, a message of one agent to the other that wants an answer (`QuestionSnapshot`, in `open_questions`) |
//! | handoff, proposal, decision, gate, artifact | work given to the other agent; the claim that work is done; the operator's yes or no to a proposal (the owner group `Decisions` also has what else waits for a word: approvals, gates, imports); a check that must pass; a result with its evidence |
//! | agent, party, pair | Claude or Codex; an agent, the operator or the system; a runtime session's two agents |
//! | outbox, lane | messages that are not proven yet; one receiver's messages, in their order |
//! | envelope | the lines around a message by which a model knows who speaks |
//! | doorbell | the plugin's monitor, which wakes an idle Claude |
//! | ladder, rung | the ways to Claude, best first; one of them |
//! | takeover, rollover | one daemon process passes sockets and state to the next; a new session begins after the old one |
//! | packet, capsule, finding | what an agent is given after a compaction; a task as one file; a remark of a review |
//! | pane, sheet, overlay, theme, role | the deck's parts; a text on top of them; anything on top; its colours; what a colour is for |

pub mod adapters;
pub mod bridge;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod deck;
pub mod demo;
pub mod host;

// Crates of their own, so that a change in one is tested without building the rooms above it.
pub use ctxrelay_core as core;
pub use ctxrelay_core::wire;
pub use ctxrelay_store as store;
