//! `FakeGh`: a `gh` that answers with what a test prepared.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::project::Project;
use super::script_file::write_program;

/// A program and the folder in which its answers lie.
#[derive(Debug)]
pub struct FakeGh {
    folder: PathBuf,
    pub program: PathBuf,
}

impl FakeGh {
    /// On the `PATH` of a project, for `https://github.com/acme/api/pull/12`, without a comment.
    #[track_caller]
    pub fn of(project: &Project) -> Self {
        Self::at(&project.base().join("gh"), &project.bin().join("gh"))
    }

    #[track_caller]
    pub fn at(folder: &Path, program: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        let script = format!(
            r#"#!/bin/sh
cd '{}' || exit 9
echo "$*" >> calls
env > environment
if [ -f hang ]; then sleep 600; fi
if [ -f flood ]; then exec cat /dev/zero; fi
if [ -f leave ]; then setsid -f env -i PATH="$PATH" sh -c 'while [ -f leave ]; do sleep 0.1; done'; fi
if [ -n "$CLICOLOR_FORCE$GH_FORCE_TTY" ]; then printf '\033[1;37m'; fi
if [ -f fail ]; then cat fail >&2; exit "$(cat code)"; fi
all="$*"
case "$all" in
"pr view"*) cat view ;;
"repo view"*) cat repo ;;
*graphql*cursor=*) cat threads2 ;;
*graphql*) cat threads1 ;;
*/comments*) page=${{all##*page=}}; [ -f "comments$page" ] && cat "comments$page" || echo '[]' ;;
*/reviews*) if mv hold held 2>/dev/null; then while [ -f held ]; do sleep 0.05; done; fi
    page=${{all##*page=}}; [ -f "reviews$page" ] && cat "reviews$page" || echo '[]' ;;
*) echo "unknown call" >&2; exit 1 ;;
esac
"#,
            folder.display()
        );
        write_program(program, &script);
        let gh = Self {
            folder: folder.to_owned(),
            program: program.to_owned(),
        };
        gh.put("view", &json!({"number": 12, "url": PULL}).to_string());
        gh.put(
            "repo",
            &json!({"nameWithOwner": "me/api", "url": "https://github.com/me/api",
            "parent": {"name": "api", "owner": {"login": "acme"}}})
            .to_string(),
        );
        gh.threads(&[], None);
        gh
    }

    #[track_caller]
    pub fn put(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }

    /// The next one that asks for reviews waits, behind all comments; [`Self::is_holding`] says that it came there.
    #[track_caller]
    pub fn holds_next(&self) {
        self.put("hold", "");
    }

    pub fn is_holding(&self) -> bool {
        self.folder.join("held").exists()
    }

    #[track_caller]
    pub fn goes_on(&self) {
        fs::remove_file(self.folder.join("held")).unwrap();
    }

    /// It fails from now on.
    #[track_caller]
    pub fn fails(&self, code: i32, complaint: &str) {
        self.put("fail", complaint);
        self.put("code", &code.to_string());
    }

    /// Pages of comments on lines, as many on each as GitHub gives.
    #[track_caller]
    pub fn comments(&self, comments: &[Value]) {
        for page in 1..=50 {
            let _ = fs::remove_file(self.folder.join(format!("comments{page}")));
        }
        for (page, comments) in (1..).zip(comments.chunks(100)) {
            self.put(&format!("comments{page}"), &json!(comments).to_string());
        }
    }

    #[track_caller]
    pub fn reviews(&self, reviews: &[Value]) {
        self.put("reviews1", &json!(reviews).to_string());
    }

    /// Threads of comments: resolved or not. On two pages where there is a cursor.
    #[track_caller]
    pub fn threads(&self, resolved: &[(u64, bool)], more: Option<&[(u64, bool)]>) {
        let page = |threads: &[(u64, bool)], cursor: Option<&str>| {
            let threads = threads.iter();
            threads_page(
                threads.map(|(id, resolved)| thread(*id, *resolved, false)),
                cursor,
            )
        };
        self.put("threads1", &page(resolved, more.map(|_| "c1")));
        self.put("threads2", &page(more.unwrap_or_default(), None));
    }

    /// Threads of comments whose code was changed since, none of them resolved.
    #[track_caller]
    pub fn outdated_threads(&self, ids: &[u64]) {
        let threads = ids.iter().map(|id| thread(*id, false, true));
        self.put("threads1", &threads_page(threads, None));
    }

    /// What it was asked, one call a line.
    pub fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.folder.join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// What it had in its environment at last.
    pub fn environment(&self) -> String {
        fs::read_to_string(self.folder.join("environment")).unwrap_or_default()
    }
}

