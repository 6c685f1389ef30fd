//! [`CapsuleBudget`]: what fits into a capsule.

use std::cmp::Reverse;

use serde::Serialize;

use super::{Capsule, CapsuleLeftOut, CapsuleSection, TouchOp};
use crate::id::CapsuleId;

/// The most of a capsule without its patch, its outputs and its cited lines, in bytes.
pub const CAPSULE_BYTES_MAX: usize = 32_000;

/// What `"digest":"<64 hex>",` and the newline at the end take, in bytes.
const DIGEST_BYTES: usize = 78;

/// What `"names":[],` takes, in bytes.
const NAMES_BYTES: usize = 11;

/// Fills a capsule by the weight of its sections. A part is whole or absent.
#[derive(Debug, Clone, Copy)]
pub struct CapsuleBudget {
    /// The most of it, in bytes.
    pub bytes_max: usize,
}

/// That of every capsule.
pub const CAPSULE_BUDGET: CapsuleBudget = CapsuleBudget {
    bytes_max: CAPSULE_BYTES_MAX,
};

impl CapsuleBudget {
    /// The capsule with what there is room for, and the count of what there is not. What it counts
    /// already stays counted.
    ///
    /// Weights, heaviest first: goal, those of agents, constraints, runs (those that did not pass
    /// first), decisions, next steps, questions, hypothesis, files, handoffs, findings, assumptions,
    /// gates that were not run. Of a list the latest are kept first, of the findings the worst, which stand first.
    /// Names of files that are left out have the room that all these do not need.
    pub fn fit(&self, full: Capsule) -> Capsule {
        let mut fitted = full;
        let named = fitted.left_out.iter_mut();
        let named: Vec<_> = named.map(|left| std::mem::take(&mut left.names)).collect();
        let mut room = self.bytes_max.saturating_sub(self.frame(&fitted));
        let mut left = Vec::new();
        let Capsule {
            goal,
            agent_goals,
            constraints,
            decisions,
            assumptions,
            hypothesis,
            questions,
            next,
            handoffs,
            touched,
            verification,
            not_run,
            findings,
            ..
        } = &mut fitted;
        let room = &mut room;
        left.push((CapsuleSection::Goal, keep_one(goal, room)));
        left.push((CapsuleSection::AgentGoals, keep(agent_goals, room, |_| 0)));
        left.push((CapsuleSection::Constraints, keep(constraints, room, |_| 0)));
        let rank = |passed| u8::from(passed);
        left.push((
            CapsuleSection::Verification,
            keep(verification, room, |run| rank(run.passed())),
        ));
        left.push((CapsuleSection::Decisions, keep(decisions, room, |_| 0)));
        left.push((CapsuleSection::Next, keep(next, room, |_| 0)));
        left.push((CapsuleSection::Questions, keep(questions, room, |_| 0)));
        left.push((CapsuleSection::Hypothesis, keep_one(hypothesis, room)));
        left.push((
            CapsuleSection::Touched,
            keep(touched, room, |file| rank(file.op == TouchOp::Read)),
        ));
        left.push((
            CapsuleSection::Handoffs,
            keep(handoffs, room, |handoff| rank(handoff.state.is_over())),
        ));
        left.push((
            CapsuleSection::Findings,
            keep_in_order(findings, room, |at, _| at),
        ));
        left.push((CapsuleSection::Assumptions, keep(assumptions, room, |_| 0)));
        left.push((CapsuleSection::NotRun, keep(not_run, room, |_| 0)));
        for (what, count) in left {
            self.count(&mut fitted, what, count);
        }
        for (left, names) in fitted.left_out.iter_mut().zip(named) {
            left.names = first_names(names, room);
        }
        fitted
    }

    /// Counts what of a section had no room.
    fn count(&self, capsule: &mut Capsule, what: CapsuleSection, count: usize) {
        if count == 0 {
            return;
        }
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let mut all = capsule.left_out.iter_mut();
        match all.find(|left| left.what == what) {
            Some(left) => left.count = left.count.saturating_add(count),
            None => {
                let line = self.line(&capsule.id, what, count);
                capsule.left_out.push(line);
            }
        }
    }

