use super::*;
use crate::agent::{Agent, Party};
use crate::entry::{
    Artifact, CommandRun, Entry, EntryKind, FinalityDecision, FinalityProposal, GapCause,
    IsolatedRun,
};
use crate::fold::fold;
use crate::id::SessionId;

const SPEC: &str = "0123456789abcdef";

#[derive(Default)]
struct Told {
    world: Snapshot,
    seq: u64,
}

impl Told {
    fn tell(&mut self, source: Party, kind: EntryKind) -> EntryId {
        self.seq += 1;
        let id = EntryId::new(format!("e{}", self.seq));
        let entry = Entry {
            id: id.clone(),
            timestamp_ms: 1_000,
            session_id: SessionId::new("session_1"),
            seq: Seq(self.seq),
            ..Entry::new(source, kind)
        };
        fold(&mut self.world, &entry);
        id
    }

    fn ran(&mut self, by: Party, status: ArtifactStatus, run: GateRun) {
        let kind = EntryKind::Artifact(artifact(&run.gate, status, Some(run.clone())));
        self.tell(by, kind);
    }

    fn claimed(&mut self, title: &str, status: ArtifactStatus) {
        let kind = EntryKind::Artifact(artifact(title, status, None));
        self.tell(Party::Agent(Agent::Codex), kind);
    }

    /// An agent's own run of a gate's command.
    fn agent_ran(&mut self, by: Agent, title: &str, exit_code: i64) {
        let ran = CommandRun::ended("cargo test", exit_code, None).unwrap();
        let kind = EntryKind::Artifact(Artifact {
            ran: Some(ran.clone()),
            ..artifact(title, ran.status(), None)
        });
        self.tell(Party::Agent(by), kind);
    }

    fn propose(&mut self) -> EntryId {
        let proposal = EntryKind::FinalityProposal(FinalityProposal {
            summary: "done".to_owned(),
            ..FinalityProposal::default()
        });
        self.tell(Party::Agent(Agent::Codex), proposal)
    }

    /// The operator approves what is proposed on this tree.
    fn approve(&mut self, tree: Option<WorkTree>) {
        let proposal_id = self.propose();
        let decision = EntryKind::FinalityDecision(FinalityDecision {
            tree,
            ..FinalityDecision::of(proposal_id, true)
        });
        self.tell(Party::Human, decision);
    }

    fn status(&self, tree: Option<&WorkTree>, since: u64) -> GateStatus {
        self.world
            .gate_status(&required("tests"), &on(tree, Some(since)))
    }
}

fn artifact(title: &str, status: ArtifactStatus, verified: Option<GateRun>) -> Artifact {
    Artifact {
        kind: "test_report".into(),
        title: title.to_owned(),
        status,
        verified,
        ..Artifact::default()
    }
}

fn tree(tree: &str) -> WorkTree {
    WorkTree {
        commit: None,
        tree: tree.to_owned(),
        changed: 0,
    }
}

fn run(on: Option<&WorkTree>, exit_code: i32) -> GateRun {
    GateRun {
        gate: "tests".to_owned(),
        cmd: "make test".to_owned(),
        spec: SPEC.to_owned(),
        exit_code: Some(exit_code),
        why: None,
        duration_ms: 12_400,
        tree: on.cloned(),
        stale: false,
        rewritten: None,
        setup_failed: false,
        isolated: None,
        began_after: None,
        output_bytes: 0,
        output_sha256: String::new(),
    }
}

fn required(name: &str) -> GateInForce {
    GateInForce {
        name: name.to_owned(),
        cmd: "make test".to_owned(),
        spec: SPEC.to_owned(),
        required: true,
        setup: None,
        isolated: false,
        when: Vec::new(),
        unreadable: None,
    }
}

#[test]
fn nothing_is_green_on_a_tree_that_could_not_be_read() {
    let mut told = Told::default();
    let proposed = told.propose();
    told.ran(Party::System, ArtifactStatus::Passed, run(None, 0));
    let since = told.world.proposal(&proposed).unwrap().seq;
    let on = TreeInQuestion {
        is_unreadable: true,
        ..on(None, Some(since.0))
    };
    assert_eq!(told.status(None, since.0), GateStatus::Green);
    let status = told.world.gate_status(&required("tests"), &on);
    assert_eq!(status, GateStatus::Stale);
    let blockers = told.world.gate_blockers(&[required("tests")], &on);
    assert!(blockers[0].contains("could not be read"), "{blockers:?}");
    let tree = tree("t");
    let before = TreeInQuestion {
        tree: Some(&tree),
        ..on
    };
    assert_eq!(
        told.world
            .gate_blockers(&[required("tests")], &before)
            .len(),
        1
    );
}

