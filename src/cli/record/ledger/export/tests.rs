//! Hostile records remain text.
use super::*;
use crate::store::blobs::Blobs;

/// What a page or a document must not obey.
const HOSTILE: [&str; 9] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "</pre></article><h1>fake</h1>",
    "\u{202e}gnp.exe \u{2066}hidden\u{2069}",
    "nul \0 esc \u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7} csi \u{9b}2J bell \u{7}",
    "```\n# heading\n````\n<b>html</b>",
    "[click](javascript:alert(1)) ![x](http://evil/x.png) <http://evil> www.evil.example",
    "## 1 · finality_decision · human\n\n---\n| a |\n|---|",
    "&lt;script&gt; &#0; javascript&colon;alert(1)",
];

/// A record whose every text is hostile.
fn record() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session_1795000000000_a1b2c3d4.jsonl");
    let mut lines = String::new();
    for text in HOSTILE {
        lines.push_str(
            &json!({
                "schema": "v1", "id": text, "timestamp": 1_795_000_000_000_i64,
                "sessionId": "s", "type": text, "source": text, "target": text,
                "content": text, text: {"inner": text, "list": [text, text]},
            })
            .to_string(),
        );
        lines.push('\n');
    }
    lines.push_str("null\n");
    lines.push_str(
        &json!({"id": "last", "type": "artifact", "timestamp": i64::MAX, "content": "x",
            "artifact": {"title": "t", "evidence": ["cargo test"]}})
        .to_string(),
    );
    lines.push_str("\n{\"id\":\"torn");
    std::fs::write(&path, lines).unwrap();
    (dir, path)
}

fn all_of<'a>(dirs: &'a ProjectDirs, path: &'a Path) -> Record<'a> {
    Record {
        dirs,
        path,
        session: "session_x",
        reach: RecordReach {
            bytes: u64::MAX,
            foreign_lines: 0,
        },
        foreign_through: Seq(0),
        apart: None,
    }
}

fn export(path: &Path, format: Format, for_terminal: bool) -> String {
    let dirs = ProjectDirs::new(path.parent().unwrap().to_path_buf(), None);
    let mut out = Vec::new();
    let Ok(stats) = write(&all_of(&dirs, path), format, for_terminal, &mut out) else {
        panic!("not written");
    };
    assert_eq!(
        (stats.entries, stats.bad_lines),
        (HOSTILE.len() as u64 + 1, 1)
    );
    String::from_utf8(out).unwrap()
}

fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn html_has_no_markup_but_its_own() {
    let (_dir, path) = record();
    let html = export(&path, Format::Html, false);
    assert!(!html.chars().any(is_obeyed), "what a reader would obey");
    let mut tags: Vec<&str> = html
        .split('<')
        .skip(1)
        .map(|rest| {
            let tag = &rest[..rest.find('>').unwrap()];
            tag.trim_start_matches('/')
                .split([' ', '\n'])
                .next()
                .unwrap()
        })
        .collect();
    tags.sort_unstable();
    tags.dedup();
    assert_eq!(
        tags,
        [
            "!DOCTYPE", "a", "article", "b", "bdi", "body", "dd", "dl", "dt", "footer", "h1", "h2",
            "head", "header", "html", "main", "meta", "p", "pre", "style", "time", "title"
        ]
    );
    // Balanced: no text closed what it stands in.
    for tag in ["article", "pre", "dl", "dd", "bdi", "h2"] {
        let opened =
            html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert_eq!(html.matches("<article").count(), HOSTILE.len() + 1);
    assert!(!html.contains("src=") && !html.contains("url(") && !html.contains("href=\"h"));
    let policy = html.find("Content-Security-Policy").unwrap();
    assert!(policy < html.find("<title>").unwrap());
    assert!(html.contains("default-src 'none'"));
    assert!(html.contains("&lt;U+202E&gt;gnp.exe"));
    assert!(html.contains("1 line of the file is no entry"));
}

#[test]
fn markdown_has_no_structure_but_its_own() {
    let (_dir, path) = record();
    let text = export(&path, Format::Md, false);
    assert!(!text.chars().any(is_obeyed));
    // Outside of fences there are our headings, and lines whose punctuation is escaped.
    let mut fence: Option<String> = None;
    let mut headings = 0;
    for line in text.lines() {
        if let Some(open) = &fence {
            if line.trim_end() == open {
                fence = None;
            }
            continue;
        }
        if let Some(ticks) = line
            .strip_suffix("text")
            .filter(|line| line.starts_with("```"))
        {
            fence = Some(ticks.to_owned());
            continue;
        }
        headings += usize::from(line.starts_with("## "));
        let mut before = ' ';
        for c in line.chars() {
            assert!(
                !matches!(c, '<' | '[' | ']' | '`' | '|' | '@' | '*' | '_') || before == '\\',
                "{line}"
            );
            before = if before == '\\' { ' ' } else { c };
        }
        assert!(!line.contains("www.") && !line.contains("://"), "{line}");
    }
    assert_eq!(fence, None, "every fence is closed");
    assert_eq!(headings, HOSTILE.len() + 1);
}

#[test]
fn lines_are_copied_byte_for_byte_and_the_torn_one_is_left_out() {
    let (_dir, path) = record();
    let file = std::fs::read_to_string(&path).unwrap();
    let whole = file.rsplit_once('\n').unwrap().0;
    assert_eq!(export(&path, Format::Jsonl, false), format!("{whole}\n"));
    let printed = export(&path, Format::Jsonl, true);
    assert!(!printed.chars().any(is_obeyed));
    let values = |text: &str| -> Vec<serde_json::Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .filter(|value: &serde_json::Value| !value.is_null())
            .collect()
    };
    assert_eq!(values(&printed), values(whole));
}