    /// Counts cited lines that are not there.
    pub fn count_lines(&self, capsule: &mut Capsule, count: usize) {
        self.count(capsule, CapsuleSection::CitedLines, count);
    }

    fn line(&self, task: &CapsuleId, what: CapsuleSection, count: u64) -> CapsuleLeftOut {
        let how = CapsuleLeftOut::command(task, &what);
        CapsuleLeftOut::new(what, count, how)
    }

    /// What a capsule takes before anything is in it, and with every section counted as left out,
    /// in bytes.
    fn frame(&self, full: &Capsule) -> usize {
        let mut frame = Capsule {
            goal: None,
            agent_goals: Vec::new(),
            constraints: Vec::new(),
            decisions: Vec::new(),
            assumptions: Vec::new(),
            hypothesis: None,
            questions: Vec::new(),
            next: Vec::new(),
            handoffs: Vec::new(),
            touched: Vec::new(),
            verification: Vec::new(),
            not_run: Vec::new(),
            findings: Vec::new(),
            patch: None,
            outputs: Vec::new(),
            digest: String::new(),
            ..full.clone()
        };
        frame.origin.lines.clear();
        let names = [
            CapsuleSection::Goal,
            CapsuleSection::Constraints,
            CapsuleSection::Verification,
            CapsuleSection::Decisions,
            CapsuleSection::Next,
            CapsuleSection::Questions,
            CapsuleSection::Hypothesis,
            CapsuleSection::Touched,
            CapsuleSection::Handoffs,
            CapsuleSection::Findings,
            CapsuleSection::Assumptions,
            CapsuleSection::NotRun,
            CapsuleSection::CitedLines,
        ];
        // Every figure at its longest.
        let names = names.into_iter();
        // Of a section that most have not, only where it is.
        let names =
            names.chain((!full.agent_goals.is_empty()).then_some(CapsuleSection::AgentGoals));
        frame
            .left_out
            .extend(names.map(|what| self.line(&full.id, what, u64::MAX)));
        bytes(&frame) + DIGEST_BYTES
    }
}

/// Keeps what there is room for, the lowest rank and the latest first; how many there is none for.
fn keep<T: Serialize>(items: &mut Vec<T>, room: &mut usize, rank: impl Fn(&T) -> u8) -> usize {
    keep_in_order(items, room, |at, item| (rank(item), Reverse(at)))
}

/// Keeps what there is room for, in an order by place and item; how many there is none for.
fn keep_in_order<T: Serialize, K: Ord>(
    items: &mut Vec<T>,
    room: &mut usize,
    key: impl Fn(usize, &T) -> K,
) -> usize {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|at| key(*at, &items[*at]));
    let mut has_room = vec![false; items.len()];
    for at in order {
        // And a comma.
        if let Some(rest) = room.checked_sub(bytes(&items[at]) + 1) {
            *room = rest;
            has_room[at] = true;
        }
    }
    let before = items.len();
    let mut has_room = has_room.into_iter();
    items.retain(|_| has_room.next() == Some(true));
    before - items.len()
}

fn keep_one<T: Serialize>(item: &mut Option<T>, room: &mut usize) -> usize {
    let Some(bytes) = item.as_ref().map(bytes) else {
        return 0;
    };
    match room.checked_sub(bytes) {
        Some(rest) => {
            *room = rest;
            0
        }
        None => {
            *item = None;
            1
        }
    }
}

/// The first of the names that there is room for.
fn first_names(mut names: Vec<String>, room: &mut usize) -> Vec<String> {
    let Some(mut rest) = room.checked_sub(NAMES_BYTES) else {
        return Vec::new();
    };
    let mut kept = 0;
    for name in &names {
        // And a comma.
        match rest.checked_sub(bytes(name) + 1) {
            Some(less) => (rest, kept) = (less, kept + 1),
            None => break,
        }
    }
    names.truncate(kept);
    if kept > 0 {
        *room = rest;
    }
    names
}

/// As compact JSON, in bytes. The order of keys makes no difference to it.
fn bytes<T: Serialize>(value: &T) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX / 4, |json| json.len())
}
