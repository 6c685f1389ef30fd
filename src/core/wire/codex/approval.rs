//! [`CodexApproval`]: a request of the app-server that waits for the person, in a form that can be
//! asked and answered anywhere (`facts/codex.md` §5; the shapes are Codex 0.169.0's own schema).

mod form;
mod params;

use serde_json::{Value, json};

use self::form::ElicitationForm;
use self::params::Params;
use super::frame::ServerRequest;
use super::item::FileUpdate;
use crate::agent::Agent;
use crate::cut_text::cut_apart;
use crate::entry::{
    ApprovalChoice, ApprovalKind, ApprovalRequest, AskedTool, ChoiceEffect, FileChange,
    SUBJECT_CHARS_MAX, Wish,
};
use crate::id::{ThreadId, TurnId};

/// The most that is kept of a diff or of a tool's arguments, in characters.
const DIFF_CHARS_MAX: usize = 200_000;

/// The longest name of a choice, in characters.
const LABEL_CHARS_MAX: usize = 300;

/// The most lines that are kept of what a yes grants beside the subject; the details tell all.
const ALSO_WANTS_MAX: usize = 16;

/// An approval that is asked for, with the answer that each choice of its stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct CodexApproval {
    pub request: ApprovalRequest,
    /// What else the person should read: the diff, or what can only be answered in the terminal.
    pub details: String,
    /// The `result` of each choice, in their order.
    results: Vec<Value>,
}

impl CodexApproval {
    /// Reads a request; `None` for one that does not wait for the person. `changes_of`: what the
    /// `fileChange` item of an id consists of, for a request about it has no diff.
    pub fn read<'a>(
        request: &ServerRequest,
        changes_of: impl Fn(&str) -> Option<&'a [FileUpdate]>,
    ) -> Option<Self> {
        if !request.waits_for_human() {
            return None;
        }
        let params = Params::read(&request.params);
        let mut draft = match request.method.as_str() {
            "item/commandExecution/requestApproval" => command(&params),
            "item/fileChange/requestApproval" => {
                let item = params.item_id.as_deref().unwrap_or_default();
                file_change(&params, changes_of(item).unwrap_or_default())
            }
            "item/permissions/requestApproval" => permissions(&params),
            "mcpServer/elicitation/request" => elicitation(&params),
            "item/tool/requestUserInput" => user_input(&params),
            method => Draft::new(ApprovalKind::Other(method.to_owned()), method.to_owned()),
        };
        let is_known = !matches!(draft.kind, ApprovalKind::Other(_));
        if !is_known || !params.is_whole || draft.subject.trim().is_empty() {
            draft.only_declines(&request.params);
        }
        if draft.choices.is_empty() {
            draft.detail("It can be answered in Codex's own terminal only.");
        }
        let (choices, results) = draft.choices.into_iter().unzip();
        // What has no id of an item is named by the request, whose number is the app-server's.
        let named = [&params.approval_id, &params.item_id];
        let named = named.into_iter().flatten().next();
        let named = named.map_or_else(|| request.id.clone(), Clone::clone);
        let thread = request.thread_id.clone().unwrap_or_default();
        let key = format!("{thread}/{named}/{}", request.method);
        let subject = cut_apart(draft.subject, SUBJECT_CHARS_MAX);
        Some(Self {
            request: ApprovalRequest {
                cwd: params.cwd,
                reason: params.reason.filter(|reason| !reason.is_empty()),
                choices,
                thread_id: request.thread_id.clone().map(ThreadId::new),
                turn_id: params.turn_id.map(TurnId::new),
                also_wants: draft.also_wants,
                cut: draft.is_cut,
                ..ApprovalRequest::new(draft.kind, key, subject)
            },
            details: draft.details,
            results,
        })
    }

    /// The `result` for a choice.
    pub fn result(&self, choice: &str) -> Option<&Value> {
        let at = self.request.choices.iter().position(|it| it.id == choice)?;
        self.results.get(at)
    }
}

/// An approval that is being put together.
struct Draft {
    kind: ApprovalKind,
    subject: String,
    details: String,
    also_wants: Vec<Wish>,
    /// The details are only the beginning.
    is_cut: bool,
    choices: Vec<(ApprovalChoice, Value)>,
}

impl Draft {
    fn new(kind: ApprovalKind, subject: String) -> Self {
        Self {
            kind,
            subject,
            details: String::new(),
            also_wants: Vec::new(),
            is_cut: false,
            choices: Vec::new(),
        }
    }

