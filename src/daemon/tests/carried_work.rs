//! What the agents are at, behind the end of a session: what stands goes on, and what was replaced
//! or forgotten does not come back.

use super::rig::{Guest, Rig};
use super::silence::hook;
use super::tasks::{change, open};
use crate::core::agent::{Agent, Party};
use crate::core::continuity::ContextMarker;
use crate::core::entry::{ContinuityFact, NoteKind, TurnFiles};
use crate::core::id::RuntimeSession;
use crate::store::testing::Place;
use crate::wire::control::{
    ClearParams, Command, ForgetWorkParams, NoteParams, Role, StateWorkParams, StatedValue,
    TaskChange,
};

fn pair() -> RuntimeSession {
    RuntimeSession::default()
}

/// The operator's word to both.
fn told(kind: NoteKind, text: &str, pinned: bool) -> Command {
    Command::StateWork(StateWorkParams {
        agent: None,
        values: vec![StatedValue {
            kind,
            text: text.to_owned(),
        }],
        pinned,
        runtime_session_id: Some(pair()),
    })
}

fn said(by: Agent, kind: NoteKind, text: &str) -> Command {
    Command::AppendNote(NoteParams::new(by, kind, text))
}

fn forget(what: &str, agent: Option<Agent>) -> Command {
    Command::ForgetWork(ForgetWorkParams {
        what: what.to_owned(),
        all: what.is_empty(),
        agent,
        runtime_session_id: Some(pair()),
    })
}

/// What was said, pinned or not, then the files and commands.
type Work = (Vec<(String, bool)>, [Vec<String>; 3]);

impl Rig {
    /// What an agent is at.
    fn work(&self, agent: Agent) -> Work {
        let world = self.daemon.base.recorder.world();
        let state = world.state_of(agent, &pair()).cloned().unwrap_or_default();
        let said = state.stated().map(|said| (said.text.clone(), said.pinned));
        let paths = |files: &std::collections::VecDeque<_>| {
            let files = files.iter();
            files
                .map(|file: &crate::core::continuity::TouchedFile| file.path.clone())
                .collect()
        };
        let files = [
            paths(&state.files),
            paths(&state.reads),
            state.unfinished.iter().cloned().collect(),
        ];
        (said.collect(), files)
    }

    fn works(&self) -> [Work; 2] {
        Agent::ALL.map(|agent| self.work(agent))
    }

    /// What an agent is told of it.
    fn texts(&self, agent: Agent) -> Vec<String> {
        let told = self.daemon.base.recorder.world().told_of(agent, &pair());
        told.stated().map(|said| said.text.clone()).collect()
    }

    /// A turn of Claude's touched these.
    async fn touched(&mut self, files: TurnFiles) {
        let fact = ContinuityFact::TurnFiles(files).of(Agent::Claude);
        let (by, recorder) = (Party::Agent(Agent::Claude), &mut self.daemon.base.recorder);
        let entry = recorder.entry(by, None, fact, "", Some(pair()));
        recorder.keep_entry(entry);
        self.settle().await;
    }

    async fn turn_begins(&mut self, hooks: &Guest) {
        for event in ["Stop", "UserPromptSubmit"] {
            self.call(hooks, hook(event, None)).await.unwrap();
        }
    }

    /// Claude marks this in its own words.
    async fn marks(&mut self, kind: NoteKind, text: &str) {
        let text = text.to_owned();
        let marker = ContextMarker { kind, text };
        let base = &mut self.daemon.base;
        base.note_markers(Agent::Claude, &pair(), vec![marker]);
        self.settle().await;
    }

    async fn do_all(&mut self, guest: &Guest, commands: Vec<Command>) {
        for command in commands {
            self.call(guest, command).await.unwrap();
        }
    }
}

fn wrote(paths: &[&str]) -> TurnFiles {
    TurnFiles {
        written: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..TurnFiles::default()
    }
}

#[tokio::test]
async fn what_was_forgotten_does_not_come_back_with_a_compaction() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let pinned = told(NoteKind::Goal, "Sort the plums", true);
    let held = told(NoteKind::Constraint, "no new crates", false);
    rig.do_all(&operator, vec![pinned, held]).await;
    let by_weight = said(Agent::Claude, NoteKind::Decision, "by weight");
    let plan = said(Agent::Claude, NoteKind::Plan, "weigh them");
    rig.do_all(&claude, vec![by_weight, plan]).await;
    rig.touched(wrote(&["a.rs", "b.rs"])).await;
    // Of the one, what both were told; it says something of its own then.
    rig.do_all(&operator, vec![forget("", Some(Agent::Codex))])
        .await;
    let own = said(Agent::Codex, NoteKind::Goal, "Sort the pears");
    rig.do_all(&codex, vec![own]).await;
    let decided = {
        let world = rig.daemon.base.recorder.world();
        let state = world.state_of(Agent::Claude, &pair()).unwrap();
        state.decisions[0].id.to_string()
    };
    let some = vec![forget(&decided, None), forget("a.rs", None)];
    rig.do_all(&operator, some).await;
    let before = rig.works();
    let texts = ["Sort the plums", "weigh them", "no new crates"];
    assert_eq!(rig.texts(Agent::Claude), texts);
    assert_eq!(rig.texts(Agent::Codex), ["Sort the pears"]);
    assert_eq!(rig.work(Agent::Claude).1[0], ["b.rs"]);
    for _ in 0..2 {
        rig.compact(&operator).await;
        assert_eq!(rig.works(), before);
    }
    rig.do_all(&operator, vec![forget("", None)]).await;
    rig.compact(&operator).await;
    for agent in Agent::ALL {
        let world = rig.daemon.base.recorder.world();
        let state = world.state_of(agent, &pair());
        assert!(state.is_none_or(|state| state.is_blank()), "{state:?}");
    }
    let live = (**rig.daemon.base.recorder.world()).clone();
    drop(rig);
    assert_eq!(Rig::replayed(&place).0, live);
}

