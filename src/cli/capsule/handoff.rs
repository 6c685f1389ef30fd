//! `ctxrelay capsule handoff`: a task as a text for somebody who continues it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

use super::alike::chosen;
use super::change::record_kept;
use super::maker::CapsuleMaker;
use crate::adapters::git::now::GitNeed;
use crate::cli::connection::connect::wait_for;
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::destination::Destination;
use crate::cli::record::search::{found_text, said_words};
use crate::cli::report::{Report, ReportText};
use crate::core::agent::Agent;
use crate::core::capsule::{
    Capsule, FoundText, RENDER_CHARS_MAX, RenderTarget, RenderTerms, Rendering,
};
use crate::core::cut_text::one_line;
use crate::core::id::RuntimeSession;
use crate::core::in_quotes::in_quotes;
use crate::store::capsules::CapsuleOwner;
use crate::store::dirs::ProjectDirs;
use crate::wire::control::{Command, HandoffParams, Sent};
use crate::wire::search::{FoundHit, FoundIn};

/// Arguments of `capsule handoff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay capsule handoff cap_3f9a61c07b2e --to codex --send")]
pub struct HandTaskArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// For whom
    #[arg(long, value_name = "TARGET", value_parser = target())]
    pub to: RenderTarget,
    /// At most this many characters
    #[arg(long, value_name = "N", default_value_t = RENDER_CHARS_MAX, value_parser = budget)]
    pub budget: usize,
    /// Into this file, readable by you alone; its folder is made where it is missing
    #[arg(long, short, value_name = "FILE", conflicts_with = "send")]
    pub output: Option<PathBuf>,
    /// Take the place of a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Add what was said about the same before, as far as you tick it: at most 5 texts, looked for by
    /// these words, else by the title
    #[arg(long, value_name = "WORDS", num_args = 0..=1, require_equals = true)]
    pub hydrate: Option<Option<String>>,
    /// All of that, without a question
    #[arg(long, requires = "hydrate")]
    pub yes: bool,
    /// On the clipboard of this terminal (OSC 52)
    #[arg(long, conflicts_with_all = ["output", "send"])]
    pub copy: bool,
    /// To Claude or Codex, as a handoff of yours (operator)
    #[arg(long)]
    pub send: bool,
    /// To the agent of this pair; without, to your own pair's, or to the only Claude that is here
    #[arg(long, value_name = "NAME", requires = "send", value_parser = pair_word)]
    pub pair: Option<RuntimeSession>,
}

/// Less has no room for what has to be said first, in characters.
const BUDGET_MIN: usize = 3_000;

/// More is not read by anybody, in characters.
const BUDGET_MAX: usize = 100_000;

/// Help and completions know them all.
fn target() -> impl TypedValueParser<Value = RenderTarget> {
    let names = PossibleValuesParser::new(RenderTarget::ALL.map(|target| target.form().name));
    names.try_map(|word| {
        let mut all = RenderTarget::ALL.into_iter();
        all.find(|target| target.form().name == word)
            .ok_or("there is no such target")
    })
}

fn pair_word(name: &str) -> Result<RuntimeSession, String> {
    match name.trim().is_empty() {
        true => Err("the name of a pair, as `ctxrelay status` lists it".to_owned()),
        false => Ok(RuntimeSession::new(name)),
    }
}

fn budget(text: &str) -> Result<usize, String> {
    let chars = text.parse().ok();
    chars
        .filter(|chars| (BUDGET_MIN..=BUDGET_MAX).contains(chars))
        .ok_or_else(|| format!("a number from {BUDGET_MIN} to {BUDGET_MAX}"))
}

