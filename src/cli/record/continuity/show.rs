//! `ctxrelay continuity show`: what an agent is working on, value by value.

use serde_json::{Value, json};

use super::packet::ShownPacket;
use super::status::{last_packet, summary};
use super::{ShowStateArgs, StateForm};
use crate::adapters::work_files_now::utc;
use crate::cli::connection::connect::{wait_for, world};
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{ago, count, now_ms};
use crate::core::agent::Agent;
use crate::core::continuity::{
    ContinuityState, StateTag, StatedText, WorkSources, changed_since_by, state_json, stated_fields,
};
use crate::core::snapshot::Snapshot;
use crate::store::work_folders::recent_work;

/// One agent's state beside its peers'.
struct ShownState {
    agent: Agent,
    state: ContinuityState,
    peers: Vec<ContinuityState>,
}

pub(super) fn run(context: &CliContext, args: &ShowStateArgs) -> CliOutcome {
    let world = wait_for(world(&context.project))?;
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
    let pair = &context.project.runtime_session;
    let shown = ShownState {
        agent,
        state: world.told_work_of(agent, pair),
        peers: world.peers_of(agent, pair),
    };
    let packet = ShownPacket::of(context, world, agent)?;
    match form {
        StateForm::State => shown.text(out, now_ms()),
        StateForm::Packet => packet_text(out, agent, packet.as_ref()),
        StateForm::Index | StateForm::Log => {}
    }
    let mut value = state_json(agent, &shown.state, &shown.peers);
    value["packet"] = packet.as_ref().map_or(Value::Null, ShownPacket::to_json);
    let name = agent.title();
    match form {
        StateForm::Index => {
            let index = recorded(context, agent, |sources| sources.index())?;
            out.block("", index.as_deref().unwrap_or_default());
            value["index"] = json!(index);
        }
        StateForm::Log => {
            let log = recorded(context, agent, |sources| sources.log())?;
            let log = log.unwrap_or_default();
            out.note(format!(
                "{name}: {} of the record",
                count(log.len() as u64, "line", "lines")
            ));
            log.iter().for_each(|line| out.line(line));
            value["log"] = json!(log);
        }
        StateForm::State | StateForm::Packet => {}
    }
    Ok(value)
}

/// What is made of the entries about an agent's work; none where there is no record.
fn recorded<T>(
    context: &CliContext,
    agent: Agent,
    make: impl FnOnce(&WorkSources<'_>) -> T,
) -> Result<Option<T>, Failure> {
    let Some(reading) = disk::current_reading(&context.project)? else {
        return Ok(None);
    };
    let page = |filter: &_, limit| reading.page(filter, None, false, limit);
    let recent = recent_work(page).map_err(|error| disk::unreadable(reading.path(), &error))?;
    let world = reading.snapshot();
    Ok(Some(make(&WorkSources {
        world,
        agent,
        pair: &world.pair_of_work(agent, &context.project.runtime_session),
        entries: &recent,
        heads: &[],
        time: &utc,
    })))
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

impl ShownState {
    fn text(&self, out: &mut ReportText, now_ms: i64) {
        summary(out, self.agent, &self.state, now_ms);
        for (_, title, said) in stated_fields(&self.state) {
            if !said.is_empty() {
                out.line(format!("  {title}"));
            }
            for said in said {
                let tag = tag(said);
                let about = format!("  #{}  {}", said.seq, ago(now_ms - said.at_ms));
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
                let about = format!("  {}", ago(now_ms - file.at_ms));
                let later = match changed_since_by(file, self.agent, &self.peers) {
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
