//! `ctxrelay ledger search WORDS`: from the daemon, or from the files if none runs or other
//! sessions are requested. [`current`] and [`all`] serve `ctxrelay search` too.

use std::path::Path;

use super::vouching::{FROM_ELSEWHERE, Vouching};
use crate::cli::connection::dialed::Dialed;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::disk;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::masking::Masking;
use crate::cli::text::words::{count, left_out, now_ms, time};
use crate::core::id::SessionId;
use crate::core::in_quotes::named;
use crate::core::redact::Redactor;
use crate::host::ProjectContext;
use crate::store::search::{RequestError, SealedIndex, SearchError, SearchRequest, search_file};
use crate::store::{registry, session};
use crate::wire::control::Command;
use crate::wire::search::{SearchHit, SearchPage, SearchParams};

/// Hits when nobody names a number.
const LIMIT: u32 = 50;

/// The most at once; the daemon's own bound.
const LIMIT_MAX: u32 = 1000;

/// The word for every session there is.
const ALL: &str = "all";

/// Arguments of `ledger search`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: ctxrelay ledger search 'refresh token' --limit 20\n\n\
        All words must be there; the last one may go on. '\"two words\"' is a phrase, 'begin*' a \
        beginning. Nothing else means anything; put -- before words that begin with a dash."
)]
pub struct Args {
    /// What to look for
    #[arg(value_name = "WORDS", required = true)]
    pub words: Vec<String>,
    /// At most this many entries, newest first, 1000 at once
    #[arg(long, default_value_t = LIMIT, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(LIMIT_MAX)))]
    pub limit: u32,
    /// Go on after this `cursor`
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// Another session than the current one, or `all`, archives included
    #[arg(long, value_name = "ID|all")]
    pub session: Option<String>,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let params = SearchParams {
        words: args.words.join(" "),
        limit: Some(args.limit),
        after: args.after.clone(),
        ..SearchParams::default()
    };
    Masking::load(&context.project).tell(&noted(context));
    let page = match args.session.as_deref() {
        None => {
            let dialed = Dialed::dial(&context.project)?;
            current(&context.project, &dialed, &noted(context), &params)?
        }
        Some(ALL) => {
            let mut page = all(&context.project, &noted(context), params, None)?;
            Vouching::of(&context.project).mark(&mut page.hits, None);
            page
        }
        Some(session) => {
            let path = disk::session_file(&context.project.dirs, session)?;
            let session = SessionId::new(session);
            let noted = noted(context);
            let files = FileSearch::of(&context.project, &noted);
            let mut page = files.page(&session, &path, &params)?;
            Vouching::of(&context.project).mark(&mut page.hits, Some(&session));
            page
        }
    };
    context.out.report(Report::new(&page, text(&page)))
}

/// In the current session. What is left out is told to `note`.
///
/// # Errors
///
/// When the words make no sense, or the record cannot be read.
pub(in crate::cli) fn current(
    project: &ProjectContext,
    dialed: &Dialed,
    note: &dyn Fn(&str),
    params: &SearchParams,
) -> Result<SearchPage, Failure> {
    if let Some(live) = dialed.live() {
        return dialed.wait_for(live.ask_for(Command::LedgerSearch(params.clone())));
    }
    match disk::current(project)? {
        Some((session, path)) => {
            let mut page = FileSearch::of(project, note).page(&session, &path, params)?;
            Vouching::of(project).mark(&mut page.hits, Some(&session));
            Ok(page)
        }
        None => {
            request(params)?;
            Ok(nothing())
        }
    }
}

/// Says what is left out on the terminal.
pub(in crate::cli) fn noted(context: &CliContext) -> impl Fn(&str) {
    |remark| context.out.note(remark)
}

