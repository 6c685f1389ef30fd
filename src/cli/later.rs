//! [`Later`]: words of a verb that are put together only where that verb is used.

use clap::{ArgMatches, Command, Error, FromArgMatches, Subcommand};

/// The words behind a verb. Every start of the program, each of an agent's hooks among them, would
/// otherwise put together the options of all verbs.
#[derive(Debug)]
pub struct Later<T>(pub T);

impl<T: Subcommand> Subcommand for Later<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(T::augment_subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(T::augment_subcommands_for_update)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