fn thread(id: u64, is_resolved: bool, is_outdated: bool) -> Value {
    json!({"isResolved": is_resolved, "isOutdated": is_outdated,
        "comments": {"nodes": [{"fullDatabaseId": id.to_string()}]}})
}

fn threads_page(threads: impl Iterator<Item = Value>, cursor: Option<&str>) -> String {
    json!({"data": {"repository": {"pullRequest": {"reviewThreads": {
        "pageInfo": {"hasNextPage": cursor.is_some(), "endCursor": cursor},
        "nodes": threads.collect::<Vec<_>>()}}}}})
    .to_string()
}

/// A comment on a line, with all that GitHub's REST gives of it.
pub fn comment(id: u64, body: &str) -> Value {
    let mut comment = json!({
        "id": id, "body": body, "path": "src/a.rs", "line": 3,
        "user": user("greptile-apps[bot]", "Bot"),
        "commit_id": "a".repeat(40),
        "html_url": format!("{PULL}#discussion_r{id}"),
        "url": format!("{API}/pulls/comments/{id}"),
    });
    add(
        &mut comment,
        json!({
            "pull_request_review_id": 9,
            "node_id": format!("PRRC_kwDOA{id}"),
            "diff_hunk": "@@ -1,2 +1,4 @@\n one\n two\n+three",
            "position": 3, "original_position": 3,
            "original_commit_id": "a".repeat(40),
            "created_at": "2026-01-01T10:00:00Z", "updated_at": "2026-01-01T10:00:00Z",
            "pull_request_url": format!("{API}/pulls/12"),
            "author_association": "NONE",
        }),
    );
    add(
        &mut comment,
        json!({
            "start_line": null, "original_start_line": null, "start_side": null,
            "original_line": 3, "side": "RIGHT", "subject_type": "line",
            "_links": {
                "self": {"href": format!("{API}/pulls/comments/{id}")},
                "html": {"href": format!("{PULL}#discussion_r{id}")},
                "pull_request": {"href": format!("{API}/pulls/12")},
            },
            "reactions": reactions(&format!("{API}/pulls/comments/{id}/reactions")),
        }),
    );
    comment
}

/// The words of a review, with all that GitHub's REST gives of it.
pub fn review(id: u64, body: &str) -> Value {
    json!({
        "id": id, "node_id": format!("PRR_kwDOA{id}"), "body": body, "state": "COMMENTED",
        "user": user("ann", "User"),
        "html_url": format!("{PULL}#pullrequestreview-{id}"),
        "pull_request_url": format!("{API}/pulls/12"),
        "author_association": "NONE",
        "_links": {
            "html": {"href": format!("{PULL}#pullrequestreview-{id}")},
            "pull_request": {"href": format!("{API}/pulls/12")},
        },
        "submitted_at": "2026-01-01T10:00:00Z",
        "commit_id": "a".repeat(40),
    })
}

const PULL: &str = "https://github.com/acme/api/pull/12";

const API: &str = "https://api.github.com/repos/acme/api";

fn user(login: &str, kind: &str) -> Value {
    let api = format!("https://api.github.com/users/{login}");
    let mut user = json!({
        "login": login, "id": 165_735_046, "node_id": "BOT_kgDOCeDvhg", "gravatar_id": "",
        "avatar_url": "https://avatars.githubusercontent.com/in/867647?v=4",
        "url": api, "html_url": format!("https://github.com/{login}"),
        "type": kind, "user_view_type": "public", "site_admin": false,
    });
    for name in [
        "followers",
        "following",
        "gists",
        "starred",
        "subscriptions",
        "organizations",
        "repos",
        "events",
        "received_events",
    ] {
        user[format!("{name}_url")] = json!(format!("{api}/{name}"));
    }
    user
}

fn reactions(url: &str) -> Value {
    let mut reactions = json!({"url": url, "total_count": 0});
    for name in [
        "+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes",
    ] {
        reactions[name] = json!(0);
    }
    reactions
}

fn add(to: &mut Value, more: Value) {
    let (Value::Object(to), Value::Object(more)) = (to, more) else {
        unreachable!("both are objects");
    };
    to.extend(more);
}
