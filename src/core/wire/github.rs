//! What GitHub reports of a pull request's reviews, as far as it is used: REST pages by `gh api`,
//! and threads by GraphQL, because REST does not say which are resolved.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::beginning::beginning;
use crate::id::FindingId;
use crate::plain_value::{PlainValue, optional};
use crate::review::{ReviewComment, ReviewPart};

/// Asks for a page of threads. Its variables: owner, name, number, cursor. A comment's `databaseId`
/// has no room for the numbers that GitHub gives by now.
pub const THREADS_QUERY: &str = "query($owner:String!,$name:String!,$number:Int!,$cursor:String)\
    {repository(owner:$owner,name:$name){pullRequest(number:$number)\
    {reviewThreads(first:100,after:$cursor){pageInfo{hasNextPage endCursor}\
    nodes{isResolved isOutdated comments(first:1){nodes{fullDatabaseId}}}}}}}";

/// A pull request, as `gh pr view` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// `github.com`, or a server of one's own.
    pub host: String,
    /// Whose repository it is.
    pub owner: String,
    /// The repository.
    pub name: String,
    /// Its number there.
    pub number: u64,
}

impl PullRequest {
    /// Of its address, `https://HOST/OWNER/NAME/pull/12`; what stands behind is left out.
    pub fn of_url(url: &str) -> Option<Self> {
        let mut parts = url.strip_prefix("https://")?.split(['/', '?', '#']);
        let mut next = || parts.next();
        let (host, owner, name) = (next()?, next()?, next()?);
        if next()? != "pull" {
            return None;
        }
        let number = next()?.parse().ok()?;
        [host, owner, name].into_iter().all(is_name).then(|| Self {
            host: host.to_owned(),
            owner: owner.to_owned(),
            name: name.to_owned(),
            number,
        })
    }

    /// Its name in the record.
    pub fn review(&self) -> String {
        let Self {
            host,
            owner,
            name,
            number,
        } = self;
        format!("{host}/{owner}/{name}#{number}")
    }

    /// Whether it is the same one: case does not make another repository.
    fn is_as(&self, other: &Self) -> bool {
        self.review().eq_ignore_ascii_case(&other.review())
    }

    /// Whether it is one of this repository, `OWNER/NAME`, on the server of this address.
    pub fn is_of(&self, url: &str, repository: &str) -> bool {
        let host = url
            .strip_prefix("https://")
            .and_then(|url| url.split('/').next());
        host.is_some_and(|host| host.eq_ignore_ascii_case(&self.host))
            && format!("{}/{}", self.owner, self.name).eq_ignore_ascii_case(repository)
    }
}

/// The pull request that a file is said to be of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedPull {
    /// By its address.
    Whole(PullRequest),
    /// The repository is the one that the comments name.
    Number(u64),
}

/// A name goes into a path of an address.
fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter) && !text.starts_with(['.', '-'])
}

/// Threads, by the first comment of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewThreads {
    threads: BTreeMap<u64, (bool, bool)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    #[serde(default)]
    is_resolved: bool,
    #[serde(default)]
    is_outdated: bool,
    comments: Nodes<Named>,
}

#[derive(Deserialize)]
struct Nodes<T> {
    nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    /// As GitHub gives large numbers, a string.
    #[serde(default, deserialize_with = "optional")]
    full_database_id: Option<Value>,
    #[serde(default, deserialize_with = "optional")]
    database_id: Option<Value>,
}

impl Named {
    fn number(&self) -> Option<u64> {
        let numbers = [&self.full_database_id, &self.database_id].into_iter();
        let number = |value: &Value| match value {
            Value::String(digits) => digits.parse().ok(),
            value => value.as_u64(),
        };
        numbers.flatten().find_map(number)
    }
}

impl ReviewThreads {
    /// Takes a page of GraphQL in; the cursor of the next one. None where it is no such page.
    pub fn take_page(&mut self, page: &Value) -> Option<Option<String>> {
        let threads = page.pointer("/data/repository/pullRequest/reviewThreads")?;
        self.take(threads.get("nodes")?)?;
        let info = threads.get("pageInfo")?;
        let more = info.get("hasNextPage").and_then(Value::as_bool) == Some(true);
        let cursor = info.get("endCursor").and_then(Value::as_str);
        Some(cursor.filter(|_| more).map(str::to_owned))
    }

