//! Model to view. Pure: the time is an argument, nothing is asked.

use ctxrelay_ui::model as ui;

use super::attention;
use super::model::{Link, Model};
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::entry::{DeliveryResult, Entry, EntryKind, TurnStatus, WorkTree};
use crate::core::id::EntryId;
use crate::core::snapshot::{HandoffSnapshot, Lane, ProposalSnapshot};
use crate::wire::status::{ClaudeStatus, CodexStatus, LaneStatus};

/// The longest text that a timeline row carries; opening it asks for the rest.
const ROW_CHARS_MAX: usize = 400;

/// An agent that was started this long ago and is not there is worth a hint, ms.
const SLOW_START_MS: i64 = 5_000;

/// The whole visible world at a time.
pub fn present(model: &Model, now_ms: i64, utc_offset_s: i32) -> ui::DeckView {
    let status = &model.status;
    let [open, active, blocked, stale, done] = model.world.lanes(now_ms).map(small);
    ui::DeckView {
        now_ms,
        utc_offset_s,
        project: model.project.clone(),
        runtime_session: model.runtime_session.clone(),
        session_id: status
            .session_id
            .as_ref()
            // The time in an id tells sessions apart for machines, the digits behind it for people.
            .map_or_else(String::new, |id| {
                let id = id.as_str();
                id.rsplit_once('_')
                    .map_or(id, |(_, digits)| digits)
                    .to_owned()
            }),
        ports: ui::Ports {
            control: status.control_port,
            proxy: status.proxy_port,
            codex: status.codex_port,
        },
        daemon: daemon(model),
        banner: banner(model),
        ledger: ui::Ledger {
            entries: model.world.seq.0.max(status.ledger.entries),
            chain: match status.ledger.chain.as_str() {
                "ok" => ui::Chain::Ok,
                "broken" => ui::Chain::Broken { seq: 0 },
                _ => ui::Chain::Unchecked,
            },
            bad_lines: status.ledger.bad_lines,
        },
        git_writes: Some(status.policy.coordinator.clone()).filter(|name| !name.is_empty()),
        can_set_coordinator: false,
        agents: vec![
            claude_card(model, &status.agents.claude, now_ms),
            codex_card(model, &status.agents.codex, now_ms),
        ],
        timeline: model
            .entries
            .iter()
            .filter(|entry| is_worth_a_row(entry))
            .map(|entry| row(model, entry))
            .collect(),
        timeline_total: model.world.seq.0,
        tasks: ui::Tasks {
            counts: ui::LaneCounts {
                open,
                active,
                blocked,
                stale,
                done,
            },
            rows: tasks(model, now_ms),
        },
        handoffs: handoffs(model),
        inbox: inbox(model, now_ms),
        first_run: first_run(model),
        attached: Agent::ALL
            .into_iter()
            .filter(|agent| is_attached(model, *agent))
            .map(agent_of)
            .collect(),
        demo: model.demo,
    }
}

fn daemon(model: &Model) -> ui::Daemon {
    match &model.link {
        Link::Hosting => ui::Daemon {
            state: ui::DaemonState::Hosting,
            message: None,
        },
        Link::Attached => ui::Daemon {
            state: ui::DaemonState::Attached,
            message: None,
        },
        Link::Reconnecting(why) => ui::Daemon {
            state: ui::DaemonState::Reconnecting,
            message: Some(why.clone()),
        },
    }
}

fn banner(model: &Model) -> Option<ui::Banner> {
    model.status.notices.first().map(|text| ui::Banner {
        level: ui::Level::Warn,
        text: text.clone(),
    })
}

fn is_attached(model: &Model, agent: Agent) -> bool {
    match agent {
        Agent::Claude => model.status.agents.claude.state.is_attached(),
        Agent::Codex => model.status.agents.codex.tui,
    }
}

