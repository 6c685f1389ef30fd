use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::plain_value::nested_texts;

#[test]
fn a_comment_has_the_line_of_its_commit_and_the_state_of_its_thread() {
    let page = json!({"data": {"repository": {"pullRequest": {"reviewThreads": {
    "pageInfo": {"hasNextPage": true, "endCursor": "c1"},
    "nodes": [
        {"isResolved": true, "isOutdated": false,
         "comments": {"nodes": [{"fullDatabaseId": "5000000001"}]}},
        null,
        {"isResolved": false, "isOutdated": true,
         "comments": {"nodes": [{"fullDatabaseId": null, "databaseId": 2}]}},
        {"isResolved": true, "isOutdated": true, "comments": {"nodes": []}},
        {"isResolved": true, "isOutdated": true, "comments": {"nodes": [null]}},
    ]}}}}});
    let mut threads = ReviewThreads::default();
    assert_eq!(threads.take_page(&page), Some(Some("c1".to_owned())));
    assert_eq!(threads.take_page(&json!({"data": null})), None);
    let url = "https://github.com/acme/api/pull/12#discussion_r1";
    let comments = json!([
        {"id": 5_000_000_001_u64, "body": "one",
         "user": {"login": "greptile-apps[bot]", "type": "Bot"},
         "path": "a.rs", "line": 3, "original_line": 2, "commit_id": "c", "html_url": url},
        {"id": 2, "body": "two", "user": {"login": "ann", "type": "User"}, "path": "a.rs",
         "line": null, "original_line": 2, "commit_id": "c", "original_commit_id": "o"},
        {"id": 3, "body": "done", "path": "a.rs", "in_reply_to_id": 5_000_000_001_u64},
        {"id": 5, "body": "in no thread", "path": "a.rs"},
        {"id": 4, "body": "words of a review", "state": "COMMENTED", "user": null},
        {"id": "no number"},
        7,
    ]);
    let mut read = ReadComments::default();
    read.take(comments.as_array().unwrap(), &threads);
    let told: Vec<_> = read
        .comments
        .iter()
        .map(|comment| {
            (
                comment.id.as_str(),
                &*comment.author,
                comment.bot,
                comment.line,
                comment.commit.as_deref(),
                comment.resolved,
                comment.outdated,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                "gh:rc:5000000001",
                "greptile-apps[bot]",
                true,
                Some(3),
                Some("c"),
                Some(true),
                Some(false)
            ),
            (
                "gh:rc:2",
                "ann",
                false,
                Some(2),
                Some("o"),
                Some(false),
                Some(true)
            ),
            ("gh:rc:5", "ghost", false, None, None, None, None),
            ("gh:rv:4", "ghost", false, None, None, None, None),
        ]
    );
    assert_eq!((read.unread, read.unthreaded), (2, 1));
    assert_eq!(read.pull.unwrap().review(), "github.com/acme/api#12");
}

#[test]
fn a_comment_with_every_name_of_its_address_and_its_commit_is_read() {
    let api = "https://api.github.com/repos/acme/api/pulls/comments/1";
    let url = "https://github.com/acme/api/pull/12#discussion_r1";
    let both = json!({"id": 1, "body": "one", "path": "a.rs", "line": 3, "html_url": url, "url": api,
        "commit_id": "c", "commit": "other"});
    let alone =
        json!({"id": 2, "body": "two", "path": "a.rs", "line": 3, "url": url, "commit": "c"});
    let mut read = ReadComments::default();
    read.take(&[both, alone], &ReviewThreads::default());
    let told = read.comments.iter();
    let told: Vec<_> = told
        .map(|it| (it.url.as_deref(), it.commit.as_deref()))
        .collect();
    assert_eq!(told, [(Some(url), Some("c")); 2]);
    assert_eq!(read.unread, 0);
    assert_eq!(read.pull.unwrap().review(), "github.com/acme/api#12");
}

