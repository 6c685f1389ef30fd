//! [`ApprovalCards`]: the cards of the requests that the agents make before they go on.

use std::collections::BTreeMap;

use ctxrelay_ui::model as ui;

use crate::core::entry::ChoiceEffect;
use crate::core::id::EntryId;
use crate::core::policy::{RuleInForce, risk_hints};
use crate::core::snapshot::ApprovalSnapshot;
use crate::deck::party::agent_of;

/// A card for each request that waits. It is made once, because a command is read for what is risky
/// in it, and again when the request or a rule has changed.
#[derive(Debug, Default)]
pub struct ApprovalCards {
    rules: Vec<RuleInForce>,
    /// Each with the request that it was made of.
    cards: BTreeMap<EntryId, (ApprovalSnapshot, ui::InboxCard)>,
    /// Cards that were made.
    #[cfg(test)]
    pub(in crate::deck) made: usize,
}

impl ApprovalCards {
    /// The requests or the rules may be others.
    pub(in crate::deck) fn follow(
        &mut self,
        open: &BTreeMap<EntryId, ApprovalSnapshot>,
        rules: &[RuleInForce],
        root: &str,
    ) {
        if self.rules != rules {
            self.rules = rules.to_vec();
            self.cards.clear();
        }
        self.cards
            .retain(|id, (of, _)| open.get(id).is_some_and(|now| now == of));
        for (id, asked) in open {
            if !self.cards.contains_key(id) {
                #[cfg(test)]
                {
                    self.made += 1;
                }
                let made = (asked.clone(), card(asked, rules, root));
                self.cards.insert(id.clone(), made);
            }
        }
    }

    /// In the order of the requests.
    pub(in crate::deck) fn cards(&self) -> impl Iterator<Item = &ui::InboxCard> {
        self.cards.values().map(|(_, card)| card)
    }
}

fn card(asked: &ApprovalSnapshot, rules: &[RuleInForce], root: &str) -> ui::InboxCard {
    let request = &asked.request;
    let choices = request.choices.iter().map(|choice| ui::AskedChoice {
        id: choice.id.clone(),
        label: choice.label.clone(),
        parts: choice.parts.as_ref().map(|parts| ui::AnswerParts {
            short: parts.short.clone(),
            comes_to: parts.comes_to.clone(),
        }),
        effect: match choice.effect {
            ChoiceEffect::Deny => ui::AnswerEffect::Deny,
            ChoiceEffect::DenyMore => ui::AnswerEffect::DenyMore,
            ChoiceEffect::Stop => ui::AnswerEffect::Stop,
            ChoiceEffect::OwnWords => ui::AnswerEffect::OwnWords,
            ChoiceEffect::AllowOnce | ChoiceEffect::AllowMore | ChoiceEffect::Answer => {
                ui::AnswerEffect::Allow
            }
        },
    });
    ui::InboxCard {
        seq: Some(asked.seq.0),
        asked: Some(Box::new(ui::AskedCard {
            what: request.kind.sought().to_owned(),
            details: details(asked),
            hints: risk_hints(asked.agent, request, rules, root),
            choices: choices.collect(),
            given: asked.given_label().map(str::to_owned),
            call_waits_until_ms: request.call_waits_until_ms,
        })),
        ..ui::InboxCard::new(
            if request.is_user_question() {
                ui::InboxKind::Question
            } else {
                ui::InboxKind::Approval
            },
            asked.id.to_string(),
            agent_of(asked.agent),
            asked.at_ms,
            request.subject.clone(),
        )
    }
}

