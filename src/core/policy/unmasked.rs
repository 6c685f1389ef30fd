//! [`read_unmasked`]: what only the unmasked text of a request for approval shows.

use super::risk_hints::text_hints;
use crate::entry::{ApprovalRequest, ChoiceEffect, Wish};
use crate::redact::Redactor;

/// Reads a request before the record masks it. The agent's program runs the text as it is, so where
/// parts of it are masked the request keeps the hints of all of it, and where such a part may be more
/// than one word of a shell it offers no choice but those that say no. A rule whose words are masked
/// is offered nowhere, and none of a request of which only the beginning is here. `content`: all that the record tells of the request; `root`: the project's
/// folder, absolute and without links.
pub fn read_unmasked(
    request: &mut ApprovalRequest,
    content: &str,
    root: &str,
    redactor: &Redactor,
) {
    request.cut = request.is_cut();
    request.unmasked = None;
    if request.is_user_question() {
        return;
    }
    // What stands around a text can decide whether it is masked.
    let wants: Vec<String> = request.also_wants.iter().map(Wish::to_string).collect();
    let texts = [content, &request.subject].into_iter();
    let texts = texts.chain(wants.iter().map(String::as_str));
    let (mut is_masked, mut hides_code) = (false, false);
    for text in texts {
        let (shown, marks) = redactor.redact_text(text);
        is_masked |= marks > 0;
        hides_code |= signs(&shown) < signs(text);
    }
    if is_masked {
        // Without what stood around them no rule knows words of a masked part for a secret.
        let open = text_hints(&masked(request, redactor), root);
        request.unmasked = Some(text_hints(request, root).in_open_words(&open));
    }
    let is_cut = request.cut;
    request.choices.retain(|choice| match choice.effect {
        ChoiceEffect::Deny | ChoiceEffect::Stop => true,
        ChoiceEffect::DenyMore => redactor.redact_text(&choice.label).1 == 0,
        ChoiceEffect::AllowMore => {
            !hides_code && !is_cut && redactor.redact_text(&choice.label).1 == 0
        }
        ChoiceEffect::AllowOnce | ChoiceEffect::Answer | ChoiceEffect::OwnWords => !hides_code,
    });
}

/// As the record has it, as far as hints are made from it.
fn masked(request: &ApprovalRequest, redactor: &Redactor) -> ApprovalRequest {
    let mask = |text: &str| redactor.redact_text(text).0.into_owned();
    ApprovalRequest {
        subject: mask(&request.subject),
        cwd: request.cwd.as_deref().map(mask),
        ..request.clone()
    }
}

/// How many signs a text has with which a word of a shell ends or becomes code. A mark has none, and
/// masking adds nothing else: if there are fewer behind it, a masked part had some.
fn signs(text: &str) -> usize {
    let is_sign = |letter: &char| letter.is_whitespace() || ";|&$`()<>".contains(*letter);
    text.chars().filter(is_sign).count()
}
