//! [`notification_settings`]: how the user wants to be notified that something waits, from their
//! own `config.json`. No project sets these keys: one of them names a program.

use ctxrelay_ui::{FileProblem, NotificationSettings, NotificationWay, QuietHours};
use serde_json::{Map, Value};

use crate::cli::screen::screen_files::CONFIG;

/// Most words of a command.
const WORDS_MAX: usize = 64;

/// Reads `notify`, `notifyCommand` and `quietHours`. What is wrong counts as not set and is among
/// the problems; of several ways those that are known count.
pub(in crate::cli) fn notification_settings(
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
        let (ways, is_right) = ways(value);
        settings.ways = ways;
        is_right
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

/// The ways that are known, each once, and whether all of them are.
fn ways(value: &Value) -> (Vec<NotificationWay>, bool) {
    let named = match value {
        Value::Array(named) => named.as_slice(),
        one => std::slice::from_ref(one),
    };
    let (mut ways, mut is_right) = (Vec::new(), true);
    let named = named.iter().map(Value::as_str);
    for name in named.filter(|name| *name != Some("off")) {
        match name.and_then(NotificationWay::from_name) {
            None => is_right = false,
            Some(way) if ways.contains(&way) => {}
            Some(way) => ways.push(way),
        }
    }
    (ways, is_right)
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
        let (settings, problems) = read(&json!({"notify": ["nope", "bell", 7]}));
        assert_eq!(settings.ways, [NotificationWay::Bell]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        let (settings, problems) = read(&json!({"notify": "bell", "notifyCommand": ["", "x"]}));
        assert_eq!(settings.ways, [NotificationWay::Bell]);
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
}
