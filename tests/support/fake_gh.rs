//! `FakeGh`: a `gh` that answers what a test puts before it.

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
        let url = "https://github.com/acme/api/pull/12";
        gh.put("view", &json!({"number": 12, "url": url}).to_string());
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
            let nodes: Vec<Value> = threads
                .iter()
                .map(|(id, resolved)| {
                    json!({
                "isResolved": resolved, "isOutdated": false,
                "comments": {"nodes": [{"databaseId": id}]}})
                })
                .collect();
            json!({"data": {"repository": {"pullRequest": {"reviewThreads": {
                "pageInfo": {"hasNextPage": cursor.is_some(), "endCursor": cursor},
                "nodes": nodes}}}}})
            .to_string()
        };
        self.put("threads1", &page(resolved, more.map(|_| "c1")));
        self.put("threads2", &page(more.unwrap_or_default(), None));
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

/// A comment on a line, as GitHub gives it.
pub fn comment(id: u64, body: &str) -> Value {
    json!({
        "id": id, "body": body, "path": "src/a.rs", "line": 3,
        "user": {"login": "greptile-apps[bot]", "type": "Bot"},
        "commit_id": "a".repeat(40), "in_reply_to_id": null,
        "html_url": format!("https://github.com/acme/api/pull/12#discussion_r{id}"),
    })
}
