//! [`WhyUnclear`]: why the text of a command does not say what that does.

use std::fmt;

/// The reason. Of two the one that is named here last is told.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyUnclear {
    /// In words, as the beginning of a sentence.
    Other(String),
    GitAlias,
    GitSubcommand,
    /// A variable or another command names the program.
    Program,
}

impl fmt::Display for WhyUnclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Other(why) => why,
            Self::GitAlias => "an alias of git's is used",
            Self::GitSubcommand => "git's subcommand is not in the text",
            Self::Program => "which program runs is not in the text",
        })
    }
}
