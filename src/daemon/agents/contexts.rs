//! [`Contexts`]: how full the agents' contexts are.
//!
//! Held in memory only: none of it is in the record, and after a restart it returns with the
//! agents' next figures.

use std::path::{Path, PathBuf};

use crate::core::agent::Agent;
use crate::core::context_fill::ContextFill;
use crate::core::context_meter::{ContextMeter, ContextReading};

/// What is known of the agents' contexts.
#[derive(Debug)]
pub(in crate::daemon) struct Contexts {
    claude: Metered,
    codex: Metered,
    /// From how full a context on the operator is told, in percent; 0: never.
    warn_percent: u64,
    /// Looks at a transcript that go on.
    looks: usize,
}

/// One agent's.
#[derive(Debug)]
struct Metered {
    /// A thread's id, or the path of a transcript.
    conversation: Option<String>,
    meter: ContextMeter,
    /// What it held when the compaction began that is not recorded yet, in tokens.
    before: Option<u64>,
    nearly_full_since: Option<i64>,
}

impl Metered {
    fn new(agent: Agent) -> Self {
        Self {
            conversation: None,
            meter: ContextMeter::new(agent),
            before: None,
            nearly_full_since: None,
        }
    }

    /// What is known of it may have changed.
    fn look(&mut self, warn_percent: u64, now_ms: i64) {
        let percent = self.meter.fill().percent;
        if warn_percent > 0 && percent.is_some_and(|percent| percent >= warn_percent) {
            self.nearly_full_since.get_or_insert(now_ms);
        } else {
            self.nearly_full_since = None;
        }
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Self {
            claude: Metered::new(Agent::Claude),
            codex: Metered::new(Agent::Codex),
            warn_percent: 0,
            looks: 0,
        }
    }
}

impl Contexts {
    /// The agent is in this conversation: what is known of another one does not count for it.
    pub(in crate::daemon) fn converses(&mut self, agent: Agent, conversation: &str) {
        let metered = self.of(agent);
        if metered.conversation.as_deref() != Some(conversation) {
            metered.conversation = Some(conversation.to_owned());
            metered.meter.began_anew();
            metered.before = None;
            metered.nearly_full_since = None;
        }
    }

    /// Takes a figure. Returns whether that is new.
    pub(in crate::daemon) fn read(&mut self, agent: Agent, reading: ContextReading) -> bool {
        let (warn_percent, at_ms) = (self.warn_percent, reading.at_ms);
        let metered = self.of(agent);
        let is_new = metered.meter.read(reading);
        metered.look(warn_percent, at_ms);
        is_new
    }

    /// What fits into it, in tokens, by the vendor's status line. Returns whether that is new.
    pub(in crate::daemon) fn window_told(
        &mut self,
        agent: Agent,
        window: u64,
        now_ms: i64,
    ) -> bool {
        let warn_percent = self.warn_percent;
        let metered = self.of(agent);
        let is_new = metered.meter.window_told(window);
        metered.look(warn_percent, now_ms);
        is_new
    }

    /// Takes from how full a context on the operator is told.
    pub(in crate::daemon) fn warn_from(&mut self, percent: u64, now_ms: i64) {
        self.warn_percent = percent;
        self.claude.look(percent, now_ms);
        self.codex.look(percent, now_ms);
    }

    /// A turn begins.
    pub(in crate::daemon) fn turn_began(&mut self, agent: Agent) {
        self.of(agent).meter.turn_began();
    }

    /// A turn is over.
    pub(in crate::daemon) fn turn_ended(&mut self, agent: Agent) {
        self.of(agent).meter.turn_ended();
    }

    pub(in crate::daemon) fn compaction_begins(&mut self, agent: Agent) {
        let metered = self.of(agent);
        metered.before = metered.meter.used();
    }

    /// What the context held when the compaction began that is recorded now, in tokens.
    pub(in crate::daemon) fn take_before(&mut self, agent: Agent) -> Option<u64> {
        self.of(agent).before.take()
    }

    /// The context was compacted, and holds so many tokens since, where that is known.
    pub(in crate::daemon) fn compacted(&mut self, agent: Agent, left: Option<u64>, now_ms: i64) {
        let warn_percent = self.warn_percent;
        let metered = self.of(agent);
        metered.meter.compacted(left);
        metered.look(warn_percent, now_ms);
    }

    /// Tokens in the context.
    pub(in crate::daemon) fn used(&self, agent: Agent) -> Option<u64> {
        self.get(agent).meter.used()
    }

    /// What is known of an agent's context.
    pub(in crate::daemon) fn fill(&self, agent: Agent) -> ContextFill {
        let metered = self.get(agent);
        ContextFill {
            nearly_full_since: metered.nearly_full_since,
            ..metered.meter.fill()
        }
    }

    /// The transcript of the conversation that Claude is in.
    pub(in crate::daemon) fn transcript(&self) -> Option<PathBuf> {
        self.claude.conversation.as_ref().map(PathBuf::from)
    }

    pub(in crate::daemon) fn is_transcript(&self, path: &Path) -> bool {
        self.transcript().as_deref() == Some(path)
    }

    /// A look at the transcript is to begin; `anyway`: also while others go on. Returns whether it
    /// may.
    pub(in crate::daemon) fn may_look(&mut self, anyway: bool) -> bool {
        let most = if anyway { LOOKS_MAX } else { 1 };
        let may = self.looks < most;
        self.looks += usize::from(may);
        may
    }

    /// A look at the transcript is over.
    pub(in crate::daemon) fn looked(&mut self) {
        self.looks = self.looks.saturating_sub(1);
    }

    fn get(&self, agent: Agent) -> &Metered {
        match agent {
            Agent::Claude => &self.claude,
            Agent::Codex => &self.codex,
        }
    }

    fn of(&mut self, agent: Agent) -> &mut Metered {
        match agent {
            Agent::Claude => &mut self.claude,
            Agent::Codex => &mut self.codex,
        }
    }
}

/// Looks at a transcript that go on at once. A turn's end begins one that lasts two seconds.
const LOOKS_MAX: usize = 4;
