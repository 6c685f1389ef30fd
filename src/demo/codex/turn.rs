//! [`work`]: what the scripted Codex does with a message.

use serde_json::json;
use tokio::sync::mpsc;

use super::arguments::McpEntry;
use super::mcp::{Caller, McpClient};
use crate::demo::pace::Pace;
use crate::demo::story;

/// What comes out of a turn, in order; the last one is always [`TurnStep::Ended`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TurnStep {
    /// It says what it is doing.
    Comment(&'static str),
    /// The turn is over, with its final answer or the reason for its failure.
    Ended(Result<&'static str, String>),
}

/// The parts of the story that Codex has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Review,
    FollowUp,
    Stranger,
}

impl Part {
    /// Told by the envelope that the message is in, so that a repeated one is met the same way.
    fn of(text: &str) -> Self {
        let head = text.lines().next().unwrap_or_default();
        if !head.contains("from peer Claude") {
            Self::Stranger
        } else if head.starts_with("[ctxrelay handoff ") {
            Self::Review
        } else if head.contains("an answer is expected") {
            Self::FollowUp
        } else {
            Self::Stranger
        }
    }
}

/// Works on one message until its turn ends.
pub(super) async fn work(
    text: String,
    caller: Caller,
    mcp: Option<McpEntry>,
    pace: Pace,
    steps: mpsc::Sender<(Caller, TurnStep)>,
) {
    let say = async |step| {
        // A server without a receiver is about to end.
        let _ = steps.send((caller.clone(), step)).await;
    };
    let answer = match Part::of(&text) {
        Part::Review => {
            say(TurnStep::Comment(story::REVIEW_COMMENT)).await;
            pace.pause(5.5).await;
            review(mcp, &caller, id_of(&text), pace)
                .await
                .map(|()| story::REVIEW_ANSWER)
        }
        Part::FollowUp => {
            pace.pause(1.0).await;
            say(TurnStep::Comment(story::FOLLOW_UP_COMMENT)).await;
            pace.pause(4.5).await;
            Ok(story::FOLLOW_UP_ANSWER)
        }
        Part::Stranger => {
            pace.pause(1.5).await;
            Ok(story::CODEX_STRANGER)
        }
    };
    say(TurnStep::Ended(answer)).await;
}

/// The id of the message that an envelope is around: its third word.
fn id_of(text: &str) -> &str {
    text.split_whitespace().nth(2).unwrap_or_default()
}

async fn review(
    mcp: Option<McpEntry>,
    caller: &Caller,
    handoff: &str,
    pace: Pace,
) -> Result<(), String> {
    let entry = mcp.ok_or("no MCP server is configured")?;
    let mut tools = McpClient::open(entry).await?;
    let artifact = json!({
        "kind": "review",
        "title": story::REVIEW_TITLE,
        "summary": story::REVIEW_SUMMARY,
        "status": "failed",
        "evidence": story::REVIEW_EVIDENCE,
    });
    tools.call("record_artifact", artifact, caller).await?;
    pace.pause(2.0).await;
    // As its instructions say: the last words of the turn are not sent as well then.
    let message = json!({"text": story::FINDINGS, "in_reply_to": handoff});
    tools.call("send_to_claude", message, caller).await?;
    pace.pause(1.5).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::{Agent, Party};
    use crate::core::envelope::{Envelope, MessageKind, SentWhen, wrap};
    use crate::core::id::EntryId;

    #[test]
    fn the_envelope_tells_which_part_of_the_story_it_is() {
        let id = EntryId::new("41");
        let part = |from: &Party, kind, require_reply| {
            let envelope = Envelope {
                id: &id,
                from,
                kind,
                sent: SentWhen::Ago {
                    seconds: 90,
                    head_moved: false,
                },
                repeat: true,
                require_reply,
                reason: None,
                context_refs: &[],
            };
            let text = wrap(&envelope, "text\nan answer is expected");
            assert_eq!(id_of(&text), id.as_str());
            Part::of(&text)
        };
        let claude = Party::Agent(Agent::Claude);
        assert_eq!(part(&claude, &MessageKind::Handoff, false), Part::Review);
        assert_eq!(part(&claude, &MessageKind::Message, true), Part::FollowUp);
        assert_eq!(part(&claude, &MessageKind::Message, false), Part::Stranger);
        assert_eq!(
            part(&Party::Human, &MessageKind::Handoff, false),
            Part::Stranger
        );
        assert_eq!(Part::of(""), Part::Stranger);
    }
}
