//! [`BeginLine`]: begins a task. The person types its title, then the words by which earlier
//! statements about the same subject are found.

use super::typed_line::TypedLine;
use crate::drafts::{Drafts, TypedFor};
use crate::widgets::TextField;

/// What is being typed.
#[derive(Debug, Clone)]
pub(crate) struct BeginLine {
    /// Its title, once that was typed.
    pub(crate) title: Option<String>,
    pub(crate) field: TextField,
}

impl BeginLine {
    /// Asks for the title; what was typed of it before stands there again.
    pub(crate) fn new(drafts: &Drafts) -> Self {
        let field = TextField::line("one line that says what it is about");
        Self {
            title: None,
            field: field.with_text(drafts.line(&TypedFor::TaskTitle)),
        }
    }

    /// Puts the title away, until the task begins.
    pub(crate) fn keep(&self, drafts: &mut Drafts) {
        let title = self.title.clone().unwrap_or_else(|| self.field.text());
        drafts.keep_title(title);
    }

    /// Asks for the words next; those of the title stand there already.
    pub(crate) fn titled(title: String) -> Self {
        let field = TextField::line("nothing is looked for");
        Self {
            field: field.with_text(&title),
            title: Some(title),
        }
    }

    pub(super) fn typed(&self) -> TypedLine<'_> {
        match &self.title {
            None => TypedLine {
                title: "Begin a task: what is its title?",
                field: &self.field,
                ticks: None,
                does: "go on",
                goes: "it is the current one then",
            },
            Some(_) => TypedLine {
                title: "Said before about the same: which words to look for?",
                field: &self.field,
                ticks: None,
                does: "look for them",
                goes: "without words the task begins at once",
            },
        }
    }
}
