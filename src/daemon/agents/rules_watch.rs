//! [`RulesWatch`]: which of the project's rules each agent was given (the Claude of each pair
//! separately), and when to check them again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::core::agent::Agent;
use crate::core::entry::ChangedRules;
use crate::core::id::RuntimeSession;
use crate::core::instructions::{FileName, RuleTexts};
use crate::core::snapshot::RUNTIME_SESSIONS_MAX;

/// Between two looks, while an agent is here.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Files that Claude says it read; more than a project has.
const SAID_MAX: usize = 256;

/// Of how many agents something is kept: as many as the record has states.
const KEPT_MAX: usize = 2 * RUNTIME_SESSIONS_MAX;

/// An agent, Claude as that of one pair. Codex has one conversation for all pairs, under the first.
pub(in crate::daemon) type RulesReader = (Agent, RuntimeSession);

/// What each agent was told.
#[derive(Debug, Default)]
pub(in crate::daemon) struct RulesWatch {
    told: BTreeMap<RulesReader, Arc<RuleTexts>>,
    /// What differed, by the record, for agents whose beginning this daemon did not see: it differs
    /// still.
    of_before: BTreeMap<RulesReader, Vec<ChangedRules>>,
    /// What Codex read when its conversation began: it reads no file again, not even after a
    /// compaction (0.169.0, observed).
    codex_began: Option<Arc<RuleTexts>>,
    /// Which files each says that it read for its conversation.
    said: BTreeMap<RulesReader, BTreeSet<FileName>>,
    /// The Claudes that start a conversation: what one says from here on takes the place of what it
    /// said before.
    claude_begins: BTreeSet<RuntimeSession>,
    last: Option<Instant>,
    under_way: bool,
}

/// Whose rules these are, of an agent that is seen from a pair.
pub(in crate::daemon) fn reader(agent: Agent, pair: &RuntimeSession) -> RulesReader {
    match agent {
        Agent::Claude => (agent, pair.clone()),
        Agent::Codex => (agent, RuntimeSession::default()),
    }
}

impl RulesWatch {
    /// An agent begins or was compacted, and has these now; `begins`: another conversation. Of one
    /// pair too many nothing is kept: an agent chooses their names.
    pub(in crate::daemon) fn is_told(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        texts: &Arc<RuleTexts>,
        begins: bool,
    ) {
        let key = reader(agent, pair);
        self.of_before.remove(&key);
        if has_room(&self.told, &key) {
            self.told.insert(key, Arc::clone(texts));
        }
        self.last.get_or_insert_with(Instant::now);
        if agent == Agent::Codex && (begins || self.codex_began.is_none()) {
            self.codex_began = Some(Arc::clone(texts));
        }
    }

    /// As [`Self::is_told`], with what the record says of earlier changes: for an agent that was
    /// here before this daemon, or that was not given all.
    pub(in crate::daemon) fn has(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        texts: &Arc<RuleTexts>,
        of_before: Vec<ChangedRules>,
        begins: bool,
    ) {
        self.is_told(agent, pair, texts, begins);
        let key = reader(agent, pair);
        if has_room(&self.of_before, &key) {
            self.of_before.insert(key, of_before);
        }
    }

    /// What differed before this daemon was, and was not told since.
    pub(in crate::daemon) fn of_before(
        &self,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> &[ChangedRules] {
        let known = self.of_before.get(&reader(agent, pair));
        known.map_or(&[], Vec::as_slice)
    }

    /// What Codex read by itself, when that is known.
    pub(in crate::daemon) fn codex_began(&self) -> Option<Arc<RuleTexts>> {
        self.codex_began.clone()
    }

    /// Codex says which files it read for its conversation.
    pub(in crate::daemon) fn codex_says(&mut self, read: BTreeSet<FileName>) {
        let codex = reader(Agent::Codex, &RuntimeSession::default());
        self.said.insert(codex, read);
    }

    /// Another Codex, which has not said anything yet.
    pub(in crate::daemon) fn codex_says_nothing(&mut self) {
        let codex = reader(Agent::Codex, &RuntimeSession::default());
        self.said.remove(&codex);
    }

    /// A conversation of a pair's Claude begins, or goes on after a compaction: it reads its files
    /// again.
    pub(in crate::daemon) fn claude_begins(&mut self, pair: &RuntimeSession) {
        if self.claude_begins.len() < KEPT_MAX {
            self.claude_begins.insert(pair.clone());
        }
    }

    /// A pair's Claude says that it read a file, of the project or another one: it may read none of the
    /// project's.
    pub(in crate::daemon) fn claude_says(&mut self, pair: &RuntimeSession, file: Option<FileName>) {
        let key = reader(Agent::Claude, pair);
        if !has_room(&self.said, &key) {
            return;
        }
        let said = self.said.entry(key).or_default();
        if self.claude_begins.remove(pair) {
            said.clear();
        }
        if let Some(file) = file
            && said.len() < SAID_MAX
        {
            said.insert(file);
        }
    }

    /// The files of the project that an agent says it read by itself; none where it says nothing.
    pub(in crate::daemon) fn said_by(
        &self,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> Option<&BTreeSet<FileName>> {
        self.said.get(&reader(agent, pair))
    }

    /// The same for the status, which tells of one of each: of the first pair's, else of another one.
    pub(in crate::daemon) fn said_by_one(&self, agent: Agent) -> Option<&BTreeSet<FileName>> {
        let first = self.said_by(agent, &RuntimeSession::default());
        let mut all = self.said.iter();
        first.or_else(|| all.find(|((of, _), _)| *of == agent).map(|(_, said)| said))
    }

    /// When they are looked at again; none where nobody was told anything yet.
    pub(in crate::daemon) fn next_look(&self) -> Option<Instant> {
        let last = self.last?;
        (!self.under_way).then(|| last + LOOK_EVERY)
    }

    /// What each agent was told, for a look that begins now; none while one goes on.
    pub(in crate::daemon) fn begin_look(
        &mut self,
    ) -> Option<BTreeMap<RulesReader, Arc<RuleTexts>>> {
        if self.under_way {
            return None;
        }
        self.under_way = true;
        self.last = Some(Instant::now());
        Some(self.told.clone())
    }

    /// It is over.
    pub(in crate::daemon) fn looked(&mut self) {
        self.under_way = false;
    }

    /// What an agent was told.
    pub(in crate::daemon) fn told(
        &self,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> Option<&Arc<RuleTexts>> {
        self.told.get(&reader(agent, pair))
    }
}

/// Whether there is room for an agent of a pair.
fn has_room<T>(kept: &BTreeMap<RulesReader, T>, key: &RulesReader) -> bool {
    kept.len() < KEPT_MAX || kept.contains_key(key)
}
