//! [`RenderTarget`]: the readers for whom a capsule can be rendered. A new one is an entry here,
//! and a text in the tests.

use super::beginning;
use crate::capsule::Capsule;
use crate::entry::TASK_HEADING;
use crate::hidden::letters;
use crate::id::CapsuleId;
use crate::in_quotes::in_quotes;

/// For whom a capsule is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenderTarget {
    /// Claude Code.
    Claude,
    Codex,
    Cursor,
    Opencode,
    /// Any reader of Markdown.
    Markdown,
}

/// What is different for each of them.
#[derive(Debug)]
pub struct TargetForm {
    /// The word on a command line.
    pub name: &'static str,
    /// The first lines.
    pub(super) begin: fn(&Capsule) -> String,
    /// The line above a section.
    pub(super) title: fn(&str) -> String,
    /// What stands before an item.
    pub(super) bullet: &'static str,
    /// How to answer.
    pub(super) answer: &'static str,
}

impl RenderTarget {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Cursor,
        Self::Opencode,
        Self::Markdown,
    ];

    /// What is different for it.
    pub fn form(self) -> &'static TargetForm {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::Cursor => &CURSOR,
            Self::Opencode => &OPENCODE,
            Self::Markdown => &MARKDOWN,
        }
    }
}

/// How an agent of the pair answers, in the words of its tools.
const ANSWER: &str = "Go on with it. Say what you decide and what is open with append_note, and \
                      answer a handoff by its id in `handles_handoff_id`.";

static CLAUDE: TargetForm = TargetForm {
    name: "claude",
    begin: |capsule| format!("Task {}: {}\n", capsule.id, title(capsule)),
    title: |title| format!("\n## {title}\n"),
    bullet: "- ",
    answer: ANSWER,
};

static CODEX: TargetForm = TargetForm {
    name: "codex",
    begin: |capsule| format!("{TASK_HEADING}{}\n", title(capsule)),
    title: |title| format!("\n## {title}\n"),
    bullet: "- ",
    answer: ANSWER,
};

/// How a task for Cursor begins.
const CURSOR_BEGINS: &str = "---\ndescription: Task ";

/// Whether a file among the rules of a project is a task that was told for Cursor. What is in it is
/// data from a record, and nothing that an agent is to keep to.
pub fn is_told_task(file: &str) -> bool {
    let rest = file.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let id = rest
        .strip_prefix(CURSOR_BEGINS)
        .and_then(|rest| rest.split_once('\n'));
    id.is_some_and(|(id, _)| CapsuleId::is_well_formed(id.trim_end()))
}

static CURSOR: TargetForm = TargetForm {
    name: "cursor",
    begin: |capsule| {
        // A project rule, which Cursor reads from `.cursor/rules/*.mdc`.
        let id = &capsule.id;
        format!(
            "{CURSOR_BEGINS}{id}\nalwaysApply: false\n---\n\n# Task: {}\n",
            title(capsule)
        )
    },
    title: |title| format!("\n## {title}\n"),
    bullet: "- ",
    answer: "Go on with it, and end with what you decided, what you ran and what is still open.",
};

static OPENCODE: TargetForm = TargetForm {
    name: "opencode",
    begin: |capsule| format!("# Task: {}\n", title(capsule)),
    title: |title| format!("\n### {title}\n"),
    bullet: "* ",
    answer: "Go on with it, and end with what you decided, what you ran and what is still open.",
};

static MARKDOWN: TargetForm = TargetForm {
    name: "markdown",
    begin: |capsule| format!("# {}\n\n", title(capsule)),
    title: |title| format!("\n## {title}\n\n"),
    bullet: "- ",
    answer: "---\nWhat was decided, run and is still open goes back to whoever sent this.",
};

/// The title, which cannot open or close anything, nor begin like what somebody said.
fn title(capsule: &Capsule) -> String {
    let seen = |(letter, is_hidden): (char, bool)| {
        let is_seen = !"<>`".contains(letter) && !letter.is_control() && !is_hidden;
        is_seen.then_some(letter)
    };
    let title: String = letters(&capsule.title).filter_map(seen).collect();
    let title = beginning(&title).into_owned();
    let words = title.trim_start_matches(|letter: char| !letter.is_alphanumeric() && letter != '[');
    match words.starts_with('[') {
        true => in_quotes(&title),
        false => title,
    }
}
