//! [`PermissionAsk`]: what Claude asks the person before a tool runs, and the answer as its hook
//! prints it (`facts/claude-code.md` §4, §10.1).
//!
//! Claude's own dialog is open at the same time and the first answer counts, so a waiting hook
//! blocks nobody.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::claude_question::ClaudeQuestion;

use crate::core::agent::Agent;
use crate::core::cut_text::cut_apart;
use crate::core::entry::{
    ApprovalChoice, ApprovalKind, ApprovalRequest, AskedTool, ChoiceEffect, FileAct, FileChange,
    SUBJECT_CHARS_MAX, Wish,
};
use crate::core::policy::is_shell_tool;
use crate::wire::control::HookEvent;

/// The most that is kept of a change or of a tool's arguments, in characters.
const DETAILS_CHARS_MAX: usize = 200_000;

/// The most suggestions that are offered; Claude Code 2.1.330 made one or two (observed).
const SUGGESTIONS_MAX: usize = 6;

/// The longest words for what a suggestion comes to, in characters; a longer one is not offered.
const COMES_TO_CHARS_MAX: usize = 293;

/// The most that is kept of the hosts that a command asks for, in characters; the details tell all.
const HOSTS_CHARS_MAX: usize = 300;

/// The tool whose commands need no name on the card.
const BASH: &str = "Bash";

/// What of a change is shown as its lines, or as its file.
const SHOWN_OF_CHANGE: [&str; 10] = [
    "cell_id",
    "content",
    "edit_mode",
    "edits",
    "file_path",
    "new_source",
    "new_string",
    "notebook_path",
    "old_string",
    "replace_all",
];

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

/// The mode in which Claude asks before each edit. A plan that is simply allowed has Claude go back to
/// the mode that it was in before it planned, which may be one that does not ask (2.1.330, observed).
const ASKS_BEFORE_EDITS: &str = "default";

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
    /// A change of Claude's permissions, of its own suggestion where it is not about a plan.
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