fn on(tree: Option<&WorkTree>, since: Option<u64>) -> TreeInQuestion<'_> {
    TreeInQuestion {
        tree,
        is_unreadable: false,
        since: since.map(Seq),
        changed: None,
    }
}

#[test]
fn what_a_run_of_the_commit_alone_did_not_cover_is_said() {
    let at = |name: &str, changed| WorkTree {
        commit: Some("c0ffee".to_owned()),
        changed,
        ..tree(name)
    };
    let (commit, dirty) = (at("aa", 0), at("bb", 7));
    let named = vec!["src/a.rs".to_owned(), "b".to_owned()];
    let isolated = IsolatedRun {
        not_covered: 7,
        named,
        cause: None,
    };
    let ran = GateRun {
        isolated: Some(isolated.clone()),
        ..run(Some(&commit), 0)
    };
    let mut told = Told::default();
    told.ran(Party::System, ArtifactStatus::Passed, ran);
    let gates = [required("tests")];
    let blockers = |tree: &WorkTree| told.world.gate_blockers(&gates, &on(Some(tree), None));
    assert_eq!(
        blockers(&dirty),
        [
            "required gate tests ran on the commit alone and did not cover 7 files (src/a.rs, b, …): \
          commit them and run it again"
        ]
    );
    // Once they are committed, or gone, it is evidence; of another commit it says nothing.
    assert!(blockers(&commit).is_empty());
    let other = WorkTree {
        commit: Some("beef".to_owned()),
        ..dirty.clone()
    };
    assert_eq!(
        blockers(&other),
        ["required gate tests has not run on this tree"]
    );
    // Where committing them would not help, nobody is told to.
    for (cause, advice) in [
        (GapCause::Sparse, "this checkout is sparse"),
        (GapCause::Filter, "a filter of git's rewrites some of them"),
    ] {
        let isolated = IsolatedRun {
            cause: Some(cause),
            ..isolated.clone()
        };
        let ran = GateRun {
            isolated: Some(isolated),
            ..run(Some(&commit), 0)
        };
        told.ran(Party::System, ArtifactStatus::Passed, ran);
        let why = told.world.gate_blockers(&gates, &on(Some(&dirty), None));
        assert!(why[0].contains(advice), "{why:?}");
        assert!(
            why[0].ends_with("run this gate without isolation"),
            "{why:?}"
        );
    }
}

#[test]
fn a_gate_counts_on_the_tree_on_which_it_ran_and_on_no_other() {
    let (one, other) = (tree("aa"), tree("bb"));
    let mut told = Told::default();
    assert_eq!(told.status(Some(&one), 0), GateStatus::Unrun);
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    assert_eq!(told.status(Some(&one), 0), GateStatus::Green);
    assert_eq!(told.status(Some(&other), 0), GateStatus::Stale);
    told.ran(
        Party::System,
        ArtifactStatus::Failed,
        run(Some(&other), 101),
    );
    assert_eq!(told.status(Some(&other), 0), GateStatus::Red);
    assert_eq!(told.status(Some(&one), 0), GateStatus::Stale);
    let gates = [required("tests")];
    assert_eq!(
        told.world.gate_blockers(&gates, &on(Some(&other), None)),
        ["required gate tests is red: exit 101 after 12.4 s"]
    );
}

#[test]
fn a_run_that_came_to_nothing_is_no_result_and_takes_the_place_of_a_green_one() {
    let one = tree("aa");
    let gates = [required("tests")];
    let ended = |exit_code, why: Option<&str>, tree: Option<&WorkTree>| GateRun {
        exit_code,
        why: why.map(str::to_owned),
        ..run(tree, 0)
    };
    let mut told = Told::default();
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    let mut says = |status, run, wanted: &str| {
        told.ran(Party::System, status, run);
        assert_eq!(told.status(Some(&one), 0), GateStatus::NoResult);
        let blockers = told.world.gate_blockers(&gates, &on(Some(&one), None));
        assert_eq!(
            blockers,
            [format!("required gate tests has no result: {wanted}")]
        );
    };
    let stopped = ended(None, None, Some(&one));
    says(ArtifactStatus::Skipped, stopped, "stopped after 12.4 s");
    let why = "could not begin: no such folder";
    let on_tree = ended(None, Some(why), Some(&one));
    says(ArtifactStatus::Blocked, on_tree, why);
    // Where it did not come to a tree at all.
    says(ArtifactStatus::Blocked, ended(None, Some(why), None), why);
    // Where it ran on the commit alone, and the work tree has more; where the tree changed meanwhile.
    let (commit, other) = (tree("bb"), tree("cc"));
    let isolated = GateRun {
        isolated: Some(IsolatedRun {
            not_covered: 1,
            named: vec!["left.txt".to_owned()],
            cause: None,
        }),
        ..ended(None, None, Some(&commit))
    };
    says(ArtifactStatus::Skipped, isolated, "stopped after 12.4 s");
    let changed = GateRun {
        stale: true,
        ..ended(None, None, Some(&other))
    };
    says(ArtifactStatus::Skipped, changed, "stopped after 12.4 s");
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    assert_eq!(told.status(Some(&one), 0), GateStatus::Green);
}

