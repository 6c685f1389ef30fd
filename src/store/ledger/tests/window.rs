//! The rows of a timeline around any place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Open, Project};
use ctxrelay_core::agent::{Agent, Party};
use ctxrelay_core::entry::DeliveryResult;
use ctxrelay_core::row_class::{RowKind, RowResult};
use ctxrelay_core::wire::window::{
    RecordMark, RowQuery, WindowPage, WindowParams, WindowPlace, WindowRow,
};

/// What a line of the record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Message,
    Mine,
    Note,
    Decision,
    Failed,
    Step,
    News,
    Finding,
    Bad,
}

impl Line {
    fn is_machine(self) -> bool {
        matches!(self, Self::Step | Self::News)
    }

    /// Whether the two, next to each other, stand as one.
    fn folds_with(self, other: Self) -> bool {
        let finding = Self::Finding;
        self.is_machine() && other.is_machine() || self == finding && other == finding
    }

    fn is_landmark(self) -> bool {
        matches!(self, Self::Mine | Self::Decision | Self::Failed)
    }
}

fn json_of(line: Line, number: usize) -> Value {
    let event = |kind: &str, status: &str| {
        json!({"type": "runtime_event", "source": "system", "target": "codex", "content": "",
            "runtimeEvent": {"kind": kind, "status": status, "event": status,
                "messageId": "e1", "to": "codex"}})
    };
    let mut value = match line {
        Line::Message => json!({"type": "message", "source": "claude", "target": "codex",
            "content": "text"}),
        Line::Mine => json!({"type": "message", "source": "human", "target": "claude",
            "content": "text"}),
        Line::Note => json!({"type": "note", "source": "codex", "content": "text"}),
        Line::Decision => json!({"type": "note", "source": "codex", "content": "text",
            "noteKind": "decision", "note": {"kind": "decision"}}),
        Line::Failed => json!({"type": "error", "source": "system", "content": "text",
            "error": {"code": "x"}}),
        Line::Step => event("message_delivery", "confirmed"),
        Line::News => event("lifecycle", "daemon_started"),
        Line::Finding => json!({"type": "artifact", "source": "system", "content": "text",
            "artifact": {"kind": "review_finding", "finding": "gh:rc:1", "step": "gone"}}),
        Line::Bad => return Value::Null,
    };
    value["schema"] = "v1".into();
    value["id"] = format!("e{number}").into();
    value["timestamp"] = (1_000 * number).into();
    value["sessionId"] = "s".into();
    value
}

/// A record as ContextRelay 3 wrote it: without numbers, and with lines that are none.
fn record(lines: &[Line]) -> (Project, Open) {
    let project = Project::new();
    let mut text = String::new();
    for (line, number) in lines.iter().zip(1..) {
        writeln!(text, "{}", json_of(*line, number)).unwrap();
    }
    project.write(text.as_bytes());
    let open = project.open();
    (project, open)
}

fn ask(open: &Open, params: &WindowParams) -> WindowPage {
    open.ledger.window(params, &BTreeSet::new()).unwrap()
}

/// Rows as first and last line.
type Rows = Vec<(u64, u64)>;

fn spans(page: &WindowPage) -> Rows {
    let rows = page.rows.iter();
    rows.map(|row| (row.first(), row.last())).collect()
}

/// What all rows together have to be, line by line.
fn expected(lines: &[Line], query: &RowQuery, unfolded: &[u64]) -> Rows {
    let mut rows: Rows = Vec::new();
    let mut before: Option<Line> = None;
    let mut is_open = false;
    for (line, number) in lines.iter().copied().zip(1_u64..) {
        let joins = match line {
            Line::Bad => {
                if !query.takes_bad_lines() {
                    continue;
                }
                before == Some(Line::Bad)
            }
            _ => before.is_some_and(|before| line.folds_with(before)),
        };
        let folds = line.folds_with(line);
        if folds && !joins {
            is_open = unfolded.contains(&number);
        }
        before = Some(line);
        let kind = match line {
            Line::Message | Line::Mine => RowKind::Message,
            Line::Note | Line::Decision => RowKind::Note,
            Line::Failed => RowKind::Error,
            Line::Finding => RowKind::Artifact,
            _ => RowKind::System,
        };
        let is_wanted = query.kinds.is_empty() || query.kinds.contains(&kind);
        if line != Line::Bad && !is_wanted {
            continue;
        }
        match rows.last_mut().filter(|_| joins && !(is_open && folds)) {
            Some(last) => last.1 = number,
            None => rows.push((number, number)),
        }
    }
    rows
}

