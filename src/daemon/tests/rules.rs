//! Rules of the project that change while agents run.

use super::rig::Rig;
use super::silence::hook;
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::Agent;
use crate::core::entry::NoteKind;
use crate::core::id::RuntimeSession;
use crate::store::testing::Place;
use crate::wire::control::{
    Command, ContextView, HookParams, NoteParams, ReadContextParams, Reply, Role,
};

/// The files that differ for an agent, with who wrote them.
fn changed(rig: &Rig, agent: Agent) -> Vec<(String, Vec<Agent>)> {
    changed_in(rig, agent, &RuntimeSession::default())
}

fn changed_in(rig: &Rig, agent: Agent, pair: &RuntimeSession) -> Vec<(String, Vec<Agent>)> {
    let world = rig.daemon.base.recorder.world();
    let state = world.state_of(agent, pair);
    let changed = state.into_iter().flat_map(|state| &state.rules_changed);
    changed
        .map(|seen| (seen.changed.file.clone(), seen.changed.by.clone()))
        .collect()
}

#[tokio::test]
async fn a_change_is_recorded_once_with_its_author_until_the_agent_begins_anew() {
    let place = Place::new();
    let write = |text: &str| std::fs::write(place.dirs.root.join("AGENTS.md"), text).unwrap();
    write("One.\n");
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    rig.settle().await;
    let begin = hook("SessionStart", Some("startup"));
    assert!(matches!(rig.call(&hooks, begin).await, Ok(Reply::Hook(_))));
    for _ in 0..2 {
        rig.daemon.agents.look_at_rules(&rig.daemon.base);
        rig.settle().await;
    }
    assert_eq!(changed(&rig, Agent::Claude), []);

    write("Two.\n");
    rig.fact(CodexFact::FilesWritten {
        paths: vec![place.dirs.root.join("AGENTS.md").display().to_string()],
    });
    let before = rig.daemon.base.recorder.world().seq;
    for _ in 0..2 {
        rig.daemon.agents.look_at_rules(&rig.daemon.base);
        rig.settle().await;
    }
    let told = changed(&rig, Agent::Claude);
    assert_eq!(told, [("AGENTS.md".to_owned(), vec![Agent::Codex])]);
    assert_eq!(rig.daemon.base.recorder.world().seq.0, before.0 + 1);

    let again = hook("SessionStart", Some("compact"));
    assert!(matches!(rig.call(&hooks, again).await, Ok(Reply::Hook(_))));
    rig.settle().await;
    assert_eq!(changed(&rig, Agent::Claude), []);
}

#[tokio::test]
async fn a_claude_that_begins_or_is_compacted_takes_no_change_from_another_one() {
    let place = Place::new();
    let write = |text: &str| std::fs::write(place.dirs.root.join("AGENTS.md"), text).unwrap();
    write("One.\n");
    let mut rig = Rig::start(&place).await;
    let _first = rig.connect(Role::Claude, Some(7_000_000), false);
    let first_hooks = rig.connect(Role::Hook, None, false);
    let two = RuntimeSession::new("two");
    let _second = rig.connect_to("two", Role::Claude, Some(7_000_001));
    let second_hooks = rig.connect_to("two", Role::Hook, None);
    rig.settle().await;
    let of_second = |source: &str| {
        Command::Hook(HookParams {
            event: "SessionStart".into(),
            claude_pid: Some(7_000_001),
            detail: Some(source.to_owned()),
            ..HookParams::default()
        })
    };
    let of_first = |source: &str| hook("SessionStart", Some(source));
    rig.call(&first_hooks, of_first("startup")).await.unwrap();
    rig.settle().await;
    // Of each what it was told, or what stands in the record, is compared.
    let look = async |rig: &mut Rig| {
        for _ in 0..2 {
            rig.daemon.agents.look_at_rules(&rig.daemon.base);
            rig.settle().await;
        }
        let first = changed(rig, Agent::Claude).len();
        (first, changed_in(rig, Agent::Claude, &two).len())
    };
    write("Two.\n");
    // The second one's beginning was not seen: it has what there is at the first look.
    assert_eq!(look(&mut rig).await, (1, 0));
    rig.call(&second_hooks, of_second("startup")).await.unwrap();
    rig.settle().await;
    assert_eq!(look(&mut rig).await, (1, 0));
    write("Three.\n");
    assert_eq!(look(&mut rig).await, (1, 1));
    rig.call(&second_hooks, of_second("compact")).await.unwrap();
    rig.settle().await;
    assert_eq!(look(&mut rig).await, (1, 0));
    rig.call(&first_hooks, of_first("compact")).await.unwrap();
    rig.settle().await;
    assert_eq!(look(&mut rig).await, (0, 0));
}

