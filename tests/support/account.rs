//! [`Account`]: what writers asked the daemon to record and what it acknowledged, to be compared
//! with the file.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use super::child::Finished;
use super::project::Project;
use super::ws::RpcSocket;

/// How many notes were asked for, and which of them were acknowledged.
#[derive(Debug, Default)]
pub struct Account(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    asked: usize,
    acknowledged: Vec<String>,
}

impl Account {
    /// A text that no other note has.
    pub fn ask(&self, writer: &str) -> String {
        let mut books = self.0.lock().unwrap();
        books.asked += 1;
        format!("{writer} writes note {}", books.asked)
    }

    pub fn acknowledge(&self, text: String) {
        self.0.lock().unwrap().acknowledged.push(text);
    }

    /// How many notes were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.0.lock().unwrap().acknowledged.len()
    }

    /// How many notes of one writer were acknowledged.
    pub fn acknowledged_of(&self, writer: &str) -> usize {
        let start = format!("{writer} ");
        let books = self.0.lock().unwrap();
        let texts = books.acknowledged.iter();
        texts.filter(|text| text.starts_with(&start)).count()
    }

    /// Asks for one note over a control socket. `None` when the daemon was gone before it
    /// answered: then the note may be there or not.
    #[track_caller]
    pub fn note(&self, writer: &str, socket: &mut RpcSocket) -> Option<Result<(), String>> {
        let text = self.ask(writer);
        let answer = socket.outcome("note/append", json!({"agent": "codex", "text": text}))?;
        Some(match answer {
            Ok(_) => {
                self.acknowledge(text);
                Ok(())
            }
            Err(error) => Err(format!("{}: {}", error.data["code"], error.message)),
        })
    }

    /// Holds the account against the file: every acknowledged note once, no note twice, and
    /// nothing about the chain to complain of.
    #[track_caller]
    pub fn settle(&self, project: &Project) {
        let verified = project.run(["ledger", "verify", "--json"]);
        self.compare(&project.ledger(), &verified);
    }

    /// As [`Account::settle`], for a record that was read in another way.
    #[track_caller]
    pub fn compare(&self, ledger: &[Value], verified: &Finished) {
        assert_eq!(verified.code(), 0, "{verified:#?}");
        assert_eq!(verified.json()["ok"], true, "{verified:#?}");
        let mut found: HashMap<&str, usize> = HashMap::new();
        for entry in ledger.iter().filter(|entry| entry["type"] == "note") {
            *found.entry(entry["content"].as_str().unwrap()).or_default() += 1;
        }
        let twice: Vec<_> = found.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "recorded more than once: {twice:?}");
        // No crash may look like tampering.
        let alarms = ledger
            .iter()
            .filter(|entry| entry["error"]["code"] == "ledger_touched");
        assert_eq!(alarms.count(), 0, "{ledger:#?}");
        let books = self.0.lock().unwrap();
        let missing: Vec<_> = books
            .acknowledged
            .iter()
            .filter(|text| !found.contains_key(text.as_str()))
            .collect();
        assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
    }
}

/// A control connection that has said who it is; `None` while no daemon answers.
pub fn connect(project: &Project) -> Option<RpcSocket> {
    connect_with(project, &project.token_in("codex-token"))
}

/// As [`connect`], with a token read elsewhere.
pub fn connect_with(project: &Project, token: &str) -> Option<RpcSocket> {
    let url = format!("ws://127.0.0.1:{}/ws", project.ports.control);
    let mut socket = RpcSocket::open(&url, Some(token), &[]).ok()?;
    let hello = json!({"protocol": 1, "role": "codex", "pid": std::process::id()});
    socket.outcome("hello", hello)?.ok()?;
    Some(socket)
}

/// How long a writer waits before it looks for the daemon again.
pub const REDIAL: Duration = Duration::from_millis(20);

/// What waits for Claude, handed to it. Not by this process: a deck below an agent is refused.
#[track_caller]
pub fn mail(project: &Project) -> Value {
    let mut socket = project.agent("claude");
    socket.expect("messages/get", json!({"agent": "claude"}))["value"].clone()
}
