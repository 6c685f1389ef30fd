//! [`PermissionAsk`]: what Claude asks the person before a tool, and the answer as its hook prints it
//! (`facts/claude-code.md` §4, §10.1).
//!
//! Claude's own dialog is open meanwhile, and the first answer counts: a hook that waits stands in
//! nobody's way.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::claude_question::ClaudeQuestion;

use crate::core::entry::{
    ApprovalChoice, ApprovalKind, ApprovalRequest, ChoiceEffect, SUBJECT_CHARS_MAX,
};
use crate::wire::control::HookEvent;

/// The most that is kept of a change or of a tool's arguments, in characters.
const DETAILS_CHARS_MAX: usize = 200_000;

/// The most suggestions that are offered; Claude Code 2.1.330 made one or two (observed).
const SUGGESTIONS_MAX: usize = 6;

/// What Claude's model hears of a refusal without a reason.
const DENIED: &str = "The operator does not allow this.";

/// The choices that are always there, by id; a suggestion's is this prefix and its number.
const ALLOW: &str = "allow";
const SUGGESTION: &str = "suggestion/";
const ANSWER: &str = "choice/";
const DENY: &str = "deny";
const STOP: &str = "stop";

/// Tools whose use is a dialog of its own. Of those Claude takes a yes only with the whole input,
/// and asks on without it (2.1.330, its code).
const ASK_USER_QUESTION: &str = "AskUserQuestion";
const EXIT_PLAN_MODE: &str = "ExitPlanMode";

/// A question of Claude's.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PermissionAsk {
    pub(super) request: ApprovalRequest,
    pub(super) details: String,
    /// What each choice that says yes stands for, by its id.
    allows: Vec<(String, Allowed)>,
    /// The tool's input, where a yes has to repeat it.
    input: Option<Value>,
}

/// What a yes says beside it.
#[derive(Debug, Clone, PartialEq)]
enum Allowed {
    Once,
    /// A suggestion of Claude's.
    Rule(Value),
    /// The `answers` that the input gets.
    Answers(Value),
}

