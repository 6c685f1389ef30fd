//! [`Later`]: texts of a verb that are built only when that verb is used.

use clap::{ArgMatches, Command, Error, FromArgMatches, Subcommand};

/// The words behind a verb. Every start of the program, each of an agent's hooks among them, would
/// otherwise put together the options of all verbs.
#[derive(Debug)]
pub struct Later<T>(pub T);

impl<T: Subcommand> Subcommand for Later<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(|command| as_named(command, T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(|command| as_named(command, T::augment_subcommands_for_update))
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

/// What the verb itself is said to be stays: what stands at its words is for who reads the code.
fn as_named(command: Command, with: fn(Command) -> Command) -> Command {
    let (about, long) = (
        command.get_about().cloned(),
        command.get_long_about().cloned(),
    );
    let mut command = with(command);
    if let Some(about) = about {
        command = command.about(about);
    }
    match long {
        Some(long) => command.long_about(long),
        None => command.long_about(None::<&'static str>),
    }
}
