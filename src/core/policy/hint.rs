//! [`Hint`]: what is said of something that an agent asks; [`RequestHints`]: all that is said of a
//! request.

use std::fmt;

use super::why_unclear::WhyUnclear;
use crate::entry::{RuleName, TextHints};

/// A sentence, or the beginning of one, about what an agent asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hint {
    /// Words of ours.
    Plain(String),
    /// Words of ours with some of the agent's, and the same without those.
    Quoting { whole: String, without: String },
    /// That its text does not say what it does.
    Unclear(WhyUnclear),
}

impl Hint {
    /// What is so, and the agent's words behind that.
    pub(super) fn naming(what: &str, named: impl fmt::Display) -> Self {
        Self::Quoting {
            whole: format!("{what}: {named}"),
            without: what.to_owned(),
        }
    }

    /// The agent's words, and what is so of them behind that. `stands_for`: what they name.
    pub(super) fn about(named: impl fmt::Display, stands_for: &str, what: &str) -> Self {
        Self::Quoting {
            whole: format!("{named} {what}"),
            without: format!("{stands_for} {what}"),
        }
    }

    /// Without the agent's words, where only parts have these that are masked.
    fn unquoted(&self) -> String {
        match self {
            Self::Quoting { without, .. } => format!("{without}, in a part that is masked"),
            hint => hint.to_string(),
        }
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Self::Plain(text.to_owned())
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::Plain(text)
    }
}

impl From<WhyUnclear> for Hint {
    fn from(why: WhyUnclear) -> Self {
        Self::Unclear(why)
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) | Self::Quoting { whole: text, .. } => f.write_str(text),
            Self::Unclear(why) => why.fmt(f),
        }
    }
}

/// What the text of a request says of itself; [`TextHints`] is what is recorded of it.
#[derive(Debug)]
pub(super) struct RequestHints {
    pub(super) git: Option<Hint>,
    pub(super) more: Vec<Hint>,
    pub(super) needs: Vec<RuleName>,
}

impl RequestHints {
    /// In words.
    pub(super) fn in_words(self) -> TextHints {
        self.said(Hint::to_string)
    }

    /// In words, without those of the agent's that are not in `open` as well.
    pub(super) fn in_open_words(self, open: &Self) -> TextHints {
        self.said(|hint| {
            let is_open = open.git.iter().chain(&open.more).any(|it| it == hint);
            match is_open {
                true => hint.to_string(),
                false => hint.unquoted(),
            }
        })
    }

    fn said(self, words: impl Fn(&Hint) -> String) -> TextHints {
        TextHints {
            git: self.git.as_ref().map(&words),
            more: self.more.iter().map(words).collect(),
            needs: self.needs,
        }
    }
}
