//! [`ThemeRole`]: what a colour means.

/// Everything that can have a style of its own. A theme that does not name a role gets the style
/// of the role to its left: `state.busy` → `state` → the theme's `text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum ThemeRole {
    Screen,
    Text,
    TextStrong,
    TextMuted,
    TextFaint,
    Heading,
    Border,
    BorderFocus,
    Title,
    TitleFocus,
    Header,
    Selection,
    SelectionFocus,
    AgentClaude,
    AgentCodex,
    AgentHuman,
    AgentSystem,
    Wait,
    StateIdle,
    StateBusy,
    StateWaiting,
    StateLimited,
    StateStale,
    StateOffline,
    OutcomeDone,
    OutcomeFailed,
    OutcomeAttention,
    OutcomeUnconfirmed,
    Key,
    KeyHint,
    BannerInfo,
    BannerWarn,
    BannerError,
    MeterFull,
    MeterEmpty,
    Match,
    Input,
    InputCursor,
    Overlay,
    OverlayBorder,
    /// What an overlay has put behind itself.
    Covered,
}

impl ThemeRole {
    /// All, in the order of the enum.
    pub const ALL: [Self; 41] = [
        Self::Screen,
        Self::Text,
        Self::TextStrong,
        Self::TextMuted,
        Self::TextFaint,
        Self::Heading,
        Self::Border,
        Self::BorderFocus,
        Self::Title,
        Self::TitleFocus,
        Self::Header,
        Self::Selection,
        Self::SelectionFocus,
        Self::AgentClaude,
        Self::AgentCodex,
        Self::AgentHuman,
        Self::AgentSystem,
        Self::Wait,
        Self::StateIdle,
        Self::StateBusy,
        Self::StateWaiting,
        Self::StateLimited,
        Self::StateStale,
        Self::StateOffline,
        Self::OutcomeDone,
        Self::OutcomeFailed,
        Self::OutcomeAttention,
        Self::OutcomeUnconfirmed,
        Self::Key,
        Self::KeyHint,
        Self::BannerInfo,
        Self::BannerWarn,
        Self::BannerError,
        Self::MeterFull,
        Self::MeterEmpty,
        Self::Match,
        Self::Input,
        Self::InputCursor,
        Self::Overlay,
        Self::OverlayBorder,
        Self::Covered,
    ];

    /// The dotted name in a theme file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Text => "text",
            Self::TextStrong => "text.strong",
            Self::TextMuted => "text.muted",
            Self::TextFaint => "text.faint",
            Self::Heading => "text.heading",
            Self::Border => "border",
            Self::BorderFocus => "border.focus",
            Self::Title => "title",
            Self::TitleFocus => "title.focus",
            Self::Header => "header",
            Self::Selection => "selection",
            Self::SelectionFocus => "selection.focus",
            Self::AgentClaude => "agent.claude",
            Self::AgentCodex => "agent.codex",
            Self::AgentHuman => "agent.human",
            Self::AgentSystem => "agent.system",
            Self::Wait => "wait",
            Self::StateIdle => "state.idle",
            Self::StateBusy => "state.busy",
            Self::StateWaiting => "state.waiting",
            Self::StateLimited => "state.limited",
            Self::StateStale => "state.stale",
            Self::StateOffline => "state.offline",
            Self::OutcomeDone => "outcome.done",
            Self::OutcomeFailed => "outcome.failed",
            Self::OutcomeAttention => "outcome.attention",
            Self::OutcomeUnconfirmed => "outcome.unconfirmed",
            Self::Key => "key",
            Self::KeyHint => "key.hint",
            Self::BannerInfo => "banner.info",
            Self::BannerWarn => "banner.warn",
            Self::BannerError => "banner.error",
            Self::MeterFull => "meter.full",
            Self::MeterEmpty => "meter.empty",
            Self::Match => "match",
            Self::Input => "input",
            Self::InputCursor => "input.cursor",
            Self::Overlay => "overlay",
            Self::OverlayBorder => "overlay.border",
            Self::Covered => "covered",
        }
    }

    /// Whether a theme may use this name: a role, or what stands left of a dot in one (a style
    /// for the whole family).
    pub fn is_known(name: &str) -> bool {
        Self::ALL.iter().any(|role| {
            let own = role.name();
            own == name
                || own
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('.'))
        })
    }

    /// The known name closest to a misspelt one.
    pub fn closest(name: &str) -> &'static str {
        Self::ALL
            .iter()
            .map(|role| role.name())
            .min_by_key(|own| distance(own, name))
            .unwrap_or("text")
    }
}

/// Edit distance, for "did you mean".
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut left_above = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (left_above + usize::from(ca != *cb))
                .min(above + 1)
                .min(row[j] + 1);
            left_above = above;
        }
    }
    row[b.len()]
}