    fn choice(&mut self, id: &str, label: impl Into<String>, effect: ChoiceEffect, result: Value) {
        self.offer(ApprovalChoice::new(id, label, effect), result);
    }

    fn offer(&mut self, choice: ApprovalChoice, result: Value) {
        self.choices.push((choice, result));
    }

    fn detail(&mut self, line: &str) {
        if !self.details.is_empty() {
            self.details.push('\n');
        }
        self.details.push_str(line);
    }

    /// Takes away what says yes to something that is not understood as a whole, and shows it as it is
    /// written.
    fn only_declines(&mut self, written: &str) {
        self.choices.retain(|(choice, _)| choice.effect.denies());
        if !self.choices.is_empty() {
            self.detail("It can be allowed in Codex's own terminal only.");
        }
        self.is_cut |= is_longer(written, DIFF_CHARS_MAX);
        let shown = cut_apart(written.to_owned(), DIFF_CHARS_MAX);
        self.detail(&format!("Not all of it is understood: {shown}"));
    }

    /// What a yes grants beside the subject, as far as there is room.
    fn wants(&mut self, wish: &Wish) {
        if self.also_wants.len() < ALSO_WANTS_MAX {
            let line = cut_apart(wish.to_string(), LABEL_CHARS_MAX);
            self.also_wants.push(Wish::from(line));
        }
    }

    /// The decisions that are offered, and *decline*, which every request takes although it does
    /// not offer it (observed).
    fn decisions(&mut self, offered: &[Value]) {
        for decision in offered {
            if !self.decision(decision) {
                let shown = cut_apart(decision.to_string(), 200);
                self.detail(&format!("Codex's own terminal offers more: {shown}"));
            }
        }
        if !offered.iter().any(|decision| decision == "decline") {
            self.decision(&json!("decline"));
        }
    }

    /// Whether the decision is one that we know.
    fn decision(&mut self, decision: &Value) -> bool {
        let result = json!({ "decision": decision });
        if let Some(word) = decision.as_str() {
            let choice = match word {
                "accept" => ApprovalChoice::new(word, "allow once", ChoiceEffect::AllowOnce),
                "acceptForSession" => {
                    ApprovalChoice::new(word, "allow for this session", ChoiceEffect::AllowMore)
                }
                "decline" => ApprovalChoice::deny(word, Agent::Codex),
                "cancel" => ApprovalChoice::stop(word),
                _ => return false,
            };
            self.offer(choice, result);
            return true;
        }
        let rule = &decision["acceptWithExecpolicyAmendment"]["execpolicy_amendment"];
        if let Some(words) = rule.as_array() {
            let words: Option<Vec<_>> = words.iter().map(Value::as_str).collect();
            let Some(words) = words else {
                return false;
            };
            let comes_to = format!("and always what begins with `{}`", words.join(" "));
            let id = "acceptWithExecpolicyAmendment";
            return self.rule(ApprovalChoice::allow_and(id, &comes_to), result);
        }
        let rule = &decision["applyNetworkPolicyAmendment"]["network_policy_amendment"];
        if let (Some(host), Some(action)) = (rule["host"].as_str(), rule["action"].as_str()) {
            let effect = match action {
                "allow" => ChoiceEffect::AllowMore,
                "deny" => ChoiceEffect::DenyMore,
                _ => return false,
            };
            let label = format!("from now on {action} the host {host}");
            // Both rules can be offered at once.
            let id = format!("applyNetworkPolicyAmendment/{action}");
            return self.rule(ApprovalChoice::new(id, label, effect), result);
        }
        false
    }

    /// A choice that holds for more than is asked: it is offered where all of it is read. Whether it
    /// is.
    fn rule(&mut self, choice: ApprovalChoice, result: Value) -> bool {
        let is_read = choice.label.chars().count() <= LABEL_CHARS_MAX;
        if is_read {
            self.offer(choice, result);
        }
        is_read
    }
}

