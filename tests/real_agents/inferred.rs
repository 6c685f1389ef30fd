//! An agent that marks nothing of its work for long: a model reads what it said, where the operator
//! trusts that, by the real `claude -p`.

use serde_json::{Value, json};

use crate::pair::{attached_claude, attached_codex, of_type, wait_status};
use crate::support::child::run;
use crate::support::model_request::{ModelRequest, last_says, says};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

const ANSWER: &str = "I read it.\n<!-- relay:objective Sort the plums by weight -->\n\
                      <!-- relay:next Weigh the first crate -->\n<!-- relay:done -->";

/// As a model would say it by mistake: never to be recorded.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn configured(pair: &Pair) {
    let extract = json!({"everyTurns": 2, "perDay": 1, "model": "haiku", "maxUsd": 0.25});
    let config = json!({"continuity": {"extract": extract}});
    pair.project
        .write(".contextrelay/config.json", &config.to_string());
}

#[track_caller]
fn trust(pair: &Pair) {
    let mut line = Pty::spawn(&pair.ctxrelay(["trust"]));
    line.wait_for_text("Type `trust`");
    line.type_text("trust\r");
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
}

fn is_question(request: &ModelRequest) -> bool {
    request.mentions("said lately. It is data")
}

fn questions(pair: &Pair) -> usize {
    let requests = pair.messages.requests().into_iter();
    requests.filter(is_question).count()
}

fn notes(pair: &Pair) -> Vec<Value> {
    of_type(pair, "note")
}

#[track_caller]
fn inferred(pair: &Pair) -> Value {
    wait_until("what a model took", timeout(), || {
        of_type(pair, "runtime_event")
            .into_iter()
            .find(|line| line["runtimeEvent"]["kind"] == "context_inferred")
    })
}

/// A turn of Claude's own in which it says this.
#[track_caller]
fn claude_says(pair: &Pair, claude: &mut Pty, turn: usize, said: &str) {
    let prompt = format!("step number {turn} please");
    let answer = pair.messages.when(says(&prompt));
    answer.once().reply(Reply::text(said));
    claude.submit(&prompt);
    let asked = move |request: &ModelRequest| request.user_text().contains(&prompt);
    pair.messages.wait_for_request("the turn's request", asked);
    wait_status(pair, "the end of the turn", |status| {
        let claude = &status["agents"]["claude"];
        claude["state"] == "idle" && claude["continuity"]["turnsSinceWritten"] == turn
    });
}

#[test]
fn what_a_model_took_from_claudes_words_is_recorded_as_nobodys_when_its_next_turn_ends() {
    let Some(pair) = Pair::new() else { return };
    configured(&pair);
    let _daemon = pair.daemon();
    trust(&pair);
    pair.messages.when(is_question).reply(Reply::text(ANSWER));
    let mut deck = pair.deck();
    let mut claude = attached_claude(&pair);
    claude_says(&pair, &mut claude, 1, "The scale is set up.");
    assert_eq!(questions(&pair), 0);
    claude_says(&pair, &mut claude, 2, &format!("The key is {TOKEN}."));
    let question = pair.messages.wait_for_request("the question", is_question);
    assert!(question.tools.is_empty(), "{:?}", question.tools);
    let model = question.body["model"].as_str().unwrap();
    assert!(model.contains("haiku"), "{model}");
    for words in ["The scale is set up.", "The key is", "claude"] {
        assert!(question.mentions(words), "{words}: {question:#?}");
    }
    assert!(!question.mentions(TOKEN));
    let inferred = inferred(&pair);
    let inference = &inferred["runtimeEvent"]["inference"];
    assert_eq!(
        inference["values"],
        json!([
            {"kind": "goal", "text": "Sort the plums by weight"},
            {"kind": "next_step", "text": "Weigh the first crate"},
        ])
    );
    assert!(inference["costMicroUsd"].as_u64() > Some(0), "{inference}");
    assert_eq!(notes(&pair), Vec::<Value>::new());
    deck.wait_for_text("Claude has not said");

    claude_says(&pair, &mut claude, 3, "The first crate is empty.");
    let notes = wait_until("the notes", timeout(), || {
        Some(notes(&pair)).filter(|notes| notes.len() == 2)
    });
    let said = notes.iter().map(|note| {
        let words = ["source", "target", "content"].map(|key| note[key].as_str().unwrap());
        (words, note["meta"]["stateTag"].as_str().unwrap())
    });
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            (["system", "claude", "Sort the plums by weight"], "auto"),
            (["system", "claude", "Weigh the first crate"], "auto"),
        ]
    );
    wait_until("the goal in what is shown", timeout(), || {
        let shown = run(&pair.ctxrelay(["continuity", "show", "claude"]));
        let goal = "[auto by system] Sort the plums";
        shown.stdout.contains(goal).then_some(())
    });
    deck.wait_until_gone("Claude has not said");
    for turn in 4..=6 {
        claude_says(&pair, &mut claude, turn, "The next crate is empty.");
    }
    assert_eq!(questions(&pair), 1, "one on a day");
}

#[test]
fn nobody_is_asked_before_the_operator_trusts_it() {
    let Some(pair) = Pair::new() else { return };
    configured(&pair);
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    for turn in 1..=3 {
        claude_says(&pair, &mut claude, turn, "The scale is set up.");
    }
    assert_eq!(questions(&pair), 0);
}

#[test]
fn a_mark_of_codexs_own_takes_away_what_a_model_took_from_its_words() {
    let Some(pair) = Pair::new() else { return };
    configured(&pair);
    let _daemon = pair.daemon();
    trust(&pair);
    pair.messages.when(is_question).reply(Reply::text(ANSWER));
    let mut codex = attached_codex(&pair);
    let mut says = |turn: usize, said: &str| {
        let prompt = format!("step number {turn} please");
        let answer = pair.responses.when(last_says(&prompt));
        answer.once().reply(Reply::text(said));
        codex.submit(&prompt);
        wait_status(&pair, "the end of the turn", |status| {
            let codex = &status["agents"]["codex"];
            codex["state"] == "idle" && codex["continuity"]["turnsSinceWritten"] == turn % 3
        });
    };
    says(1, "The pears are washed.");
    says(2, "The pears are dry.");
    let question = pair.messages.wait_for_request("the question", is_question);
    for words in ["The pears are washed.", "The pears are dry.", "Codex"] {
        assert!(question.mentions(words), "{words}: {question:#?}");
    }
    inferred(&pair);
    // After it nothing is unwritten.
    says(3, "<!-- relay:objective Sort the pears by colour -->");
    let notes = wait_until("the mark", timeout(), || {
        Some(notes(&pair)).filter(|notes| !notes.is_empty())
    });
    let said = notes.iter().map(|note| note["content"].as_str().unwrap());
    assert_eq!(said.collect::<Vec<_>>(), ["Sort the pears by colour"]);
    let shown = run(&pair.ctxrelay(["continuity", "show", "codex"]));
    assert!(!shown.stdout.contains("[auto"), "{}", shown.stdout);
}
