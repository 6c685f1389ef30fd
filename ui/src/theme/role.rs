//! [`ThemeRole`]: what a colour means.

use crate::named::named;

named! {
    /// Everything that can have a style of its own. A theme that does not name a role gets the style
    /// of the role to its left: `state.busy` → `state` → the theme's `text`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(usize)]
    pub enum ThemeRole {
        Screen = "screen",
        Text = "text",
        TextStrong = "text.strong",
        TextMuted = "text.muted",
        TextFaint = "text.faint",
        Heading = "text.heading",
        Border = "border",
        BorderFocus = "border.focus",
        Title = "title",
        TitleFocus = "title.focus",
        Header = "header",
        Selection = "selection",
        SelectionFocus = "selection.focus",
        AgentClaude = "agent.claude",
        AgentCodex = "agent.codex",
        AgentHuman = "agent.human",
        AgentSystem = "agent.system",
        Wait = "wait",
        StateIdle = "state.idle",
        StateBusy = "state.busy",
        StateWaiting = "state.waiting",
        StateLimited = "state.limited",
        StateStale = "state.stale",
        StateOffline = "state.offline",
        OutcomeDone = "outcome.done",
        OutcomeFailed = "outcome.failed",
        OutcomeAttention = "outcome.attention",
        OutcomeUnconfirmed = "outcome.unconfirmed",
        Key = "key",
        KeyHint = "key.hint",
        BannerInfo = "banner.info",
        BannerWarn = "banner.warn",
        BannerError = "banner.error",
        MeterFull = "meter.full",
        MeterEmpty = "meter.empty",
        Match = "match",
        Input = "input",
        InputCursor = "input.cursor",
        Overlay = "overlay",
        OverlayBorder = "overlay.border",
        /// What an overlay has put behind itself.
        Covered = "covered",
    }
    /// The dotted name in a theme file.
    pub fn name;
}

impl ThemeRole {
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
