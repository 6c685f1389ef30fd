//! Model to view. Pure: the time is an argument, and nothing is read.

mod agents;
mod alarms;
mod approvals;
mod blockers;
mod gates;
mod held;
mod missing;
mod notice_about;
mod states;
mod trust;

use ctxrelay_ui::model as ui;
use ctxrelay_ui::text::clock;

use agents::agent_card;
use blockers::blocker_named;
use held::{exchange_card, held_card};
use missing::missing;

use super::attention;
use super::party::{agent_of, party_of};
use crate::core::agent::{Agent, AgentState};
use crate::core::entry::{TreeFound, WorkTree, handoff_words};
use crate::core::policy::{RuleInForce, SignOffMode};
use crate::core::snapshot::{Blocker, ProposalSnapshot, RecentActivity, Snapshot, TreeInQuestion};
use crate::deck::followed::model::{DaemonLink, Model, session_name};
use crate::deck::followed::rows::sent;
use crate::deck::followed::work::handoff_name;
use crate::wire::status::{ChainState, PolicyStatus};

/// How much of a proposal that was replaced is repeated, in characters.
const REPLACED_CHARS: usize = 80;

/// The most blockers of a proposal that are named on its card.
const BLOCKERS_MAX: usize = 100;

/// How many questions that have no answer have a line.
const QUESTIONS_SHOWN: usize = 3;

/// The whole visible world at a time.
pub fn present(model: &Model, now_ms: i64) -> ui::DeckView {
    let status = &model.status;
    let (timeline, window) = model.timeline.shown();
    ui::DeckView {
        now_ms,
        local: model.about.local.clone(),
        project: model.about.project.clone(),
        runtime_session: model.about.runtime_session.clone(),
        session_id: (model.session()).map_or_else(String::new, |id| session_name(id).to_owned()),
        ports: ui::HeaderPorts {
            control: status.control_port,
            proxy: status.proxy_port,
            codex: status.codex_port,
        },
        daemon: daemon(model),
        opening: opening(model),
        banner: banner(model),
        is_key_unlocked: model.key_until_ms.is_some(),
        seen: model.world.seq.0,
        ledger: ui::HeaderLedger {
            entries: entries(model),
            chain: match status.ledger.chain {
                ChainState::Ok => ui::Chain::Ok,
                ChainState::Broken => ui::Chain::Broken { seq: 0 },
                _ => ui::Chain::Unchecked,
            },
            bad_lines: status.ledger.bad_lines,
        },
        agents: if model.is_read {
            Agent::ALL
                .map(|agent| agent_card(model, agent, now_ms))
                .to_vec()
        } else {
            Vec::new()
        },
        timeline,
        window,
        sent: sent(&model.row_facts(), &model.own),
        tasks: model.work.tasks(&model.world),
        handoffs: model.work.open().clone(),
        questions: questions(&model.world),
        questions_open: model.world.open_questions.len(),
        inbox: inbox(model, now_ms),
        findings: model.findings.rows(),
        policy: policy(&status.policy),
        missing: if model.about.demo || !model.is_read {
            Vec::new()
        } else {
            missing(status)
        },
        first_run: model.is_read && !model.about.demo && !has_worked(model),
        attached: Agent::ALL
            .into_iter()
            .filter(|agent| model.status.is_attached(*agent))
            .map(agent_of)
            .collect(),
        has_other_deck: status.decks > 1,
        running_gate: (status.gates.running.as_ref()).map(|gate| gate.name.clone()),
        demo: model.about.demo,
    }
}

/// The first of the questions that have no answer.
fn questions(world: &Snapshot) -> Vec<ui::QuestionRow> {
    let open = world.open_questions.iter().take(QUESTIONS_SHOWN);
    let rows = open.map(|(seq, question)| ui::QuestionRow {
        seq: seq.0,
        from: party_of(&question.from),
        to: ui::Party::Agent(agent_of(question.to)),
        ask: question.text.clone(),
    });
    rows.collect()
}