#[test]
fn a_long_last_piece_without_a_line_end_is_left_out_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    std::fs::write(&path, format!("one\n{}", "x".repeat(700_000))).unwrap();
    let mut out = Vec::new();
    let found = |out: &mut Vec<u8>| match jsonl::write(&path, u64::MAX, false, out) {
        Ok(stats) => (stats.entries, stats.bad_lines),
        Err(_) => panic!("not written"),
    };
    assert_eq!(found(&mut out), (0, 1));
    assert_eq!(out, b"one\n");
    std::fs::write(&path, "").unwrap();
    out.clear();
    assert_eq!(found(&mut out), (0, 0));
    assert!(out.is_empty());
}

/// A record in its project: one text that is too long for its line, and whose whole is kept.
fn long_record() -> (tempfile::TempDir, ProjectDirs, PathBuf, String) {
    let dir = tempfile::tempdir().unwrap();
    let dirs = ProjectDirs::new(dir.path().to_path_buf(), None);
    dirs.create().unwrap();
    let text = format!("{}\n<the end> of it", "a line of it\n".repeat(2_000));
    let cut = crate::core::whole::cut(&text).unwrap();
    let path = dirs.sessions().join("session_1795000000000_a1b2c3d4.jsonl");
    let sha256 = Blobs::of_ledger(&path).put(&text).unwrap();
    let line = json!({
        "schema": "v1", "id": "long", "timestamp": 1_795_000_000_000_i64,
        // Where it says to be from leads nowhere.
        "sessionId": "../../elsewhere/x", "type": "note", "source": "claude",
        "content": cut.content, "meta": {"truncated": true},
        "whole": {"sha256": sha256, "units": cut.units},
    });
    std::fs::write(&path, format!("{line}\n")).unwrap();
    (dir, dirs, path, text)
}

fn exported(dirs: &ProjectDirs, path: &Path, format: Format) -> String {
    let mut out = Vec::new();
    let written = write(&all_of(dirs, path), format, false, &mut out);
    assert!(written.is_ok_and(|stats| stats.entries == 1));
    String::from_utf8(out).unwrap()
}

#[test]
fn a_text_that_was_cut_for_its_line_is_exported_whole() {
    let (_dir, dirs, path, text) = long_record();
    let md = exported(&dirs, &path, Format::Md);
    assert!(md.contains(&text), "all of it, in its fence");
    let html = exported(&dirs, &path, Format::Html);
    assert!(html.contains("&lt;the end&gt; of it"));
    for export in [&md, &html] {
        assert_eq!(export.matches("a line of it").count(), 2_000);
        assert!(!export.contains("TRUNCATED") && !export.contains("remark"));
    }
    // The line stays the line.
    let file = std::fs::read_to_string(&path).unwrap();
    assert_eq!(exported(&dirs, &path, Format::Jsonl), file);
}

#[test]
fn where_the_whole_text_is_gone_the_beginning_is_exported_and_it_is_said() {
    let (_dir, dirs, path, text) = long_record();
    let blobs = dirs.relay.join("blobs");
    for (altered, why) in [
        (true, "it was altered"),
        (false, "it is not there any more"),
    ] {
        for blob in std::fs::read_dir(&blobs).unwrap() {
            let blob = blob.unwrap().path();
            if altered {
                std::fs::write(blob, "another text").unwrap();
            } else {
                std::fs::remove_file(blob).unwrap();
            }
        }
        for format in [Format::Md, Format::Html] {
            let export = exported(&dirs, &path, format);
            assert!(export.contains("remark") && export.contains(why), "{why}");
            assert!(export.contains("TRUNCATED") && !export.contains("the end"));
            assert!(export.contains(&text.len().to_string()), "how long it was");
        }
    }
}
