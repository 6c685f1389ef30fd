//! [`CapsuleSources`]: what a capsule is filled from.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Map;

use super::render::TASK_AS_TOLD;
use super::{
    Capsule, CapsuleFinding, CapsuleGit, CapsuleHandoff, CapsuleLeftOut, CapsuleOrigin, CapsuleRun,
    CapsuleStatement, CapsuleStatus, CapsuleTouched, HandoffState, LineRef, OriginHead,
    StatementAuthor, TouchOp, is_within,
};
use crate::agent::Party;
use crate::continuity_state::StatedText;
use crate::id::{EntryId, FindingId, Seq, SessionId};
use crate::kept_text::is_cut;
use crate::snapshot::{
    FindingSnapshot, GateInForce, Snapshot, TaskFile, TaskHandoff, TaskSnapshot,
};

/// What stands where the hash of a line comes later: of the same length.
const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileNow {
    /// The SHA-256 of its bytes, in lower-case hex; none where it is not there or is no plain file.
    pub sha256: Option<String>,
    /// It is there, and has none.
    pub is_unread: bool,
    /// None may be told of it, as something in it would be masked.
    pub is_masked: bool,
    /// Lines that were added and removed since the commit, where git tells.
    pub lines: Option<(u64, u64)>,
}

/// What a task's capsule is filled from.
#[derive(Debug)]
pub struct CapsuleSources<'a> {
    /// The record.
    pub world: &'a Snapshot,
    pub task: &'a TaskSnapshot,
    /// Where the work tree stands; none outside of git.
    pub git: Option<CapsuleGit>,
    /// The task's files as they are, by path.
    pub files: &'a BTreeMap<String, FileNow>,
    /// The gates that the operator trusts, as they are now.
    pub gates: &'a [GateInForce],
    /// The name of the project's folder.
    pub project: &'a str,
    /// The version of the program.
    pub version: &'a str,
}