    /// Takes a list of threads in. GitHub gives null for what it cannot tell.
    pub fn take(&mut self, threads: &Value) -> Option<()> {
        let threads = Vec::<Option<Thread>>::deserialize(threads).ok()?;
        for thread in threads.into_iter().flatten() {
            let first = thread.comments.nodes.iter().flatten().next();
            if let Some(id) = first.and_then(Named::number) {
                self.threads
                    .insert(id, (thread.is_resolved, thread.is_outdated));
            }
        }
        Some(())
    }
}

/// A comment on a line, or the words of a review.
#[derive(Deserialize)]
struct Said {
    id: Option<u64>,
    #[serde(default, rename = "externalId")]
    external_id: Option<String>,
    body: Option<String>,
    user: Option<User>,
    author: Option<String>,
    #[serde(default)]
    bot: bool,
    path: Option<String>,
    line: Option<u32>,
    original_line: Option<u32>,
    /// Of several lines the first; elsewhere it may be anything.
    #[serde(default, deserialize_with = "optional")]
    start_line: Option<Value>,
    #[serde(default, deserialize_with = "optional")]
    original_start_line: Option<Value>,
    /// As `side`, of that line.
    #[serde(default, deserialize_with = "optional")]
    start_side: Option<Value>,
    commit_id: Option<String>,
    original_commit_id: Option<String>,
    /// What a tool may call `commit_id`. A field of its own and no alias: of two names of one field
    /// serde takes no value that has both.
    commit: Option<String>,
    html_url: Option<String>,
    /// What a tool may call `html_url`. GitHub gives both, and has its API's address here.
    url: Option<String>,
    /// `LEFT` where it is on a line that the pull request deletes; elsewhere it may be anything.
    #[serde(default, deserialize_with = "optional")]
    side: Option<Value>,
    in_reply_to_id: Option<u64>,
    /// Of a review; elsewhere it may be anything.
    #[serde(default, deserialize_with = "optional")]
    state: Option<Value>,
    resolved: Option<bool>,
    outdated: Option<bool>,
}

impl Said {
    /// Whether it is a review that was dismissed there, or that its author has not sent yet.
    fn is_withdrawn(&self) -> bool {
        let state = self.state.as_ref().and_then(Value::as_str);
        state.is_some_and(|state| {
            let is = |word: &str| state.eq_ignore_ascii_case(word);
            self.path.is_none() && (is("dismissed") || is("pending"))
        })
    }

    /// What it is of its review: a tool's finding may have any state of its own.
    fn part(&self) -> ReviewPart {
        let state = self.state.as_ref().and_then(Value::as_str);
        let state = state.filter(|_| self.path.is_none());
        match state.map(str::to_ascii_lowercase).as_deref() {
            Some("approved") => ReviewPart::Approval,
            Some("commented" | "changes_requested") => ReviewPart::Summary,
            _ => ReviewPart::Finding,
        }
    }

    /// Where it stands, for people.
    fn address(&self) -> Option<&String> {
        self.html_url.as_ref().or(self.url.as_ref())
    }

    /// The pull request that its address names.
    fn pull(&self) -> Option<PullRequest> {
        PullRequest::of_url(self.address()?)
    }

    /// Whether its line is one of the file before the pull request.
    fn is_of_base(&self) -> bool {
        is_left(self.side.as_ref())
    }

    /// Of several lines the first, where that is one of the same state of the file as the last.
    fn start_line(&self) -> Option<u32> {
        let start = match self.line {
            Some(_) => &self.start_line,
            None => &self.original_start_line,
        };
        let is_apart = self.start_side.as_ref().is_some_and(Value::is_string)
            && is_left(self.start_side.as_ref()) != self.is_of_base();
        let start = start.as_ref().filter(|_| !is_apart)?.as_u64()?;
        start.try_into().ok()
    }