/// What names a use of a tool: the same when it is asked for and when it ran.
pub(super) fn tool_use(input: &Value) -> Option<String> {
    let name = input.get("tool_name")?.as_str()?;
    let arguments = match name {
        // What the person says in the dialog is in the input afterwards, and one is open at a time.
        ASK_USER_QUESTION | EXIT_PLAN_MODE => String::new(),
        _ => input.get("tool_input").unwrap_or(&Value::Null).to_string(),
    };
    let digest = Sha256::digest(format!("{name}\0{arguments}"));
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl PermissionAsk {
    /// Reads the input of a `PermissionRequest` hook. `key`: names this hook's own run.
    pub(super) fn read(input: &Value, key: String) -> Option<Self> {
        let tool = input.get("tool_name")?.as_str()?;
        let arguments = input.get("tool_input").cloned().unwrap_or_default();
        let word = |name: &str| arguments.get(name).and_then(Value::as_str);
        let question = (tool == ASK_USER_QUESTION).then(|| ClaudeQuestion::read(&arguments));
        if let Some(question) = question {
            let answers = (1..)
                .zip(question.options)
                .map(|(number, (label, answers))| {
                    let id = format!("{ANSWER}{number}");
                    let choice = choice(&id, &label, ChoiceEffect::Answer);
                    (choice, Allowed::Answers(answers))
                });
            let request = ApprovalRequest::new(ApprovalKind::Question, key, question.subject);
            return Some(Self::of(
                input,
                request,
                &question.details,
                answers.collect(),
            ));
        }
        let (kind, subject, details) = match (tool, word("command"), path(&arguments)) {
            ("Bash", Some(command), _) => {
                let details = word("description").unwrap_or_default().to_owned();
                (ApprovalKind::Command, command.to_owned(), details)
            }
            ("Edit" | "MultiEdit" | "Write" | "NotebookEdit", _, Some(path)) => {
                let subject = format!("{} {path}", tool.to_lowercase());
                (ApprovalKind::FileChange, subject, change(&arguments))
            }
            _ => {
                let details = match &arguments {
                    Value::Null => String::new(),
                    arguments => format!("{arguments:#}"),
                };
                (ApprovalKind::Tool, tool.to_owned(), details)
            }
        };
        let offered = input
            .get("permission_suggestions")
            .and_then(Value::as_array);
        let offered = offered.into_iter().flatten().take(SUGGESTIONS_MAX);
        let known = offered.filter_map(|it| Some((it.clone(), suggestion(it)?)));
        let rules = known.enumerate().map(|(at, (rule, label))| {
            let id = format!("{SUGGESTION}{at}");
            let choice = choice(&id, &label, ChoiceEffect::AllowMore);
            (choice, Allowed::Rule(rule))
        });
        let once = choice(ALLOW, "allow once", ChoiceEffect::AllowOnce);
        let allows = std::iter::once((once, Allowed::Once)).chain(rules);
        let request = ApprovalRequest::new(kind, key, subject);
        Some(Self::of(input, request, &details, allows.collect()))
    }

    /// With the choices that say no, and bounded.
    fn of(
        input: &Value,
        request: ApprovalRequest,
        details: &str,
        allows: Vec<(ApprovalChoice, Allowed)>,
    ) -> Self {
        let (mut choices, allows): (Vec<_>, Vec<_>) = allows
            .into_iter()
            .map(|(choice, allowed)| (choice.clone(), (choice.id, allowed)))
            .unzip();
        let tool = input.get("tool_name").and_then(Value::as_str);
        let is_dialog = tool.is_some_and(|it| [ASK_USER_QUESTION, EXIT_PLAN_MODE].contains(&it));
        let given = input.get("tool_input").filter(|given| given.is_object());
        choices.push(choice(
            DENY,
            "do not; Claude goes on without it",
            ChoiceEffect::Deny,
        ));
        choices.push(choice(
            STOP,
            "do not, and stop the turn",
            ChoiceEffect::Stop,
        ));
        Self {
            request: ApprovalRequest {
                cwd: input.get("cwd").and_then(Value::as_str).map(str::to_owned),
                choices,
                subject: cut(&request.subject, SUBJECT_CHARS_MAX),
                ..request
            },
            details: cut(details, DETAILS_CHARS_MAX),
            allows,
            input: given.filter(|_| is_dialog).cloned(),
        }
    }

    /// What the hook prints for a choice; `None` for one that it did not offer.
    pub(super) fn output(&self, choice: &str, note: Option<&str>) -> Option<String> {
        let decision = match choice {
            DENY => json!({"behavior": "deny", "message": note.unwrap_or(DENIED)}),
            STOP => json!({
                "behavior": "deny", "message": note.unwrap_or(DENIED), "interrupt": true,
            }),
            other => {
                let (_, allowed) = self.allows.iter().find(|(id, _)| id == other)?;
                self.allow(allowed)
            }
        };
        let event = HookEvent::PermissionRequest;
        let output = json!({"hookSpecificOutput": {"hookEventName": event, "decision": decision}});
        Some(format!("{output}\n"))
    }

    fn allow(&self, allowed: &Allowed) -> Value {
        let mut decision = json!({"behavior": "allow"});
        if let Allowed::Rule(rule) = allowed {
            decision["updatedPermissions"] = json!([rule]);
        }
        if let Some(input) = &self.input {
            let mut input = input.clone();
            if let Allowed::Answers(answers) = allowed {
                input["answers"] = answers.clone();
            }
            decision["updatedInput"] = input;
        }
        decision
    }
}

fn choice(id: &str, label: &str, effect: ChoiceEffect) -> ApprovalChoice {
    ApprovalChoice {
        id: id.to_owned(),
        label: label.to_owned(),
        effect,
    }
}

fn path(arguments: &Value) -> Option<&str> {
    let names = ["file_path", "notebook_path"].into_iter();
    names
        .filter_map(|name| arguments.get(name)?.as_str())
        .next()
}

/// What a file would be changed to, as lines taken out and put in.
fn change(arguments: &Value) -> String {
    let word = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut lines = Vec::new();
    let edits = arguments.get("edits").and_then(Value::as_array);
    let edits = edits.map_or_else(|| std::slice::from_ref(arguments), Vec::as_slice);
    for edit in edits {
        for (name, sign) in [("old_string", '-'), ("new_string", '+')] {
            let text = word(edit, name).unwrap_or_default();
            lines.extend(text.lines().map(|line| format!("{sign}{line}")));
        }
    }
    for name in ["content", "new_source"] {
        let text = word(arguments, name).unwrap_or_default();
        lines.extend(text.lines().map(|line| format!("+{line}")));
    }
    lines.join("\n")
}

/// A suggestion in words; `None` for one of a kind that we do not know.
fn suggestion(it: &Value) -> Option<String> {
    let to = it
        .get("destination")
        .and_then(Value::as_str)
        .unwrap_or("session");
    let behavior = it.get("behavior").and_then(Value::as_str);
    let label = match it.get("type")?.as_str()? {
        "addRules" if behavior == Some("allow") => {
            let rules = it.get("rules")?.as_array()?.iter().filter_map(|rule| {
                let tool = rule.get("toolName")?.as_str()?;
                let content = rule.get("ruleContent").and_then(Value::as_str);
                Some(content.map_or_else(|| tool.to_owned(), |it| format!("{tool}({it})")))
            });
            format!(
                "allow, and always {} ({to})",
                rules.collect::<Vec<_>>().join(" ")
            )
        }
        "addDirectories" => {
            let folders = it.get("directories")?.as_array()?;
            let folders: Vec<&str> = folders.iter().filter_map(Value::as_str).collect();
            format!("allow, and the folder {} ({to})", folders.join(" "))
        }
        "setMode" => format!(
            "allow, and switch to the mode {}",
            it.get("mode")?.as_str()?
        ),
        _ => return None,
    };
    Some(cut(&label, 300))
}

pub(super) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn read(input: Value) -> PermissionAsk {
        PermissionAsk::read(&input, "k".to_owned()).unwrap()
    }

    fn decision(ask: &PermissionAsk, choice: &str, note: Option<&str>) -> Value {
        let output: Value = serde_json::from_str(&ask.output(choice, note).unwrap()).unwrap();
        output["hookSpecificOutput"]["decision"].clone()
    }

    #[test]
    fn a_command_is_allowed_once_allowed_with_claudes_own_rule_denied_or_stopped() {
        let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
            "behavior": "allow", "destination": "localSettings"});
        let ask = read(json!({"tool_name": "Bash", "cwd": "/p",
            "tool_input": {"command": "touch made.txt", "description": "Make it"},
            "permission_suggestions": [{"type": "later"}, rule]}));
        assert_eq!(ask.request.kind, ApprovalKind::Command);
        assert_eq!(ask.request.subject, "touch made.txt");
        assert_eq!(ask.details, "Make it");
        let ids: Vec<_> = ask
            .request
            .choices
            .iter()
            .map(|it| it.id.as_str())
            .collect();
        assert_eq!(ids, ["allow", "suggestion/0", "deny", "stop"]);
        let label = &ask.request.choices[1].label;
        assert_eq!(label, "allow, and always Bash(touch:*) (localSettings)");
        assert_eq!(decision(&ask, "allow", None), json!({"behavior": "allow"}));
        let always = json!({"behavior": "allow", "updatedPermissions": [rule]});
        assert_eq!(decision(&ask, "suggestion/0", None), always);
        let denied = json!({"behavior": "deny", "message": "use the lock"});
        assert_eq!(decision(&ask, "deny", Some("use the lock")), denied);
        let stopped = json!({"behavior": "deny", "message": DENIED, "interrupt": true});
        assert_eq!(decision(&ask, "stop", None), stopped);
        for unknown in ["suggestion/1", "suggestion/x", "accept", ""] {
            assert_eq!(ask.output(unknown, None), None);
        }
    }

    #[test]
    fn a_change_shows_what_goes_and_what_comes() {
        let ask = read(
            json!({"tool_name": "Edit", "tool_input": {"file_path": "/p/a.rs",
            "old_string": "one\ntwo", "new_string": "three"}}),
        );
        assert_eq!(ask.request.kind, ApprovalKind::FileChange);
        assert_eq!(ask.request.subject, "edit /p/a.rs");
        assert_eq!(ask.details, "-one\n-two\n+three");
        let ask = read(json!({"tool_name": "Write",
            "tool_input": {"file_path": "/p/a.rs", "content": "all of it"}}));
        assert_eq!(ask.details, "+all of it");
    }

    #[test]
    fn any_other_tool_shows_its_arguments_and_what_is_no_tool_is_not_asked() {
        let ask = read(json!({"tool_name": "mcp__x__ping", "tool_input": {"x": 1}}));
        assert_eq!(ask.request.kind, ApprovalKind::Tool);
        assert!(ask.details.contains("\"x\": 1"));
        assert_eq!(
            read(json!({"tool_name": "Bash"})).request.kind,
            ApprovalKind::Tool
        );
        for input in [json!(null), json!({}), json!({"tool_name": 5})] {
            assert_eq!(PermissionAsk::read(&input, String::new()), None);
        }
    }

    fn ids(ask: &PermissionAsk) -> Vec<&str> {
        let choices = ask.request.choices.iter();
        choices.map(|it| it.id.as_str()).collect()
    }

    fn lock(multi: bool) -> Value {
        json!({"question": "Which lock?", "header": "Lock", "multiSelect": multi, "options": [
            {"label": "A", "description": "a file"}, {"label": "B", "description": ""}]})
    }

    fn questions(questions: &Value) -> PermissionAsk {
        let rule = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
        read(json!({"tool_name": "AskUserQuestion", "cwd": "/p",
            "tool_input": {"questions": questions}, "permission_suggestions": [rule]}))
    }

    #[test]
    fn a_question_of_one_choice_is_answered_with_the_whole_input_and_the_label() {
        let ask = questions(&json!([lock(false)]));
        assert_eq!(ask.request.kind, ApprovalKind::Question);
        assert_eq!(ask.request.subject, "Which lock?");
        assert_eq!(ask.request.cwd.as_deref(), Some("/p"));
        assert_eq!(ask.details, "Lock");
        assert_eq!(ids(&ask), ["choice/1", "choice/2", "deny", "stop"]);
        let labels: Vec<_> = ask.request.choices.iter().map(|it| &*it.label).collect();
        assert_eq!(labels[..2], ["A: a file", "B"]);
        assert_eq!(ask.request.choices[0].effect, ChoiceEffect::Answer);
        let answered = json!({"behavior": "allow", "updatedInput": {
            "questions": [lock(false)], "answers": {"Which lock?": "A"}}});
        assert_eq!(decision(&ask, "choice/1", None), answered);
        // A bare yes would be no answer, and Claude would ask on.
        for unknown in ["allow", "suggestion/0", "choice/0", "choice/3"] {
            assert_eq!(ask.output(unknown, None), None, "{unknown}");
        }
        let denied = json!({"behavior": "deny", "message": "ask later"});
        assert_eq!(decision(&ask, "deny", Some("ask later")), denied);
    }

    #[test]
    fn what_one_choice_does_not_answer_is_for_claudes_terminal() {
        let mut text = lock(false);
        text["kind"] = json!("text");
        let mut long = lock(false);
        long["options"][0]["label"] = json!("é".repeat(301));
        let mut none = lock(false);
        none["options"] = json!([]);
        for asked in [
            json!([lock(false), lock(false)]),
            json!([lock(true)]),
            json!([text]),
            json!([long]),
            json!([none]),
            json!([]),
            json!("Which?"),
            json!([{"question": 5}]),
        ] {
            let ask = questions(&asked);
            assert_eq!(ids(&ask), ["deny", "stop"], "{asked}");
            let says = "Answer it in Claude's own terminal.";
            assert!(ask.details.starts_with(says), "{}", ask.details);
        }
        let several = questions(&json!([lock(true), lock(false)]));
        assert_eq!(several.request.subject, "Which lock?\nWhich lock?");
        assert!(several.details.contains("- A: a file\n- B\n"));
        let huge = json!([{"question": "é".repeat(1_000_000), "options": [{"label": "A"}]}]);
        let huge = questions(&huge);
        assert!(huge.request.is_cut());
        assert!(huge.request.subject.chars().count() < SUBJECT_CHARS_MAX + 10);
        let bare = read(json!({"tool_name": "AskUserQuestion"}));
        assert_eq!(ids(&bare), ["deny", "stop"]);
    }

    #[test]
    fn a_plan_is_approved_with_its_whole_input() {
        let plan = json!({"plan": "1. Mend the lock.", "allowedPrompts": []});
        let rule = json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
        let ask = read(json!({"tool_name": "ExitPlanMode", "tool_input": plan,
            "permission_suggestions": [rule]}));
        assert!(ask.details.contains("Mend the lock"));
        let allowed = json!({"behavior": "allow", "updatedInput": plan});
        assert_eq!(decision(&ask, "allow", None), allowed);
        let with_rule =
            json!({"behavior": "allow", "updatedPermissions": [rule], "updatedInput": plan});
        assert_eq!(decision(&ask, "suggestion/0", None), with_rule);
    }

    #[test]
    fn a_dialog_is_the_same_use_whatever_was_answered_in_it() {
        let asked =
            json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": [lock(false)]}});
        let mut ran = asked.clone();
        ran["tool_input"]["answers"] = json!({"Which lock?": "A"});
        assert_eq!(tool_use(&asked), tool_use(&ran));
        let plan = json!({"tool_name": "ExitPlanMode", "tool_input": {}});
        assert_ne!(tool_use(&asked), tool_use(&plan));
    }

    #[test]
    fn a_use_of_a_tool_is_named_by_all_that_it_is_given() {
        let used = |command: &str| {
            tool_use(&json!({"tool_name": "Bash", "tool_input": {"command": command}})).unwrap()
        };
        assert_eq!(used("ls"), used("ls"));
        assert_ne!(used("ls"), used("ls -a"));
        assert_eq!(tool_use(&json!({})), None);
    }
}
