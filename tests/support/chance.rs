//! `Chance`: random numbers from a seed that is printed, so that a failed run can be repeated.

/// The variable that sets the seed of a run.
pub const SEED_VARIABLE: &str = "CTXRELAY_TEST_SEED";

/// SplitMix64: small, and the same everywhere.
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// Seeded by the variable, or by the clock; says which seed it is.
    pub fn begin() -> Self {
        let given = std::env::var(SEED_VARIABLE)
            .ok()
            .and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let now = std::time::UNIX_EPOCH.elapsed().unwrap();
            // The middle of it: digits that differ from run to run and can be typed.
            u64::from(now.subsec_nanos()) ^ now.as_secs()
        });
        // Shown by the test harness when the test fails.
        eprintln!("seed: {SEED_VARIABLE}={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Some number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
