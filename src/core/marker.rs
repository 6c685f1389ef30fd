//! [`Marker`]: what a Codex without our tools can still express, as the beginning of its final
//! message.
//!
//! The words are those of ContextRelay 3.13, so that instructions written for it keep working. A
//! marker is only the agent's own word: what it claims stays a claim.

use super::entry::ArtifactStatus;
use super::id::EntryId;

/// How such a message begins.
const IMPORTANT: &str = "[IMPORTANT]";

/// What every word but two begins with.
const PREFIX: &str = "CONTEXTRELAY_";

/// A message for the person.
const HUMAN: &str = "[HUMAN]";

/// What a final message asks for or claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// It wants to know what is in the record.
    ReadContext {
        /// About what; may be empty.
        focus: String,
    },
    /// It wants to know what is open.
    TaskState,
    /// To be remembered.
    Note(String),
    /// A piece of evidence or output.
    Artifact {
        /// One of the ten kinds, or a word of its own.
        kind: String,
        /// One line.
        title: String,
        /// What it says.
        summary: String,
        /// Its outcome.
        status: ArtifactStatus,
        /// Commands, files, figures.
        evidence: Vec<String>,
    },
    /// Work for Claude.
    Handoff(String),
    /// It says that the work is done, with its evidence.
    ProposeFinal {
        /// What was done.
        summary: String,
        /// Commands, files, figures.
        evidence: Vec<String>,
        /// What may still be wrong.
        remaining_risk: Option<String>,
        /// The handoffs that it answers.
        handles: Vec<EntryId>,
    },
    /// It says that its part is done.
    Done(String),
    /// For the person alone.
    Human(String),
}

impl Marker {
    /// The marker that a message begins with. One that is misspelt or says nothing is none: the
    /// message is then a message like any other.
    pub fn parse(message: &str) -> Option<Self> {
        let message = message.trim();
        if let Some(note) = message.strip_prefix(HUMAN) {
            return said(note).map(Self::Human);
        }
        let rest = message.strip_prefix(IMPORTANT)?.trim_start();
        if let Some(summary) = rest.strip_prefix("DONE:") {
            return said(summary).map(Self::Done);
        }
        let rest = rest.strip_prefix(PREFIX)?;
        let end = rest
            .find(|c: char| !(c.is_ascii_uppercase() || c == '_'))
            .unwrap_or(rest.len());
        let (word, body) = rest.split_at(end);
        let body = body.strip_prefix(':').unwrap_or(body).trim();
        match word {
            "READ_CONTEXT" => Some(Self::ReadContext {
                focus: body.to_owned(),
            }),
            "TASK_STATE" => Some(Self::TaskState),
            "NOTE" => said(body).map(Self::Note),
            "ARTIFACT" => artifact(body),
            "HANDOFF_TO_CLAUDE" => said(body).map(Self::Handoff),
            "PROPOSE_FINAL" => proposal(body),
            _ => None,
        }
    }

    /// Whether it asks us something, so that an answer comes back as a turn.
    pub fn is_question(&self) -> bool {
        matches!(self, Self::ReadContext { .. } | Self::TaskState)
    }
}

