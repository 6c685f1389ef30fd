//! `ctxrelay trust`: what of `config.json` has power and waits for the operator, as a diff; and the
//! operator's yes.

use serde_json::{Value, json};

use super::connect::{runtime, unexpected};
use super::context::CliContext;
use super::exit::{CliOutcome, Failure};
use super::output::Tone;
use super::report::{Report, ReportText};
use super::{operator, operator_key};
use crate::core::signing::{SigningChange, SigningState, SigningStatement};
use crate::store::config::{self, Loaded};
use crate::wire::config::{SigningMode, signing_mode};
use crate::wire::control::{Command, Reply, TrustParams};

/// Arguments of `trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay trust --show")]
pub struct Args {
    /// Only show what waits
    #[arg(long)]
    pub show: bool,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let setting = &context.setting;
    let loaded = config::load(&setting.dirs, &setting.user_dirs);
    if loaded.file.is_none() {
        let why = loaded.problems.first().map(ToString::to_string);
        return Err(Failure::state(
            "bad_config",
            format!("config.json: {}", why.unwrap_or_default()),
            "mend it; until then nothing in it can be trusted",
        ));
    }
    if args.show || loaded.waiting.is_empty() {
        return show(context, &loaded);
    }
    let command = |signing| {
        Command::Trust(TrustParams {
            digest: loaded.digest.clone(),
            signing,
        })
    };
    runtime()?.block_on(async {
        operator::check(context, &command(None)).await?;
        let live = operator::live(context).await?;
        context.out.aside(text(&loaded))?;
        let what = "These keys have power: from now on they count as they are shown here.";
        operator::confirm(context, what, "trust")?;
        let world = live.snapshot().await?;
        let signing = signing_change(context, &loaded, world.signing.as_ref())?;
        match live.ask(command(signing)).await? {
            Reply::Recorded(recorded) => {
                let line = format!("trusted, recorded as entry {}", recorded.seq);
                context.out.report(Report::new(&recorded, line))
            }
            other => Err(unexpected(&other)),
        }
    })
}

/// What `operator.signing` changes, signed by the key that it needs.
fn signing_change(
    context: &CliContext,
    loaded: &Loaded,
    state: Option<&SigningState>,
) -> Result<Option<SigningChange>, Failure> {
    let wanted = signing_mode(&loaded.power());
    Ok(match (wanted, state) {
        (SigningMode::Passphrase, None) => {
            let notice = operator_key::unlock(context, None)?.notice();
            Some(SigningChange::On { notice })
        }
        (SigningMode::Off, Some(state)) => {
            let key = operator_key::unlock(context, Some(&state.notice.signer))?;
            let head = state.head.as_deref().unwrap_or_default();
            let value = key.sign_change(&SigningStatement::Off { head });
            Some(SigningChange::Off { value })
        }
        _ => None,
    })
}

fn show(context: &CliContext, loaded: &Loaded) -> CliOutcome {
    let waiting: Vec<Value> = loaded
        .waiting
        .iter()
        .map(|waiting| {
            json!({
                "key": waiting.key,
                "trusted": waiting.trusted,
                "found": waiting.found,
                "actsUpon": waiting.matters_now(),
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

/// The keys that wait, each with what was trusted and what the file says.
fn text(loaded: &Loaded) -> ReportText {
    let mut out = ReportText::new();
    for waiting in &loaded.waiting {
        let note = if waiting.matters_now() {
            ""
        } else {
            "  (no effect in this version)"
        };
        out.spans(&[(Tone::Strong, &waiting.key), (Tone::Faint, note)]);
        out.diff(waiting.diff());
    }
    out
}
