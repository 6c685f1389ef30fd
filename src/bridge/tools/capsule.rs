//! `capsule`: reads the tasks that the work belongs to. Only the person opens, closes and exports
//! one.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::ToolResult;
use super::call::{ToolCall, unexpected};
use super::definition::Definition;
use super::{argument, schema};
use crate::core::capsule::{CapsuleStatus, Freshness};
use crate::core::cut_text::excerpt;
use crate::core::id::CapsuleId;
use crate::core::told_path::told_path;
use crate::wire::control::{
    CapsuleCheck, CapsuleList, CapsuleQuestion, CapsuleRow, CapsuleText, Command,
    ReadCapsulesParams, Refusal, Reply,
};

/// How much of a title or path is shown, in characters.
const LINE_CHARS: usize = 200;

/// How much of a status is shown, in characters.
const WORD_CHARS: usize = 20;

/// How many files that changed are named.
const FILES_MAX: usize = 50;

/// Said of what the record does not vouch for.
const FOREIGN: &str = "from elsewhere: nobody here vouches for it";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    action: CapsuleQuestion,
    id: Option<String>,
}

pub(super) fn definition() -> Definition {
    Definition {
        description:
            "Read tasks: list; show one (goal, decisions, files, tests); check if its files \
                      changed."
                .to_owned(),
        schema: schema::object(
            &[],
            [
                ("action", schema::one_of(&["list", "show", "check"])),
                ("id", schema::string_about("default: the current task")),
            ],
        ),
        read_only: true,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    if let Some(id) = &arguments.id {
        argument::word("id", id)?;
    }
    let command = Command::ReadCapsules(ReadCapsulesParams {
        question: arguments.action,
        id: arguments.id.map(CapsuleId::new),
        ..ReadCapsulesParams::default()
    });
    match call.ask(command).await? {
        Reply::Capsules(list) => Ok(listed(&list)),
        Reply::CapsuleText(capsule) => Ok(shown(&capsule)),
        Reply::CapsuleCheck(check) => Ok(checked(&check)),
        other => Err(unexpected(&other)),
    }
}

fn listed(list: &CapsuleList) -> ToolResult {
    let row = |row: &CapsuleRow| {
        json!({
            "id": row.id,
            "title": excerpt(&row.title, LINE_CHARS),
            "status": row.status.as_ref().map(word),
            "freshness": row.freshness,
            "current": row.is_current,
            "foreign": row.is_foreign,
            "fault": row.fault.as_deref().map(|fault| excerpt(fault, LINE_CHARS)),
        })
    };
    let rows: Vec<Value> = list.capsules.iter().map(row).collect();
    let line = |row: &CapsuleRow| {
        let status = row.status.as_ref().map(word);
        let whose = if row.is_foreign { FOREIGN } else { "" };
        format!(
            "{} {} ({}) {} {whose}",
            row.id,
            status.unwrap_or_default(),
            stands(row.freshness),
            excerpt(&row.title, LINE_CHARS)
        )
    };
    let mut lines: Vec<String> = list.capsules.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("There are no tasks.".to_owned());
    }
    ToolResult::new(
        json!({"capsules": rows, "total": list.total}),
        lines.join("\n"),
    )
}

/// How a task stands to the work tree of now, in words.
pub(super) fn stands(freshness: Option<Freshness>) -> &'static str {
    freshness.map_or("not known to be fresh", Freshness::as_str)
}

/// That of a file is what somebody wrote.
fn word(status: &CapsuleStatus) -> String {
    excerpt(&status.to_string(), WORD_CHARS)
}

fn shown(capsule: &CapsuleText) -> ToolResult {
    let mut text: String = capsule.text.chars().map(plain).collect();
    if let Some(remark) = &capsule.remark {
        text = format!("{}.\n\n{text}", excerpt(remark, LINE_CHARS));
    }
    let left: Vec<Value> = capsule
        .left_out
        .iter()
        .map(|(what, count)| json!({"what": what, "count": count}))
        .collect();
    ToolResult::new(
        json!({
            "id": capsule.id,
            "freshness": capsule.freshness,
            "foreign": capsule.is_foreign,
            "text": text,
            "left_out": left,
            "remark": capsule.remark,
        }),
        text.as_str(),
    )
}

/// Of a text that is shown as it is only its lines are left.
fn plain(letter: char) -> char {
    match letter {
        '\n' => '\n',
        letter if letter.is_control() => ' ',
        letter => letter,
    }
}

fn checked(check: &CapsuleCheck) -> ToolResult {
    let files = check.touched.iter().take(FILES_MAX);
    let files: Vec<Value> = files
        .map(|(path, by)| json!({"path": excerpt(path, LINE_CHARS), "by": by}))
        .collect();
    let mut text = format!("{} is {}", check.id, check.freshness.as_str());
    if !check.touched.is_empty() {
        let named = check.touched.iter().take(FILES_MAX);
        let named = named.map(|(path, by)| {
            let path = excerpt(&told_path(path), LINE_CHARS);
            by.map_or_else(|| path.clone(), |by| format!("{path} (by {by})"))
        });
        text.push_str(&format!(
            "; {} of its files changed since: {}",
            check.touched.len(),
            named.collect::<Vec<_>>().join(", ")
        ));
        if check.touched.len() > FILES_MAX {
            text.push_str(", …");
        }
    }
    let uncompared = check.uncompared.iter().take(FILES_MAX);
    let uncompared = uncompared.map(|path| excerpt(&told_path(path), LINE_CHARS));
    let uncompared: Vec<String> = uncompared.collect();
    if !uncompared.is_empty() {
        text.push_str(&format!(
            "; {} of its files cannot be compared: {}",
            check.uncompared.len(),
            uncompared.join(", ")
        ));
    }
    if let Some(remark) = &check.remark {
        text.push_str(&format!("; {}", excerpt(remark, LINE_CHARS)));
    }
    ToolResult::new(
        json!({
            "id": check.id,
            "freshness": check.freshness,
            "foreign": check.is_foreign,
            "ahead": check.ahead,
            "behind": check.behind,
            "touched": files,
            "touched_total": check.touched.len(),
            "uncompared": uncompared,
            "remark": check.remark,
        }),
        text,
    )
}