fn said(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn artifact(body: &str) -> Option<Marker> {
    let fields = Fields::read(body, &["kind", "title", "summary", "status", "evidence"]);
    Some(Marker::Artifact {
        title: fields.text("title")?,
        kind: fields.text("kind").unwrap_or_else(|| "note".to_owned()),
        summary: fields.text("summary").unwrap_or_default(),
        // A word that is no status claims nothing.
        status: fields
            .text("status")
            .and_then(|word| ArtifactStatus::parse(&word.to_lowercase()))
            .unwrap_or_default(),
        evidence: fields.list("evidence"),
    })
}

fn proposal(body: &str) -> Option<Marker> {
    let fields = Fields::read(
        body,
        &[
            "summary",
            "evidence",
            "remaining_risk",
            "handles_handoff_id",
        ],
    );
    let evidence = fields.list("evidence");
    if evidence.is_empty() {
        return None;
    }
    Some(Marker::ProposeFinal {
        summary: fields.text("summary")?,
        evidence,
        remaining_risk: fields.text("remaining_risk"),
        handles: fields
            .list("handles_handoff_id")
            .iter()
            .flat_map(|line| line.split([',', ' ']))
            .filter(|id| !id.is_empty())
            .map(EntryId::new)
            .collect(),
    })
}

/// Lines `name: value`; a value goes on until the next of the names that are known.
struct Fields<'a> {
    fields: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Fields<'a> {
    fn read(body: &'a str, names: &[&'a str]) -> Self {
        let mut fields: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in body.lines() {
            let begun = line.split_once(':').and_then(|(name, value)| {
                let known = names.iter().find(|known| **known == name.trim())?;
                Some((*known, value.trim()))
            });
            match (begun, fields.last_mut()) {
                (Some((name, value)), _) => fields.push((name, vec![value])),
                (None, Some((_, lines))) => lines.push(line.trim_end()),
                (None, None) => {}
            }
        }
        Self { fields }
    }

    fn lines(&self, name: &str) -> &[&'a str] {
        let found = self.fields.iter().find(|(known, _)| *known == name);
        found.map_or(&[], |(_, lines)| lines)
    }

    fn text(&self, name: &str) -> Option<String> {
        said(&self.lines(name).join("\n"))
    }

    /// Each line is one, with or without its dash.
    fn list(&self, name: &str) -> Vec<String> {
        self.lines(name)
            .iter()
            .map(|line| line.trim())
            .map(|line| line.strip_prefix("- ").unwrap_or(line))
            .filter_map(said)
            .filter(|line| line != "-")
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_marker_is_read() {
        let cases = [
            (
                "[IMPORTANT] CONTEXTRELAY_READ_CONTEXT: the parser",
                Marker::ReadContext {
                    focus: "the parser".to_owned(),
                },
            ),
            ("[IMPORTANT] CONTEXTRELAY_TASK_STATE", Marker::TaskState),
            (
                "  [IMPORTANT] CONTEXTRELAY_NOTE: a lock\nand why",
                Marker::Note("a lock\nand why".to_owned()),
            ),
            (
                "[IMPORTANT] CONTEXTRELAY_HANDOFF_TO_CLAUDE: review it",
                Marker::Handoff("review it".to_owned()),
            ),
            (
                "[IMPORTANT] DONE: all of it",
                Marker::Done("all of it".to_owned()),
            ),
            ("[HUMAN] press a", Marker::Human("press a".to_owned())),
            (
                "[IMPORTANT] CONTEXTRELAY_ARTIFACT:\nkind: test\ntitle: unit tests\nsummary: all\n\
                 of them: green\nstatus: Passed\nevidence:\n- cargo test\n- 12 passed",
                Marker::Artifact {
                    kind: "test".to_owned(),
                    title: "unit tests".to_owned(),
                    summary: "all\nof them: green".to_owned(),
                    status: ArtifactStatus::Passed,
                    evidence: vec!["cargo test".to_owned(), "12 passed".to_owned()],
                },
            ),
            (
                "[IMPORTANT] CONTEXTRELAY_PROPOSE_FINAL:\nsummary: it parses\nevidence: cargo test\n\
                 remaining_risk: none known\nhandles_handoff_id: h-1, h-2",
                Marker::ProposeFinal {
                    summary: "it parses".to_owned(),
                    evidence: vec!["cargo test".to_owned()],
                    remaining_risk: Some("none known".to_owned()),
                    handles: vec![EntryId::new("h-1"), EntryId::new("h-2")],
                },
            ),
        ];
        for (text, marker) in cases {
            assert_eq!(Marker::parse(text), Some(marker), "{text}");
        }
    }

    #[test]
    fn what_is_said_about_markers_is_no_marker() {
        for text in [
            "",
            "I would say [HUMAN] here",
            "[IMPORTANT] read this",
            "[IMPORTANT] CONTEXTRELAY_NOTE:",
            "[IMPORTANT] CONTEXTRELAY_NOTES: x",
            "[IMPORTANT] contextrelay_note: x",
            "[IMPORTANT] CONTEXTRELAY_ARTIFACT: without a title",
            "[IMPORTANT] CONTEXTRELAY_PROPOSE_FINAL:\nsummary: believe me",
            "[HUMAN]",
        ] {
            assert_eq!(Marker::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\[IMPORTANT\\] ?)?(CONTEXTRELAY_)?[A-Z_]{0,12}:?\\PC{0,40}(\n\\PC{0,20}){0,4}") {
            let _ = Marker::parse(&text);
        }
    }
}
