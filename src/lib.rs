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
//! Rules that tests hold beside the arrows, all in `tests/it/tidy.rs` (`cargo test --test it tidy`):
//!
//! | rule | test |
//! |---|---|
//! | a file that is not one of tests has at most 500 lines | `no_source_file_is_too_long_to_be_read_at_once` |
//! | the name of a public type is used once in the workspace | `public_type_names_are_unique` |
//! | a type's name says what it is: no `Manager`, `Helper`, `Util`, `Info`, `Processor` | `type_names_say_what_a_type_is` |
//! | comments use no quaint words (the list is in `tests/it/tidy/prose.rs`) | `comments_are_plain_english` |
//! | no code compares text that is meant for people | `no_room_compares_sentences` |
//! | files import or call each other in a circle in pairs at most | `no_cycle_of_imports_is_larger_than_a_pair`, `no_cycle_of_flows_in_the_daemon_is_larger_than_a_pair` |
//! | an owner of the daemon names neither the loop nor another owner | `no_owner_of_the_daemon_knows_the_loop`, `no_owner_of_the_daemon_names_another` |
//! | an owner's fields are private, and no method returns `&mut` to what it has | `the_fields_of_the_owners_are_private`, `no_owner_hands_out_what_it_has_to_be_changed` |
//! | an owner lies in its group's folder and stands in the table of `daemon` | `an_owner_of_the_daemon_stands_in_the_folder_of_its_group`, `every_field_of_the_loop_stands_in_the_table_of_its_owners` |
//! | what waits for a disk, for git or for a long text is done beside the loop, or is listed with the reason | `nothing_of_the_daemon_is_slow_on_its_loop_but_what_is_named` |
//!
//! By custom, which no test holds: an owner's file is named by a noun (`approvals`, `codex_lane`), a
//! flow's by what it does (`approving`, `delivering`) or by the command that it carries out.
//!
//! A citation such as `facts/codex.md` §5 names notes from experiments with the agents, of which the
//! repository has no copy: each statement is of one version, which the place that cites it names, or
//! else Codex 0.169.0 or Claude Code 2.1.330. "(observed)" means the same without a section. What the
//! product relies on of it, `tests/real_agents` proves again with the agents that are installed.
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
//! | request, approval | what waits for the operator's answer (`open_approvals`); a request for which an agent's program waits before it goes on |
//! | question | one of three. `ApprovalKind::Question`: an approval with answers to choose from. `UserQuestion`: a request by `ask_user`, for which no program waits. `QuestionSnapshot`, in `open_questions`: no request, but a message of one agent to the other that wants an answer |
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
