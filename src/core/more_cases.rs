//! [`more_cases`]: how many cases a property is tested with, for tests of what reads hostile text.

use proptest::prelude::ProptestConfig;

/// One case for each `per` worlds that `CTXRELAY_SEEDS` has the simulation go through, and no fewer
/// than without it: an edit does not wait for as many as a merge does.
pub(crate) fn more_cases(per: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let seeds = std::env::var("CTXRELAY_SEEDS").ok();
    let seeds = seeds.and_then(|seeds| seeds.parse::<u32>().ok());
    let cases = seeds.map_or(0, |seeds| seeds / per);
    let cases = cases.max(config.cases);
    ProptestConfig { cases, ..config }
}
