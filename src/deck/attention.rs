//! What the deck shows of quiet turns and usage limits, and the calls of the keys that act on them.

use ctxrelay_ui::AgentAction;
use ctxrelay_ui::model as ui;
use ctxrelay_ui::text::grouped;

use super::party::agent_of;
use crate::core::agent::Agent;
use crate::core::delivery::{LimitMode, Watched};
use crate::core::id::{RuntimeSession, TurnId};
use crate::core::snapshot::Snapshot;
use crate::wire::control::{AgentActionKind, AgentActionParams, Command};
use crate::wire::status::{LimitStatus, SilenceStatus, Status};

/// A turn's silence; `None` while it gives signs.
pub(super) fn silence(silence: Option<&SilenceStatus>, now_ms: i64) -> Option<ui::Silence> {
    let silence = silence?;
    let level = match silence.level {
        Watched::Fine => return None,
        Watched::Quiet => ui::SilenceLevel::Quiet,
        Watched::Suspect => ui::SilenceLevel::Suspect,
        Watched::Stuck => ui::SilenceLevel::Stuck,
    };
    Some(ui::Silence {
        level,
        since_ms: silence.since,
        snoozed_until_ms: silence.snoozed_until.filter(|until| *until > now_ms),
    })
}

/// A usage limit, unless the operator wants nothing said of it.
pub(super) fn limit(limit: Option<&LimitStatus>) -> Option<ui::UsageLimit> {
    let limit = limit.filter(|limit| limit.mode != LimitMode::Off)?;
    Some(ui::UsageLimit {
        resets_ms: limit.resets_at,
        try_ms: limit.next_try,
        tries: limit.tries,
        tries_max: limit.tries_max,
        again: u32::try_from(limit.again).unwrap_or(u32::MAX),
        is_cancelled: limit.cancelled,
    })
}

/// A card for each agent whose turn is stuck.
pub(super) fn stuck_cards(status: &Status, now_ms: i64) -> Vec<ui::InboxCard> {
    Agent::ALL
        .into_iter()
        .filter_map(|agent| {
            let silence = silence(status.agents.of(agent).silence, now_ms)?;
            Some((agent_of(agent), silence))
        })
        .filter(|(_, silence)| silence.level == ui::SilenceLevel::Stuck)
        .map(|(agent, silence)| {
            ui::InboxCard::new(
                ui::InboxKind::Stuck,
                format!("stuck-{}", agent.as_str()),
                agent,
                silence.since_ms,
                match agent {
                    ui::Agent::Claude => {
                        "No sign of its turn for long: look into its terminal, or let it be."
                    }
                    ui::Agent::Codex => {
                        "No sign of its turn for long: look at it, let it be, or stop it."
                    }
                },
            )
        })
        .collect()
}

/// A card for each agent at its usage limit, unless the operator wants nothing said of it.
pub(super) fn limit_cards(status: &Status) -> Vec<ui::InboxCard> {
    Agent::ALL
        .into_iter()
        .filter_map(|agent| {
            let of = status.agents.of(agent).limit;
            limit(of)?;
            Some(ui::InboxCard::new(
                ui::InboxKind::Limited,
                format!("limit-{agent}"),
                agent_of(agent),
                of?.since,
                format!("{} is at its usage limit", agent.title()),
            ))
        })
        .collect()
}

/// A card for each agent that is here and whose context is nearly full.
pub(super) fn full_cards(
    status: &Status,
    is_attached: impl Fn(Agent) -> bool,
) -> Vec<ui::InboxCard> {
    Agent::ALL
        .into_iter()
        .filter(|agent| is_attached(*agent))
        .filter_map(|agent| {
            let fill = status.agents.of(agent).context;
            let (since_ms, percent) = (fill.nearly_full_since?, fill.percent?);
            let room = match fill.turns_left {
                Some(0) => ", and it may be compacted at any time".to_owned(),
                Some(1) => ", room for about one turn".to_owned(),
                Some(turns) => format!(", room for about {} turns", grouped(turns)),
                None => String::new(),
            };
            Some(ui::InboxCard::new(
                ui::InboxKind::Full,
                format!("full-{agent}"),
                agent_of(agent),
                since_ms,
                format!("Context {percent}% full{room}: its sheet shows what can be done."),
            ))
        })
        .collect()
}

/// A card for each file of rules that is not what an agent that is here was told. `is_attached`: of
/// the first pair's; of each other Claude the record says it.
pub(super) fn rules_cards(
    world: &Snapshot,
    is_attached: impl Fn(Agent) -> bool,
) -> Vec<ui::InboxCard> {
    let first = RuntimeSession::default();
    let is_here = |agent: Agent, pair: &RuntimeSession| match *pair == first {
        true => is_attached(agent),
        false => world.agent(agent).status(pair).state.is_attached(),
    };
    let states = world.continuity.iter();
    let states = states.flat_map(|(agent, states)| {
        let states = states.iter();
        states.map(move |(pair, state)| (*agent, pair, state))
    });
    let here = states.filter(|(agent, pair, _)| is_here(*agent, pair));
    let changed = here.flat_map(|(agent, pair, state)| {
        let changed = state.rules_changed.iter();
        changed.map(move |seen| (agent, pair, seen))
    });
    let cards = changed.map(|(agent, pair, seen)| {
        let (name, key) = match *pair == first {
            true => (agent.title().to_owned(), agent.to_string()),
            false => (
                format!("{} of pair {pair}", agent.title()),
                format!("{agent}-{pair}"),
            ),
        };
        let changed = &seen.changed;
        let by = match changed.by.as_slice() {
            [] => "by you or another program".to_owned(),
            agents => {
                let agents: Vec<&str> = agents.iter().map(|by| by.title()).collect();
                format!("by {}", agents.join(" and "))
            }
        };
        let file = &changed.file;
        let summary = format!(
            "{file} changed while {name} runs, {by}\n\n{}",
            changed.lines
        );
        let steps = [format!(
            "{name} is told the rules of now when it begins again or after its next compaction."
        )];
        ui::InboxCard {
            seq: Some(seen.seq.0),
            steps: steps.to_vec(),
            command: Some(format!("ctxrelay instructions {agent}")),
            ..ui::InboxCard::new(
                ui::InboxKind::Notice,
                format!("rules-{key}-{file}"),
                ui::Party::System,
                seen.at_ms,
                summary,
            )
        }
    });
    cards.collect()
}

