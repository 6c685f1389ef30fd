//! [`CapsuleDraft`]: the statements about a task as a text that a person edits, and the changes
//! they made.

use std::fmt;

use super::{Capsule, CapsuleStatement};
use crate::entry::NoteKind;
use crate::kept_text::brief;

/// The headings, in order, and what stands below them.
const HEADINGS: [(&str, NoteKind); 7] = [
    ("Goal", NoteKind::Goal),
    ("Constraints", NoteKind::Constraint),
    ("Decisions", NoteKind::Decision),
    ("Next steps", NoteKind::NextStep),
    ("Open questions", NoteKind::Question),
    ("Hypothesis", NoteKind::Hypothesis),
    ("Assumptions", NoteKind::Assumption),
];

const TITLE: &str = "title:";

/// What begins a line that is only read, unless it has the name of a heading alone.
const REMARK: &str = "##";

/// How many lines are named that belong nowhere.
const NAMED_MAX: usize = 3;

/// What a text says of a task. Values are whole, without what is blank around them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapsuleDraft {
    /// Its title; empty where none stands there.
    pub title: String,
    /// The values, by their kind, in order.
    pub values: Vec<(NoteKind, String)>,
    /// What is not to be changed here, by its kind: of each value that is too long for a capsule its
    /// beginning on one line, and where all of it is. It stands in the text and is not read again.
    remarks: Vec<(NoteKind, String)>,
}

/// What a person changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DraftChanges {
    /// Another title.
    pub title: Option<String>,
    /// What was not there before.
    pub values: Vec<(NoteKind, String)>,
}

impl DraftChanges {
    /// Nothing was changed that can be recorded.
    pub fn is_empty(&self) -> bool {
        self.title.is_none() && self.values.is_empty()
    }
}

impl CapsuleDraft {
    /// What a capsule says.
    pub fn of(capsule: &Capsule) -> Self {
        let said = |kind: NoteKind| -> &[CapsuleStatement] {
            match kind {
                NoteKind::Goal => capsule.goal.as_slice(),
                NoteKind::Constraint => &capsule.constraints,
                NoteKind::Decision => &capsule.decisions,
                NoteKind::NextStep => &capsule.next,
                NoteKind::Question => &capsule.questions,
                NoteKind::Hypothesis => capsule.hypothesis.as_slice(),
                NoteKind::Assumption => &capsule.assumptions,
                _ => &[],
            }
        };
        let values = HEADINGS.iter().flat_map(|(_, kind)| {
            // The beginning of one would be recorded as all of it.
            let said = said(*kind).iter().filter(|said| !said.is_cut());
            said.map(|said| (*kind, said.text.trim().to_owned()))
        });
        let remarks = HEADINGS.iter().flat_map(|(_, kind)| {
            let cut = said(*kind).iter().filter(|said| said.is_cut());
            cut.map(|said| (*kind, remark(said)))
        });
        Self {
            title: capsule.title.trim().to_owned(),
            values: values.collect(),
            remarks: remarks.collect(),
        }
    }

    /// The text to edit: a heading for each kind, a line that begins with `-` for each value, and two
    /// blanks before the further lines of one.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "## Each line that you change or add below one of the headings is recorded as yours. What you\n\
             ## take away stays in the record. A value begins with `- `; its further lines begin with two\n\
             ## blanks.\n\n",
        );
        text.push_str(&format!("{TITLE} {}\n", self.title));
        for (heading, kind) in HEADINGS {
            text.push_str(&format!("\n# {heading}\n"));
            for (_, remark) in self.remarks.iter().filter(|(of, _)| *of == kind) {
                text.push_str(&format!("{REMARK} {remark}\n"));
            }
            for (_, value) in self.values.iter().filter(|(of, _)| *of == kind) {
                text.push_str(&format!("- {}\n", value.replace('\n', "\n  ")));
            }
        }
        text
    }

    /// What a text says.
    ///
    /// # Errors
    ///
    /// When it has lines that belong nowhere: below no heading or one that there is not.
    pub fn read(text: &str) -> Result<Self, StrayLines> {
        let mut draft = Self::default();
        let mut stray = Vec::new();
        let mut kind = None;
        // Whether the line before is of a value.
        let mut goes_on = false;
        // Some editors put a mark of the encoding before everything.
        for line in text.trim_start_matches('\u{feff}').lines() {
            let known = heading(line);
            let is_heading = line.starts_with("# ") || known.is_some();
            let further = line
                .strip_prefix("  ")
                .or(line.trim().is_empty().then_some(""));
            match (is_heading, further, &kind, draft.values.last_mut()) {
                (_, Some(further), Some(_), Some((_, value))) if goes_on => {
                    value.push('\n');
                    value.push_str(further);
                }
                (true, ..) => {
                    kind = known;
                    if kind.is_none() {
                        stray.push(line.to_owned());
                    }
                    goes_on = false;
                }
                _ if line.starts_with(REMARK) || line.trim().is_empty() => goes_on = false,
                (_, _, Some(kind), _) => {
                    let value = line.strip_prefix('-').unwrap_or(line);
                    draft.values.push((*kind, value.to_owned()));
                    goes_on = true;
                }
                (_, _, None, _) => match line.strip_prefix(TITLE) {
                    Some(title) => draft.title = title.trim().to_owned(),
                    None => stray.push(line.to_owned()),
                },
            }
        }
        if !stray.is_empty() {
            return Err(StrayLines(stray));
        }
        for (_, value) in &mut draft.values {
            *value = value.trim().to_owned();
        }
        draft.values.retain(|(_, value)| !value.is_empty());
        Ok(draft)
    }

    /// What stands in `after` and not here. Other blanks are no change: what an agent said does not
    /// become the person's because their editor ends lines in its own way.
    pub fn changes(&self, after: &Self) -> DraftChanges {
        let is_same = |one: &str, other: &str| one.split_whitespace().eq(other.split_whitespace());
        let is_new = |value: &&(NoteKind, String)| {
            let (kind, text) = value;
            let mut before = self.values.iter().filter(|(of, _)| of == kind);
            !before.any(|(_, before)| is_same(before, text))
        };
        let is_title = !after.title.is_empty() && after.title != self.title;
        DraftChanges {
            title: is_title.then(|| after.title.clone()),
            values: after.values.iter().filter(is_new).cloned().collect(),
        }
    }
}

