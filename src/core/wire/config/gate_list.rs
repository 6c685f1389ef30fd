//! [`GateList`]: the gates of a value, and those of its entries that are not gates.

use serde_json::{Value, json};

use super::gate::{GATES_MAX, Gate};
use crate::snapshot::GateInForce;

/// The gates of a value: of the file, or of what the operator trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GateList {
    /// In the order of the value.
    pub gates: Vec<Gate>,
    /// What stands among them and cannot be run. A gate that is dropped in silence would let an
    /// approval pass that the operator made depend on it.
    pub unreadable: Vec<UnreadableGate>,
}

/// An entry that was meant as a gate and is none. It never is green.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableGate {
    /// Its name, where that says which it is; else its place, `gates[1]`.
    pub name: String,
    /// What of it is wrong, dotted: `gates[1].cwd`.
    pub key: String,
    /// What is wrong, as a fragment.
    pub why: String,
    /// Unless it says that it is not.
    pub required: bool,
}

impl GateList {
    /// Reads a value. Every entry is a gate or is told as unreadable.
    pub fn read(value: &Value) -> Self {
        let mut list = Self::default();
        let Value::Array(items) = value else {
            let key = "gates".to_owned();
            list.unreadable.push(UnreadableGate {
                name: key.clone(),
                key,
                why: "it has to be a list".to_owned(),
                required: true,
            });
            return list;
        };
        for (number, item) in items.iter().enumerate() {
            let place = format!("gates[{number}]");
            match list.judge(item) {
                Ok(gate) => list.gates.push(gate),
                Err((key, why)) => list.take_unreadable(&place, item, key, why),
            }
        }
        list
    }

    /// The gate, or which key of it is wrong (empty: the whole) and why.
    fn judge(&self, item: &Value) -> Result<Gate, (&'static str, String)> {
        let gate = Gate::read(item)?;
        if self.gates.iter().any(|known| known.name == gate.name) {
            return Err((
                "name",
                "another gate before it has the same name".to_owned(),
            ));
        }
        if self.gates.len() >= GATES_MAX {
            return Err(("", format!("there are {GATES_MAX} gates before it")));
        }
        Ok(gate)
    }

    fn take_unreadable(&mut self, place: &str, item: &Value, key: &str, why: String) {
        let required = item.get("required") != Some(&Value::Bool(false));
        // A status holds them all: beyond so many, the last one stands for the rest.
        if self.unreadable.len() >= GATES_MAX
            && let Some(last) = self.unreadable.last_mut()
        {
            last.required |= required;
            return;
        }
        let is_taken = |name: &str| {
            self.gates.iter().any(|gate| gate.name == name)
                || self.unreadable.iter().any(|gate| gate.name == name)
        };
        let name = Gate::name_of(item).filter(|name| !is_taken(name));
        self.unreadable.push(UnreadableGate {
            name: name.unwrap_or_else(|| place.to_owned()),
            key: match key {
                "" => place.to_owned(),
                key => format!("{place}.{key}"),
            },
            why,
            required,
        });
    }
}

impl UnreadableGate {
    /// The reason, with the key that it is about.
    fn told(&self) -> String {
        format!("{}: {}", self.key, self.why)
    }
}

impl From<&UnreadableGate> for GateInForce {
    fn from(gate: &UnreadableGate) -> Self {
        Self {
            name: gate.name.clone(),
            cmd: String::new(),
            spec: String::new(),
            required: gate.required,
            setup: None,
            isolated: false,
            when: Vec::new(),
            unreadable: Some(gate.told()),
        }
    }
}

/// The keys of a gate, and what each has to be. Told in place of what `serde` says, which quotes the
/// value, and that may be a secret.
const WANTED: [(&str, &str); 8] = [
    (
        "name",
        "it has to be 1 to 40 letters, digits, `_`, `-` or `.`",
    ),
    ("cmd", "it has to be a text of 1 to 4000 characters"),
    (
        "cwd",
        "it has to be a folder inside the project, such as `web`",
    ),
    (
        "when",
        "it has to be a group with `paths` alone: 1 to 32 globs of paths from the project's folder, \
         such as `web/**`",
    ),
    ("isolation", "it has to be `worktree`"),
    ("setup", "it has to be a text of 1 to 4000 characters"),
    ("timeout_s", "it has to be a whole number from 1 to 86400"),
    ("required", "it has to be true or false"),
];

impl Gate {
    /// The gate, or which key of it is wrong (empty: the whole) and why.
    fn read(item: &Value) -> Result<Self, (&'static str, String)> {
        let Ok(gate) = serde_json::from_value(item.clone()) else {
            let wrong = WANTED.iter().find(|(key, _)| {
                item.get(key)
                    .is_some_and(|value| !Self::fits(key, value.clone()))
            });
            return Err(match wrong {
                Some((key, why)) => (key, (*why).to_owned()),
                None => ("", "it has to be a group with name and cmd".to_owned()),
            });
        };
        Ok(gate)
    }

    /// The name of what may be no gate, if it can be one.
    fn name_of(item: &Value) -> Option<String> {
        let name = item.get("name")?;
        let name = name.as_str().filter(|_| Self::fits("name", name.clone()))?;
        Some(name.to_owned())
    }

