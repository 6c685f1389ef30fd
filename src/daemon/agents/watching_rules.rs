//! Compares the project's rules with those that each agent was given, for as long as it runs: a
//! change is recorded, which also shows it to the person.

use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;

use crate::adapters::project_rules::ProjectRules;
use crate::core::agent::{Agent, Party};
use crate::core::continuity::CHANGED_RULES_MAX;
use crate::core::entry::{ChangedRules, ContinuityFact, RulesChange};
use crate::core::id::RuntimeSession;
use crate::core::instructions::{RuleTexts, RulesDiff, rules_diff};
use crate::daemon::agents::recent_writes::RECENT_MS;
use crate::daemon::agents::rules_watch::{RulesReader, reader};
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{Event, RulesCompared, RulesLooked, ToldRules};
use crate::daemon::owners::{Agents, Base};

impl Agents {
    /// The files that Codex says it loaded. Those of the project's folder count; it may have read more.
    pub(in crate::daemon) fn codex_read(&mut self, base: &Base, paths: &[String]) {
        let read = paths.iter().filter_map(|path| base.in_project(path));
        let read = read.collect();
        self.rules_watch.codex_says(read);
        base.clients.status_changed();
    }

    /// A file that a pair's Claude says it loaded; as with Codex.
    pub(in crate::daemon) fn claude_read(
        &mut self,
        base: &Base,
        pair: &RuntimeSession,
        path: &str,
    ) {
        let file = base.in_project(path);
        self.rules_watch.claude_says(pair, file);
        base.clients.status_changed();
    }

    /// When the rules are to be looked at again.
    pub(in crate::daemon) fn next_look_at_rules(&self, base: &Base) -> Option<Instant> {
        let is_here = !base.agents_here().is_empty();
        self.rules_watch.next_look().filter(|_| is_here)
    }

    pub(in crate::daemon) fn rules_deadline(&mut self, base: &Base) {
        if self
            .next_look_at_rules(base)
            .is_some_and(|due| due <= Instant::now())
        {
            self.look_at_rules(base);
        }
    }

    /// Has the project's rules compared with what the agents were told, beside the loop.
    pub(in crate::daemon) fn look_at_rules(&mut self, base: &Base) {
        let is_of_use = base.configuration.shares_rules() && !base.agents_here().is_empty();
        if !is_of_use || base.operations.is_stopping() {
            return;
        }
        let Some(told) = self.rules_watch.begin_look() else {
            return;
        };
        let root = base.dirs.root.clone();
        let redactor = Arc::clone(base.recorder.redactor());
        base.beside(WorkBeside::RulesLook, move |under_way| {
            let texts = ProjectRules::read(&root, &redactor).texts();
            let differ = told.into_iter().map(|((agent, pair), told)| RulesCompared {
                differ: rules_diff(&told, &texts),
                agent,
                pair,
                told,
            });
            Event::RulesLooked(Box::new(RulesLooked {
                differ: differ.collect(),
                texts: Arc::new(texts),
                under_way,
            }))
        });
    }

    /// They were compared.
    pub(in crate::daemon) fn on_rules_looked(&mut self, base: &mut Base, looked: RulesLooked) {
        let RulesLooked {
            differ,
            texts,
            under_way: _heard,
        } = looked;
        self.rules_watch.looked();
        base.work_done(&WorkBeside::RulesLook);
        for (agent, pair) in base.agents_here() {
            let mut known = differ.iter();
            let known = known.find(|known| known.agent == agent && known.pair == pair);
            let now = self.rules_watch.told(agent, &pair);
            match (known, now) {
                // Its beginning was not seen: from here on.
                (None, None) => {
                    let of_before = base.changed_rules(agent, &pair).cloned().collect();
                    self.rules_watch.has(agent, &pair, &texts, of_before, false);
                }
                (Some(known), Some(now)) if Arc::ptr_eq(&known.told, now) => {
                    self.append_rules(base, agent, &pair, &known.differ);
                }
                // It was told meanwhile.
                _ => {}
            }
        }
    }

