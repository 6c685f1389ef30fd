//! The operator's changes to the agents' work: `objective`, `sync`, `forget`, `reset`.

use serde_json::{Value, json};

use super::sync_file::SyncFile;
use super::{ObjectiveArgs, SyncArgs};
use crate::cli::connection::connect::{wait_for, world};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::{Report, ReportText};
use crate::cli::text::by_id::{Wanted, by_id};
use crate::cli::text::words::count;
use crate::core::agent::Agent;
use crate::core::continuity::{ContinuityState, StatedText};
use crate::core::entry::NoteKind;
use crate::wire::control::{Command, ForgetWorkParams, StateWorkParams, StatedValue};

pub(super) fn objective(context: &CliContext, args: ObjectiveArgs) -> CliOutcome {
    let Some(text) = args.text else {
        return held(context, args.agent);
    };
    let value = json!({"objective": text, "agent": args.agent, "pinned": args.pin});
    let stated = StatedValue {
        kind: NoteKind::Goal,
        text,
    };
    let params = StateWorkParams {
        agent: args.agent,
        values: vec![stated],
        pinned: args.pin,
        runtime_session_id: Some(context.project.runtime_session.clone()),
    };
    let said = format!("that is the objective of {}", whose(args.agent));
    state(context, Command::StateWork(params), &value, &said)
}

pub(super) fn sync(context: &CliContext, args: &SyncArgs) -> CliOutcome {
    let values = SyncFile::read(&args.file)?.values();
    let recorded = count(values.len() as u64, "value is", "values are");
    let value = json!({"values": values, "agent": args.agent});
    let params = StateWorkParams {
        agent: args.agent,
        values,
        pinned: false,
        runtime_session_id: Some(context.project.runtime_session.clone()),
    };
    let said = format!("{recorded} recorded as what {} at", is_at(args.agent));
    state(context, Command::StateWork(params), &value, &said)
}

pub(super) fn forget(context: &CliContext, name: &str) -> CliOutcome {
    let what = wait_for(named(context, name))?;
    let value = json!({"forgotten": what});
    let said = format!("forgotten: {what}");
    let params = ForgetWorkParams {
        what,
        all: false,
        agent: None,
        runtime_session_id: Some(context.project.runtime_session.clone()),
    };
    state(context, Command::ForgetWork(params), &value, &said)
}

pub(super) fn reset(context: &CliContext, agent: Option<Agent>) -> CliOutcome {
    let command = Command::ForgetWork(ForgetWorkParams {
        what: String::new(),
        all: true,
        agent,
        runtime_session_id: Some(context.project.runtime_session.clone()),
    });
    let (whom, they_are) = match agent {
        Some(agent) => (agent.title(), "it is"),
        None => ("the agents", "they are"),
    };
    let asked = format!(
        "No packet and no state tells {whom} any more what {they_are} at, what holds and what \
         comes next, pinned or not. The record keeps every word of it."
    );
    wait_for(operator::ask::<()>(context, command, &asked, "reset"))?;
    let said = format!(
        "what {} at is forgotten, and in the record still",
        is_at(agent)
    );
    let value = json!({"reset": true, "agent": agent});
    context.out.report(Report::new(&value, said))
}

/// Nothing is lost by any of the others, so that no word has to be typed.
fn state(context: &CliContext, command: Command, value: &Value, said: &str) -> CliOutcome {
    wait_for(async {
        let live = operator::live(context, &command).await?;
        live.ask_for::<()>(command).await?;
        context.out.report(Report::new(value, said))
    })
}

fn held(context: &CliContext, agent: Option<Agent>) -> CliOutcome {
    let world = wait_for(world(&context.project))?;
    let mut value = json!({});
    let mut text = ReportText::new();
    for each in Agent::ALL
        .into_iter()
        .filter(|each| agent.is_none_or(|agent| agent == *each))
    {
        let state = world.told_work_of(each, &context.project.runtime_session);
        let objective = state.objective.as_ref();
        value[each.as_str()] = json!(objective.map(|said| &said.text));
        text.line(match objective {
            Some(said) => format!("{}: {} [{}]", each.title(), said.text, said.tag.as_str()),
            None => format!("{}: nobody said what is to be reached", each.title()),
        });
    }
    context.out.report(Report::new(&value, text))
}

/// The path as it is held, or the whole id of which a person typed the end.
async fn named(context: &CliContext, name: &str) -> Result<String, Failure> {
    const WANTED: Wanted = Wanted {
        what: "file or value",
        place: " in what the agents are at",
        list: "ctxrelay continuity show --json",
    };
    let world = world(&context.project).await?;
    let of = |agent| world.work_of(agent, &context.project.runtime_session);
    let states: Vec<&ContinuityState> = Agent::ALL.into_iter().filter_map(of).collect();
    if states.iter().any(|state| state.knows(name)) {
        return Ok(name.to_owned());
    }
    // What the operator said of both stands in both.
    let mut said: Vec<&StatedText> = states.iter().flat_map(|state| state.stated()).collect();
    said.sort_by_key(|said| said.seq);
    said.dedup_by_key(|said| said.seq);
    let found = by_id(said.into_iter(), |said| &said.id, name, &WANTED)?;
    Ok(found.id.to_string())
}

fn whose(agent: Option<Agent>) -> &'static str {
    agent.map_or("both agents", Agent::title)
}

fn is_at(agent: Option<Agent>) -> String {
    match agent {
        Some(agent) => format!("{} is", agent.title()),
        None => "both agents are".to_owned(),
    }
}
