//! What the agents run, as the status says it.

use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::AgentState;
use crate::core::entry::TurnStatus;
use crate::core::id::{ThreadId, TurnId};
use crate::core::live_turn::{LiveAct, PlanStep, StepState};
use crate::wire::control::{Command, HookParams, Reply, Role, ToolBeginsParams};
use crate::wire::status::{ClaudeStatus, ToolSort};

fn begins(rig: &mut Rig, id: &str, command: &str) {
    begins_as(rig, id, LiveAct::Ran, command);
}

fn begins_as(rig: &mut Rig, id: &str, act: LiveAct, text: &str) {
    rig.fact(CodexFact::ToolBegan {
        item_id: id.to_owned(),
        act,
        text: text.to_owned(),
    });
}

fn ends(rig: &mut Rig, id: &str) {
    let item_id = id.to_owned();
    rig.fact(CodexFact::ToolEnded { item_id });
}

fn shown(rig: &Rig) -> Option<String> {
    let command = rig.daemon.status().agents.codex.command;
    command.map(|command| command.text)
}

#[tokio::test]
async fn the_command_that_began_last_is_shown_until_it_or_its_turn_ends() {
    let mut rig = Rig::fresh_with_codex().await;
    let entries = rig.daemon.status().ledger.entries;
    begins(&mut rig, "1", "cargo test");
    begins(&mut rig, "2", "cargo clippy");
    assert_eq!(shown(&rig).as_deref(), Some("cargo clippy"));
    ends(&mut rig, "2");
    assert_eq!(shown(&rig).as_deref(), Some("cargo test"));
    ends(&mut rig, "never begun");
    assert_eq!(shown(&rig).as_deref(), Some("cargo test"));
    assert_eq!(rig.daemon.status().ledger.entries, entries);
    rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("T"),
        turn_id: TurnId::new("U1"),
        status: TurnStatus::Completed,
        final_answer: None,
        client_ids: Vec::new(),
        error: None,
        usage_limited: false,
        died: false,
    });
    assert_eq!(shown(&rig), None);
}

#[tokio::test]
async fn a_command_is_shown_without_its_secrets_and_no_longer_than_a_line() {
    let mut rig = Rig::fresh_with_codex().await;
    let secret = format!("ghp_{}", "a1B2c3D4".repeat(5).split_at(36).0);
    begins(
        &mut rig,
        "1",
        &format!("curl -H 'Authorization: token {secret}' x"),
    );
    let told = shown(&rig).unwrap_or_default();
    assert!(told.starts_with("curl -H"), "{told}");
    assert!(!told.contains(&secret), "{told}");
    begins(&mut rig, "2", &"é".repeat(5_000));
    let told = shown(&rig).unwrap_or_default();
    assert_eq!((told.chars().count(), told.ends_with('…')), (201, true));
    for n in 0..100 {
        begins(&mut rig, &n.to_string(), "true");
    }
    for n in 0..100 {
        ends(&mut rig, &n.to_string());
    }
    assert_eq!(shown(&rig), None, "no more than a few are kept");
}

#[tokio::test]
async fn a_persons_deck_reads_what_the_turn_did_without_secrets_and_no_agent_does() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("T"),
        turn_id: TurnId::new("U1"),
    });
    let secret = format!("ghp_{}", "a1B2c3D4".repeat(5).split_at(36).0);
    begins(&mut rig, "1", "cargo test");
    rig.fact(CodexFact::TurnDid {
        act: LiveAct::Said,
        text: format!("the token is {secret}"),
    });
    rig.fact(CodexFact::TurnPlanned {
        steps: vec![PlanStep {
            text: format!("use {secret}"),
            state: StepState::Active,
        }],
    });
    let deck = rig.connect(Role::Deck, None, false);
    let Reply::Turn(turn) = rig.call(&deck, Command::ReadTurn).await.unwrap() else {
        panic!("no turn");
    };
    let lines: Vec<&str> = turn.lines().map(|line| line.text.as_str()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], "cargo test");
    assert!(turn.is_running());
    let told = format!("{turn:?}");
    assert!(!told.contains(&secret), "{told}");
    assert!(told.contains("the token is"), "{told}");
    for role in [Role::Claude, Role::Codex, Role::Hook] {
        assert!(!Command::ReadTurn.may_come_from(role), "{role:?}");
    }
}