/// Claude goes on while the daemon is replaced: it still has the rules of before.
#[tokio::test]
async fn a_change_that_an_agent_was_not_told_is_still_shown_by_the_next_daemon() {
    let place = Place::new();
    let write = |name: &str, text: &str| std::fs::write(place.dirs.root.join(name), text).unwrap();
    write("AGENTS.md", "One.\n");
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    rig.settle().await;
    let begin = hook("SessionStart", Some("startup"));
    assert!(matches!(rig.call(&hooks, begin).await, Ok(Reply::Hook(_))));
    write("AGENTS.md", "Two.\n");
    rig.daemon.agents.look_at_rules(&rig.daemon.base);
    rig.settle().await;
    let names = |rig: &Rig| {
        let changed = changed(rig, Agent::Claude).into_iter();
        changed.map(|(file, _)| file).collect::<Vec<_>>()
    };
    assert_eq!(names(&rig), ["AGENTS.md"]);
    drop(rig);

    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    rig.settle().await;
    for _ in 0..2 {
        rig.daemon.agents.look_at_rules(&rig.daemon.base);
        rig.settle().await;
    }
    assert_eq!(names(&rig), ["AGENTS.md"]);
    write("GEMINI.md", "Three.\n");
    rig.daemon.agents.look_at_rules(&rig.daemon.base);
    rig.settle().await;
    assert_eq!(names(&rig), ["AGENTS.md", "GEMINI.md"]);
    let before = rig.daemon.base.recorder.world().seq;
    rig.daemon.agents.look_at_rules(&rig.daemon.base);
    rig.settle().await;
    let after = rig.daemon.base.recorder.world().seq;
    assert_eq!(after, before, "recorded once");
    std::fs::remove_file(place.dirs.root.join("GEMINI.md")).unwrap();
    rig.daemon.agents.look_at_rules(&rig.daemon.base);
    rig.settle().await;
    assert_eq!(names(&rig), ["AGENTS.md"]);
    let again = hook("SessionStart", Some("compact"));
    assert!(matches!(rig.call(&hooks, again).await, Ok(Reply::Hook(_))));
    rig.settle().await;
    assert_eq!(names(&rig), [""; 0]);
}

/// Claude reads its own file again after a compaction; the other one has no room behind its packet.
#[tokio::test]
async fn of_rules_without_room_those_stay_changed_that_claude_does_not_read_by_itself() {
    let place = Place::new();
    let write = |name: &str, text: &str| std::fs::write(place.dirs.root.join(name), text).unwrap();
    write("CLAUDE.md", "One.\n");
    write("GEMINI.md", &format!("Two. {}\n", "x".repeat(3_000)));
    let mut rig = Rig::start(&place).await;
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    rig.settle().await;
    let begin = hook("SessionStart", Some("startup"));
    assert!(matches!(rig.call(&hooks, begin).await, Ok(Reply::Hook(_))));
    // So many short ones that no room is left.
    for n in 0..60 {
        let (kind, chars) = match n % 3 {
            0 => (NoteKind::Decision, 390),
            1 => (NoteKind::Question, 60),
            _ => (NoteKind::Assumption, 8),
        };
        let note = Command::AppendNote(NoteParams::new(
            Agent::Claude,
            kind,
            format!("{n}: {}", "y".repeat(chars)),
        ));
        rig.call(&bridge, note).await.unwrap();
    }
    write("CLAUDE.md", "Three.\n");
    write("GEMINI.md", &format!("Four. {}\n", "x".repeat(3_000)));
    rig.daemon.agents.look_at_rules(&rig.daemon.base);
    rig.settle().await;
    let names = |rig: &Rig| {
        let changed = changed(rig, Agent::Claude).into_iter();
        changed.map(|(file, _)| file).collect::<Vec<_>>()
    };
    assert_eq!(names(&rig), ["CLAUDE.md", "GEMINI.md"]);
    let again = hook("SessionStart", Some("compact"));
    let Ok(Reply::Hook(reply)) = rig.call(&hooks, again).await else {
        panic!("the hook is answered");
    };
    let packet = reply.additional_context.unwrap();
    assert!(!packet.contains("GEMINI.md"), "{packet}");
    for _ in 0..2 {
        rig.settle().await;
        rig.daemon.agents.look_at_rules(&rig.daemon.base);
    }
    rig.settle().await;
    assert_eq!(names(&rig), ["GEMINI.md"]);
}

#[tokio::test]
async fn an_agent_reads_all_rules_that_it_does_not_read_by_itself_however_long() {
    let place = Place::new();
    let rule = |number: usize| format!("Pear {number} is not bruised. {}", "x".repeat(900));
    let rules: Vec<String> = (0..40).map(rule).collect();
    std::fs::write(place.dirs.root.join("CLAUDE.md"), rules.join("\n\n")).unwrap();
    let mut rig = Rig::start(&place).await;
    let codex = rig.connect(Role::Codex, None, false);
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let operator = rig.connect(Role::Cli, None, false);
    let ask = || {
        Command::ReadContext(ReadContextParams {
            view: ContextView::Instructions,
            ..ReadContextParams::default()
        })
    };
    let Ok(Reply::Work(work)) = rig.call(&codex, ask()).await else {
        panic!("the rules");
    };
    for number in [0, 39] {
        assert!(work.text.contains(&rule(number)), "{number}");
    }
    assert!(!work.text.contains("[left out"));
    let Ok(Reply::Work(work)) = rig.call(&claude, ask()).await else {
        panic!("the rules");
    };
    assert!(!work.text.contains("Pear"), "{}", work.text);
    assert!(rig.call(&operator, ask()).await.is_err(), "it is no agent");
}
