#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use crate::core::entry::ErrorCode;

fn launch(mcp_names: &[&str]) -> ServerLaunch {
    ServerLaunch {
        program: PathBuf::from("/bin/codex"),
        version: Some(VERSION_MIN),
        mcp_names: mcp_names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn values(mcp_names: &[&str]) -> Vec<String> {
    launch(mcp_names).configuration(4502)
}

#[test]
fn each_value_is_toml_and_holds_no_secret() {
    for value in values(&["contextrelay"]) {
        let parsed: toml::Table = toml::from_str(&value).unwrap();
        assert_eq!(parsed.len(), 1, "{value}");
    }
    let parsed: toml::Table = toml::from_str(&values(&[])[0]).unwrap();
    let entry = &parsed["mcp_servers"]["ctxrelay"];
    assert_eq!(entry["url"].as_str(), Some("http://127.0.0.1:4502/mcp"));
    assert_eq!(entry["bearer_token_env_var"].as_str(), Some(TOKEN_VARIABLE));
}

#[test]
fn an_installed_entry_is_switched_off_only_where_there_is_one() {
    let off = |names: &[&str]| {
        values(names).contains(&"mcp_servers.contextrelay.enabled=false".to_owned())
    };
    assert!(!off(&[]));
    assert!(!off(&["github", "ctxrelay"]));
    assert!(off(&["contextrelay"]));
    assert!(off(&["ctxrelay", "contextrelay"]));
}

#[test]
fn an_entry_of_the_user_with_our_name_is_never_merged_with() {
    assert!(values(&["github"])[0].starts_with("mcp_servers.ctxrelay={"));
    assert!(values(&["ctxrelay"])[0].starts_with("mcp_servers.ctxrelay2={"));
    assert!(values(&["ctxrelay2", "ctxrelay"])[0].starts_with("mcp_servers.ctxrelay3={"));
}

#[test]
fn names_are_read_from_the_list_and_nothing_else() {
    let json = r#"[{"name":"a","transport":{"env":{"KEY":"secret"}}},{"name":"b"}]"#;
    assert_eq!(mcp_names(json), ["a", "b"]);
    assert!(mcp_names("no json").is_empty());
}

#[test]
fn versions_are_found_and_compared() {
    let version = |text| Version::find(text);
    assert_eq!(version("codex-cli 0.169.0\n"), Some(Version(0, 169, 0)));
    assert_eq!(version("codex 1.2.3-beta.1"), Some(Version(1, 2, 3)));
    assert_eq!(version("codex"), None);
    assert!(version("codex-cli 0.99.12") < Some(VERSION_MIN));
    assert!(version("codex-cli 0.170.0") > Some(VERSION_MIN));
}

#[test]
fn a_failed_start_of_an_old_codex_is_blamed_on_its_age() {
    let mut old = launch(&[]);
    old.version = Some(Version(0, 100, 0));
    assert_eq!(old.failed("x".to_owned()).code, ErrorCode::CodexTooOld);
    assert_eq!(
        launch(&[]).failed("x".to_owned()).code,
        ErrorCode::CodexFailed
    );
}

#[tokio::test]
async fn a_program_that_is_none_is_not_found_and_what_to_do_is_said() {
    let find = async |program: &str| {
        let search = ProgramSearch::new(program, Some("/bin".into()));
        find(&search).await.map_err(|it| (it.code, it.why))
    };
    assert_eq!(find("sh").await, Ok(PathBuf::from("/bin/sh")));
    for (program, says) in [
        ("/no/such/codex", "/no/such/codex is no program"),
        ("no-such-codex", "no `no-such-codex` on PATH"),
    ] {
        let (code, why) = find(program).await.unwrap_err();
        assert_eq!(code, ErrorCode::CodexNotFound);
        assert!(why.starts_with(says), "{why}");
    }
}
