//! A process that dies in any call, a disk that loses what was not synced: what was acknowledged
//! is there once, and the record goes on.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use rustix::io::Errno;

use super::faulty_file::{FaultyFile, Plan};
use super::support::{Open, Project};
use crate::ledger::verify;

/// How much of the write that a process dies in gets through. The lines are some 400 bytes long.
const WRITTEN: [usize; 5] = [0, 1, 250, 399, 100_000];

/// What may lie on the disk after a loss of power: all of it, only what was synced, and, when the
/// file only grew since then, some of the rest.
fn survivors(project: &Project, plan: &Plan) -> Vec<Vec<u8>> {
    let (now, durable) = (project.bytes(), &plan.durable);
    let mut survivors = vec![now.clone(), durable.clone()];
    if let Some(rest) = now.strip_prefix(durable.as_slice()) {
        let cuts = [1, rest.len() / 2, rest.len().saturating_sub(1)];
        let within = cuts.into_iter().filter(|cut| (1..rest.len()).contains(cut));
        survivors.extend(within.map(|cut| now[..durable.len() + cut].to_vec()));
    }
    survivors
}

/// Every one of `wanted` is in `found` once and in this order; the rest of `found` was asked for.
fn assert_kept(found: &[String], wanted: &[String], asked: &[String]) {
    let kept: Vec<&String> = found.iter().filter(|id| wanted.contains(id)).collect();
    assert_eq!(kept, wanted.iter().collect::<Vec<_>>(), "found {found:?}");
    for id in found {
        assert!(asked.contains(id), "nobody asked for {id}");
        let times = found.iter().filter(|other| *other == id).count();
        assert_eq!(times, 1, "{id} is there {times} times");
    }
}

#[test]
fn whichever_call_a_process_dies_in_what_was_acknowledged_is_there_once() {
    let whole = Project::with_notes(2).bytes();
    let torn = [&whole[..], br#"{"schema":"v1","id":"#].concat();
    let ids = vec!["n1".to_owned(), "n2".to_owned()];
    for (bytes, ids) in [(Vec::new(), Vec::new()), (whole, ids.clone()), (torn, ids)] {
        let calls = (0..)
            .take_while(|number| {
                let dies = |written| die_in(*number, written, &bytes, &ids);
                WRITTEN.into_iter().filter(|written| dies(*written)).count() > 0
            })
            .count();
        assert!(calls > 6, "each of three appends writes and syncs");
    }
}

/// Opens and appends until the process dies in this call; whether it came so far.
fn die_in(number: usize, written: usize, bytes: &[u8], ids: &[String]) -> bool {
    let project = Project::quick();
    project.write(bytes);
    let plan = Plan {
        dies_at: Some((number, written)),
        durable: bytes.to_vec(),
        ..Plan::default()
    };
    let (file, plan) = FaultyFile::open_with(&project, plan);
    let (mut asked, mut acknowledged) = (ids.to_vec(), ids.to_vec());
    if let Ok(mut open) = project.try_open_on(file) {
        for id in ["a", "b", "c"] {
            asked.push(id.to_owned());
            if open.append(vec![project.note(id, "x")]).is_ok() {
                acknowledged.push(id.to_owned());
            }
        }
        open.close();
    }
    let plan = plan.lock().unwrap();
    for survivor in survivors(&project, &plan) {
        project.write(&survivor);
        let mut open = project.open();
        assert_kept(&open.found(), &acknowledged, &asked);
        assert!(open.report.chain_ok);
        open.append(vec![project.note("after", "x")]).unwrap();
        open.close();
        assert!(verify(&project.path(), None).unwrap().ok);
    }
    plan.calls.len() > number
}

/// What happens to a record in its life.
#[derive(Debug, Clone)]
enum Step {
    /// So many notes in one append.
    Append(usize),
    /// A call of the next ones fails.
    Fault {
        ahead: usize,
        errno: Errno,
        written: usize,
    },
    /// Closed and opened again.
    Reopen,
    /// The process dies in a call of the next ones, and one of the things that may be left is.
    Die {
        ahead: usize,
        written: usize,
        left: prop::sample::Index,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let errno = prop::sample::select(vec![Errno::NOSPC, Errno::IO, Errno::DQUOT]);
    let die = (0..8usize, 0..900usize, any::<prop::sample::Index>());
    prop_oneof![
        6 => (1..4usize).prop_map(Step::Append),
        3 => (0..8usize, errno, 0..900usize)
            .prop_map(|(ahead, errno, written)| Step::Fault { ahead, errno, written }),
        1 => Just(Step::Reopen),
        2 => die.prop_map(|(ahead, written, left)| Step::Die { ahead, written, left }),
    ]
}

/// A record, and what has to be in it.
struct Life {
    project: Project,
    plan: Arc<Mutex<Plan>>,
    open: Open,
    asked: Vec<String>,
    recorded: Vec<String>,
}

impl Life {
    fn begin() -> Self {
        let project = Project::quick();
        let (file, plan) = FaultyFile::open(&project);
        Self {
            open: project.open_on(file),
            project,
            plan,
            asked: Vec::new(),
            recorded: Vec::new(),
        }
    }

    fn append(&mut self, count: usize) {
        let first = self.asked.len();
        let ids: Vec<String> = (first..first + count).map(|n| format!("n{n}")).collect();
        let notes = ids.iter().map(|id| self.project.note(id, "x")).collect();
        self.asked.extend_from_slice(&ids);
        if self.open.append(notes).is_ok() {
            self.recorded.extend(ids);
        }
    }

    fn at(&self, ahead: usize) -> usize {
        self.plan.lock().unwrap().calls.len() + ahead
    }

    /// Opens what lies there, whatever was planned for the file before.
    fn open_again(mut self) -> Self {
        let (file, plan) = FaultyFile::open(&self.project);
        self.open = self.project.open_on(file);
        self.plan = plan;
        let found = self.open.found();
        assert_kept(&found, &self.recorded, &self.asked);
        // What was written and not acknowledged has been folded now, and has to stay as well.
        self.recorded = found;
        self
    }

    fn go(mut self, step: Step) -> Self {
        match step {
            Step::Append(count) => self.append(count),
            Step::Fault {
                ahead,
                errno,
                written,
            } => {
                let at = self.at(ahead);
                self.plan.lock().unwrap().at.insert(at, (errno, written));
            }
            Step::Reopen => {
                let closed = self.open.ledger.clone();
                closed.close();
                return self.open_again();
            }
            Step::Die {
                ahead,
                written,
                left,
            } => {
                let at = self.at(ahead);
                self.plan.lock().unwrap().dies_at = Some((at, written));
                while self.at(0) <= at {
                    self.append(1);
                }
                let closed = self.open.ledger.clone();
                closed.close();
                let survivors = survivors(&self.project, &self.plan.lock().unwrap());
                self.project.write(&survivors[left.index(survivors.len())]);
                return self.open_again();
            }
        }
        self
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_any_life_of_a_record_what_was_acknowledged_stays_once(
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let mut life = Life::begin();
        for step in steps {
            life = life.go(step);
        }
        *life.plan.lock().unwrap() = Plan::default();
        life.append(1);
        prop_assert_eq!(life.recorded.last(), life.asked.last());
        let live = life.open.live.clone();
        life.open.ledger.clone().close();
        let report = verify(&life.project.path(), None).unwrap();
        prop_assert!(report.ok, "{:?}", report);
        life = life.open_again();
        prop_assert_eq!(&life.open.live, &live);
        life.open.close();
    }
}
