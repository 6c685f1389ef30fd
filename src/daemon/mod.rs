//! The daemon: the only owner of mutable world state, hosted by a deck or on its own.
//!
//! - [`Event`](event::Event): what wakes it, one variant per source.
//! - [`Daemon`](owners::Daemon): its owners; [`run`]: the loop, which hands each event to its flow.
//!   Append → fold → publish → effects, in this order.
//! - [`DaemonHandle`](handle::DaemonHandle): the cheap way in.
//! - [`Builder`](start::Builder): lock, ledger, queue, ports; then the loop.
//!
//! Each part of the state has one owner, with private fields. An owner does not act on what follows
//! from a change: it returns that, or keeps it until the loop asks. The owners stand in four groups. A
//! method of a group can change what the group has and what it is lent, and nothing else, which the
//! compiler holds.
//!
//! An owner lies in its group's folder. A flow lies in the folder that its cause comes from: what a
//! client asks in `commands`, what an agent does in `agents`, how one session follows another in
//! [`sessions`]. A flow that needs more than one group lies in this folder itself. A file is named here
//! by the end of its path where that says which it is: `codex::facts` for `agents/codex/facts.rs`.
//!
//! | group | what belongs in it | its flows, above all |
//! |---|---|---|
//! | [`Base`](owners::Base) | what any flow may need: the record and what follows from it alone, who is told, what is said to the operator, work beside the loop, what is told later | `beside`, `rendering`, `commands::task`; it is lent to the flows of the other groups |
//! | [`Deliveries`](owners::Deliveries) | the messages that are on their way, to all receivers | `message_page`, `reading_bodies`, `sending_again`, `claude::pushing`, `commands::queue` |
//! | [`Agents`](owners::Agents) | what is known of the agents; their lanes are among it | `watching_turns`, `watching_rules`, `reloading`, `inferring`; `continuing` of `codex` and of `claude` |
//! | [`Decisions`](owners::Decisions) | what is decided about the agents' work and is not in the record yet | `decisions::approving`, `commands::answer_approval`, `commands::decide`, `commands::gates`, `commands::auto_sign_off` |
//! | [`Daemon`](owners::Daemon) | these four, and `files` | `run` and what it hands events to, `later_inputs`, `effects`, `storing`, `limiting`, `recording`, `rollover`, `ending`; every continuation |
//!
//! So a call says what it may change: `self.base.change_task(…)` nothing of an agent, a message or a
//! decision; `self.agents.turn_lives(&mut self.base, …)` no message and no decision;
//! `self.decisions.send_answer(&mut self.base, &self.agents.codex, …)` nothing of an agent, of which
//! it sees one owner.
//!
//! Of [`Base`](owners::Base):
//!
//! | owner | has | takes | returns |
//! |---|---|---|---|
//! | [`Recorder`](base::recorder::Recorder) | ledger, world, latest entries, what waits for the disk | entries, the writer's word, a deadline | [`RecorderAction`](base::recorder::RecorderAction)s, when asked |
//! | [`Clients`](base::clients::Clients) | connections, waiters, calls that wait for the record, liveness probes | hello, goodbye, deadlines | who hears what, and who is answered |
//! | [`LaterInputs`](crate::core::delivery::LaterInputs) | what the machines are told on account of what was just done | inputs | these, behind that |
//! | [`Operations`](base::operations::Operations) | fault, stop, takeover, work beside the loop, the session that waits for its end, since when nobody needs it | each of these, a deadline | whether it goes on, the refusal of what comes too late |
//! | [`Notices`](base::notices::Notices) | sentences for the operator, one for each key | a sentence, its end | whether that is new |
//! | [`Readers`](base::readers::Readers) | reads beside the loop, those that ask git apart | a read | its answer, to who asked |
//! | [`TreeReads`](base::tree_reads::TreeReads) | the places in which git is asked for the work tree | what the tree is for | its event |
//! | [`WorkQueue`](base::work_queue::WorkQueue) | work on the files of the settings that waits for the one before | work | its event, or that it failed |
//! | [`TreeCommit`](base::tree_commit::TreeCommit) | the commit that the work tree stands on, as it was read last | requests to read it again | what is known |
//! | [`AgentPrograms`](base::agent_programs::AgentPrograms) | where the agents' programs are | what a look found | whether that is news |
//! | [`Configuration`](base::configuration::Configuration) | `config.json` as it counts now | what was read | timeouts |
//! | [`Renderings`](base::renderings::Renderings) | when the files about the agents' work are made | entries, another session | when the next one is due |
//! | `Board`, [`LoopTimes`](base::loop_times::LoopTimes) | what others read on the disk; how long the loop was busy | the state of now; a time | |
//! | [`Identity`](base::identity::Identity), `dirs`, [`Clock`](base::clock::Clock) | what does not change in a daemon's life; the project's folders; the time that the machines of delivery are told | | |
//! | `events` | the way back into the loop for what is done beside it | | |
//!
//! Of [`Deliveries`](owners::Deliveries):
//!
//! | owner | has | takes | returns |
//! |---|---|---|---|
//! | [`Outbox`](deliveries::outbox::Outbox) | messages that are not proven yet, the writer of `queue.db` | rows | rows, tokens of their writes |
//! | `held`: [`HeldEffects`](crate::core::delivery::HeldEffects) | what waits for rows to be on the disk, and who has nothing to wait for any more | effects of delivery, who goes on behind them; the writer's word | what may leave, what does not, who goes on |
//! | [`BodyReads`](deliveries::bodies::BodyReads) | who waits for messages that are read from the disk | a read, how to go on | how to go on with what was read |
//! | [`GivenHeads`](deliveries::given_heads::GivenHeads) | how each message was given last | a message that is given | its first line |
//! | [`HandoffDedup`](deliveries::handoff_dedup::HandoffDedup) | handoffs of the last minutes, who waits for one of them | a handoff, what became of it | whether it is new |
//! | [`BlockedOnce`](deliveries::blocked_once::BlockedOnce) | which messages came with a prompt that another hook blocked | such a message | whether it was the first time |
//!
//! Of [`Agents`](owners::Agents):
//!
//! | owner | has | takes | returns |
//! |---|---|---|---|
//! | [`CodexLane`](agents::codex_lane::CodexLane) | Codex's state, the machine that delivers to it, what its turns had and answered | `CodexInput`, facts of app-server, terminal and turns | `DeliveryEffect`s |
//! | [`ClaudeLane`](agents::claude_lane::ClaudeLane) | the Claude of each pair: its state, its ladder, and what its turn shows ([`ShownClaude`](agents::claude_lane::ShownClaude)) | `ClaudeInput`, `LadderInput` and hooks of a pair | `ClaudeStep`s; `DeliveryEffect`s |
//! | [`ClaudeProcesses`](agents::claude_processes::ClaudeProcesses) | of each Claude its monitor, hooks and bridge | what these tell | whether that is new |
//! | [`Limits`](agents::limits::Limits) | the agents' usage limits | `LimitInput` of an agent | `LimitStep`s |
//! | [`Contexts`](agents::contexts::Contexts) | how full the agents' contexts are | figures, turns, compactions | whether that is new |
//! | [`Costs`](agents::costs::Costs) | how much of ours each agent's model was given today | texts of ours | their sum |
//! | [`Silences`](agents::silence::Silences) | since when nothing is heard of the turns that run | signs, whether a turn runs and waits, as its agent's state has it, a look | [`SilenceStep`](agents::silence::SilenceStep) |
//! | [`ShownTurn`](agents::shown_turn::ShownTurn) | what Codex's turn does right now, has done so far, and plans | tools, what it did, that its model is tried again, its end | the same, for who looks |
//! | [`SpokenTurns`](agents::spoken_turns::SpokenTurns) | how far Claude's transcripts were read | a hook | what Claude said since |
//! | `transcripts_work`: [`WorkQueue`](base::work_queue::WorkQueue) | readings of these transcripts, each behind the one before | work | its event, or that it failed |
//! | [`Inferences`](agents::inferences::Inferences) | the agents' latest words without a mark, the one question to a model that is open | words, a question | the words to be read, and what stops that |
//! | [`TouchedFiles`](agents::touched_files::TouchedFiles) | the files and helpers of Claude's running turns | a file, a helper, the end of a turn | what the turn touched |
//! | [`RecentWrites`](agents::recent_writes::RecentWrites) | the files that each agent wrote in the last minutes | a file | those since a time |
//! | [`Reloads`](agents::reloads::Reloads) | packets that are being made, or of which it is not known whether their agent has them | orders, what became of one | the order to go on with, the packet before |
//! | [`Reminders`](agents::reminders::Reminders) | after which turn each agent was reminded that it says nothing of its state | what an agent is at | the reminder, once |
//! | [`RulesWatch`](agents::rules_watch::RulesWatch) | which rules of the project each agent was told | what it is told, a look | when they are looked at again |
//! | [`AgentProcesses`](agents::agent_processes::AgentProcesses) | processes whose descendants may not decide | processes, those that have ended | all that are known, or the one of an id |
//!
//! Of [`Decisions`](owners::Decisions), and beside the groups:
//!
//! | owner | has | takes | returns |
//! |---|---|---|---|
//! | [`Approvals`](decisions::approvals::Approvals) | where each request for approval can be answered, and which of them the record does not have yet | what is asked and resolved, answers that begin | the request of a key, where to send an answer, which end is to be recorded now |
//! | [`ApprovalTexts`](decisions::approval_texts::ApprovalTexts) | what was read of long texts that agents are about to ask | a request that was read | the text for the record |
//! | [`PendingDecisions`](decisions::pending_decisions::PendingDecisions) | proposals whose decision is being recorded | begin, end | a refusal |
//! | [`Gates`](decisions::gates::Gates) | the run of gates that is under way | gates, what the running one tells | the gate to run next, who waits for the end |
//! | [`Imports`](decisions::imports::Imports) | whether findings of a review are on their way to the record | findings | what keeps the next ones away |
//! | [`FileWatch`](tamper::FileWatch) | the watch over the project's files, when `current` is put back | facts of the watch | what is due |
//!
//! An owner does not know the loop, nor another owner's fields. A flow is a method of the group that
//! it is about; the base it is lent, and at most two owners of another group. What needs more of
//! several groups is a method of [`Daemon`](owners::Daemon), and a read, or what is to be recorded, a
//! function over the owners that it names:
//!
//! - in: [`control`] and [`operator`] make events of what clients ask, `codex::facts` and
//!   `commands::hook` take what the agents tell, `tamper::alert` what the watch found. What waits for
//!   an answer is no news but a command of its own, `AskApproval`
//! - carried out: `commands`, one file a family
//! - recorded and told: `recording` follows the recorder, publishes, and calls the
//!   [`Then`](owners::continuation::Then) that came with the entries; `delivery_results` tells the lanes what the
//!   record has of their messages
//! - told: `later_inputs` gives the machines what `LaterInputs` has for them
//! - delivered: `codex::delivering` and `claude::delivering` tell the lanes, `effects` does what
//!   these want, `storing` waits for rows, `codex::to_adapter` and `claude::pushing` let a message
//!   leave; `reading_bodies` has read what is not at hand
//! - beside the loop: `beside`, where a panic costs that work alone (`work_failed`); `reads_beside`,
//!   whose reader then goes on without what was to be read; and what `supervise` runs for as long as
//!   the daemon. What an event still waits for stands in the head of `run`
//! - of an agent: `connecting` (its clients), `limiting`, `reloading` (what it is given back),
//!   `exchanging`, `watching_turns`, `watching_rules`, `sending_again`, `nothing_came` (what its peer is told)
//! - of a session: `commands::session_ending`, `rollover`, `deletion`
//! - shown: `status`, `metrics`, `show`; answered: `waiting_calls`, `ended_waits`
//! - ended: `may_end` says when, `ending`, `failing`, [`takeover`]
//!
//! Two files may call each other; a longer circle of calls is not allowed (`tests/it/tidy.rs`). Where a
//! flow would have to call back, an owner keeps what follows until the flow is over, and it is done
//! before the next event:
//! [`LaterInputs`](crate::core::delivery::LaterInputs) has what the machines are told,
//! [`HeldEffects`](crate::core::delivery::HeldEffects) who has nothing to wait for any more,
//! [`Recorder`](base::recorder::Recorder) what became of entries. A flow that has to wait for the disk, for
//! rows or for a body leaves a [continuation](owners::continuation) with an owner. The loop calls it behind
//! that flow, with the whole [`Daemon`](owners::Daemon), and it has to look again at whatever may have
//! changed meanwhile.
//!
//! Three things wait for the operator's word to an agent, and none is another:
//!
//! | | asked by | waits in the world as | the operator's word | how the agent hears it |
//! |---|---|---|---|---|
//! | approval | Codex's app-server or a hook of Claude's, before something runs | `open_approvals` | an answer: `commands::answer_approval` | its program, which waits, is answered |
//! | question | an agent, by `ask_user`: `commands::ask_user` | `open_approvals`, as `UserQuestion` | an answer: `commands::answer_approval` | a message in reply |
//! | proposal | an agent whose work is done: `commands::propose` | `pending_proposals` | a decision: `commands::decide`; in mode `auto` the gates': `commands::auto_sign_off` | a message: `decision_messages` |
//!
//! The deck's Inbox also has what is no agent's to hear: a project or a rule that is to be trusted, an
//! alarm ([`Alarm`](crate::core::alarm::Alarm): `foreign` raises it, the world has it as `alarms`, and the
//! operator acknowledges it), a fault for as long as it lasts (its
//! [`NoticeKey`](crate::wire::status::NoticeKey), in `notices`), a message of which nobody knows whether it arrived.
//!
//! An approval, from its agent to the person and back; what begins with `/` is a file of another
//! room, of `/tests`, or of the guide:
//!
//! - asked by Codex: `/core/wire/codex/frame` names the requests that are for the person,
//!   `/core/wire/codex/approval` reads such a request of its app-server,
//!   `/adapters/codex/session/approvals` tells it
//! - asked by Claude: its plugin (`/adapters/claude/plugin`) has Claude run a hook at the event
//!   `PermissionRequest`, which may wait for an hour. That one hook (`/bridge/hook`) tells twice. As
//!   `Hook`, that a dialog is open; then as `AskApproval`, which `/bridge/hook/permission` makes of the
//!   hook's input and which waits.
//!   `/core/wire/control/approvals` has the parameters of what is asked and of the answer
//! - read, before the loop hears of it: a long text, for what the record masks of it; what Codex asks in
//!   `start::serving` (`forward()`), what Claude asks in `handle` (`ask()`). `approval_texts` keeps what
//!   was read, and reads a short text itself
//! - in: `codex::facts` is told by the adapter, `commands` by a hook of Claude's
//! - taken: `codex::approving` and `claude::approving` see whether it is known and may wait here
//!   (Claude's only while an operator's deck is attached: without one its own dialog has to do), and
//!   have [`Approvals`](decisions::approvals::Approvals) know where it can be answered; as many as the
//!   world has room for. Its phases until its end are an enum of `approvals::asked_request`. Under one
//!   name (a key of its agent's) one request waits at a time: where the agent asks for something else
//!   under that name, the earlier request ends. A hook that asks what Claude's hooks have shown to be
//!   over (`decisions::shown_over`) is sent away
//! - recorded: `decisions::approving` makes the entry, for both agents and `ask_user`, of the kinds of
//!   `/core/entry/approval`, with what only its unmasked text tells (`/core/policy/unmasked`);
//!   `/core/fold/approving` has it stand in `open_approvals`, as
//!   `/core/snapshot/approval`
//! - shown: from the world, with what `/core/policy/risk_hints` sees in it, by
//!   `/cli/decisions/approvals` and by the deck: `/deck/followed/approval_cards` makes the card,
//!   `/ui/overlays/card_sheet` draws it and `/ui/overlays/asked` its choices.
//!   [`Status`](crate::wire::status::Status) has only how many wait
//! - chosen: on the card, of which a key makes a wish (`Effect::AnswerApproval`) that
//!   `/deck/calls/perform` calls the daemon with, or by `/cli/decisions/approvals`
//! - answered: `commands::answer_approval` records the answer, and then gives it to the hook, or to Codex by
//!   its adapter, which says whether it arrived. If not ([`ApprovalUnanswered`](event::Event), or the
//!   agent asks again on a new connection), `decisions::approving` records that, and it waits again.
//!   The reason of a no goes to Codex behind it, as a message ([`ReasonToTell`](event::Event));
//!   Claude's hook takes it with the answer
//! - over: not with the answer, but when the agent shows its effect: `codex::approving` is told that it
//!   was resolved, `claude::approving` sees what Claude does next or that its hook left (`connecting`);
//!   `decisions::approving` records the end, in the words of `how_over`
//! - over without an answer of ours: Codex waits no longer, or its app-server is gone (`codex::facts`);
//!   a pair's last Claude leaves (`claude::presence`); a daemon starts, of which `start::unfinished`
//!   records what was lost, or takes over: `/core/fold/running` takes out what hung on the one before
//! - carried: `rollover` has what waits stand in the next session, with its answer
//! - a new kind of request brings what each of its choices sends: Codex's `result`
//!   (`/core/wire/codex/approval`), or what Claude's hook prints (`output()` of
//!   `/bridge/hook/permission`); what the rules read in it (`/core/policy/request_needs`); and its
//!   words, with whether it is of the shell or names paths (`ApprovalKind`, in `/core/entry/approval`)
//! - followed in the log by its id: `/core/trace`; told to users: `/guide/decisions.md`, and what cannot
//!   be answered here `/guide/limits.md`
//! - tested: each step by the tests beside its file, the loop's part by `/daemon/tests/approvals`, the
//!   whole with the real agents by `/tests/real_agents/approvals` and
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
pub mod reply;
mod run;
pub mod running;
mod sessions;
mod show;
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
