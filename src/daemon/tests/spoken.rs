//! What Claude says of its work, over a whole turn.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tokio::sync::oneshot;

use super::commands::handed;
use super::rig::{Guest, Rig};
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryState, OnBusy};
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::base::under_way::ordered::order_panic;
use crate::store::testing::Place;
use crate::wire::control::{Command, HookParams, Refusal, Reply, Role};

type HookAnswer = oneshot::Receiver<Result<Reply, Refusal>>;

/// A Claude that writes a transcript.
struct Speaker {
    rig: Rig,
    hooks: Guest,
    transcript: PathBuf,
    _bridge: Guest,
}

impl Speaker {
    async fn start(place: &Place) -> Self {
        let mut rig = Rig::start(place).await;
        let bridge = rig.connect(Role::Claude, Some(std::process::id()), false);
        let hooks = rig.connect(Role::Hook, None, false);
        rig.settle().await;
        Self {
            rig,
            hooks,
            transcript: place.dir.path().join("t.jsonl"),
            _bridge: bridge,
        }
    }

    async fn hook(&mut self, event: &str, last: Option<&str>) {
        let asked = self.hook_ahead(event, last);
        self.rig.settle().await;
        asked.await.unwrap().unwrap();
    }

    /// The same; nothing has come yet of what it has read.
    fn hook_ahead(&mut self, event: &str, last: Option<&str>) -> HookAnswer {
        let transcript = self.transcript.to_str().unwrap().to_owned();
        let params = HookParams {
            event: event.into(),
            claude_pid: Some(std::process::id()),
            transcript: Some(transcript),
            text: last.map(str::to_owned),
            ..HookParams::default()
        };
        self.rig.ask(&self.hooks, Command::Hook(params))
    }

    fn writes(&self, text: &str) {
        let block = json!([{"type": "text", "text": text}]);
        let line = json!({"type": "assistant", "message": {"content": block}});
        append(&self.transcript, &format!("{line}\n"));
    }

    fn notes(&self) -> Vec<&str> {
        let notes = &self.rig.daemon.base.recorder.world().notes;
        notes.iter().map(|note| note.text.as_str()).collect()
    }
}

fn append(path: &Path, text: &str) {
    let old = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, old + text).unwrap();
}

#[tokio::test]
async fn marks_of_a_whole_turn_count_and_one_that_code_left_open_hides_no_other() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    claude.writes("<!-- relay:plan of an earlier turn -->");
    claude.hook("UserPromptSubmit", None).await;
    claude.writes("<!-- relay:objective Jam -->\n```\nan example");
    claude.writes("<!-- relay:next Wash -->");
    // In the middle of the turn, and before what it said is gone from its context.
    claude.hook("PreCompact", None).await;
    assert_eq!(claude.notes(), ["Jam", "Wash"]);
    claude.writes("<!-- relay:next Peel -->");
    let last = "So far.\n<!-- relay:next Cook -->";
    claude.hook("Stop", Some(last)).await;
    assert_eq!(claude.notes(), ["Jam", "Wash", "Peel", "Cook"]);
    claude.writes(last);
    claude.hook("UserPromptSubmit", None).await;
    claude.hook("Stop", Some("Nothing more.")).await;
    claude.hook("SessionEnd", None).await;
    assert_eq!(claude.notes(), ["Jam", "Wash", "Peel", "Cook"]);
}

#[tokio::test]
async fn a_transcript_that_is_no_file_holds_nobody_up_and_the_last_words_count() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    fs::create_dir(&claude.transcript).unwrap();
    claude.hook("UserPromptSubmit", None).await;
    claude.hook("Stop", Some("<!-- relay:next Cook -->")).await;
    assert_eq!(claude.notes(), ["Cook"]);
    claude.transcript = PathBuf::from("relative.jsonl");
    claude.hook("Stop", Some("<!-- relay:next Eat -->")).await;
    assert_eq!(claude.notes(), ["Cook", "Eat"]);
}

#[tokio::test]
async fn no_more_than_twenty_marks_of_a_turn_are_recorded_the_last_ones() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    claude.hook("UserPromptSubmit", None).await;
    for number in 0..30 {
        claude.writes(&format!("<!-- relay:question {number}? -->"));
    }
    claude.hook("Stop", None).await;
    let wanted: Vec<String> = (10..30).map(|number| format!("{number}?")).collect();
    assert_eq!(claude.notes(), wanted);
}