fn command(params: &Params) -> Draft {
    let what = params.command.clone().unwrap_or_default();
    let mut draft = Draft::new(ApprovalKind::Command, what);
    if let Some(network) = &params.network_approval_context {
        let reach = Wish::Reach(format!("{} by {}", network.host, network.protocol));
        draft.detail(&format!("It wants {reach}."));
        if draft.subject.is_empty() {
            draft.subject = reach.subject();
        } else {
            draft.wants(&reach);
        }
    }
    if params.kind.as_deref() == Some("writeStdin") {
        draft.detail("It is input for a command that runs already.");
    }
    // A yes to the command grants these, too.
    let wanted = params.additional_permissions.clone().unwrap_or_default();
    if !without_nothing(wanted.clone()).is_null() {
        for line in in_words(&wanted).lines() {
            draft.detail(&format!("It also wants: {line}"));
            draft.wants(&Wish::from(line));
        }
    }
    let usual = [json!("accept"), json!("decline"), json!("cancel")];
    draft.decisions(params.available_decisions.as_deref().unwrap_or(&usual));
    draft
}

fn file_change(params: &Params, changes: &[FileUpdate]) -> Draft {
    let files: Vec<String> = changes.iter().map(FileUpdate::in_words).collect();
    let subject = match (files.as_slice(), &params.grant_root) {
        ([], Some(root)) => FileChange::Below(root.clone()).to_string(),
        ([], None) => "files that Codex did not name".to_owned(),
        (files, _) => files.join("\n"),
    };
    let mut draft = Draft::new(ApprovalKind::FileChange, subject);
    if let Some(root) = &params.grant_root {
        draft.detail(&format!("It asks to write below {root} for the session."));
    }
    let mut left = DIFF_CHARS_MAX;
    for change in changes {
        draft.is_cut |= is_longer(&change.diff, left);
        let diff = cut_apart(change.diff.clone(), left);
        left -= diff.chars().count().min(left);
        draft.detail(&format!("--- {}\n{}", change.path, diff.trim_end()));
    }
    let usual = ["accept", "acceptForSession", "decline", "cancel"].map(|word| json!(word));
    let offered = params.available_decisions.as_deref();
    draft.decisions(offered.unwrap_or(&usual));
    draft
}

fn permissions(params: &Params) -> Draft {
    let wanted = params.permissions.clone().unwrap_or_default();
    let mut draft = Draft::new(ApprovalKind::Permissions, in_words(&wanted));
    let granted: serde_json::Map<String, Value> = match &wanted {
        Value::Object(wanted) => {
            let asked = wanted.iter().filter(|(_, value)| !value.is_null());
            asked
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        }
        _ => return draft,
    };
    for (scope, label, effect) in [
        ("turn", "allow for this turn", ChoiceEffect::AllowOnce),
        ("session", "allow for this session", ChoiceEffect::AllowMore),
    ] {
        let result = json!({ "permissions": granted, "scope": scope });
        draft.choice(scope, label, effect, result);
    }
    let nothing = json!({ "permissions": {}, "scope": "turn" });
    draft.choice("none", "do not", ChoiceEffect::Deny, nothing);
    draft
}

/// Network and folders, in a line each; what else is wanted as it is: all of it is granted together.
fn in_words(wanted: &Value) -> String {
    let mut wishes = Vec::new();
    let mut rest = wanted.clone();
    if let Some(Value::Object(network)) = rest.get_mut("network")
        && network.get("enabled") == Some(&Value::Bool(true))
    {
        network.remove("enabled");
        wishes.push(Wish::Network);
    }
    let mut listed = |key: &str, wish: fn(&Value) -> Wish| {
        if let Some(Value::Object(files)) = rest.get_mut("fileSystem")
            && let Some(Value::Array(entries)) = files.get(key)
        {
            wishes.extend(entries.iter().map(wish));
            files.remove(key);
        }
    };
    listed("read", |path| Wish::Read(plain(path)));
    listed("write", |path| Wish::Write(plain(path)));
    listed("entries", |entry| Wish::Other(entry.to_string()));
    let rest = without_nothing(rest);
    if !rest.is_null() {
        wishes.push(Wish::Other(rest.to_string()));
    }
    if wishes.is_empty() {
        wishes.push(Wish::Other(wanted.to_string()));
    }
    let lines: Vec<String> = wishes.iter().map(Wish::to_string).collect();
    lines.join("\n")
}

fn plain(path: &Value) -> String {
    path.as_str()
        .map_or_else(|| path.to_string(), str::to_owned)
}

/// Without members that say nothing; `Null` where none is left.
fn without_nothing(value: Value) -> Value {
    let Value::Object(members) = value else {
        return value;
    };
    let left = members
        .into_iter()
        .map(|(key, value)| (key, without_nothing(value)));
    let left: serde_json::Map<_, _> = left.filter(|(_, value)| !value.is_null()).collect();
    match left.is_empty() {
        true => Value::Null,
        false => Value::Object(left),
    }
}

