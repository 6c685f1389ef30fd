//! [`CheckFile`]: a file that decides the result of a gate.
//!
//! `npm test` stays the command that the operator trusts even if `package.json` changes. Such files
//! are recognised by well-known names; other files that a project's own checks read are not known.

use crate::path_glob::glob_matches;

/// What makes a file one of the checks, the one that decides most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckFile {
    /// What a build tool or a test runner reads, lock files among it.
    Manifest,
    /// What runs elsewhere or around a commit.
    Ci,
    /// A test, or what one compares with.
    Test,
}

/// Names of manifests, in lower case.
const MANIFESTS: [&str; 82] = [
    // JavaScript
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lockb",
    ".npmrc",
    ".yarnrc*",
    ".pnpmfile.*",
    "deno.json*",
    "lerna.json",
    "nx.json",
    "turbo.json",
    "tsconfig*.json",
    "*.config.js",
    "*.config.cjs",
    "*.config.mjs",
    "*.config.ts",
    "*.config.mts",
    "*.config.json",
    "karma.conf.*",
    ".mocharc*",
    ".babelrc*",
    ".eslintrc*",
    "biome.json*",
    // Rust
    "cargo.toml",
    "build.rs",
    "rust-toolchain*",
    "clippy.toml",
    ".clippy.toml",
    "nextest.toml",
    // Python
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "*requirements*.txt",
    "pipfile",
    "tox.ini",
    "pytest.ini",
    "conftest.py",
    "noxfile.py",
    "mypy.ini",
    ".coveragerc",
    // Go
    "go.mod",
    "go.sum",
    "go.work*",
    // Make and the like
    "makefile*",
    "gnumakefile",
    "*.mk",
    "justfile",
    ".justfile",
    "taskfile.y*ml",
    "cmakelists.txt",
    "*.cmake",
    "meson.build",
    "build",
    "*.bazel",
    "*.bzl",
    ".bazelrc",
    // Ruby, PHP, JVM, .NET, Elixir, Swift
    "rakefile",
    "gemfile",
    "*.gemspec",
    ".rspec",
    "composer.json",
    "phpunit.xml*",
    "pom.xml",
    "*.gradle",
    "*.gradle.kts",
    "gradle*.properties",
    "gradlew*",
    "mvnw*",
    "*.csproj",
    "*.fsproj",
    "*.sln",
    "directory.build.*",
    "mix.exs",
    "package.swift",
    // Any
    "*.lock",
    "dockerfile*",
    "*compose*.y*ml",
    // What git makes of the files.
    ".gitattributes",
    ".gitmodules",
    "flake.nix",
];

/// Names of what runs elsewhere, in lower case.
const CI: [&str; 9] = [
    ".gitlab-ci.y*ml",
    ".travis.yml",
    "jenkinsfile*",
    "azure-pipelines*.y*ml",
    ".drone.y*ml",
    "appveyor.y*ml",
    "bitbucket-pipelines.yml",
    ".pre-commit-config.yaml",
    "lefthook.y*ml",
];

/// Folders of what runs elsewhere.
const CI_FOLDERS: [&str; 7] = [
    ".github",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".husky",
    ".ci",
    "ci",
];

/// Names of tests, in lower case.
const TESTS: [&str; 11] = [
    "test_*.py",
    "*_test.*",
    "*_tests.*",
    "*_spec.*",
    "*.test.*",
    "*.spec.*",
    "*test.java",
    "*test.kt",
    "*tests.cs",
    "tests.rs",
    "*.snap",
];

/// Folders of tests and of what they compare with.
const TEST_FOLDERS: [&str; 10] = [
    "test",
    "tests",
    "__tests__",
    "__snapshots__",
    "spec",
    "specs",
    "e2e",
    "testdata",
    "testing",
    "fixtures",
];

impl CheckFile {
    /// What a path is, with `/` between its parts; `None` for any other file.
    pub fn of(path: &str) -> Option<Self> {
        let path = path.to_lowercase();
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let is_named = |globs: &[&str]| globs.iter().any(|glob| glob_matches(glob, name));
        let is_in = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        if is_named(&MANIFESTS) || is_in(&[".cargo"]) {
            Some(Self::Manifest)
        } else if is_named(&CI) || is_in(&CI_FOLDERS) {
            Some(Self::Ci)
        } else if is_named(&TESTS) || is_in(&TEST_FOLDERS) {
            Some(Self::Test)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_what_a_gate_comes_to_is_known_by_its_name() {
        for path in [
            "package.json",
            "web/package-lock.json",
            "yarn.lock",
            "vitest.config.ts",
            "Cargo.toml",
            "crates/a/build.rs",
            ".cargo/config.toml",
            "pyproject.toml",
            "dev-requirements.txt",
            "tests/conftest.py",
            "Makefile",
            "tests/Cargo.lock",
            ":/other/go.sum",
        ] {
            assert_eq!(CheckFile::of(path), Some(CheckFile::Manifest), "{path}");
        }
        for path in [".github/workflows/ci.yml", "Jenkinsfile", ".ci/run"] {
            assert_eq!(CheckFile::of(path), Some(CheckFile::Ci), "{path}");
        }
        for path in [
            "tests/it/main.rs",
            "src/Tests/a.cs",
            "web/__tests__/a.js",
            "pkg/a_test.go",
            "src/a.spec.ts",
            "src/daemon/tests.rs",
            "ui/tests/snapshots/a.snap",
        ] {
            assert_eq!(CheckFile::of(path), Some(CheckFile::Test), "{path}");
        }
        for path in [
            "src/main.rs",
            "README.md",
            "latest/news.md",
            "src/contest.rs",
            "",
        ] {
            assert_eq!(CheckFile::of(path), None, "{path}");
        }
    }
}