fn details(asked: &ApprovalSnapshot) -> String {
    let unsaid = asked.unsaid();
    let unsaid = unsaid.map(|(_, begins, text)| format!("{begins}{text}"));
    let said = Some(asked.details().to_owned()).filter(|said| !said.is_empty());
    let mut details = unsaid.chain(said).collect::<Vec<_>>().join("\n");
    if let Some(rest) = asked.rest() {
        details.push_str("\n\n");
        details.push_str(&rest);
    }
    details.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::{Agent, AgentState};
    use crate::core::entry::{ApprovalChoice, ApprovalKind, ApprovalRequest};
    use crate::core::id::{RuntimeSession, Seq};
    use crate::core::kept_text::TEXT_CHARS_MAX;
    use crate::core::policy::{
        ClaudeHooks, Coordinator, Permission, PermissionRule, PolicyChange, PolicyRules,
    };
    use crate::wire::status::{ClaudeStatus, PairStatus};

    fn hints(kind: ApprovalKind, subject: &str) -> Vec<String> {
        hints_under(&PolicyRules::default(), kind, subject)
    }

    fn hints_under(rules: &PolicyRules, kind: ApprovalKind, subject: &str) -> Vec<String> {
        let rules = rules.in_force(&ClaudeHooks::Judge);
        let asked = ApprovalSnapshot {
            id: EntryId::new("a-1"),
            seq: Seq(1),
            agent: Agent::Codex,
            at_ms: 0,
            request: ApprovalRequest::new(kind, "k".to_owned(), subject.to_owned()),
            text: format!("asks\n{subject}"),
            given: None,
            runtime_session: None,
        };
        card(&asked, &rules, "").asked.unwrap().hints
    }

    #[test]
    fn a_card_shows_the_rule_where_the_command_may_break_it() {
        let to = Some(Coordinator::Claude);
        let rules = PolicyRules::default().with(PolicyChange::Coordinator { to });
        let rule = "your rule: Codex leaves git's writes to others (ADVISORY)";
        let hints = |subject| hints_under(&rules, ApprovalKind::Command, subject);
        assert_eq!(hints("git commit"), ["writes to git: git commit", rule]);
        assert_eq!(hints("$TOOL run")[1], rule);
        assert!(hints("git log -3").is_empty());
    }

    #[test]
    fn a_card_shows_each_rule_that_its_request_may_be_against() {
        let deny = |permission| PolicyChange::Permission {
            permission,
            agent: None,
            rule: Some(PermissionRule::Deny),
        };
        let network = PolicyRules::default().with(deny(Permission::Network));
        let rule = "your rule: network deny for Codex (ADVISORY)";
        let hints = hints_under(&network, ApprovalKind::Command, "curl x.org");
        assert_eq!(hints, [rule, "`curl` can reach beyond this machine"]);
        assert!(hints_under(&network, ApprovalKind::Command, "make").is_empty());
        let read_only = PolicyRules::default().with(PolicyChange::ReadOnly { on: true });
        let rule = "your rule: write deny for Codex (ADVISORY)";
        let change = |path: &str| hints_under(&read_only, ApprovalKind::FileChange, path);
        assert_eq!(change("add src/a.rs"), [rule]);
        let git = "your rule: git deny for Codex (ADVISORY)";
        assert_eq!(change("change .git/hooks/pre-commit"), [rule, git]);
    }

    #[test]
    fn a_question_to_the_person_is_a_card_of_its_own_and_hides_no_dialog() {
        let request = ApprovalRequest {
            choices: vec![
                ApprovalChoice::new("own_words", "other", ChoiceEffect::OwnWords),
                ApprovalChoice::stop("cancel"),
            ],
            call_waits_until_ms: Some(7),
            ..ApprovalRequest::new(
                ApprovalKind::UserQuestion,
                "k".to_owned(),
                "Which?".to_owned(),
            )
        };
        let asked = ApprovalSnapshot {
            id: EntryId::new("q-1"),
            seq: Seq(1),
            agent: Agent::Claude,
            at_ms: 0,
            request,
            text: "Claude asks you a question\nWhich?".to_owned(),
            given: None,
            runtime_session: None,
        };
        let shown = card(&asked, &[], "");
        assert_eq!(shown.kind, ui::InboxKind::Question);
        let part = shown.asked.unwrap();
        assert_eq!(part.details, "");
        assert_eq!(part.call_waits_until_ms, Some(7));
        assert_eq!(part.choices[0].effect, ui::AnswerEffect::OwnWords);
        assert_eq!(part.choices[0].parts, None);
        let stops = part.choices[1].parts.as_ref().unwrap();
        let stops = (stops.short.as_str(), stops.comes_to.as_str());
        assert_eq!(stops, ("do not", "and stop the turn"));
        let open = BTreeMap::from([(asked.id.clone(), asked)]);
        let claude = ClaudeStatus {
            state: AgentState::Waiting,
            ..ClaudeStatus::default()
        };
        assert!(claude.waits_elsewhere(&open));
    }

    #[test]
    fn a_card_of_one_claude_hides_no_dialog_of_another() {
        let asked = ApprovalSnapshot {
            id: EntryId::new("a-1"),
            seq: Seq(1),
            agent: Agent::Claude,
            at_ms: 0,
            request: ApprovalRequest::new(ApprovalKind::Command, "k".to_owned(), "ls".to_owned()),
            text: "asks\nls".to_owned(),
            given: None,
            runtime_session: Some(RuntimeSession::new("second")),
        };
        let open = BTreeMap::from([(asked.id.clone(), asked)]);
        let waits = |pairs: &[&str]| {
            let pairs = pairs.iter().map(|pair| PairStatus {
                pair: (*pair).to_owned(),
                state: AgentState::Waiting,
                ..PairStatus::default()
            });
            let claude = ClaudeStatus {
                state: AgentState::Waiting,
                pairs: pairs.collect(),
                ..ClaudeStatus::default()
            };
            claude.waits_elsewhere(&open)
        };
        assert!(!waits(&[]));
        let asking = ClaudeStatus {
            asking_helpers: 1,
            ..ClaudeStatus::default()
        };
        assert!(
            asking.waits_elsewhere(&open),
            "of a helper there is no card"
        );
        assert!(!waits(&["second"]));
        assert!(waits(&["default", "second"]));
    }

    #[test]
    fn a_card_that_holds_the_beginning_only_says_where_the_rest_is() {
        let mut asked = ApprovalSnapshot {
            id: EntryId::new("a-1"),
            seq: Seq(7),
            agent: Agent::Codex,
            at_ms: 0,
            request: ApprovalRequest::new(
                ApprovalKind::FileChange,
                "k".to_owned(),
                "a.rs".to_owned(),
            ),
            text: "asks\na.rs\n+ one line".to_owned(),
            given: None,
            runtime_session: None,
        };
        let details = |asked: &ApprovalSnapshot| card(asked, &[], "").asked.unwrap().details;
        assert_eq!(details(&asked), "+ one line");
        asked.text.push_str(&"\n+ one line".repeat(TEXT_CHARS_MAX));
        let rest = "\n\nnot all is shown: `ctxrelay ledger show 7 --full` has the rest";
        assert!(details(&asked).ends_with(rest));
        // Nor does the entry have what its agent's adapter dropped.
        asked.request.cut = true;
        assert!(
            !details(&asked).contains("ledger show"),
            "{}",
            details(&asked)
        );
        let hints = card(&asked, &[], "").asked.unwrap().hints;
        let nowhere = "only its beginning is here, and no entry has the rest: read all of it in \
                       Codex's own terminal";
        assert_eq!(hints, [nowhere]);
    }

    #[test]
    fn a_card_of_a_long_command_has_its_folder_and_its_reason() {
        for length in [1, TEXT_CHARS_MAX - 20, TEXT_CHARS_MAX] {
            let request = ApprovalRequest {
                cwd: Some("/p".to_owned()),
                reason: Some("it says\nin /p".to_owned()),
                ..ApprovalRequest::new(ApprovalKind::Command, "k".to_owned(), "x".repeat(length))
            };
            let text = ApprovalSnapshot::in_words(Agent::Codex, &request, "");
            let asked = ApprovalSnapshot {
                id: EntryId::new("a-1"),
                seq: Seq(7),
                agent: Agent::Codex,
                at_ms: 0,
                request,
                text: text.chars().take(TEXT_CHARS_MAX).collect(),
                given: None,
                runtime_session: None,
            };
            let details = card(&asked, &[], "").asked.unwrap().details;
            let said = |line: &str| details.lines().filter(|it| *it == line).count();
            assert_eq!(said("reason: it says"), 1, "{length}: {details}");
            assert_eq!(said("in /p"), 1, "{length}: {details}");
        }
    }

    #[test]
    fn a_card_says_what_its_command_writes_to_git() {
        let of_command = |subject: &str| hints(ApprovalKind::Command, subject);
        let commit = "/bin/bash -lc 'cargo test && git commit -am done'";
        assert_eq!(of_command(commit), ["writes to git: git commit"]);
        let unclear = "may write to git: which program runs is not in the text";
        assert_eq!(of_command("$TOOL run"), [unclear]);
        assert!(of_command("git log -3").is_empty());
        assert!(hints(ApprovalKind::Tool, "git commit").is_empty());
    }
}
