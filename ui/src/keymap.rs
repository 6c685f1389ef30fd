//! [`Keymap`]: which key does what where, resolved once; the only thing that keys, help, hint bar
//! and palette are read from.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::action::Action;
use crate::key::Key;
use crate::source_error::SourceError;

/// Where a binding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyContext {
    /// Every pane.
    Global,
    /// The Agents pane.
    Agents,
    /// The Timeline pane.
    Timeline,
    /// The Inbox pane.
    Inbox,
    /// The Tasks pane.
    Tasks,
    /// The Handoffs pane.
    Handoffs,
    /// Every overlay without an input.
    Overlay,
    /// An opened entry.
    Entry,
    /// An opened agent.
    Agent,
    /// An opened card.
    Card,
    /// A line to type in.
    Input,
    /// A message or handoff being written.
    Composer,
}

impl KeyContext {
    /// All, in the order of the help.
    pub const ALL: [Self; 12] = [
        Self::Global,
        Self::Agents,
        Self::Timeline,
        Self::Inbox,
        Self::Tasks,
        Self::Handoffs,
        Self::Card,
        Self::Entry,
        Self::Agent,
        Self::Composer,
        Self::Overlay,
        Self::Input,
    ];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Agents => "agents",
            Self::Timeline => "timeline",
            Self::Inbox => "inbox",
            Self::Tasks => "tasks",
            Self::Handoffs => "handoffs",
            Self::Overlay => "overlay",
            Self::Entry => "entry",
            Self::Agent => "agent",
            Self::Card => "card",
            Self::Input => "input",
            Self::Composer => "composer",
        }
    }

    /// Its heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Global => "Everywhere",
            Self::Agents => "Agents",
            Self::Timeline => "Timeline",
            Self::Inbox => "Inbox",
            Self::Tasks => "Tasks",
            Self::Handoffs => "Handoffs",
            Self::Overlay => "Whatever is open",
            Self::Entry => "An entry",
            Self::Agent => "An agent",
            Self::Card => "A card of the inbox",
            Self::Input => "A line to type in",
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
    #[serde(default)]
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

    /// This map with another laid over it: a key bound there loses its meaning here (in that
    /// context), and `run = "none"` only takes it away.
    ///
    /// # Errors
    /// The first mistake with its line: no such context, action or key, or one key twice in one
    /// context.
    pub fn layered(mut self, text: &str) -> Result<Self, SourceError> {
        let raw: Raw =
            toml::from_str(text).map_err(|error| SourceError::from_toml(text, &error))?;
        for (name, bindings) in &raw {
            let context = KeyContext::ALL
                .into_iter()
                .find(|context| context.name() == name.get_ref())
                .ok_or_else(|| {
                    SourceError::at(
                        text,
                        &name.span(),
                        format!("no context '{}'", name.get_ref()),
                    )
                })?;
            let mut seen: Vec<Key> = Vec::new();
            let mut added = Vec::new();
            for binding in bindings {
                let mut keys = Vec::new();
                for on in &binding.on {
                    let key: Key = on.get_ref().parse().map_err(|key| {
                        SourceError::at(text, &on.span(), format!("'{key}' is no key"))
                    })?;
                    if seen.contains(&key) {
                        return Err(SourceError::at(
                            text,
                            &on.span(),
                            format!("'{key}' is bound twice in {}", context.name()),
                        ));
                    }
                    seen.push(key);
                    keys.push(key);
                }
                let run = binding.run.get_ref();
                if run == "none" {
                    continue;
                }
                let action = Action::parse(run).ok_or_else(|| {
                    SourceError::at(text, &binding.run.span(), format!("no action '{run}'"))
                })?;
                let known = self.describe(context, action);
                added.push(Binding {
                    keys,
                    action,
                    desc: binding
                        .desc
                        .clone()
                        .or(known.clone().map(|(desc, _)| desc))
                        .unwrap_or_else(|| run.clone()),
                    hint: binding.hint.clone().or(known.and_then(|(_, hint)| hint)),
                });
            }
            let own = self.contexts.entry(context).or_default();
            for binding in own.iter_mut() {
                binding.keys.retain(|key| !seen.contains(key));
            }
            // A binding that lost its last key to the layer above is gone, unless it was a
            // command of the palette from the start.
            own.retain(|binding| {
                !binding.keys.is_empty() || !added.iter().any(|new| new.action == binding.action)
            });
            own.extend(added);
        }
        Ok(self)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{KeyContext, Keymap};
    use crate::action::Action;

    fn error(text: &str) -> String {
        Keymap::builtin()
            .unwrap()
            .layered(text)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_nearest_context_wins() {
        let map = Keymap::builtin().unwrap();
        let g = "g".parse().unwrap();
        assert_eq!(
            map.action(&[KeyContext::Timeline, KeyContext::Global], g),
            Some(Action::Newest)
        );
        assert_eq!(
            map.action(&[KeyContext::Inbox, KeyContext::Global], g),
            Some(Action::MoveFirst)
        );
    }

    #[test]
    fn a_layer_takes_a_key_and_keeps_the_words() {
        let map = Keymap::builtin()
            .unwrap()
            .layered(
                "global = [{ on = [\"H\"], run = \"help\" }, { on = [\"C\"], run = \"none\" }]",
            )
            .unwrap();
        assert_eq!(
            map.action(&[KeyContext::Global], "H".parse().unwrap()),
            Some(Action::Help)
        );
        assert_eq!(
            map.action(&[KeyContext::Global], "?".parse().unwrap()),
            Some(Action::Help)
        );
        assert_eq!(
            map.action(&[KeyContext::Global], "C".parse().unwrap()),
            None
        );
        let help: Vec<_> = map
            .bindings(KeyContext::Global)
            .iter()
            .filter(|b| b.action == Action::Help)
            .collect();
        assert!(help.iter().all(|binding| binding.desc == "all keys"));
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(
            error("global = [\n{ on = [\"j\"], run = \"jump\" }]"),
            "line 2: no action 'jump'"
        );
        assert_eq!(error("\n\nglobl = []"), "line 3: no context 'globl'");
        assert_eq!(
            error("global = [{ on = [\"hyper-x\"], run = \"help\" }]"),
            "line 1: 'hyper-x' is no key"
        );
        assert_eq!(
            error(
                "global = [\n{ on = [\"j\"], run = \"help\" },\n{ on = [\"j\"], run = \"quit\" }]"
            ),
            "line 3: 'j' is bound twice in global"
        );
    }

    #[test]
    fn the_readme_table_shows_every_context_and_all_keys() {
        let table = Keymap::builtin().unwrap().markdown();
        assert!(table.contains("| `j` `down` | down |"));
        assert!(table.contains("**A card of the inbox**"));
        assert!(!table.contains("``"));
    }

    #[test]
    fn every_action_can_be_reached_by_a_key() {
        let map = Keymap::builtin().unwrap();
        for name in Action::names() {
            let action = Action::parse(name).unwrap();
            assert!(
                KeyContext::ALL.iter().any(|context| map
                    .bindings(*context)
                    .iter()
                    .any(|binding| binding.action == action)),
                "no key for '{name}'"
            );
        }
    }
}