#[test]
fn a_run_during_which_the_tree_changed_or_of_another_command_is_stale() {
    let one = tree("aa");
    let mut told = Told::default();
    let changed = GateRun {
        stale: true,
        ..run(Some(&one), 0)
    };
    told.ran(Party::System, ArtifactStatus::Passed, changed);
    assert_eq!(told.status(Some(&one), 0), GateStatus::Stale);
    let other = GateRun {
        spec: "fedcba9876543210".to_owned(),
        ..run(Some(&one), 0)
    };
    told.ran(Party::System, ArtifactStatus::Passed, other);
    assert_eq!(told.status(Some(&one), 0), GateStatus::Stale);
}

#[test]
fn without_git_a_gate_has_to_run_after_what_it_is_to_prove() {
    let mut told = Told::default();
    told.ran(Party::System, ArtifactStatus::Passed, run(None, 0));
    assert_eq!(told.status(None, 1), GateStatus::Stale);
    told.ran(Party::System, ArtifactStatus::Passed, run(None, 0));
    assert_eq!(told.status(None, 1), GateStatus::Green);
}

#[test]
fn without_git_a_gate_that_began_before_what_it_is_to_prove_does_not_count() {
    let mut told = Told::default();
    told.claimed("unit", ArtifactStatus::Passed);
    let before = Seq(told.seq);
    told.propose();
    let since = Seq(told.seq);
    let ran = |began| GateRun {
        began_after: Some(began),
        ..run(None, 0)
    };
    told.ran(Party::System, ArtifactStatus::Passed, ran(before));
    assert_eq!(told.status(None, since.0), GateStatus::Stale);
    told.ran(Party::System, ArtifactStatus::Passed, ran(since));
    assert_eq!(told.status(None, since.0), GateStatus::Green);
}

#[test]
fn only_the_daemon_verifies() {
    let one = tree("aa");
    let mut told = Told::default();
    for by in [
        Party::Agent(Agent::Claude),
        Party::Human,
        Party::Other("ci".to_owned()),
    ] {
        told.ran(by, ArtifactStatus::Passed, run(Some(&one), 0));
    }
    assert_eq!(told.status(Some(&one), 0), GateStatus::Unrun);
    assert!(
        told.world
            .artifacts
            .iter()
            .all(|one| one.artifact.verified.is_none())
    );
}

#[test]
fn what_somebody_else_appended_verifies_nothing() {
    let one = tree("aa");
    let mut told = Told {
        world: Snapshot::believing_after(Seq(1)),
        seq: 0,
    };
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    assert_eq!(told.status(Some(&one), 0), GateStatus::Unrun);
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    assert_eq!(told.status(Some(&one), 0), GateStatus::Green);
}

#[test]
fn a_gate_that_differs_on_the_same_tree_is_flaky_until_the_tree_changes() {
    let (one, other) = (tree("aa"), tree("bb"));
    let mut told = Told::default();
    let flaky = |told: &Told| told.world.gates["tests"].flaky;
    told.ran(Party::System, ArtifactStatus::Failed, run(Some(&one), 1));
    assert!(!flaky(&told));
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    assert!(flaky(&told));
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    assert!(flaky(&told));
    // Whoever writes a file meanwhile does not have it forgotten.
    let touched = GateRun {
        stale: true,
        ..run(Some(&one), 0)
    };
    told.ran(Party::System, ArtifactStatus::Passed, touched);
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    assert!(flaky(&told));
    told.ran(Party::System, ArtifactStatus::Passed, run(Some(&other), 0));
    assert!(!flaky(&told));
}

#[test]
fn a_run_that_was_stopped_or_could_not_begin_is_no_verdict() {
    let one = tree("aa");
    for nothing in [ArtifactStatus::Skipped, ArtifactStatus::Blocked] {
        let mut told = Told::default();
        let mut flaky_after = |status| {
            told.ran(Party::System, status, run(Some(&one), 0));
            told.world.gates["tests"].flaky
        };
        for status in [nothing, ArtifactStatus::Passed] {
            assert!(!flaky_after(status), "{status:?}");
            assert!(!flaky_after(status), "{status:?}");
        }
        // It takes nothing back either.
        assert!(!flaky_after(nothing));
        assert!(flaky_after(ArtifactStatus::Failed));
        assert!(flaky_after(nothing));
        assert!(flaky_after(ArtifactStatus::Failed));
    }
}

