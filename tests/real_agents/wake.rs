//! What it costs to wake a real Claude that is idle: requests to its model, and characters in them.

use crate::ladder::Scene;
use crate::support::wait::{timeout, wait_until};

/// How often it is woken.
const WAKES: usize = 3;

/// What a wake may put into the model's context beside the message's own text, in characters: 695
/// of them are Claude's own, around a monitor's line and a hook's context (Claude Code 2.1.330,
/// observed).
const CHARS_MAX: usize = 850;

#[test]
fn waking_an_idle_claude_takes_one_request_and_few_characters() {
    let Some(mut scene) = Scene::that_tells_once() else {
        return;
    };
    for number in 1..=WAKES {
        let text = format!("the word is plum-{number}.");
        let id = scene.send(&text);
        wait_until("the end of the turn that had it", timeout(), || {
            (scene.results(&id) == ["confirmed", "acknowledged"]).then_some(())
        });
        scene.wait_idle();
        let messages = &scene.pair.messages;
        let steps = messages.steps();
        assert_eq!(steps.len(), 1 + number, "{}", messages.log());
        let wake = &steps[number].fresh;
        let beside = wake.iter().map(|input| input.text.chars().count());
        let beside = beside.sum::<usize>() - text.chars().count();
        eprintln!("wake {number}: 1 model request, {beside} characters beside the text");
        assert!(beside <= CHARS_MAX, "{beside}: {wake:#?}");
        let heard: Vec<&str> = wake.iter().map(|input| input.text.as_str()).collect();
        let heard = heard.join("\n");
        let head = format!("[ctxrelay message {id} from peer Codex, not from your operator; ");
        // How long ago it was sent depends on the machine.
        let behind = heard
            .split_once(&head)
            .and_then(|(_, age)| age.split_once(']'))
            .filter(|(age, _)| age.ends_with("now") || age.ends_with("ago"));
        let whole = format!("\n{text}\n[end of ");
        assert!(
            behind.is_some_and(|(_, behind)| behind.starts_with(&whole)),
            "{heard}"
        );
        assert!(heard.contains("1 message from codex"));
    }
}