fn claude_card(model: &Model, claude: &ClaudeStatus, now_ms: i64) -> ui::AgentCard {
    let world = model.world.agent(Agent::Claude);
    let mut detail = Vec::new();
    if let Some(why) = claude.why.as_deref().filter(|why| !why.is_empty()) {
        detail.push(why.to_owned());
    }
    detail.extend(last_note(world.last_note_ms, now_ms));
    ui::AgentCard {
        agent: ui::Agent::Claude,
        state: state_of(claude.state),
        since_ms: claude.since,
        rung: rung(&claude.delivery.rung),
        proven: claude.delivery.proven,
        why: claude.delivery.why.clone(),
        unread: small(claude.unread),
        queue: queue(&model.status.queue.claude),
        detail,
        context: None,
        silence: attention::silence(claude.silence.as_ref(), now_ms),
        limit: attention::limit(claude.limit.as_ref()),
        cut_off: small(claude.cut_off),
        turn_id: None,
        hint: slow_start(model, Agent::Claude, now_ms),
        installed: claude.installed,
        start_command: "ctxrelay claude".to_owned(),
    }
}

fn codex_card(model: &Model, codex: &CodexStatus, now_ms: i64) -> ui::AgentCard {
    let world = model.world.agent(Agent::Codex);
    let mut detail = Vec::new();
    if let Some(text) = codex.turn_text.as_deref().filter(|text| !text.is_empty()) {
        detail.push(format!("turn: {text}"));
    }
    if let Some(why) = codex.why.as_deref().filter(|why| !why.is_empty()) {
        detail.push(why.to_owned());
    } else if codex.app_server.is_some() && !codex.tui {
        detail.push("no terminal is open".to_owned());
    }
    detail.extend(last_note(world.last_note_ms, now_ms));
    ui::AgentCard {
        agent: ui::Agent::Codex,
        state: state_of(codex.state),
        since_ms: codex.since,
        rung: rung(&codex.delivery.rung),
        proven: codex.delivery.proven,
        why: codex.delivery.why.clone(),
        unread: 0,
        queue: queue(&model.status.queue.codex),
        detail,
        context: codex
            .context
            .map(|(used, window)| ui::ContextUse { used, window }),
        silence: attention::silence(codex.silence.as_ref(), now_ms),
        limit: attention::limit(codex.limit.as_ref()),
        cut_off: small(codex.cut_off),
        turn_id: codex.turn_id.as_ref().map(ToString::to_string),
        hint: slow_start(model, Agent::Codex, now_ms),
        installed: codex.installed,
        start_command: "ctxrelay codex".to_owned(),
    }
}

/// `none` is no rung.
fn rung(name: &str) -> String {
    if name == "none" {
        String::new()
    } else {
        name.to_owned()
    }
}

fn last_note(at_ms: Option<i64>, now_ms: i64) -> Option<String> {
    let age_s = (now_ms - at_ms?).max(0) / 1000;
    Some(if age_s < 60 {
        "wrote a note just now".to_owned()
    } else {
        format!("last note {} ago", crate::core::envelope::age(age_s))
    })
}

fn slow_start(model: &Model, agent: Agent, now_ms: i64) -> Option<String> {
    let started = *model.started.get(&agent)?;
    let waited_ms = now_ms - started;
    (waited_ms >= SLOW_START_MS && !is_attached(model, agent)).then(|| {
        format!(
            "started {} ago, not connected: look for its trust question",
            crate::core::envelope::age(waited_ms / 1000)
        )
    })
}

fn queue(lane: &LaneStatus) -> ui::QueueCounts {
    ui::QueueCounts {
        pending: small(lane.pending),
        in_flight: small(lane.in_flight),
        ambiguous: small(lane.ambiguous),
    }
}

/// Mechanics have no row of their own: a delivery stands below its message, and an agent's work
/// stands in its pane.
fn is_worth_a_row(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Delivery(record) => record.result == DeliveryResult::Requeued,
        EntryKind::AgentChanged(change) => {
            !matches!(change.state, AgentState::Busy) && entry.content != "Claude is idle"
        }
        EntryKind::Turn(turn) => match turn.status {
            TurnStatus::InProgress => turn.started_by == Party::Human,
            TurnStatus::Completed => false,
            TurnStatus::Interrupted | TurnStatus::Failed => true,
        },
        _ => true,
    }
}

