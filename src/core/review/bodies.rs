//! Comments in the forms of known reviewers: the body, its words, its severity and the evidence for
//! it.

pub const BODIES: &[(&str, &str, &str)] = &[
    // Greptile
    (
        "<a href=\"#\"><img alt=\"P0\" src=\"https://x.y/p0.svg\"></a> **Key leaks**\nIt is logged.",
        "**Key leaks**\nIt is logged.",
        "critical badge",
    ),
    (
        "<img alt=\"P1\" src=\"x\"> Loop never ends",
        "Loop never ends",
        "high badge",
    ),
    (
        "<img src=\"x\" alt=\"P2\" align=\"top\"> Name",
        "Name",
        "medium badge",
    ),
    ("<img src='x' alt='P3'/> Typo", "Typo", "low badge"),
    (
        "<picture><source srcset=\"a\"><img alt=\"Fix\" src=\"b\"></picture>Race here",
        "Race here",
        "- none",
    ),
    (
        "Race here\n\n<a href=\"https://app.x/ide?prompt=Fix%20it\">Fix in Cursor</a>",
        "Race here",
        "- none",
    ),
    (
        "Race\n\n<a href=\"u\">Fix in Cursor</a>&nbsp;<a href=\"v\">Fix in Claude Code</a>",
        "Race",
        "- none",
    ),
    (
        "Race\n<details><summary>Prompt To Fix With AI</summary>\n\n`````markdown\nThis is a comment\n`````\n</details>\nEnd",
        "Race\n\nEnd",
        "- none",
    ),
    (
        "Race\n<details open><summary>Fix with AI</summary>do it</details>",
        "Race",
        "- none",
    ),
    (
        "**logic:** `a <b> c` stays",
        "**logic:** `a <b> c` stays",
        "- none",
    ),
    (
        "<h3>Greptile Summary</h3>\nGood.",
        "Greptile Summary\n\nGood.",
        "- none",
    ),
    (
        "style: unused import\n```suggestion\nuse a;\n```",
        "style: unused import",
        "- none",
    ),
    ("<sub>1 file reviewed</sub>", "1 file reviewed", "- none"),
    ("<img alt=\"Greptile\" src=\"x\"> Text", "Text", "- none"),
    (
        "<img alt=\"P1\" src=\"x\"> P0 is what the text says",
        "P0 is what the text says",
        "high badge",
    ),
    (
        "[![Fix in Cursor](x)](https://y?q=%20)\nWords",
        "Words",
        "- none",
    ),
    // Codex
    (
        "**<sub><sub>![P1 Badge](https://img.shields.io/badge/P1-orange?style=flat)</sub></sub>  Check the bound**\n\nIt may be 0.",
        "**Check the bound**\n\nIt may be 0.",
        "high badge",
    ),
    (
        "**<sub><sub>![P0 Badge](x)</sub></sub>  A**",
        "**A**",
        "critical badge",
    ),
    (
        "**<sub><sub>![P2 Badge](x)</sub></sub>  B**\n\nUseful? React with 👍 / 👎.",
        "**B**",
        "medium badge",
    ),
    ("![P3 Badge](x) C", "C", "low badge"),
    (
        "[P1] Hold the lock — src/a.rs:3",
        "[P1] Hold the lock — src/a.rs:3",
        "high token",
    ),
    ("[P2] Say so", "[P2] Say so", "medium token"),
    (
        "- [P0] Do not delete",
        "- [P0] Do not delete",
        "critical token",
    ),
    ("P3: spelling", "P3: spelling", "low token"),
    ("**P1** bound", "**P1** bound", "high token"),
    ("(P2) bound", "(P2) bound", "medium token"),
    ("The `P1` pin", "The `P1` pin", "- none"),
    (
        "P10 is a pin, P1_x a name, xP1 too",
        "P10 is a pin, P1_x a name, xP1 too",
        "- none",
    ),
    ("p1 in small letters", "p1 in small letters", "- none"),
    ("```\nP1\n```", "```\nP1\n```", "- none"),
    ("About P1.", "About P1.", "high token"),
    ("See file P1.rs", "See file P1.rs", "- none"),
    // Cursor
    (
        "### Bug: it fails\n\n**High Severity**\n\n<!-- DESCRIPTION START -->\nIt does.\n<!-- DESCRIPTION END -->",
        "### Bug: it fails\n\n**High Severity**\n\nIt does.",
        "high word",
    ),
    (
        "**Medium Severity**\nText",
        "**Medium Severity**\nText",
        "medium word",
    ),
    ("**Low Severity**", "**Low Severity**", "low word"),
    (
        "_Critical Severity_",
        "_Critical Severity_",
        "critical word",
    ),
    (
        "<!-- LOCATIONS START\nsrc/a.rs#L1-L2\nLOCATIONS END -->\nWords",
        "Words",
        "- none",
    ),
    (
        "Words <!-- never closed\nP1",
        "Words <!-- never closed\nP1",
        "high token",
    ),
    ("Words\n<!-- never closed\nP1", "Words", "- none"),
    (
        "Do not leave <!-- open\n\n**Low:** see\n\n<!-- an end -->",
        "Do not leave <!-- open\n\n**Low:** see",
        "low word",
    ),
    (
        "A `<!--` and <!-- more\n\n![P1 Badge](x) No bound",
        "A `<!--` and <!-- more\n\nNo bound",
        "high badge",
    ),
    (
        "Words <!-- over\ntwo lines --> go on",
        "Words  go on",
        "- none",
    ),
    ("Words <!--> go on", "Words  go on", "- none"),
    (
        "Words\n\n[Fix in Cursor](https://cursor.com/open?data=a%20b) [Fix in Web](https://c.d?e=%41)",
        "Words",
        "- none",
    ),
    ("Words\n\nFix in Cursor • Fix in Web", "Words", "- none"),
    (
        "Fix in place is not a button",
        "Fix in place is not a button",
        "- none",
    ),
    (
        "Fix in Cursor the way it moves",
        "Fix in Cursor the way it moves",
        "- none",
    ),
    // CodeRabbit
    (
        "_⚠️ Potential issue_ | _🔴 Critical_\n\n**Validate the path.**",
        "_⚠️ Potential issue_ | _🔴 Critical_\n\n**Validate the path.**",
        "critical word",
    ),
    (
        "_🛠️ Refactor suggestion_ | _🔵 Low_",
        "_🛠️ Refactor suggestion_ | _🔵 Low_",
        "low word",
    ),
    (
        "_⚠️ Potential issue_ | _🟠 Major_",
        "_⚠️ Potential issue_ | _🟠 Major_",
        "high word",
    ),
    (
        "_⚠️ Potential issue_ | _🟡 Minor_ | _⚡ Quick win_",
        "_⚠️ Potential issue_ | _🟡 Minor_ | _⚡ Quick win_",
        "medium word",
    ),
    (
        "_🧹 Nitpick_ | _🔵 Trivial_",
        "_🧹 Nitpick_ | _🔵 Trivial_",
        "low word",
    ),
    (
        "| Major | Minor |\n\n_Major_",
        "| Major | Minor |\n\n_Major_",
        "- none",
    ),
    // Tables
    (
        "| Way | Cost |\n| --- | --- |\n| map | High |\n| list | Low |",
        "| Way | Cost |\n| --- | --- |\n| map | High |\n| list | Low |",
        "- none",
    ),
    (
        "Lookup | Risk\n--- | ---\nlist | **Critical**",
        "Lookup | Risk\n--- | ---\nlist | **Critical**",
        "- none",
    ),
    (
        "| Area | Severity |\n| --- | --- |\n| parser | **High** |",
        "| Area | Severity |\n| --- | --- |\n| parser | **High** |",
        "high word",
    ),
    (
        "| Priority |\n| :-: |\n| Low |",
        "| Priority |\n| :-: |\n| Low |",
        "low word",
    ),
    (
        "| Area | Severity |\n| --- | --- |\n\n| map | High |",
        "| Area | Severity |\n| --- | --- |\n\n| map | High |",
        "- none",
    ),
    (
        "| File | a.rs |\n| **Severity** | Medium |",
        "| File | a.rs |\n| **Severity** | Medium |",
        "medium word",
    ),
    ("| High |", "| High |", "high word"),
    ("**| High |**", "**| High |**", "high word"),
    ("- | High |", "- | High |", "high word"),
    ("High |", "High |", "high word"),
    (
        "| Way | Cost |\n| --- | --- |\n| ✅ | High |\n| — | Critical |",
        "| Way | Cost |\n| --- | --- |\n| ✅ | High |\n| — | Critical |",
        "- none",
    ),
    (
        "| Way | Input | Cost |\n| --- | --- | --- |\n| map | small | none |\n| | | High |",
        "| Way | Input | Cost |\n| --- | --- | --- |\n| map | small | none |\n| | | High |",
        "- none",
    ),
    (
        "| Cost | Sure |\n| --- | --- |\n| Critical | |\n| High | ❌ |",
        "| Cost | Sure |\n| --- | --- |\n| Critical | |\n| High | ❌ |",
        "- none",
    ),
    (
        "Way | Cost\n--- | ---\n✅ | High\n`map` | Critical",
        "Way | Cost\n--- | ---\n✅ | High\n`map` | Critical",
        "- none",
    ),
    (
        "| Sure | Severity |\n| --- | --- |\n| ✅ | High |",
        "| Sure | Severity |\n| --- | --- |\n| ✅ | High |",
        "high word",
    ),
    (
        "A\n<details>\n<summary>🤖 Prompt for AI Agents</summary>\n\n```\nIn src/a.rs </details> do\n```\n\n</details>\nB",
        "A\n\nB",
        "- none",
    ),
    (
        "A\n<details>\n<summary>📝 Committable suggestion</summary>\n\n```suggestion\nlet a = 1;\n```\n\n</details>",
        "A\n\n📝 Committable suggestion",
        "- none",
    ),
    (
        "A\n<details>\n<summary>🧰 Tools</summary>\n\n12-12: unused\n\n</details>",
        "A\n\n🧰 Tools\n\n12-12: unused",
        "- none",
    ),
    (
        "A\n<!-- This is an auto-generated comment by CodeRabbit -->",
        "A",
        "- none",
    ),
    (
        "A\n<!-- fingerprinting:phantom -->\n<!-- This -->\nB",
        "A\n\nB",
        "- none",
    ),
    (
        "<details><summary>Prompt for AI agents</summary><details>x</details>y</details>Z",
        "Z",
        "- none",
    ),
    (
        "<details><summary>Prompt for AI agents</summary>never closed",
        "",
        "- none",
    ),
    (
        "```diff\n-<a>\n+<b>\n```",
        "```diff\n-<a>\n+<b>\n```",
        "- none",
    ),
    (
        "~~~rust\nlet a: Vec<img> = v;\n~~~",
        "~~~rust\nlet a: Vec<img> = v;\n~~~",
        "- none",
    ),
    ("```\nnever closed <b>", "```\nnever closed <b>", "- none"),
    (
        "1. Use this:\n\n    ```html\n    <div><b>x</b></div>\n    ```\n\n   P1 <b>now</b>",
        "1. Use this:\n\n    ```html\n    <div><b>x</b></div>\n    ```\n\n   P1 now",
        "high token",
    ),
    (
        "- ```html\n  <p>P1</p>\n  ```\n- <b>b</b>",
        "- ```html\n  <p>P1</p>\n  ```\n- b",
        "- none",
    ),
    (
        "> ```html\n> <p>hi</p>\n>\n><i>P1</i>\n> ```\n> <p>so</p>",
        "> ```html\n> <p>hi</p>\n>\n><i>P1</i>\n> ```\n>\nso",
        "- none",
    ),
    (
        "> ```\n> <b>never closed</b>\n\n<b>P1</b>",
        "> ```\n> <b>never closed</b>\n\nP1",
        "high token",
    ),
    (
        "- ~~~\n  <b>x</b>\nwords <b>y</b>",
        "- ~~~\n  <b>x</b>\nwords y",
        "- none",
    ),
    // Copilot
    ("[nitpick] Rename `x`.", "[nitpick] Rename `x`.", "- none"),
    (
        "Missing test.\n```suggestion\nassert!(a);\n```\n",
        "Missing test.",
        "- none",
    ),
    (
        "The function returns Option<String>, not Result<T, E>.",
        "The function returns Option<String>, not Result<T, E>.",
        "- none",
    ),
    (
        "Copilot uses AI. Check for mistakes.",
        "Copilot uses AI. Check for mistakes.",
        "- none",
    ),
    (
        "Severity: High\nNo bound.",
        "Severity: High\nNo bound.",
        "high word",
    ),
    (
        "**Severity**: critical",
        "**Severity**: critical",
        "critical word",
    ),
    ("Priority: low", "Priority: low", "low word"),
    ("Severity (medium)", "Severity (medium)", "medium word"),
    // People
    (
        "This has low overhead and high value.",
        "This has low overhead and high value.",
        "- none",
    ),
    (
        "High priority threads starve.",
        "High priority threads starve.",
        "- none",
    ),
    ("Low: rename this.", "Low: rename this.", "low word"),
    (
        "**Critical:** data loss",
        "**Critical:** data loss",
        "critical word",
    ),
    ("[high] no bound", "[high] no bound", "high word"),
    (
        "**Low** latency matters",
        "**Low** latency matters",
        "- none",
    ),
    (
        "The severity high is wrong",
        "The severity high is wrong",
        "- none",
    ),
    (
        "It is critical that this holds",
        "It is critical that this holds",
        "- none",
    ),
    ("medium", "medium", "medium word"),
    ("a < b && c > d", "a < b && c > d", "- none"),
    (
        "see https://a.b/c?d=e and https://a.b/c?d=%20e",
        "see https://a.b/c?d=e and https://a.b/c",
        "- none",
    ),
    (
        "see [the RFC](https://a.b/c \"title\")",
        "see [the RFC](https://a.b/c)",
        "- none",
    ),
    (
        "see [a](https://a.b/(c)) and [0] and f(x)[1]",
        "see [a](https://a.b/(c)) and [0] and f(x)[1]",
        "- none",
    ),
    (
        "call handlers[i](lhs, rhs) and see [b](https://a.b/c 'so') and [c](<d e> (f))",
        "call handlers[i](lhs, rhs) and see [b](https://a.b/c) and [c](<d e>)",
        "- none",
    ),
    (
        "![a picture](of that, and this) is gone",
        "is gone",
        "- none",
    ),
    (
        "![high contrast](shot.png) looks odd",
        "looks odd",
        "- none",
    ),
    ("![screenshot](a.png)", "", "- none"),
    ("one\n\n\n\ntwo  \nthree", "one\n\ntwo\nthree", "- none"),
    ("bell\u{7} and \u{1b}[31mred", "bell and [31mred", "- none"),
    ("a &lt;b&gt; &amp; &quot;c&quot;", "a <b> & \"c\"", "- none"),
    ("", "", "- none"),
    ("LGTM!", "LGTM!", "- none"),
    (
        "> quoted\n\nno, see above",
        "> quoted\n\nno, see above",
        "- none",
    ),
    ("un`closed <b>bold</b>", "un`closed bold", "- none"),
    (
        "<b>half a tag <img alt=\"P1\"",
        "half a tag <img alt=\"P1\"",
        "high token",
    ),
    ("``a ` <b>`` stays", "``a ` <b>`` stays", "- none"),
];
