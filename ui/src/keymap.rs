//! [`Keymap`]: which key does what where, resolved once; the only thing that keys, help, hint bar
//! and palette are read from.

use std::collections::BTreeMap;

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
}

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
    /// context), and `run = "none"` only takes it away. What is wrong is left out and told with its
    /// place: no such context, action or key, a key twice in one context, a letter where one types,
    /// a key that no terminal sends, and the last key of what nobody gets along without.
    pub fn overlaid(mut self, text: &str) -> (Self, Vec<SourceError>) {
        let raw: Raw = match toml::from_str(text) {
            Ok(raw) => raw,
            Err(error) => return (self, vec![SourceError::from_toml(text, &error)]),
        };
        let mut wrong = Vec::new();
        for (name, bindings) in &raw {
            let named = |context: &KeyContext| context.name() == name.get_ref();
            let Some(context) = KeyContext::ALL.into_iter().find(named) else {
                let what = format!("no context '{}'", name.get_ref());
                wrong.push(SourceError::at(text, &name.span(), what));
                continue;
            };
            self.overlay(context, bindings, text, &mut wrong);
        }
        wrong.sort_by_key(|error| (error.place.line, error.place.column));
        (self, wrong)
    }

    fn overlay(
        &mut self,
        context: KeyContext,
        bindings: &[RawBinding],
        text: &str,
        wrong: &mut Vec<SourceError>,
    ) {
        let mut seen: Vec<(Key, std::ops::Range<usize>)> = Vec::new();
        let mut added: Vec<Binding> = Vec::new();
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
                        seen.push((key, on.span()));
                        keys.push(key);
                    }
                    Err(what) => wrong.push(SourceError::at(text, &on.span(), what)),
                }
            }
            let Some(action) = action else { continue };
            let known = self.describe(context, action);
            let (desc, hint) = known.unwrap_or_else(|| (run.clone(), None));
            added.push(Binding {
                keys,
                action,
                desc: binding.desc.clone().unwrap_or(desc),
                hint: binding.hint.clone().or(hint),
            });
        }
        let own = self.contexts.entry(context).or_default();
        for (key, span) in &seen {
            let Some(loser) = own.iter().find(|binding| binding.keys.contains(key)) else {
                continue;
            };
            let action = loser.action;
            let remains = |bindings: &[Binding]| {
                let same = bindings.iter().filter(|binding| binding.action == action);
                let mut keys = same.flat_map(|binding| &binding.keys);
                keys.any(|own| own != key)
            };
            let is_same =
                |binding: &Binding| binding.action == action && binding.keys.contains(key);
            if is_needed(action) && !remains(own) && !remains(&added) && !added.iter().any(is_same)
            {
                let what = format!(
                    "'{key}' is the last key of '{}' in {}: give that another one as well",
                    action.name(),
                    context.name()
                );
                wrong.push(SourceError::at(text, span, what));
                for binding in &mut added {
                    binding.keys.retain(|own| own != key);
                }
                continue;
            }
            for binding in own.iter_mut() {
                binding.keys.retain(|own| own != key);
            }
        }
        // What has a binding already keeps its place there: the new keys stand first.
        for new in added {
            match own.iter_mut().find(|known| known.action == new.action) {
                Some(known) => {
                    known.keys.splice(0..0, new.keys);
                    (known.desc, known.hint) = (new.desc, new.hint);
                }
                None => own.push(new),
            }
        }
    }

    fn describe(&self, context: KeyContext, action: Action) -> Option<(String, Option<String>)> {
        self.bindings(context)
            .iter()
            .find(|binding| binding.action == action)
            .map(|binding| (binding.desc.clone(), binding.hint.clone()))
    }

    /// What a key does: the first of the contexts that binds it.
    pub fn action(&self, contexts: &[KeyContext], key: Key) -> Option<Action> {
        contexts.iter().find_map(|context| {
            self.bindings(*context)
                .iter()
                .find(|binding| binding.keys.contains(&key))
                .map(|binding| binding.action)
        })
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

    /// The key of an action in these contexts, as it is written.
    pub fn key_of(&self, contexts: &[KeyContext], action: Action) -> Option<String> {
        self.reachable(contexts)
            .into_iter()
            .find(|binding| binding.action == action)
            .and_then(|binding| binding.keys.first())
            .map(Key::to_string)
    }
}

/// Without these nobody would find the way out again.
fn is_needed(action: Action) -> bool {
    matches!(
        action,
        Action::Back | Action::Open | Action::Quit | Action::Palette | Action::Send
    )
}

/// The key of a name, for a context in which these are bound already; otherwise what is wrong.
fn key_of(
    name: &str,
    context: KeyContext,
    seen: &[(Key, std::ops::Range<usize>)],
) -> Result<Key, String> {
    let key: Key = name.parse().map_err(|name| format!("'{name}' is no key"))?;
    if seen.iter().any(|(known, _)| *known == key) {
        return Err(format!("'{key}' is bound twice in {}", context.name()));
    }
    if let Some(sent) = key.sent_as() {
        return Err(format!("terminals send {sent} for '{key}': bind that one"));
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
