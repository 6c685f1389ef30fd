//! [`ClaudeQuestion`]: what Claude asks with its own tool `AskUserQuestion`, as far as one choice
//! can answer it (`facts/claude-code.md` §12; the shape is Claude Code 2.1.330's own schema).

use serde::Deserialize;
use serde_json::{Value, json};

use crate::core::cut_text::cut_apart;

/// The most options that are offered; Claude Code 2.1.330 takes four.
const OPTIONS_MAX: usize = 8;

/// The longest option, in characters.
const LABEL_CHARS_MAX: usize = 300;

/// What is asked, and what may be answered here.
#[derive(Debug, PartialEq)]
pub(super) struct ClaudeQuestion {
    /// The questions, in Claude's words.
    pub(super) subject: String,
    /// What else is to be read.
    pub(super) details: String,
    /// Each option as a person reads it, with the `answers` that the tool's input gets. None where
    /// one choice is not the answer.
    pub(super) options: Vec<(String, Value)>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Question {
    question: String,
    header: String,
    /// Without one it is a choice.
    kind: Option<String>,
    options: Vec<Answer>,
    multi_select: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    label: String,
    description: Option<String>,
}

impl Answer {
    fn in_words(&self) -> String {
        match self.description.as_deref() {
            None | Some("") => self.label.clone(),
            Some(description) => format!("{}: {description}", self.label),
        }
    }
}

impl Question {
    /// Whether one of its options, each of which can be read whole, is the answer.
    fn is_one_choice(&self) -> bool {
        let is_choice = self.kind.as_deref().is_none_or(|kind| kind == "choice");
        let labels = self.options.iter().map(|it| &it.label);
        let mut readable =
            labels.map(|it| !it.is_empty() && it.chars().nth(LABEL_CHARS_MAX).is_none());
        is_choice
            && !self.multi_select
            && (1..=OPTIONS_MAX).contains(&self.options.len())
            && readable.all(|is_readable| is_readable)
    }

    fn in_words(&self) -> String {
        let options = self.options.iter().map(|it| format!("- {}", it.in_words()));
        let lines = std::iter::once(self.question.clone()).chain(options);
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl ClaudeQuestion {
    /// Reads the tool's input.
    pub(super) fn read(arguments: &Value) -> Self {
        let questions = arguments.get("questions").cloned().unwrap_or_default();
        let questions: Vec<Question> = serde_json::from_value(questions).unwrap_or_default();
        if let [question] = questions.as_slice()
            && question.is_one_choice()
        {
            let options = question.options.iter().map(|it| {
                let label = cut_apart(it.in_words(), LABEL_CHARS_MAX);
                (label, json!({ question.question.as_str(): it.label }))
            });
            return Self {
                subject: question.question.clone(),
                details: question.header.clone(),
                options: options.collect(),
            };
        }
        let asked: Vec<&str> = questions.iter().map(|it| it.question.as_str()).collect();
        let mut details: Vec<String> = questions.iter().map(Question::in_words).collect();
        if questions.is_empty() {
            details.push(format!("{arguments:#}"));
        }
        // First, so that it stands there whatever follows.
        details.insert(0, "Answer it in Claude's own terminal.".to_owned());
        Self {
            subject: match asked.is_empty() {
                true => "a question that this version cannot read".to_owned(),
                false => asked.join("\n"),
            },
            details: details.join("\n"),
            options: Vec::new(),
        }
    }
}
