//! Tasks that can travel: what is recorded while one is current, and what a new session has of it.

use super::rig::{Guest, Rig};
use super::silence::hook;
use crate::core::agent::Agent;
use crate::core::entry::{ArtifactStatus, EntryKind, NoteKind, TASK};
use crate::core::id::CapsuleId;
use crate::core::snapshot::TaskSnapshot;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::testing::Place;
use crate::wire::control::{
    ArtifactParams, CapsuleQuestion, ClearParams, Command, HookParams, NoteParams,
    ReadCapsulesParams, RefusalCode, Reply, Role, TaskChange, TaskParams,
};

pub(super) fn change(change: TaskChange) -> Command {
    Command::ChangeTask(TaskParams {
        change,
        runtime_session_id: None,
    })
}

pub(super) fn open(title: &str, goal: Option<&str>) -> Command {
    change(TaskChange::Open {
        title: title.to_owned(),
        goal: goal.map(str::to_owned),
        handoff: None,
    })
}

fn said(kind: NoteKind, text: &str) -> Command {
    Command::AppendNote(NoteParams::new(Agent::Claude, kind, text))
}

impl Rig {
    pub(super) async fn task(&mut self, operator: &Guest, command: Command) -> CapsuleId {
        match self.call(operator, command).await {
            Ok(Reply::Task(changed)) => changed.id,
            other => panic!("{other:?}"),
        }
    }

    /// Claude wrote this file, and its turn runs on.
    async fn claude_wrote(&mut self, hooks: &Guest, path: &str) {
        let root = &self.daemon.base.dirs.root;
        let params = HookParams {
            event: "PostToolUse".into(),
            claude_pid: Some(7_000_000),
            tool: Some("Edit".to_owned()),
            path: Some(root.join(path).to_string_lossy().into_owned()),
            ..HookParams::default()
        };
        self.call(hooks, Command::Hook(params)).await.unwrap();
    }

    fn files(&self, id: &CapsuleId) -> Vec<String> {
        self.content(id).2
    }

    async fn refused(&mut self, guest: &Guest, command: Command) -> RefusalCode {
        self.call(guest, command).await.unwrap_err().code
    }

    /// A task without the places of its entries, which are other ones in another session.
    pub(super) fn content(&self, id: &CapsuleId) -> (Vec<String>, String, Vec<String>, bool) {
        let world = self.daemon.base.recorder.world();
        let task: &TaskSnapshot = &world.tasks[id];
        let said = task
            .stated()
            .map(|said| format!("{} by {}", said.text, said.by));
        let files = task.files.iter().map(|file| file.path.clone());
        (
            said.collect(),
            task.title.clone(),
            files.collect(),
            task.is_open(),
        )
    }
}

#[tokio::test]
async fn a_task_is_opened_used_closed_and_opened_again() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(4_000_000), false);
    let login = rig.task(&operator, open("Login", Some("no logout"))).await;
    let crash = rig.task(&operator, open("Crash", None)).await;
    rig.call(&claude, said(NoteKind::Decision, "of the crash"))
        .await
        .unwrap();
    let used = change(TaskChange::Use {
        task: login.clone(),
    });
    rig.task(&operator, used.clone()).await;
    rig.call(&claude, said(NoteKind::Decision, "of the login"))
        .await
        .unwrap();
    let decisions = |rig: &Rig, id: &CapsuleId| -> Vec<String> {
        let decisions = rig.daemon.base.recorder.world().tasks[id].decisions.iter();
        decisions.map(|said| said.text.clone()).collect()
    };
    assert_eq!(decisions(&rig, &login), ["of the login"]);
    assert_eq!(decisions(&rig, &crash), ["of the crash"]);
    let last = rig.daemon.base.recorder.world().seq;
    let note = rig.daemon.base.recorder.stored(last).unwrap();
    assert_eq!(note.entry.meta[TASK], login.as_str());
    let close = change(TaskChange::Close {
        task: login.clone(),
        outcome: Some("fixed".to_owned()),
    });
    rig.task(&operator, close.clone()).await;
    rig.call(&claude, said(NoteKind::Decision, "of nothing"))
        .await
        .unwrap();
    assert_eq!(decisions(&rig, &login), ["of the login"]);
    assert_eq!(rig.refused(&operator, close).await, RefusalCode::WrongState);
    assert_eq!(rig.refused(&operator, used).await, RefusalCode::WrongState);
    rig.task(
        &operator,
        change(TaskChange::Reopen {
            task: login.clone(),
        }),
    )
    .await;
    assert!(rig.content(&login).3);
    let again = change(TaskChange::Reopen { task: login });
    assert_eq!(rig.refused(&operator, again).await, RefusalCode::WrongState);
}