fn row(model: &Model, entry: &Entry) -> ui::TimelineRow {
    let cut: String = entry.content.chars().take(ROW_CHARS_MAX).collect();
    let (kind, mark) = words(entry);
    ui::TimelineRow {
        seq: entry.seq.0,
        id: entry.id.to_string(),
        at_ms: entry.timestamp_ms,
        from: party_of(&entry.source),
        to: entry.target.as_ref().map(party_of),
        kind,
        text_cut: cut.len() < entry.content.len(),
        text: cut,
        mark,
        outcome: outcome(model, entry),
        detail: detail(model, entry),
    }
}

fn words(entry: &Entry) -> (String, Option<String>) {
    let word = |kind: &str| (kind.to_owned(), None);
    match &entry.kind {
        EntryKind::SessionStarted { .. } => word("session"),
        EntryKind::Message(message) if message.from_turn.is_some() => word("answer"),
        EntryKind::Message(_) => word("message"),
        EntryKind::Handoff(_) => word("handoff"),
        EntryKind::Note { note, .. } => ("note".to_owned(), Some(note.as_str().replace('_', " "))),
        EntryKind::Artifact(artifact) => (
            "artifact".to_owned(),
            Some(format!(
                "{} · claimed",
                artifact.status.as_str().replace('_', " ")
            )),
        ),
        EntryKind::FinalityProposal(_) => word("finality"),
        EntryKind::FinalityDecision(decision) => (
            "decision".to_owned(),
            Some(
                if decision.approved {
                    "approved"
                } else {
                    "rejected"
                }
                .to_owned(),
            ),
        ),
        EntryKind::Delivery(_) => word("delivery"),
        EntryKind::AgentChanged(_) => word("agent"),
        EntryKind::Turn(_) => word("turn"),
        EntryKind::Lifecycle { .. } => word("daemon"),
        EntryKind::Error { .. } => word("error"),
        EntryKind::Other { entry_type, .. } => word(entry_type),
    }
}

fn outcome(model: &Model, entry: &Entry) -> Option<ui::Outcome> {
    match &entry.kind {
        EntryKind::Error { code } => Some(ui::Outcome::new(
            ui::OutcomeState::Attention,
            code.replace('_', " "),
        )),
        EntryKind::FinalityProposal(_) => {
            let decided = model
                .world
                .decided_proposals
                .iter()
                .find(|proposal| proposal.id == entry.id)
                .and_then(|proposal| proposal.decision.as_ref());
            Some(match decided {
                Some((decision, _)) if decision.approved => {
                    ui::Outcome::new(ui::OutcomeState::Done, "approved by you")
                }
                Some(_) => ui::Outcome::new(ui::OutcomeState::Failed, "rejected by you"),
                None if model.world.pending_proposals.contains_key(&entry.id) => {
                    ui::Outcome::new(ui::OutcomeState::Attention, "waits for you")
                }
                None => return None,
            })
        }
        EntryKind::Message(_) | EntryKind::Handoff(_) => delivery(model, entry),
        _ => None,
    }
}

