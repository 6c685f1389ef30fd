//! [`Keymap`]: which key does what in which context, resolved once; the only source for keys, help,
//! hint bar and palette.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::action::Action;
use crate::key::Key;
use crate::named::named;
use crate::source_error::SourceError;

named! {
    /// Where a binding counts, in the order of the help.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum KeyContext {
        /// Every pane.
        Global = "global",
        /// The Agents pane.
        Agents = "agents",
        /// The Timeline pane.
        Timeline = "timeline",
        /// The Inbox pane.
        Inbox = "inbox",
        /// The Tasks pane.
        Tasks = "tasks",
        /// The Handoffs pane.
        Handoffs = "handoffs",
        /// An opened card.
        Card = "card",
        /// An opened list of messages.
        Messages = "messages",
        /// What reviews say, and one of it.
        Findings = "findings",
        /// The tasks that can travel, and one of them.
        Capsules = "capsules",
        /// What is ticked before it goes along.
        Ticks = "ticks",
        /// An opened entry.
        Entry = "entry",
        /// An opened agent.
        Agent = "agent",
        /// A message or handoff being written.
        Composer = "composer",
        /// A search being typed.
        Search = "search",
        /// Chips being chosen.
        Chips = "chips",
        /// Every overlay without an input.
        Overlay = "overlay",
        /// A line to type in.
        Input = "input",
    }
    /// Its name in the file.
    pub fn name;
}

impl KeyContext {
    pub const PANES: [Self; 5] = [
        Self::Agents,
        Self::Timeline,
        Self::Inbox,
        Self::Tasks,
        Self::Handoffs,
    ];

    /// Which of them count together, nearest first: on the panes, and on what is open.
    pub const STACKS: &[&[Self]] = &[
        &[Self::Agents, Self::Global],
        &[Self::Timeline, Self::Global],
        &[Self::Inbox, Self::Global],
        &[Self::Tasks, Self::Global],
        &[Self::Handoffs, Self::Global],
        &[Self::Overlay],
        &[Self::Entry, Self::Overlay],
        &[Self::Agent, Self::Overlay],
        &[Self::Agent, Self::Entry, Self::Overlay],
        &[Self::Card, Self::Overlay],
        &[Self::Messages, Self::Overlay],
        &[Self::Findings, Self::Overlay],
        &[Self::Capsules, Self::Overlay],
        &[Self::Ticks, Self::Overlay],
        &[Self::Input],
        &[Self::Composer],
        &[Self::Search],
        &[Self::Chips],
    ];

    /// Its heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Global => "On the panes",
            Self::Agents => "Agents",
            Self::Timeline => "Timeline",
            Self::Inbox => "Inbox",
            Self::Tasks => "Tasks",
            Self::Handoffs => "Handoffs",
            Self::Overlay => "Whatever is open",
            Self::Entry => "An entry",
            Self::Agent => "An agent",
            Self::Card => "A card of the inbox",
            Self::Messages => "Ambiguous messages",
            Self::Findings => "Review findings",
            Self::Capsules => "Tasks that can travel",
            Self::Ticks => "What goes along with a task",
            Self::Input => "A line to type in",
            Self::Search => "The search",
            Self::Chips => "What is shown",
            Self::Composer => "Writing",
        }
    }
}

/// One line of a keymap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The keys, the first one is shown.
    pub keys: Vec<Key>,
    /// What they do.
    pub action: Action,
    /// In words.
    pub desc: String,
    /// Its word in the hint bar.
    pub hint: Option<String>,
}

