//! The daemon: the only owner of mutable world state. It runs inside a deck or on its own.
//!
//! - [`Event`](event::Event): everything that wakes the loop, one variant per source.
//! - [`Daemon`](owners::Daemon): the owners of the state. [`run`]: the loop, which passes each
//!   event to its flow. The order is always append → fold → publish → effects.
//! - [`DaemonHandle`](handle::DaemonHandle): the cheap way in.
//! - [`Builder`](start::Builder): takes the lock and opens ledger, queue and ports; then the loop
//!   runs.
//!
//! An **owner** is a struct with private fields. It returns what its caller has to do, or keeps it
//! until the loop asks. Owners form four groups, and the compiler enforces the borders: a method of
//! a group can change only that group's owners and what it borrows as an argument. A **flow** is a
//! method of a group, or of the whole `Daemon`, that handles one occasion.
//!
//! An owner's file lies in its group's folder. A flow's file lies where its occasion arises: in
//! `commands` for what a client asks, in `agents` for what an agent does, in [`sessions`] for the
//! step from one session to the next. What needs more than one group lies above these folders. The
//! names below are the ends of paths, as long as needed to be unique: `codex::facts` is
//! `agents/codex/facts.rs`.
//!
//! | group | what belongs in it | its main flows |
//! |---|---|---|
//! | [`Base`](owners::Base) | what any flow may need: the record and what derives from it, clients, notices for the operator, work beside the loop, inputs for later | `beside`, `rendering`, `commands::settings`; the flows of the other groups borrow it |
//! | [`Deliveries`](owners::Deliveries) | messages on their way, to all receivers | `message_page`, `reading_bodies`, `sending_again`, `claude::pushing`, `commands::queue` |
//! | [`Agents`](owners::Agents) | what is known of the agents, their lanes included | `watching_turns`, `watching_rules`, `reloading`, `inferring`; `continuing` of `codex` and of `claude` |
//! | [`Decisions`](owners::Decisions) | decisions about the agents' work that are not recorded yet | `decisions::approving`, `commands::answer_approval`, `commands::decide`, `commands::gates`, `commands::auto_sign_off` |
//! | [`Daemon`](owners::Daemon) | the four groups, and `files` | `run` and what it calls, `later_inputs`, `effects`, `storing`, `limiting`, `recording`, `rollover`, `ending`; every continuation |
//!
//! So a call shows what it may change. `self.base.read_settings(…)` cannot touch an agent, a message
//! or a decision; `self.agents.turn_lives(&mut self.base, …)` cannot touch a message or a decision;
//! `self.decisions.send_answer(&mut self.base, &self.agents.codex, …)` cannot change an agent, and
//! sees one owner of that group.
//!
//! Of [`Base`](owners::Base):
//!
//! | owner | holds | takes | returns |
//! |---|---|---|---|
//! | [`Recorder`](base::recorder::Recorder) | ledger, world, latest entries, what waits for the disk | entries, the writer's events, a deadline | [`RecorderAction`](base::recorder::RecorderAction)s, when asked |
//! | [`Clients`](base::clients::Clients) | connections, waiters, calls that wait for the record, liveness probes | hello, goodbye, deadlines | whom to notify, and whom to answer |
//! | [`LaterInputs`](crate::core::delivery::LaterInputs) | inputs for the delivery machines that follow from what was just done | inputs | the same, once that is done |
//! | [`Operations`](base::operations::Operations) | fault, stop, takeover, work beside the loop, a session that is waiting to end, since when nobody has needed the daemon | each of these, a deadline | whether the daemon goes on, the refusal for a command that is too late |
//! | [`Notices`](base::notices::Notices) | sentences for the operator, one per key | a sentence, its end | whether it is new |
//! | [`Readers`](base::readers::Readers) | reads beside the loop; those that run git are counted apart | a read | its answer, to the caller |
//! | [`TreeReads`](base::tree_reads::TreeReads) | the slots in which git reads the work tree | the purpose of the read | its event |
//! | [`WorkQueue`](base::work_queue::WorkQueue) | work on the settings files, one after the other | work | its event, or its failure |
//! | [`TreeCommit`](base::tree_commit::TreeCommit) | the commit that the work tree is on, as last read | requests to read it again | the commit, if known |
//! | [`AgentPrograms`](base::agent_programs::AgentPrograms) | the paths of the agents' programs | the result of a search | whether it changed |
//! | [`Configuration`](base::configuration::Configuration) | the `config.json` in force | what was read | timeouts |
//! | [`Renderings`](base::renderings::Renderings) | when the files about the agents' work are due | entries, another session | when the next one is due |
//! | `Board`, [`LoopTimes`](base::loop_times::LoopTimes) | what others read on the disk; how long the loop was busy | the current state; a duration | |
//! | [`Identity`](base::identity::Identity), `dirs`, [`Clock`](base::clock::Clock) | what never changes while a daemon runs; the project's folders; the time for the delivery machines | | |
//! | `events` | the way back into the loop for work beside it | | |
//!
//! Of [`Deliveries`](owners::Deliveries):
//!
//! | owner | holds | takes | returns |
//! |---|---|---|---|
//! | [`Outbox`](deliveries::outbox::Outbox) | messages that are not proven yet, the writer of `queue.db` | rows | rows, tokens of their writes |
//! | `held`: [`HeldEffects`](crate::core::delivery::HeldEffects) | effects that wait for rows to be on the disk, and waiters whose rows are there | delivery effects, continuations behind them; the writer's events | what may leave, what may not, who goes on |
//! | [`BodyReads`](deliveries::bodies::BodyReads) | flows that wait for messages to be read from the disk | a read, a continuation | the continuation, with what was read |
//! | [`GivenHeads`](deliveries::given_heads::GivenHeads) | how each message was given last | a message that is given | its first line |
//! | [`HandoffDedup`](deliveries::handoff_dedup::HandoffDedup) | handoffs of the last minutes, and who waits for one of them | a handoff, its outcome | whether it is new |
//! | [`BlockedOnce`](deliveries::blocked_once::BlockedOnce) | messages that came with a prompt that another hook blocked | such a message | whether it was the first time |
//!
//! Of [`Agents`](owners::Agents):
//!
//! | owner | holds | takes | returns |
//! |---|---|---|---|
//! | [`CodexLane`](agents::codex_lane::CodexLane) | Codex's state, the machine that delivers to it, what its turns received and answered | `CodexInput`, facts of app-server, terminal and turns | `DeliveryEffect`s |
//! | [`ClaudeLane`](agents::claude_lane::ClaudeLane) | the Claude of each pair: its state, its ladder, and what its turn shows ([`ShownClaude`](agents::claude_lane::ShownClaude)) | `ClaudeInput`, `LadderInput` and hooks of a pair | `ClaudeStep`s; `DeliveryEffect`s |
//! | [`ClaudeProcesses`](agents::claude_processes::ClaudeProcesses) | monitor, hooks and bridge of each Claude process; the folder it was started in, for the watch over its settings ([`ClaudeFolders`](agents::claude_folders::ClaudeFolders)) | what these report | whether it is new |
//! | [`Limits`](agents::limits::Limits) | the agents' usage limits | `LimitInput` of an agent | `LimitStep`s |
//! | [`Contexts`](agents::contexts::Contexts) | how full the agents' contexts are | figures, turns, compactions | whether it is new |
//! | [`Costs`](agents::costs::Costs) | how much text of ours each agent's model was given today | texts of ours | their sum |
//! | [`Silences`](agents::silence::Silences) | since when the running turns have been quiet | signs of life, whether a turn runs and waits (from its agent's state), a check | [`SilenceStep`](agents::silence::SilenceStep) |
//! | [`ShownTurn`](agents::shown_turn::ShownTurn) | what Codex's turn does now, has done so far, and plans | tools, actions, retries of its model, its end | the same, for viewers |
//! | [`SpokenTurns`](agents::spoken_turns::SpokenTurns) | how far Claude's transcripts have been read | a hook | what Claude has said since |
//! | `transcripts_work`: [`WorkQueue`](base::work_queue::WorkQueue) | reads of these transcripts, one after the other | work | its event, or its failure |
//! | [`Inferences`](agents::inferences::Inferences) | the agents' latest words without a marker, the one open question to a model | words, a question | the words to read, and what prevents that |
//! | [`TouchedFiles`](agents::touched_files::TouchedFiles) | files and helpers of Claude's running turns | a file, a helper, the end of a turn | what the turn touched |
//! | [`RecentWrites`](agents::recent_writes::RecentWrites) | files that each agent wrote in the last minutes | a file | those since a time |
//! | [`Reloads`](agents::reloads::Reloads) | packets that are being made, or that may not have reached their agent | orders, the outcome of one | the order to continue with, the packet before it |
//! | [`Reminders`](agents::reminders::Reminders) | the turn after which each agent was last reminded to state what it is doing | an agent's stated work | the reminder, once |
//! | [`RulesWatch`](agents::rules_watch::RulesWatch) | which of the project's rules each agent was given | rules as given, a check | when to check again |
//! | [`AgentProcesses`](agents::agent_processes::AgentProcesses) | processes whose descendants may not decide | processes, and those that have ended | all known ones, or the one with an id |
//!
//! Of [`Decisions`](owners::Decisions), and beside the groups:
//!
//! | owner | holds | takes | returns |
//! |---|---|---|---|
//! | [`Approvals`](decisions::approvals::Approvals) | where each request for approval can be answered, and which requests are not recorded yet | requests and their ends, answers that begin | the request of a key, where to send an answer, which end to record now |
//! | [`ApprovalTexts`](decisions::approval_texts::ApprovalTexts) | what was read of long texts that agents are about to ask about | a request that was read | the text for the record |
//! | [`PendingDecisions`](decisions::pending_decisions::PendingDecisions) | proposals whose decision is being recorded | begin, end | a refusal |
//! | [`Gates`](decisions::gates::Gates) | the current run of gates | gates, reports of the running one | the gate to run next, who waits for the end |
//! | [`Imports`](decisions::imports::Imports) | whether a review's findings are being recorded | findings | the refusal of further ones |
//! | [`FileWatch`](tamper::FileWatch) | the watch over the project's files, when `current` is to be put back | facts of the watch | what is due |
//!
//! An owner knows neither the loop nor another owner's fields. A flow of a group borrows the base
//! and at most two owners of another group. A flow that needs more of several groups is a method of
//! [`Daemon`](owners::Daemon). A read, and a command that only decides what to record, is a
//! function over the owners that it names. By stage:
//!
//! - in: [`control`] and [`operator`] turn clients' calls into events, `codex::facts` and
//!   `commands::hook` take what the agents report, `tamper::alert` what the watch found. A request
//!   that waits for an answer is not a fact but a command of its own, `AskApproval`
//! - carried out: `commands`, one file per family
//! - recorded and told: `recording` carries out the recorder's actions, publishes, and calls the
//!   [`Then`](owners::continuation::Then) that came with the entries; `delivery_results` tells the
//!   lanes what the record holds of their messages
//! - told: `later_inputs` passes the inputs in `LaterInputs` to the machines
//! - delivered: `codex::delivering` and `claude::delivering` tell the lanes, `effects` carries out
//!   their effects, `storing` waits for rows, `codex::to_adapter` and `claude::pushing` send a
//!   message; `reading_bodies` has bodies read that are not in memory
//! - beside the loop: `beside`, where a panic fails that work alone (`work_failed`);
//!   `reads_beside`, whose reader continues without the result; and the long-running tasks of
//!   `supervise`. The docs of `run` list what an event still waits for
//! - of an agent: `connecting` (its clients), `limiting`, `reloading` (what it is given after a
//!   compaction), `exchanging`, `watching_turns`, `watching_rules`, `sending_again`, `nothing_came`
//!   (what its peer is told)
//! - of a session: `commands::session_ending`, `rollover`, `deletion`
//! - shown: `status`, `metrics`, `published_state`; answered: `waiting_calls`, `ended_waits`
//! - ended: `may_end` says when, `ending`, `failing`, [`takeover`]
//!
//! Two files may call each other; a longer cycle of calls is not allowed (`tests/it/tidy.rs`). Any
//! other consequence of a flow is left with an owner until the flow is over, and is done before the
//! next event:
//! [`LaterInputs`](crate::core::delivery::LaterInputs) holds inputs for the machines,
//! [`HeldEffects`](crate::core::delivery::HeldEffects) waiters that can go on, and
//! [`Recorder`](base::recorder::Recorder) the outcome of entries. A flow that has to wait for the
//! disk, for rows or for a body leaves a [continuation](owners::continuation) with an owner. The
//! loop calls it after that flow, with the whole [`Daemon`](owners::Daemon); it must check again
//! whatever may have changed in between.
//!
//! Three things wait for the operator's word to an agent, and they are different things:
//!
//! | | asked by | waits in the world as | the operator's word | how the agent hears it |
//! |---|---|---|---|---|
//! | approval | Codex's app-server or one of Claude's hooks, before something runs | `open_approvals` | an answer: `commands::answer_approval` | its program, which waits, is answered |
//! | question | an agent, by `ask_user`: `commands::ask_user` | `open_approvals`, as `UserQuestion` | an answer: `commands::answer_approval` | a message in reply |
//! | proposal | an agent whose work is done: `commands::propose` | `pending_proposals` | a decision: `commands::decide`; in mode `auto` the gates': `commands::auto_sign_off` | a message: `decision_messages` |
//!
//! The deck's Inbox also has items that no agent waits for: a project or a rule to be trusted; an
//! alarm ([`Alarm`](crate::core::alarm::Alarm), raised by `foreign` and kept in `alarms` of the
//! world until the operator acknowledges it); a fault while it lasts (its
//! [`NoticeKey`](crate::wire::status::NoticeKey), in `notices`); a message whose arrival is
//! unknown.
//!
//! An approval, from its agent to the person and back; what begins with `/` is a file of another
//! room, of `/tests`, or of the guide:
//!
//! - asked by Codex: `/core/wire/codex/frame` names the requests that are for the person,
//!   `/core/wire/codex/approval` reads such a request of its app-server,
//!   `/adapters/codex/session/approvals` reports it
//! - asked by Claude: its plugin (`/adapters/claude/plugin`) has Claude run a hook at the event
//!   `PermissionRequest`, which may wait for an hour. That one hook (`/bridge/hook`) reports twice.
//!   First as `Hook`: a dialog is open. Then as `AskApproval`, which `/bridge/hook/permission`
//!   makes of the hook's input and which waits. `/core/wire/control/approvals` has the parameters of the
//!   request and of the answer
//! - read, before it reaches the loop: a long text is searched for what the record masks of it, in
//!   `start::serving` (`forward()`) for Codex and in `handle` (`ask()`) for Claude.
//!   `approval_texts` keeps the result, and reads a short text itself
//! - in: `codex::facts` gets it from the adapter, `commands` from one of Claude's hooks
//! - accepted: `codex::approving` and `claude::approving` check whether it is known and may wait
//!   here (Claude's only while an operator's deck is attached; otherwise its own dialog has to do),
//!   and register it with [`Approvals`](decisions::approvals::Approvals), up to the number that the
//!   world has room for. Its phases until its end are an enum of `approvals::asked_request`. One
//!   name (a key of its agent's) has one request at a time: a different request under a name that
//!   already waits ends the earlier one.
//!   A hook that asks for something that Claude's hooks have shown to be over
//!   (`decisions::shown_over`) is sent away
//! - recorded: `decisions::approving` makes the entry, for both agents and `ask_user`, of the kinds
//!   of `/core/entry/approval`, with what only its unmasked text tells (`/core/policy/unmasked`);
//!   `/core/fold/approving` puts it into `open_approvals`, as `/core/snapshot/approval`
//! - shown: from the world, with the risks that `/core/policy/risk_hints` finds in it, by
//!   `/cli/decisions/approvals` and by the deck: `/deck/followed/approval_cards` makes the card,
//!   `/ui/overlays/card_sheet` draws it and `/ui/overlays/asked` its choices.
//!   [`Status`](crate::wire::status::Status) only counts what waits
//! - chosen: on the card, where a key becomes a wish (`Effect::AnswerApproval`) for which
//!   `/deck/calls/perform` calls the daemon, or by `/cli/decisions/approvals`
//! - answered: `commands::answer_approval` records the answer, then gives it to the hook, or to
//!   Codex through its adapter, which reports whether it arrived. If not
//!   ([`ApprovalUnanswered`](event::Event), or the agent asks again on a new connection),
//!   `decisions::approving` records that, and it waits again. The reason for a no reaches Codex
//!   afterwards, as a message ([`ReasonToTell`](event::Event)); Claude's hook takes it with the
//!   answer
//! - over: not with the answer, but when the agent shows its effect. `codex::approving` learns that
//!   it was resolved; `claude::approving` sees what Claude does next, or that its hook left
//!   (`connecting`); `decisions::approving` records the end, in the words of `how_over`
//! - over without an answer of ours: Codex no longer waits, or its app-server is gone
//!   (`codex::facts`); a pair's last Claude leaves (`claude::presence`); a daemon starts, and
//!   `start::unfinished` records what was lost, or takes over, and `/core/fold/running` removes
//!   what depended on the previous one
//! - carried: `rollover` carries what waits into the next session, with its answer
//! - a new kind of request has to define what each of its choices sends: Codex's `result`
//!   (`/core/wire/codex/approval`), or what Claude's hook prints (`output()` of
//!   `/bridge/hook/permission`); what the rules read in it (`/core/policy/request_needs`); and its
//!   words, with whether it is a shell command or names paths (`ApprovalKind`, in
//!   `/core/entry/approval`)
//! - followed in the log by its id: `/core/trace`; described for users in `/guide/decisions.md`,
//!   and what cannot be answered here in `/guide/limits.md`
//! - tested: each step by the tests beside its file, the loop's part by `/daemon/tests/approvals`,
//!   the whole with the real agents by `/tests/real_agents/approvals` and
//!   `/tests/real_agents/claudes_approvals`
//!
//! Knows nothing of screens and command lines.

mod agents;
pub mod attach;
mod base;
mod commands;
mod connecting;
pub mod control;
mod decisions;
mod deliveries;
mod ended_waits;
mod ending;
pub mod event;
mod failing;
pub mod fault;
pub mod handle;
mod later_inputs;
mod may_end;
mod metrics;
mod operator;
mod operator_refusals;
mod owners;
mod peer;
mod published_state;
pub mod reply;
mod run;
pub mod running;
mod sessions;
pub mod start;
mod start_error;
mod status;
mod stop;
mod supervise;
pub mod takeover;
mod tamper;
mod waiting_calls;
mod work_failed;

#[cfg(test)]
mod tests;