/// An agent has worked in this session, however much of the record was read. A person with one agent
/// alone has no pair to complete.
fn has_worked(model: &Model) -> bool {
    let mut agents = Agent::ALL.into_iter();
    agents.any(|agent| model.world.agent(agent).activity != RecentActivity::default())
}

fn daemon(model: &Model) -> ui::HeaderDaemon {
    match model.link() {
        DaemonLink::Starting(_) => ui::HeaderDaemon {
            state: ui::DaemonState::Starting,
            message: None,
        },
        DaemonLink::Hosting => ui::HeaderDaemon {
            state: ui::DaemonState::Hosting,
            message: None,
        },
        DaemonLink::Attached => ui::HeaderDaemon {
            state: ui::DaemonState::Attached,
            message: None,
        },
        DaemonLink::Reconnecting(why) | DaemonLink::Silent(why) | DaemonLink::FolderGone(why) => {
            ui::HeaderDaemon {
                state: ui::DaemonState::Reconnecting,
                message: Some(why.clone()),
            }
        }
        DaemonLink::Ended(why) => ui::HeaderDaemon {
            state: ui::DaemonState::Ended,
            message: Some(why.clone()),
        },
    }
}

/// How many entries the record has. The world is ahead of the status, and its number counts lines,
/// also those that are no entries.
fn entries(model: &Model) -> u64 {
    let ledger = &model.status.ledger;
    let of_world = model.world.seq.0.saturating_sub(ledger.bad_lines);
    of_world.max(ledger.entries)
}

/// What is being done before anything was read.
fn opening(model: &Model) -> Option<String> {
    if model.is_read {
        return None;
    }
    Some(match (model.link(), &model.unread) {
        (DaemonLink::Starting(doing), _) => doing.clone(),
        (DaemonLink::Reconnecting(why) | DaemonLink::Silent(why), _) => {
            format!("looking for the daemon: {why}")
        }
        (DaemonLink::Ended(why) | DaemonLink::FolderGone(why), _) => why.clone(),
        (_, Some(why)) => format!("{why}; trying again"),
        (_, None) => "reading the record …".to_owned(),
    })
}

/// The worst of what is not as it should be; each of it has a row of the inbox too.
fn banner(model: &Model) -> Option<ui::Banner> {
    let (level, text) = states::link_fault(model).or_else(|| {
        let first = model.status.notices.first()?;
        Some((ui::Level::Warn, first.clone()))
    })?;
    Some(ui::Banner { level, text })
}

fn inbox(model: &Model, now_ms: i64) -> Vec<ui::InboxCard> {
    let mut cards: Vec<ui::InboxCard> = model
        .world
        .pending_proposals
        .values()
        .map(|proposal| finality_card(model, proposal))
        .collect();
    cards.extend(model.unclear.cards());
    cards.extend(model.world.open_alarms().map(alarms::card));
    cards.extend(approvals::cards(model));
    cards.extend(held_card(model));
    cards.extend(model.status.exchanges.iter().map(exchange_card));
    cards.extend(trust::card(model));
    if model.lost_ms().is_none() {
        // Of a turn that nobody tells of, silence is no sign.
        cards.extend(attention::stuck_cards(&model.status, now_ms));
    }
    cards.sort_by_key(|card| card.at_ms);
    let (waits, known): (Vec<_>, Vec<_>) = (states::cards(model).into_iter())
        .chain(cut_off_cards(model))
        .chain(attention::limit_cards(&model.status))
        .chain(attention::full_cards(&model.status, |agent| {
            model.status.is_attached(agent)
        }))
        .chain(attention::inferred_cards(&model.world))
        .chain(attention::rules_cards(&model.world, |agent| {
            model.status.is_attached(agent)
        }))
        .partition(|card| card.kind.waits());
    cards.extend(waits);
    // They stay for long, and nobody waits for an answer.
    cards.extend(known);
    cards
}

