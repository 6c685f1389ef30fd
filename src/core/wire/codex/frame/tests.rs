use super::*;

#[test]
fn a_server_request_with_our_own_id_is_no_answer() {
    let text = r#"{"method":"item/fileChange/requestApproval","id":4,"params":{"threadId":"T","turnId":"U"}}"#;
    let Some(Incoming::Request(request)) = Incoming::parse(text) else {
        panic!("not read as a request");
    };
    assert_eq!(request.id, "4");
    assert_eq!(request.thread_id.as_deref(), Some("T"));
    assert!(request.waits_for_human());
}

#[test]
fn a_request_that_no_human_decides_is_not_counted() {
    let text = r#"{"method":"currentTime/read","id":0,"params":{}}"#;
    let Some(Incoming::Request(request)) = Incoming::parse(text) else {
        panic!("not read as a request");
    };
    assert!(!request.waits_for_human());
    assert_eq!(request.thread_id, None);
}

#[test]
fn answers_are_told_apart_from_refusals() {
    let Some(Incoming::Answer {
        id: 7,
        result: Ok(result),
    }) = Incoming::parse(r#"{"id":7,"result":{"turnId":"U"}}"#)
    else {
        panic!("not read as a success");
    };
    assert_eq!(result.get(), r#"{"turnId":"U"}"#);
    let Some(Incoming::Answer {
        id: 8,
        result: Err(error),
    }) = Incoming::parse(r#"{"id":8,"error":{"code":-32600,"message":"no active turn to steer"}}"#)
    else {
        panic!("not read as a refusal");
    };
    assert_eq!(error.message, "no active turn to steer");
}

#[test]
fn garbage_is_nothing() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for text in [
        "",
        "null",
        "[]",
        "{}",
        "{\"id\":\"text\"}",
        "{\"method\":5}",
        "\u{0}",
        deep.as_str(),
        r#"{"method":"some/thing","params":{}}"#,
    ] {
        assert!(Incoming::parse(text).is_none(), "{:.40}", text);
    }
}

#[test]
fn a_request_is_written_without_jsonrpc() {
    let text = request(3, "thread/read", &serde_json::json!({"threadId": "T"})).unwrap();
    assert_eq!(
        text,
        r#"{"id":3,"method":"thread/read","params":{"threadId":"T"}}"#
    );
}