/// The input with the plan as its file has it now, where that is another one: Claude goes by the file
/// as it is when the plan is allowed (2.1.330, observed), and a yes is about what was shown.
pub(super) fn with_newer_plan(input: &Value) -> Option<Value> {
    if input.get("tool_name")? != EXIT_PLAN_MODE {
        return None;
    }
    let file = input.pointer("/tool_input/planFilePath")?.as_str()?;
    let plan = Value::from(std::fs::read_to_string(file).unwrap_or_default());
    let mut newer = input.clone();
    let shown = newer.pointer_mut("/tool_input/plan")?;
    let is_newer = *shown != plan;
    *shown = plan;
    is_newer.then_some(newer)
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
                    let choice = ApprovalChoice::new(id, label, ChoiceEffect::Answer);
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
        let changed = file_act(tool).zip(path(&arguments));
        let (kind, subject, details) = match (tool, word("command"), changed) {
            (tool, Some(command), _) if is_shell_tool(tool) => {
                let details = beside_command(tool, &arguments);
                (ApprovalKind::Command, command.to_owned(), details)
            }
            (_, _, Some((act, path))) => {
                let subject = FileChange::of(act, path).to_string();
                (ApprovalKind::FileChange, subject, change(&arguments))
            }
            _ => {
                let subject = AskedTool::Named(tool.to_owned()).to_string();
                (ApprovalKind::Tool, subject, in_words(&arguments))
            }
        };
        let offered = input
            .get("permission_suggestions")
            .and_then(Value::as_array);
        let offered = offered.into_iter().flatten().take(SUGGESTIONS_MAX);
        let known = offered.filter_map(|it| Some((it.clone(), suggestion(it)?)));
        let rules = known.enumerate().map(|(at, (rule, comes_to))| {
            let id = format!("{SUGGESTION}{at}");
            (
                ApprovalChoice::allow_and(&id, &comes_to),
                Allowed::Rule(rule),
            )
        });
        let (label, allowed) = match tool {
            EXIT_PLAN_MODE => {
                let mode = json!({
                    "type": "setMode", "mode": ASKS_BEFORE_EDITS, "destination": "session",
                });
                ("allow, and ask before each edit", Allowed::Rule(mode))
            }
            _ => ("allow once", Allowed::Once),
        };
        let once = ApprovalChoice::new(ALLOW, label, ChoiceEffect::AllowOnce);
        let allows = std::iter::once((once, allowed)).chain(rules);
        let request = ApprovalRequest {
            also_wants: match kind.is_shell() {
                true => also_wants(&arguments),
                false => Vec::new(),
            },
            ..ApprovalRequest::new(kind, key, subject)
        };
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
        choices.push(ApprovalChoice::deny(DENY, Agent::Claude));
        choices.push(ApprovalChoice::stop(STOP));
        Self {
            request: ApprovalRequest {
                cwd: input.get("cwd").and_then(Value::as_str).map(str::to_owned),
                choices,
                subject: cut_apart(request.subject, SUBJECT_CHARS_MAX),
                cut: details.chars().nth(DETAILS_CHARS_MAX).is_some(),
                ..request
            },
            details: cut_apart(details.to_owned(), DETAILS_CHARS_MAX),
            allows,
            input: given.filter(|_| is_dialog).cloned(),
        }
    }

    /// Whether a choice says yes.
    pub(super) fn allows(&self, choice: &str) -> bool {
        self.allows.iter().any(|(id, _)| id == choice)
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

/// What a tool does to the file that it names.
fn file_act(tool: &str) -> Option<FileAct> {
    match tool {
        "Edit" => Some(FileAct::Edit),
        "MultiEdit" => Some(FileAct::MultiEdit),
        "NotebookEdit" => Some(FileAct::NotebookEdit),
        "Write" => Some(FileAct::Write),
        _ => None,
    }
}

fn path(arguments: &Value) -> Option<&str> {
    let names = ["file_path", "notebook_path"].into_iter();
    names
        .filter_map(|name| arguments.get(name)?.as_str())
        .next()
}

/// The arguments of a tool, a text as the text that it is. Behind its name each is set in, so that
/// none passes for another one.
fn in_words(arguments: &Value) -> String {
    let Some(members) = arguments.as_object() else {
        return match arguments {
            Value::Null => String::new(),
            other => format!("{other:#}"),
        };
    };
    let parts = members.iter().map(|(name, value)| {
        let part = match value.as_str() {
            Some(text) if text.contains('\n') => format!("{name}:\n{text}"),
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value:#}"),
        };
        part.replace('\n', "\n  ")
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// What a call says beside its command: why, as Claude says it, then all else.
fn beside_command(tool: &str, arguments: &Value) -> String {
    let mut lines = Vec::new();
    if tool != BASH {
        lines.push(format!("tool: {tool}"));
    }
    let why = arguments.get("description").and_then(Value::as_str);
    lines.extend(why.map(|why| why.replace('\n', "\n  ")));
    let said: &[&str] = match why {
        Some(_) => &["command", "description"],
        None => &["command"],
    };
    lines.extend(in_words_without(arguments, said));
    lines.join("\n")
}

/// The arguments of a tool but for those that are said already; `None` where no other is left.
fn in_words_without(arguments: &Value, said: &[&str]) -> Option<String> {
    let members = arguments.as_object()?.iter();
    let left = members.filter(|(name, _)| !said.contains(&name.as_str()));
    let left: serde_json::Map<_, _> = left.map(|(name, it)| (name.clone(), it.clone())).collect();
    (!left.is_empty()).then(|| in_words(&Value::Object(left)))
}

/// What a yes to a command grants beside it (Claude Code 2.1.330, its schema). A value of another
/// type than that schema has counts as set: what Claude makes of it is not known.
fn also_wants(arguments: &Value) -> Vec<Wish> {
    let is_set = |it: &&Value| !matches!(it, Value::Null | Value::Bool(false));
    let set = |name: &str| arguments.get(name).filter(is_set);
    let mut wants = Vec::new();
    if set("dangerouslyDisableSandbox").is_some() {
        wants.push(Wish::from("to run outside of Claude's sandbox"));
    }
    if let Some(hosts) = set("allowed_domains") {
        let hosts = match hosts.as_array() {
            Some(hosts) => hosts.iter().map(plain).collect::<Vec<_>>().join(", "),
            None => plain(hosts),
        };
        if !hosts.is_empty() {
            let hosts = cut_apart(hosts, HOSTS_CHARS_MAX);
            wants.push(Wish::Reach(format!("{hosts} from Claude's sandbox")));
        }
    }
    if set("run_in_background").is_some() {
        wants.push(Wish::from("to run in the background"));
    }
    wants
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// What a file would be changed to, as lines taken out and put in. What else the tool does with them
/// comes first.
fn change(arguments: &Value) -> String {
    let word = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut lines = Vec::new();
    let cell = word(arguments, "cell_id").map(|cell| cell.escape_debug().to_string());
    match (word(arguments, "edit_mode").as_deref(), cell) {
        (Some("delete"), Some(cell)) => lines.push(format!("deletes cell {cell}")),
        (Some("delete"), None) => lines.push("deletes a cell".to_owned()),
        (Some("insert"), Some(cell)) => lines.push(format!("inserts a cell after {cell}")),
        (Some("insert"), None) => lines.push("inserts a cell at the beginning".to_owned()),
        (_, Some(cell)) => lines.push(format!("replaces cell {cell}")),
        (_, None) => {}
    }
    lines.extend(in_words_without(arguments, &SHOWN_OF_CHANGE));
    let edits = arguments.get("edits").and_then(Value::as_array);
    let edits = edits.map_or_else(|| std::slice::from_ref(arguments), Vec::as_slice);
    for edit in edits {
        if edit.get("replace_all") == Some(&Value::Bool(true)) {
            lines.push("replaces every occurrence".to_owned());
        }
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

/// What a suggestion comes to, in words: all of it, for it holds for more than is asked. `None` for
/// one of a kind that we do not know, and for one that nobody could read whole.
fn suggestion(it: &Value) -> Option<String> {
    let to = it
        .get("destination")
        .and_then(Value::as_str)
        .unwrap_or("session");
    let behavior = it.get("behavior").and_then(Value::as_str);
    let comes_to = match it.get("type")?.as_str()? {
        "addRules" if behavior == Some("allow") => {
            let rules = it.get("rules")?.as_array()?.iter().map(|rule| {
                let tool = rule.get("toolName")?.as_str()?;
                Some(match rule.get("ruleContent") {
                    Some(content) => format!("{tool}({})", content.as_str()?),
                    None => tool.to_owned(),
                })
            });
            let rules: Option<Vec<_>> = rules.collect();
            format!("and always {} ({to})", rules?.join(" "))
        }
        "addDirectories" => {
            let folders = it.get("directories")?.as_array()?;
            let folders: Option<Vec<&str>> = folders.iter().map(Value::as_str).collect();
            format!("and the folder {} ({to})", folders?.join(" "))
        }
        "setMode" => format!("and switch to the mode {}", it.get("mode")?.as_str()?),
        _ => return None,
    };
    let is_read = comes_to.chars().count() <= COMES_TO_CHARS_MAX;
    is_read.then_some(comes_to)
}

#[cfg(test)]
mod tests;