#[test]
fn a_line_of_the_file_before_the_pull_request_is_in_none_of_the_commits_that_github_names() {
    let on = |side: Value, line: Value| {
        json!({"id": 1, "body": "one", "path": "a.rs", "line": line, "original_line": 2,
            "commit_id": "c", "original_commit_id": "o", "side": side})
    };
    let mut read = ReadComments::default();
    let comments = [
        on(json!("LEFT"), json!(3)),
        on(json!("left"), Value::Null),
        on(json!("RIGHT"), json!(3)),
        on(json!("RIGHT"), Value::Null),
        // No side of GitHub's.
        on(json!(1), json!(3)),
    ];
    read.take(&comments, &ReviewThreads::default());
    let told = read.comments.iter();
    let told: Vec<_> = told.map(|it| (it.line, it.commit.as_deref())).collect();
    let wanted = [
        (Some(3), None),
        (Some(2), None),
        (Some(3), Some("c")),
        (Some(2), Some("o")),
        (Some(3), Some("c")),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn a_comment_on_several_lines_says_which_where_both_ends_are_of_one_state_of_the_file() {
    let on = |start: Value, line: Value, sides: [Value; 2]| {
        let [first, last] = sides;
        json!({"id": 1, "body": "one", "path": "a.rs", "line": line, "original_line": 15,
            "start_line": start, "original_start_line": 12, "start_side": first, "side": last})
    };
    let (left, right, none) = (json!("LEFT"), json!("RIGHT"), Value::Null);
    let comments = [
        on(json!(2), json!(5), [right.clone(), right.clone()]),
        on(json!(2), json!(5), [left.clone(), left.clone()]),
        on(json!(2), json!(5), [left, right.clone()]),
        // Its code was changed since.
        on(none.clone(), none.clone(), [right.clone(), right.clone()]),
        on(none.clone(), json!(5), [none.clone(), right]),
        // A tool's.
        on(json!("two"), json!(5), [none.clone(), none]),
    ];
    let mut read = ReadComments::default();
    read.take(&comments, &ReviewThreads::default());
    let told = read.comments.iter().map(|it| (it.start_line, it.line));
    let wanted = [
        (Some(2), Some(5)),
        (Some(2), Some(5)),
        (None, Some(5)),
        (Some(12), Some(15)),
        (None, Some(5)),
        (None, Some(5)),
    ];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
}

#[test]
fn a_review_that_was_dismissed_or_is_not_sent_yet_says_nothing() {
    let reviews = json!([
        {"id": 4, "body": "gone", "state": "DISMISSED"},
        {"id": 5, "body": "a draft", "state": "PENDING"},
        {"id": 6, "body": "no", "state": "CHANGES_REQUESTED"},
        {"id": 7, "body": "yes", "state": "APPROVED"},
        // No state of a review.
        {"id": 8, "body": "of another tool", "state": 3},
        {"id": 9, "body": "on a line", "path": "a.rs", "state": "pending"},
    ]);
    let mut read = ReadComments::default();
    read.take(reviews.as_array().unwrap(), &ReviewThreads::default());
    let ids: Vec<_> = read.comments.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["gh:rv:6", "gh:rv:7", "gh:rv:8", "gh:rc:9"]);
    let parts: Vec<_> = read.comments.iter().map(|it| it.part).collect();
    use ReviewPart::{Approval, Finding, Summary};
    assert_eq!(parts, [Summary, Approval, Finding, Finding]);
    assert_eq!(read.unread, 0);
}

#[test]
fn an_address_that_is_no_pull_request_is_none() {
    for url in [
        "http://github.com/acme/api/pull/12",
        "https://github.com/acme/api/issues/12",
        "https://github.com/acme/api/pull/x",
        "https://github.com/../api/pull/12",
        "https://github.com/-acme/api/pull/12",
        "https://github.com/acme/api",
        "",
    ] {
        assert_eq!(PullRequest::of_url(url), None, "{url}");
    }
    let pull = PullRequest::of_url("https://git.acme.example/Acme/api/pull/12/files?w=1").unwrap();
    let here = "https://git.acme.example/acme/api";
    assert!(pull.is_of(here, "acme/API") && !pull.is_of(here, "acme/api2"));
    for elsewhere in [
        "https://git.other.example/acme/api",
        "http://git.acme.example/acme/api",
        "",
    ] {
        assert!(!pull.is_of(elsewhere, "acme/api"), "{elsewhere}");
    }
    assert_eq!((pull.host.as_str(), pull.number), ("git.acme.example", 12));
}

fn of_file(text: &str) -> Result<ReadComments, String> {
    ReadComments::of_file(text, None, "1a2b3c4d")
}

#[test]
fn a_name_of_githubs_in_a_file_counts_only_where_its_address_or_the_operator_says_so() {
    let at = |pull: u64| format!("https://github.com/acme/api/pull/{pull}#discussion_r7");
    let text = json!([
        {"id": 7, "body": "a", "path": "x", "html_url": at(12)},
        {"id": 8, "body": "b", "path": "x", "html_url": at(13)},
        {"id": 9, "body": "c", "path": "x"},
        {"externalId": "gh:rc:10", "body": "d"},
        {"externalId": "gh:rc:11", "body": "e", "html_url": at(12)},
        {"externalId": "lint:7", "body": "f"},
    ])
    .to_string();
    let read = |named: Option<NamedPull>| {
        let read = ReadComments::of_file(&text, named.as_ref(), "1a2b").unwrap();
        let ids: Vec<String> = read.comments.iter().map(|it| it.id.to_string()).collect();
        (ids.join(" "), read.refused)
    };
    let alone = "gh:rc:7 file:1a2b:rc:9 gh:rc:11 lint:7";
    assert_eq!(read(None), (alone.to_owned(), 2));
    let all = "gh:rc:7 gh:rc:9 gh:rc:10 gh:rc:11 lint:7";
    assert_eq!(read(Some(NamedPull::Number(12))), (all.to_owned(), 1));
    let whole = PullRequest::of_url("https://GitHub.com/Acme/api/pull/12").unwrap();
    assert_eq!(read(Some(NamedPull::Whole(whole))), (all.to_owned(), 1));
}

#[test]
fn a_file_holds_pages_one_behind_the_other_or_an_object_of_lists() {
    let pages = r#"[{"id":1,"body":"a","path":"x"}][{"id":2,"body":"b"}]"#;
    assert_eq!(of_file(pages).unwrap().comments.len(), 2);
    let object = r#"{"comments":[{"externalId":"lint:7","body":"a","path":"x","bot":true}],
        "threads":[],"reviews":[]}"#;
    let read = of_file(object).unwrap();
    assert_eq!(read.comments[0].id.as_str(), "lint:7");
    assert_eq!(of_file("[]").unwrap(), ReadComments::default());
    // As `gh api graphql` prints threads, behind a page of comments.
    let thread = r#"{"isResolved":true,"comments":{"nodes":[{"databaseId":1}]}}"#;
    let threads = format!(
        r#"{{"data":{{"repository":{{"pullRequest":{{"reviewThreads":
            {{"pageInfo":{{"hasNextPage":false}},"nodes":[{thread}]}}}}}}}}}}"#
    );
    let read = of_file(&format!("{pages}{threads}")).unwrap();
    let resolved = |read: ReadComments| -> Vec<_> {
        let comments = read.comments.iter();
        comments.map(|it| it.resolved).collect()
    };
    assert_eq!(resolved(read), [Some(true), None]);
    // The same as `gh api --paginate --slurp` prints it: all pages in a list.
    let slurped = format!("[{}][{threads}]", pages.replace("][", "],["));
    let read = of_file(&slurped).unwrap();
    assert_eq!(read.unread, 0);
    assert_eq!(resolved(read), [Some(true), None]);
    assert_eq!(of_file("[[],[]]").unwrap(), ReadComments::default());
    for (text, why) in [
        ("{", "it is no JSON"),
        ("# Notes", "wanted are lists of comments as `gh api"),
        ("# Notes", "it begins with `# Notes`"),
        (" ", "it is empty"),
        ("7", "something else than lists"),
        ("7", "it begins with `7`"),
        (r#"[{"id":"x"}]"#, "none of its 1 values"),
        (r#"{"threads":7}"#, "no list of review threads"),
        (r#"{"data":{"viewer":7}}"#, "no page of review threads"),
        (r#"{"message":"Not Found"}"#, "something else than lists"),
    ] {
        let error = of_file(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_file_with_text_in_text_is_read_like_any_other() {
    let comment = |start: &str| {
        format!(r#"[{{"id":7,"body":"No bound.","path":"a.rs","line":3,"start_line":{start}}}]"#)
    };
    let read = |text: &str| of_file(text).unwrap().comments.len();
    assert_eq!(read(&comment("1")), 1);
    // The library's own reader would not come back from this.
    assert_eq!(read(&comment(&nested_texts(200))), 1);
}
