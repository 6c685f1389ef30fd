//! Mode `auto`: the gates sign off, and only where they have shown what they are asked.

use std::path::Path;

use serde_json::{Value, json};

use super::{evidence, run_gates, trust_file};
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// Waits until a file says that it may end.
const WAITS: &str = "touch ../begun; until [ -e ../go ]; do sleep 0.02; done";

#[track_caller]
fn set_mode(project: &Project, mode: &str) {
    let mut line = Pty::spawn(&project.ctxrelay(["finality", "mode", mode]));
    line.wait_for_text("to go on");
    line.type_text(&format!("{mode}\r"));
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
}

/// A project with these gates and mode `auto`, both trusted.
#[track_caller]
fn auto(project: &Project, gates: &Value) {
    let config = json!({"gates": gates}).to_string();
    project.write(".contextrelay/config.json", &config);
    trust_file(project);
    set_mode(project, "auto");
}

fn of_type(project: &Project, kind: &str) -> Vec<Value> {
    let mut entries = project.ledger();
    entries.retain(|entry| entry["type"] == kind);
    entries
}

#[track_caller]
fn decision(project: &Project) -> Value {
    wait_until("the decision", timeout(), || {
        of_type(project, "finality_decision").pop()
    })
}

/// What the agent is told where the gates do not approve.
#[track_caller]
fn told(project: &Project) -> String {
    wait_until("the sentence to the agent", timeout(), || {
        let mut messages = project.ledger();
        messages.retain(|entry| entry["source"] == "system" && entry["target"] == "codex");
        let text = messages.pop()?["content"].as_str()?.to_owned();
        text.contains("did not approve").then_some(text)
    })
}

fn wait_for(project: &Project, file: &str) {
    wait_until(file, timeout(), || {
        project.base().join(file).exists().then_some(())
    });
}

fn go(project: &Project) {
    std::fs::write(project.base().join("go"), "").unwrap();
}

#[test]
fn what_all_required_gates_find_green_is_approved_by_the_system_and_says_by_which_runs() {
    let project = Project::new();
    let daemon = project.daemon();
    auto(
        &project,
        &json!([{"name": "tests", "cmd": "true"}, {"name": "lint", "cmd": "true"},
                {"name": "e2e", "cmd": "touch ../e2e; false", "required": false}]),
    );
    let scene = Scene::new(&project);
    let decision = decision(&project);
    assert_eq!(decision["source"], "system");
    let runs: Vec<Value> = evidence(&project)
        .iter()
        .map(|run| run["id"].clone())
        .collect();
    assert_eq!(runs.len(), 2);
    let finality = &decision["finality"];
    assert_eq!(
        (&finality["mode"], &finality["runs"]),
        (&json!("auto"), &json!(runs))
    );
    assert_eq!(finality["proposalId"], scene.proposal);
    let proposed = of_type(&project, "finality_proposal").remove(0);
    assert_eq!(finality["tree"], proposed["finality"]["tree"]);
    assert!(
        decision["content"]
            .as_str()
            .unwrap()
            .starts_with("approved in mode auto on tree ")
    );
    assert!(!project.base().join("e2e").exists());
    // The line is in the file before the disk has it, and counts from then on.
    let listed = wait_until("an approved proposal", timeout(), || {
        let listed = project.run(["finality", "list", "--json"]);
        let listed = listed.expect_success().json();
        (listed["proposals"][0]["status"] == "approved").then_some(listed)
    });
    assert_eq!(listed["mode"], "auto");
    // It is believed after a start, as a decision is.
    daemon.stop();
    let _daemon = project.daemon();
    let listed = project
        .run(["finality", "list", "--json"])
        .expect_success()
        .json();
    assert_eq!(listed["proposals"][0]["status"], "approved");
    let verify = project.run(["ledger", "verify", "--json"]).expect_success();
    assert_eq!(verify.json()["ok"], true);
}

#[test]
fn a_red_gate_approves_nothing_and_the_agent_learns_why() {
    let project = Project::live();
    auto(
        &project,
        &json!([{"name": "tests", "cmd": "true"}, {"name": "lint", "cmd": "exit 3"}]),
    );
    let scene = Scene::new(&project);
    let text = told(&project);
    assert!(text.contains("required gate lint is red: exit 3"), "{text}");
    assert!(text.contains(&scene.proposal), "{text}");
    assert!(!scene.is_decided());
}

#[test]
fn a_tree_that_changed_between_run_and_approval_is_not_approved() {
    let project = Project::live();
    // Each gate sees one tree from its beginning to its end; the first one that of the proposal.
    let gates = json!([{"name": "tests", "cmd": "true"}, {"name": "more", "cmd": WAITS}]);
    auto(&project, &gates);
    let scene = Scene::new(&project);
    wait_for(&project, "begun");
    project.write("late.txt", "nobody has tested this\n");
    go(&project);
    let text = told(&project);
    assert!(
        text.contains("is not the one that was proposed any more"),
        "{text}"
    );
    assert!(!scene.is_decided());
}

