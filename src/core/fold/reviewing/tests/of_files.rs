//! What files say of reviews: each by its path, and as a version before named them.

use pretty_assertions::assert_eq;

use super::*;
use crate::review::ReviewChanged;

const HERE: &str = "file:a.json#1a2b3c4d";
const ELSEWHERE: &str = "file:a.json#5e6f7a8b";
/// As a version before named both.
const BEFORE: &str = "file:a.json";

impl Record {
    /// All that a file says by now.
    fn read(&mut self, comments: &[ReviewComment], review: &str) -> ReviewChanged {
        let read = comments.iter();
        let read = read.filter_map(|comment| ImportedFinding::of(comment, review, &REDACTOR));
        let ids: Vec<FindingId> = comments.iter().map(|comment| comment.id.clone()).collect();
        let whole = WholeReview {
            review,
            findings: &ids,
        };
        let plan = ImportPlan::of(&self.world, read.collect(), Some(whole), false);
        for (record, content) in plan.records {
            self.push(Party::System, &content, EntryKind::Finding(record));
        }
        plan.comes_to
    }

    /// Its names and reviews.
    fn stands(&self) -> Vec<(&str, &str)> {
        let findings = self.world.findings.iter();
        let stands = findings.map(|(id, finding)| (id.as_str(), &*finding.facts.review));
        stands.collect()
    }
}

fn named(name: &str) -> ReviewComment {
    ReviewComment {
        id: FindingId::new(name),
        ..high(1)
    }
}

fn resolved(name: &str) -> ReviewComment {
    ReviewComment {
        resolved: Some(true),
        ..named(name)
    }
}

#[test]
fn no_file_settles_what_another_one_says() {
    let mut record = Record::default();
    record.read(&[named("lint:7")], HERE);
    for other in [ELSEWHERE, "file:b.json#5e6f7a8b", REVIEW, BEFORE] {
        let plan = record.read(&[resolved("lint:7")], other);
        assert_eq!((plan.changed, plan.refused), (0, 1), "{other}");
        assert_eq!((plan.settled, plan.gone), (vec![], 0), "{other}");
    }
    // Nor does one that is called as the review of another.
    let called = format!("{HERE}#5e6f7a8b");
    assert_eq!(record.read(&[resolved("lint:7")], &called).refused, 1);
    assert_eq!(record.world.blockers_except(&[]).len(), 1);
    let plan = record.read(&[resolved("lint:7")], HERE);
    assert_eq!(plan.settled, [FindingId::new("lint:7")]);
}

#[test]
fn what_a_version_before_recorded_of_a_file_is_the_same_review() {
    let mut record = Record::default();
    record.read(
        &[named("lint:7"), named("lint:8"), named("gh:rc:9")],
        BEFORE,
    );
    let now = [named("lint:7"), named("file:1a2b3c4d:rc:9")];
    let plan = record.read(&now, HERE);
    assert_eq!((plan.imported, plan.changed, plan.refused), (0, 2, 0));
    // It blocks on, as what its author deletes does.
    assert_eq!((plan.gone, plan.held), (1, vec![FindingId::new("lint:8")]));
    let stands = [("gh:rc:9", HERE), ("lint:7", HERE), ("lint:8", BEFORE)];
    assert_eq!(record.stands(), stands);
    let plan = record.read(&now, HERE);
    assert_eq!(
        (plan.imported, plan.changed, plan.same, plan.gone),
        (0, 0, 2, 0)
    );
    // Another file of that name has its own by now.
    let plan = record.read(&[named("file:5e6f7a8b:rc:9")], ELSEWHERE);
    assert_eq!((plan.imported, plan.changed), (1, 0));
    let plan = record.read(&[resolved("file:1a2b3c4d:rc:9")], HERE);
    assert_eq!(plan.settled, [FindingId::new("gh:rc:9")]);
    // What has a name of GitHub's is its pull request's, and nothing else of a file.
    let plan = record.read(&[named("lint:7"), named("gh:rc:9")], REVIEW);
    assert_eq!((plan.changed, plan.refused), (1, 1));
}

#[test]
fn case_makes_no_other_pull_request() {
    let mut record = Record::default();
    record.import(&[high(1), high(2)]);
    let plan = record.read(&[high(1)], "GitHub.com/Acme/API#12");
    assert_eq!((plan.changed, plan.same, plan.refused), (0, 1, 0));
    assert_eq!(plan.held, [id(2)]);
    assert_eq!(record.stands(), [("gh:rc:1", REVIEW), ("gh:rc:2", REVIEW)]);
}
