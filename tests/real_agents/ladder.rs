//! How messages reach a real Claude Code: its doorbell, its hooks, and what happens when parts of
//! it die. Channels are off here, as they are for everybody with a key and a service of their own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::child::run;
use crate::support::claude_home;
use crate::support::daemon::Daemon;
use crate::support::mcp::McpClient;
use crate::support::model_request::{hears, says};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::{Gate, Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

/// A Claude in its terminal, and Codex's tools to send with.
pub struct Scene {
    pub codex: McpClient,
    pub claude: Pty,
    _daemon: Daemon,
    pub pair: Pair,
}

impl Scene {
    /// What has no effect is tried by the next way soon. `None` when the tests with real agents are
    /// turned off.
    #[track_caller]
    pub fn new() -> Option<Self> {
        Self::with_idle_seconds(1)
    }

    /// What is told and has no effect is not told again within the time of a test. Claude has
    /// worked before, so that its hooks are known to run and its next request holds only what is
    /// new.
    #[track_caller]
    pub fn that_tells_once() -> Option<Self> {
        let mut scene = Self::with_idle_seconds(3_600)?;
        scene.claude.submit("good morning");
        let messages = &scene.pair.messages;
        messages.wait_for_request("the first prompt", says("good morning"));
        scene.wait_idle();
        Some(scene)
    }

    #[track_caller]
    fn with_idle_seconds(seconds: u64) -> Option<Self> {
        let pair = Pair::new()?;
        let config = json!({"delivery": {"idleSeconds": seconds}});
        run(&pair.ctxrelay(["init", "--instructions", "skip", "--yes"])).expect_success();
        pair.project
            .write(".contextrelay/config.json", &config.to_string());
        let daemon = pair.daemon();
        let mut claude = pair.claude();
        claude.wait_for_text(claude_home::COMPOSER);
        let codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
        let scene = Self {
            codex,
            claude,
            _daemon: daemon,
            pair,
        };
        scene.wait_delivery("bridge and doorbell", |delivery| {
            let why = delivery["why"].as_str().unwrap();
            delivery["rung"] == "doorbell" && !why.contains("bridge died")
        });
        Some(scene)
    }

    pub fn status(&self) -> Value {
        self.pair.status()
    }

    #[track_caller]
    pub fn wait_status(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.pair.wait_status(what, wanted)
    }

    #[track_caller]
    pub fn wait_delivery(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let status = self.wait_status(what, |status| {
            wanted(&status["agents"]["claude"]["delivery"])
        });
        status["agents"]["claude"]["delivery"].clone()
    }

    #[track_caller]
    pub fn wait_idle(&self) {
        self.wait_status("an idle Claude", |status| {
            status["agents"]["claude"]["state"] == "idle"
        });
    }

    /// Codex sends, and is told that it is recorded.
    #[track_caller]
    pub fn send(&mut self, text: &str) -> String {
        let sent = self.codex.tool("send_to_claude", json!({"text": text}));
        sent["message_id"].as_str().unwrap().to_owned()
    }

    /// Waits until the model has it, and the record says so.
    #[track_caller]
    fn wait_heard(&self, id: &str, text: &str) {
        self.pair
            .messages
            .wait_for_request(&format!("{text} at Claude's model"), |request| {
                request.mentions(text)
            });
        wait_until(&format!("the proof of {text}"), timeout(), || {
            self.results(id)
                .contains(&"confirmed".to_owned())
                .then_some(())
        });
    }

    /// What the record says became of a message, in its order.
    pub fn results(&self, id: &str) -> Vec<String> {
        self.pair
            .project
            .ledger_naming(id)
            .iter()
            .filter(|line| line["runtimeEvent"]["messageId"] == id)
            .map(|line| line["runtimeEvent"]["status"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Whether a call of Claude's fetched it: then Claude says itself that it has read it.
    fn was_fetched(&self, id: &str) -> bool {
        self.pair.project.ledger_naming(id).iter().any(|line| {
            line["runtimeEvent"]["messageId"] == id && line["runtimeEvent"]["rung"] == "pull"
        })
    }

    /// Each was shown to the model once, was recorded as proven once, and none waits.
    #[track_caller]
    fn expect_each_once(&self, sent: &[(String, String)]) {
        for (id, text) in sent {
            // The turn that had it came to its end, and nobody had to say that it was read. The
            // status knows of that end before the disk has what follows from it.
            wait_until(&format!("what became of {text}"), timeout(), || {
                (self.results(id).len() >= 2).then_some(())
            });
            assert_eq!(self.results(id), ["confirmed", "acknowledged"], "{text}");
        }
        self.expect_heard_once(sent);
    }

    /// Each was shown to the model once, and none waits.
    #[track_caller]
    fn expect_heard_once(&self, sent: &[(String, String)]) {
        let messages = &self.pair.messages;
        for (_, text) in sent {
            assert_eq!(messages.times_heard(text), 1, "{text}: {}", messages.log());
        }
        for request in messages.steps() {
            for (_, text) in sent {
                assert!(
                    request.count_of(text) <= 1,
                    "{text} is doubled: {request:#?}"
                );
            }
        }
        let queue = &self.status()["queue"]["claude"];
        assert_eq!(queue["pending"], 0, "{queue}");
        assert_eq!(queue["ambiguous"], 0, "{queue}");
        let verified = run(&self.pair.ctxrelay(["ledger", "verify", "--json"])).json();
        assert_eq!(verified["ok"], true, "{verified}");
    }

    /// Kills the one process of this Claude that runs this subcommand of ours.
    #[track_caller]
    pub fn kill(&self, subcommand: &str) {
        kill_below(&self.claude, subcommand);
    }
}

/// The one process of a Claude that runs this subcommand of ours.
#[track_caller]
pub fn below(claude: &Pty, subcommand: &str) -> Pid {
    let pid = wait_until(&format!("Claude's {subcommand}"), timeout(), || {
        descendants(claude.pid())
            .into_iter()
            .find(|pid| runs(*pid, subcommand))
    });
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

/// Kills it.
#[track_caller]
pub fn kill_below(claude: &Pty, subcommand: &str) {
    kill_process(below(claude, subcommand), Signal::KILL).unwrap();
}

/// All processes below one.
fn descendants(of: u32) -> Vec<u32> {
    let mut found = vec![of];
    let mut next = 0;
    while next < found.len() {
        let tasks = PathBuf::from(format!("/proc/{}/task", found[next]));
        next += 1;
        for task in std::fs::read_dir(tasks).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            found.extend(
                children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
    }
    found
}

/// Whether a process is `ctxrelay SUBCOMMAND`, and not a shell around it.
fn runs(pid: u32, subcommand: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    program.ends_with(b"ctxrelay") && words.next() == Some(subcommand.as_bytes())
}

#[test]
fn a_doorbell_wakes_the_one_claude_of_a_pair_that_is_told() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    a_doorbell_wakes_an_idle_claude_before_and_after_clear_and_compact(&mut scene);
    of_two_claudes_of_a_pair_only_the_first_is_told(&mut scene);
}

fn a_doorbell_wakes_an_idle_claude_before_and_after_clear_and_compact(scene: &mut Scene) {
    let mut sent = Vec::new();
    for (number, command) in [None, Some("/clear"), Some("/compact")]
        .into_iter()
        .enumerate()
    {
        if let Some(command) = command {
            let before = scene.pair.project.ledger().len();
            scene.claude.submit(command);
            // What is told before that is told to the conversation that goes.
            match command {
                "/clear" => scene.claude.wait_until_gone("Monitor event"),
                _ => scene.claude.wait_for_text("Compacted"),
            }
            scene.wait_idle();
            assert!(scene.pair.project.ledger().len() >= before);
        }
        let text = format!("the word is plum-{number}");
        let id = scene.send(&text);
        scene.wait_heard(&id, &text);
        scene.wait_idle();
        sent.push((id, text));
    }
    let delivery = scene.wait_delivery("proof", |delivery| delivery["proven"] == true);
    assert_eq!(delivery["rung"], "doorbell", "{delivery}");
    for (id, text) in &sent {
        assert_eq!(scene.results(id)[0], "confirmed", "{text}");
        assert_eq!(scene.pair.messages.times_heard(text), 1, "{text}");
    }
}

fn of_two_claudes_of_a_pair_only_the_first_is_told(scene: &mut Scene) {
    let messages = &scene.pair.messages;
    scene.claude.submit("I am the first");
    let first = messages.wait_for_request("the first", says("I am the first"));
    let mut other = scene.pair.claude();
    other.wait_for_text(claude_home::COMPOSER);
    // Claude waits for no server before its first prompt.
    wait_until("the tools of the second Claude", timeout(), || {
        let prompt = format!("are there tools {}", messages.steps().len());
        other.submit(&prompt);
        let asked = messages.wait_for_request("the second Claude", says(&prompt));
        let has = asked
            .tools
            .iter()
            .any(|tool| tool.ends_with("session_info"));
        has.then_some(())
    });
    messages
        .when(says("look for mail"))
        .once()
        .reply(Reply::mcp("contextrelay", "session_info", json!({})));
    other.submit("look for mail");
    let told = messages.wait_for_request("the second Claude's place", |request| {
        request.tool_text().contains("\"receiver\"")
    });
    assert!(
        told.tool_text().contains("\"receiver\":false"),
        "{}",
        told.tool_text()
    );
    let id = scene.send("the word is pear");
    scene.wait_heard(&id, "the word is pear");
    other.submit("is there anything for me");
    let second = scene
        .pair
        .messages
        .wait_for_request("the second", says("is there anything for me"));
    assert!(!second.mentions("the word is pear"));
    let heard = scene.pair.messages.steps();
    let heard = heard
        .iter()
        .filter(|request| request.mentions("the word is pear"));
    for request in heard {
        assert_eq!(request.conversation, first.conversation);
    }
    drop(other);
    scene.wait_idle();
    scene.expect_each_once(&[(id, "the word is pear".to_owned())]);
}

#[test]
fn with_a_dead_doorbell_and_no_channel_a_message_comes_with_a_tool_call_or_at_a_stop() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    scene.kill("doorbell");
    // Claude spends a turn on its end, and that turn's stop tells us.
    let dead = scene.wait_status("the dead doorbell", |status| {
        status["notices"].to_string().contains("monitor has ended")
    });
    assert_ne!(dead["agents"]["claude"]["delivery"]["rung"], "doorbell");
    scene.wait_idle();
    // The push has no effect, and Claude is idle: it waits for the next prompt.
    let text = json!({"text": "the word is plum-1"});
    let sent = scene.codex.tool("send_to_claude", text);
    let note = sent["note"].as_str().unwrap_or_default();
    assert!(note.contains("monitor has ended"), "{sent}");
    let first = sent["message_id"].as_str().unwrap().to_owned();
    scene.wait_delivery("the end of pushing", |delivery| delivery["rung"] == "hook");

    let (thinking, talking) = (Gate::new("thinking"), Gate::new("talking"));
    scene
        .pair
        .messages
        .when(says("work for a while"))
        .once()
        .reply(
            Reply::held("Working.", &thinking, "").then_call(ToolCall::mcp(
                "contextrelay",
                "append_note",
                json!({"text": "a step"}),
            )),
        );
    scene
        .pair
        .messages
        .when(|request| request.tool_text().contains("entry_id"))
        .once()
        .reply(Reply::held("Nearly", &talking, " done."));
    scene.claude.submit("work for a while");
    thinking.wait_arrived();
    scene.wait_heard(&first, "the word is plum-1");
    // In the middle of a turn: with the result of its next tool call.
    let second = scene.send("the word is plum-2");
    thinking.open();
    talking.wait_arrived();
    scene.wait_heard(&second, "the word is plum-2");
    // After its last tool call: at its stop, which goes on for it.
    let third = scene.send("the word is plum-3");
    talking.open();
    scene.wait_heard(&third, "the word is plum-3");
    scene.wait_idle();
    let sent = [first, second, third]
        .into_iter()
        .zip(1..)
        .map(|(id, number)| (id, format!("the word is plum-{number}")))
        .collect::<Vec<_>>();
    scene.expect_each_once(&sent);
}

/// Longer than a push may take to show that it arrived, also on a slow machine.
const PUSH_OVER: Duration = Duration::from_secs(5);

#[test]
fn with_a_dead_doorbell_what_is_pushed_while_a_prompt_comes_is_told_in_the_turn_of_that_prompt() {
    // Nothing is told twice: what that turn leaves lying lies for ever.
    let Some(mut scene) = Scene::that_tells_once() else {
        return;
    };
    scene.kill("doorbell");
    scene.wait_status("the dead doorbell", |status| {
        status["notices"].to_string().contains("monitor has ended")
    });
    scene.wait_idle();
    let gate = Gate::new("claude answers");
    scene
        .pair
        .messages
        .when(says("work for a while"))
        .once()
        .reply(Reply::held("Working", &gate, " is done."));
    let id = scene.send("the word is plum");
    let sent = Instant::now();
    scene.claude.submit("work for a while");
    gate.wait_arrived();
    wait_until("a push that brought nothing", timeout(), || {
        (sent.elapsed() > PUSH_OVER).then_some(())
    });
    gate.open();
    scene.wait_heard(&id, "the word is plum");
    scene.wait_idle();
    scene.expect_each_once(&[(id, "the word is plum".to_owned())]);
}

#[test]
fn a_bridge_that_is_killed_costs_no_message_and_doubles_none() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let gate = Gate::new("claude answers");
    scene
        .pair
        .messages
        .when(hears("plum-1"))
        .once()
        .reply(Reply::held("I", &gate, " see."));
    // While the model works on a message.
    let first = scene.send("the word is plum-1");
    scene.kill_bridge_when(&gate);
    // Dead, in the middle of a turn: the doorbell joins that turn.
    let second = scene.send("the word is plum-2");
    gate.open();
    scene.wait_heard(&first, "the word is plum-1");
    scene.wait_heard(&second, "the word is plum-2");
    scene.wait_idle();
    // Dead, and Claude idle.
    let text = json!({"text": "the word is plum-3"});
    let sent = scene.codex.tool("send_to_claude", text);
    let note = sent["note"].as_str().unwrap_or_default();
    assert!(note.contains("`/mcp` → Reconnect"), "{sent}");
    let third = sent["message_id"].as_str().unwrap().to_owned();
    scene.wait_heard(&third, "the word is plum-3");
    scene.wait_idle();
    let claude = &scene.status()["agents"]["claude"];
    let delivery = &claude["delivery"];
    for why in [&delivery["why"], &claude["why"]] {
        assert!(why.to_string().contains("`/mcp` → Reconnect"), "{claude}");
    }
    assert_eq!(delivery["proven"], false, "{delivery}");
    let said = run(&scene.pair.ctxrelay(["status"])).expect_success();
    assert!(
        said.stdout.contains("`/mcp` → Reconnect"),
        "{}",
        said.stdout
    );
    let sent = [first, second, third]
        .into_iter()
        .zip(1..)
        .map(|(id, number)| (id, format!("the word is plum-{number}")))
        .collect::<Vec<_>>();
    scene.expect_each_once(&sent);
}

#[test]
fn what_a_claude_had_that_is_killed_in_its_turn_is_cut_off_at_once_and_once() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let gate = Gate::new("claude answers");
    scene
        .pair
        .messages
        .when(hears("plum-1"))
        .once()
        .reply(Reply::held("I", &gate, " see."));
    let id = scene.send("the word is plum-1");
    gate.wait_arrived();
    scene.wait_heard(&id, "the word is plum-1");
    let pid = scene.status()["agents"]["claude"]["pid"].as_i64().unwrap();
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    scene.wait_status("what was cut off", |status| {
        let claude = &status["agents"]["claude"];
        claude["state"] == "offline" && claude["cutOff"] == 1
    });
    gate.open();
    let told = run(&scene.pair.ctxrelay(["status"])).expect_success();
    let said = "1 message whose turn ended early";
    assert!(told.stdout.contains(said), "{}", told.stdout);
    let recovered = run(&scene.pair.ctxrelay(["recover", "--json"])).expect_success();
    let recovered = &recovered.json()["cutOff"];
    assert_eq!(recovered[0]["id"], id.as_str(), "{recovered}");
    let is_listed_once = |scene: &Scene| {
        let listed = run(&scene.pair.ctxrelay(["queue", "list", "--json"])).expect_success();
        let listed = &listed.json()["messages"];
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed[0]["id"], id.as_str(), "{listed}");
        assert_eq!(listed[0]["state"], "cut_off", "{listed}");
    };
    is_listed_once(&scene);
    // The one that comes next changes nothing of it.
    scene.claude = scene.pair.claude();
    scene.claude.wait_for_text(claude_home::COMPOSER);
    scene.wait_status("another Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    is_listed_once(&scene);
    assert_eq!(scene.results(&id), ["confirmed"]);
}

#[test]
fn a_bridge_that_is_killed_in_a_call_costs_no_message_and_doubles_none() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    scene.pair.claude_calls(
        says("wait for Codex"),
        "wait_for_messages",
        json!({"timeout_s": 50}),
    );
    scene.claude.submit("wait for Codex");
    scene
        .pair
        .messages
        .wait_for_request("the prompt", says("wait for Codex"));
    scene.claude.wait_for_text("contextrelay");
    scene.kill("bridge");
    scene.wait_bridge_gone();
    let first = scene.send("the word is plum-1");
    scene.wait_heard(&first, "the word is plum-1");
    scene.wait_idle();
    // The screen names a call before it leaves: one that had not left yet goes on as the next test
    // shows.
    if scene.was_fetched(&first) {
        scene.expect_fetched_once(first, "the word is plum-1");
    } else {
        scene.expect_each_once(&[(first, "the word is plum-1".to_owned())]);
    }
}

#[test]
fn a_call_after_the_bridges_end_starts_it_anew_and_what_it_fetches_comes_once() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let gate = Gate::new("claude answers");
    let arguments = json!({"timeout_s": 50});
    let call = Reply::mcp("contextrelay", "wait_for_messages", arguments);
    scene
        .pair
        .messages
        .when(says("wait for Codex"))
        .once()
        .reply(call.behind(&gate));
    scene.claude.submit("wait for Codex");
    scene.kill_bridge_when(&gate);
    gate.open();
    let first = scene.send("the word is plum-1");
    scene.wait_heard(&first, "the word is plum-1");
    scene.wait_idle();
    assert!(scene.was_fetched(&first), "{:?}", scene.results(&first));
    scene.expect_fetched_once(first, "the word is plum-1");
}

impl Scene {
    /// A call fetched it. Nothing rings for it later, and nobody but Claude says that it was read.
    #[track_caller]
    fn expect_fetched_once(&self, id: String, text: &str) {
        assert_eq!(self.results(&id), ["confirmed"]);
        self.expect_heard_once(&[(id, text.to_owned())]);
    }

    #[track_caller]
    fn kill_bridge_when(&self, gate: &Gate) {
        gate.wait_arrived();
        self.kill("bridge");
        self.wait_bridge_gone();
    }

    #[track_caller]
    fn wait_bridge_gone(&self) {
        self.wait_delivery("the bridge's end", |delivery| {
            delivery["why"].to_string().contains("bridge died")
        });
    }
}