#[test]
fn a_file_that_was_changed_while_a_gate_saw_it_and_brought_back_approves_nothing() {
    let project = Project::new();
    project.write("state.txt", "bad\n");
    let _daemon = project.daemon();
    let looks = "grep good state.txt && touch ../seen";
    let ends = "until [ -e ../end ]; do sleep 0.02; done";
    let cmd = format!("{WAITS}; {looks} && {ends}");
    auto(&project, &json!([{"name": "tests", "cmd": cmd}]));
    let scene = Scene::new(&project);
    wait_for(&project, "begun");
    project.write("state.txt", "good\n");
    go(&project);
    wait_for(&project, "seen");
    project.write("state.txt", "bad\n");
    scene.write("end", "");
    let text = told(&project);
    let why = "1 file (state.txt) changed while required gate tests ran and came back";
    assert!(text.contains(why), "{text}");
    assert!(!scene.is_decided());
    let run = &evidence(&project)[0]["artifact"]["verified"];
    assert_eq!((&run["exitCode"], &run["stale"]), (&json!(0), &Value::Null));
    let listed = project.run(["gates", "list"]).expect_success().stdout;
    assert!(
        listed.contains("REWRITTEN meanwhile: 1 file (state.txt)"),
        "{listed}"
    );
}

/// Has a gate look while somebody shows it another state: mode `auto` approves nothing, and says why.
#[track_caller]
fn approves_nothing_shown(project: &Project, show: impl Fn(), hide: impl Fn(), named: &str) {
    let looks = "grep good src/state.txt && touch ../seen";
    let ends = "until [ -e ../end ]; do sleep 0.02; done";
    let cmd = format!("{WAITS}; {looks} && {ends}");
    auto(project, &json!([{"name": "tests", "cmd": cmd}]));
    let scene = Scene::new(project);
    wait_for(project, "begun");
    show();
    go(project);
    wait_for(project, "seen");
    hide();
    scene.write("end", "");
    let text = told(project);
    let why = format!("({named}) changed while required gate tests ran and came back");
    assert!(text.contains(&why), "{text}");
    assert!(!scene.is_decided());
}

#[test]
fn a_folder_that_was_in_another_ones_place_while_a_gate_saw_it_approves_nothing() {
    let project = Project::new();
    project.write("src/state.txt", "bad\n");
    let _daemon = project.daemon();
    let good = project.base().join("good");
    std::fs::create_dir(&good).unwrap();
    std::fs::write(good.join("state.txt"), "good\n").unwrap();
    let (src, away) = (project.root().join("src"), project.base().join("away"));
    let swap = |from: &Path, to: &Path| std::fs::rename(from, to).unwrap();
    let show = || {
        swap(&src, &away);
        swap(&good, &src);
    };
    let hide = || {
        swap(&src, &good);
        swap(&away, &src);
    };
    approves_nothing_shown(&project, show, hide, "src/");
}

#[test]
fn a_file_that_the_project_alone_would_have_ignored_approves_nothing_either() {
    let project = Project::new();
    project.write("src/state.txt", "bad\n");
    project.write(".git/info/exclude", "/src/\n");
    let _daemon = project.daemon();
    let write = |text: &str| {
        std::fs::write(project.root().join("src/state.txt"), text).unwrap();
    };
    let named = "src/state.txt";
    approves_nothing_shown(&project, || write("good\n"), || write("bad\n"), named);
}

#[test]
fn a_gate_that_writes_what_is_ignored_beside_its_sources_and_above_them_is_approved() {
    let project = Project::new();
    project.write("src/deep/state.txt", "good\n");
    project.write(".gitignore", "*.o\n/target/\n__pycache__/\n");
    let _daemon = project.daemon();
    let cmd = "mkdir -p target src/__pycache__; for at in . src src/deep; do rm -f $at/a.o; \
               echo $at >$at/b.o; mv $at/b.o $at/a.o; done; grep good src/deep/state.txt";
    auto(&project, &json!([{"name": "tests", "cmd": cmd}]));
    for _ in ["all of it is new", "it was there"] {
        let scene = Scene::new(&project);
        wait_until("the decision", timeout(), || {
            let decided = of_type(&project, "finality_decision").pop()?;
            (decided["finality"]["proposalId"] == *scene.proposal).then_some(())
        });
    }
}

#[test]
fn a_repository_whose_git_looks_at_a_copy_approves_nothing() {
    let project = Project::new();
    project.write("a.txt", "bad\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message=bad"]);
    let _daemon = project.daemon();
    auto(
        &project,
        &json!([{"name": "tests", "cmd": "touch ../begun; grep good a.txt"}]),
    );
    let copy = project.base().join("copy");
    let from = project.root().display().to_string();
    let to = copy.display().to_string();
    project.git(&["clone", "--quiet", &from, &to]);
    project.git(&["config", "core.worktree", &to]);
    project.write("a.txt", "good\n");
    let scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    let gate = &report["gates"][0];
    assert_eq!(
        (&gate["exit_code"], &gate["ok"]),
        (&json!(0), &json!(false)),
        "{gate}"
    );
    assert!(!scene.is_decided());
    let proposed = of_type(&project, "finality_proposal").remove(0);
    assert_eq!(proposed["finality"]["tree"], Value::Null);
    let told = project.run(["recover"]).expect_success().stdout;
    assert!(told.contains("git looks at another folder"), "{told}");
}

