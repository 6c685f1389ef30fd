//! [`ToldBlockers`]: the blockers as text, of which the first rows are shown.

use super::Blocker;

/// Rows of text, each with the number of things that it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToldBlockers(Vec<(String, usize)>);

impl ToldBlockers {
    /// Whether nothing stands in the way.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many things all rows stand for.
    pub fn total(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// All rows.
    pub fn into_rows(self) -> Vec<String> {
        self.0.into_iter().map(|(row, _)| row).collect()
    }

    /// So many rows, and one that says how many things the others stand for.
    pub fn at_most(mut self, rows: usize) -> Vec<String> {
        let hidden = self.0.split_off(rows.min(self.0.len()));
        let more = Self(hidden).total();
        let more = (more > 0).then(|| format!("and {more} more"));
        self.into_rows().into_iter().chain(more).collect()
    }
}

impl<'a> FromIterator<Blocker<'a>> for ToldBlockers {
    fn from_iter<T: IntoIterator<Item = Blocker<'a>>>(blockers: T) -> Self {
        let blockers = blockers.into_iter();
        let told = blockers.map(|blocker| (blocker.to_string(), blocker.count()));
        Self(told.collect())
    }
}

/// Each of these is one thing.
impl From<Vec<String>> for ToldBlockers {
    fn from(rows: Vec<String>) -> Self {
        let mut told = Self::default();
        told.extend(rows);
        told
    }
}

/// Each of these is one thing.
impl Extend<String> for ToldBlockers {
    fn extend<T: IntoIterator<Item = String>>(&mut self, rows: T) {
        self.0.extend(rows.into_iter().map(|row| (row, 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_hidden_counts_as_what_it_stands_for() {
        let id = "e1".into();
        let one = || Blocker::Ambiguous(&id);
        let more = Blocker::MoreFindings(175);
        let told = |named: usize, gates: usize| {
            let named = std::iter::repeat_with(one).take(named);
            let mut told: ToldBlockers = named.chain([more]).collect();
            told.extend(vec!["required gate tests is red".to_owned(); gates]);
            told
        };
        assert_eq!(told(19, 0).at_most(20).pop(), Some(more.to_string()));
        assert_eq!(told(19, 2).at_most(20)[20..], ["and 2 more"]);
        assert_eq!(told(22, 1).at_most(20)[20..], ["and 178 more"]);
        assert_eq!(told(22, 1).total(), 198);
        assert_eq!(told(0, 1).into_rows().len(), 2);
        assert!(ToldBlockers::default().at_most(20).is_empty());
        // What only reads like such a row is one thing.
        let read: ToldBlockers = vec![more.to_string(); 3].into();
        assert_eq!(read.at_most(1)[1..], ["and 2 more"]);
    }
}