/// In every session there is but one, youngest first. The cursor names the session and the place in
/// it. What is left out is told to `note`.
///
/// # Errors
///
/// As [`current`].
pub(in crate::cli) fn all(
    project: &ProjectContext,
    note: &dyn Fn(&str),
    mut params: SearchParams,
    but: Option<&SessionId>,
) -> Result<SearchPage, Failure> {
    let mut from = match params.after.take() {
        None => None,
        Some(cursor) => Some(
            cursor
                .split_once(':')
                .filter(|(_, seq)| seq.parse::<u64>().is_ok())
                .map(|(session, seq)| (session.to_owned(), seq.to_owned()))
                .ok_or_else(|| senseless(&RequestError::Cursor(cursor)))?,
        ),
    };
    request(&params)?;
    let limit = params.limit.unwrap_or(LIMIT) as usize;
    let mut page = nothing();
    let sessions = session::all(&project.dirs);
    let sessions = sessions.map_err(|(dir, error)| disk::unreadable(&dir, &error))?;
    let sessions = sessions.into_iter();
    let files = FileSearch::of(project, note);
    for (session, path) in sessions.filter(|(session, _)| Some(session) != but) {
        // Sessions before the cursor were shown; they still count.
        let room = limit.saturating_sub(page.hits.len());
        let is_shown = from
            .as_ref()
            .is_none_or(|(at, _)| session.as_str() <= at.as_str());
        params.after = match &from {
            Some((at, seq)) if session.as_str() == at => Some(seq.clone()),
            _ => None,
        };
        params.limit = Some(u32::try_from(room).unwrap_or(LIMIT_MAX).max(1));
        let found = match files.page(&session, &path, &params) {
            Ok(found) => found.of_session(&session),
            // One that an agent put there must not hide all the others.
            Err(failure) => {
                note(&failure.message);
                page.total_is_at_least = true;
                continue;
            }
        };
        page.total += found.total;
        page.total_is_at_least |= found.total_is_at_least;
        page.unread_lines += found.unread_lines;
        if !is_shown {
            continue;
        }
        from = None;
        if room == 0 {
            // There is another page if anything is left for it.
            if let (None, Some(last), false) =
                (&page.cursor, page.hits.last(), found.hits.is_empty())
            {
                page.cursor = Some(last.place());
            }
            continue;
        }
        page.hits.extend(found.hits);
        if found.cursor.is_some() {
            page.cursor = page.hits.last().map(SearchHit::place);
        }
    }
    Ok(page)
}

/// A search in files, beside the daemon: what it needs of the project is read once for any number of
/// them.
struct FileSearch<'a> {
    project: &'a ProjectContext,
    note: &'a dyn Fn(&str),
    redactor: Redactor,
    /// An index that came with somebody else's project is not believed.
    is_known: bool,
    indexed: Option<SealedIndex>,
}

impl<'a> FileSearch<'a> {
    fn of(project: &'a ProjectContext, note: &'a dyn Fn(&str)) -> Self {
        let is_known = registry::is_known(&project.user_dirs, &project.dirs).unwrap_or(false);
        let indexed = is_known.then(|| SealedIndex::open(&project.dirs));
        Self {
            project,
            note,
            redactor: Masking::load(project).redactor(),
            is_known,
            indexed: indexed.flatten(),
        }
    }

