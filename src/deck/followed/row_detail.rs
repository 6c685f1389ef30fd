//! [`detail`]: what an opened entry shows besides its text.

use std::collections::BTreeMap;

use ctxrelay_ui::model as ui;
use ctxrelay_ui::text::{grouped, took};

use crate::core::entry::{DeliveryRecord, Entry, EntryKind, GateRun, RewrittenFiles, WorkTree};
use crate::core::envelope;
use crate::core::id::EntryId;
use crate::deck::followed::row_facts::RowFacts;
use crate::deck::followed::row_words::vouched;

/// What the opened entry shows beside its text.
pub(in crate::deck) fn detail(facts: &RowFacts<'_>, entry: &Entry) -> Vec<ui::Field> {
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
            field("kind", artifact.kind.to_string());
            let status = artifact.status.as_str();
            field(
                "status",
                format!("{status} ({})", vouched(facts.world, entry)),
            );
            match entry.gate_run() {
                Some(run) => {
                    for (name, text) in gate_fields(run) {
                        field(name, text);
                    }
                }
                None => field("evidence", artifact.evidence.join("\n")),
            }
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
    let steps = facts.deliveries.get(&entry.id).into_iter();
    for (record, _) in steps.flat_map(BTreeMap::values) {
        let attempt = record
            .attempt_id
            .as_ref()
            .map_or_else(String::new, |attempt| {
                format!(" · attempt {}", attempt.short())
            });
        field("delivery", format!("{}{attempt}", became(record)));
        let given = (record.given.as_ref()).map_or_else(String::new, |head| received(entry, head));
        field("given as", given);
    }
    if let Some(runtime_session) = &entry.runtime_session {
        field("pair", runtime_session.to_string());
    }
    field("entry", format!("{} · {}", grouped(entry.seq.0), entry.id));
    fields
}

/// One of the things that became of a message.
fn became(record: &DeliveryRecord) -> String {
    if record.is_settled_by_turn() {
        return "settled by the end of the turn that had it".to_owned();
    }
    let rung = record.rung.as_ref();
    let by = rung.map_or_else(String::new, |rung| format!(" by {rung}"));
    format!("{}{by}", record.result.as_str())
}

/// All that the receiver was given, after the first line that was recorded of it.
fn received(entry: &Entry, head: &str) -> String {
    let (reason, refs) = match &entry.kind {
        EntryKind::Handoff(handoff) => (Some(handoff.reason.as_str()), &handoff.context_refs[..]),
        _ => (None, &[][..]),
    };
    envelope::wrap_after(head, &entry.id, reason, refs, &entry.content)
}

/// What was run, and on what; of the output all is named that tells whether it is whole.
fn gate_fields(run: &GateRun) -> Vec<(&'static str, String)> {
    let exit = match run.exit_code {
        Some(code) if run.setup_failed => format!("{code}, of its setup: the gate never ran"),
        Some(code) => code.to_string(),
        None => match &run.why {
            Some(why) => format!("none: {why}"),
            None => "none: it never began, was stopped, or took too long".to_owned(),
        },
    };
    let stale = "the tree had changed when it ended: it says nothing of either";
    let gap = run.isolated.as_ref().map(|isolated| match isolated.gap() {
        Some(gap) => format!("in a work tree of its own; not covered: {gap}"),
        None => "in a work tree of its own".to_owned(),
    });
    vec![
        ("gate", run.gate.clone()),
        ("command", run.cmd.clone()),
        ("exit code", exit),
        ("took", took(run.duration_ms)),
        ("tree", optional_tree(run.tree.as_ref())),
        (
            "stale",
            if run.stale {
                stale.to_owned()
            } else {
                String::new()
            },
        ),
        (
            "rewritten meanwhile",
            run.rewritten
                .as_ref()
                .map(RewrittenFiles::in_words)
                .unwrap_or_default(),
        ),
        ("where", gap.unwrap_or_default()),
        (
            "output",
            format!(
                "{} bytes, SHA-256 {}",
                grouped(run.output_bytes),
                run.output_sha256
            ),
        ),
    ]
}

fn optional(id: Option<&EntryId>) -> String {
    id.map_or_else(String::new, ToString::to_string)
}

fn optional_tree(tree: Option<&WorkTree>) -> String {
    tree.map_or_else(String::new, |tree| {
        let commit = tree.commit.as_deref().unwrap_or("no commit");
        let files = if tree.changed == 1 { "file" } else { "files" };
        let (tree, changed) = (&tree.tree, tree.changed);
        format!("{tree} at {commit}, {changed} changed {files}")
    })
}