    /// Its line, and the commit in which the line has that number.
    fn line_and_commit(&self) -> (Option<u32>, Option<String>) {
        let of_head = self.commit_id.as_ref().or(self.commit.as_ref());
        // A comment whose code was changed has a line of its own commit alone.
        let (line, commit) = match self.line {
            Some(line) => (Some(line), of_head),
            None => (
                self.original_line,
                self.original_commit_id.as_ref().or(of_head),
            ),
        };
        // All commits that GitHub names with it are the head's; the base, whose line it is, is not
        // among them.
        (line, commit.filter(|_| !self.is_of_base()).cloned())
    }

    /// Its name by its number on GitHub.
    fn name(&self) -> Option<String> {
        let sort = if self.path.is_some() { "rc" } else { "rv" };
        self.id.map(|id| format!("{OF_GITHUB}{sort}:{id}"))
    }
}

/// A page of comments, or of threads; neither is a comment.
fn is_page(value: &Value) -> bool {
    value.is_array() || (value.get("data").is_some() && value.get("body").is_none())
}

fn is_left(side: Option<&Value>) -> bool {
    let side = side.and_then(Value::as_str);
    side.is_some_and(|side| side.eq_ignore_ascii_case("left"))
}

/// What comments of a file are of. Their names on GitHub are believed only of its pull request: what
/// stands under such a name is settled by them.
struct FileOf<'a> {
    pull: Option<&'a PullRequest>,
    /// The operator says that all of it is of that one.
    is_named: bool,
    apart: &'a str,
}

impl FileOf<'_> {
    /// How a comment is named here; none of one that is refused.
    fn name(&self, said: &Said, named: &str) -> Option<String> {
        let is_its = match said.pull() {
            Some(pull) if self.pull.is_some_and(|its| its.is_as(&pull)) => true,
            Some(_) => return None,
            None => self.is_named && self.pull.is_some(),
        };
        let is_of_github = named.starts_with(OF_GITHUB);
        match (is_its || !is_of_github, &said.external_id) {
            (true, _) => Some(named.to_owned()),
            (false, Some(_)) => None,
            // A number alone says nothing outside of its file.
            (false, None) => Some(format!("file:{}:{}", self.apart, &named[OF_GITHUB.len()..])),
        }
    }
}

/// How the name of what stands on GitHub begins.
const OF_GITHUB: &str = "gh:";

/// What an object in a file may hold lists under: threads, and what is said.
const THREADS: &str = "threads";
const LISTS: [&str; 4] = [THREADS, "comments", "reviews", "findings"];

/// What a file of a review may hold, as a fragment.
const EXPECTED: &str = "wanted are lists of comments as `gh api repos/OWNER/REPO/pulls/N/comments` prints \
                        them, or an object with lists `comments`, `reviews` and `threads`";

#[derive(Deserialize)]
struct User {
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

/// What comments were found, and how many values were none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadComments {
    /// The comments; answers within a thread are none, and what a review says that was dismissed or
    /// is not sent yet.
    pub comments: Vec<ReviewComment>,
    /// Values that could not be read.
    pub unread: u64,
    /// Values of a file that are of another pull request, or have a name of GitHub's and no address
    /// there.
    pub refused: u64,
    /// Comments on lines that are in none of the threads: what became of theirs is not known.
    pub unthreaded: u64,
    /// The pull request, where one of them names it.
    pub pull: Option<PullRequest>,
}

impl ReadComments {
    /// Takes a list of comments, or of reviews, of GitHub's in.
    pub fn take(&mut self, values: &[Value], threads: &ReviewThreads) {
        self.take_from(values, threads, None);
    }

    fn take_from(&mut self, values: &[Value], threads: &ReviewThreads, file: Option<&FileOf<'_>>) {
        for value in values {
            match Said::deserialize(value) {
                Ok(said) => self.take_one(said, threads, file),
                Err(_) => self.unread += 1,
            }
        }
    }