    /// A page of one session.
    fn page(
        &self,
        session: &SessionId,
        path: &Path,
        params: &SearchParams,
    ) -> Result<SearchPage, Failure> {
        let request = request(params)?;
        let indexed = self.indexed.as_ref();
        let indexed = indexed.and_then(|it| it.find(session, path, &self.redactor, &request));
        if let Some(found) = indexed {
            return Ok(found);
        }
        let reach = disk::reach_with(self.project, session, path);
        let unreadable = |source| SearchError::Ledger {
            path: path.to_owned(),
            source,
        };
        let found = reach.map_err(unreadable).and_then(|(reach, reading)| {
            if let Some(remark) = reach.remark() {
                (self.note)(&remark);
            }
            let reading = reading.as_ref().filter(|_| self.is_known);
            search_file(
                &self.project.dirs,
                reading.map(|reading| (session, reading)),
                path,
                reach.bytes,
                &self.redactor,
                &request,
            )
        });
        match found {
            Ok(found) => Ok(found),
            Err(SearchError::Ledger { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(nothing())
            }
            Err(SearchError::Ledger { path, source }) => Err(disk::unreadable(&path, &source)),
            Err(error) => Err(Failure::internal("search the record", error)),
        }
    }
}

fn request(params: &SearchParams) -> Result<SearchRequest, Failure> {
    SearchRequest::of(params).map_err(|error| senseless(&error))
}

/// What the caller typed makes no sense.
pub(in crate::cli) fn senseless(error: &RequestError) -> Failure {
    Failure::invalid(error.to_string(), error.hint())
}

fn nothing() -> SearchPage {
    SearchPage::default()
}

fn text(page: &SearchPage) -> ReportText {
    let mut out = ReportText::new();
    let now_ms = now_ms();
    let mut session = None;
    for hit in &page.hits {
        if hit.session != session {
            session = hit.session.clone();
            if let Some(session) = &session {
                out.spans(&[(Tone::Faint, session.as_str())]);
            }
        }
        line(&mut out, hit, now_ms);
    }
    let found = (page.hits.len(), page.total, page.total_is_at_least);
    let (cursor, lacking) = (page.cursor.as_deref(), [page.behind, page.unread_lines]);
    foot(&mut out, ["entry", "entries"], found, cursor, lacking);
    out
}

/// What a page of a search ends with: how many it shows, how many there are and whether there may
/// be more, and how many entries and lines could not be searched.
pub(in crate::cli) fn foot(
    out: &mut ReportText,
    [one, many]: [&str; 2],
    (shown, total, is_at_least): (usize, u64, bool),
    cursor: Option<&str>,
    [behind, unread_lines]: [u64; 2],
) {
    let more = if is_at_least { " or more" } else { "" };
    out.note(&match (shown, total) {
        (0, 0) => "nothing found".to_owned(),
        (shown, total) => format!("{shown} of {}{more}", count(total, one, many)),
    });
    if let Some(cursor) = cursor {
        out.note(format!("more with --after {cursor}"));
    }
    if behind > 0 {
        out.note(format!(
            "the index is being built: {} not searched yet",
            count(behind, "entry was", "entries were")
        ));
    }
    if let Some(note) = left_out(unread_lines) {
        out.note(note);
    }
}

fn line(out: &mut ReportText, hit: &SearchHit, now_ms: i64) {
    let place = format!("{:>6}  {}  ", hit.seq, time(hit.at, now_ms));
    let target = match &hit.target {
        None => String::new(),
        Some(target) => format!(" → {target}"),
    };
    let whose = match hit.apart {
        true => format!("  {FROM_ELSEWHERE}"),
        false => String::new(),
    };
    let who = format!("  {}{target}{whose}  ", source(hit));
    let entry_type = hit.entry_type.to_string();
    let pieces = pieces(&hit.snippet, &hit.marks);
    let mut spans = vec![
        (Tone::Faint, place.as_str()),
        (Tone::Plain, entry_type.as_str()),
        (Tone::Faint, who.as_str()),
    ];
    spans.extend(pieces.iter().map(|(found, text)| {
        let tone = if *found { Tone::Strong } else { Tone::Plain };
        (tone, text.as_str())
    }));
    out.spans(&spans);
}

/// Who said it. An agent may read this: what a review says is nobody's order.
pub(in crate::cli) fn source(hit: &SearchHit) -> String {
    match &hit.review {
        Some(author) => format!("review text, untrusted, by {}", named(author)),
        None => hit.source.clone(),
    }
}

/// A snippet cut where its marks begin and end.
pub(in crate::cli) fn pieces(snippet: &str, marks: &[(u32, u32)]) -> Vec<(bool, String)> {
    let mut pieces: Vec<(bool, String)> = Vec::new();
    for (at, c) in snippet.chars().enumerate() {
        let found = marks
            .iter()
            .any(|(from, to)| (*from as usize..*to as usize).contains(&at));
        match pieces.last_mut() {
            Some((has, text)) if *has == found => text.push(c),
            _ => pieces.push((found, c.to_string())),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_cut_at_its_marks() {
        let pieces = pieces("the 锁 is", &[(4, 5), (6, 8)]);
        let joined: Vec<_> = pieces
            .iter()
            .map(|(found, text)| (*found, text.as_str()))
            .collect();
        assert_eq!(
            joined,
            [(false, "the "), (true, "锁"), (false, " "), (true, "is")]
        );
    }
}