fn elicitation(params: &Params) -> Draft {
    let server = params.server_name.as_deref().unwrap_or("an MCP server");
    let message = params.message.clone().unwrap_or_else(|| {
        let said = [&params.title, &params.description].into_iter().flatten();
        said.map(String::as_str).collect::<Vec<_>>().join(": ")
    });
    let meta = params.meta.clone().unwrap_or_default();
    let is_tool = meta["codex_approval_kind"] == "mcp_tool_call";
    let mut draft = if is_tool {
        let tool = meta["tool_name"].as_str().unwrap_or("a tool");
        let subject = AskedTool::of_server(server, tool).to_string();
        let mut draft = Draft::new(ApprovalKind::Tool, subject);
        // The server may have written all of `_meta`: what Codex's own dialog asks is the message.
        let mut details = format!("the request says: {}", message.replace('\n', "\n  "));
        if let Some(arguments) = meta.get("tool_params").filter(|given| !given.is_null()) {
            details.push_str(&format!("\n{arguments:#}"));
        }
        draft.is_cut = is_longer(&details, DIFF_CHARS_MAX);
        draft.detail(&cut_apart(details, DIFF_CHARS_MAX));
        draft
    } else {
        Draft::new(ApprovalKind::Question, format!("{server} asks: {message}"))
    };
    let form = ElicitationForm::of(params.mode.as_deref(), params.requested_schema.as_ref());
    let answer = |action: &str, content: Value, meta: Value| json!({ "action": action, "content": content, "_meta": meta });
    if let Some(url) = &params.url {
        draft.detail(&format!("It leads to {url}"));
    }
    if form == ElicitationForm::Empty && params.url.is_none() {
        let content = if is_tool { Value::Null } else { json!({}) };
        let label = if is_tool { "allow once" } else { "accept" };
        let once = answer("accept", content.clone(), Value::Null);
        draft.choice("accept", label, ChoiceEffect::AllowOnce, once);
        for (persist, label) in [
            ("session", "allow for this session"),
            ("always", "allow always"),
        ] {
            // One word, or a list of them.
            let offered = &meta["persist"];
            let offered = offered
                .as_array()
                .map_or_else(|| std::slice::from_ref(offered), Vec::as_slice);
            if is_tool && offered.iter().any(|word| word == persist) {
                let result = answer("accept", content.clone(), json!({ "persist": persist }));
                draft.choice(persist, label, ChoiceEffect::AllowMore, result);
            }
        }
    } else if let (
        ElicitationForm::Choice {
            field,
            about,
            values,
        },
        None,
    ) = (form, &params.url)
    {
        draft.detail(&about);
        for (number, (value, label)) in (1..).zip(values) {
            let result = answer("accept", json!({ field.as_str(): value }), Value::Null);
            draft.choice(&number.to_string(), label, ChoiceEffect::Answer, result);
        }
    } else {
        draft.detail(
            "It wants more than a yes: answer it in Codex's own terminal, or decline here.",
        );
    }
    let decline = answer("decline", Value::Null, Value::Null);
    draft.choice("decline", "do not", ChoiceEffect::Deny, decline);
    if !is_tool {
        // The turn goes on with either (Codex 0.169.0, observed).
        let cancel = answer("cancel", Value::Null, Value::Null);
        draft.choice("cancel", "cancel the request", ChoiceEffect::Deny, cancel);
    }
    draft
}

fn user_input(params: &Params) -> Draft {
    let asked: Vec<&str> = params
        .questions
        .iter()
        .map(|it| it.question.as_str())
        .collect();
    let mut draft = Draft::new(ApprovalKind::Question, asked.join("\n"));
    // Several at once, and a secret, are for the terminal.
    if let [question] = params.questions.as_slice()
        && !question.is_secret
    {
        for option in question.options.iter().flatten() {
            let label = match option.description.as_str() {
                "" => option.label.clone(),
                description => format!("{}: {description}", option.label),
            };
            let result =
                json!({ "answers": { question.id.as_str(): { "answers": [option.label] } } });
            let label = cut_apart(label, LABEL_CHARS_MAX);
            draft.choice(&option.label, label, ChoiceEffect::Answer, result);
        }
    }
    draft
}

fn is_longer(text: &str, chars: usize) -> bool {
    text.chars().nth(chars).is_some()
}

#[cfg(test)]
mod tests;
