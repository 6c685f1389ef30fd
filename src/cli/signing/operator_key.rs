//! `ctxrelay operator key …`: the key that signs decisions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;
use zeroize::Zeroizing;

use crate::cli::connection::connect::Live;
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::{Report, ReportText};
use crate::cli::signing::passphrase;
use crate::cli::signing::ssh_sign::{Asking, help_elsewhere, ssh_sign};
use crate::core::signer::Signer;
use crate::core::signing::{ActSignature, OperatorAct, SigningState};
use crate::deck::key_slot::{KeyFault, SigningKey, UnlockedKey};
use crate::host::ProjectContext;
use crate::store::config;
use crate::store::dirs::UserDirs;
use crate::store::operator_key::{self, KeyError, OperatorKey, PASSPHRASE_CHARS_MIN};
use crate::wire::control::{Command, ProgramCode, RefusalCode, ReportKeyParams};

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
    /// Make it, under a passphrase, or take your own SSH key (operator)
    #[command(after_help = "Example: ctxrelay operator key new --ssh ~/.ssh/id_ed25519.pub")]
    New(KeyNewArgs),
    /// Its fingerprint
    #[command(after_help = "Example: ctxrelay operator key show --json")]
    Show,
    /// Remove it from this machine (operator)
    #[command(after_help = "Example: ctxrelay operator key remove")]
    Remove,
}

/// Arguments of `operator key new`.
#[derive(Debug, clap::Args)]
pub struct KeyNewArgs {
    /// Your own SSH key, by its public half: Ed25519 or P-256, also one that wants a touch
    #[arg(long, value_name = "PATH")]
    pub ssh: Option<PathBuf>,
}

pub fn run(context: &CliContext, verb: &Verb) -> CliOutcome {
    match verb {
        Verb::Key(KeyVerb::New(args)) => match &args.ssh {
            Some(path) => new_ssh(context, path),
            None => new(context),
        },
        Verb::Key(KeyVerb::Show) => show(context),
        Verb::Key(KeyVerb::Remove) => remove(context),
    }
}

fn new(context: &CliContext) -> CliOutcome {
    refuse_others()?;
    let user = &context.project.user_dirs;
    operator_key::must_be_missing(user).map_err(|error| failed(context, &error))?;
    context.out.note(
        "The passphrase is kept nowhere. Without it nothing can be decided where decisions are \
         signed.",
    );
    let first = passphrase::ask("New passphrase:")?;
    if first.chars().count() < PASSPHRASE_CHARS_MIN {
        return Err(Failure::refused(
            ProgramCode::TooShort,
            format!("a passphrase has at least {PASSPHRASE_CHARS_MIN} characters"),
            "nothing was made; run the command again",
        ));
    }
    let again = passphrase::ask("The same again:")?;
    if *first != *again {
        return Err(Failure::refused(
            ProgramCode::NotConfirmed,
            "these were two passphrases",
            "nothing was made; run the command again",
        ));
    }
    let key = operator_key::create(user, &first).map_err(|error| failed(context, &error))?;
    report(context, Some(&key.signer()), "made")
}

/// Signs once before it is taken: a key that cannot is not, nor one whose question is left.
fn new_ssh(context: &CliContext, path: &Path) -> CliOutcome {
    refuse_others()?;
    let user = &context.project.user_dirs;
    let no_key = |error: KeyError| failed(context, &error);
    let (signer, public_key) = operator_key::read_ssh(user, path).map_err(no_key)?;
    let key = ssh_signer(context, signer.clone(), public_key.clone());
    key.sign(b"ctxrelay operator key\n")?;
    operator_key::take_ssh(user, signer.clone(), public_key).map_err(no_key)?;
    if !signer.wants_touch() {
        context.out.note(
            "This is no security key: whatever runs as you, an agent's shell too, can sign with it \
             while it has no passphrase or lies in ssh-agent. Load it with `ssh-add -c`, which has \
             you confirm each use, or take a security key (FIDO).",
        );
    }
    report(context, Some(&signer), "is yours from now on")
}

fn show(context: &CliContext) -> CliOutcome {
    let signer = operator_key::read(&context.project.user_dirs);
    let signer = signer.map_err(|error| failed(context, &error))?;
    report(context, Some(&signer), "is there")
}

