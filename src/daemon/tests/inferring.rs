//! Which words of an agent a model would be asked about.

use serde_json::json;

use super::rig::Rig;
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::Agent;
use crate::core::continuity::INFERENCE_WORDS_MAX;
use crate::core::entry::{EntryKind, TurnFiles};
use crate::core::id::{RuntimeSession, ThreadId, TurnId};
use crate::daemon::agents::inferences::Question;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::Event;
use crate::daemon::supervise::supervise;
use crate::store::config;
use crate::store::testing::Place;
use crate::wire::config::read;

/// What would be read now.
fn words(rig: &mut Rig) -> Vec<String> {
    let question = Question {
        agent: Agent::Codex,
        pair: RuntimeSession::default(),
        turns: 1,
        unwritten: 1,
        every_turns: 1,
        day: 0,
        recorded: 0,
        per_day: 10,
    };
    let begun = rig.daemon.agents.inferences.begin(&question);
    rig.daemon.agents.inferences.end();
    begun.map(|(words, _)| words).unwrap_or_default()
}

#[tokio::test]
async fn a_secret_is_masked_also_where_its_beginning_is_cut_off() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("U"),
    });
    rig.user_message("U", None);
    rig.settle().await;
    let asked = json!({"continuity": {"extract": {"everyTurns": 5}}});
    let (config, problems) = read(asked.as_object().unwrap());
    assert_eq!(problems, []);
    let body = "MIIEowIBAAKCAQEAplums".repeat(40);
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n");
    // The cut falls into the key.
    let rest = INFERENCE_WORDS_MAX - body.len() / 2;
    let text = [key + &"x".repeat(rest)];
    let pair = RuntimeSession::default();
    rig.daemon.agents.hear(
        &mut rig.daemon.base,
        Agent::Codex,
        &pair,
        &text,
        Vec::new(),
        false,
    );
    assert_eq!(words(&mut rig), Vec::<String>::new(), "nobody is asked");
    rig.daemon.base.configuration.replace(config);
    rig.daemon.agents.hear(
        &mut rig.daemon.base,
        Agent::Codex,
        &pair,
        &text,
        Vec::new(),
        false,
    );
    let read = words(&mut rig).concat();
    assert!(read.ends_with("xxx") && !read.contains("plums"), "{read}");
    let dump = ["y".repeat(70_000), "short".to_owned()];
    rig.daemon.agents.hear(
        &mut rig.daemon.base,
        Agent::Codex,
        &pair,
        &dump,
        Vec::new(),
        false,
    );
    assert_eq!(words(&mut rig), ["short"], "too much to be masked");
}

#[tokio::test]
async fn a_question_that_failed_by_a_fault_of_ours_is_recorded_as_such_and_keeps_no_other_back() {
    let mut rig = Rig::fresh_with_codex().await;
    let pair = RuntimeSession::default();
    rig.daemon
        .agents
        .inferences
        .said(Agent::Codex, &pair, 1, "words");
    let question = Question {
        agent: Agent::Codex,
        pair: pair.clone(),
        turns: 1,
        unwritten: 1,
        every_turns: 1,
        day: 0,
        recorded: 0,
        per_day: 10,
    };
    let later = Question {
        turns: 2,
        unwritten: 2,
        ..question.clone()
    };
    let begun = rig.daemon.agents.inferences.begin(&question);
    assert!(begun.is_some());
    assert!(
        rig.daemon.agents.inferences.begin(&later).is_none(),
        "one is open"
    );
    let what = WorkBeside::Inference {
        agent: Agent::Codex,
        pair,
        model: "small".to_owned(),
    };
    let failed = Event::WorkFailed {
        what,
        under_way: None,
    };
    let events = rig.daemon.base.events.clone();
    supervise(events, failed, async { panic!("a test's") });
    let told = |rig: &Rig| {
        let mut recent = rig.daemon.base.recorder.recent().iter();
        recent.any(|stored| match &stored.entry.kind {
            EntryKind::Continuity(_) => stored.entry.content.contains("fault of ctxrelay's own"),
            _ => false,
        })
    };
    while !told(&rig) {
        rig.pump().await;
        tokio::task::yield_now().await;
    }
    assert!(rig.daemon.agents.inferences.begin(&later).is_some());
}

#[tokio::test]
async fn a_turn_that_ends_before_the_disk_has_its_beginning_is_counted() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let keys = json!({"continuity": {"extract": {"everyTurns": 1, "perDay": 10}}});
    let (keys, problems) = read(keys.as_object().unwrap());
    assert_eq!(problems, []);
    let loaded = config::load(&place.dirs, &place.user);
    rig.daemon.configure(place.user.clone(), &loaded);
    rig.daemon.base.configuration.replace(keys);
    // All of it in one breath of the disk.
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("U"),
    });
    rig.user_message("U", None);
    rig.fact(CodexFact::TurnTraced {
        files: TurnFiles::default(),
        said: vec!["The plums are washed.".to_owned()],
        is_over: true,
    });
    rig.settle().await;
    let question = Question {
        agent: Agent::Codex,
        pair: RuntimeSession::default(),
        turns: 1,
        unwritten: 1,
        every_turns: 1,
        day: 0,
        recorded: 0,
        per_day: 10,
    };
    let inferences = &mut rig.daemon.agents.inferences;
    inferences.ended();
    assert!(inferences.begin(&question).is_none(), "it was asked");
    let next = Question {
        turns: 2,
        unwritten: 2,
        ..question
    };
    let begun = inferences.begin(&next).map(|(words, _)| words);
    assert_eq!(begun.unwrap(), ["The plums are washed."]);
}