#[tokio::test]
async fn an_export_of_a_task_that_was_closed_while_it_was_made_is_refused() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let task = rig.task(&operator, open("Login", None)).await;
    let export = |digest: &str, open| {
        change(TaskChange::Export {
            task: task.clone(),
            digest: digest.repeat(32),
            kept: Some(digest.repeat(32)),
            patch: false,
            outputs: false,
            open,
        })
    };
    rig.task(&operator, export("aa", true)).await;
    let close = TaskChange::Close {
        task: task.clone(),
        outcome: None,
    };
    rig.task(&operator, change(close)).await;
    let keep = TaskChange::Keep {
        task: task.clone(),
        digest: "bb".repeat(32),
    };
    rig.task(&operator, change(keep)).await;
    let before = rig.daemon.base.recorder.world().clone();
    let refused = rig.refused(&operator, export("cc", true)).await;
    assert_eq!(refused, RefusalCode::WrongState);
    assert_eq!(*rig.daemon.base.recorder.world(), before);
    let kept = before.tasks[&task].kept.as_ref();
    assert_eq!(kept.map(|kept| &*kept.digest), Some(&*"bb".repeat(32)));
    // As it was closed it goes out.
    rig.task(&operator, export("bb", false)).await;
}

#[tokio::test]
async fn nobody_but_the_operator_changes_a_task_and_bad_words_are_refused() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(4_000_000), false);
    let reader = rig.connect(Role::Cli, None, false);
    for guest in [&claude, &reader] {
        let refused = rig.refused(guest, open("Mine", None)).await;
        assert_eq!(refused, RefusalCode::OperatorOnly);
    }
    for (command, code) in [
        (open(" ", None), RefusalCode::InvalidArguments),
        (open("two\nlines", None), RefusalCode::InvalidArguments),
        (open(&"x".repeat(121), None), RefusalCode::InvalidArguments),
        (open("t", Some("")), RefusalCode::InvalidArguments),
        (open("t", Some(&"x".repeat(2_001))), RefusalCode::TooLarge),
        (
            change(TaskChange::Open {
                title: "t".to_owned(),
                goal: None,
                handoff: Some("nothing".into()),
            }),
            RefusalCode::NotFound,
        ),
        (
            change(TaskChange::Use {
                task: CapsuleId::new("cap_000000000000"),
            }),
            RefusalCode::NotFound,
        ),
    ] {
        assert_eq!(
            rig.refused(&operator, command.clone()).await,
            code,
            "{command:?}"
        );
    }
    assert!(rig.daemon.base.recorder.world().tasks.is_empty());
    for _ in 0..16 {
        rig.task(&operator, open("one of many", None)).await;
    }
    let more = rig.refused(&operator, open("too many", None)).await;
    assert_eq!(more, RefusalCode::WrongState);
}

#[tokio::test]
async fn an_open_task_goes_on_after_a_compaction_and_after_a_clear() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(4_000_000), false);
    let over = rig.task(&operator, open("Over", None)).await;
    let close = change(TaskChange::Close {
        task: over,
        outcome: None,
    });
    rig.task(&operator, close).await;
    let login = rig.task(&operator, open("Login", Some("no logout"))).await;
    for (kind, text) in [
        (NoteKind::Constraint, "no new dependency"),
        (NoteKind::Question, "which browsers?"),
    ] {
        rig.call(&claude, said(kind, text)).await.unwrap();
    }
    let before = rig.content(&login);
    rig.compact(&operator).await;
    assert_eq!(rig.content(&login), before);
    let clear = Command::Clear(ClearParams::default());
    rig.call(&operator, clear).await.unwrap();
    assert_eq!(rig.content(&login), before);
    rig.call(&claude, said(NoteKind::Decision, "later"))
        .await
        .unwrap();
    assert_eq!(rig.content(&login).0.len(), before.0.len() + 1);
    let live = (**rig.daemon.base.recorder.world()).clone();
    assert_eq!(live.open_tasks().count(), 1);
    drop(rig);
    let (replayed, _) = Rig::replayed(&place);
    assert_eq!(replayed, live);
}