    /// Whether a gate can have this value.
    fn fits(key: &str, value: Value) -> bool {
        let mut gate = json!({"name": "one", "cmd": "true"});
        gate[key] = value;
        serde_json::from_value::<Self>(gate).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each entry that is no gate: name, key, why, whether it is required.
    fn unreadable(value: &Value) -> Vec<(String, String, String, bool)> {
        let list = GateList::read(value).unreadable.into_iter();
        list.map(|gate| (gate.name, gate.key, gate.why, gate.required))
            .collect()
    }

    #[test]
    fn what_is_no_gate_costs_no_other_one_and_is_told_with_the_key_that_is_wrong() {
        let value = json!([
            {"name": "a b", "cmd": "true"},
            {"name": "", "cmd": "true"},
            {"name": "\u{1b}[2J", "cmd": "true"},
            {"name": "empty", "cmd": "  "},
            {"name": "up", "cmd": "true", "cwd": "../other"},
            {"name": "root", "cmd": "true", "cwd": "/etc"},
            {"name": "slow", "cmd": "true", "timeout_s": 0},
            {"name": "text", "cmd": "true", "timeout_s": "900"},
            {"name": "elsewhere", "cmd": "true", "isolation": "worktre"},
            {"name": "never", "cmd": "true", "when": {"paths": []}},
            {"name": "up", "cmd": "true", "when": {"paths": ["../**"]}},
            {"name": "misspelt", "cmd": "true", "when": {"path": ["a"]}},
            {"name": "unprepared", "cmd": "true", "setup": " "},
            {"name": "said", "cmd": "true", "required": "yes"},
            {"name": "optional", "required": false},
            "true",
            {"name": "good", "cmd": "true"},
            {"name": "good", "cmd": "false"},
        ]);
        let list = GateList::read(&value);
        assert_eq!(list.gates.len(), 1);
        assert_eq!(
            (list.gates[0].name.as_str(), list.gates[0].cmd.as_str()),
            ("good", "true")
        );
        let told = unreadable(&value);
        let keys: Vec<(&str, &str, bool)> = told
            .iter()
            .map(|(name, key, _, required)| (name.as_str(), key.as_str(), *required))
            .collect();
        assert_eq!(
            keys,
            [
                ("gates[0]", "gates[0].name", true),
                ("gates[1]", "gates[1].name", true),
                ("gates[2]", "gates[2].name", true),
                ("empty", "gates[3].cmd", true),
                ("up", "gates[4].cwd", true),
                ("root", "gates[5].cwd", true),
                ("slow", "gates[6].timeout_s", true),
                ("text", "gates[7].timeout_s", true),
                ("elsewhere", "gates[8].isolation", true),
                ("never", "gates[9].when", true),
                // The name is another one's by now.
                ("gates[10]", "gates[10].when", true),
                ("misspelt", "gates[11].when", true),
                ("unprepared", "gates[12].setup", true),
                ("said", "gates[13].required", true),
                ("optional", "gates[14]", false),
                ("gates[15]", "gates[15]", true),
                ("gates[17]", "gates[17].name", true),
            ]
        );
        assert!(told[4].2.contains("a folder inside the project"));
        assert_eq!(told[14].2, "it has to be a group with name and cmd");
        assert!(told[16].2.contains("the same name"));
    }

    #[test]
    fn the_gate_after_the_last_that_counts_is_told() {
        let gates = (0..GATES_MAX + 2).map(|n| json!({"name": format!("g{n}"), "cmd": "true"}));
        let told = unreadable(&Value::Array(gates.collect()));
        let names: Vec<&str> = told.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["g32", "g33"]);
        assert_eq!(told[0].2, "there are 32 gates before it");
    }

    #[test]
    fn the_last_of_too_many_unreadable_gates_stands_for_the_rest_and_is_required_as_they_are() {
        let mut items = vec![json!({"required": false}); 3 * GATES_MAX];
        items.push(json!({"name": "needed"}));
        let told = unreadable(&Value::Array(items));
        assert_eq!(told.len(), GATES_MAX);
        let required: Vec<bool> = told.iter().map(|(.., required)| *required).collect();
        assert_eq!(required.iter().filter(|required| **required).count(), 1);
        assert!(required[GATES_MAX - 1]);
    }

    #[test]
    fn what_is_no_list_at_all_is_one_unreadable_gate() {
        for value in [
            json!({"name": "tests", "cmd": "true"}),
            json!("x"),
            json!(null),
        ] {
            let told = unreadable(&value);
            assert_eq!(told.len(), 1, "{value}");
            assert_eq!((told[0].0.as_str(), told[0].3), ("gates", true));
        }
    }

    #[test]
    fn a_folder_may_end_in_a_slash() {
        let list = GateList::read(&json!([{"name": "web", "cmd": "true", "cwd": "web/app/"}]));
        assert_eq!(list.gates[0].cwd.as_deref(), Some("web/app"));
        let wrong = json!([{"name": "a", "cmd": "true", "cwd": "/"},
            {"name": "b", "cmd": "true", "cwd": "web//"}]);
        assert_eq!(unreadable(&wrong).len(), 2);
    }
}