impl CapsuleSources<'_> {
    /// All that there is, without a budget, unmasked, and with the hashes of the cited lines still
    /// to come.
    pub fn capsule(self) -> Capsule {
        let Self { world, task, .. } = self;
        let session = world
            .session_id
            .clone()
            .unwrap_or_else(|| SessionId::new(""));
        let cite = |said: &StatedText| cited(said, &session);
        let all = |listed: &VecDeque<StatedText>| listed.iter().map(cite).collect();
        let tree = self.git.as_ref().and_then(|git| git.tree.clone());
        let mut capsule = Capsule::new(task.id.clone(), task.title.clone(), task.opened_ms);
        capsule.updated_at = task.updated_ms;
        if let Some(end) = &task.end {
            capsule.status = CapsuleStatus::Closed;
            capsule.outcome = end.outcome.as_ref().map(|outcome| CapsuleStatement {
                text: outcome.clone(),
                by: StatementAuthor::Human,
                at: end.at_ms,
                cut: None,
                line: end
                    .seq
                    .zip(end.id.as_ref())
                    .map(|(seq, id)| place(&session, seq, id)),
                more: Map::new(),
            });
        }
        capsule.goal = task.goal.as_ref().map(cite);
        capsule.agent_goals = all(&task.agent_goals);
        capsule.hypothesis = task.hypothesis.as_ref().map(cite);
        capsule.constraints = all(&task.constraints);
        capsule.decisions = all(&task.decisions);
        capsule.assumptions = all(&task.assumptions);
        capsule.questions = all(&task.questions);
        capsule.next = all(&task.next_steps);
        let handoffs = task.handoffs.iter();
        capsule.handoffs = handoffs.map(|handoff| self.handoff(handoff)).collect();
        let claims = task.claims.iter().map(|claim| CapsuleRun {
            line: Some(place(&session, claim.seq, &claim.id)),
            ..CapsuleRun::claimed(&claim.title, claim.status, claim.ran.as_ref())
        });
        let gates = world.gates.values().map(|gate| CapsuleRun {
            line: Some(place(&session, gate.seq, &gate.id)),
            flaky: gate.flaky.then_some(true),
            ..CapsuleRun::verified(&gate.run, gate.status, tree.as_deref())
        });
        capsule.verification = claims.chain(gates).collect();
        // What another command came to under the same name is no run of it.
        let was_run = |gate: &&GateInForce| {
            let latest = world.gates.get(&gate.name);
            gate.unreadable.is_none() && latest.is_some_and(|latest| latest.run.spec == gate.spec)
        };
        let not_run = self.gates.iter().filter(|gate| !was_run(gate));
        capsule.not_run = not_run.map(|gate| gate.name.clone()).collect();
        let (inside, outside): (Vec<&TaskFile>, Vec<&TaskFile>) =
            task.files.iter().partition(|file| is_within(&file.path));
        capsule.touched = inside.into_iter().map(|file| self.touched(file)).collect();
        let mut findings = world.findings_in_order();
        findings.retain(|(_, finding)| finding.task.as_ref() == Some(&task.id));
        let findings = findings.into_iter();
        capsule.findings = findings.map(|(id, finding)| found(id, finding)).collect();
        let mut left_out = task.dropped.clone();
        if !outside.is_empty() {
            let outside = u64::try_from(outside.len()).unwrap_or(u64::MAX);
            *left_out.entry("touched".to_owned()).or_default() += outside;
        }
        let left_out = left_out.into_iter().map(|(what, count)| {
            let what = what.into();
            let how = CapsuleLeftOut::command(&task.id, &what);
            CapsuleLeftOut::new(what, count, how)
        });
        capsule.left_out = left_out.collect();
        capsule.origin = CapsuleOrigin {
            project: self.project.to_owned(),
            session,
            head: OriginHead {
                seq: task.head,
                hash: NO_HASH.to_owned(),
                more: Map::new(),
            },
            version: self.version.to_owned(),
            lines: Vec::new(),
            more: Map::new(),
        };
        capsule.git = self.git;
        capsule
    }

    fn handoff(&self, handoff: &TaskHandoff) -> CapsuleHandoff {
        let state = match self.world.open_handoffs.get(&handoff.id) {
            Some(open) if open.unanswered => HandoffState::Closed,
            Some(open) if open.blocked_by.is_some() => HandoffState::Blocked,
            None if handoff.is_unanswered => HandoffState::Closed,
            None if handoff.is_over => HandoffState::Answered,
            _ => HandoffState::Open,
        };
        let ask = match handoff.tells_task {
            true => TASK_AS_TOLD,
            false => &handoff.ask,
        };
        CapsuleHandoff {
            id: handoff.id.clone(),
            from: handoff.from.to_string(),
            to: handoff
                .to
                .as_ref()
                .map(Party::to_string)
                .unwrap_or_default(),
            ask: ask.to_owned(),
            cut: is_cut(ask).then_some(true),
            state,
            more: Map::new(),
        }
    }

    fn touched(&self, file: &TaskFile) -> CapsuleTouched {
        let now = self.files.get(&file.path);
        let lines = now.and_then(|now| now.lines);
        CapsuleTouched {
            path: file.path.clone(),
            op: match file.is_written {
                true => TouchOp::Write,
                false => TouchOp::Read,
            },
            sha256: now.and_then(|now| now.sha256.clone()),
            unread: now.and_then(|now| now.is_unread.then_some(true)),
            masked: now.and_then(|now| now.is_masked.then_some(true)),
            by: file.by.to_string(),
            added: lines.map(|(added, _)| added),
            removed: lines.map(|(_, removed)| removed),
            more: Map::new(),
        }
    }
}

fn cited(said: &StatedText, session: &SessionId) -> CapsuleStatement {
    CapsuleStatement {
        line: Some(place(session, said.seq, &said.id)),
        ..CapsuleStatement::of(said)
    }
}

fn place(session: &SessionId, seq: Seq, id: &EntryId) -> LineRef {
    LineRef {
        session: session.clone(),
        seq,
        id: id.clone(),
        hash: NO_HASH.to_owned(),
        more: Map::new(),
    }
}

/// A finding that was imported for the task.
fn found(id: &FindingId, finding: &FindingSnapshot) -> CapsuleFinding {
    let facts = &finding.facts;
    let severity = facts.severity.as_ref();
    CapsuleFinding {
        external_id: id.to_string(),
        severity: severity.map_or_else(|| "none".to_owned(), ToString::to_string),
        state: finding.state.to_string(),
        path: facts.path.clone(),
        start_line: facts.start_line.map(u64::from),
        line: facts.line.map(u64::from),
        title: facts.title.clone(),
        url: facts.url.clone(),
        more: Map::new(),
    }
}
