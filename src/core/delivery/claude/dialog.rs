//! [`ClaudeDialog`]: the dialog that Claude waits for.

/// The dialog that Claude waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ClaudeDialog {
    /// Its own, whatever its helpers ask besides.
    #[default]
    Own,
    /// Only that of helpers.
    OfHelper,
}

impl ClaudeDialog {
    /// Why it waits, for people.
    pub(super) fn why(self) -> String {
        let why = match self {
            Self::Own => "it asks you something in its terminal",
            Self::OfHelper => "a helper of it asks you something in its terminal",
        };
        why.to_owned()
    }
}
