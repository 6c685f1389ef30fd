//! [`ShellText`]: the simple commands of a shell text, without the syntax around them.

/// A word after quotes are taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    /// What is known of it.
    pub(super) text: String,
    /// The shell puts something in, so that `text` is not all of it.
    pub(super) is_dynamic: bool,
    /// The shell may make several words of it, or none.
    pub(super) may_split: bool,
}

impl ShellWord {
    /// A word of which all is known.
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A word of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self {
            text: String::new(),
            is_dynamic: true,
            may_split: true,
        }
    }
}

/// A file that the shell opens for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellRedirect {
    pub(super) word: ShellWord,
    /// It is only read.
    pub(super) is_input: bool,
}

/// A program and its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// Assignments, the program, its arguments.
    pub(super) words: Vec<ShellWord>,
    /// The files that it reads and writes.
    pub(super) redirects: Vec<ShellRedirect>,
    /// The texts that it reads: here-documents and here-strings.
    pub(super) inputs: Vec<ShellWord>,
    /// It stands in `$( )`, in backticks or in `<( )`.
    pub(super) is_substituted: bool,
}

/// All simple commands of a text, those of its substitutions included.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ShellText {
    pub(super) commands: Vec<SimpleCommand>,
    /// Why the reading may have missed a command.
    pub(super) unclear: Option<&'static str>,
}

impl ShellText {
    /// Keeps the first reason.
    pub(super) fn is_unclear(&mut self, why: &'static str) {
        self.unclear.get_or_insert(why);
    }
}
