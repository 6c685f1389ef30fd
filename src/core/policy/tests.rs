mod commands;
mod other_programs;

use proptest::prelude::*;

use super::*;
use other_programs::OTHER_PROGRAMS;

/// A line of the corpus: `w` writes, `r` does not, `?` cannot be judged.
const CORPUS: &[(char, &str)] = &[
    // What it says.
    ('w', "git commit -m 'one'"),
    ('w', "git push"),
    ('w', "git push --force origin main"),
    ('w', "git merge feature"),
    ('w', "git rebase -i HEAD~3"),
    ('w', "git reset --hard"),
    ('w', "git tag v1"),
    ('w', "git tag -d v1"),
    ('w', "git branch -D old"),
    ('w', "git branch new"),
    ('w', "git branch --list -D old"),
    ('w', "git stash"),
    ('w', "git stash pop"),
    ('w', "git checkout -- ."),
    ('w', "git checkout main"),
    ('w', "git switch -c x"),
    ('w', "git restore src"),
    ('w', "git clean -fdx"),
    ('w', "git add -A"),
    ('w', "git worktree add ../x"),
    ('w', "git cherry-pick abc"),
    ('w', "git remote add o url"),
    ('w', "git config user.name x"),
    ('w', "git fetch origin main:main"),
    ('w', "git symbolic-ref HEAD refs/heads/x"),
    ('w', "git reflog expire --all"),
    ('w', "git update-ref refs/heads/main abc"),
    ('w', "gh pr create --fill"),
    ('w', "gh pr merge 5 --squash"),
    ('w', "gh -R o/r pr merge 5"),
    ('w', "gh api -X DELETE repos/o/r/git/refs/heads/x"),
    ('w', "gh api repos/o/r/merges -f base=main"),
    // Where it stands.
    ('w', "git -C x commit"),
    ('w', "git -C 'a b' --no-pager -c user.name=x commit"),
    ('w', "git --git-dir=x/.git --work-tree x commit -a"),
    ('w', "git --git-dir x/.git commit"),
    ('w', "env A=b git commit"),
    ('w', "env -i PATH=/bin git commit"),
    ('w', "A=b C=d git commit"),
    ('w', "sh -c 'git commit'"),
    ('w', "bash -lc \"git commit -m 'x'\""),
    ('w', "bash -euo pipefail -c 'cd x && git push'"),
    ('w', "/bin/sh -c \"sh -c 'git commit'\""),
    ('w', "fish --command='git commit'"),
    ('w', "cargo test && git commit -am x"),
    ('w', "cargo test || git stash"),
    ('w', "git log | head; git push"),
    ('w', "cat msg | git commit -F -"),
    ('w', "(cd x; git commit)"),
    ('w', "( (git commit) )"),
    ('w', "{ git commit; }"),
    ('w', "! git commit"),
    ('w', "if true; then git commit; fi"),
    ('w', "for f in a b; do git add $f; done"),
    ('w', "case x in a) git commit;; esac"),
    ('w', "sleep 1 & git push &"),
    ('w', "ls\ngit commit"),
    ('w', "echo $(git commit)"),
    ('w', "echo \"$(git stash)\""),
    ('w', "echo `git commit`"),
    ('w', "diff <(git log) <(git commit)"),
    ('w', "X=$(git reset --hard)"),
    ('w', "f() { git commit; }"),
    (
        'w',
        "git commit -m \"$(cat <<'EOF'\nIt's (done) `x\nEOF\n)\"",
    ),
    ('w', "cat <<EOF > f\ntext\nEOF\ngit commit"),
    ('w', "cat <<-EOF\n\ttext\n\tEOF\ngit commit"),
    ('w', "ls # list\ngit commit"),
    ('w', "ls 2>&1 >/dev/null && git commit"),
    ('w', "echo $((1<<2))\ngit commit"),
    ('w', "find . -name x -exec git rm {} \\;"),
    ('w', "ls | xargs -n1 git add"),
    ('w', "timeout 5 git push"),
    ('w', "nice -n 5 sudo git commit"),
    ('w', "command git commit"),
    ('w', "eval git commit"),
    ('w', "eval 'git commit'"),
    // How it is written.
    ('w', "/usr/bin/git commit"),
    ('w', "GIT commit"),
    ('w', "git.exe commit"),
    ('w', "\\git commit"),
    ('w', "g''it com\"mi\"t"),
    ('w', "gi\\\nt commit"),
    ('w', "'git' 'commit'"),
    ('w', "=git commit"),
    ('w', "git-commit -m x"),
    ('w', "git -c alias.x=commit x"),
    ('w', "git -c 'alias.x=!git push' x"),
    ('w', "git -c alias.status=log commit"),
    // What only reads.
    ('r', ""),
    ('r', "git"),
    ('r', "git status"),
    ('r', "git log --grep='git commit'"),
    ('r', "git diff HEAD~1 -- 'src/*.rs' | head -50"),
    ('r', "git -C x show HEAD@{1}"),
    ('r', "git -C \"$DIR\" status"),
    ('r', "git branch -a"),
    ('r', "git branch --list 'x*'"),
    ('r', "git branch --show-current"),
    ('r', "git tag -l 'v*'"),
    ('r', "git stash list"),
    ('r', "git remote -v"),
    ('r', "git worktree list"),
    ('r', "git config --get user.name"),
    ('r', "git config user.name"),
    ('r', "git fetch origin"),
    ('r', "git -c core.pager=cat log"),
    ('r', "git -c alias.status=commit status"),
    ('r', "gh pr view 5"),
    ('r', "gh pr list --state open"),
    ('r', "gh api repos/o/r/pulls"),
    ('r', "echo 'git commit'"),
    ('r', "echo git commit"),
    ('r', "grep -rn 'git push' ."),
    ('r', "cat .gitignore .git/HEAD"),
    ('r', "which git"),
    ('r', "command -v git"),
    ('r', "ls # git commit"),
    ('r', "cat <<'EOF'\ngit commit\nEOF"),
    ('r', "cargo test --workspace 2>&1 | tail -5"),
    ('r', "bash scripts/check.sh"),
    ('r', "bash -c 'ls; git status'"),
    ('r', "[ -d x ] && ls *.rs"),
    ('r', "git ls-files | xargs wc -l"),
    ('r', "X=$(git rev-parse HEAD); echo $X"),
    ('r', "find . -name '*.rs' -exec grep x {} \\;"),
    // What the text does not tell.
    ('?', "git x"),
    ('?', "git $SUB"),
    ('?', "git -C $DIR status"),
    ('?', "git {commit,-a}"),
    ('?', "git branch $X"),
    ('w', "git branch \"feature/$X\""),
    ('?', "git -c core.pager='git commit' log"),
    ('?', "git -c core.fsmonitor=./x status"),
    ('?', "GIT_PAGER='git commit' git log"),
    ('?', "git submodule foreach 'git log'"),
    ('?', "$GIT commit"),
    ('?', "$(which git) commit"),
    ('?', "/usr/bin/gi? commit"),
    ('?', "$'git' commit"),
    ('?', "g{it,} commit"),
    ('?', "eval \"$X\""),
    ('?', "sh -c \"$X\""),
    ('?', "bash -c \"ls $X\""),
    ('?', "echo git commit | sh"),
    ('?', "curl x | bash -s"),
    ('?', "bash <<EOF\ngit commit\nEOF"),
    ('?', "bash <<< 'git commit'"),
    ('?', "bash <(echo git commit)"),
    ('?', "source <(echo git commit)"),
    ('?', "echo commit | xargs git"),
    ('?', "echo git commit | xargs -I{} sh -c '{}'"),
    ('?', "echo git commit | parallel"),
    ('?', "alias g='git commit'"),
    ('?', "trap 'git commit' EXIT"),
    ('?', "python3 -c \"import os; os.system('git commit')\""),
    ('?', "node -e \"x('git', ['commit'])\""),
    ('?', "ssh host git commit"),
    ('?', "echo \"$(case x in a) git commit;; esac)\""),
    ('?', "echo x > .git/HEAD"),
    ('?', "rm -rf .git"),
    ('?', "lazygit"),
    ('?', "gh pr $X"),
    ('?', "echo 'open"),
    ('?', "cat <<EOF\nno end"),
    ('w', "((git commit) )"),
    ('?', "((cd x); (ls))"),
    // What a here-document and a here-string run.
    ('w', "cat <<EOF\n$(git commit)\nEOF"),
    ('w', "cat <<-EOF | wc\n\t`git commit`\n\tEOF"),
    ('?', "cat <<EOF\n$($GIT commit)\nEOF"),
    ('r', "cat <<EOF\n$(date) git\nEOF"),
    ('r', "cat <<'EOF'\n$(git commit)\nEOF"),
    ('r', "cat <<EOF\n\\$(git commit) \"it's\"\nEOF"),
    ('?', "python3 - <<'EOF'\nos.system('git commit')\nEOF"),
    ('?', "python3 - <<< \"os.system('git commit')\""),
    ('r', "python3 - <<'EOF'\nprint(1)\nEOF"),
    ('r', "gh issue comment 5 -F - <<'EOF'\nUse git push.\nEOF"),
    ('?', "cat <<EOF\nx\\\nEOF\n'\nEOF\ngit commit\n'"),
    ('?', "cat <<EOF\nEO\\\nF\n'\nEOF\n'; git log"),
    ('w', "(cat <<EOF)\n$(git commit)\nEOF"),
    // A carriage return is a letter, but for the one that ends a line.
    ('w', "echo a \r#; git commit -m x"),
    ('w', "echo a\r\ngit commit\r\nls"),
    ('w', "set -- a; for x do git commit -m x; done"),
    ('w', "for x\ndo git commit; done"),
    ('w', "for x { git commit; }"),
    ('w', "select x do git commit; done"),
    ('r', "for x in do git commit"),
    ('w', "function f { git commit; }"),
    ('w', "coproc C { git commit; }"),
    // What only reads and yet runs what it is told.
    ('r', "git difftool --no-prompt HEAD"),
    ('?', "git difftool -y -x 'git add' HEAD"),
    ('?', "git difftool --extcmd='rm -rf' HEAD"),
    ('?', "git ls-remote --upload-pack='git push' x"),
    ('?', "git fetch --upl='git push' x"),
    ('?', "git grep -nO'git push' x"),
    ('r', "git grep -n x"),
    ('?', "git clone -u ./x y"),
    ('?', "git archive --exec=./x --remote=y HEAD"),
    ('r', "git ls-remote --exit-code origin"),
    // The folder .git, behind a program that runs another one.
    ('?', "env rm -rf .git"),
    ('?', "sudo rm -rf .git"),
    ('?', "timeout 5 rm -f .git/index.lock"),
    ('?', "xargs rm -f .git/index.lock"),
    ('?', "find .git -name '*.lock' -delete"),
    ('?', "find . -name .git -exec rm -rf {} +"),
    ('r', "find .git -name '*.lock'"),
    ('r', "find . -not -path './.git/*' -exec wc -l {} +"),
    ('r', "find . -path ./.git -prune -o -exec wc -l {} +"),
    ('r', "env GIT_DIR=x/.git git log"),
    // Who looks there, and who leaves it out.
    ('r', "sed -n 1p .git/config"),
    ('r', "sed -n '/url/p' .git/config"),
    ('?', "sed -n 'w .git/x' .git/config"),
    ('?', "sed -i s/a/b/ .git/config"),
    ('?', "sed -n -i 1p .git/config"),
    ('r', "less -R .git/config"),
    ('?', "less -o .git/x y"),
    ('r', "wc -c < .git/index"),
    ('r', "rsync -a --exclude .git a b"),
    ('?', "rsync -a --exclude x a .git"),
    ('?', "touch -- --exclude .git/x"),
    ('r', "tar --exclude=.git -cf x .tmp"),
    ('r', "fd -E .git x"),
    // Who goes there, or asks where it is.
    ('?', "cd .git && rm -f index.lock"),
    ('?', "cd .git && echo 'ref: refs/heads/x' > HEAD"),
    ('?', "(cd .git; rm -rf refs)"),
    ('?', "cd x/.git/hooks"),
    ('r', "cd git && make"),
    ('r', "cd x && cat .git/HEAD"),
    ('?', "rm -f \"$(git rev-parse --git-dir)/index.lock\""),
    ('?', "cd \"$(git rev-parse --git-common-dir)\""),
    ('?', "echo x > $(git rev-parse --git-path HEAD)"),
    (
        'r',
        "test -f \"$(git rev-parse --git-dir)/MERGE_HEAD\" && git status",
    ),
    ('r', "git rev-parse --git-dir && make"),
    (
        'r',
        "test -f $(git rev-parse --git-dir)/MERGE_HEAD && echo x; cargo build",
    ),
    (
        'r',
        "cat \"$(git rev-parse --git-dir)/HEAD\" | awk '{print $1}'",
    ),
    ('?', "at=$(git rev-parse --git-dir); rm \"$at/index.lock\""),
    ('r', "cd \"$(git rev-parse --show-toplevel)\" && make"),
    // An option that sorts or shapes makes no list of a new name.
    ('w', "git branch --sort=refname evil"),
    ('w', "git branch --format=x evil"),
    ('w', "git branch --sort refname evil"),
    ('w', "git tag --sort=refname v"),
    ('r', "git branch --sort=-committerdate -a"),
    ('r', "git branch --sort -committerdate"),
    ('r', "git branch --format '%(refname)' --list 'x*'"),
    ('r', "git branch --format='%(refname:short)'"),
    ('r', "git tag --sort=-v:refname -l 'v*'"),
    // What a fetch moves.
    ('w', "git fetch . @:evil"),
    ('w', "git fetch . HEAD:evil@5"),
    ('w', "git fetch . a@b:evil"),
    ('w', "git fetch --depth 1 origin +main:main"),
    ('w', "echo main:evil | git fetch --stdin origin"),
    ('w', "git fetch --set-upstream origin main"),
    ('r', "git fetch git@github.com:o/r main"),
    ('r', "git fetch host:r"),
    ('r', "git fetch --depth 1 git@github.com:o/r main"),
    ('r', "git fetch https://x.org/r main --tags --prune"),
    // A value that looks like a verb, and an option that is shortened or stands with others.
    ('w', "git notes --ref list add -m hi"),
    ('w', "git stash -m list"),
    ('w', "git apply --cach x.patch"),
    ('w', "git apply -v3 x.patch"),
    ('w', "git hash-object -wt blob x"),
    ('w', "git symbolic-ref --del HEAD"),
    ('r', "git apply -p3 -C3 x.patch"),
    ('r', "git notes --ref=x list"),
    ('r', "git remote -v show"),
    ('r', "git stash show -p"),
    ('r', "git reflog -5 --all"),
    // A file that what else only reads writes.
    ('?', "git log --output=.git/HEAD -1"),
    ('?', "git diff --outp .git/HEAD"),
    ('?', "git stash show --output=.git/HEAD"),
    ('?', "git archive -o .git/HEAD HEAD"),
    ('?', "git bundle create .git/index HEAD"),
    ('?', "git format-patch -o .git/hooks -1"),
    ('?', "git -C .git archive -o HEAD HEAD"),
    ('?', "GIT_TRACE=/x/.git/HEAD git log"),
    ('r', "git log --output=x.txt -1"),
    ('r', "git archive -o x.tar HEAD"),
    ('r', "git format-patch -o out -1"),
    ('r', "git -C .git log -1 -- .git"),
    ('r', "git --git-dir=x/.git archive HEAD"),
    ('r', "GIT_TRACE=1 git fetch"),
    ('r', "git clone git@github.com:o/r.git"),
    // In the same word as its option.
    ('?', "env -S'git commit -m x'"),
    ('?', "env -vSgit commit -m x"),
    ('?', "script -qc'git commit -m x' /dev/null"),
    ('?', "fish -c'git commit' x"),
    ('?', "python3 -c \"os.system('env -Sgit commit')\""),
    ('r', "env -i ls --digit 5"),
    // Git only as a name or a text.
    ('r', "cargo test -p app git"),
    ('r', "timeout 60 pytest -k git"),
    (
        'r',
        "mkdir -p src/git && touch src/git/mod.rs && rm -rf src/git out",
    ),
    ('r', "sudo apt-get install -y git curl"),
    ('r', "sed -i 's/git push/git pull/g' docs/a.md"),
    ('r', "sed -n 1,40p src/git"),
    ('r', "time grep -rn 'git push' src"),
    ('r', "git ls-files -z | xargs -0 -n 50 grep -n 'git push'"),
    ('r', "xargs -I{} echo 'git {}'"),
    ('r', "pgrep -fa 'git fetch'; sleep 5; sha256sum .git/index"),
    ('r', "./scripts/git-push.sh"),
    ('?', "sed 's/x/git push/e' f"),
    ('?', "sed 's/a\\/b/git push/e' f"),
    ('?', "xsh -c 'git push;/git'"),
    ('?', "uv run git push"),
    ('?', "cargo test git --lib"),
    ('w', "xargs -a cat git push"),
    ('w', "sudo -u cat git push"),
    ('w', "timeout 5 env A=b git push"),
    ('?', "timeout 5 uv run git push"),
    ('?', "nohup rm -rf .git"),
    ('?', "alias g=git"),
    ('?', "export GIT_PAGER='git push'; git log"),
    ('r', "export GIT_PAGER=cat; git log"),
    ('?', "npm version patch"),
    ('r', "npm version --no-git-tag-version patch; npm version"),
    ('?', "gt submit"),
    // What tells how it is used.
    ('r', "git commit --help; git push -h"),
    ('w', "git commit --help -m x"),
    ('w', "git commit -m -h"),
    ('?', "git x --help"),
    ('r', "gh pr create --help"),
    ('w', "gh pr create --body --help"),
    ('?', "gh x y --help"),
    // Options before what `git config` does.
    ('r', "git config --show-origin --get user.name"),
    ('r', "git config -f .gitmodules --get-regexp path"),
    (
        'r',
        "git config --file=x -z --list; git config --type=bool core.bare",
    ),
    ('w', "git config --file x a.b c"),
    ('w', "git config --default get a.b c"),
    ('w', "git config -z --unset a.b"),
    // Lists with a value.
    ('r', "git branch -a --contains \"$SHA\""),
    ('?', "git branch -a --contains $SHA"),
    ('?', "git branch --list \"$X\""),
    ('r', "git tag -n5; git tag -v v1"),
    ('w', "git tag -v -d v1"),
    ('w', "git branch -v new"),
    // What `gh` sends.
    ('r', "gh api graphql -f query='query { viewer { login } }'"),
    ('w', "gh api graphql -f query='mutation { x }'"),
    ('?', "gh api graphql -F query=@x.graphql"),
    ('?', "gh api graphql -f query=\"$Q\""),
    ('w', "gh auth setup-git"),
    ('r', "gh auth status"),
    // What a variable falls back to.
    ('r', "cd \"${X:-$(git rev-parse --show-toplevel)}\" && make"),
    ('w', "echo ${X:-$(git push)}"),
    ('w', "echo \"${X:-'$(git push)'}\""),
];

