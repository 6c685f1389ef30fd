#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;

use serde_json::Value;

use super::*;

#[test]
fn the_marketplace_names_a_plugin_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let market = Marketplace::new(dir.path());
    let program = PathBuf::from("/usr/bin/ctxrelay");
    assert!(market.write(program.clone(), "0.1.0").unwrap());
    assert!(!market.write(program.clone(), "0.1.0").unwrap());
    let manifest = fs::read(market.dir.join(".claude-plugin/marketplace.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let source = manifest["plugins"][0]["source"].as_str().unwrap();
    let plugin = market.dir.join(source).join(".claude-plugin/plugin.json");
    assert!(plugin.is_file());
    assert!(
        market.write(program, "0.2.0").unwrap(),
        "an upgrade in place"
    );
}

#[test]
fn it_is_installed_and_removed_by_claude_itself() {
    let market = Marketplace::new(Path::new("/d a"));
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
