use std::fs;

use serde_json::Value;

use super::*;

fn market(data: &Path, version: &str) -> Marketplace {
    let program = PathBuf::from("/usr/bin/ctxrelay");
    Marketplace::new(data, program, version, "/of the user/registry".into())
}

#[test]
fn the_marketplace_names_a_plugin_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let market = market(dir.path(), "0.1.0");
    assert!(market.write().unwrap());
    assert!(!market.write().unwrap());
    let manifest = fs::read(market.dir.join(".claude-plugin/marketplace.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let source = manifest["plugins"][0]["source"].as_str().unwrap();
    let plugin = market.dir.join(source).join(".claude-plugin/plugin.json");
    assert!(plugin.is_file());
    let upgraded = self::market(dir.path(), "0.2.0");
    assert!(upgraded.write().unwrap(), "an upgrade in place");
}

#[test]
fn its_plugin_looks_for_trust_in_the_registry_of_the_user_alone() {
    let dir = tempfile::tempdir().unwrap();
    let market = market(dir.path(), "0.1.0");
    market.write().unwrap();
    let plugin = market.dir.join("plugins").join(PLUGIN_NAME);
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(plugin.join(name)).unwrap()).unwrap()
    };
    let hooks = read("hooks/hooks.json");
    for (event, hook) in hooks["hooks"].as_object().unwrap() {
        let command = hook[0]["hooks"][0]["command"].as_str().unwrap();
        assert!(
            command.contains("--judged --registry '/of the user/registry' --project"),
            "{event}: {command}"
        );
    }
    let server = &read(".claude-plugin/plugin.json")["mcpServers"][PLUGIN_NAME];
    assert_eq!(
        server["args"],
        json!(["bridge", "--registry", "/of the user/registry"])
    );
}

#[test]
fn it_is_renewed_where_it_is_there_and_its_registry_is_this_one() {
    let dir = tempfile::tempdir().unwrap();
    let market = market(dir.path(), "0.1.0");
    assert!(!market.renew().unwrap(), "nobody installed it");
    assert!(!market.is_there() && !market.dir.exists());
    // As an earlier version wrote it.
    let mut earlier = market.clone();
    earlier.plugin.program = "/gone/ctxrelay".into();
    earlier.plugin.registry = None;
    earlier.write().unwrap();
    assert!(market.is_there() && !market.is_current());
    assert!(market.renew().unwrap() && market.is_current());
    assert!(!market.renew().unwrap());
    let mut other = market.clone();
    other.plugin.registry = Some("/elsewhere".into());
    assert!(!other.is_current());
    assert!(!other.renew().unwrap() && market.is_current());
    // Another program that is there has been asked for by name.
    let mut built = market.clone();
    built.plugin.program = dir.path().join("built");
    fs::write(&built.plugin.program, "").unwrap();
    built.write().unwrap();
    assert!(!market.renew().unwrap() && built.is_current());
    built.plugin.version = "0.2.0".to_owned();
    assert!(built.renew().unwrap() && built.is_current());
    built.discard().unwrap();
    built.discard().unwrap();
    assert!(!built.is_there() && !built.dir.exists());
}

#[test]
fn it_is_installed_and_removed_by_claude_itself() {
    let market = market(Path::new("/d a"), "0.1.0");
    assert_eq!(
        market.install(),
        [
            words(&["plugin", "marketplace", "add", "/d a/market"]),
            words(&[
                "plugin",
                "install",
                "contextrelay@ctxrelay-market",
                "--scope",
                "user"
            ]),
        ]
    );
    assert_eq!(
        remove()[1],
        words(&["plugin", "marketplace", "remove", "ctxrelay-market"])
    );
}

#[test]
fn what_claude_lists_tells_whether_it_is_installed() {
    // As Claude Code 2.1.330 prints it, shortened.
    let list = |enabled| {
        format!(
            r#"[{{"id":"other@x"}},{{"id":"contextrelay@ctxrelay-market","version":"0.1.0",
            "scope":"user","enabled":{enabled},"mcpServers":{{}},"projectEnabled":false}}]"#
        )
    };
    assert_eq!(Installed::read("[]"), Some(Installed::No));
    let version = "0.1.0".to_owned();
    assert_eq!(
        Installed::read(&list(true)),
        Some(Installed::Enabled(version.clone()))
    );
    assert_eq!(
        Installed::read(&list(false)),
        Some(Installed::Disabled(version))
    );
    assert_eq!(Installed::read("no JSON"), None);
}