#[tokio::test]
async fn helpers_that_ended_are_counted_with_the_turn_and_are_no_turn_of_claudes() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    claude.hook("UserPromptSubmit", None).await;
    for _ in 0..2 {
        let done = "<!-- relay:done -->";
        claude.hook("SubagentStop", Some(done)).await;
    }
    claude.hook("Stop", Some("Done.")).await;
    let world = claude.rig.daemon.base.recorder.world();
    let state = world.state_of(Agent::Claude, &RuntimeSession::default());
    assert_eq!(state.unwrap().helpers_total, 2);
    assert!(claude.notes().is_empty());
}

#[tokio::test]
async fn readings_that_panicked_keep_no_later_words_from_being_read() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    claude.hook("UserPromptSubmit", None).await;
    let daemon = &mut claude.rig.daemon;
    for _ in 0..64 {
        let work = daemon
            .base
            .queued_work(WorkBeside::SpokenWords { ended: None }, |_| {
                panic!("a test's")
            });
        daemon.agents.read_spoken(&daemon.base, work);
    }
    claude.rig.settle().await;
    let told = |claude: &Speaker| {
        let told = claude.rig.daemon.status().notices.into_iter();
        told.filter(|it| it.contains("Claude said")).count()
    };
    assert_eq!(told(&claude), 1, "once");
    claude.writes("<!-- relay:next Peel -->");
    claude.hook("Stop", None).await;
    assert_eq!(claude.notes(), ["Peel"]);
    assert_eq!(told(&claude), 0, "it is read again");
    let errors = &claude.rig.daemon.base.recorder.world().errors;
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[tokio::test]
async fn a_look_at_the_rules_that_panicked_is_followed_by_the_next_one() {
    let mut rig = Rig::fresh().await;
    assert!(rig.daemon.agents.rules_watch.begin_look().is_some());
    let work = WorkBeside::RulesLook;
    rig.daemon.base.beside(work, |_| panic!("a test's"));
    rig.settle().await;
    assert!(rig.daemon.agents.rules_watch.begin_look().is_some());
}

impl Speaker {
    /// Claude writes what its model got from our hook with these.
    fn got(&self, ids: &[EntryId]) {
        let heads = ids
            .iter()
            .map(|id| format!("[ctxrelay message {id} from peer Codex; just now]"));
        let line = json!({"type": "attachment", "attachment": {"type": "hook_additional_context",
            "content": heads.collect::<Vec<_>>()}});
        append(&self.transcript, &format!("{line}\n"));
    }

    /// Claude writes that another hook blocked its last prompt.
    fn is_blocked(&self) {
        self.is_blocked_after(0);
    }

    /// The same, when so much time has passed in the rig.
    fn is_blocked_after(&self, passed_ms: i64) {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(passed_ms);
        let blocked = json!({"type": "system", "subtype": "informational", "timestamp": at.to_string(),
            "promptSubmitEnding": {"ending": {"kind": "blocked_by_hook"}, "promptKept": false}});
        append(&self.transcript, &format!("{blocked}\n"));
    }

    /// A prompt, into which our hook hands these.
    async fn prompt_with(&mut self, ids: &[EntryId]) {
        // What was just pushed is not carried by a hook as well.
        for _ in 0..2 {
            self.rig.later(3_000).await;
        }
        let transcript = self.transcript.to_str().unwrap().to_owned();
        let params = HookParams {
            event: "UserPromptSubmit".into(),
            claude_pid: Some(std::process::id()),
            transcript: Some(transcript),
            ..HookParams::default()
        };
        let asked = self.rig.call(&self.hooks, Command::Hook(params)).await;
        let Ok(Reply::Hook(given)) = asked else {
            panic!("{asked:?}");
        };
        assert_eq!(given.ids, ids);
        if !ids.is_empty() {
            let handed = handed(ids.to_vec());
            self.rig.call(&self.hooks, handed).await.unwrap();
        }
        self.rig.settle().await;
    }

    /// The turn ends without having read this, and the next one, which is given it, has.
    async fn ends_without(&mut self, lost: &EntryId) {
        let lost = std::slice::from_ref(lost);
        self.hook("Stop", Some("Done.")).await;
        assert_eq!(self.unsettled(), lost);
        self.prompt_with(lost).await;
        self.hook("Stop", Some("Done.")).await;
        assert_eq!(self.unsettled(), []);
    }

