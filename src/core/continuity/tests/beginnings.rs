//! How files begin, behind a packet.

use proptest::prelude::*;

use crate::continuity::file_beginnings;

proptest! {
    #[test]
    fn beginnings_stay_within_their_room_whole_or_absent_and_none_looks_like_ours(
        heads in proptest::collection::vec(("[a-z]{1,9}\\.rs", "(\\[ctxrelay: x\\]\n|[a-z ]{0,60}\n){0,9}"), 0..8),
        room in 0..2_000_usize,
    ) {
        let text = file_beginnings(&heads, room).unwrap_or_default();
        prop_assert!(text.chars().count() <= room);
        let (_, items) = text.split_once('\n').unwrap_or_default();
        prop_assert!(!items.lines().any(|line| line.trim_start().starts_with("[ctxrelay")));
        let named = items.lines().filter(|line| line.starts_with("- ")).count();
        prop_assert!(named <= heads.len());
        let has_room = room > heads.iter().map(|(path, head)| path.len() + head.len() * 3 + 9).sum::<usize>() + 100;
        prop_assert!(!has_room || named == heads.len());
    }
}