#[test]
fn what_failed_is_not_forgotten_however_much_follows_it() {
    let one = tree("aa");
    let mut told = Told::default();
    let blockers = |told: &Told| told.world.blockers_except(&[]);
    told.claimed("unit", ArtifactStatus::Failed);
    told.claimed("e2e", ArtifactStatus::Passed);
    for _ in 0..RECENT_MAX + 3 {
        told.ran(Party::System, ArtifactStatus::Passed, run(Some(&one), 0));
    }
    assert_eq!(told.world.artifacts.len(), RECENT_MAX);
    assert_eq!(blockers(&told), ["artifact e1 by codex is failed: unit"]);
    told.claimed("unit", ArtifactStatus::Unknown);
    assert_eq!(blockers(&told).len(), 1);
    let mut approved = told.world.clone();
    approved.approved_through = approved.seq;
    assert!(approved.blockers_except(&[]).is_empty());
    told.claimed("unit", ArtifactStatus::Passed);
    assert!(blockers(&told).is_empty());
    assert!(told.world.failed_before.is_empty());
    // Nor is one of them pushed out by others that failed later.
    for status in [ArtifactStatus::Failed, ArtifactStatus::Passed] {
        if status == ArtifactStatus::Failed {
            told.claimed("security", status);
        }
        for number in 0..3 * RECENT_MAX {
            told.claimed(&format!("unit {number}"), status);
        }
    }
    let [standing] = &blockers(&told)[..] else {
        panic!("{:?}", blockers(&told));
    };
    assert!(
        standing.ends_with("by codex is failed: security"),
        "{standing}"
    );
    told.approve(None);
    assert!(told.world.failed_before.is_empty());
}

#[test]
fn what_failed_stands_in_the_way_until_it_passes_or_the_operator_approved() {
    let mut told = Told::default();
    let blockers = |told: &Told| told.world.blockers_except(&[]);
    told.claimed("unit", ArtifactStatus::Failed);
    told.claimed("e2e", ArtifactStatus::TimedOut);
    assert_eq!(
        blockers(&told),
        [
            "artifact e1 by codex is failed: unit",
            "artifact e2 by codex is timed_out: e2e"
        ]
    );
    told.claimed("unit", ArtifactStatus::Unknown);
    assert_eq!(blockers(&told).len(), 2);
    told.claimed("unit", ArtifactStatus::Passed);
    assert_eq!(blockers(&told), ["artifact e2 by codex is timed_out: e2e"]);

    told.approve(None);
    assert!(blockers(&told).is_empty());
}

#[test]
fn no_agent_takes_back_what_another_or_the_daemon_said_to_have_failed() {
    use ArtifactStatus::{Failed, Passed};
    let (claude, codex) = (Party::Agent(Agent::Claude), Party::Agent(Agent::Codex));
    for by in [codex.clone(), Party::System] {
        let mut told = Told::default();
        let mut blockers_after = |by: &Party, status| {
            let kind = EntryKind::Artifact(artifact("unit", status, None));
            told.tell(by.clone(), kind);
            told.world.blockers_except(&[]).len()
        };
        assert_eq!(blockers_after(&by, Failed), 1);
        assert_eq!(blockers_after(&claude, Passed), 1);
        assert_eq!(blockers_after(&by, Passed), 0);
        assert_eq!(blockers_after(&by, Failed), 1);
        assert_eq!(blockers_after(&Party::System, Passed), 0);
    }
}

#[test]
fn an_agents_own_runs_stand_in_no_way_and_take_no_word_back() {
    let mut told = Told::default();
    let blockers = |told: &Told| told.world.blockers_except(&[]);
    told.agent_ran(Agent::Codex, "unit", 101);
    assert!(blockers(&told).is_empty());
    told.claimed("unit", ArtifactStatus::Failed);
    told.agent_ran(Agent::Claude, "unit", 0);
    told.agent_ran(Agent::Codex, "unit", 0);
    assert_eq!(blockers(&told), ["artifact e2 by codex is failed: unit"]);
    // Of each agent's runs the last one is kept, however many there are.
    for _ in 0..RECENT_MAX {
        told.agent_ran(Agent::Codex, "unit", 1);
    }
    let kept = told.world.artifacts.iter();
    let kept: Vec<_> = kept.map(|it| (it.by.clone(), it.artifact.status)).collect();
    let (codex, claude) = (Party::Agent(Agent::Codex), Party::Agent(Agent::Claude));
    let expected = [
        (codex.clone(), ArtifactStatus::Failed),
        (claude, ArtifactStatus::Passed),
        (codex, ArtifactStatus::Failed),
    ];
    assert_eq!(kept, expected);
}

