//! [`given_commands`]: the shell text that a program is given to run.

use super::programs::ProgramRole;
use super::shell::ShellWord;

/// How many shells may stand within each other before what the innermost runs is only guessed.
pub(super) const SHELLS_MAX: usize = 4;

/// What a shell is given by `-c`, `-lc` and the like, or `eval` as its arguments.
pub(super) fn given_commands(role: ProgramRole, arguments: &[ShellWord]) -> Option<ShellWord> {
    match role {
        ProgramRole::Eval => {
            let texts: Vec<&str> = arguments.iter().map(|it| it.text.as_str()).collect();
            Some(ShellWord {
                text: texts.join(" "),
                is_dynamic: arguments.iter().any(|it| it.is_dynamic),
                may_split: false,
            })
        }
        ProgramRole::Shell => {
            let is_option = |it: &ShellWord| it.text.starts_with('-') && !it.text.starts_with("--");
            let at = arguments
                .iter()
                .position(|it| is_option(it) && it.text.contains('c'))?;
            let mut behind = arguments[at + 1..].iter();
            behind.find(|it| !it.text.starts_with('-')).cloned()
        }
        _ => None,
    }
}
