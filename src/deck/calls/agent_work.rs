//! [`work`] and [`rules`]: read, when somebody opens them, what an agent is working on, its packet,
//! its files, its history, and the rules that it receives.

use std::collections::VecDeque;

use ctxrelay_ui::model as ui;
use ctxrelay_ui::text::{grouped, tokens};

use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::continuity::{
    CompactionSeen, ContinuityState, PacketSeen, RECENT_WORK, Staleness, StateTag, StatedText,
    TouchedFile, WorkEventRow, WorkFileRow, WorkResultRow, WorkSources, changed_since_by,
};
use crate::core::entry::{Entry, ReloadStep};
use crate::core::id::{EntryId, RuntimeSession};
use crate::core::instructions::{RuleRow, RuleState};
use crate::deck::clock::utc;
use crate::deck::deck_options::RulesOfFiles;
use crate::deck::followed::model::{Model, entries};
use crate::deck::followed::rows::verdict_of;
use crate::deck::party::core_agent_of;
use crate::wire::control::{Command, EntryLine, LedgerListParams};
use crate::wire::status::CostStatus;

/// What this agent is at, as the world is now; the packet's text is read from the record, as is the
/// log where it is wanted.
pub(in crate::deck) async fn work(
    client: &Client,
    model: &Model,
    agent: ui::Agent,
    with_log: bool,
) -> ui::WorkView {
    let pair = RuntimeSession::new(model.about.runtime_session.clone());
    let state = &model.world.told_work_of(core_agent_of(agent), &pair);
    let peers = model.world.peers_of(core_agent_of(agent), &pair);
    let packet = match &state.packet {
        Some(seen) => Some(packet(seen, text_of(client, &seen.id).await)),
        None => None,
    };
    let recent = match with_log {
        true => Some(recent(client).await),
        false => None,
    };
    let stands_under = model.world.pair_of_work(core_agent_of(agent), &pair);
    let sources = |entries| WorkSources {
        world: &model.world,
        agent: core_agent_of(agent),
        pair: &stands_under,
        entries,
        heads: &[],
        time: &utc,
    };
    ui::WorkView {
        agent,
        about: about(state, cost(model, core_agent_of(agent))),
        sections: sections(core_agent_of(agent), state, &peers),
        packet,
        files: sources(&[]).file_rows().into_iter().map(touched).collect(),
        results: sources(&[]).result_rows().into_iter().map(result).collect(),
        log: match recent {
            None => ui::WorkLog::NotRead,
            Some(None) => ui::WorkLog::Unreadable,
            Some(Some(entries)) => ui::WorkLog::Read(
                sources(&entries)
                    .event_rows()
                    .into_iter()
                    .map(event)
                    .collect(),
            ),
        },
    }
}

fn touched(row: WorkFileRow) -> ui::WorkFile {
    ui::WorkFile {
        path: row.path,
        how: row.how.to_owned(),
        line: row.seq.0,
        changed_by: row.changed_by.map(|by| by.title().to_owned()),
    }
}

fn result(row: WorkResultRow) -> ui::WorkResult {
    ui::WorkResult {
        title: row.title,
        sort: row.sort,
        verdict: verdict_of(row.status),
        line: row.seq.0,
    }
}

fn event(row: WorkEventRow) -> ui::WorkEvent {
    ui::WorkEvent {
        at_ms: row.at_ms,
        line: row.seq.0,
        what: row.what,
    }
}

/// The latest entries that may tell of an agent's work, oldest first.
async fn recent(client: &Client) -> Option<Vec<Entry>> {
    let mut recent = Vec::new();
    for (entry_type, most) in RECENT_WORK {
        let list = Command::LedgerList(LedgerListParams {
            limit: u32::try_from(most).ok(),
            entry_type: Some(entry_type.to_string()),
            ..LedgerListParams::default()
        });
        recent.extend(entries(client.ask_for(list).await.ok()?));
    }
    recent.sort_by_key(|entry| entry.seq);
    Some(recent)
}

/// What the project's files tell this agent.
pub(in crate::deck) fn rules(agent: ui::Agent, read: RulesOfFiles) -> ui::RulesView {
    let rule = |row: RuleRow| ui::ToldRule {
        file: row.file,
        words: row.paragraph,
        fate: match row.state {
            RuleState::Native => ui::RuleFate::Read,
            RuleState::Given => ui::RuleFate::Given,
            RuleState::Withheld => ui::RuleFate::NotGiven,
        },
        why: row.why,
    };
    ui::RulesView {
        agent,
        rules: read.rows.into_iter().map(rule).collect(),
        unread: read.unread,
        doubts: read.doubts,
    }
}