fn delivery(model: &Model, entry: &Entry) -> Option<ui::Outcome> {
    let to = entry.receiver()?;
    let records = model.deliveries.get(&entry.id);
    let Some((last, at_ms)) = records.and_then(|records| records.last()) else {
        return model
            .world
            .unsettled
            .contains_key(&entry.id)
            .then(|| ui::Outcome {
                state: ui::OutcomeState::Unconfirmed,
                text: format!("no proof yet that {} has it", to.title()),
                since_ms: Some(entry.timestamp_ms),
                took_ms: None,
            });
    };
    let first_proof = records
        .into_iter()
        .flatten()
        .find(|(record, _)| record.result == DeliveryResult::Confirmed);
    let took_ms = first_proof
        .map(|(_, proven_ms)| u64::try_from(proven_ms - entry.timestamp_ms).unwrap_or(0));
    let by = first_proof
        .and_then(|(record, _)| record.rung.as_deref())
        .unwrap_or_default();
    let (state, text) = match last.result {
        DeliveryResult::Confirmed if to == Agent::Codex && by == "steer" => {
            (ui::OutcomeState::Done, "joined its running turn".to_owned())
        }
        DeliveryResult::Confirmed if to == Agent::Codex && by == "queue" => {
            (ui::OutcomeState::Done, "started a turn".to_owned())
        }
        DeliveryResult::Confirmed => (
            ui::OutcomeState::Done,
            format!("{} has it by {by}, not acknowledged", to.title()),
        ),
        DeliveryResult::Acknowledged => (
            ui::OutcomeState::Done,
            format!("acknowledged by {}", to.title()),
        ),
        DeliveryResult::Rejected => (
            ui::OutcomeState::Failed,
            format!("rejected: {} was busy", to.title()),
        ),
        DeliveryResult::Expired => (ui::OutcomeState::Failed, "expired".to_owned()),
        DeliveryResult::Cancelled => (ui::OutcomeState::Failed, "taken back by you".to_owned()),
        DeliveryResult::Ambiguous => (
            ui::OutcomeState::Attention,
            format!("nobody can know whether {} has it", to.title()),
        ),
        DeliveryResult::Requeued => (
            ui::OutcomeState::Unconfirmed,
            "queued again".to_owned(),
        ),
    };
    let since_ms = (state == ui::OutcomeState::Unconfirmed).then_some(*at_ms);
    Some(ui::Outcome {
        state,
        text,
        since_ms,
        took_ms: took_ms.filter(|_| state == ui::OutcomeState::Done),
    })
}

/// What the opened entry shows beside its text.
pub(super) fn detail(model: &Model, entry: &Entry) -> Vec<ui::Field> {
    let mut fields = Vec::new();
    let mut field = |name: &str, text: String| {
        if !text.is_empty() {
            fields.push(ui::Field {
                name: name.to_owned(),
                text,
            });
        }
    };
    match &entry.kind {
        EntryKind::Message(message) => {
            field("on busy", message.on_busy.as_str().to_owned());
            if message.require_reply {
                field("answer", "expected".to_owned());
            }
            field("answers", optional(message.in_reply_to.as_ref()));
        }
        EntryKind::Handoff(handoff) => {
            field("reason", handoff.reason.clone());
            field("see", handoff.context_refs.join(", "));
            field("on busy", handoff.on_busy.as_str().to_owned());
        }
        EntryKind::Artifact(artifact) => {
            field("kind", artifact.kind.clone());
            field("status", format!("{} (claimed)", artifact.status.as_str()));
            field("evidence", artifact.evidence.join("\n"));
        }
        EntryKind::FinalityProposal(proposal) => {
            field("tree", optional_tree(proposal.tree.as_ref()));
        }
        EntryKind::FinalityDecision(decision) => {
            field("proposal", decision.proposal_id.to_string());
            field("tree", optional_tree(decision.tree.as_ref()));
        }
        _ => {}
    }
    field(
        "handles",
        entry
            .handles()
            .iter()
            .map(EntryId::as_str)
            .collect::<Vec<_>>()
            .join(", "),
    );
    for (record, _) in model.deliveries.get(&entry.id).into_iter().flatten() {
        let attempt = record
            .attempt_id
            .as_ref()
            .map_or_else(String::new, |attempt| {
                format!(" · attempt {}", attempt.short())
            });
        let rung = record
            .rung
            .as_ref()
            .map_or_else(String::new, |rung| format!(" by {rung}"));
        field(
            "delivery",
            format!("{}{rung}{attempt}", record.result.as_str()),
        );
        // With the text above between the two, it is all that the receiver was given.
        let given = record.given.as_ref().map_or_else(String::new, |given| {
            format!("{given} … [end of {}]", record.message_id)
        });
        field("given as", given);
    }
    if let Some(runtime_session) = &entry.runtime_session {
        field("pair", runtime_session.to_string());
    }
    field("entry", format!("{} · {}", entry.seq, entry.id));
    fields
}

