//! `ctxrelay search WORDS`: in the record, in sealed sessions and in tasks that can travel.

mod alike;
mod capsules;
mod everywhere;

use clap::ValueEnum;

use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::output::Tone;
use crate::cli::record::ledger::search::{foot, noted, pieces, source};
use crate::cli::record::ledger::vouching::FROM_ELSEWHERE;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::masking::Masking;
use crate::cli::text::words::{now_ms, time};
use crate::host::ProjectContext;
use crate::wire::search::{FoundHit, FoundIn, FoundPage};
pub use alike::{find_alike, found_text, said_words};
use everywhere::Everywhere;

/// Hits when nobody names a number.
const LIMIT: u32 = 50;

/// The most at once.
const LIMIT_MAX: u32 = 1000;

/// Arguments of `search`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: ctxrelay search 'token lifetime' --in capsules\n\n\
        All words must be there; the last one may go on. '\"two words\"' is a phrase, 'begin*' a \
        beginning. Nothing else means anything; put -- before words that begin with a dash."
)]
pub struct Args {
    /// What to look for
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
    /// Where to look
    #[arg(long = "in", value_name = "PLACE", value_enum, default_value_t)]
    pub place: SearchPlace,
    /// At most this many hits, 1000 at once
    #[arg(long, default_value_t = LIMIT, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(LIMIT_MAX)))]
    pub limit: u32,
    /// Go on after this `cursor`
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

/// Where is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum SearchPlace {
    /// The current session
    Record,
    /// Tasks: open, closed, from elsewhere
    Capsules,
    /// Sessions that are sealed
    Archives,
    /// All of these
    #[default]
    All,
    /// Not in this version
    #[value(name = "transcripts", alias = "commits", hide = true)]
    Unbuilt,
}

impl SearchPlace {
    /// The kinds of what is found there, in the order in which they are shown.
    fn kinds(self) -> &'static [FoundIn] {
        match self {
            Self::Record => &[FoundIn::Record],
            Self::Capsules => &[FoundIn::Capsule],
            Self::Archives => &[FoundIn::Archive],
            Self::All => &FoundIn::ALL,
            Self::Unbuilt => &[],
        }
    }
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let words = args.words.join(" ");
    let note = noted(context);
    Masking::load(&context.project).tell(&note);
    let everywhere = Everywhere::of(&context.project, &note);
    let (kinds, after) = (args.place.kinds(), args.after.as_deref());
    let page = everywhere.standing_page(&words, kinds, args.limit, after)?;
    context.out.report(Report::new(&page, text(&page)))
}

/// What the deck's search lists; slow.
///
/// # Errors
///
/// When the words make no sense, or a place cannot be searched.
pub(in crate::cli) fn for_deck(
    project: &ProjectContext,
    words: &str,
    place: SearchPlace,
    limit: u32,
    after: Option<&str>,
) -> Result<FoundPage, Failure> {
    Everywhere::of(project, &|_| ()).standing_page(words, place.kinds(), limit, after)
}

fn text(page: &FoundPage) -> ReportText {
    let mut out = ReportText::new();
    let now_ms = now_ms();
    let mut place = None;
    for found in &page.hits {
        let here = (found.kind, found.hit.session.as_ref());
        let here = match found.kind {
            FoundIn::Capsule => (FoundIn::Capsule, None),
            _ => here,
        };
        if place != Some(here) {
            place = Some(here);
            let session = here.1.map_or("", |session| session.as_str());
            let heading = match here.0 {
                FoundIn::Capsule => "tasks".to_owned(),
                FoundIn::Record => format!("record  {session}"),
                FoundIn::Archive => format!("archive  {session}"),
            };
            out.spans(&[(Tone::Faint, heading.trim_end())]);
        }
        line(&mut out, found, now_ms);
    }
    let found = (page.hits.len(), page.total, page.total_is_at_least);
    let (cursor, lacking) = (page.cursor.as_deref(), [page.behind, page.unread_lines]);
    foot(&mut out, ["hit", "hits"], found, cursor, lacking);
    out
}

fn line(out: &mut ReportText, found: &FoundHit, now_ms: i64) {
    let hit = &found.hit;
    let whose = match (found.unvouched, found.foreign) {
        (true, _) => format!("  {FROM_ELSEWHERE}"),
        (false, true) => "  from elsewhere".to_owned(),
        (false, false) => String::new(),
    };
    let (place, what) = match found.kind {
        FoundIn::Capsule => {
            let freshness = found.freshness.map_or("", |freshness| freshness.as_str());
            // Of a title no entry says it.
            let cited = match found.uncited {
                true => String::new(),
                false => format!("#{}  ", hit.seq),
            };
            (
                format!("  {}  ", hit.id),
                format!("{freshness}{whose}  {cited}"),
            )
        }
        FoundIn::Record | FoundIn::Archive => {
            let target = hit.target.as_deref();
            let target = target.map_or_else(String::new, |target| format!(" → {target}"));
            (
                format!("{:>6}  {}  ", hit.seq, time(hit.at, now_ms)),
                format!("{}  {}{target}{whose}  ", hit.entry_type, source(hit)),
            )
        }
    };
    let pieces = pieces(&hit.snippet, &hit.marks);
    let mut spans = vec![(Tone::Faint, place.as_str()), (Tone::Plain, what.as_str())];
    spans.extend(pieces.iter().map(|(found, text)| {
        let tone = if *found { Tone::Strong } else { Tone::Plain };
        (tone, text.as_str())
    }));
    out.spans(&spans);
}