fn corpus() -> impl Iterator<Item = &'static (char, &'static str)> {
    CORPUS.iter().chain(OTHER_PROGRAMS)
}

fn sign(command: &str) -> char {
    match git_use(command) {
        GitUse::NoWrite => 'r',
        GitUse::Unclear(_) => '?',
        GitUse::Write(_) => 'w',
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn every_line_of_the_corpus_is_judged_as_it_says() {
    assert!(CORPUS.len() >= 60);
    let wrong: Vec<String> = corpus()
        .filter(|(expected, command)| sign(command) != *expected)
        .map(|(expected, command)| format!("{expected} {command:?}: {:?}", git_use(command)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn another_shell_around_a_line_and_another_line_behind_it_change_nothing() {
    for (expected, command) in corpus() {
        let shell = format!("env A=b bash -lc {}", quoted(command));
        assert_eq!(sign(&shell), *expected, "{shell}");
        let behind = format!("ls\n{command}");
        assert_eq!(sign(&behind), *expected, "{behind}");
    }
}

#[test]
fn a_write_is_named() {
    let named = |command: &str| match git_use(command) {
        GitUse::Write(what) => what,
        other => format!("{other:?}"),
    };
    assert_eq!(named("cd x && git -C y commit -m z"), "git commit");
    assert_eq!(named("gh pr merge 5"), "gh pr merge");
}

#[test]
fn what_is_too_long_or_nests_too_deeply_is_not_judged() {
    assert_eq!(sign(&"x".repeat(COMMAND_BYTES_MAX + 1)), '?');
    for opening in ["$(", "\"$(", "<(", "((", "${", "`\\`"] {
        assert_eq!(sign(&opening.repeat(5_000)), '?', "{opening}");
    }
    // Words that lead to a command are no depth.
    for before in ["! ", "A=b ", "then "] {
        assert_eq!(
            sign(&format!("{}git commit", before.repeat(5_000))),
            'w',
            "{before}"
        );
    }
    assert_eq!(sign(&format!("{}git commit", "env ".repeat(5_000))), '?');
    assert_eq!(sign("(ls"), '?');
}

/// Texts that are likely to hit the reader where it branches.
fn shell_like() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "git", "commit", "log", " ", "\n", "'", "\"", "`", "$", "$(", "(", ")", "((", "${", "}",
        "{", "<<E", "E", "<", ">", "&", "|", ";", "#", "\\", "=", "-c", "sh", "eval", "xargs",
        "case", "$'", "*", "é", "-", "!", "alias.x=",
    ]);
    prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_text_makes_the_reader_fail(text in shell_like(), any in ".{0,80}") {
        git_use(&text);
        git_use(&any);
    }

    #[test]
    fn a_quoted_text_is_only_a_text(text in shell_like()) {
        let text = quoted(&text);
        prop_assert_eq!(sign(&format!("git commit -m {text}")), 'w');
        prop_assert_eq!(sign(&format!("echo {text}")), 'r');
        prop_assert_eq!(sign(&format!("git log --grep={text}")), 'r');
    }

    #[test]
    fn nothing_behind_a_write_hides_it(text in shell_like()) {
        prop_assert_eq!(sign(&format!("git commit\n{text}")), 'w');
    }

    #[test]
    fn every_way_to_quote_a_word_is_the_word(cut in 0_usize..10, sign_at in 0_usize..3) {
        let word = "git commit";
        let letter = &word[cut..=cut];
        let letter = match (letter, sign_at) {
            (" ", _) => " \\\n ".to_owned(),
            (letter, 0) => format!("'{letter}'"),
            (letter, 1) => format!("\"{letter}\""),
            (letter, _) => format!("\\{letter}"),
        };
        let command = format!("{}{letter}{}", &word[..cut], &word[cut + 1..]);
        prop_assert_eq!(sign(&command), 'w', "{}", command);
    }
}
