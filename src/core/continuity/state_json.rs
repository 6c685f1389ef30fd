//! [`state_json`]: what an agent is working on, as JSON for a program.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::continuity_state::{ContinuityState, StatedText, TouchedFile};

/// Values of one sort: the name that a program sees, the one that people see, and what was said.
pub type StatedField<'a> = (&'static str, &'static str, Vec<&'a StatedText>);

/// The values of a state by the names that `continuity sync` takes.
pub fn stated_fields(state: &ContinuityState) -> [StatedField<'_>; 9] {
    [
        ("objective", "Objective", one_of(&state.objective)),
        ("plan", "Plan", one_of(&state.plan)),
        ("constraints", "Constraints", all_of(&state.constraints)),
        ("assumptions", "Assumptions", all_of(&state.assumptions)),
        ("decisions", "Decisions", all_of(&state.decisions)),
        ("hypothesis", "Hypothesis", one_of(&state.hypothesis)),
        ("nextSteps", "Next steps", all_of(&state.next_steps)),
        ("questions", "Open questions", all_of(&state.questions)),
        ("done", "Done, as it says", all_of(&state.done)),
    ]
}

/// Who changed a file since this agent did: one of its peers, or nobody.
pub fn changed_since_by(
    file: &TouchedFile,
    agent: Agent,
    peers: &[ContinuityState],
) -> Option<Agent> {
    let mut others = peers.iter().flat_map(|peer| &peer.files);
    let later = others.any(|other| other.path == file.path && other.seq > file.seq);
    later.then(|| agent.peer())
}

/// An agent's state beside its peers'.
pub fn state_json(agent: Agent, state: &ContinuityState, peers: &[ContinuityState]) -> Value {
    let fields: Map<String, Value> = stated_fields(state)
        .into_iter()
        .map(|(name, _, said)| (name.to_owned(), said.into_iter().map(said_json).collect()))
        .collect();
    let files = |files: &VecDeque<TouchedFile>, op: &str| -> Value {
        let files = files.iter().rev();
        let files = files.map(|file| {
            json!({
                "path": file.path,
                "by": agent,
                "op": op,
                "seq": file.seq,
                "at": file.at_ms,
                "changedSinceBy": changed_since_by(file, agent, peers),
            })
        });
        files.collect()
    };
    let compactions = state.compactions.iter().map(|seen| {
        json!({
            "seq": seen.seq,
            "at": seen.at_ms,
            "trigger": seen.compaction.trigger,
            "tokensBefore": seen.compaction.tokens_before,
            "tokensAfter": seen.compaction.tokens_after,
        })
    });
    json!({
        "agent": agent,
        "fields": fields,
        "workingSet": files(&state.files, "write"),
        "reads": files(&state.reads, "read"),
        "unfinished": state.unfinished,
        "turns": state.turns,
        "turnsSinceWritten": state.turns_since_written,
        "helpers": state.helpers_total,
        "compactions": compactions.collect::<Vec<_>>(),
    })
}

fn said_json(said: &StatedText) -> Value {
    json!({
        "text": said.text,
        "by": said.by,
        "id": said.id,
        "seq": said.seq,
        "tag": said.tag,
        "pinned": said.pinned,
        "at": said.at_ms,
    })
}

fn one_of(said: &Option<StatedText>) -> Vec<&StatedText> {
    said.iter().collect()
}

fn all_of(listed: &VecDeque<StatedText>) -> Vec<&StatedText> {
    listed.iter().collect()
}
