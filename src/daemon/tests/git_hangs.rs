//! A `git` that hangs, as on a disk that does: who waits for it is answered in time, and nobody else
//! waits for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use tokio::sync::oneshot;

use super::rig::{Guest, Rig};
use crate::adapters::git::anchor::GitAnchor;
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::found::tree_found_until;
use crate::core::capsule::{Capsule, Freshness};
use crate::core::entry::TreeFound;
use crate::core::id::CapsuleId;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::testing::Place;
use crate::wire::capsule;
use crate::wire::control::{
    CapsuleCheck, CapsuleQuestion, Command, ContextView, LedgerListParams, ReadCapsulesParams,
    ReadContextParams, ReadFindingPlacesParams, Refusal, Reply, Role,
};

/// Names the file that has `git` hang while it is there.
const HANGS: &str = "CTXRELAY_TEST_GIT_HANGS";

/// Stands before the real one on `PATH`; says which processes hang.
const GIT: &str = r#"#!/bin/sh
[ -e "$CTXRELAY_TEST_GIT_HANGS" ] || exec "$CTXRELAY_TEST_GIT" "$@"
echo $$ >>"$CTXRELAY_TEST_GIT_HANGS"
exec sleep 600
"#;

fn real_git() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("git"));
    found.find(|git| git.is_file()).unwrap()
}

/// What is on `PATH` is the whole process's: another one has such a `git` there.
#[test]
fn a_git_that_hangs_keeps_no_other_read_waiting_and_is_told_of_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let git = folder.path().join("git");
    let draft = folder.path().join("draft");
    fs::write(&draft, GIT).unwrap();
    // Each process that another thread is just starting has open what this one writes, and what
    // somebody has open for writing cannot be run.
    let mut install = Program::new("install");
    let copied = install.args(["-m", "0755"]).arg(draft).arg(&git).status();
    assert!(copied.unwrap().success());
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::split_paths(&path);
    let path = std::env::join_paths([folder.path().to_owned()].into_iter().chain(path)).unwrap();
    let inner = "daemon::tests::git_hangs::with_a_git_that_hangs";
    let output = Program::new(std::env::current_exe().unwrap())
        .args(["--exact", inner, "--nocapture"])
        .env("CTXRELAY_TEST_GIT", real_git())
        .env(HANGS, folder.path().join("hangs"))
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[tokio::test]
async fn with_a_git_that_hangs() {
    let Some(hangs) = std::env::var_os(HANGS).map(PathBuf::from) else {
        return;
    };
    let place = Place::new();
    let root = place.dirs.root.clone();
    repository(&root);
    let id = keep_capsule(&place);
    let mut rig = Rig::start(&place).await;
    rig.codex_says_its_goal().await;
    let codex = rig.connect(Role::Codex, None, false);
    let others: Vec<Guest> = (0..4)
        .map(|_| rig.connect(Role::Codex, None, false))
        .collect();
    assert_eq!(
        check(&mut rig, &codex, &id).await.freshness,
        Freshness::Fresh
    );

    fs::write(&hangs, "").unwrap();
    let ask_git = |rig: &mut Rig, guest: &Guest| -> Vec<Answer> {
        let resume = Command::ReadContext(ReadContextParams {
            view: ContextView::Resume,
            ..ReadContextParams::default()
        });
        let list = Command::ReadCapsules(ReadCapsulesParams::default());
        let places = Command::ReadFindingPlaces(ReadFindingPlacesParams {
            findings: Vec::new(),
        });
        let asked = [read(CapsuleQuestion::Check, &id), list, resume, places];
        asked.map(|it| rig.ask(guest, it)).into()
    };
    let mut asked: Vec<Answer> = Vec::new();
    for guest in others.iter().chain([&codex]) {
        asked.extend(ask_git(&mut rig, guest));
    }
    wait_until(|| !hung(&hangs).is_empty()).await;
    let list = Command::LedgerList(LedgerListParams::default());
    let listed = rig.call(&codex, list).await;
    assert!(matches!(listed, Ok(Reply::Entries(_))), "{listed:?}");
    assert!(
        asked[0].try_recv().is_err(),
        "git is still waited for when the record is read"
    );
    for answer in asked {
        match answer.await.unwrap() {
            Ok(Reply::CapsuleCheck(check)) => is_untold(&check),
            Ok(Reply::Capsules(list)) => {
                assert_eq!(list.capsules[0].freshness, Some(Freshness::Unknown));
            }
            Ok(Reply::Work(work)) => assert!(work.text.contains("Sort the pears"), "{work:?}"),
            Ok(Reply::FindingPlaces(places)) => assert_eq!(places, []),
            other => panic!("{other:?}"),
        }
    }
    let deadline = GitDeadline::within(Duration::from_secs(1));
    let found = tree_found_until(deadline, &root, None).0;
    assert_eq!(found, TreeFound::Unreadable);
    // None is left behind.
    let pids = hung(&hangs);
    wait_until(|| pids.iter().all(|pid| test_kill_process(*pid).is_err())).await;
    fs::remove_file(&hangs).unwrap();
    assert_eq!(
        check(&mut rig, &codex, &id).await.freshness,
        Freshness::Fresh
    );
}

type Answer = oneshot::Receiver<Result<Reply, Refusal>>;

fn is_untold(check: &CapsuleCheck) {
    assert_eq!(check.freshness, Freshness::Unknown);
    assert_eq!((check.ahead, check.behind), (None, None));
}

/// A repository with a commit.
fn repository(root: &Path) {
    let git = |args: &[&str]| {
        let mut git = Program::new("git");
        git.arg("-C").arg(root);
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]);
        assert!(
            git.args(args).output().unwrap().status.success(),
            "{args:?}"
        );
    };
    git(&["init", "-q"]);
    fs::write(root.join(".gitignore"), "*\n").unwrap();
    fs::write(root.join("a.rs"), "a\n").unwrap();
    git(&["add", "--force", ".gitignore", "a.rs"]);
    git(&["commit", "-q", "-m", "a"]);
}

/// Keeps a task from elsewhere that says where git stands.
fn keep_capsule(place: &Place) -> CapsuleId {
    let id = CapsuleId::new("cap_0123456789ab");
    let mut capsule = Capsule::new(id.clone(), "Login", 1);
    let (_, stand) = GitAnchor::open_with_stand(&place.dirs.root, GitDeadline::NONE).unwrap();
    capsule.git = stand.map(|(git, _)| git);
    let (bytes, _) = capsule::write(&capsule).unwrap();
    let kept = Capsules::of(&place.dirs);
    kept.write(CapsuleOwner::Foreign, &id, &bytes).unwrap();
    id
}

fn read(question: CapsuleQuestion, id: &CapsuleId) -> Command {
    Command::ReadCapsules(ReadCapsulesParams {
        question,
        id: Some(id.clone()),
        ..ReadCapsulesParams::default()
    })
}

async fn check(rig: &mut Rig, guest: &Guest, id: &CapsuleId) -> CapsuleCheck {
    match rig.call(guest, read(CapsuleQuestion::Check, id)).await {
        Ok(Reply::CapsuleCheck(check)) => check,
        other => panic!("{other:?}"),
    }
}

/// The processes that hang or did.
fn hung(hangs: &Path) -> Vec<Pid> {
    let said = fs::read_to_string(hangs).unwrap();
    let pids = said.lines().filter_map(|line| line.parse().ok());
    pids.filter_map(Pid::from_raw).collect()
}

async fn wait_until(is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end);
        tokio::task::yield_now().await;
    }
}
