//! A message of the operator whose line was edited while it waited: Claude's model never hears it.

use serde_json::json;

use crate::pair::attached_claude;
use crate::support::altered::{MADE, SAID, alter, is_refused, waiting};
use crate::support::model_request::{hears, says};
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::script::Reply;

#[test]
fn the_model_of_the_real_claude_hears_nothing_of_an_edited_message() {
    let Some(pair) = Pair::live() else { return };
    let mut operator = Operator::connect(&pair.project);
    let path = waiting(&pair.project, &mut operator);
    alter(&path);
    pair.messages
        .when(hears("read the word plum"))
        .reply(Reply::text("Plum it is."));
    pair.messages
        .when(says("go on"))
        .reply(Reply::text("Gone on."));
    let mut claude = attached_claude(&pair);
    let message = json!({"to": "claude", "text": "read the word plum"});
    operator.call("message/send", message).unwrap();
    claude.wait_for_text("Plum it is.");
    claude.submit("go on");
    claude.wait_for_text("Gone on.");
    assert_eq!(pair.messages.times_heard("read the word plum"), 1);
    for text in [SAID, MADE] {
        assert_eq!(
            pair.messages.times_heard(text),
            0,
            "{}",
            pair.messages.log()
        );
    }
    is_refused(&pair.project);
}
