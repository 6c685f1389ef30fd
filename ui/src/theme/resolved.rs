//! [`Theme`]: a style for every role, ready to draw with.

use ratatui::style::{Color, Modifier, Style};

use super::builtin::builtin;
use super::depth::Depth;
use super::layers::{Paint, PaintedStyle, ThemeLayers};
use super::role::ThemeRole;
use crate::model::{Agent, AgentState, Level, OutcomeState, Party, TaskColumn, Verdict};
use crate::source_error::{SourceError, SourcePlace};

/// A resolved theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Its name, shown when it is chosen.
    pub name: String,
    /// What it says of itself, in a few words; empty when nothing.
    pub about: String,
    styles: Vec<Style>,
}

impl Theme {
    /// Reads a theme and whatever it inherits; `find` gives the text of a theme by name (the
    /// built-in ones are found without it).
    ///
    /// # Errors
    /// The first mistake in any of the texts, with its place; a name that nothing is known of, or
    /// a circle, where the theme inherits.
    pub fn load(
        name: &str,
        text: &str,
        find: impl Fn(&str) -> Option<String>,
        depth: Depth,
    ) -> Result<Self, SourceError> {
        let layers = ThemeLayers::read(name, text, find)?;
        let styles = ThemeRole::ALL
            .iter()
            .map(|role| style(*role, layers.style(role.name()), depth))
            .collect();
        Ok(Self {
            name: name.to_owned(),
            about: layers.about().unwrap_or_default().to_owned(),
            styles,
        })
    }

    /// A built-in theme.
    ///
    /// # Errors
    /// When there is no theme of that name.
    pub fn builtin(name: &str, depth: Depth) -> Result<Self, SourceError> {
        let text =
            builtin(name).ok_or_else(|| SourcePlace::START.error(format!("no theme '{name}'")))?;
        Self::load(name, text, |_| None, depth)
    }

    /// No styles at all; what is left when not even a built-in theme can be read.
    pub fn plain() -> Self {
        Self {
            name: "plain".to_owned(),
            about: String::new(),
            styles: vec![Style::new(); ThemeRole::ALL.len()],
        }
    }

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

    pub fn column(&self, column: TaskColumn) -> Style {
        self.style(match column {
            TaskColumn::Open => ThemeRole::StateIdle,
            TaskColumn::Active => ThemeRole::StateBusy,
            TaskColumn::Blocked => ThemeRole::OutcomeAttention,
            TaskColumn::Stale => ThemeRole::StateStale,
            TaskColumn::Done => ThemeRole::OutcomeDone,
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

fn style(role: ThemeRole, painted: Option<PaintedStyle>, depth: Depth) -> Style {
    let Some(painted) = painted else {
        return Style::new();
    };
    let color = |paint: Paint| match paint {
        Paint::Own => Some(Color::Reset),
        Paint::Rgb { rgb, indexed, ansi } => depth.reduce(rgb, indexed, ansi),
    };
    let mut out = Style::new().add_modifier(painted.mods);
    out.fg = painted.fg.and_then(color);
    out.bg = painted.bg.and_then(color);
    if depth == Depth::None {
        out.fg = None;
        out.bg = None;
    }
    // A selection that is only a background would be lost where there is none.
    let has_ground = !matches!(out.bg, None | Some(Color::Reset));
    if !has_ground && painted.mods.is_empty() {
        match role {
            ThemeRole::SelectionFocus => out = out.add_modifier(Modifier::REVERSED),
            ThemeRole::Selection => out = out.add_modifier(Modifier::BOLD),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
