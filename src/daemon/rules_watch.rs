//! [`RulesWatch`]: which rules of the project each agent was told, and when they are looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::core::agent::Agent;
use crate::core::entry::ChangedRules;
use crate::core::instructions::{FileName, RuleTexts};

/// Between two looks, while an agent is here.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Files that Claude says it read; more than a project has.
const SAID_MAX: usize = 256;

/// What each agent was told.
#[derive(Debug, Default)]
pub(super) struct RulesWatch {
    told: BTreeMap<Agent, Arc<RuleTexts>>,
    /// What differed, by the record, for agents whose beginning this daemon did not see: it differs
    /// still.
    of_before: BTreeMap<Agent, Vec<ChangedRules>>,
    /// What Codex read when its conversation began: it reads no file again, not even after a
    /// compaction (0.169.0, observed).
    codex_began: Option<Arc<RuleTexts>>,
    /// Which files each says that it read for its conversation.
    said: BTreeMap<Agent, BTreeSet<FileName>>,
    /// Claude begins anew: what it says from here on takes the place of what it said before.
    claude_begins: bool,
    last: Option<Instant>,
    under_way: bool,
}

impl RulesWatch {
    /// An agent begins or was compacted, and has these now; `begins`: another conversation.
    pub(super) fn is_told(&mut self, agent: Agent, texts: &Arc<RuleTexts>, begins: bool) {
        self.told.insert(agent, Arc::clone(texts));
        self.of_before.remove(&agent);
        self.last.get_or_insert_with(Instant::now);
        if agent == Agent::Codex && (begins || self.codex_began.is_none()) {
            self.codex_began = Some(Arc::clone(texts));
        }
    }

    /// As [`Self::is_told`], but for what the record says of before: of an agent that was here before
    /// this daemon was, or that was not given all.
    pub(super) fn has(
        &mut self,
        agent: Agent,
        texts: &Arc<RuleTexts>,
        of_before: Vec<ChangedRules>,
        begins: bool,
    ) {
        self.is_told(agent, texts, begins);
        self.of_before.insert(agent, of_before);
    }

    /// What differed before this daemon was, and was not told since.
    pub(super) fn of_before(&self, agent: Agent) -> &[ChangedRules] {
        self.of_before.get(&agent).map_or(&[], Vec::as_slice)
    }

    /// What Codex read by itself, when that is known.
    pub(super) fn codex_began(&self) -> Option<Arc<RuleTexts>> {
        self.codex_began.clone()
    }

    /// Codex says which files it read for its conversation.
    pub(super) fn codex_says(&mut self, read: BTreeSet<FileName>) {
        self.said.insert(Agent::Codex, read);
    }

    /// Another Codex, which has not said anything yet.
    pub(super) fn codex_says_nothing(&mut self) {
        self.said.remove(&Agent::Codex);
    }

    /// A conversation of Claude's begins, or goes on after a compaction: it reads its files again.
    pub(super) fn claude_begins(&mut self) {
        self.claude_begins = true;
    }

    /// Claude says that it read a file, of the project or another one: it may read none of the project's.
    pub(super) fn claude_says(&mut self, file: Option<FileName>) {
        let said = self.said.entry(Agent::Claude).or_default();
        if std::mem::take(&mut self.claude_begins) {
            said.clear();
        }
        if let Some(file) = file
            && said.len() < SAID_MAX
        {
            said.insert(file);
        }
    }

    /// The files of the project that an agent says it read by itself; none where it says nothing.
    pub(super) fn said_by(&self, agent: Agent) -> Option<&BTreeSet<FileName>> {
        self.said.get(&agent)
    }

    /// When they are looked at again; none where nobody was told anything yet.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let last = self.last?;
        (!self.under_way).then(|| last + LOOK_EVERY)
    }

    /// What each agent was told, for a look that begins now; none while one goes on.
    pub(super) fn begin_look(&mut self) -> Option<BTreeMap<Agent, Arc<RuleTexts>>> {
        if self.under_way {
            return None;
        }
        self.under_way = true;
        self.last = Some(Instant::now());
        Some(self.told.clone())
    }

    /// It is over.
    pub(super) fn looked(&mut self) {
        self.under_way = false;
    }

    /// What an agent was told.
    pub(super) fn told(&self, agent: Agent) -> Option<&Arc<RuleTexts>> {
        self.told.get(&agent)
    }
}
