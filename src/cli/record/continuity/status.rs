//! `ctxrelay continuity status`, and the lines about an agent that other verbs show too.

use serde_json::{Map, Value, json};

use crate::cli::connection::connect::{control, wait_for, world_by};
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::output::Tone;
use crate::cli::record::status::read_by;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{ago, count, now_ms, short};
use crate::core::agent::Agent;
use crate::core::continuity::{ContinuityState, PacketSeen, Staleness};
use crate::core::entry::{Compaction, ReloadStep};
use crate::wire::status::CostStatus;

/// How much of an objective is told, in characters.
const OBJECTIVE_CHARS: usize = 200;

pub(super) fn run(context: &CliContext) -> CliOutcome {
    let project = &context.project;
    let (world, agents_now) = wait_for(async {
        let found = control(project).await;
        let world = world_by(project, &found).await?;
        Ok((world, read_by(project, &found).await?.agents))
    })?;
    let mut agents = Map::new();
    let mut text = ReportText::new();
    for agent in Agent::ALL {
        let state = &world.told_work_of(agent, &project.runtime_session);
        let cost = agents_now.of(agent).continuity.cost_today;
        let mut value = to_json(state);
        value["costToday"] = json!(cost);
        agents.insert(agent.to_string(), value);
        summary(&mut text, agent, state, now_ms());
        let objective = state.objective.as_ref();
        text.line(match objective {
            Some(said) => format!("  objective: {}", short(&said.text, OBJECTIVE_CHARS)),
            None => "  nobody said what is to be reached".to_owned(),
        });
        if let Some(cost) = cost {
            text.line(format!("  {}", of_cost(&cost)));
        }
    }
    let value = json!({"agents": agents});
    context.out.report(Report::new(&value, text))
}

fn to_json(state: &ContinuityState) -> Value {
    json!({
        "objective": state.objective.as_ref().map(|said| &said.text),
        "turns": state.turns,
        "turnsSinceWritten": state.turns_since_written,
        "staleness": Staleness::of(state.turns_since_written),
        "compactions": state.compactions_total,
        "lastPacket": state.packet.as_ref().map(|packet| json!({
            "seq": packet.seq,
            "at": packet.at_ms,
            "cause": packet.cause,
            "way": packet.way,
            "state": packet.step.state(),
        })),
    })
}

/// What of ours its model was given today, by sort.
fn of_cost(cost: &CostStatus) -> String {
    let CostStatus {
        chars,
        tokens_estimate,
        of,
    } = cost;
    format!(
        "of ours today: {chars} characters (~{tokens_estimate} tokens): tools {}, instructions {}, \
         envelopes {}, packets {}",
        of.tools, of.instructions, of.envelopes, of.packets
    )
}

/// An agent's name and how it keeps the thread, in one line or a few.
pub(super) fn summary(out: &mut ReportText, agent: Agent, state: &ContinuityState, now_ms: i64) {
    let staleness = Staleness::of(state.turns_since_written);
    let tone = match staleness {
        Staleness::Fresh => Tone::Faint,
        Staleness::Mild => Tone::Warning,
        Staleness::Loud => Tone::Bad,
    };
    let about = format!(
        "  {}, {} since it wrote something down ({})",
        count(state.turns, "turn", "turns"),
        state.turns_since_written,
        staleness.as_str()
    );
    out.spans(&[(Tone::Strong, agent.title()), (tone, &about)]);
    if let Some(last) = state.compactions.back() {
        let all = count(state.compactions_total, "compaction", "compactions");
        let ago = ago(now_ms - last.at_ms);
        out.line(format!(
            "  {all}, the last one {ago}: {}",
            of_compaction(&last.compaction)
        ));
    }
    if let Some(packet) = &state.packet {
        out.line(format!("  {}", last_packet(packet, now_ms)));
    }
}

/// `auto, 180000 → 41000 tokens`, as far as it is known.
pub(in crate::cli) fn of_compaction(compaction: &Compaction) -> String {
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let Compaction {
        trigger,
        tokens_before,
        tokens_after,
    } = compaction;
    if tokens_before.is_none() && tokens_after.is_none() {
        return trigger.to_string();
    }
    let (before, after) = (tokens(*tokens_before), tokens(*tokens_after));
    format!("{trigger}, {before} → {after} tokens")
}

/// When a packet was offered, and [`of_packet`].
pub(super) fn last_packet(packet: &PacketSeen, now_ms: i64) -> String {
    let ago = ago(now_ms - packet.at_ms);
    format!("last packet: {ago}, {}", of_packet(packet))
}

/// Why and how a packet came, and how far.
pub(in crate::cli) fn of_packet(packet: &PacketSeen) -> String {
    let state = match &packet.step {
        ReloadStep::Offered { .. } => "offered, and not yet seen to have come".to_owned(),
        ReloadStep::Given => "given".to_owned(),
        ReloadStep::NotGiven { why } => format!("not given: {why}"),
        ReloadStep::Unknown { why } => format!("nobody knows whether it came: {why}"),
    };
    let PacketSeen {
        cause, way, seq, ..
    } = packet;
    format!("{cause}, by {way}, entry {seq}: {state}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::entry::{ReloadCause, ReloadWay};
    use crate::core::id::{EntryId, Seq};

    #[test]
    fn a_packet_that_did_not_come_is_told_as_not_given_and_why() {
        let why = "thread not found: T".to_owned();
        let packet = PacketSeen {
            id: EntryId::new("p"),
            seq: Seq(7),
            at_ms: 1_000,
            cause: ReloadCause::Compacted,
            way: ReloadWay::Inject,
            turn: 3,
            step: ReloadStep::NotGiven { why },
        };
        let told = "compacted, by inject, entry 7: not given: thread not found: T";
        assert_eq!(of_packet(&packet), told);
        assert!(last_packet(&packet, 61_000).ends_with(told));
    }
}