fn optional(id: Option<&EntryId>) -> String {
    id.map_or_else(String::new, ToString::to_string)
}

fn optional_tree(tree: Option<&WorkTree>) -> String {
    tree.map_or_else(String::new, |tree| {
        let commit = tree.commit.as_deref().unwrap_or("no commit");
        format!("{} at {commit}, {} changed files", tree.tree, tree.changed)
    })
}

fn tasks(model: &Model, now_ms: i64) -> Vec<ui::TaskRow> {
    let open = model.world.open_handoffs.values();
    let closed = model.world.closed_handoffs.iter().rev();
    open.chain(closed)
        .map(|handoff| ui::TaskRow {
            lane: lane_of(handoff.lane(now_ms)),
            id_short: handoff_name(handoff),
            seq: Some(handoff.seq.0),
            from: party_of(&handoff.from),
            to: handoff.to.as_ref().map_or(ui::Party::Human, party_of),
            text: handoff.ask.chars().take(ROW_CHARS_MAX).collect(),
            since_ms: handoff
                .handled_by
                .as_ref()
                .map_or(handoff.at_ms, |(_, at_ms)| *at_ms),
        })
        .collect()
}

fn handoffs(model: &Model) -> Vec<ui::HandoffRow> {
    let mut rows: Vec<&HandoffSnapshot> = model
        .world
        .open_handoffs
        .values()
        .chain(&model.world.closed_handoffs)
        .collect();
    rows.sort_by_key(|handoff| std::cmp::Reverse(handoff.seq));
    rows.into_iter()
        .map(|handoff| ui::HandoffRow {
            id_short: handoff_name(handoff),
            seq: Some(handoff.seq.0),
            at_ms: handoff.at_ms,
            from: party_of(&handoff.from),
            to: handoff.to.as_ref().map_or(ui::Party::Human, party_of),
            state: match (&handoff.handled_by, handoff.delivered) {
                (Some(_), _) => ui::HandoffState::Done,
                (None, true) => ui::HandoffState::Open,
                (None, false) => ui::HandoffState::Unconfirmed,
            },
            ask: handoff.ask.chars().take(ROW_CHARS_MAX).collect(),
            reason: handoff.reason.chars().take(ROW_CHARS_MAX).collect(),
            answer: handoff
                .answer
                .as_ref()
                .and_then(|id| model.entries.iter().rev().find(|entry| entry.id == *id))
                .map_or_else(String::new, |entry| {
                    entry.content.chars().take(ROW_CHARS_MAX).collect()
                }),
        })
        .collect()
}

fn inbox(model: &Model, now_ms: i64) -> Vec<ui::InboxCard> {
    let mut cards: Vec<ui::InboxCard> = model
        .world
        .pending_proposals
        .values()
        .map(|proposal| finality_card(model, proposal))
        .collect();
    for (id, message) in &model.world.unsettled {
        if message.result == Some(DeliveryResult::Ambiguous) {
            cards.push(ui::InboxCard {
                seq: Some(message.seq.0),
                ..ui::InboxCard::new(
                    ui::InboxKind::Alarm,
                    id.to_string(),
                    ui::Party::System,
                    message.at_ms,
                    format!(
                        "Nobody can know whether {} has message {}. Retry sends it again.",
                        message.to.title(),
                        id.short()
                    ),
                )
            });
        }
    }
    if model.status.approvals.pending > 0 {
        cards.push(ui::InboxCard::new(
            ui::InboxKind::Approval,
            "codex-approvals",
            ui::Agent::Codex,
            model.world.agent(Agent::Codex).since_ms,
            "Codex waits for your approval: answer it in its terminal.",
        ));
    }
    cards.extend(attention::stuck_cards(&model.status, now_ms));
    cards.sort_by_key(|card| card.at_ms);
    cards
}