    fn take_one(&mut self, mut said: Said, threads: &ReviewThreads, file: Option<&FileOf<'_>>) {
        if self.pull.is_none() {
            self.pull = said.pull();
        }
        let is_said = said.in_reply_to_id.is_none() && !said.is_withdrawn();
        let Some(body) = said.body.take().filter(|_| is_said) else {
            return;
        };
        let part = said.part();
        let thread = said.id.and_then(|id| threads.threads.get(&id));
        self.unthreaded += u64::from(said.path.is_some() && thread.is_none());
        // A page of comments alone does not say what became of their threads.
        let (resolved, outdated) = match thread {
            Some(&(resolved, outdated)) => (Some(resolved), Some(outdated)),
            None => (said.resolved, said.outdated),
        };
        let by_number = said.name();
        let named = said.external_id.as_ref().or(by_number.as_ref());
        let Some(named) = named else {
            self.unread += 1;
            return;
        };
        let id = match file {
            None => named.clone(),
            Some(file) => match file.name(&said, named) {
                Some(id) => id,
                None => {
                    self.refused += 1;
                    return;
                }
            },
        };
        let (start_line, (line, commit)) = (said.start_line(), said.line_and_commit());
        let url = said.address().cloned();
        let bot = said
            .user
            .as_ref()
            .is_some_and(|user| user.kind == "Bot" || user.login.ends_with("[bot]"));
        let author = said.user.map(|user| user.login).or(said.author);
        self.comments.push(ReviewComment {
            id: FindingId::new(id),
            part,
            author: author.unwrap_or_else(|| "ghost".to_owned()),
            bot: bot || said.bot,
            body,
            path: said.path,
            start_line,
            line,
            commit,
            url,
            resolved,
            outdated,
        });
    }

    /// Of a file: pages of comments and reviews as `gh api` prints them, one behind the other or in a
    /// list, or an object with `comments`, `reviews` and `threads`. `named`: the pull request that the
    /// operator says it is of; `apart`: a word that tells this file from others.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn of_file(text: &str, named: Option<&NamedPull>, apart: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err(format!("it is empty, and {EXPECTED}"));
        }
        let mut read = Self::default();
        let mut lists = Vec::new();
        let mut threads = ReviewThreads::default();
        let mut values = Vec::new();
        for value in serde_json::Deserializer::from_str(text).into_iter() {
            let PlainValue(value) = value.map_err(|error| {
                let found = beginning(text);
                format!("it is no JSON ({error}), and {EXPECTED}; {found}")
            })?;
            match value {
                // As `gh api --paginate --slurp` prints them.
                Value::Array(pages) if pages.iter().all(is_page) => values.extend(pages),
                value => values.push(value),
            }
        }
        for value in values {
            match value {
                Value::Array(list) => lists.push(list),
                // A page of threads, as `gh api graphql` prints it.
                Value::Object(object) if object.contains_key("data") => {
                    if threads.take_page(&Value::Object(object)).is_none() {
                        return Err("its `data` is no page of review threads".to_owned());
                    }
                }
                Value::Object(mut object) if LISTS.iter().any(|it| object.contains_key(*it)) => {
                    let said = object.shift_remove(THREADS);
                    if said.is_some_and(|said| threads.take(&said).is_none()) {
                        return Err("its `threads` are no list of review threads".to_owned());
                    }
                    for name in LISTS {
                        if let Some(Value::Array(list)) = object.shift_remove(name) {
                            lists.push(list);
                        }
                    }
                }
                _ => {
                    let found = beginning(text);
                    return Err(format!(
                        "it holds something else than lists of comments, and {EXPECTED}; {found}"
                    ));
                }
            }
        }
        let mut all = lists.iter().flatten();
        let pull = match named {
            Some(NamedPull::Whole(pull)) => Some(pull.clone()),
            _ => all.find_map(|value| Said::deserialize(value).ok()?.pull()),
        };
        let file = FileOf {
            pull: pull.as_ref(),
            is_named: named.is_some(),
            apart,
        };
        for list in &lists {
            read.take_from(list, &threads, Some(&file));
        }
        match (read.comments.is_empty(), read.unread) {
            (true, unread @ 1..) => Err(format!(
                "none of its {unread} values is a comment (each has an id and a `body`), and {EXPECTED}"
            )),
            _ => Ok(read),
        }
    }
}

#[cfg(test)]
mod tests;