pub(super) fn run(context: &CliContext, args: &HandTaskArgs) -> CliOutcome {
    let maker = CapsuleMaker::open_ahead(&context.project, GitNeed::Stand)?;
    // What is printed goes out too: it is made for somebody else.
    maker.check_to_go_out()?;
    let mut made = maker.named(&args.id)?;
    let stands = maker.stands_with_last(&mut made);
    for remark in &made.remarks {
        context.out.note(remark);
    }
    let made = maker.shown(made);
    let found = match &args.hydrate {
        None => Vec::new(),
        Some(words) => {
            let words = words.as_deref().unwrap_or(&made.capsule.title);
            chosen(context, words, args.yes, |hit| {
                goes_along(&maker, &made.capsule, hit)
            })?
        }
    };
    let rendering = Rendering::of(
        &made.capsule,
        RenderTerms {
            target: args.to,
            stands: &stands,
            is_foreign: made.owner == CapsuleOwner::Foreign,
            chars_max: args.budget,
            found: &found,
        },
    );
    let sent = match args.send {
        true => Some(send(context, args, &made.capsule, &rendering)?),
        false => None,
    };
    if sent.as_ref().is_some_and(|sent| !sent.duplicate) {
        // The person may have looked at what goes along for long.
        let keeping = maker.keeping(&made);
        match keeping.map_or(Ok(None), |keeping| keeping.keep_open(&context.project)) {
            Ok(kept) => record_kept(context, &made.capsule.id, kept),
            Err(failure) => context.out.note(&failure.message),
        }
    }
    if let Some(path) = &args.output {
        make_folder(&context.project.dirs, path)?;
        let destination = Destination::open(&context.project.dirs, path, args.force)?;
        let written = destination.file().write_all(rendering.text.as_bytes());
        written.map_err(|error| Failure::unwritable(path, error, "see that the disk has room"))?;
        destination.keep()?;
    }
    if args.copy {
        context.out.copy(&rendering.text)?;
    }
    let left = rendering.left_out.iter();
    let left: Vec<Value> = left
        .map(|(what, count)| json!({"what": what, "count": count}))
        .collect();
    let name = args.to.form().name;
    let value = json!({
        "id": made.capsule.id,
        "to": name,
        "freshness": stands.freshness,
        "text": rendering.text,
        "leftOut": left,
        "found": found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "foreign": made.owner == CapsuleOwner::Foreign,
        "remarks": made.remarks,
        "sent": sent,
    });
    let mut text = ReportText::new();
    match (&sent, &args.output) {
        (Some(sent), _) if sent.duplicate => {
            text.line(Sent::said_before(&sent.seq.to_string()));
        }
        (Some(sent), _) => text.line(format!(
            "{} was handed to {name} as entry {}",
            made.capsule.id, sent.seq
        )),
        (None, Some(path)) => {
            text.line(format!(
                "{} for {name} is in {}",
                made.capsule.id,
                path.display()
            ));
        }
        (None, None) if args.copy => {
            text.line(format!(
                "{} for {name} is on the clipboard",
                made.capsule.id
            ));
        }
        (None, None) => text.block("", rendering.text.trim_end()),
    }
    context.out.report(Report::new(&value, text))
}

/// What was found as it goes along with a capsule; none of what does not.
pub(super) fn goes_along(
    maker: &CapsuleMaker,
    capsule: &Capsule,
    hit: &FoundHit,
) -> Option<FoundText> {
    // It leaves beside the capsule, and tells as little of this machine.
    let masked = |text: &str| maker.masked(text);
    let is_led_to = hit.kind != FoundIn::Archive || maker.leads_to(hit);
    let goes_along = !is_of(capsule, hit) && maker.vouches_for(hit) && is_led_to;
    goes_along.then(|| found_text(hit).whole_words().each(masked))
}

/// Whether the capsule itself has it: the entry, or the words, as another task has them that began with
/// what was said in this one.
fn is_of(capsule: &Capsule, found: &FoundHit) -> bool {
    let place = (found.hit.session.as_ref(), found.hit.seq);
    let mut lines = capsule
        .statements()
        .filter_map(|(_, said)| said.line.as_ref());
    let snippet = one_line(&found.hit.snippet);
    let words = said_words(&snippet);
    let (before, after) = snippet.split_once(words).unwrap_or_default();
    let is_piece = before.trim_end().ends_with('…') || after.trim_start().starts_with('…');
    // `use cookies` is no part of what says not to use cookies.
    let has_words = |text: &str| match one_line(text) {
        line if is_piece => line.contains(words),
        line => said_words(&line) == words,
    };
    let mut passages = capsule.passages().into_iter();
    found.hit.id.as_str() == capsule.id.as_str()
        || !found.uncited && lines.any(|line| (Some(&line.session), line.seq.0) == place)
        || !words.is_empty() && passages.any(|it| has_words(it.text))
}

/// What is sent: it names the capsule. For which pair the daemon says where nobody has.
pub(super) fn as_handoff(
    pair: Option<RuntimeSession>,
    to: Agent,
    capsule: &Capsule,
    rendering: &Rendering,
) -> HandoffParams {
    HandoffParams {
        to: Some(to),
        ask: rendering.text.clone(),
        // Beside the text the title stands in our own sentence: it may be a stranger's.
        reason: format!("the task {} goes on with you", in_quotes(&capsule.title)),
        context_refs: vec![capsule.id.to_string()],
        task: Some(capsule.id.clone()),
        runtime_session_id: pair,
        ..HandoffParams::default()
    }
}

/// As a handoff of the operator's, which names the capsule.
fn send(
    context: &CliContext,
    args: &HandTaskArgs,
    capsule: &Capsule,
    rendering: &Rendering,
) -> Result<Sent, Failure> {
    let to = match args.to {
        RenderTarget::Claude => Agent::Claude,
        RenderTarget::Codex => Agent::Codex,
        _ => {
            return Err(Failure::invalid(
                format!(
                    "{} is no agent that can be sent something",
                    args.to.form().name
                ),
                "leave --send out, and name a file with -o",
            ));
        }
    };
    let command = Command::Handoff(as_handoff(args.pair.clone(), to, capsule, rendering));
    wait_for(async {
        let live = operator::live(context, &command).await?;
        live.ask_for(command).await
    })
}

/// Makes the folder of a file where it is missing: a tool's rules may be the first there.
fn make_folder(dirs: &ProjectDirs, path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.exists());
    let is_ours = |folder: &Path| {
        let named = std::path::absolute(folder);
        named.is_ok_and(|named| named.starts_with(&dirs.relay))
    };
    let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty() && !is_ours(folder))
    else {
        return Ok(());
    };
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::unwritable(folder, error, "name a folder that is yours"))
}