fn finality_card(model: &Model, proposal: &ProposalSnapshot) -> ui::InboxCard {
    let claimed = &proposal.proposal;
    ui::InboxCard {
        seq: Some(proposal.seq.0),
        evidence: claimed.evidence.clone(),
        remaining_risk: claimed.remaining_risk.clone().unwrap_or_default(),
        handles: claimed
            .handles
            .iter()
            .map(|id| match model.world.open_handoffs.get(id) {
                Some(handoff) => format!("{} {}", handoff_name(handoff), handoff.ask),
                None => id.short().to_owned(),
            })
            .collect(),
        commit: claimed.tree.as_ref().and_then(|tree| tree.commit.clone()),
        changed_files: claimed.tree.as_ref().map_or(0, |tree| small(tree.changed)),
        tree: claimed.tree.as_ref().map(|tree| tree.tree.clone()),
        tree_still_same: match (&claimed.tree, &model.tree) {
            (Some(then), Some(now)) => Some(then.tree == now.tree),
            _ => None,
        },
        blockers: model.world.blockers(claimed),
        ..ui::InboxCard::new(
            ui::InboxKind::Finality,
            proposal.id.to_string(),
            party_of(&proposal.by),
            proposal.at_ms,
            claimed.summary.clone(),
        )
    }
}

fn first_run(model: &Model) -> Vec<ui::FirstStep> {
    if model.demo || model.world.counts.contains_key("message") {
        return Vec::new();
    }
    let agents = &model.status.agents;
    let steps: Vec<ui::FirstStep> = Agent::ALL
        .into_iter()
        .map(|agent| {
            let (installed, package) = match agent {
                Agent::Claude => (agents.claude.installed, "@anthropic-ai/claude-code"),
                Agent::Codex => (agents.codex.installed, "@openai/codex"),
            };
            if installed {
                ui::FirstStep {
                    text: format!("Start {} beside this deck", agent.title()),
                    command: format!("ctxrelay {agent}"),
                    act: ui::StepAct::Start(agent_of(agent)),
                    done: is_attached(model, agent),
                }
            } else {
                ui::FirstStep {
                    text: format!("{} is not installed", agent.title()),
                    command: format!("npm install -g {package}"),
                    act: ui::StepAct::Copy,
                    done: false,
                }
            }
        })
        .collect();
    if steps.iter().all(|step| step.done) {
        return Vec::new();
    }
    steps
}

/// Handoffs are named by their place in the record: short, unique, and where to find them.
fn handoff_name(handoff: &HandoffSnapshot) -> String {
    format!("h{}", handoff.seq)
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn agent_of(agent: Agent) -> ui::Agent {
    match agent {
        Agent::Claude => ui::Agent::Claude,
        Agent::Codex => ui::Agent::Codex,
    }
}

pub(super) fn party_of(party: &Party) -> ui::Party {
    match party {
        Party::Agent(agent) => ui::Party::Agent(agent_of(*agent)),
        Party::Human => ui::Party::Human,
        Party::System => ui::Party::System,
        Party::Other(name) => ui::Party::Other(name.clone()),
    }
}

fn state_of(state: AgentState) -> ui::AgentState {
    match state {
        AgentState::Idle => ui::AgentState::Idle,
        AgentState::Busy => ui::AgentState::Busy,
        AgentState::Waiting => ui::AgentState::Waiting,
        AgentState::Limited => ui::AgentState::Limited,
        AgentState::Stale => ui::AgentState::Stale,
        AgentState::Offline => ui::AgentState::Offline,
    }
}

fn lane_of(lane: Lane) -> ui::Lane {
    match lane {
        Lane::Open => ui::Lane::Open,
        Lane::Active => ui::Lane::Active,
        Lane::Blocked => ui::Lane::Blocked,
        Lane::Stale => ui::Lane::Stale,
        Lane::Done => ui::Lane::Done,
    }
}