/// A card for each agent with messages whose turn ended early, unless they are sent again by
/// themselves.
fn cut_off_cards(model: &Model) -> Vec<ui::InboxCard> {
    let cards = Agent::ALL.into_iter().filter_map(|to| {
        let told = model.status.agents.of(to);
        if told.limit.is_some_and(|limit| limit.again > 0) {
            return None;
        }
        let (ids, count) = (told.cut_off_ids, told.cut_off);
        model.unclear.cut_off_card(&model.world, to, ids, count)
    });
    cards.collect()
}

fn finality_card(model: &Model, proposal: &ProposalSnapshot) -> ui::InboxCard {
    let claimed = &proposal.proposal;
    // As many as anybody reads: thousands of open handoffs stand against it as much as ten.
    let unclear = model.unclear.ids();
    let named = model.world.blockers_with(&claimed.handles, unclear);
    // What is only counted there is counted below.
    let named = named.filter(|blocker| !matches!(blocker, Blocker::MoreFindings(_)));
    let named = named.take(BLOCKERS_MAX);
    let mut blockers: Vec<ui::NamedEntry> = named
        .map(|blocker| blocker_named(model, &blocker))
        .collect();
    let open = model
        .world
        .blocker_count(&claimed.handles, model.unclear.count());
    let blockers_more = open.saturating_sub(blockers.len()) as u64;
    let in_force = &model.status.gates.in_force;
    let on = model.in_question(proposal);
    if on.is_unreadable {
        let why = "git could not read the work tree: nobody knows what lies there".to_owned();
        blockers.push(why.into());
    }
    let now = model.tree.as_ref();
    let stale = now.filter(|now| now.pin() != WorkTree::pin(claimed.tree.as_ref()));
    let stale_tree = stale.map(|now| now.pin().to_owned());
    // An approval is of what lies there now, and so is what its gates say.
    let on = match stale {
        None => on,
        Some(now) => TreeInQuestion {
            tree: now.tree(),
            ..on
        },
    };
    let forbids = model.world.gate_blockers(in_force, &on);
    ui::InboxCard {
        seq: Some(proposal.seq.0),
        evidence: claimed
            .evidence
            .iter()
            .map(|claim| evidence(claim, proposal.seq.0))
            .collect(),
        remaining_risk: claimed.remaining_risk.clone().unwrap_or_default(),
        handles: claimed
            .handles
            .iter()
            .map(|id| match model.world.open_handoffs.get(id) {
                Some(handoff) => ui::NamedEntry {
                    text: format!(
                        "{} {}",
                        handoff_name(handoff),
                        handoff_words(&handoff.from, &handoff.ask)
                    ),
                    line: Some(handoff.seq.0).filter(|line| *line > 0),
                },
                None => id.short().to_owned().into(),
            })
            .collect(),
        replaces: replaced(model, proposal),
        sign_off: sign_off(model),
        commit: claimed.tree.as_ref().and_then(|tree| tree.commit.clone()),
        changed_files: claimed.tree.as_ref().map_or(0, |tree| small(tree.changed)),
        tree: claimed.tree.as_ref().map(|tree| tree.tree.clone()),
        tree_still_same: match now {
            _ if on.is_unreadable => None,
            Some(TreeFound::NoRepository) | None if stale_tree.is_none() => None,
            _ => Some(stale_tree.is_none()),
        },
        stale_tree,
        gates: gates::gates(model, &on),
        changed_checks: now.map(|_| gates::changed_checks(model)),
        forbids,
        blockers,
        blockers_more,
        ..ui::InboxCard::new(
            ui::InboxKind::Finality,
            proposal.id.to_string(),
            party_of(&proposal.by),
            proposal.at_ms,
            claimed.summary.clone(),
        )
    }
}

