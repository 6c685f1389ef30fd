//! [`notification_settings`]: how the user wants to be told that something waits, as they wrote it
//! in their own `config.json`. No project sets these keys: one of them names a program.

use ctxrelay_ui::{FileProblem, NotificationSettings, NotificationWay, QuietHours};
use serde_json::{Map, Value};

use super::screen_files::CONFIG;

/// Most words of a command.
const WORDS_MAX: usize = 64;

/// Reads `notify`, `notifyCommand` and `quietHours`. What is wrong counts as not set and is among
/// the problems.
pub(super) fn notification_settings(
    keys: &Map<String, Value>,
    problems: &mut Vec<FileProblem>,
) -> NotificationSettings {
    let mut read = |key: &str, wanted: &str, is_right: &mut dyn FnMut(&Value) -> bool| {
        if let Some(value) = keys.get(key)
            && !is_right(value)
        {
            problems.push(FileProblem::new(
                CONFIG,
                format!("{key} has to be {wanted}"),
            ));
        }
    };
    let mut settings = NotificationSettings::default();
    let wanted = "\"off\", \"bell\", \"osc9\", \"osc777\", or a list of these";
    read("notify", wanted, &mut |value| {
        ways(value).map(|ways| settings.ways = ways).is_some()
    });
    let wanted = "a list of words: a program and its arguments";
    read("notifyCommand", wanted, &mut |value| {
        let command = command(value);
        command.map(|words| settings.command = words).is_some()
    });
    read("quietHours", "a time like \"22:00-07:00\"", &mut |value| {
        settings.quiet = value.as_str().and_then(QuietHours::parse);
        settings.quiet.is_some()
    });
    settings
}

fn ways(value: &Value) -> Option<Vec<NotificationWay>> {
    let names: Vec<&str> = match value {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let mut ways = Vec::new();
    for name in names.into_iter().filter(|name| *name != "off") {
        let way = NotificationWay::from_name(name)?;
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    Some(ways)
}

fn command(value: &Value) -> Option<Vec<String>> {
    let words = value.as_array()?;
    let words: Option<Vec<String>> = words
        .iter()
        .map(|word| word.as_str().map(str::to_owned))
        .collect();
    words.filter(|words| {
        let is_named = words.first().is_none_or(|program| !program.is_empty());
        is_named && words.len() <= WORDS_MAX && words.iter().all(|word| !word.contains('\0'))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(keys: &Value) -> (NotificationSettings, Vec<FileProblem>) {
        let mut problems = Vec::new();
        let settings = notification_settings(keys.as_object().unwrap(), &mut problems);
        (settings, problems)
    }

    #[test]
    fn without_a_word_nobody_is_told() {
        let (settings, problems) = read(&json!({"theme": "nord"}));
        assert!(settings.is_off() && problems.is_empty());
        let (settings, problems) = read(&json!({"notify": "off", "notifyCommand": []}));
        assert!(settings.is_off() && problems.is_empty());
    }

    #[test]
    fn each_way_counts_once() {
        let (settings, problems) = read(&json!({
            "notify": ["bell", "osc9", "bell"],
            "notifyCommand": ["notify-send", "-u", "low"],
            "quietHours": "22:00-07:00",
        }));
        assert_eq!(problems, []);
        assert_eq!(
            settings.ways,
            [NotificationWay::Bell, NotificationWay::Osc9]
        );
        assert_eq!(settings.command, ["notify-send", "-u", "low"]);
        assert_eq!(settings.quiet, QuietHours::parse("22:00-07:00"));
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_counts() {
        let (settings, problems) = read(&json!({
            "notify": "loud",
            "notifyCommand": "rm -rf /",
            "quietHours": "at night",
        }));
        assert!(settings.is_off());
        assert_eq!(problems.len(), 3, "{problems:?}");
        let (settings, problems) = read(&json!({"notify": "bell", "notifyCommand": ["", "x"]}));
        assert_eq!(settings.ways, [NotificationWay::Bell]);
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
}
