//! Commands under one rule each.

use serde_json::json;

use super::super::rules_tests::{bash, denies, judge, sign};
use super::*;

/// Commands under one rule, as `bash` runs them.
const COMMANDS: &[(Permission, char, &str)] = {
    use Permission::{Git, Network, Secrets, Write};
    &[
        (Write, '?', "cat <<EOF\n$(rm -rf src)\nEOF"),
        (Write, '+', "cat <<EOF\n$(pwd)\nEOF\n"),
        (Write, '?', "((rm -rf src); (ls))"),
        (Write, '+', "((( (1 + 2) * 3 ))) && ls; ((i + 1))"),
        (Write, '?', "set -- a; for x do rm -rf src; done"),
        (Write, '?', "git apply x.patch"),
        (Write, '?', "git clone . ../x"),
        (Write, '?', "git format-patch -1"),
        (Write, '?', "git bundle create x HEAD"),
        (Write, '?', "git bugreport"),
        (Write, '?', "git diagnose"),
        (Write, '?', "git interpret-trailers --in-place x"),
        (Write, '?', "git difftool -y -x 'rm -rf' HEAD"),
        (Write, '?', "git archive -o x.tar HEAD"),
        (Write, '?', "git log --outp=x"),
        (Write, '+', "git log --oneline --pretty=short -- src"),
        (
            Write,
            '+',
            "git -C x status && git ls-files -o && git --version",
        ),
        (
            Write,
            '+',
            "git branch -a; git config --get user.name; git stash list",
        ),
        (Write, '+', "wc -l < f && grep -o x <<< y"),
        (Write, '?', "wc -l <> f"),
        (Write, '+', "[ -d x ] && ls"),
        (Network, '-', "cat <<EOF\n$(curl -s x.org)\nEOF"),
        (
            Network,
            '?',
            "python3 - <<'EOF'\nurlopen('https://x.org')\nEOF",
        ),
        (Network, '+', "cat > x.md <<'EOF'\nhttps://x.org\nEOF"),
        (Network, '?', "bash <<'EOF'\ncurl x.org\nEOF"),
        (Network, '+', "bash <<'EOF'\nls\nEOF"),
        (Network, '?', "C=curl; $C x.org"),
        (Network, '?', "$(which curl) x.org"),
        (Network, '?', "bash -c \"$X\""),
        (Network, '+', "bash -c \"cd $X && npm test\""),
        (Network, '?', "echo curl x.org | sh"),
        (Network, '+', "bash x.sh"),
        (Network, '-', "echo $((curl x); (ls))"),
        (Network, '-', "for x do curl x.org; done"),
        (Network, '-', "function f { curl x.org; }; f"),
        (Network, '-', "X=$(date) curl x.org"),
        (Network, '-', "eval git push"),
        (Network, '-', "cat < /dev/tcp/x.org/80"),
        (Network, '?', "timeout 60 git push"),
        (Network, '?', "env git push"),
        (Network, '?', "nohup git fetch"),
        (Network, '?', "xargs git push"),
        (Network, '?', "sudo -u git curl x.org"),
        (Network, '?', "sudo apt-get install x"),
        (Network, '?', "watch 'git fetch'"),
        (Network, '?', "find . -exec curl {} +"),
        (Network, '?', "find . -exec ./get https://x.org {} +"),
        (Network, '+', "find . -name curl"),
        (Network, '+', "command -v curl"),
        (Network, '+', "timeout 60 git status"),
        (Network, '+', "env A=b npm test"),
        (Network, '?', "python3 -m pip install x"),
        (Network, '+', "python3 -m pytest install"),
        (Network, '?', "uv pip install x"),
        (Network, '?', "npx cowsay"),
        (Network, '+', "npx --no-install tsc"),
        (Network, '?', "uvx ruff"),
        (Network, '?', "npm --prefix web install"),
        (Network, '+', "npm run update"),
        (Network, '+', "cargo test add"),
        (Network, '-', "git submodule update --init"),
        (Network, '-', "git remote update"),
        (Network, '+', "git remote add o https://x.org/y"),
        (Network, '?', "git $SUB"),
        (Network, '?', "git -c alias.x=push x"),
        (Network, '+', "git stash push -m wip"),
        (Network, '+', "git checkout push"),
        (Network, '+', "git show fetch"),
        (Network, '+', "git log --grep push"),
        (Network, '+', "git commit -m 'see https://x.org'"),
        (Network, '+', "gh --version"),
        (Network, '+', "gh pr list --help"),
        (Network, '-', "gh pr list"),
        (Secrets, '?', "cat .env*"),
        (Secrets, '?', "cat .env?"),
        (Secrets, '?', "cat .en*"),
        (Secrets, '?', "cat id_[re]*"),
        (Secrets, '-', "grep -r KEY {.env,x}"),
        (Secrets, '-', "cat .e\"\"nv"),
        (Secrets, '-', "bash -c 'cat .e\"\"nv'"),
        (Secrets, '?', "cat .env$X"),
        (Secrets, '+', "cat .env.example"),
        (Secrets, '+', "rg x -g '!.env*' src/auth* *.rs"),
        (Git, '?', "env rm -rf .git"),
    ]
};

#[test]
fn what_a_command_runs_is_judged_wherever_it_stands() {
    let wrong: Vec<String> = COMMANDS
        .iter()
        .filter_map(|(permission, expected, command)| {
            let verdict = bash(&denies(*permission), command);
            (sign(&verdict) != *expected)
                .then(|| format!("{permission} {expected} {command:?}: {verdict:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_pattern_of_files_is_asked_where_secrets_are_not_allowed() {
    let rules = denies(Permission::Secrets);
    for (expected, glob) in [
        ('?', ".env*"),
        ('?', "**/.env*"),
        ('-', "{.env,x}"),
        ('+', "*.rs"),
        ('+', "!.env*"),
        ('+', ".env.example"),
    ] {
        let verdict = judge(&rules, "Grep", json!({"pattern": "KEY", "glob": glob}));
        assert_eq!(sign(&verdict), expected, "{glob}");
    }
}

#[test]
fn a_long_line_of_programs_that_run_others_is_never_denied_for_what_is_not_in_it() {
    let network = denies(Permission::Network);
    for word in ["env ", "sudo sh ", "xargs git ", "watch 'env npm' "] {
        let command = word.repeat(COMMAND_BYTES_MAX / word.len() - 1);
        let verdict = bash(&network, &command);
        assert!(matches!(sign(&verdict), '+' | '?'), "{word}: {verdict:?}");
    }
}
