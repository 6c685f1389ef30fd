//! [`hidden_message`]: a user message that the model will see and the protocol does not show.
//!
//! The app-server writes a user message to the thread's rollout in two lines: what the model gets
//! (`response_item`), and a millisecond later the item from which the history is built. A kill in
//! between leaves only the first: the history has an empty turn, although the next request to the
//! model contains the text (Codex 0.169.0, observed; after a resend the model has it twice). The
//! rollout is Codex's own file, so it is only read, and only as far as we know its format.

use std::io::SeekFrom;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use crate::core::hex::hex;

/// Of the end of the file: the turn in question is the last one, or nearly.
const TAIL_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
struct Line {
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    role: String,
    content: Vec<Part>,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    origin: Origin,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Origin {
    turn_id: String,
    #[serde(default)]
    content_item_kinds: Vec<String>,
}

/// The text of the user message of this turn in the rollout at `path`.
pub(super) async fn hidden_message(path: &str, turn_id: &str) -> Option<String> {
    let mut file = File::open(path).await.ok()?;
    let length = file.metadata().await.ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))
        .await
        .ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).await.ok()?;
    tail.split(|byte| *byte == b'\n')
        .find_map(|line| text_of(line, turn_id))
}

fn text_of(line: &[u8], turn_id: &str) -> Option<String> {
    // Cheap, before a line with a command's whole output is parsed.
    let start = &line[..line.len().min(400)];
    if !String::from_utf8_lossy(start).contains(r#""role":"user""#) {
        return None;
    }
    let Payload {
        role,
        content,
        origin,
    } = serde_json::from_slice::<Line>(line).ok()?.payload;
    let is_message = origin
        .content_item_kinds
        .iter()
        .any(|kind| kind == "user.text");
    (role == "user" && is_message && origin.turn_id == turn_id)
        .then(|| content.into_iter().map(|part| part.text).collect())
}

#[derive(Deserialize)]
struct Developer {
    payload: DeveloperPayload,
}

#[derive(Deserialize)]
struct DeveloperPayload {
    role: String,
    content: Vec<Part>,
}

/// What a rollout tells of a developer's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeveloperText {
    /// It is not there.
    Missing,
    /// It is there, and the model has not answered since.
    Held,
    /// The model has answered since, and what that took was told.
    Answered,
}

/// What the rollout at `path` tells, in its end and since the last compaction, of a developer's message
/// whose text has this SHA-256. `looked_at`: how long it was when it was not there.
pub(super) async fn developer_text_in(
    path: &str,
    sha256: &str,
    looked_at: &mut u64,
) -> DeveloperText {
    let mut found = DeveloperText::Missing;
    let Ok(mut file) = File::open(path).await else {
        return found;
    };
    let length = file.metadata().await.map_or(0, |data| data.len());
    if length == *looked_at {
        return found;
    }
    let mut tail = Vec::new();
    let start = SeekFrom::Start(length.saturating_sub(TAIL_BYTES));
    if file.seek(start).await.is_err()
        || file.take(TAIL_BYTES).read_to_end(&mut tail).await.is_err()
    {
        return found;
    }
    *looked_at = length;
    let mut has_answer = false;
    for line in tail.split(|byte| *byte == b'\n') {
        let start = String::from_utf8_lossy(&line[..line.len().min(400)]);
        if start.contains(r#""type":"compacted""#) {
            // What a developer said before is dropped by it, and the next may say the same.
            found = DeveloperText::Missing;
        } else if found == DeveloperText::Missing {
            has_answer = false;
            if start.contains(r#""role":"developer""#) && says(line, sha256) {
                found = DeveloperText::Held;
            }
        } else if start.contains(r#""type":"token_count""#) {
            if has_answer {
                found = DeveloperText::Answered;
            }
        } else {
            has_answer |= is_answer(&start);
        }
    }
    found
}

/// The model said something, or called a tool.
fn is_answer(start: &str) -> bool {
    start.contains(r#""type":"response_item""#)
        && [r#""role":"assistant""#, r#"_call","#]
            .iter()
            .any(|sign| start.contains(sign))
}

fn says(line: &[u8], sha256: &str) -> bool {
    developer_text(line).is_some_and(|text| hex(&Sha256::digest(text.as_bytes())) == sha256)
}

fn developer_text(line: &[u8]) -> Option<String> {
    let Developer { payload } = serde_json::from_slice(line).ok()?;
    (payload.role == "developer")
        .then(|| payload.content.into_iter().map(|part| part.text).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn line(turn_id: &str, kind: &str, text: &str) -> String {
        format!(
            r#"{{"timestamp":"t","ordinal":1,"type":"response_item","payload":{{"type":"message","id":"i","role":"user","content":[{{"type":"input_text","text":"{text}"}}],"internal_chat_message_metadata_passthrough":{{"turn_id":"{turn_id}","content_item_kinds":["{kind}"]}}}}}}"#
        )
    }

    #[tokio::test]
    async fn a_developers_text_counts_until_the_next_compaction() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let packet = r#"{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"go on"}]}}"#;
        let said = r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}}"#;
        let compacted =
            r#"{"type":"compacted","payload":{"message":"m","replacement_history":[]}}"#;
        let sha256 = hex(&Sha256::digest(b"go on"));
        let answer = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[]}}"#;
        let call = r#"{"type":"response_item","payload":{"type":"function_call","name":"exec"}}"#;
        let tokens = r#"{"type":"event_msg","payload":{"type":"token_count","info":{}}}"#;
        let mut looked_at = 0;
        for (lines, told) in [
            (vec!["torn", said], DeveloperText::Missing),
            (
                vec!["torn", answer, tokens, said, packet, tokens],
                DeveloperText::Held,
            ),
            (
                vec!["torn", answer, said, packet, said, answer],
                DeveloperText::Held,
            ),
            (
                vec!["torn", said, packet, said, answer, tokens],
                DeveloperText::Answered,
            ),
            (
                vec!["torn", said, packet, call, said, tokens, answer],
                DeveloperText::Answered,
            ),
            (
                vec!["torn", packet, answer, tokens, compacted],
                DeveloperText::Missing,
            ),
            (
                vec![
                    "torn", packet, answer, tokens, compacted, packet, "{}", tokens,
                ],
                DeveloperText::Held,
            ),
        ] {
            std::fs::write(file.path(), lines.join("\n")).unwrap();
            let found = developer_text_in(path, &sha256, &mut looked_at).await;
            assert_eq!(found, told, "{lines:?}");
        }
        // It has not grown.
        let again = developer_text_in(path, &sha256, &mut looked_at).await;
        assert_eq!(again, DeveloperText::Missing);
        let nowhere = developer_text_in("/no/such/rollout", &sha256, &mut 0).await;
        assert_eq!(nowhere, DeveloperText::Missing);
    }

    #[tokio::test]
    async fn the_message_of_the_turn_is_found_among_everything_else() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = [
            "torn line".to_owned(),
            line("U", "environment_context", "where we are"),
            line("V", "user.text", "another turn"),
            line("U", "user.text", "the one"),
            "{}".to_owned(),
        ];
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(hidden_message(path, "U").await.as_deref(), Some("the one"));
        assert_eq!(hidden_message(path, "W").await, None);
        assert_eq!(hidden_message("/no/such/rollout", "U").await, None);
    }
}