/// Lines of a text that are of no value. What a person wrote is not let go without a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrayLines(Vec<String>);

impl fmt::Display for StrayLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing was recorded: these lines stand below none of the headings")?;
        for (at, line) in self.0.iter().take(NAMED_MAX).enumerate() {
            let mark = if at == 0 { ":" } else { "," };
            write!(f, "{mark} `{}`", on_one_line(line))?;
        }
        match self.0.len().saturating_sub(NAMED_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The kind of what stands below a line with the name of a heading. A person may write more hashes
/// than one, as in Markdown: what they say below is not to count as said under the heading before.
fn heading(line: &str) -> Option<NoteKind> {
    let name = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let known = |(heading, _): &&(&str, NoteKind)| heading.eq_ignore_ascii_case(name);
    HEADINGS.iter().find(known).map(|(_, kind)| *kind)
}

/// What is said of a value of which only the beginning is here.
fn remark(said: &CapsuleStatement) -> String {
    let whole = said.line.as_ref().map(|line| {
        let (session, seq) = (&line.session, line.seq);
        format!(": entry {seq} of session {session} has all of it")
    });
    let whole = whole.unwrap_or_default();
    let beginning = on_one_line(&said.text);
    format!("Too long to be changed here, and stays as it is{whole}. It begins: {beginning}")
}

/// The beginning of a text, whatever stands in it.
fn on_one_line(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    brief(text).chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::capsule::StatementAuthor;
    use crate::id::CapsuleId;

    fn values() -> impl Strategy<Value = Vec<(NoteKind, String)>> {
        let kind = (0..HEADINGS.len()).prop_map(|at| HEADINGS[at].1);
        let line = "\\PC{0,12}[\\r\\t\\x00\\x0b\\x0c\\x85\\u{2028} ]{0,2}\\PC{0,4}\\r?";
        let text = proptest::collection::vec(line, 1..4).prop_map(|lines| lines.join("\n"));
        let value = (kind, text).prop_map(|(kind, text)| (kind, text.trim().to_owned()));
        let value = value.prop_filter("empty", |(_, text)| !text.is_empty());
        proptest::collection::vec(value, 0..6)
    }

    /// In the order of the headings, as a capsule gives them.
    fn draft(values: &[(NoteKind, String)]) -> CapsuleDraft {
        let of = |kind: NoteKind| values.iter().filter(move |(of, _)| *of == kind).cloned();
        CapsuleDraft {
            title: "Fix the login".to_owned(),
            values: HEADINGS.iter().flat_map(|(_, kind)| of(*kind)).collect(),
            remarks: Vec::new(),
        }
    }

    proptest! {
        /// Saved without a change nothing is recorded, whatever was said, and whatever the editor
        /// makes of the ends of lines.
        #[test]
        fn a_text_that_was_not_changed_changes_nothing(values in values()) {
            let draft = draft(&values);
            let text = draft.text();
            let lines = || text.lines();
            let trimmed: Vec<&str> = lines().map(str::trim_end).collect();
            for saved in [text.clone(), trimmed.join("\n"), trimmed.join("\r\n")] {
                let changes = draft.changes(&CapsuleDraft::read(&saved).unwrap());
                prop_assert_eq!(changes, DraftChanges::default(), "{:?}", saved);
            }
        }

        /// What is too long to be changed is told, and recorded by no way of saving the rest.
        #[test]
        fn what_is_only_told_is_no_change(values in values(), long in "\\PC{0,40}[\\n\\r\\t -]{0,3}\\PC{0,40}") {
            let long = CapsuleStatement {
                text: format!("it {long} …"),
                by: StatementAuthor::Claude,
                at: 1,
                cut: Some(true),
                line: None,
                more: serde_json::Map::new(),
            };
            let mut capsule = Capsule::new(CapsuleId::new("cap_0123456789ab"), "t", 1);
            (capsule.goal, capsule.decisions) = (Some(long.clone()), vec![long]);
            let told = CapsuleDraft::of(&capsule);
            prop_assert_eq!(told.remarks.len(), 2);
            let draft = CapsuleDraft { remarks: told.remarks, ..draft(&values) };
            let text = draft.text();
            prop_assert_eq!(text.matches("It begins: it ").count(), 2, "{}", text);
            let changes = draft.changes(&CapsuleDraft::read(&text).unwrap());
            prop_assert_eq!(changes, DraftChanges::default(), "{:?}", text);
        }

        #[test]
        fn no_text_is_too_much(text in any::<String>()) {
            let _ = CapsuleDraft::read(&text);
        }
    }

    #[test]
    fn a_line_that_belongs_nowhere_is_named_and_nothing_of_the_text_is_taken() {
        let text = draft(&[]).text();
        let told = |from: &str, to: &str| {
            let read = CapsuleDraft::read(&text.replace(from, to));
            read.unwrap_err().to_string()
        };
        let said = told("# Decisions", "# Decision\n- std mutex\n  in all of it");
        assert!(
            said.ends_with(": `# Decision`, `- std mutex`, `in all of it`"),
            "{said}"
        );
        let said = told("title:", "one\ntwo\nthree\nfour\ntitle:");
        assert!(
            said.ends_with(": `one`, `two`, `three` and 1 more"),
            "{said}"
        );
        let kept = draft(&[(NoteKind::Goal, "it stays".to_owned())]);
        for before in ["", "\u{feff}"] {
            let text = format!("{before}{}", kept.text());
            assert_eq!(CapsuleDraft::read(&text).unwrap().values, kept.values);
        }
    }

    #[test]
    fn a_number_behind_its_mark_begins_a_value_and_no_heading() {
        let text = draft(&[]).text();
        let text = text.replace("# Constraints\n", "# Constraints\n#12 must stay fixed\n");
        let expected = (NoteKind::Constraint, "#12 must stay fixed".to_owned());
        assert_eq!(CapsuleDraft::read(&text).unwrap().values, [expected]);
    }

    #[test]
    fn a_heading_is_known_by_its_name_however_many_hashes_stand_before_it() {
        let text = draft(&[(NoteKind::Goal, "nobody is logged out".to_owned())]).text();
        let expected = [
            (NoteKind::Goal, "nobody is logged out"),
            (NoteKind::Constraint, "no new dependency"),
        ];
        let expected = expected.map(|(kind, text)| (kind, text.to_owned()));
        for heading in [
            "# Constraints",
            "## Constraints",
            "###  constraints ",
            "#Constraints",
        ] {
            let text = text.replace("# Constraints", &format!("{heading}\n- no new dependency"));
            let values = CapsuleDraft::read(&text).unwrap().values;
            assert_eq!(values, expected, "{heading:?}");
        }
    }

    #[test]
    fn what_is_changed_and_what_is_new_is_recorded_and_what_is_taken_away_is_not() {
        let kept = [
            (NoteKind::Goal, "nobody is logged out".to_owned()),
            (NoteKind::Constraint, "no new dependency".to_owned()),
        ];
        let before = draft(&kept);
        let text = before
            .text()
            .replace("title: Fix the login", "title: Fix the logout")
            .replace(
                "- nobody is logged out\n",
                "- nobody is ever\n  logged out\n",
            )
            .replace("- no new dependency\n", "")
            .replace(
                "# Decisions\n",
                "# Decisions\nstd mutex\n- # is no heading here\n",
            );
        let changes = before.changes(&CapsuleDraft::read(&text).unwrap());
        assert_eq!(changes.title.as_deref(), Some("Fix the logout"));
        let expected = [
            (NoteKind::Goal, "nobody is ever\nlogged out"),
            (NoteKind::Decision, "std mutex"),
            (NoteKind::Decision, "# is no heading here"),
        ];
        let expected = expected.map(|(kind, text)| (kind, text.to_owned()));
        assert_eq!(changes.values, expected);
    }
}