#[test]
fn a_gate_for_some_files_is_needed_where_one_of_them_changed_or_nobody_can_tell() {
    let (approved, now) = (tree("aa"), tree("bb"));
    let web = GateInForce {
        when: vec!["web/**".to_owned(), "*.json".to_owned()],
        ..required("web")
    };
    let gates = [web.clone()];
    let mut told = Told::default();
    let changed = |from: &WorkTree, paths: &[&str], is_exact| ChangedFiles {
        from: from.tree.clone(),
        to: now.tree.clone(),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        is_exact,
    };
    let nothing_of_it = changed(&approved, &["src/a.rs", "web.md"], true);
    let asked = |changed| TreeInQuestion {
        changed: Some(changed),
        ..on(Some(&now), None)
    };
    // Nothing was approved yet.
    let need = told.world.gate_blockers(&gates, &asked(&nothing_of_it));
    assert_eq!(
        need,
        ["required gate web has not run (needed for web/**, *.json: nothing was approved yet)"]
    );

    told.approve(Some(approved.clone()));
    let world = &told.world;
    assert!(
        world
            .gate_blockers(&gates, &asked(&nothing_of_it))
            .is_empty()
    );
    let status = world.gate_status(&web, &asked(&nothing_of_it));
    assert_eq!(status, GateStatus::NotNeeded);
    let some = changed(&approved, &["web/a\u{1b}.js", "x", "a.json"], true);
    assert_eq!(
        world.gate_blockers(&gates, &asked(&some)),
        ["required gate web has not run (needed for web/a.js and 1 more)"]
    );
    // Nobody looked, not everything is known, or it is of another tree or approval.
    let other = changed(&tree("cc"), &[], true);
    let elsewhere = ChangedFiles {
        to: "cc".to_owned(),
        ..changed(&approved, &[], true)
    };
    let unsure = [changed(&approved, &[], false), other, elsewhere];
    for changed in unsure.iter().map(Some).chain([None]) {
        let on = TreeInQuestion {
            changed,
            ..on(Some(&now), None)
        };
        assert_eq!(world.gate_blockers(&gates, &on).len(), 1, "{changed:?}");
    }
    // An approval of a tree without a name leaves nothing to compare with.
    told.approve(None);
    assert_eq!(
        told.world
            .gate_blockers(&gates, &asked(&nothing_of_it))
            .len(),
        1
    );
}

#[test]
fn what_the_gates_decided_counts_only_as_the_record_proves_it() {
    let one = tree("aa");
    let decided = |by: Party, ran: ArtifactStatus, on: Option<&WorkTree>, named: &str| {
        let mut told = Told::default();
        let proposal = told.propose();
        told.ran(Party::System, ran, run(Some(&one), 0));
        let decision = FinalityDecision {
            tree: on.cloned(),
            runs: vec![EntryId::new(named)],
            ..FinalityDecision::of(proposal, true)
        };
        told.tell(by, EntryKind::FinalityDecision(decision));
        told.world.pending_proposals.is_empty()
    };
    let green = ArtifactStatus::Passed;
    assert!(decided(Party::System, green, Some(&one), "e2"));
    assert!(!decided(
        Party::Agent(Agent::Codex),
        green,
        Some(&one),
        "e2"
    ));
    assert!(!decided(
        Party::System,
        ArtifactStatus::Failed,
        Some(&one),
        "e2"
    ));
    assert!(!decided(Party::System, green, Some(&tree("bb")), "e2"));
    assert!(!decided(Party::System, green, None, "e2"));
    assert!(!decided(Party::System, green, Some(&one), "e1"));
}

#[test]
fn however_many_names_there_are_the_latest_gates_are_kept() {
    let one = tree("aa");
    let mut told = Told::default();
    for number in 0..GATES_KEPT_MAX + 3 {
        let gate = format!("g{number}");
        let run = GateRun {
            gate,
            ..run(Some(&one), 0)
        };
        told.ran(Party::System, ArtifactStatus::Passed, run);
    }
    assert_eq!(told.world.gates.len(), GATES_KEPT_MAX);
    assert!(!told.world.gates.contains_key("g2"));
    assert!(told.world.gates.contains_key("g3"));
}
