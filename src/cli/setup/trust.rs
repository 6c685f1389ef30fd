//! `ctxrelay trust`: the parts of `config.json` that have power and wait for the operator, as a
//! diff; and the operator's agreement.

use serde_json::{Value, json};

use crate::cli::connection::connect::{Live, wait_for};
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::signing::operator_key;
use crate::core::id::SessionId;
use crate::core::signing::{
    ActSignature, OperatorAct, SignedPlace, SigningChange, SigningNotice, SigningState, TRUSTED,
};
use crate::store::config::{self, Loaded};
use crate::wire::config::{Problem, SigningMode, signing_mode};
use crate::wire::control::{Command, ProgramCode, Recorded, TrustParams};

/// Arguments of `trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay trust --show")]
pub struct Args {
    /// Only show what waits
    #[arg(long)]
    pub show: bool,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let project = &context.project;
    let loaded = config::load(&project.dirs, &project.user_dirs);
    if loaded.file.is_none() {
        let why = loaded.problems.first().map(ToString::to_string);
        return Err(Failure::state(
            ProgramCode::BadConfig,
            format!("config.json: {}", why.unwrap_or_default()),
            "mend it; until then nothing in it can be trusted",
        ));
    }
    // A file of trust that cannot be read is replaced, even when nothing else waits.
    let is_nothing_to_do = loaded.waiting.is_empty() && loaded.trust_lost.is_none();
    if args.show || is_nothing_to_do {
        return show(context, &loaded);
    }
    let command = |signing, signature| {
        Command::Trust(TrustParams {
            digest: loaded.digest.clone(),
            signing,
            signature,
        })
    };
    wait_for(async {
        let live = operator::live(context, &command(None, None)).await?;
        context.out.aside(text(&loaded))?;
        let what = "These keys have power: from now on they count as they are shown here.";
        operator::confirm(context, what, "trust")?;
        let (signing, signature) = sign(context, &live, &loaded).await?;
        let recorded: Recorded = live.ask_for(command(signing, signature)).await?;
        let line = format!("trusted, recorded as entry {}", recorded.seq);
        context.out.report(Report::new(&recorded, line))
    })
}

/// What `operator.signing` changes, signed by the key that it needs; or the signature of what is
/// trusted, where nothing changes.
async fn sign(
    context: &CliContext,
    live: &Live,
    loaded: &Loaded,
) -> Result<(Option<SigningChange>, Option<ActSignature>), Failure> {
    let world = live.snapshot().await?;
    let is_wanted = signing_mode(&loaded.power()) != SigningMode::Off;
    let state = world.signing.as_ref();
    if state.is_some_and(SigningState::signs_acts) && is_wanted {
        let (act, subject) = (OperatorAct::Trust, &loaded.digest);
        let signature = operator_key::sign_act(context, live, act, subject, "", TRUSTED).await?;
        return Ok((None, signature));
    }
    if state.is_none() && !is_wanted {
        return Ok((None, None));
    }
    let wanted = state.map(|state| &state.notice.signer);
    let key = operator_key::find_wanted(context, live, wanted).await?;
    let mode = signing_mode(&loaded.power());
    if is_wanted && key.signer().is_ssh() != (mode == SigningMode::Ssh) {
        return Err(Failure::state(
            ProgramCode::OtherKey,
            format!("the key here, {}, is of another sort", key.signer()),
            "`operator.signing` is `ssh` for an SSH key, and `passphrase` for one of ours",
        ));
    }
    let sign = |bytes: &[u8]| key.sign(bytes);
    // What was signed while the passphrase was typed counts.
    let world = live.snapshot().await?;
    let change = match (world.signing.as_ref(), is_wanted) {
        (Some(state), false) => state.sign_off(sign)?,
        (state, _) => {
            let place = SignedPlace {
                project: context.project.dirs.instance_id(),
                session: world
                    .session_id
                    .clone()
                    .unwrap_or_else(|| SessionId::new("")),
            };
            let notice = SigningNotice::sign(key.signer(), Some(place), sign)?;
            match state {
                // It signed the decisions alone, as earlier versions had it.
                Some(state) => state.sign_replacement(notice, sign)?,
                None => SigningChange::On { notice },
            }
        }
    };
    Ok((Some(change), None))
}

fn show(context: &CliContext, loaded: &Loaded) -> CliOutcome {
    let problems = loaded.ineffective();
    let waiting: Vec<Value> = loaded
        .waiting
        .iter()
        .map(|waiting| {
            json!({
                "key": waiting.key,
                "trusted": waiting.trusted,
                "found": waiting.found,
                "actsUpon": waiting.matters_now(),
                "problems": problems_of(&problems, &waiting.key)
                    .map(|problem| json!({"key": problem.key, "why": problem.why}))
                    .collect::<Vec<_>>(),
            })
        })
        .collect();
    let mut text = text(loaded);
    text.note(if waiting.is_empty() {
        "nothing in config.json waits for your trust"
    } else {
        "trust it with `ctxrelay trust`, or take it out of config.json"
    });
    let value = json!({"digest": loaded.digest, "waiting": waiting});
    context.out.report(Report::new(&value, text))
}

/// What of a key's value does not count as it stands there.
fn problems_of<'a>(problems: &'a [Problem], key: &'a str) -> impl Iterator<Item = &'a Problem> {
    problems
        .iter()
        .filter(move |problem| problem.is_within(key))
}

/// The keys that wait, each with what was trusted and what the file says.
fn text(loaded: &Loaded) -> ReportText {
    let mut out = ReportText::new();
    let problems = loaded.ineffective();
    for waiting in &loaded.waiting {
        let note = if waiting.matters_now() {
            ""
        } else {
            "  (no effect in this version)"
        };
        out.spans(&[(Tone::Strong, &waiting.key), (Tone::Faint, note)]);
        out.diff(waiting.diff());
        for told in Problem::told(problems_of(&problems, &waiting.key)) {
            out.spans(&[(Tone::Warning, "!  "), (Tone::Plain, &told)]);
        }
    }
    out
}