    /// The agent has the rules of now: what differed before does not any more, but for files that it
    /// neither reads by itself nor was given.
    pub(in crate::daemon) fn rules_are_told(
        &mut self,
        base: &mut Base,
        agent: Agent,
        pair: &RuntimeSession,
        told: &ToldRules,
        begins: bool,
    ) {
        let Some(read) = &told.read else {
            self.rules_watch.is_told(agent, pair, &told.texts, begins);
            return self.append_rules(base, agent, pair, &[]);
        };
        let before = self.rules_watch.told(agent, pair);
        let mut of_before: Vec<ChangedRules> = match before {
            Some(_) => self.rules_watch.of_before(agent, pair).to_vec(),
            // Its beginning was not seen.
            None => base.changed_rules(agent, pair).cloned().collect(),
        };
        of_before.retain(|changed| !read.contains(&changed.file));
        let mut texts = RuleTexts::clone(before.unwrap_or(&told.texts));
        for file in read.iter() {
            match told.texts.get(file) {
                Some(text) => texts.insert(file.clone(), text.clone()),
                None => texts.remove(file),
            };
        }
        self.rules_watch
            .has(agent, pair, &Arc::new(texts), of_before, begins);
        self.look_at_rules(base);
    }

    fn append_rules(
        &self,
        base: &mut Base,
        agent: Agent,
        pair: &RuntimeSession,
        differ: &[RulesDiff],
    ) {
        let of_before = self.rules_watch.of_before(agent, pair).iter();
        let of_before = of_before
            .filter(|known| !differ.iter().any(|differs| differs.file == known.file))
            .cloned();
        let mut of_before: Vec<ChangedRules> = of_before.collect();
        of_before.truncate(CHANGED_RULES_MAX);
        let differ = &differ[..differ.len().min(CHANGED_RULES_MAX - of_before.len())];
        let kept = of_before.iter().map(|known| (&known.file, &known.lines));
        let now = kept.chain(differ.iter().map(|differs| (&differs.file, &differs.lines)));
        if now.eq(base
            .changed_rules(agent, pair)
            .map(|known| (&known.file, &known.lines)))
        {
            return;
        }
        let since_ms = base.clock.now_ms() - RECENT_MS;
        let wrote = |by: &Agent, file: &str| {
            let mut files = self.recent_writes.since(*by, since_ms);
            files.any(|path| {
                let below = base.in_project(path);
                Path::new(below.as_deref().unwrap_or(path)) == Path::new(file)
            })
        };
        let files = differ.iter().map(|differs| ChangedRules {
            by: Agent::ALL
                .into_iter()
                .filter(|by| wrote(by, &differs.file))
                .collect(),
            file: differs.file.clone(),
            lines: differs.lines.clone(),
        });
        let change = RulesChange {
            files: of_before.into_iter().chain(files).collect(),
        };
        let name = agent.title_in(pair);
        let content = match change.files.as_slice() {
            [] => format!("{name} has the project's rules of now"),
            files => {
                let names: Vec<&str> = files.iter().map(|changed| changed.file.as_str()).collect();
                let names = names.join(", ");
                format!("rules changed while {name} runs: {names}")
            }
        };
        let fact = ContinuityFact::RulesChanged(change).of(agent);
        let (to, pair) = (Some(agent.into()), Some(pair.clone()));
        let entry = base.recorder.entry(Party::System, to, fact, content, pair);
        base.recorder.keep_entry(entry);
    }
}

impl Base {
    /// A path below the project's folder, as from there.
    pub(in crate::daemon) fn in_project(&self, path: &str) -> Option<String> {
        let path = Path::new(path).strip_prefix(&self.dirs.root).ok()?;
        path.to_str().map(str::to_owned)
    }

    /// What the record says differs from what the agent was told.
    pub(in crate::daemon) fn changed_rules(
        &self,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> impl Iterator<Item = &ChangedRules> + use<'_> {
        let (agent, pair) = reader(agent, pair);
        let state = self.recorder.world().state_of(agent, &pair);
        let seen = state.into_iter().flat_map(|state| &state.rules_changed);
        seen.map(|seen| &seen.changed)
    }

    /// The agents that are here: the Claude of each pair, and Codex.
    fn agents_here(&self) -> Vec<RulesReader> {
        let world = self.recorder.world();
        let claudes = world.agent(Agent::Claude).pairs_here().into_iter();
        let claudes = claudes.map(|pair| reader(Agent::Claude, &pair));
        let is_codex_here = world.agent(Agent::Codex).state.is_attached();
        let codex = is_codex_here.then(|| reader(Agent::Codex, &RuntimeSession::default()));
        claudes.chain(codex).collect()
    }
}