#[tokio::test]
async fn calls_and_changes_of_codex_are_shown_as_what_it_does_and_not_as_a_command() {
    let mut rig = Rig::fresh_with_codex().await;
    let tool = |rig: &Rig| {
        let tool = rig.daemon.status().agents.codex.tool;
        tool.map(|tool| (tool.sort, tool.text))
    };
    begins(&mut rig, "1", "cargo test\ncargo clippy");
    let test = Some((ToolSort::Command, "cargo test".to_owned()));
    assert_eq!(tool(&rig), test);
    begins_as(&mut rig, "2", LiveAct::Called, "ctxrelay.append_note");
    let note = (ToolSort::Call, "ctxrelay.append_note".to_owned());
    assert_eq!(tool(&rig), Some(note));
    begins_as(&mut rig, "3", LiveAct::Changed, "change src/a.rs");
    let change = (ToolSort::Change, "change src/a.rs".to_owned());
    assert_eq!(tool(&rig), Some(change));
    assert_eq!(shown(&rig).as_deref(), Some("cargo test"));
    ends(&mut rig, "3");
    ends(&mut rig, "2");
    assert_eq!(tool(&rig), test);
    ends(&mut rig, "1");
    assert_eq!(tool(&rig), None);
    // What has no id never ends.
    begins_as(&mut rig, "", LiveAct::Called, "ctxrelay.append_note");
    assert_eq!(tool(&rig), None);
}

/// A Claude with its hooks.
struct ClaudeRig {
    rig: Rig,
    hooks: Guest,
    _bridge: Guest,
}

impl ClaudeRig {
    async fn new(mut rig: Rig) -> Self {
        let bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
        let hooks = rig.connect(Role::Hook, None, false);
        rig.settle().await;
        Self {
            rig,
            hooks,
            _bridge: bridge,
        }
    }

    async fn hook(&mut self, params: HookParams) {
        let params = HookParams {
            claude_pid: Some(CLAUDE),
            ..params
        };
        let asked = self.rig.call(&self.hooks, Command::Hook(params));
        asked.await.unwrap();
        self.rig.settle().await;
    }

    async fn event(&mut self, event: &str) {
        let event = event.into();
        self.hook(HookParams {
            event,
            ..HookParams::default()
        })
        .await;
    }

    async fn prompt(&mut self, prompt: Option<&str>) {
        self.hook(HookParams {
            event: "UserPromptSubmit".into(),
            from_monitor: prompt.is_none(),
            prompt: prompt.map(str::to_owned),
            ..HookParams::default()
        })
        .await;
    }

    async fn begins(&mut self, params: ToolBeginsParams) {
        let asked = self.rig.call(&self.hooks, Command::ToolBegins(params));
        asked.await.unwrap();
    }

    async fn runs(&mut self, id: &str, tool: &str, command: Option<&str>, path: Option<&str>) {
        self.begins(ToolBeginsParams {
            claude_pid: Some(CLAUDE),
            is_judged: true,
            tool_use_id: id.to_owned(),
            tool: tool.to_owned(),
            command: command.map(str::to_owned),
            path: path.map(str::to_owned),
        })
        .await;
    }

    async fn ended(&mut self, event: &str, id: &str) {
        self.hook(HookParams {
            event: event.into(),
            tool_use_id: Some(id.to_owned()),
            ..HookParams::default()
        })
        .await;
    }

    fn claude(&self) -> ClaudeStatus {
        self.rig.daemon.status().agents.claude
    }

    fn tool(&self) -> Option<(ToolSort, String)> {
        self.claude().tool.map(|tool| (tool.sort, tool.text))
    }
}

const CLAUDE: u32 = 7_000_000;