fn remove(context: &CliContext) -> CliOutcome {
    refuse_others()?;
    let user = &context.project.user_dirs;
    let signer = match operator_key::read(user) {
        Ok(signer) => Some(signer),
        // Nothing signs with it as it is, and no other key can be made while it lies there.
        Err(KeyError::Unreadable) => None,
        Err(error) => return Err(failed(context, &error)),
    };
    let what = match &signer {
        Some(signer) => format!("Where decisions are signed by {signer}, nobody"),
        None => format!(
            "{} is no key that this version can read. Where decisions are signed by it, nobody",
            user.operator_key().display()
        ),
    };
    let what = format!("{what} can decide or switch signing off any more.");
    operator::confirm(context, &what, "remove")?;
    operator_key::remove(user).map_err(|error| failed(context, &error))?;
    report(context, signer.as_ref(), "removed")
}

/// Without a signer it is a file that was no key.
fn report(context: &CliContext, signer: Option<&Signer>, what: &str) -> CliOutcome {
    let path = context.project.user_dirs.operator_key();
    let mut text = ReportText::new();
    text.note(match signer {
        Some(signer) => format!("key {signer} {what}"),
        None => format!("{} {what}", path.display()),
    });
    let value = json!({
        "signer": signer.map(Signer::as_str),
        "fingerprint": signer.map(Signer::fingerprint),
        "publicKey": signer.and_then(Signer::to_openssh),
        "file": path.display().to_string(),
    });
    context.out.report(Report::new(&value, text))
}

/// No daemon has a part in this, so that nobody but this process can refuse.
fn refuse_others() -> Result<(), Failure> {
    operator::asking_refusal().map_or(Ok(()), Err)
}

/// What signs for the operator on this terminal.
#[derive(Debug)]
pub enum OperatorSigner {
    /// Ours, unlocked.
    Passphrase(OperatorKey),
    /// The person's SSH key, which signs elsewhere.
    Ssh {
        /// Its public half.
        signer: Signer,
        /// Where that lies.
        public_key: PathBuf,
    },
}

impl OperatorSigner {
    /// The public half.
    pub fn signer(&self) -> Signer {
        match self {
            Self::Passphrase(key) => key.signer(),
            Self::Ssh { signer, .. } => signer.clone(),
        }
    }

    /// The signature of these bytes, in hex.
    ///
    /// # Errors
    ///
    /// When `ssh-keygen` has not signed.
    pub fn sign(&self, bytes: &[u8]) -> Result<String, Failure> {
        match self {
            Self::Passphrase(key) => Ok(key.value(bytes)),
            Self::Ssh { signer, public_key } => {
                let signed = ssh_sign(signer, public_key, bytes, Asking::Terminal, &|| false);
                signed.map_err(|why| {
                    let next = "nothing was recorded; run the command again";
                    Failure::refused(RefusalCode::NotSigned, why, next)
                })
            }
        }
    }
}

/// As [`find`]; that there is another key is an alarm in the record.
///
/// # Errors
///
/// As [`find`].
pub async fn find_wanted(
    context: &CliContext,
    live: &Live,
    wanted: Option<&Signer>,
) -> Result<OperatorSigner, Failure> {
    let found = operator_key::read(&context.project.user_dirs);
    if let Some(found) = found
        .ok()
        .filter(|found| wanted.is_some_and(|it| it != found))
    {
        live.ask(Command::ReportKey(ReportKeyParams { found }))
            .await?;
    }
    find(context, wanted)
}

/// The key that is wanted: its passphrase is typed, or `ssh-keygen` is told to be ready.
///
/// # Errors
///
/// When there is no key, it is another one, or the passphrase is not its own.
pub fn find(context: &CliContext, wanted: Option<&Signer>) -> Result<OperatorSigner, Failure> {
    let user = &context.project.user_dirs;
    let found = operator_key::read(user).map_err(|error| failed(context, &error))?;
    if let Some(wanted) = wanted.filter(|wanted| **wanted != found) {
        return Err(Failure::refused(
            ProgramCode::OtherKey,
            format!("the key here is {found}, and decisions are signed by {wanted}"),
            "the key file was replaced, or decisions are signed by a key that is elsewhere",
        ));
    }
    let ssh = operator_key::ssh_key(user).map_err(|error| failed(context, &error))?;
    if let Some(public_key) = ssh {
        return Ok(ssh_signer(context, found, public_key));
    }
    let typed: Zeroizing<String> = passphrase::ask(&format!("Passphrase of the key {found}:"))?;
    let unlocked = operator_key::unlock(user, &typed);
    let unlocked = unlocked.map_err(|error| failed(context, &error))?;
    Ok(OperatorSigner::Passphrase(unlocked))
}

/// The person's SSH key, which is to sign now.
fn ssh_signer(context: &CliContext, signer: Signer, public_key: PathBuf) -> OperatorSigner {
    let touch = if signer.wants_touch() {
        ": touch it when it blinks"
    } else {
        ""
    };
    let text = format!("signing with the key {signer}{touch}");
    context.out.note(&text);
    OperatorSigner::Ssh { signer, public_key }
}

