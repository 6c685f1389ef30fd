//! [`RulesReading`]: which of the project's rules an agent does not read by itself.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::owners::Daemon;
use crate::adapters::codex::instruction_names::{codex_home, fallback_names};
use crate::adapters::project_rules::ProjectRules;
use crate::core::agent::Agent;
use crate::core::instructions::{FileName, RuleTexts, SharedRules, read_or_said};
use crate::core::redact::Redactor;

/// What decides that, to be read beside the loop.
pub(super) struct RulesReading {
    agent: Agent,
    root: PathBuf,
    redactor: Arc<Redactor>,
    /// The files that it says it read; else the rules of its version count.
    said: Option<BTreeSet<FileName>>,
    /// What they said when its conversation began, of an agent that reads none of them again.
    began: Option<Arc<RuleTexts>>,
}

impl RulesReading {
    /// In at most so many characters, and what all of the files say.
    pub(super) fn read(&self, chars_max: usize) -> (SharedRules, Arc<RuleTexts>) {
        let rules = ProjectRules::read(&self.root, &self.redactor);
        // Names that cannot be known are none: a rule twice is better than none.
        let fallbacks = fallback_names(&self.root, codex_home().as_deref()).unwrap_or_default();
        let mut read = read_or_said(self.agent, &rules.files, &fallbacks, self.said.clone());
        let texts = rules.texts();
        if let Some(began) = &self.began {
            read.retain(|file| began.get(file) == texts.get(file));
        }
        let shared = SharedRules::within(chars_max, self.agent, &rules.files, &read);
        (shared, Arc::new(texts))
    }
}

impl Daemon {
    /// `goes_on`: with the conversation in which it read its files.
    pub(super) fn rules_reading(&self, agent: Agent, goes_on: bool) -> RulesReading {
        let reads_once = agent == Agent::Codex && goes_on;
        RulesReading {
            agent,
            root: self.dirs.root.clone(),
            redactor: Arc::clone(self.recorder.redactor()),
            said: self.rules_watch.said_by(agent).cloned(),
            began: self.rules_watch.codex_began().filter(|_| reads_once),
        }
    }
}