    fn unsettled(&self) -> Vec<EntryId> {
        let unsettled = &self.rig.daemon.base.recorder.world().unsettled;
        unsettled.keys().cloned().collect()
    }
}

#[tokio::test]
async fn what_came_with_a_prompt_that_another_hook_blocked_is_given_once_more() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    let codex = claude.rig.connect(Role::Codex, None, false);
    let stopped = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&stopped)).await;
    claude.got(std::slice::from_ref(&stopped));
    // The human stops that turn with Esc, of which nobody is told.
    let lost = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&lost)).await;
    claude.is_blocked();
    claude.prompt_with(&[]).await;
    let is_given = |claude: &Speaker, id: &EntryId| {
        let row = claude.rig.daemon.deliveries.outbox.get(id).cloned();
        let row = row.unwrap();
        assert!(row.is_repeat());
        row.state == DeliveryState::Confirmed
    };
    assert!(!is_given(&claude, &lost), "it goes out again");
    assert!(is_given(&claude, &stopped), "the model has it");
    claude.writes("Done.");
    claude.hook("Stop", Some("Done.")).await;
    assert!(!claude.unsettled().contains(&stopped), "it was read");
    assert!(claude.unsettled().contains(&lost), "it was not");
    claude.prompt_with(std::slice::from_ref(&lost)).await;
    claude.hook("Stop", Some("Done.")).await;
    assert_eq!(claude.unsettled(), []);
}

#[tokio::test]
async fn what_came_with_a_prompt_that_was_blocked_in_the_middle_of_a_turn_is_not_read_by_its_end() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    let codex = claude.rig.connect(Role::Codex, None, false);
    let read = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&read)).await;
    claude.got(std::slice::from_ref(&read));
    let lost = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&lost)).await;
    claude.is_blocked();
    claude.writes("Done.");
    claude.ends_without(&lost).await;
}

#[tokio::test]
async fn a_reading_that_panicked_leaves_what_the_turn_had_to_the_one_behind_it() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    let codex = claude.rig.connect(Role::Codex, None, false);
    let read = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&read)).await;
    claude.got(std::slice::from_ref(&read));
    let lost = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&lost)).await;
    claude.is_blocked();
    claude.writes("Done.");
    let ended = Some(RuntimeSession::default());
    order_panic(WorkBeside::SpokenWords { ended });
    // A stop that another hook does not let be the last.
    let _answer = claude.hook_ahead("Stop", Some("Done."));
    claude.ends_without(&lost).await;
}

#[tokio::test]
async fn readings_that_panicked_leave_nothing_without_its_end() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    let codex = claude.rig.connect(Role::Codex, None, false);
    let read = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&read)).await;
    let ended = Some(RuntimeSession::default());
    order_panic(WorkBeside::SpokenWords { ended });
    claude.hook("Stop", Some("Done.")).await;
    assert_eq!(claude.unsettled(), []);
}

#[tokio::test]
async fn what_came_with_a_blocked_prompt_is_not_read_by_a_turn_that_another_daemon_sees() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    let codex = claude.rig.connect(Role::Codex, None, false);
    let lost = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&lost)).await;
    claude.is_blocked_after(6_000);
    drop((claude, codex));
    let mut claude = Speaker::start(&place).await;
    claude.rig.later(6_000).await;
    claude.hook("UserPromptSubmit", None).await;
    claude.ends_without(&lost).await;
}

#[tokio::test]
async fn a_hook_that_blocks_each_prompt_has_a_message_given_twice_and_then_left_to_the_operator() {
    let place = Place::new();
    let mut claude = Speaker::start(&place).await;
    let codex = claude.rig.connect(Role::Codex, None, false);
    let first = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    claude.prompt_with(std::slice::from_ref(&first)).await;
    claude.is_blocked();
    let second = claude.rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    // What was blocked is known only when the next prompt has got what waits.
    let one = std::slice::from_ref::<EntryId>;
    for given in [one(&second), one(&first), one(&second), &[], &[]] {
        claude.prompt_with(given).await;
        claude.is_blocked();
    }
    claude.hook("Stop", None).await;
    let left = |id: &EntryId| {
        let row = claude.rig.daemon.deliveries.outbox.get(id).unwrap();
        row.state == DeliveryState::Confirmed && row.lost_turn
    };
    assert!(left(&first) && left(&second));
}
