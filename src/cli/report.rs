//! [`Report`]: the result of a verb, filled once: a value for programs, [`ReportText`] for people.
//!
//! Builds and does not print: [`super::output`] shows one of the two.

use serde::Serialize;

use super::exit::ExitKind;
use super::output::Tone;

/// What a verb has to tell.
#[derive(Debug)]
pub struct Report {
    pub(super) value: serde_json::Result<String>,
    pub(super) text: ReportText,
    pub(super) kind: ExitKind,
}

impl Report {
    /// The one value of a `--json` call, and the same for people.
    pub fn new(value: &impl Serialize, text: impl Into<ReportText>) -> Self {
        Self {
            value: serde_json::to_string(value),
            text: text.into(),
            kind: ExitKind::Ok,
        }
    }

    /// Of a check: the program ends with [`ExitKind::CheckFailed`] unless it is `ok`.
    #[must_use]
    pub fn checked(self, ok: bool) -> Self {
        let kind = if ok {
            ExitKind::Ok
        } else {
            ExitKind::CheckFailed
        };
        Self { kind, ..self }
    }
}

/// Lines for people, in their order.
#[derive(Debug, Default)]
pub struct ReportText {
    pub(super) parts: Vec<ReportPart>,
}

/// A piece of a [`ReportText`].
#[derive(Debug)]
pub(super) enum ReportPart {
    /// One line of the result, made of pieces.
    Spans(Vec<(Tone, String)>),
    /// Several lines of the result, each behind an indent.
    Block(&'static str, String),
    /// Said to the person, and no part of the result.
    Note(String),
    /// Bytes of our own making, as they are.
    Raw(Vec<u8>),
}

impl ReportText {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn line(&mut self, text: impl Into<String>) {
        self.parts
            .push(ReportPart::Spans(vec![(Tone::Plain, text.into())]));
    }

    /// One line made of pieces.
    pub fn spans(&mut self, spans: &[(Tone, &str)]) {
        let spans = spans.iter().map(|(tone, text)| (*tone, (*text).to_owned()));
        self.parts.push(ReportPart::Spans(spans.collect()));
    }

    /// Text of several lines, each behind an indent.
    pub fn block(&mut self, indent: &'static str, text: impl Into<String>) {
        self.parts.push(ReportPart::Block(indent, text.into()));
    }

    /// Says something to the person that is not the result.
    pub fn note(&mut self, text: impl Into<String>) {
        self.parts.push(ReportPart::Note(text.into()));
    }

    /// What would be done, and below it what `more` has to say about it.
    pub fn dry_run(what: &str, more: impl FnOnce(&mut Self)) -> Self {
        let mut text = Self::from(format!("would do: {what}"));
        more(&mut text);
        text.note("this was a dry run; do it with --apply");
        text
    }

    /// Lines that were added, and such as were taken away.
    pub fn diff(&mut self, lines: Vec<(bool, String)>) {
        for (added, line) in lines {
            let (tone, sign) = if added {
                (Tone::Good, "+ ")
            } else {
                (Tone::Bad, "- ")
            };
            self.spans(&[(tone, sign), (tone, &line)]);
        }
    }
}

impl From<Vec<u8>> for ReportText {
    /// Bytes of our own making that are printed as they are: completions, the manual page.
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            parts: vec![ReportPart::Raw(bytes)],
        }
    }
}

impl From<String> for ReportText {
    fn from(line: String) -> Self {
        let mut text = Self::new();
        text.line(line);
        text
    }
}

impl From<&str> for ReportText {
    fn from(line: &str) -> Self {
        line.to_owned().into()
    }
}
