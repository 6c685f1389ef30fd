//! `ctxrelay continuity show`: what an agent is at, value by value.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::packet::ShownPacket;
use super::status::{last_packet, summary};
use super::{ShowStateArgs, StateForm};
use crate::cli::connect::{runtime, world};
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::words::{age, now_ms};
use crate::core::agent::Agent;
use crate::core::continuity::{ContinuityState, StateTag, StatedText, TouchedFile};
use crate::core::snapshot::Snapshot;

/// One agent's state beside its peer's.
struct ShownState<'a> {
    agent: Agent,
    state: &'a ContinuityState,
    peer: &'a ContinuityState,
}

pub(super) fn run(context: &CliContext, args: &ShowStateArgs) -> CliOutcome {
    let world = runtime()?.block_on(world(&context.setting))?;
    let agents = match args.agent {
        Some(agent) => vec![agent],
        None => Agent::ALL.to_vec(),
    };
    let mut values = Vec::new();
    let mut text = ReportText::new();
    for agent in agents {
        values.push(one(context, &world, agent, args.form, &mut text)?);
    }
    let value = match (args.agent, values.pop()) {
        (Some(_), Some(value)) => value,
        (_, last) => {
            values.extend(last);
            json!({"agents": values})
        }
    };
    context.out.report(Report::new(&value, text))
}

fn one(
    context: &CliContext,
    world: &Snapshot,
    agent: Agent,
    form: StateForm,
    out: &mut ReportText,
) -> Result<Value, Failure> {
    let none = ContinuityState::default();
    let of = |agent| world.state_of(agent, &context.setting.runtime_session);
    let shown = ShownState {
        agent,
        state: of(agent).unwrap_or(&none),
        peer: of(agent.peer()).unwrap_or(&none),
    };
    let packet = ShownPacket::of(context, world, agent)?;
    match form {
        StateForm::State => shown.text(out, now_ms()),
        StateForm::Packet => packet_text(out, agent, packet.as_ref()),
    }
    let mut value = shown.to_json();
    value["packet"] = packet.as_ref().map_or(Value::Null, ShownPacket::to_json);
    Ok(value)
}

/// The packet is the result, what is known of it stands beside.
fn packet_text(out: &mut ReportText, agent: Agent, packet: Option<&ShownPacket<'_>>) {
    let name = agent.title();
    match packet {
        Some(ShownPacket::Given { seen, .. }) => {
            out.note(format!("{name}: {}", last_packet(seen, now_ms())));
        }
        Some(ShownPacket::Expected(_)) => out.note(format!(
            "{name} was given none yet; after a compaction now it would be this"
        )),
        None => out.note(format!("{name}: the record knows nothing of its work")),
    }
    if let Some(packet) = packet {
        out.block("", packet.text());
    }
}

impl ShownState<'_> {
    /// The values by the names that `continuity sync` takes.
    fn fields(&self) -> [(&'static str, &'static str, Vec<&StatedText>); 9] {
        let state = self.state;
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

    fn to_json(&self) -> Value {
        let mut fields = serde_json::Map::new();
        for (name, _, said) in self.fields() {
            let said = said.into_iter().map(said_json);
            fields.insert(name.to_owned(), said.collect());
        }
        let files = |files: &VecDeque<TouchedFile>, op: &str| -> Value {
            let files = files.iter().rev();
            let files = files.map(|file| {
                json!({
                    "path": file.path,
                    "by": self.agent,
                    "op": op,
                    "seq": file.seq,
                    "at": file.at_ms,
                    "changedSinceBy": self.changed_since_by(file),
                })
            });
            files.collect()
        };
        let state = self.state;
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
            "agent": self.agent,
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

    fn changed_since_by(&self, file: &TouchedFile) -> Option<Agent> {
        let mut others = self.peer.files.iter();
        let later = others.any(|other| other.path == file.path && other.seq > file.seq);
        later.then(|| self.agent.peer())
    }

    fn text(&self, out: &mut ReportText, now_ms: i64) {
        summary(out, self.agent, self.state, now_ms);
        for (_, title, said) in self.fields() {
            if !said.is_empty() {
                out.line(format!("  {title}"));
            }
            for said in said {
                let tag = tag(said);
                let about = format!("  #{}  {} ago", said.seq, age(now_ms - said.at_ms));
                out.spans(&[
                    (Tone::Faint, "    ["),
                    (Tone::Faint, &tag),
                    (Tone::Faint, "] "),
                    (Tone::Plain, &said.text),
                    (Tone::Faint, &about),
                ]);
            }
        }
        for (title, files) in [
            ("Files it changed last", &self.state.files),
            ("Files it read last", &self.state.reads),
        ] {
            if !files.is_empty() {
                out.line(format!("  {title}"));
            }
            for file in files.iter().rev() {
                let about = format!("  {} ago", age(now_ms - file.at_ms));
                let later = match self.changed_since_by(file) {
                    Some(peer) => format!("; {} changed it since", peer.title()),
                    None => String::new(),
                };
                out.spans(&[
                    (Tone::Plain, &format!("    {}", file.path)),
                    (Tone::Faint, &about),
                    (Tone::Warning, &later),
                ]);
            }
        }
        for command in &self.state.unfinished {
            out.spans(&[
                (Tone::Warning, "  no end was seen of  "),
                (Tone::Plain, command),
            ]);
        }
    }
}

fn tag(said: &StatedText) -> String {
    let pinned = if said.pinned { ", pinned" } else { "" };
    match said.tag {
        StateTag::You => format!("you{pinned}"),
        tag => format!("{} by {}", tag.as_str(), said.by),
    }
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
