//! `ctxrelay operator key …`: the key that signs decisions.

use std::time::Duration;

use clap::Subcommand;
use serde_json::json;
use zeroize::Zeroizing;

use super::context::CliContext;
use super::exit::{CliOutcome, Failure};
use super::report::{Report, ReportText};
use super::{operator, passphrase};
use crate::core::signing::Signer;
use crate::deck::key_slot::{SigningKey, UnlockedKey};
use crate::host::ProjectContext;
use crate::store::config;
use crate::store::operator_key::{self, KeyError, OperatorKey, PASSPHRASE_CHARS_MIN};

/// What belongs to the operator.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The key that signs decisions
    #[command(subcommand, after_help = "Example: ctxrelay operator key show")]
    Key(KeyVerb),
}

/// What can be done about the key.
#[derive(Debug, Subcommand)]
pub enum KeyVerb {
    /// Make it, under a passphrase (operator)
    #[command(after_help = "Example: ctxrelay operator key new")]
    New,
    /// Its fingerprint
    #[command(after_help = "Example: ctxrelay operator key show --json")]
    Show,
    /// Remove it from this machine (operator)
    #[command(after_help = "Example: ctxrelay operator key remove")]
    Remove,
}

pub fn run(context: &CliContext, verb: &Verb) -> CliOutcome {
    match verb {
        Verb::Key(KeyVerb::New) => new(context),
        Verb::Key(KeyVerb::Show) => show(context),
        Verb::Key(KeyVerb::Remove) => remove(context),
    }
}

fn new(context: &CliContext) -> CliOutcome {
    refuse_others()?;
    let user = &context.setting.user_dirs;
    if !matches!(operator_key::read(user), Err(KeyError::Missing)) {
        return Err(failed(context, &KeyError::Exists));
    }
    context.out.note(
        "The passphrase is kept nowhere. Without it nothing can be decided where decisions are \
         signed.",
    );
    let first = passphrase::ask("New passphrase:")?;
    if first.chars().count() < PASSPHRASE_CHARS_MIN {
        return Err(Failure::refused(
            "too_short",
            format!("a passphrase has at least {PASSPHRASE_CHARS_MIN} characters"),
            "nothing was made; run the command again",
        ));
    }
    let again = passphrase::ask("The same again:")?;
    if *first != *again {
        return Err(Failure::refused(
            "not_confirmed",
            "these were two passphrases",
            "nothing was made; run the command again",
        ));
    }
    let key = operator_key::create(user, &first).map_err(|error| failed(context, &error))?;
    report(context, &key.signer(), "made")
}

fn show(context: &CliContext) -> CliOutcome {
    let signer = operator_key::read(&context.setting.user_dirs);
    let signer = signer.map_err(|error| failed(context, &error))?;
    report(context, &signer, "is there")
}

fn remove(context: &CliContext) -> CliOutcome {
    refuse_others()?;
    let user = &context.setting.user_dirs;
    let signer = operator_key::read(user).map_err(|error| failed(context, &error))?;
    let what = format!(
        "Where decisions are signed by {signer}, nobody can decide or switch signing off any more."
    );
    operator::confirm(context, &what, "remove")?;
    operator_key::remove(user).map_err(|error| failed(context, &error))?;
    report(context, &signer, "removed")
}

fn report(context: &CliContext, signer: &Signer, what: &str) -> CliOutcome {
    let path = context.setting.user_dirs.operator_key();
    let mut text = ReportText::new();
    text.note(format!("key {signer} {what}"));
    let value = json!({
        "signer": signer.as_str(),
        "fingerprint": signer.fingerprint(),
        "file": path.display().to_string(),
    });
    context.out.report(Report::new(&value, text))
}

/// No daemon has a part in this, so that nobody but this process can refuse.
fn refuse_others() -> Result<(), Failure> {
    operator::own_refusal().map_or(Ok(()), Err)
}

/// Has the operator type the passphrase of the key that is wanted.
///
/// # Errors
///
/// When there is no key, it is another one, or the passphrase is not its own.
pub fn unlock(context: &CliContext, wanted: Option<&Signer>) -> Result<OperatorKey, Failure> {
    let user = &context.setting.user_dirs;
    let found = operator_key::read(user).map_err(|error| failed(context, &error))?;
    if let Some(wanted) = wanted.filter(|wanted| **wanted != found) {
        return Err(Failure::refused(
            "other_key",
            format!("the key here is {found}, and decisions are signed by {wanted}"),
            "the key file was replaced, or decisions are signed by a key that is elsewhere",
        ));
    }
    let typed: Zeroizing<String> = passphrase::ask(&format!("Passphrase of the key {found}:"))?;
    operator_key::unlock(user, &typed).map_err(|error| failed(context, &error))
}

/// Unlocks the key for the deck: it is wanted, what was typed is its passphrase, and how long it may
/// be kept is what was trusted.
///
/// # Errors
///
/// As [`unlock`], as one sentence.
pub fn deck_key(
    setting: &ProjectContext,
    wanted: &Signer,
    typed: &str,
) -> Result<UnlockedKey, String> {
    let user = &setting.user_dirs;
    let found = operator_key::read(user).map_err(|error| error.to_string())?;
    if found != *wanted {
        return Err(format!(
            "the key file was replaced: it is {found}, and decisions are signed by {wanted}"
        ));
    }
    let key = operator_key::unlock(user, typed).map_err(|error| error.to_string())?;
    let keys = config::load(&setting.dirs, user).config.operator;
    Ok(UnlockedKey {
        key: Box::new(key),
        keep: Duration::from_secs(60 * keys.unlock_minutes.get()),
    })
}

impl SigningKey for OperatorKey {
    fn sign(&self, statement: &[u8]) -> String {
        self.value(statement)
    }
}

fn failed(context: &CliContext, error: &KeyError) -> Failure {
    let path = context.setting.user_dirs.operator_key();
    let hint = match error {
        KeyError::Missing => "make one: `ctxrelay operator key new`".to_owned(),
        KeyError::Exists => "see it: `ctxrelay operator key show`".to_owned(),
        KeyError::Wrong => "run the command again; nothing was changed".to_owned(),
        KeyError::Unreadable | KeyError::Io(_) => format!("see {}", path.display()),
    };
    match error {
        KeyError::Wrong => Failure::refused("wrong_passphrase", error.to_string(), hint),
        _ => Failure::state("no_key", error.to_string(), hint),
    }
}