async fn text_of(client: &Client, id: &EntryId) -> Option<String> {
    let show = Command::LedgerShow {
        entry: id.to_string(),
        full: true,
        placed: false,
    };
    let line: EntryLine = client.ask_for(show).await.ok()?;
    line.entry().map(|entry| entry.content)
}

fn packet(seen: &PacketSeen, text: Option<String>) -> ui::PacketView {
    let (fate, why) = match &seen.step {
        ReloadStep::Offered { .. } => (ui::PacketFate::Offered, String::new()),
        ReloadStep::Given => (ui::PacketFate::Given, String::new()),
        ReloadStep::NotGiven { why } => (ui::PacketFate::NotGiven, why.clone()),
        ReloadStep::Unknown { why } => (ui::PacketFate::Unknown, why.clone()),
    };
    ui::PacketView {
        line: seen.seq.0,
        at_ms: seen.at_ms,
        cause: seen.cause.to_string(),
        way: seen.way.to_string(),
        fate,
        why,
        text,
    }
}

/// What of ours its model was given today, as far as the daemon tells.
fn cost(model: &Model, agent: Agent) -> Option<CostStatus> {
    model.status.agents.of(agent).continuity.cost_today
}

fn about(state: &ContinuityState, cost: Option<CostStatus>) -> Vec<String> {
    let turns = |n: u64| format!("{n} turn{}", if n == 1 { "" } else { "s" });
    let staleness = Staleness::of(state.turns_since_written);
    let mut about = vec![format!(
        "{}, {} since it wrote something down ({})",
        turns(state.turns),
        state.turns_since_written,
        staleness.as_str()
    )];
    if let Some(CompactionSeen { compaction, .. }) = state.compactions.back() {
        let known = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), tokens);
        about.push(format!(
            "compacted {} times, the last one {}, {} before and {} after",
            state.compactions_total,
            compaction.trigger,
            known(compaction.tokens_before),
            known(compaction.tokens_after)
        ));
    }
    if let Some(CostStatus {
        tokens_estimate,
        of,
        ..
    }) = cost
    {
        about.push(format!(
            "of ours today ~{} tokens; characters: tools {}, instructions {}, envelopes {}, packets {}",
            tokens(tokens_estimate),
            grouped(of.tools),
            grouped(of.instructions),
            grouped(of.envelopes),
            grouped(of.packets)
        ));
    }
    about
}

fn sections(
    agent: Agent,
    state: &ContinuityState,
    peers: &[ContinuityState],
) -> Vec<ui::WorkSection> {
    let one = |said: &Option<StatedText>| said.iter().map(value).collect();
    let all = |said: &VecDeque<StatedText>| said.iter().map(value).collect();
    let files = |files: &VecDeque<TouchedFile>| {
        let files = files.iter().rev();
        files.map(|touched| file(agent, touched, peers)).collect()
    };
    let sections: [(&str, Vec<ui::WorkValue>); 11] = [
        ("Objective", one(&state.objective)),
        ("Plan", one(&state.plan)),
        ("Constraints", all(&state.constraints)),
        ("Assumptions", all(&state.assumptions)),
        ("Decisions", all(&state.decisions)),
        ("Hypothesis", one(&state.hypothesis)),
        ("Next steps", all(&state.next_steps)),
        ("Open questions", all(&state.questions)),
        ("Done, as it says", all(&state.done)),
        ("Files it changed last", files(&state.files)),
        ("Files it read last", files(&state.reads)),
    ];
    sections
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(title, values)| ui::WorkSection {
            title: title.to_owned(),
            values,
        })
        .collect()
}

fn value(said: &StatedText) -> ui::WorkValue {
    let pinned = if said.pinned { ", pinned" } else { "" };
    ui::WorkValue {
        text: said.text.clone(),
        tag: match said.tag {
            StateTag::You => format!("you{pinned}"),
            tag => format!("{} by {}", tag.as_str(), said.by),
        },
        line: said.seq.0,
    }
}

fn file(agent: Agent, file: &TouchedFile, peers: &[ContinuityState]) -> ui::WorkValue {
    ui::WorkValue {
        text: file.path.clone(),
        tag: match changed_since_by(file, agent, peers) {
            Some(peer) => format!("{} changed it since", peer.title()),
            None => agent.as_str().to_owned(),
        },
        line: file.seq.0,
    }
}
