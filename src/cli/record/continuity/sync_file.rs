//! [`SyncFile`]: the fields of an agent's work, as a person writes them in a file.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::core::entry::NoteKind;
use crate::wire::control::StatedValue;

/// The largest file that is read, in bytes: more than all of its fields can hold.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What a file may say; each field may be absent.
#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct SyncFile {
    objective: Option<String>,
    plan: Option<String>,
    hypothesis: Option<String>,
    constraints: Vec<String>,
    assumptions: Vec<String>,
    decisions: Vec<String>,
    next_steps: Vec<String>,
    questions: Vec<String>,
}

impl SyncFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is too large, or is no JSON of these fields.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error| disk::unreadable(path, &error);
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut text = String::new();
        file.take(FILE_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(Failure::invalid(
                format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display()),
                "say it in fewer words",
            ));
        }
        Self::parse(&text).map_err(|error| {
            Failure::invalid(
                format!("{}: {error}", path.display()),
                "see `ctxrelay continuity sync --help` for the fields",
            )
        })
    }

    fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Every value, in the order in which it is recorded.
    pub(super) fn values(self) -> Vec<StatedValue> {
        let one = |kind, text: Option<String>| (kind, text.into_iter().collect());
        let fields: [(NoteKind, Vec<String>); 8] = [
            one(NoteKind::Goal, self.objective),
            one(NoteKind::Plan, self.plan),
            one(NoteKind::Hypothesis, self.hypothesis),
            (NoteKind::Constraint, self.constraints),
            (NoteKind::Assumption, self.assumptions),
            (NoteKind::Decision, self.decisions),
            (NoteKind::NextStep, self.next_steps),
            (NoteKind::Question, self.questions),
        ];
        let values = fields.into_iter().flat_map(|(kind, texts)| {
            texts
                .into_iter()
                .map(move |text| StatedValue { kind, text })
        });
        values.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_becomes_values_of_its_kind_and_a_slip_is_refused() {
        let text = r#"{"plan": "one lock", "nextSteps": ["run it", "ship it"]}"#;
        let values = SyncFile::parse(text).unwrap().values();
        let said: Vec<_> = values
            .iter()
            .map(|value| (value.kind.as_str(), value.text.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                ("plan", "one lock"),
                ("next_step", "run it"),
                ("next_step", "ship it")
            ]
        );
        let slip = SyncFile::parse(r#"{"next_steps": []}"#).unwrap_err();
        assert!(slip.to_string().contains("next_steps"), "{slip}");
    }
}
