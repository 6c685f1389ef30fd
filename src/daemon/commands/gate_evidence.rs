//! What is recorded of gates that were run.

use crate::adapters::gate::GateOutcome;
use crate::core::agent::Party;
use crate::core::entry::{
    Artifact, ArtifactKind, ArtifactStatus, Entry, EntryKind, GateRun, WorkTree,
};
use crate::core::snapshot::{GateSnapshot, TreeInQuestion};
use crate::daemon::base::configuration::Configuration;
use crate::daemon::base::recorder::Recorder;
use crate::wire::control::ReleaseToSign;

/// How much of a tree's id a sentence names.
const TREE_CHARS: usize = 12;

/// What is recorded of a gate that was run.
pub(super) fn gate_entry<T>(
    recorder: &Recorder<T>,
    configuration: &Configuration,
    outcome: GateOutcome,
) -> Entry {
    let GateOutcome {
        status,
        run,
        output,
    } = outcome;
    let how = in_words(status, &run);
    let on = on_tree(run.tree.as_ref(), run.stale);
    let on = format!("{on}{}", beside(&run));
    let setup = match setup_of(configuration, &run) {
        Some(setup) => format!("$ {setup}\n"),
        None => String::new(),
    };
    let (name, cmd) = (&run.gate, &run.cmd);
    let content = format!("gate {name} {how}{on}\n{setup}$ {cmd}\n{output}");
    let artifact = Artifact {
        kind: ArtifactKind::TestReport,
        title: run.gate.clone(),
        summary: format!("{how}{on}"),
        status,
        evidence: vec![run.cmd.clone()],
        verified: Some(run),
        ran: None,
    };
    evidence(recorder, artifact, content)
}

/// What was run before a gate, if this is how it is trusted now.
fn setup_of<'a>(configuration: &'a Configuration, run: &GateRun) -> Option<&'a str> {
    let mut gates = configuration.gates().iter();
    gates.find(|gate| gate.spec() == run.spec)?.setup.as_deref()
}

/// What the daemon itself says of what was run.
fn evidence<T>(recorder: &Recorder<T>, artifact: Artifact, content: String) -> Entry {
    let kind = EntryKind::Artifact(artifact);
    recorder.entry(Party::System, None, kind, content, None)
}

/// One artifact about all that was run.
pub(super) fn release_entry<T>(
    recorder: &Recorder<T>,
    configuration: &Configuration,
    ran: &[String],
) -> (Entry, ReleaseToSign) {
    let world = recorder.world();
    let ran = ran.iter();
    let ran: Vec<&GateSnapshot> = ran.filter_map(|name| world.gates.get(name)).collect();
    let tree = ran.first().and_then(|first| first.run.tree.clone());
    let since = ran.iter().map(|gate| gate.began_after()).min();
    let mut gates = configuration.told_gates();
    // What all of them came to; which of them a proposal needs is another question.
    gates.iter_mut().for_each(|gate| gate.when.clear());
    let on = TreeInQuestion {
        tree: tree.as_ref(),
        since,
        ..TreeInQuestion::default()
    };
    let mut red = world.gate_blockers(&gates, &on);
    // On the commit alone each of them may be green; a release is all that lies there.
    let required = gates.iter().filter(|gate| gate.required);
    for gap in required.filter_map(|gate| world.gap_blocker(gate, on.tree)) {
        if !red.contains(&gap) {
            red.push(gap);
        }
    }
    let lines: Vec<String> = ran
        .iter()
        .map(|gate| format!("{}: {} · entry {}", gate.run.gate, gate.how(), gate.seq))
        .collect();
    let status = match red.is_empty() {
        true => ArtifactStatus::Passed,
        false => ArtifactStatus::Failed,
    };
    let on = on_tree(tree.as_ref(), false);
    let summary = match red.is_empty() {
        true if ran.len() == 1 => format!("the one required gate is green{on}"),
        true => format!("all {} required gates are green{on}", ran.len()),
        false => red.join("; "),
    };
    let content = format!("release gate: {summary}\n{}", lines.join("\n"));
    let artifact = Artifact {
        kind: ArtifactKind::ReleaseGate,
        title: "release gate".to_owned(),
        summary,
        status,
        evidence: lines,
        ..Artifact::default()
    };
    let runs: Vec<&str> = ran.iter().map(|gate| gate.id.as_str()).collect();
    let to_sign = ReleaseToSign {
        subject: runs.join(","),
        tree: WorkTree::pin(tree.as_ref()).to_owned(),
        verdict: artifact.status.as_str().to_owned(),
    };
    (evidence(recorder, artifact, content), to_sign)
}

fn in_words(status: ArtifactStatus, run: &GateRun) -> String {
    let seconds = format!("{:.1} s", run.duration_ms as f64 / 1_000.0);
    let what = if run.setup_failed { "its setup " } else { "" };
    match (status, run.exit_code) {
        (ArtifactStatus::Passed, _) => format!("passed after {seconds}"),
        (ArtifactStatus::TimedOut, _) => {
            format!("{what}was not done after {seconds} and was ended")
        }
        (ArtifactStatus::Skipped, _) => format!("was stopped after {seconds}"),
        (ArtifactStatus::Blocked, _) => run
            .why
            .clone()
            .unwrap_or_else(|| "could not begin".to_owned()),
        (_, Some(code)) => format!("{what}failed with exit code {code} after {seconds}"),
        (_, None) => format!("{what}failed after {seconds}"),
    }
}

/// Where it ran that is not the project, and what it did not cover there; which files it may not have
/// seen as they lie there.
fn beside(run: &GateRun) -> String {
    if let Some(files) = &run.rewritten {
        let files = files.in_words();
        return format!(", REWRITTEN meanwhile: {files}: nobody knows what it saw of them");
    }
    let Some(isolated) = &run.isolated else {
        return String::new();
    };
    match isolated.gap() {
        Some(gap) => format!(", in a work tree of its own: NOT COVERED: {gap}"),
        None => ", in a work tree of its own".to_owned(),
    }
}

fn on_tree(tree: Option<&WorkTree>, is_stale: bool) -> String {
    match tree {
        None => String::new(),
        Some(tree) => {
            let id: String = tree.tree.chars().take(TREE_CHARS).collect();
            let stale = if is_stale {
                ", which changed meanwhile: STALE"
            } else {
                ""
            };
            format!(" on tree {id}{stale}")
        }
    }
}