#[tokio::test]
async fn what_stands_in_the_way_goes_on_after_a_clear_with_its_task_and_not_without_one() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(4_000_000), false);
    let failed = |title: &str| {
        Command::RecordArtifact(ArtifactParams {
            agent: Agent::Claude,
            kind: "design".to_owned(),
            title: title.to_owned(),
            summary: String::new(),
            status: ArtifactStatus::Failed,
            evidence: Vec::new(),
            runtime_session_id: None,
        })
    };
    let blocker = |text: &str| said(NoteKind::Blocker, text);
    for command in [blocker("of no task"), failed("of no task")] {
        rig.call(&claude, command).await.unwrap();
    }
    let over = rig.task(&operator, open("Over", None)).await;
    rig.call(&claude, blocker("of a closed task"))
        .await
        .unwrap();
    let close = change(TaskChange::Close {
        task: over,
        outcome: None,
    });
    rig.task(&operator, close).await;
    rig.task(&operator, open("Login", None)).await;
    for command in [blocker("no database"), failed("the sketch")] {
        rig.call(&claude, command).await.unwrap();
    }
    // The other one is not current any more.
    rig.task(&operator, open("Search", None)).await;
    let standing = |rig: &Rig| -> Vec<String> {
        let world = rig.daemon.base.recorder.world();
        let notes = world.open_blockers.iter().map(|note| note.text.clone());
        let claims = world.failed_artifacts();
        let claims = claims.map(|claim| claim.artifact.title.clone());
        notes.chain(claims).collect()
    };
    assert_eq!(standing(&rig).len(), 5);
    // Also from one session to the next but one.
    for _ in 0..2 {
        let clear = Command::Clear(ClearParams::default());
        rig.call(&operator, clear).await.unwrap();
        assert_eq!(standing(&rig), ["no database", "the sketch"]);
    }
    let world = rig.daemon.base.recorder.world();
    let id = world.open_blockers[0].id.clone();
    let lift = Command::AppendNote(NoteParams {
        handles: vec![id],
        ..NoteParams::new(Agent::Claude, NoteKind::Done, "there is one")
    });
    rig.call(&claude, lift).await.unwrap();
    assert_eq!(standing(&rig), ["the sketch"]);
}

#[tokio::test]
async fn nothing_of_a_task_is_left_after_a_clear_for_good() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let login = rig.task(&operator, open("Login", Some("no logout"))).await;
    let kept = Capsules::of(&place.dirs);
    for owner in [CapsuleOwner::Project, CapsuleOwner::Foreign] {
        kept.write(owner, &login, b"{}").unwrap();
    }
    let (sent, digest) = (CapsuleId::new("cap_00000000000a"), "ab".repeat(32));
    let import = change(TaskChange::Import {
        task: sent.clone(),
        digest: digest.clone(),
    });
    rig.task(&operator, import).await;
    let clear = Command::Clear(ClearParams {
        discard: true,
        ..ClearParams::default()
    });
    rig.call(&operator, clear).await.unwrap();
    let imported = &rig.daemon.base.recorder.world().imported;
    assert_eq!(imported.len(), 1);
    assert_eq!(imported[&sent].digest, digest);
    assert!(rig.daemon.base.recorder.world().tasks.is_empty());
    assert!(rig.daemon.base.recorder.world().current_tasks.is_empty());
    // What was rendered from it goes too; what was brought from elsewhere was not in it.
    assert!(kept.ids(CapsuleOwner::Project).is_empty());
    assert_eq!(kept.ids(CapsuleOwner::Foreign), [login]);
}