/// How it is decided, where that is not by a key of the deck alone.
fn sign_off(model: &Model) -> Option<String> {
    if let Some(signing) = &model.world.signing {
        let signer = &signing.notice.signer;
        let locked = match model.key_until_ms {
            Some(until_ms) => format!(
                "It is unlocked here until {}; the command `lock key` locks it at once.",
                clock(until_ms, model.about.local.offset_s(until_ms))
            ),
            None if signer.is_ssh() => {
                "`ssh-keygen` signs with it, and may want a touch or its passphrase.".to_owned()
            }
            None => "It is locked: deciding asks for its passphrase.".to_owned(),
        };
        return Some(format!(
            "Decisions are signed here, by the key {signer}. {locked}"
        ));
    }
    let is_auto = model.status.finality.mode == SignOffMode::Auto.into();
    is_auto.then(|| {
        "Mode auto: the gates approve it where all that it needs, at least one, are green on its \
         very work tree and nothing else stands in the way. Else it waits for you."
            .to_owned()
    })
}

/// A claim, with the earlier entry that it names where it does: `entry 1204`, or as the deck groups it.
fn evidence(claim: &str, before: u64) -> ui::NamedEntry {
    let words = claim.split_once("entry ").map_or("", |(_, rest)| rest);
    let mut words = words.split(|c: char| !c.is_ascii_alphanumeric());
    let is_number = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let number = words.next().filter(is_number).map(|first| {
        let groups = words.take_while(|word| word.len() == 3 && is_number(word));
        groups.fold(first.to_owned(), |number, group| number + group)
    });
    let line = number.and_then(|number| number.parse().ok());
    ui::NamedEntry {
        text: claim.to_owned(),
        line: line.filter(|line| (1..before).contains(line)),
    }
}

/// The proposals that waited until this one came.
fn replaced(model: &Model, proposal: &ProposalSnapshot) -> Vec<ui::NamedEntry> {
    let earlier = model.world.replaced_by(&proposal.id);
    let shown = earlier.map(|earlier| {
        let summary = earlier.proposal.summary.chars().take(REPLACED_CHARS);
        let summary: String = summary.collect();
        ui::NamedEntry {
            text: format!("{} of {}: {summary}", earlier.id.short(), earlier.by),
            line: Some(earlier.seq.0).filter(|line| *line > 0),
        }
    });
    shown.collect()
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The operator's rules, each with its mark.
fn policy(policy: &PolicyStatus) -> ui::PolicyView {
    let line = |rule: &RuleInForce| {
        let (mark, agent) = (rule.mark(), rule.agent.title());
        format!(
            "{mark}  {agent}: {} {}; {}",
            rule.rule, rule.comes_to, rule.why
        )
    };
    ui::PolicyView {
        coordinator: policy
            .coordinator
            .map(|coordinator| match coordinator.agent() {
                Some(agent) => ui::Party::Agent(agent_of(agent)),
                None => ui::Party::Human,
            }),
        rules: policy.rules.iter().map(line).collect(),
    }
}

fn state_of(state: AgentState) -> ui::AgentState {
    match state {
        AgentState::Idle => ui::AgentState::Idle,
        AgentState::Busy => ui::AgentState::Busy,
        AgentState::Waiting => ui::AgentState::Waiting,
        AgentState::Limited => ui::AgentState::Limited,
        AgentState::Stale | AgentState::Unknown => ui::AgentState::Stale,
        AgentState::Offline => ui::AgentState::Offline,
    }
}

#[cfg(test)]
mod evidence_tests {
    use super::evidence;

    #[test]
    fn a_claim_leads_to_the_entry_that_it_names_and_to_no_other() {
        for (claim, line) in [
            ("all tests, entry 12", Some(12)),
            ("see entry 1 204: it passed", Some(1_204)),
            ("entry 1204", Some(1_204)),
            // Of this proposal's own time, or none.
            ("entry 2 000", None),
            ("entry 0", None),
            ("entry 12th", None),
            ("the entry point", None),
            ("entry ", None),
            ("cargo test", None),
            ("entry 99999999999999999999999", None),
        ] {
            assert_eq!(evidence(claim, 2_000).line, line, "{claim}");
        }
    }
}