#[tokio::test]
async fn what_claude_runs_is_shown_from_its_hook_before_it_until_it_ended_well_or_not() {
    let mut claude = ClaudeRig::new(Rig::fresh().await).await;
    let root = claude.rig.daemon.base.dirs.root.join("src/a.rs");
    claude.prompt(Some("\n  make it fast\nand small")).await;
    assert_eq!(claude.claude().turn_text.as_deref(), Some("make it fast"));
    claude
        .runs("t1", "Bash", Some("cargo test\ncargo doc"), None)
        .await;
    let test = Some((ToolSort::Command, "cargo test".to_owned()));
    assert_eq!(claude.tool(), test);
    claude.runs("t2", "Edit", None, root.to_str()).await;
    let edit = (ToolSort::Change, "Edit src/a.rs".to_owned());
    assert_eq!(claude.tool(), Some(edit));
    claude.ended("PostToolUse", "t2").await;
    assert_eq!(claude.tool(), test);
    claude.ended("PostToolUseFailure", "t1").await;
    assert_eq!(claude.tool(), None, "a tool that failed runs no more");
    assert_eq!(claude.claude().state, AgentState::Busy);
    let ours = "mcp__plugin_contextrelay_contextrelay__append_note";
    for (tool, shown) in [
        (ours, "ctxrelay.append_note"),
        ("mcp__other__look", "other.look"),
        ("Grep", "Grep"),
    ] {
        claude.runs("t3", tool, None, None).await;
        assert_eq!(claude.tool(), Some((ToolSort::Call, shown.to_owned())));
    }
    // A message that comes while it works changes nothing of what its person said.
    claude.prompt(None).await;
    assert_eq!(claude.tool(), None);
    assert_eq!(claude.claude().turn_text.as_deref(), Some("make it fast"));
}

#[tokio::test]
async fn nothing_is_shown_of_a_turn_of_claudes_that_ended() {
    let mut claude = ClaudeRig::new(Rig::fresh().await).await;
    for end in ["Stop", "StopFailure", "SessionEnd", "SessionStart"] {
        claude.prompt(Some("make it fast")).await;
        claude.runs("t1", "Bash", Some("cargo test"), None).await;
        assert!(claude.tool().is_some(), "{end}");
        claude.event(end).await;
        assert_eq!(claude.tool(), None, "{end}");
        assert_eq!(claude.claude().turn_text, None, "{end}");
    }
    // One that was stopped says nothing of it: the next prompt ends what it ran.
    claude.prompt(Some("make it fast")).await;
    claude.runs("t1", "Bash", Some("cargo test"), None).await;
    claude.prompt(Some("and now small")).await;
    assert_eq!(claude.tool(), None);
    assert_eq!(claude.claude().turn_text.as_deref(), Some("and now small"));
    // A message woke it.
    claude.event("Stop").await;
    claude.prompt(None).await;
    assert_eq!(claude.claude().turn_text, None);
}

#[tokio::test]
async fn what_is_shown_of_claudes_turn_has_no_secret_and_is_in_no_record() {
    let mut claude = ClaudeRig::new(Rig::fresh().await).await;
    let secret = format!("ghp_{}", "a1B2c3D4".repeat(5).split_at(36).0);
    let said = format!("plum {secret} \u{1b}[2J\u{202e}pear");
    claude.prompt(Some(&said)).await;
    claude.runs("t1", "Bash", Some(&said), None).await;
    let shown = claude.tool().unwrap().1;
    for shown in [&shown, claude.claude().turn_text.as_ref().unwrap()] {
        assert!(shown.starts_with("plum "), "{shown}");
        assert!(!shown.contains(&secret), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    }
    claude
        .runs("t2", "Bash", Some(&"é".repeat(2_000)), None)
        .await;
    assert_eq!(claude.tool().unwrap().1.chars().count(), 201);
    claude.event("Stop").await;
    let recent = claude.rig.daemon.base.recorder.recent().iter();
    let lines: Vec<&str> = recent.map(|stored| &*stored.line).collect();
    assert!(!lines.join("\n").contains("plum"), "{lines:#?}");
}

#[tokio::test]
async fn a_claude_that_gets_no_messages_is_not_shown_as_the_one_that_does() {
    let mut claude = ClaudeRig::new(Rig::fresh().await).await;
    claude.prompt(Some("make it fast")).await;
    let other = ToolBeginsParams {
        claude_pid: Some(CLAUDE + 1),
        tool_use_id: "t1".to_owned(),
        tool: "Grep".to_owned(),
        ..ToolBeginsParams::default()
    };
    claude.begins(other).await;
    assert_eq!(claude.tool(), None);
}

#[tokio::test]
async fn another_conversation_shows_nothing_of_the_turn_before() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("T"),
        turn_id: TurnId::new("U1"),
    });
    begins(&mut rig, "1", "cargo test");
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("another"),
    });
    let deck = rig.connect(Role::Deck, None, false);
    let Reply::Turn(turn) = rig.call(&deck, Command::ReadTurn).await.unwrap() else {
        panic!("no turn");
    };
    assert!(!turn.is_running(), "{turn:?}");
    assert_eq!(turn.lines().count(), 0, "{turn:?}");
}