/// All rows, page by page.
fn walked(open: &Open, params: &WindowParams, ascending: bool) -> Rows {
    let mut rows: Rows = Vec::new();
    let mut place = if ascending {
        WindowPlace::Oldest
    } else {
        WindowPlace::Newest
    };
    loop {
        let page = ask(
            open,
            &WindowParams {
                place,
                ..params.clone()
            },
        );
        let new = spans(&page);
        if ascending {
            rows.extend(new);
        } else {
            rows.splice(0..0, new);
        }
        let more = if ascending {
            page.has_newer
        } else {
            page.has_older
        };
        if !more {
            return rows;
        }
        place = match (ascending, rows.first(), rows.last()) {
            (true, _, Some(last)) => WindowPlace::After(last.1),
            (false, Some(first), _) => WindowPlace::Before(first.0),
            _ => panic!("more, and no row"),
        };
    }
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let one = prop_oneof![
        3 => Just(Line::Message),
        1 => Just(Line::Mine),
        2 => Just(Line::Note),
        1 => Just(Line::Decision),
        1 => Just(Line::Failed),
        6 => Just(Line::Step),
        2 => Just(Line::News),
        6 => Just(Line::Finding),
        1 => Just(Line::Bad),
    ];
    prop::collection::vec(one, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_both_ways_and_around_each_line_are_the_same_rows(
        lines in lines(),
        limit in 1u32..9,
        kinds in prop::sample::select(vec![
            vec![], vec![RowKind::System], vec![RowKind::Note], vec![RowKind::Message, RowKind::Error],
            vec![RowKind::Artifact], vec![RowKind::Artifact, RowKind::System],
        ]),
        open_some in any::<bool>(),
    ) {
        // The last line has to be an entry: what stands behind it is set aside.
        let mut lines = lines;
        lines.push(Line::Note);
        let (_project, open) = record(&lines);
        let query = RowQuery { kinds, ..RowQuery::default() };
        let unfolded: Vec<u64> = if open_some { (1..=80).step_by(2).collect() } else { Vec::new() };
        let rows = expected(&lines, &query, &unfolded);
        let params = WindowParams { limit, query, unfolded, ..WindowParams::default() };
        prop_assert_eq!(&walked(&open, &params, true), &rows);
        prop_assert_eq!(&walked(&open, &params, false), &rows);
        for line in 1..=lines.len() as u64 {
            let page = ask(&open, &WindowParams { place: WindowPlace::Line(line), ..params.clone() });
            let around = spans(&page);
            let is_part = around.is_empty() && rows.is_empty()
                || rows.windows(around.len().max(1)).any(|part| part == around);
            prop_assert!(is_part, "{line}: {around:?} of {rows:?}");
            let holds = |rows: &Rows| rows.iter().any(|(first, last)| (*first..=*last).contains(&line));
            prop_assert_eq!(holds(&around), holds(&rows), "{}", line);
            for ascending in [true, false] {
                let place = if ascending {
                    WindowPlace::LandmarkAfter(line)
                } else {
                    WindowPlace::LandmarkBefore(line)
                };
                let page = ask(&open, &WindowParams {
                    place, query: RowQuery::default(), ..params.clone()
                });
                let mut numbered = lines.iter().zip(1_u64..).filter(|(kind, _)| kind.is_landmark());
                let next = if ascending {
                    numbered.find(|(_, number)| *number > line)
                } else {
                    numbered.filter(|(_, number)| *number < line).last()
                };
                prop_assert_eq!(page.at, next.map(|(_, number)| number));
            }
        }
    }
}

#[test]
fn a_moment_is_found_also_where_the_clock_went_back() {
    let project = Project::new();
    let mut text = String::new();
    for (at, number) in [1_000, 2_000, 9_000, 3_000, 4_000].into_iter().zip(1..) {
        let mut value = json_of(Line::Note, number);
        value["timestamp"] = at.into();
        writeln!(text, "{value}").unwrap();
    }
    project.write(text.as_bytes());
    let open = project.open();
    let line_at = |at_ms| {
        let place = WindowPlace::Time(at_ms);
        ask(
            &open,
            &WindowParams {
                place,
                ..WindowParams::default()
            },
        )
        .at
    };
    let asked = [0, 1_000, 1_500, 2_500, 4_000, 5_000, 10_000];
    let found = [1, 1, 2, 4, 5, 3, 3];
    assert_eq!(asked.map(line_at), found.map(Some));
}

#[test]
fn what_belongs_to_a_party_a_result_or_a_time_is_found_without_the_rest() {
    let lines = [
        Line::Message,
        Line::Step,
        Line::Mine,
        Line::Failed,
        Line::Note,
        Line::News,
    ];
    let (_project, open) = record(&lines);
    let rows = |query: RowQuery, waiting: &[u64]| {
        let params = WindowParams {
            query,
            ..WindowParams::default()
        };
        let waiting = waiting.iter().copied().collect();
        spans(&open.ledger.window(&params, &waiting).unwrap())
    };
    let of = |party: Party| RowQuery {
        parties: vec![party],
        ..RowQuery::default()
    };
    assert_eq!(rows(of(Party::Human), &[]), [(3, 3)]);
    assert_eq!(rows(of(Agent::Claude.into()), &[]), [(1, 1), (3, 3)]);
    let result = |result| RowQuery {
        results: vec![result],
        ..RowQuery::default()
    };
    assert_eq!(rows(result(RowResult::Failed), &[]), [(4, 4)]);
    assert_eq!(rows(result(RowResult::Waits), &[3]), [(3, 3)]);
    let since = RowQuery {
        since_ms: Some(3_000),
        until_ms: Some(5_000),
        ..RowQuery::default()
    };
    assert_eq!(rows(since, &[]), [(3, 3), (4, 4), (5, 5)]);
    let thread = RowQuery {
        thread: Some("e1".into()),
        ..RowQuery::default()
    };
    assert_eq!(
        rows(thread, &[]),
        [(1, 1), (2, 2)],
        "the message and what became of it"
    );
}

#[test]
fn a_page_has_the_steps_of_its_messages_and_the_marks_of_the_record() {
    let mut lines = vec![Line::Message, Line::Note, Line::Step, Line::Decision];
    lines.extend([Line::Note; 40]);
    lines.push(Line::Failed);
    let (_project, open) = record(&lines);
    let place = WindowPlace::Line(1);
    let params = WindowParams {
        place,
        limit: 1,
        marks: 10,
        ..WindowParams::default()
    };
    let page = ask(&open, &params);
    assert_eq!(spans(&page), [(1, 1)]);
    let steps: Vec<u64> = page.steps.iter().map(|step| step.line).collect();
    assert_eq!((steps, page.head), (vec![3], 45));
    let mark = |line, failed| RecordMark { line, failed };
    assert_eq!(page.marks, [mark(4, false), mark(45, true)]);
}

#[test]
fn of_messages_that_waited_together_each_has_its_own_steps() {
    let many = 60;
    let project = Project::new();
    let mut number = 0;
    let mut text = String::new();
    let mut write = |mut value: Value| {
        number += 1;
        value["id"] = format!("e{number}").into();
        writeln!(text, "{value}").unwrap();
    };
    for _ in 0..many {
        write(json_of(Line::Message, 1));
    }
    for result in ["confirmed", "acknowledged"] {
        for message in 1..=many {
            let mut step = json_of(Line::Step, 1);
            step["runtimeEvent"]["status"] = result.into();
            step["runtimeEvent"]["messageId"] = format!("e{message}").into();
            write(step);
        }
    }
    project.write(text.as_bytes());
    let open = project.open();
    let params = WindowParams {
        place: WindowPlace::Line(1),
        limit: 2 * many,
        ..WindowParams::default()
    };
    let page = ask(&open, &params);
    let mut steps: BTreeMap<String, Vec<DeliveryResult>> = BTreeMap::new();
    for step in page.steps {
        let of = steps.entry(step.record.message_id.to_string());
        of.or_default().push(step.record.result);
    }
    assert_eq!(steps.len(), many as usize);
    let wanted = [DeliveryResult::Confirmed, DeliveryResult::Acknowledged];
    assert!(steps.values().all(|of| *of == wanted), "{steps:?}");
}

#[test]
fn a_text_of_ten_megabytes_is_a_short_row() {
    let project = Project::new();
    let mut value = json_of(Line::Note, 1);
    value["content"] = "é".repeat(5_000_000).into();
    project.write(format!("{value}\n").as_bytes());
    let open = project.open();
    let page = ask(&open, &WindowParams::default());
    let [WindowRow::Entry { entry, is_cut }] = &page.rows[..] else {
        panic!("{page:?}");
    };
    assert!(*is_cut);
    assert_eq!(entry.content.chars().count(), 400);
    assert!(entry.content.capacity() < 4_096);
}