impl Binding {
    /// The keys as help shows them.
    pub fn keys_text(&self) -> String {
        self.keys
            .iter()
            .map(Key::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The resolved map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    contexts: BTreeMap<KeyContext, Vec<Binding>>,
    /// Keys that do nothing in a context, also where a farther one binds them.
    none: BTreeMap<KeyContext, Vec<Key>>,
}

/// A line of a map that is laid over another one.
struct AddedLine {
    context: KeyContext,
    /// With their places in the text.
    keys: Vec<(Key, Range<usize>)>,
    /// `None` takes the keys away.
    action: Option<Action>,
    desc: String,
    hint: Option<String>,
}

/// Without these nobody would find the way out again.
const NEEDED: [Action; 5] = [
    Action::Back,
    Action::Open,
    Action::Quit,
    Action::Palette,
    Action::Send,
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBinding {
    on: Vec<Spanned<String>>,
    run: Spanned<String>,
    desc: Option<String>,
    hint: Option<String>,
}

type Raw = BTreeMap<Spanned<String>, Vec<RawBinding>>;

impl Keymap {
    /// The text of the built-in map.
    pub const DEFAULT: &'static str = include_str!("../keymap.toml");

    /// The built-in map.
    ///
    /// # Errors
    /// None that a test has not ruled out.
    pub fn builtin() -> Result<Self, SourceError> {
        Self {
            contexts: BTreeMap::new(),
            none: BTreeMap::new(),
        }
        .layered(Self::DEFAULT)
    }

    /// This map with another laid over it, as [`Self::overlaid`] does.
    ///
    /// # Errors
    /// The first mistake with its place.
    pub fn layered(self, text: &str) -> Result<Self, SourceError> {
        let (map, wrong) = self.overlaid(text);
        wrong.into_iter().next().map_or(Ok(map), Err)
    }

    /// This map with another laid over it: a key bound there loses its meaning here (in that
    /// context), and with `run = "none"` it does nothing there. What is wrong is left out and told with
    /// its place: no such context, action or key, a key twice in one context, a letter where one types,
    /// a key that no terminal sends, and the last key of what nobody gets along without, in any of
    /// [`KeyContext::STACKS`].
    pub fn overlaid(self, text: &str) -> (Self, Vec<SourceError>) {
        let raw: Raw = match toml::from_str(text) {
            Ok(raw) => raw,
            Err(error) => return (self, vec![SourceError::from_toml(text, &error)]),
        };
        let (mut added, mut wrong) = (Vec::new(), Vec::new());
        for (name, bindings) in &raw {
            let named = |context: &KeyContext| context.name() == name.get_ref();
            let Some(context) = KeyContext::ALL.into_iter().find(named) else {
                let what = format!("no context '{}'", name.get_ref());
                wrong.push(SourceError::at(text, &name.span(), what));
                continue;
            };
            self.read(context, bindings, text, &mut added, &mut wrong);
        }
        let mut map = self.with(&added);
        while let Some((taken, action)) = self.last_taken(&map, &added) {
            let (line, at) = taken;
            let (key, span) = added[line].keys.remove(at);
            let what = format!(
                "'{key}' is the last key of '{}' in {}: give that another one as well",
                action.name(),
                added[line].context.name()
            );
            wrong.push(SourceError::at(text, &span, what));
            map = self.with(&added);
        }
        wrong.sort_by_key(|error| (error.place.line, error.place.column));
        (map, wrong)
    }

    fn read(
        &self,
        context: KeyContext,
        bindings: &[RawBinding],
        text: &str,
        added: &mut Vec<AddedLine>,
        wrong: &mut Vec<SourceError>,
    ) {
        let mut seen: Vec<Key> = Vec::new();
        for binding in bindings {
            let run = binding.run.get_ref();
            let action = Action::parse(run);
            if action.is_none() && run != "none" {
                let what = format!("no action '{run}'");
                wrong.push(SourceError::at(text, &binding.run.span(), what));
                continue;
            }
            let mut keys = Vec::new();
            for on in &binding.on {
                match key_of(on.get_ref(), context, &seen) {
                    Ok(key) => {
                        seen.push(key);
                        keys.push((key, on.span()));
                    }
                    Err(what) => wrong.push(SourceError::at(text, &on.span(), what)),
                }
            }
            let known = action.and_then(|action| self.describe(context, action));
            let (desc, hint) = known.unwrap_or_else(|| (run.clone(), None));
            added.push(AddedLine {
                context,
                keys,
                action,
                desc: binding.desc.clone().unwrap_or(desc),
                hint: binding.hint.clone().or(hint),
            });
        }
    }

    /// This map with these lines.
    fn with(&self, added: &[AddedLine]) -> Self {
        let mut map = self.clone();
        for line in added {
            let none = map.none.entry(line.context).or_default();
            let own = map.contexts.entry(line.context).or_default();
            for (key, _) in &line.keys {
                none.retain(|known| known != key);
                for binding in own.iter_mut() {
                    binding.keys.retain(|known| known != key);
                }
            }
            let keys = line.keys.iter().map(|(key, _)| *key);
            let Some(action) = line.action else {
                none.extend(keys);
                continue;
            };
            // What has a binding already keeps its place there: the new keys stand first.
            match own.iter_mut().find(|known| known.action == action) {
                Some(known) => {
                    known.keys.splice(0..0, keys);
                    (known.desc, known.hint) = (line.desc.clone(), line.hint.clone());
                }
                None => own.push(Binding {
                    keys: keys.collect(),
                    action,
                    desc: line.desc.clone(),
                    hint: line.hint.clone(),
                }),
            }
        }
        map
    }

    /// The last key, by line and place there, that took one away from something needed which has none
    /// any more in `map`, and what that is.
    fn last_taken(&self, map: &Self, added: &[AddedLine]) -> Option<((usize, usize), Action)> {
        for stack in KeyContext::STACKS {
            let is_lost = |action: &Action| {
                self.key(stack, *action).is_some() && map.key(stack, *action).is_none()
            };
            let Some(action) = NEEDED.into_iter().find(is_lost) else {
                continue;
            };
            let takes = |line: &(usize, &AddedLine)| {
                stack.contains(&line.1.context) && line.1.action != Some(action)
            };
            let lines = added.iter().enumerate();
            let keys = lines.filter(takes).flat_map(|(line, of)| {
                let keys = of.keys.iter().enumerate();
                keys.map(move |(at, (key, span))| (span.start, (line, at), *key))
            });
            let taken = keys.filter(|(.., key)| self.action(stack, *key) == Some(action));
            if let Some((_, place, _)) = taken.max_by_key(|(start, ..)| *start) {
                return Some((place, action));
            }
        }
        None
    }

    /// The words for an action in a context: its own there, else those of a context that counts
    /// together with it. Without them the binding of a nearer context would take the action off the
    /// hint bar.
    fn describe(&self, context: KeyContext, action: Action) -> Option<(String, Option<String>)> {
        let stacks = KeyContext::STACKS.iter();
        let together = stacks.filter(|stack| stack.contains(&context));
        let others = together.flat_map(|stack| stack.iter().copied());
        let mut bindings = std::iter::once(context)
            .chain(others)
            .flat_map(|context| self.bindings(context));
        bindings
            .find(|binding| binding.action == action)
            .map(|binding| (binding.desc.clone(), binding.hint.clone()))
    }

    /// What a key does: the first of the contexts that binds it.
    pub fn action(&self, contexts: &[KeyContext], key: Key) -> Option<Action> {
        let bound = contexts.iter().find_map(|context| {
            let mut bindings = self.bindings(*context).iter();
            match bindings.find(|binding| binding.keys.contains(&key)) {
                Some(binding) => Some(Some(binding.action)),
                None => self.none.get(context)?.contains(&key).then_some(None),
            }
        });
        bound.flatten()
    }

    /// The bindings of one context, in the order of the file.
    pub fn bindings(&self, context: KeyContext) -> &[Binding] {
        self.contexts.get(&context).map_or(&[], Vec::as_slice)
    }

    /// The bindings that count in these contexts, each action once, nearest context first.
    pub fn reachable(&self, contexts: &[KeyContext]) -> Vec<&Binding> {
        let mut out: Vec<&Binding> = Vec::new();
        for context in contexts {
            for binding in self.bindings(*context) {
                if !out.iter().any(|known| known.action == binding.action) {
                    out.push(binding);
                }
            }
        }
        out
    }

    /// The whole map as a Markdown table for each context; the README's keys come from here.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        for context in KeyContext::ALL {
            let bindings = self.bindings(context);
            if bindings.is_empty() {
                continue;
            }
            out.push_str(&format!(
                "**{}**\n\n| key | does |\n|---|---|\n",
                context.title()
            ));
            for binding in bindings.iter().filter(|binding| !binding.keys.is_empty()) {
                let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{key}`")).collect();
                out.push_str(&format!("| {} | {} |\n", keys.join(" "), binding.desc));
            }
            out.push('\n');
        }
        out
    }

    /// The key of an action in these contexts: one that no nearer context has taken.
    pub fn key(&self, contexts: &[KeyContext], action: Action) -> Option<Key> {
        let bindings = contexts.iter().flat_map(|context| self.bindings(*context));
        let of_it = bindings.filter(|binding| binding.action == action);
        let mut keys = of_it.flat_map(|binding| &binding.keys).copied();
        keys.find(|key| self.action(contexts, *key) == Some(action))
    }

    /// The same, as it is written.
    pub fn key_of(&self, contexts: &[KeyContext], action: Action) -> Option<String> {
        self.key(contexts, action).map(|key| key.to_string())
    }
}

/// The key of a name, for a context in which these are bound already; otherwise what is wrong.
fn key_of(name: &str, context: KeyContext, seen: &[Key]) -> Result<Key, String> {
    let key = Key::named(name)?;
    if seen.contains(&key) {
        return Err(format!("'{key}' is bound twice in {}", context.name()));
    }
    let is_typing = matches!(
        context,
        KeyContext::Input | KeyContext::Search | KeyContext::Composer
    );
    if is_typing && key.is_typed() {
        return Err(format!("'{key}' types a letter in {}", context.name()));
    }
    Ok(key)
}

#[cfg(test)]
mod tests;
