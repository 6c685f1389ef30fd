//! `ctxrelay`: Claude Code and Codex side by side as one auditable team.
//!
//! Which room may import which (cargo enforces it between crates, `tests/it/tidy.rs` elsewhere):
//!
//! ```text
//!  main ─► cli ─┬─► demo ───┐
//!               ├─► bridge ─┼─► client ─► daemon ─► adapters ─► wire ─► core
//!               └─► deck ───┘     └─────────┴─────► store ────► wire
//!  cli, demo ─► host and everything to their right; of daemon only what starts and stops one
//!  client ─► of daemon and store only what is needed to reach a daemon
//!  deck, cli ─► ctxrelay-ui     host: composition root, may see all
//!
//!  crates: ctxrelay-core (core, wire) · ctxrelay-store · ctxrelay-ui · ctxrelay (the rest)
//! ```
//!
//! `core` and `wire` live in `src/core`, `ctxrelay-ui` in `ui/`. `src/guide` holds the pages for
//! users; `src/proptest-regressions` holds inputs that failed once, which proptest runs first.
//!
//! Invariants:
//!
//! - `core` does no IO, reads no clock and knows no runtime. It refuses, it does not fail.
//! - Only `wire` writes the ledger line and the protocols.
//! - Only the daemon's loop changes the world, always in the order **append → fold → publish**:
//!   nobody learns a fact that the ledger does not hold.
//! - `bridge`, `cli` and `deck` reach the daemon only through `client`.
//! - `ctxrelay-ui` knows nothing of daemons, sockets, files or clocks.
//! - Only `deck::terminal` controls the terminal: it draws, copies to the clipboard, and checks
//!   which process has the terminal when an editor hangs. Besides it, `cli::signing` asks for a
//!   passphrase there and `cli::output` copies. Apart from these, only `bridge` and `cli::output`
//!   write to stdout.
//! - Every queue is bounded, by its length or by who may write to it, and says what happens when it
//!   is full; every wait has a deadline.
//!
//! Further rules that tests enforce, all in `tests/it/tidy.rs` (`cargo test --test it tidy`):
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
//! By convention, which no test checks: the file of an owner is named by a noun (`approvals`,
//! `codex_lane`), the file of a flow by what it does (`approving`, `delivering`) or by the command
//! that it carries out.
//!
//! A citation such as `facts/codex.md` §5 refers to notes from experiments with the real agents,
//! which are not part of the repository. Each statement holds for one version: the one named beside
//! the citation, or else Codex 0.169.0 or Claude Code 2.1.330. "(observed)" means the same without
//! a section. `tests/real_agents` proves again what the product relies on, with the agents that are
//! installed.
//!
//! One word, one thing. Codex's own words (thread, turn, item, approval), MCP's (tool, resource,
//! notification) and those of databases (append, commit, checkpoint) mean here what they mean
//! there.
//!
//! | word | what it is |
//! |---|---|
//! | entry, ledger, session, chain, head | a recorded fact; the file of all of them; the part between two clears; what links each line to the one before; the position of the last line, also kept outside the project |
//! | fold, snapshot | the function from entries to the state of the world; that state |
//! | alarm, notice | somebody else touched the ledger or the key: recorded, and shown until the operator acknowledges it; a sentence about something that is wrong, shown for as long as it is |
//! | foreign | written or brought by somebody else: shown, and not believed |
//! | request, approval | what waits for the operator's answer, in `open_approvals`; a request for which an agent's program waits before it goes on |
//! | question | one of three. `ApprovalKind::Question`: an approval with answers to choose from. `UserQuestion`: a request by `ask_user`, for which no program waits. `QuestionSnapshot`, in `open_questions`: not a request, but a message from one agent to the other that wants an answer |
//! | handoff, proposal, decision, gate, artifact | work given to the other agent; the claim that work is done; the operator's yes or no to a proposal (the owner group `Decisions` also holds what else waits for the operator: approvals, gates, imports); a check that must pass; a result with its evidence |
//! | agent, party, pair | Claude or Codex; an agent, the operator or the system; the two agents of a runtime session |
//! | outbox, lane | messages whose delivery is not proven yet; the messages of one receiver, in order |
//! | envelope | the lines around a message that tell a model who speaks |
//! | doorbell | the plugin's monitor, which wakes an idle Claude |
//! | ladder, rung | the ways to reach Claude, best first; one of them |
//! | takeover, rollover | one daemon process passes sockets and state to the next; a new session begins after the old one |
//! | packet, capsule, finding | what an agent is given after a compaction; a task as one file; a reviewer's remark |
//! | pane, sheet, overlay, theme, role | a region of the deck; a text on top of the panes; anything on top of them; the deck's colours; the purpose of a colour |

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
