//! `read_context` with view `resume` or `instructions`, in pages: all that the record holds of the
//! caller's work, or all of the project's rules that the caller does not read by itself.
//!
//! It is what an agent is given after a compaction, plus what did not fit into it.

use serde_json::json;

use super::answer::{PAGE_CHARS_MAX, ToolResult, escaped_stretch};
use super::argument;
use super::call::ToolCall;
use crate::core::id::Seq;
use crate::wire::control::{Command, ContextView, ReadContextParams, Refusal, WorkText};

/// What the fields around the text may take, in characters.
const FIELDS_CHARS: usize = 1_000;

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ResumeCursor {
    /// The character.
    from: usize,
    /// [`WorkText::seq`] of the page before.
    seq: Seq,
}

impl ResumeCursor {
    fn parse(view: ContextView, text: &str) -> Option<Self> {
        let places = text.strip_prefix(view.as_str())?.strip_prefix(':')?;
        let (from, seq) = places.split_once(':')?;
        Some(Self {
            from: from.parse().ok()?,
            seq: Seq(seq.parse().ok()?),
        })
    }

    fn to_text(self, view: ContextView) -> String {
        format!("{}:{}:{}", view.as_str(), self.from, self.seq.0)
    }
}

pub(super) async fn page(
    call: &ToolCall,
    view: ContextView,
    cursor: Option<&str>,
) -> Result<ToolResult, Refusal> {
    let cursor = match cursor {
        None => None,
        Some(text) => Some(ResumeCursor::parse(view, text).ok_or_else(|| {
            let view = view.as_str();
            argument::invalid(format!(
                "`cursor` is none of view {view}: use that of the page before"
            ))
        })?),
    };
    let command = Command::ReadContext(ReadContextParams {
        view,
        ..ReadContextParams::default()
    });
    Ok(cut(view, &call.ask_for(command).await?, cursor))
}

/// A page, whole lines where there is one that ends in it.
fn cut(view: ContextView, work: &WorkText, cursor: Option<ResumeCursor>) -> ToolResult {
    let from = cursor.map_or(0, |cursor| cursor.from);
    // Twice in the result: a result has a twin in plain text.
    let mut chunk = escaped_stretch(&work.text, from, PAGE_CHARS_MAX / 2 - FIELDS_CHARS);
    let total = work.text.chars().count();
    let has_more = |chunk: &str| from + chunk.chars().count() < total;
    if has_more(chunk)
        && let Some(end) = chunk.rfind('\n')
    {
        chunk = &chunk[..=end];
    }
    let next = has_more(chunk).then(|| ResumeCursor {
        from: from + chunk.chars().count(),
        seq: work.seq,
    });
    let next = next.map(|next| next.to_text(view));
    let grown = cursor.is_some_and(|cursor| cursor.seq != work.seq);
    let mut text = chunk.to_owned();
    if grown {
        text.push_str(match view {
            ContextView::Instructions => "\nThe rules have changed since the page before.",
            _ => "\nThe record has grown since the page before.",
        });
    }
    if let Some(cursor) = &next {
        text.push_str(&format!(
            "\nGo on: read_context with view {} and cursor {cursor}.",
            view.as_str()
        ));
    }
    ToolResult::new(
        json!({
            "text": chunk,
            "as_of": work.seq,
            "record_has_grown": grown,
            "cursor": next,
        }),
        text,
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::bridge::tools::answer::{RESULT_CHARS_MAX, escaped_chars, json_chars};

    /// All pages of a text, read one after the other.
    fn pages(text: &str) -> Vec<ToolResult> {
        let work = WorkText {
            text: text.to_owned(),
            seq: Seq(7),
        };
        let mut pages = Vec::new();
        let mut cursor = None;
        loop {
            let page = cut(ContextView::Resume, &work, cursor);
            let next = page.structured["cursor"].as_str().map(str::to_owned);
            pages.push(page);
            match next {
                Some(next) => {
                    cursor = Some(ResumeCursor::parse(ContextView::Resume, &next).unwrap())
                }
                None => return pages,
            }
        }
    }

    proptest! {
        #[test]
        fn the_pages_together_are_the_text_and_each_can_be_shown(
            text in "([a-z é\u{1}\"\\\\\u{1F350}]{0,90}\n?){0,400}"
        ) {
            let pages = pages(&text.repeat(4));
            let read: String = pages
                .iter()
                .map(|page| page.structured["text"].as_str().unwrap())
                .collect();
            prop_assert_eq!(read, text.repeat(4));
            for page in pages {
                let chars = json_chars(&page.structured) + escaped_chars(&page.text);
                prop_assert!(chars <= RESULT_CHARS_MAX, "{chars}");
                prop_assert_eq!(&page.structured["record_has_grown"], &Value::Bool(false));
            }
        }
    }

    #[test]
    fn a_line_is_not_torn_and_a_page_of_an_older_record_says_so() {
        let text = "a line of the work\n".repeat(2_000);
        let pages = pages(&text);
        assert!(pages.len() > 1);
        for page in &pages {
            assert!(page.structured["text"].as_str().unwrap().ends_with('\n'));
        }
        let work = WorkText { text, seq: Seq(9) };
        let cursor = ResumeCursor::parse(ContextView::Resume, "resume:19:7");
        let page = cut(ContextView::Resume, &work, cursor);
        assert_eq!(page.structured["record_has_grown"], true);
        assert_eq!(ResumeCursor::parse(ContextView::Resume, "part:1:2:x"), None);
        assert_eq!(
            ResumeCursor::parse(ContextView::Instructions, "resume:19:7"),
            None
        );
    }
}