#[tokio::test]
async fn what_codex_does_in_its_turns_is_of_the_task_that_is_current() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let turns = |rig: &Rig| -> Vec<Option<CapsuleId>> {
        let recent = rig.daemon.base.recorder.recent().iter();
        let turns = recent.filter(|stored| matches!(stored.entry.kind, EntryKind::Turn(_)));
        turns.map(|stored| stored.entry.task()).collect()
    };
    let task = rig.task(&operator, open("Login", None)).await;
    rig.user_message("turn-1", None);
    rig.settle().await;
    rig.completed("turn-1", &[], "it is done");
    rig.settle().await;
    // Its beginning and its end.
    assert_eq!(turns(&rig), vec![Some(task.clone()); 2]);
    let close = TaskChange::Close {
        task: task.clone(),
        outcome: None,
    };
    rig.task(&operator, change(close)).await;
    rig.user_message("turn-2", None);
    rig.settle().await;
    assert_eq!(turns(&rig), [Some(task.clone()), Some(task), None]);
}

#[tokio::test]
async fn what_claude_wrote_in_a_turn_that_the_person_stopped_is_of_the_task_of_then() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    rig.call(&hooks, hook("UserPromptSubmit", None))
        .await
        .unwrap();
    rig.claude_wrote(&hooks, "none.rs").await;
    let first = rig.task(&operator, open("First", None)).await;
    // Who makes its capsule reads this first.
    rig.claude_wrote(&hooks, "a.rs").await;
    let Ok(Reply::Snapshot(world)) = rig.call(&operator, Command::ReadSnapshot).await else {
        panic!("no snapshot");
    };
    let files = world.tasks[&first].files.iter();
    let files: Vec<&str> = files.map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["a.rs"]);
    rig.claude_wrote(&hooks, "b.rs").await;
    let shown = Command::ReadCapsules(ReadCapsulesParams {
        question: CapsuleQuestion::Show,
        id: Some(first.clone()),
        ..ReadCapsulesParams::default()
    });
    match rig.call(&operator, shown).await {
        Ok(Reply::CapsuleText(shown)) => assert!(shown.text.contains("b.rs (write by claude")),
        other => panic!("{other:?}"),
    }
    rig.claude_wrote(&hooks, "c.rs").await;
    let second = rig.task(&operator, open("Second", None)).await;
    rig.call(&hooks, hook("UserPromptSubmit", None))
        .await
        .unwrap();
    rig.claude_wrote(&hooks, "d.rs").await;
    rig.call(&hooks, hook("Stop", None)).await.unwrap();
    assert_eq!(rig.files(&first), ["a.rs", "b.rs", "c.rs"]);
    assert_eq!(rig.files(&second), ["d.rs"]);
    rig.claude_wrote(&hooks, "e.rs").await;
    rig.call(&hooks, hook("UserPromptSubmit", None))
        .await
        .unwrap();
    assert_eq!(rig.files(&second), ["d.rs", "e.rs"]);
    rig.claude_wrote(&hooks, "f.rs").await;
    rig.call(&hooks, hook("Notification", Some("idle_prompt")))
        .await
        .unwrap();
    assert_eq!(rig.files(&second), ["d.rs", "e.rs", "f.rs"]);
    // Its process dies, and no hook says so.
    rig.claude_wrote(&hooks, "g.rs").await;
    rig.daemon.disconnect(hooks.conn);
    rig.daemon.disconnect(bridge.conn);
    rig.settle().await;
    assert_eq!(rig.files(&second), ["d.rs", "e.rs", "f.rs", "g.rs"]);
}

#[tokio::test]
async fn who_reads_the_tasks_does_not_wait_for_a_disk_that_refuses() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    let task = rig.task(&operator, open("Login", None)).await;
    rig.claude_wrote(&hooks, "a.rs").await;
    let read = rig.ask(&operator, Command::ReadSnapshot);
    rig.fail_writes().await;
    assert!(matches!(read.await.unwrap(), Ok(Reply::Snapshot(_))));
    assert!(rig.files(&task).is_empty());
    rig.daemon.base.recorder.write_again_now();
    rig.daemon.base.recorder.write_again();
    rig.settle().await;
    assert_eq!(rig.files(&task), ["a.rs"]);
}
