//! [`Theme`]: a style for every role, ready to draw with.

use ratatui::style::{Color, Modifier, Style};

use super::builtin::builtin;
use super::depth::Depth;
use super::file::{Paint, RoleStyle, ThemeFile};
use super::role::ThemeRole;
use crate::model::{
    Agent, AgentState, HandoffState, Level, OutcomeState, Party, TaskColumn, Verdict,
};
use crate::source_error::SourceError;

/// How many themes may inherit from one another; more is a circle.
const INHERIT_MAX: usize = 8;

/// A resolved theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Its name, shown when it is chosen.
    pub name: String,
    styles: Vec<Style>,
}

impl Theme {
    /// Reads a theme and whatever it inherits; `find` gives the text of a theme by name (the
    /// built-in ones are found without it).
    ///
    /// # Errors
    /// The first mistake in any of the texts, with its line; a name that nothing is known of, or
    /// a circle, at line 1.
    pub fn load(
        name: &str,
        text: &str,
        find: impl Fn(&str) -> Option<String>,
        depth: Depth,
    ) -> Result<Self, SourceError> {
        let mut layers = vec![ThemeFile::parse(text)?];
        while let Some(parent) = layers.last().and_then(|layer| layer.inherits.clone()) {
            if layers.len() >= INHERIT_MAX {
                return Err(SourceError {
                    line: 1,
                    message: format!("'{parent}' is inherited in a circle"),
                });
            }
            let parent_text = find(&parent)
                .or_else(|| builtin(&parent).map(str::to_owned))
                .ok_or_else(|| SourceError {
                    line: 1,
                    message: format!("inherits '{parent}', which does not exist"),
                })?;
            layers.push(ThemeFile::parse(&parent_text)?);
        }
        let styles = ThemeRole::ALL
            .iter()
            .map(|role| style(lookup(&layers, role.name()), depth))
            .collect();
        Ok(Self {
            name: name.to_owned(),
            styles,
        })
    }

    /// A built-in theme.
    ///
    /// # Errors
    /// When there is no theme of that name.
    pub fn builtin(name: &str, depth: Depth) -> Result<Self, SourceError> {
        let text = builtin(name).ok_or_else(|| SourceError {
            line: 1,
            message: format!("no theme '{name}'"),
        })?;
        Self::load(name, text, |_| None, depth)
    }

    /// No styles at all; what is left when not even a built-in theme can be read.
    pub fn plain() -> Self {
        Self {
            name: "plain".to_owned(),
            styles: vec![Style::new(); ThemeRole::ALL.len()],
        }
    }

    /// The style of a role.
    pub fn style(&self, role: ThemeRole) -> Style {
        self.styles[role as usize]
    }

    /// An agent's hue.
    pub fn agent(&self, agent: Agent) -> Style {
        self.style(match agent {
            Agent::Claude => ThemeRole::AgentClaude,
            Agent::Codex => ThemeRole::AgentCodex,
        })
    }

    /// A party's hue.
    pub fn party(&self, party: &Party) -> Style {
        match party {
            Party::Agent(agent) => self.agent(*agent),
            Party::Human => self.style(ThemeRole::AgentHuman),
            Party::System => self.style(ThemeRole::AgentSystem),
            Party::Other(_) => self.style(ThemeRole::TextMuted),
        }
    }

    /// A state of an agent.
    pub fn state(&self, state: AgentState) -> Style {
        self.style(match state {
            AgentState::Idle => ThemeRole::StateIdle,
            AgentState::Busy => ThemeRole::StateBusy,
            AgentState::Waiting => ThemeRole::StateWaiting,
            AgentState::Limited => ThemeRole::StateLimited,
            AgentState::Stale => ThemeRole::StateStale,
            AgentState::Offline => ThemeRole::StateOffline,
        })
    }

    /// An outcome.
    pub fn outcome(&self, state: OutcomeState) -> Style {
        self.style(match state {
            OutcomeState::Unconfirmed => ThemeRole::OutcomeUnconfirmed,
            OutcomeState::Done => ThemeRole::OutcomeDone,
            OutcomeState::Failed => ThemeRole::OutcomeFailed,
            OutcomeState::Attention => ThemeRole::OutcomeAttention,
            OutcomeState::Plain => ThemeRole::TextMuted,
        })
    }

    /// What an artifact came to.
    pub fn verdict(&self, verdict: Verdict) -> Style {
        self.style(match verdict {
            Verdict::Passed => ThemeRole::OutcomeDone,
            Verdict::Failed => ThemeRole::OutcomeFailed,
            Verdict::Blocked => ThemeRole::StateLimited,
            Verdict::Unknown => ThemeRole::TextMuted,
            Verdict::Skipped => ThemeRole::OutcomeUnconfirmed,
            Verdict::TimedOut => ThemeRole::OutcomeAttention,
        })
    }

    /// A lane.
    pub fn lane(&self, lane: TaskColumn) -> Style {
        self.style(match lane {
            TaskColumn::Open => ThemeRole::StateIdle,
            TaskColumn::Active => ThemeRole::StateBusy,
            TaskColumn::Blocked => ThemeRole::OutcomeAttention,
            TaskColumn::Stale => ThemeRole::StateStale,
            TaskColumn::Done => ThemeRole::OutcomeDone,
        })
    }

    /// A handoff.
    pub fn handoff(&self, state: HandoffState) -> Style {
        self.style(match state {
            HandoffState::Unconfirmed => ThemeRole::OutcomeUnconfirmed,
            HandoffState::Open => ThemeRole::StateBusy,
            HandoffState::Done => ThemeRole::OutcomeDone,
            HandoffState::Failed => ThemeRole::OutcomeFailed,
        })
    }

    /// A banner or notice.
    pub fn level(&self, level: Level) -> Style {
        self.style(match level {
            Level::Info => ThemeRole::BannerInfo,
            Level::Warn => ThemeRole::BannerWarn,
            Level::Error => ThemeRole::BannerError,
        })
    }
}

/// The nearest style: the role in the child, then in its parents, then the same one dot shorter.
fn lookup<'a>(layers: &'a [ThemeFile], role: &str) -> Option<&'a RoleStyle> {
    let mut name = role;
    loop {
        if let Some(style) = layers.iter().find_map(|layer| layer.roles.get(name)) {
            return Some(style);
        }
        name = match name.rsplit_once('.') {
            Some((shorter, _)) => shorter,
            None if name == "text" || name == "screen" => return None,
            None => "text",
        };
    }
}

fn style(raw: Option<&RoleStyle>, depth: Depth) -> Style {
    let Some(raw) = raw else { return Style::new() };
    let color = |paint: Paint| match paint {
        Paint::Own => Some(Color::Reset),
        Paint::Rgb { rgb, ansi } => depth.reduce(rgb, ansi),
    };
    let mut out = Style::new().add_modifier(raw.mods);
    out.fg = raw.fg.and_then(color);
    out.bg = raw.bg.and_then(color);
    if depth == Depth::None {
        out.fg = None;
        out.bg = None;
        // A selection that is only a background would be lost.
        if raw.bg.is_some_and(|bg| bg != Paint::Own) && raw.fg.is_none() && raw.mods.is_empty() {
            out = out.add_modifier(Modifier::REVERSED);
        }
    }
    out
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
