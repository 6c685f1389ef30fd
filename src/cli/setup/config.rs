//! `ctxrelay config …`: what `config.json` may contain, and which part of it is in force.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::output::{Output, Tone};
use crate::cli::report::{Report, ReportText};
use crate::cli::setup::unbuilt;
use crate::store::config::{self, Loaded};
use crate::wire::config::{Config, KEPT_KEYS, is_power_key, schema as config_schema, unknown_keys};

/// What can be done about the configuration.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The JSON schema of config.json, for your editor
    #[command(after_help = "Example: ctxrelay config schema > config.schema.json")]
    Schema,
    /// What counts now, what is wrong, and what waits for your trust
    #[command(after_help = "Example: ctxrelay config show --json | jq .config.redaction")]
    Show {
        /// Not in this version
        #[arg(long, hide = true)]
        origin: bool,
    },
    /// Set a key (not in this version)
    #[command(hide = true)]
    Set(unbuilt::Args),
    /// Take a key away (not in this version)
    #[command(hide = true)]
    Unset(unbuilt::Args),
}

/// Of a file that cannot be read.
const NOT_TOLD: &str = "no other key is told: a daemon that runs goes on with what it read last; one that starts \
     takes the defaults, and the redaction rules of before";

/// Prints the schema. Needs no project.
pub fn schema(out: &Output) -> CliOutcome {
    let schema = config_schema();
    let mut text = serde_json::to_vec_pretty(&schema)
        .map_err(|error| Failure::internal("write the schema", error))?;
    text.push(b'\n');
    out.report(Report::new(&schema, text))
}

/// Prints what counts.
pub fn show(context: &CliContext) -> CliOutcome {
    let project = &context.project;
    let loaded = config::load(&project.dirs, &project.user_dirs);
    let mut counts = serde_json::to_value(&loaded.config)
        .map_err(|error| Failure::internal("write the configuration", error))?;
    if loaded.file.is_none() {
        keep_power(&mut counts, "");
    }
    let text = text(&loaded, &counts);
    let value = to_json(context, &loaded, counts);
    context.out.report(Report::new(&value, text))
}

/// Leaves what counts as it was trusted, whatever the file says.
fn keep_power(counts: &mut Value, prefix: &str) {
    let Value::Object(group) = counts else {
        return;
    };
    group.retain(|key, value| {
        let name = format!("{prefix}{key}");
        keep_power(value, &format!("{name}."));
        is_power_key(&name) || value.as_object().is_some_and(|left| !left.is_empty())
    });
}

fn to_json(context: &CliContext, loaded: &Loaded, counts: Value) -> Value {
    let problems: Vec<Value> = loaded
        .problems
        .iter()
        .map(|problem| json!({"key": problem.key, "why": problem.why}))
        .collect();
    let waiting: Vec<Value> = loaded
        .waiting
        .iter()
        .map(|waiting| json!({"key": waiting.key, "actsUpon": waiting.matters_now()}))
        .collect();
    json!({
        "path": context.project.dirs.config(),
        "config": counts,
        "problems": problems,
        "waiting": waiting,
        "withoutEffect": without_effect(loaded),
    })
}

/// Keys of the file that this version keeps and does nothing with.
fn without_effect(loaded: &Loaded) -> Vec<String> {
    let Some(file) = &loaded.file else {
        return Vec::new();
    };
    let kept = KEPT_KEYS.iter().map(|(key, _)| *key);
    let kept = kept.filter(|key| file.contains_key(*key));
    kept.map(str::to_owned).chain(unknown_keys(file)).collect()
}

fn text(loaded: &Loaded, counts: &Value) -> ReportText {
    let mut out = ReportText::new();
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut rows = Vec::new();
    leaves(&mut rows, "", counts, &defaults);
    let names = rows.iter().map(|(key, ..)| key.len());
    let width = names.max().unwrap_or_default() + 2;
    for (key, value, is_default) in rows {
        let tail = if is_default { "  (default)" } else { "" };
        out.spans(&[
            (Tone::Plain, &format!("{key:<width$}")),
            (Tone::Strong, &value),
            (Tone::Faint, tail),
        ]);
    }
    for key in without_effect(loaded) {
        let known = KEPT_KEYS.iter().any(|(kept, _)| *kept == key);
        let why = if known {
            "no effect in this version; kept"
        } else {
            "not known; kept"
        };
        out.spans(&[(Tone::Plain, &format!("{key:<width$}")), (Tone::Faint, why)]);
    }
    for problem in &loaded.problems {
        out.spans(&[(Tone::Warning, "!  "), (Tone::Plain, &problem.to_string())]);
    }
    if loaded.file.is_none() {
        out.spans(&[(Tone::Faint, NOT_TOLD)]);
    }
    for key in loaded.ignored_keys() {
        let text = format!("{key} waits for your trust: `ctxrelay trust`");
        out.spans(&[(Tone::Warning, "!  "), (Tone::Plain, &text)]);
    }
    out
}

fn leaves(rows: &mut Vec<(String, String, bool)>, prefix: &str, counts: &Value, defaults: &Value) {
    let Value::Object(group) = counts else {
        return;
    };
    for (key, value) in group {
        let name = format!("{prefix}{key}");
        let default = defaults.get(key).unwrap_or(&Value::Null);
        if value.is_object() {
            leaves(rows, &format!("{name}."), value, default);
        } else {
            rows.push((name, value.to_string(), value == default));
        }
    }
}
