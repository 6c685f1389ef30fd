//! The operator confirms what an agent's stated work is, or has it forgotten.

use serde_json::Value;

use super::checks::{check_marker, check_text, not_found, shortened};
use super::to_record::ToRecord;
use crate::core::agent::{Agent, Party};
use crate::core::continuity::PINNED;
use crate::core::entry::{ContinuityFact, Entry};
use crate::core::id::RuntimeSession;
use crate::core::snapshot::Snapshot;
use crate::daemon::base::recorder::Recorder;
use crate::wire::control::{ForgetWorkParams, Refusal, STATED_MAX, StateWorkParams};

/// What the operator says that the agents are at.
pub(super) fn state_work<T>(
    recorder: &Recorder<T>,
    session: &RuntimeSession,
    params: StateWorkParams,
) -> Result<ToRecord, Refusal> {
    check(&params)?;
    let told = told(recorder.world(), session, params.agent);
    let mut notes = Vec::new();
    for value in params.values {
        for (agent, session) in &told {
            let (to, session) = (agent.map(Party::from), Some(session.clone()));
            let mut entry =
                recorder.entry(Party::Human, to, value.kind, value.text.clone(), session);
            if params.pinned {
                entry.meta.insert(PINNED.to_owned(), Value::Bool(true));
            }
            notes.push(entry);
        }
    }
    Ok(ToRecord::done(notes))
}

/// To whom it is said, each where its work stands: one entry tells both where that is the same.
fn told(
    world: &Snapshot,
    session: &RuntimeSession,
    agent: Option<Agent>,
) -> Vec<(Option<Agent>, RuntimeSession)> {
    let of = |agent| (Some(agent), world.pair_of_work(agent, session));
    match agent {
        Some(agent) => vec![of(agent)],
        None => {
            let each = Agent::ALL.map(of);
            match each.iter().all(|(_, stands_under)| stands_under == session) {
                true => vec![(None, session.clone())],
                false => each.into(),
            }
        }
    }
}

/// What the operator has them forget.
pub(super) fn forget_work<T>(
    recorder: &Recorder<T>,
    session: &RuntimeSession,
    params: &ForgetWorkParams,
) -> Result<ToRecord, Refusal> {
    let world = recorder.world();
    let asked = Agent::ALL
        .into_iter()
        .filter(|agent| params.agent.is_none_or(|asked| asked == *agent));
    let know = asked.filter(|agent| {
        let state = world.work_of(*agent, session);
        state.is_some_and(|state| match params.all {
            true => !state.is_blank(),
            false => state.knows(&params.what),
        })
    });
    let forgotten = know.map(|agent| {
        let what = (!params.all).then(|| params.what.clone());
        let words = what.as_deref().unwrap_or("what it is at");
        let content = format!("{} forgets {words}", agent.title());
        let kind = ContinuityFact::Forgotten { what }.of(agent);
        let session = world.pair_of_work(agent, session);
        recorder.entry(Party::Human, None, kind, content, Some(session))
    });
    let forgotten: Vec<Entry> = forgotten.collect();
    if forgotten.is_empty() {
        let what = shortened(&params.what);
        let what = match params.all {
            true => "anything to be forgotten".to_owned(),
            false => format!("`{what}`"),
        };
        return Err(not_found(
            &format!("{what} in what the agents are at"),
            "see `ctxrelay continuity show`",
        ));
    }
    Ok(ToRecord::done(forgotten))
}

fn check(params: &StateWorkParams) -> Result<(), Refusal> {
    let values = &params.values;
    if values.is_empty() || values.len() > STATED_MAX {
        return Err(Refusal::invalid(
            format!("{} values are stated", values.len()),
            format!("state 1 to {STATED_MAX}"),
        ));
    }
    for value in values {
        check_text(value.kind.as_str(), &value.text)?;
        check_marker(&format!("the {}", value.kind.as_str()), &value.text)?;
    }
    Ok(())
}