/// What a model took from the words of an agent that marked nothing for long.
pub(super) fn inferred_cards(world: &Snapshot) -> Vec<ui::InboxCard> {
    let pair = RuntimeSession::default();
    let of = |agent| {
        world
            .state_of(agent, &pair)?
            .inferred
            .as_ref()
            .map(|seen| (agent, seen))
    };
    let cards = Agent::ALL.into_iter().filter_map(of).map(|(agent, seen)| {
        let name = agent.title();
        let values = seen.values.iter().map(|value| {
            let kind = value.kind.as_str().replace('_', " ");
            format!("- {kind}: {}", value.text)
        });
        let values: Vec<String> = values.collect();
        let summary = format!(
            "{name} has not said what it is at; a model takes it to be this\n\n{}",
            values.join("\n")
        );
        let steps = format!(
            "Recorded as `auto`, which counts least, when a turn of {name}'s ends without a mark. \
             Gone with the next mark, or after 3 turns."
        );
        ui::InboxCard {
            seq: Some(seen.seq.0),
            steps: vec![steps],
            command: Some(format!("ctxrelay continuity show {agent}")),
            ..ui::InboxCard::new(
                ui::InboxKind::Notice,
                format!("inferred-{agent}"),
                ui::Party::System,
                seen.at_ms,
                summary,
            )
        }
    });
    cards.collect()
}

/// The call behind a key, and what is said once it is done.
pub(super) fn agent_action(agent: Agent, act: AgentAction) -> (Command, String) {
    let title = agent.title();
    let (act, turn_id, done) = match act {
        AgentAction::Interrupt { turn_id } => (
            AgentActionKind::Interrupt,
            Some(TurnId::new(turn_id)),
            format!("{title}'s turn was stopped"),
        ),
        AgentAction::SendAgain => (
            AgentActionKind::Requeue,
            None,
            "queued again, marked as a repetition".to_owned(),
        ),
        AgentAction::Snooze => (
            AgentActionKind::Snooze,
            None,
            format!("{title} is let be for as long again"),
        ),
        AgentAction::TryNow => (
            AgentActionKind::TryNow,
            None,
            format!("the next message to {title} is the test"),
        ),
        AgentAction::CancelRetries => (
            AgentActionKind::CancelRetries,
            None,
            format!("{title} is not tried by itself any more"),
        ),
        AgentAction::Compact => (
            AgentActionKind::Compact,
            None,
            format!("{title} compacts its context"),
        ),
    };
    let params = AgentActionParams {
        agent,
        act,
        turn_id,
        placed: true,
    };
    (Command::AgentAction(params), done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::AgentState;
    use crate::core::continuity::RulesSeen;
    use crate::core::entry::ChangedRules;
    use crate::core::id::Seq;
    use crate::core::snapshot::AgentStatus;

    #[test]
    fn rules_that_changed_have_a_card_for_each_agent_that_is_here_with_lines_and_author() {
        let mut world = Snapshot::default();
        for (agent, by) in [
            (Agent::Claude, vec![Agent::Codex]),
            (Agent::Codex, Vec::new()),
        ] {
            let states = world.continuity.entry(agent).or_default();
            let state = states.entry(RuntimeSession::default()).or_default();
            state.rules_changed.push(RulesSeen {
                seq: Seq(7),
                at_ms: 1,
                changed: ChangedRules {
                    file: "AGENTS.md".to_owned(),
                    by,
                    lines: "- one\n+ two".to_owned(),
                },
            });
        }
        let cards = rules_cards(&world, |_| true);
        let told: Vec<&str> = cards.iter().map(|card| card.summary.as_str()).collect();
        assert_eq!(
            told,
            [
                "AGENTS.md changed while Claude runs, by Codex\n\n- one\n+ two",
                "AGENTS.md changed while Codex runs, by you or another program\n\n- one\n+ two",
            ]
        );
        assert!(
            cards
                .iter()
                .all(|card| !card.kind.waits() && card.seq == Some(7))
        );
        assert_eq!(
            cards[0].command.as_deref(),
            Some("ctxrelay instructions claude")
        );
        assert!(rules_cards(&world, |_| false).is_empty());

        // Another pair's Claude has cards of its own while that one is here.
        let two = RuntimeSession::new("two");
        let states = world.continuity.entry(Agent::Claude).or_default();
        let changed = states[&RuntimeSession::default()].rules_changed.clone();
        let state = states.entry(two.clone()).or_default();
        state.rules_changed = changed;
        assert_eq!(rules_cards(&world, |_| true).len(), 2);
        let status = AgentStatus {
            state: AgentState::Idle,
            ..AgentStatus::default()
        };
        let claude = world.agents.entry(Agent::Claude).or_default();
        claude.statuses.insert(two, status);
        let cards = rules_cards(&world, |_| true);
        let told = "AGENTS.md changed while Claude of pair two runs, by Codex\n\n- one\n+ two";
        assert_eq!((cards.len(), cards[1].summary.as_str()), (3, told));
        assert_ne!(cards[0].id, cards[1].id);
    }
}
