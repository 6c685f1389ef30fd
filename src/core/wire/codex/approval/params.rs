//! [`Params`]: the subjects of the requests that wait for the person.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::plain_value::PlainValue;

/// Of every request what any of them has.
#[derive(Default)]
pub(super) struct Params {
    pub kind: Option<String>,
    pub turn_id: Option<String>,
    pub item_id: Option<String>,
    pub approval_id: Option<String>,
    pub reason: Option<String>,
    pub command: Option<String>,
    pub cwd: Option<String>,
    pub network_approval_context: Option<AskedNetwork>,
    pub available_decisions: Option<Vec<Value>>,
    pub grant_root: Option<String>,
    pub permissions: Option<Value>,
    pub additional_permissions: Option<Value>,
    pub server_name: Option<String>,
    pub mode: Option<String>,
    pub message: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub requested_schema: Option<Value>,
    pub url: Option<String>,
    pub meta: Option<Value>,
    pub questions: Vec<AskedQuestion>,
    /// None of these has another type than we know.
    pub is_whole: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AskedNetwork {
    pub host: String,
    pub protocol: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AskedQuestion {
    pub id: String,
    pub question: String,
    pub is_secret: bool,
    pub options: Option<Vec<InputOption>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InputOption {
    pub label: String,
    pub description: String,
}

impl Params {
    /// Each member by itself: one of another type takes no other away.
    pub(super) fn read(text: &str) -> Self {
        let mut from = Members::of(text);
        Self {
            kind: from.take("kind"),
            turn_id: from.take("turnId"),
            item_id: from.take("itemId"),
            approval_id: from.take("approvalId"),
            reason: from.take("reason"),
            command: from.take("command"),
            cwd: from.take("cwd"),
            network_approval_context: from.take_object("networkApprovalContext"),
            available_decisions: from.take_list("availableDecisions"),
            grant_root: from.take("grantRoot"),
            permissions: from.take_value("permissions"),
            additional_permissions: from.take_value("additionalPermissions"),
            server_name: from.take("serverName"),
            mode: from.take("mode"),
            message: from.take("message"),
            title: from.take("title"),
            description: from.take("description"),
            requested_schema: from.take_value("requestedSchema"),
            url: from.take("url"),
            meta: from.take_value("_meta"),
            questions: from.take("questions").unwrap_or_default(),
            is_whole: from.is_whole,
        }
    }
}

/// The members that are left to be read.
struct Members {
    written: Value,
    is_whole: bool,
}

impl Members {
    fn of(text: &str) -> Self {
        let written = PlainValue::of(text).unwrap_or_default();
        let is_whole = written.is_object();
        Self { written, is_whole }
    }

    fn take_value(&mut self, key: &str) -> Option<Value> {
        let value = self.written.get_mut(key).map(Value::take);
        value.filter(|value| !value.is_null())
    }

    fn take_list(&mut self, key: &str) -> Option<Vec<Value>> {
        match self.take_value(key)? {
            Value::Array(members) => Some(members),
            _ => self.unread(),
        }
    }

    fn take<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.take_value(key)?;
        serde_json::from_value(value).ok().or_else(|| self.unread())
    }

    /// A list would be read as an object without names.
    fn take_object<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        match self.written.get(key) {
            Some(Value::Array(_)) => self.unread(),
            _ => self.take(key),
        }
    }

    fn unread<T>(&mut self) -> Option<T> {
        self.is_whole = false;
        None
    }
}
