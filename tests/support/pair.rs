//! `Pair`: everything for a scenario with both real agents on one project: the slot, the scripted
//! services, the private homes, and the program configured to find them all.

use serde_json::Value;

use super::agents::{self, Slot};
use super::child::run;
use super::claude_home::ClaudeHome;
use super::codex_home::CodexHome;
use super::daemon::{Daemon, Live};
use super::launch::Launch;
use super::messages_server::MessagesServer;
use super::model_request::ModelRequest;
use super::project::Project;
use super::pty::Pty;
use super::responses_server::ResponsesServer;
use super::script::Reply;
use super::wait::{timeout, wait_asking};

/// Both agents around one project. Terminals are made from it and end before it.
#[derive(Debug)]
pub struct Pair {
    pub claude_home: ClaudeHome,
    pub codex_home: CodexHome,
    /// Claude's model.
    pub messages: MessagesServer,
    /// Codex's model.
    pub responses: ResponsesServer,
    pub project: Project,
    slot: Slot,
}

impl Pair {
    /// `None` when the tests with real agents are turned off.
    #[must_use]
    pub fn new() -> Option<Self> {
        let slot = agents::slot()?;
        let project = Project::new();
        let (responses, messages) = (ResponsesServer::start(), MessagesServer::start());
        Some(Self {
            claude_home: ClaudeHome::new(&messages, &project),
            codex_home: CodexHome::new(&responses, &project),
            messages,
            responses,
            project,
            slot,
        })
    }

    /// As [`Self::new`], with a daemon that the test does nothing with.
    #[must_use]
    #[track_caller]
    pub fn live() -> Option<Live<Self>> {
        Some(Live::new(Self::new()?, Self::daemon))
    }

    /// `ctxrelay` with the real agents and their private homes in its environment.
    pub fn ctxrelay<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Launch {
        self.project
            .ctxrelay_with_agents(args)
            .envs(self.codex_home.env())
            .envs(self.claude_home.env())
    }

    /// The agents may answer each other for ever: in this test no person lets them go on.
    pub fn without_person(&self) {
        let config = serde_json::json!({"relay": {"loopTurns": 0}}).to_string();
        self.project.write(".contextrelay/config.json", &config);
    }

    /// The project's daemon, and with it Codex's app-server.
    #[track_caller]
    pub fn daemon(&self) -> Daemon {
        Daemon::start(&self.ctxrelay(["daemon"]))
    }

    /// Lets another test have real agents at work while those of this one only wait for the clock.
    pub fn at_rest<T>(&self, rest: impl FnOnce() -> T) -> T {
        self.slot.lend(rest)
    }

    /// What `ctxrelay status --json` says.
    #[track_caller]
    pub fn status(&self) -> Value {
        run(&self.ctxrelay(["status", "--json"]))
            .expect_success()
            .json()
    }

    /// Waits until the status is as `wanted`. The daemon itself is asked while it answers: a command
    /// for each look would take its time from the agents.
    #[track_caller]
    pub fn wait_status(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        wait_asking(what, timeout(), || {
            let now = self.project.status_of_daemon();
            let now = now.unwrap_or_else(|| self.status());
            wanted(&now).then_some(now)
        })
    }

    /// Claude's model answers one request that `condition` likes with a call of this tool.
    pub fn claude_calls(
        &self,
        condition: impl Fn(&ModelRequest) -> bool + Send + 'static,
        tool: &str,
        arguments: Value,
    ) {
        let call = Reply::mcp("contextrelay", tool, arguments);
        self.messages.when(condition).once().reply(call);
    }

    /// As [`Self::claude_calls`], Codex's model.
    pub fn codex_calls(
        &self,
        condition: impl Fn(&ModelRequest) -> bool + Send + 'static,
        tool: &str,
        arguments: Value,
    ) {
        let call = Reply::mcp("ctxrelay", tool, arguments);
        self.responses.when(condition).once().reply(call);
    }

    /// `ctxrelay claude` in a terminal.
    #[track_caller]
    pub fn claude(&self) -> Pty {
        Pty::spawn(&self.ctxrelay(["claude"])).labelled("claude")
    }

    /// `ctxrelay codex` in a terminal.
    #[track_caller]
    pub fn codex(&self) -> Pty {
        Pty::spawn(&self.ctxrelay(["codex"])).labelled("codex")
    }

    /// The deck in a terminal.
    #[track_caller]
    pub fn deck(&self) -> Pty {
        Pty::spawn(&self.ctxrelay([])).labelled("deck")
    }
}
