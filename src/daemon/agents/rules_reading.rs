//! [`RulesReading`]: the project's rules that an agent does not read by itself.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::adapters::codex::instruction_names::{codex_home, fallback_names};
use crate::adapters::project_rules::ProjectRules;
use crate::core::agent::Agent;
use crate::core::entry::ReloadCause;
use crate::core::id::RuntimeSession;
use crate::core::instructions::{FileName, RuleTexts, SharedRules, read_or_said};
use crate::core::redact::Redactor;
use crate::daemon::agents::reloads::ReloadOrder;
use crate::daemon::owners::{Agents, Base};

/// What decides that, to be read beside the loop.
pub(in crate::daemon) struct RulesReading {
    agent: Agent,
    root: PathBuf,
    redactor: Arc<Redactor>,
    /// The files that it says it read; else the rules of its version count.
    said: Option<BTreeSet<FileName>>,
    /// What they said when its conversation began, of an agent that reads none of them again.
    began: Option<Arc<RuleTexts>>,
    /// It has all but these, of those that it does not read by itself.
    only: Option<BTreeSet<FileName>>,
}

pub(in crate::daemon) struct RulesAsRead {
    /// What it does not have.
    pub(in crate::daemon) shared: SharedRules,
    /// What all files say.
    pub(in crate::daemon) texts: Arc<RuleTexts>,
    /// The files that it has as they are now.
    pub(in crate::daemon) read: BTreeSet<FileName>,
}

impl RulesReading {
    /// In at most so many characters.
    pub(in crate::daemon) fn read(&self, chars_max: usize) -> RulesAsRead {
        let rules = ProjectRules::read(&self.root, &self.redactor);
        // Names that cannot be known are none: a rule twice is better than none.
        let fallbacks = fallback_names(&self.root, codex_home().as_deref()).unwrap_or_default();
        let mut read = read_or_said(self.agent, &rules.files, &fallbacks, self.said.clone());
        let texts = rules.texts();
        if let Some(began) = &self.began {
            read.retain(|file| began.get(file) == texts.get(file));
        }
        if let Some(only) = &self.only {
            read.extend(texts.keys().filter(|file| !only.contains(*file)).cloned());
        }
        RulesAsRead {
            shared: SharedRules::within(chars_max, self.agent, &rules.files, &read),
            texts: Arc::new(texts),
            read,
        }
    }
}

impl Agents {
    /// `goes_on`: with the conversation in which it read its files.
    pub(in crate::daemon) fn rules_reading(
        &self,
        base: &Base,
        agent: Agent,
        pair: &RuntimeSession,
        goes_on: bool,
    ) -> RulesReading {
        let reads_once = agent == Agent::Codex && goes_on;
        RulesReading {
            agent,
            root: base.dirs.root.clone(),
            redactor: Arc::clone(base.recorder.redactor()),
            said: self.rules_watch.said_by(agent, pair).cloned(),
            began: self.rules_watch.codex_began().filter(|_| reads_once),
            only: None,
        }
    }

    /// Those of a packet. A thread of Codex's that is resumed holds what it was given before, so that
    /// only what the record says has changed is new to it; none where nothing has. What it reads by
    /// itself its next request holds as it is then (0.169.0, observed).
    pub(in crate::daemon) fn packet_rules(
        &self,
        base: &Base,
        order: &ReloadOrder,
    ) -> Option<RulesReading> {
        if !base.configuration.shares_rules() {
            return None;
        }
        let reading = self.rules_reading(base, order.agent, &order.pair, !order.begins());
        if order.agent == Agent::Claude || order.cause != ReloadCause::Resumed {
            return Some(reading);
        }
        let changed = base.changed_rules(order.agent, &order.pair);
        let only: BTreeSet<FileName> = changed.map(|changed| changed.file.clone()).collect();
        (!only.is_empty()).then_some(RulesReading {
            only: Some(only),
            ..reading
        })
    }
}