#[tokio::test]
async fn what_was_forgotten_of_an_open_task_stands_in_the_task_alone_after_a_clear() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let task = rig.task(&operator, open("Fruit", Some("sorted"))).await;
    let values = [
        said(Agent::Claude, NoteKind::Constraint, "no new crates"),
        said(Agent::Claude, NoteKind::Decision, "by weight"),
    ];
    rig.do_all(&claude, values.into()).await;
    rig.touched(wrote(&["a.rs", "b.rs"])).await;
    rig.do_all(&operator, vec![forget("", None)]).await;
    let later = said(Agent::Claude, NoteKind::Question, "how many?");
    rig.do_all(&claude, vec![later]).await;
    let before = rig.content(&task);
    let clear = Command::Clear(ClearParams::default());
    rig.do_all(&operator, vec![clear]).await;
    assert_eq!(rig.content(&task), before);
    let nothing = [const { Vec::new() }; 3];
    let asked = vec![("how many?".to_owned(), false)];
    assert_eq!(
        rig.works(),
        [(asked, nothing.clone()), (Vec::new(), nothing)]
    );
}

#[tokio::test]
async fn the_files_that_an_agent_touched_last_go_on_after_a_compaction() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let _claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    let cut_off = |command: &str| TurnFiles {
        unfinished: vec![command.to_owned()],
        ..wrote(&["old.rs"])
    };
    rig.turn_begins(&hooks).await;
    rig.touched(cut_off("make old")).await;
    rig.turn_begins(&hooks).await;
    rig.turn_begins(&hooks).await;
    let read = TurnFiles {
        read: vec!["c.rs".to_owned()],
        ..wrote(&["a.rs", "b.rs"])
    };
    rig.touched(read).await;
    rig.touched(wrote(&["a.rs"])).await;
    let (_, [files, reads, unfinished]) = rig.work(Agent::Claude);
    assert_eq!(files, ["old.rs", "b.rs", "a.rs"]);
    assert_eq!(
        (&reads[..], unfinished.len()),
        (&["c.rs".to_owned()][..], 0)
    );
    let before = rig.works();
    rig.compact(&operator).await;
    assert_eq!(rig.works(), before, "a command of long ago has its end");

    let unfinished = TurnFiles {
        unfinished: vec!["make ship".to_owned()],
        ..TurnFiles::default()
    };
    rig.touched(unfinished).await;
    let before = rig.works();
    assert_eq!(before[0].1[2], ["make ship"]);
    rig.compact(&operator).await;
    assert_eq!(rig.works(), before);
}

#[tokio::test]
async fn the_words_of_a_task_that_was_left_are_not_those_of_now_after_a_compaction() {
    let mut rig = Rig::fresh().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    let first = rig.task(&operator, open("First", None)).await;
    let second = rig.task(&operator, open("Second", None)).await;
    let used = |task| change(TaskChange::Use { task });
    rig.task(&operator, used(first.clone())).await;
    rig.turn_begins(&hooks).await;
    rig.marks(NoteKind::Goal, "a").await;
    rig.marks(NoteKind::NextStep, "next a").await;
    rig.task(&operator, used(second.clone())).await;
    rig.turn_begins(&hooks).await;
    rig.do_all(&claude, vec![said(Agent::Claude, NoteKind::Goal, "b")])
        .await;
    rig.marks(NoteKind::NextStep, "next b").await;
    assert_eq!(rig.texts(Agent::Claude), ["b", "next b"]);
    let before = [rig.content(&first), rig.content(&second)];
    let works = rig.works();
    rig.compact(&operator).await;
    assert_eq!(rig.texts(Agent::Claude), ["b", "next b"]);
    assert_eq!([rig.content(&first), rig.content(&second)], before);
    assert_eq!(rig.works(), works);
    rig.task(&operator, used(first)).await;
    assert_eq!(rig.texts(Agent::Claude), ["a", "next a"]);
}