#[test]
fn without_a_required_gate_nothing_is_run_and_nothing_approved() {
    let project = Project::live();
    auto(
        &project,
        &json!([{"name": "e2e", "cmd": "touch ../ran", "required": false}]),
    );
    let first = Scene::new(&project);
    // In mode manual a proposal runs nothing either.
    set_mode(&project, "manual");
    let required = json!({"gates": [{"name": "tests", "cmd": "touch ../ran"}]}).to_string();
    project.write(".contextrelay/config.json", &required);
    trust_file(&project);
    let second = Scene::new(&project);
    // The daemon is asked after both: what it had begun would be seen.
    let mut operator = Operator::connect(&project);
    let gates = operator.call("gates/list", json!({})).unwrap();
    assert_eq!(gates["value"]["running"], Value::Null);
    assert_eq!(gates["value"]["ended"], Value::Null);
    assert!(!project.base().join("ran").exists());
    assert!(!first.is_decided() && !second.is_decided());
}

#[test]
fn a_mode_that_was_switched_off_during_the_run_approves_nothing() {
    let project = Project::live();
    auto(&project, &json!([{"name": "tests", "cmd": WAITS}]));
    let scene = Scene::new(&project);
    wait_for(&project, "begun");
    set_mode(&project, "manual");
    go(&project);
    let text = told(&project);
    assert!(text.contains("switched to mode manual"), "{text}");
    assert_eq!(evidence(&project).len(), 1);
    assert!(!scene.is_decided());
}

#[test]
fn a_daemon_that_was_killed_during_the_run_approves_nothing_and_the_proposal_waits() {
    let project = Project::new();
    let mut daemon = project.daemon();
    auto(&project, &json!([{"name": "tests", "cmd": WAITS}]));
    let scene = Scene::new(&project);
    wait_for(&project, "begun");
    daemon.crash();
    drop(daemon);
    go(&project);
    let _daemon = project.daemon();
    let listed = project
        .run(["finality", "list", "--json"])
        .expect_success()
        .json();
    assert_eq!(listed["proposals"][0]["status"], "pending");
    assert!(evidence(&project).is_empty() && !scene.is_decided());
    // The next proposal is proven by a run of its own.
    let again = Scene::new(&project);
    let decision = decision(&project);
    assert_eq!(decision["finality"]["proposalId"], again.proposal);
}

#[test]
fn only_the_operator_sets_the_mode_and_a_file_that_says_so_waits_for_trust() {
    let project = Project::live();
    let agent = project
        .ctxrelay(["finality", "mode", "auto"])
        .env("CLAUDECODE", "1");
    let mut agent = Pty::spawn(&agent);
    assert_eq!(agent.wait_exit(), 5, "{}", agent.screen());
    let gates = json!([{"name": "tests", "cmd": "true"}]);
    let manual = json!({"gates": gates}).to_string();
    project.write(".contextrelay/config.json", &manual);
    trust_file(&project);
    let auto = json!({"gates": gates, "finality": {"mode": "auto"}}).to_string();
    project.write(".contextrelay/config.json", &auto);
    wait_until("the banner", timeout(), || {
        let notices = project.run(["status", "--json"]).json()["notices"].to_string();
        notices
            .contains("finality waits for your trust")
            .then_some(())
    });
    let scene = Scene::new(&project);
    let status = project.run(["status", "--json"]).json();
    assert_eq!(status["finality"]["mode"], "manual");
    assert!(evidence(&project).is_empty() && !scene.is_decided());
}

#[test]
fn a_proposal_behind_a_run_is_proven_by_what_is_trusted_when_its_turn_comes() {
    let project = Project::live();
    let waits = json!({"name": "tests", "cmd": WAITS});
    auto(
        &project,
        &json!([waits, {"name": "old", "cmd": "echo x >>../old"}]),
    );
    let first = Scene::new(&project);
    wait_for(&project, "begun");
    let second = Scene::new(&project);
    // The second gate is not trusted any more; the run that is under way has it still.
    let config = json!({"gates": [waits], "finality": {"mode": "auto"}}).to_string();
    project.write(".contextrelay/config.json", &config);
    trust_file(&project);
    go(&project);
    wait_until("both decisions", timeout(), || {
        (of_type(&project, "finality_decision").len() == 2).then_some(())
    });
    let decided: Vec<Value> = of_type(&project, "finality_decision");
    let of = |at: usize| decided[at]["finality"]["proposalId"].as_str().unwrap();
    assert_eq!([of(0), of(1)], [&*first.proposal, &*second.proposal]);
    let ran = std::fs::read_to_string(project.base().join("old")).unwrap();
    assert_eq!(ran, "x\n");
}
