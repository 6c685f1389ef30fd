//! [`chosen`]: the person ticks what a task takes along.

use std::io::{IsTerminal as _, stdin};

use super::maker::CapsuleMaker;
use crate::cli::connection::operator::unseen_question;
use crate::cli::context::CliContext;
use crate::cli::exit::Failure;
use crate::cli::record::ledger::search::noted;
use crate::cli::record::search::{find_alike, found_text};
use crate::core::capsule::FoundText;
use crate::core::entry::EntryType;
use crate::core::id::CapsuleId;
use crate::wire::search::{FoundHit, FoundIn};

/// What was said elsewhere about these words, as `take` tells it, as far as the person wants it; all
/// of it with `yes`.
pub(super) fn chosen(
    context: &CliContext,
    words: &str,
    yes: bool,
    take: impl Fn(&FoundHit) -> Option<FoundText>,
) -> Result<Vec<FoundText>, Failure> {
    let found = find_alike(&context.project, &noted(context), words, take)?;
    if found.is_empty() {
        context.out.note("nothing was found that goes along");
        return Ok(found);
    }
    if yes {
        return Ok(found);
    }
    // Answers that are piped in were made by somebody who knows what is asked.
    if stdin().is_terminal()
        && let Some(refusal) = unseen_question()
    {
        return Err(refusal);
    }
    for (number, text) in (1..).zip(&found) {
        context.out.note(&format!("{number}  {text}"));
    }
    let question = "Which go along? Their numbers, `all` or nothing:";
    let Some(answer) = context.out.ask(question)? else {
        return Err(Failure::invalid(
            "nobody said what goes along",
            "answer on a terminal, or take all of it with --yes",
        ));
    };
    ticked(&answer, found)
}

/// A hit as a task may begin with it. It is recorded as the operator's: no stranger's text may be,
/// nor what is kept of a task for which no record here vouches, nor what stands where the record does
/// not lead. Sealed sessions are found themselves.
pub(super) fn goes_into(maker: &CapsuleMaker, hit: &FoundHit) -> Option<FoundText> {
    let id = CapsuleId::new(hit.hit.id.as_str());
    let is_kept_only = hit.kind == FoundIn::Capsule && !maker.world.tasks.contains_key(&id);
    // A daemon of an earlier build does not say which of the system's are findings.
    let is_artifact = hit.hit.entry_type.known() == Some(&EntryType::Artifact);
    let is_systems = is_artifact && hit.hit.source == "system";
    let is_ours = !hit.is_strangers() && !is_kept_only && !is_systems;
    (is_ours && maker.leads_to(hit)).then(|| found_text(hit))
}

fn ticked(answer: &str, found: Vec<FoundText>) -> Result<Vec<FoundText>, Failure> {
    if answer == "all" {
        return Ok(found);
    }
    // The question's own word counts as the empty answer.
    let answer = if answer == "nothing" { "" } else { answer };
    let words = answer.split([' ', ',']).filter(|word| !word.is_empty());
    let numbers: Option<Vec<usize>> = words
        .map(|word| {
            let number = word.parse().ok();
            number.filter(|number| (1..=found.len()).contains(number))
        })
        .collect();
    let Some(numbers) = numbers else {
        return Err(Failure::invalid(
            format!("`{answer}` are no numbers of these"),
            "run the command again",
        ));
    };
    let kept = (1..).zip(found);
    let kept = kept.filter(|(number, _)| numbers.contains(number));
    Ok(kept.map(|(_, text)| text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_all_or_nothing_go_along() {
        let found = || {
            ["a", "b", "c"].map(|text| FoundText {
                text: text.to_owned(),
                cited: String::new(),
            })
        };
        let ticked = |answer| {
            let ticked = ticked(answer, found().to_vec()).ok()?;
            Some(ticked.into_iter().map(|it| it.text).collect::<String>())
        };
        assert_eq!(ticked("all").unwrap(), "abc");
        assert_eq!(ticked("").unwrap(), "");
        assert_eq!(ticked("3, 1 1").unwrap(), "ac");
        assert_eq!(ticked("nothing").unwrap(), "");
        for wrong in ["0", "4", "x", "1 two", "-1"] {
            assert_eq!(ticked(wrong), None, "{wrong}");
        }
    }
}
