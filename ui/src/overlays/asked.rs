//! An agent's request for permission: its part of the card, and the choice of answers.

use super::choice::{Choice, ChoiceOption, Pick};
use super::document::Document;
use crate::effect::Effect;
use crate::model::{Agent, AskedCard, InboxCard, Party};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;

/// How many columns of what is asked about stand beside the answers, two or three lines: what the hints
/// say of it stays in sight.
const SUBJECT_BESIDE: usize = 144;

/// How many lines of what should be read before answering stand beside the answers; the card has all.
const DETAILS_BESIDE: usize = 3;

/// What is asked, why, and what may be answered.
pub(super) fn asked(document: &mut Document<'_>, asked: &AskedCard, by: &Party) {
    if !asked.hints.is_empty() {
        document.gap();
        for hint in &asked.hints {
            document.body(hint, ThemeRole::OutcomeAttention);
        }
    }
    if !asked.details.is_empty() {
        document.gap();
        document.body(&asked.details, ThemeRole::Text);
    }
    if let Some(until_ms) = asked.call_waits_until_ms {
        document.gap();
        let view = &document.deck.view;
        let text = if view.now_ms < until_ms {
            let until = text::clock_seconds(until_ms, view.utc_offset_s(until_ms));
            format!("It waits for your answer until {until}; a later one reaches it as a message.")
        } else {
            "It waits no longer: your answer reaches it as a message.".to_owned()
        };
        document.body(&text, ThemeRole::TextMuted);
    }
    let has_dialog = asked.call_waits_until_ms.is_none() && !asked.choices.is_empty();
    if asked.given.is_none() && has_dialog && *by == Party::Agent(Agent::Claude) {
        document.gap();
        let text = "Where you answered in Claude's own terminal, that counts: this stays until what \
                    you allowed there has run.";
        document.body(text, ThemeRole::TextMuted);
    }
    if let Some(given) = &asked.given {
        document.heading("Your answer", "");
        let text = format!("{given}; nobody has said yet whether it was the one that counted");
        document.body(&text, ThemeRole::Text);
    } else {
        document.heading("Answers", "");
        if asked.choices.is_empty() {
            document.body(
                "in the agent's own terminal only",
                ThemeRole::OutcomeAttention,
            );
        }
        let dot = document.deck.glyphs.dot();
        let muted = document.style(ThemeRole::TextMuted);
        for choice in &asked.choices {
            document.bullet(dot, muted, &choice.label);
        }
    }
}

/// The answers to a card, to choose one of; `None` where there is none.
pub(crate) fn answers(card: &InboxCard) -> Option<Choice> {
    let asked = card.asked.as_deref()?;
    if asked.choices.is_empty() {
        return None;
    }
    let mut options: Vec<ChoiceOption> = Vec::new();
    for choice in &asked.choices {
        let (short, desc) = match &choice.parts {
            Some(parts) => (parts.short.as_str(), parts.comes_to.as_str()),
            None => (choice.label.as_str(), ""),
        };
        let (short, desc) = (sanitize::line(short), sanitize::line(desc));
        let answer = Effect::AnswerApproval {
            id: card.id.clone(),
            choice: choice.id.clone(),
            note: None,
        };
        options.push(ChoiceOption::new(short, desc, Pick::Effect(answer)));
    }
    options.push(ChoiceOption::new("not now", "it waits on", Pick::Nothing));
    let title = format!("{} asks {}", card.by.title(), asked.what);
    // The answers lie over the card.
    let whole = sanitize::line(&card.summary);
    let subject = text::fit(&whole, SUBJECT_BESIDE);
    let breaks = |text: &str| text.matches(sanitize::BREAK).count();
    let more = breaks(&whole) - breaks(&subject);
    let mut is_cut = more == 0 && subject != whole;
    let mut lines = vec![subject];
    match more {
        0 => {}
        1 => lines.push("1 more line on the card".to_owned()),
        n => lines.push(format!(
            "{} more lines on the card",
            text::grouped(n as u64)
        )),
    }
    lines.extend(asked.hints.iter().map(|hint| sanitize::line(hint)));
    let details = sanitize::lines(&asked.details).into_iter();
    let mut details = details.filter(|line| !line.trim().is_empty());
    lines.extend(details.by_ref().take(DETAILS_BESIDE));
    is_cut |= details.next().is_some();
    if is_cut {
        lines.push("the rest stands on the card".to_owned());
    }
    Some(Choice::new(sanitize::line(&title), lines, options))
}