/// Unlocks the key for the deck: it is wanted, what was typed is its passphrase, and how long it may
/// be kept is what was trusted.
///
/// # Errors
///
/// As [`find`].
pub fn deck_key(
    project: &ProjectContext,
    wanted: &Signer,
    typed: &str,
) -> Result<UnlockedKey, KeyFault> {
    let user = &project.user_dirs;
    must_be(user, wanted)?;
    let key = operator_key::unlock(user, typed).map_err(fault)?;
    let keys = config::load(&project.dirs, user).config.operator;
    Ok(UnlockedKey {
        key: Box::new(key),
        keep: Duration::from_secs(60 * keys.unlock_minutes.get()),
    })
}

/// Has the person's SSH key sign for the deck, which has the terminal.
///
/// # Errors
///
/// When it is another key, or `ssh-keygen` has not signed.
pub fn deck_ssh(
    project: &ProjectContext,
    wanted: &Signer,
    bytes: &[u8],
    is_left: &dyn Fn() -> bool,
) -> Result<String, KeyFault> {
    let user = &project.user_dirs;
    must_be(user, wanted)?;
    let path = operator_key::ssh_key(user).map_err(fault)?;
    let path = path.ok_or_else(|| fault(KeyError::Missing))?;
    let program = &project.own_program;
    let signed = ssh_sign(wanted, &path, bytes, Asking::Elsewhere { program }, is_left);
    signed.map_err(|why| {
        let has_agent = std::env::var_os("SSH_AUTH_SOCK").is_some_and(|socket| !socket.is_empty());
        let help = help_elsewhere(wanted, &path, has_agent);
        KeyFault::Refused(format!("{why}. {help}"))
    })
}

fn must_be(user: &UserDirs, wanted: &Signer) -> Result<(), KeyFault> {
    let found = operator_key::read(user).map_err(fault)?;
    match found == *wanted {
        true => Ok(()),
        false => Err(KeyFault::Replaced(found)),
    }
}

fn fault(error: KeyError) -> KeyFault {
    KeyFault::Refused(error.to_string())
}

impl SigningKey for OperatorKey {
    fn sign(&self, statement: &[u8]) -> String {
        self.value(statement)
    }
}

/// Has the operator sign an act, where the record says that it is signed. Asked for before the
/// world is read: nothing may be signed between the two.
///
/// # Errors
///
/// As [`find`], or when the daemon cannot be read.
pub async fn sign_act(
    context: &CliContext,
    live: &Live,
    act: OperatorAct,
    subject: &str,
    tree: &str,
    verdict: &str,
) -> Result<Option<ActSignature>, Failure> {
    let signing = live.snapshot().await?.signing;
    let Some(signing) = signing.filter(SigningState::signs_acts) else {
        return Ok(None);
    };
    let key = find_wanted(context, live, Some(&signing.notice.signer)).await?;
    let signing = live.snapshot().await?.signing.unwrap_or(signing);
    let signed = signing.sign_act(act, subject, tree, verdict, |bytes| key.sign(bytes));
    signed.map(Some)
}

fn failed(context: &CliContext, error: &KeyError) -> Failure {
    let path = context.project.user_dirs.operator_key();
    let hint = match error {
        KeyError::Missing => "make one: `ctxrelay operator key new`".to_owned(),
        KeyError::IsSsh | KeyError::NoSshKey(_) => {
            "see `ctxrelay operator key new --help`".to_owned()
        }
        KeyError::NoPublicKey { .. } => {
            "name your public key: `ctxrelay operator key new --ssh ~/.ssh/id_ed25519.pub`"
                .to_owned()
        }
        KeyError::Exists => "see it: `ctxrelay operator key show`".to_owned(),
        KeyError::Wrong => "run the command again; nothing was changed".to_owned(),
        KeyError::Unreadable => format!(
            "put {} back as it was, or remove it: `ctxrelay operator key remove`",
            path.display()
        ),
        KeyError::Io(_) => format!("see {}", path.display()),
    };
    let code = match error {
        KeyError::Wrong => {
            let code = ProgramCode::WrongPassphrase;
            return Failure::refused(code, error.to_string(), hint);
        }
        KeyError::Exists => ProgramCode::KeyExists,
        KeyError::Unreadable | KeyError::Io(_) => ProgramCode::Unreadable,
        _ => ProgramCode::NoKey,
    };
    Failure::state(code, error.to_string(), hint)
}
