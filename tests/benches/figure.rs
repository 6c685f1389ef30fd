//! [`Series`]: times of one thing, and [`Table`]: figures with baseline and target, as they come.

use std::time::{Duration, Instant};

/// Times of one thing, in the order of their coming.
#[derive(Debug, Default)]
pub struct Series {
    times: Vec<Duration>,
}

impl Series {
    /// Times one run.
    pub fn time<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = run();
        self.times.push(start.elapsed());
        done
    }

    pub fn push(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// Runs a second when one follows another. Not one by the median: a disk with two moods has
    /// a median that says nothing of the whole.
    pub fn rate(&self) -> f64 {
        let all: Duration = self.times.iter().sum();
        self.times.len() as f64 / all.as_secs_f64()
    }

    pub fn p50(&self) -> f64 {
        self.at(0.50)
    }

    pub fn p99(&self) -> f64 {
        self.at(0.99)
    }

    /// In milliseconds.
    fn at(&self, part: f64) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let place = ((sorted.len() - 1) as f64 * part).round() as usize;
        sorted[place].as_secs_f64() * 1000.0
    }

    /// `p50 0.21 ms, p99 0.60 ms, n 400`.
    pub fn words(&self) -> String {
        format!(
            "p50 {}, p99 {}, n {}",
            ms(self.p50()),
            ms(self.p99()),
            self.times.len()
        )
    }
}

/// Milliseconds with as many digits as mean something.
pub fn ms(value: f64) -> String {
    match value {
        v if v < 1.0 => format!("{v:.3} ms"),
        v if v < 100.0 => format!("{v:.2} ms"),
        v => format!("{v:.0} ms"),
    }
}

/// Bytes as MiB.
pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}

/// Prints rows as they come.
#[derive(Debug)]
pub struct Table {
    missed: Vec<String>,
}

impl Table {
    pub fn begin() -> Self {
        println!(
            "\n{:<44} {:<44} {:<34} target",
            "what", "measured", "beside it"
        );
        Self { missed: Vec::new() }
    }

    /// A figure that only serves as another's baseline.
    pub fn baseline(&mut self, what: &str, measured: &str) {
        println!("{what:<44} {measured:<44}");
    }

    /// A figure; `met` compares it with the target.
    pub fn row(&mut self, what: &str, measured: &str, beside: &str, target: &str, met: bool) {
        let mark = if met { "ok  " } else { "MISS" };
        println!("{what:<44} {measured:<44} {beside:<34} {mark} {target}");
        if !met {
            self.missed.push(what.to_owned());
        }
    }

    /// A figure that must cost more than its baseline. When it does not, the two were not measured
    /// under the same conditions, and nothing is said about the target.
    pub fn row_over(
        &mut self,
        what: &str,
        measured: &Series,
        baseline: &Series,
        (factor, more_ms): (f64, f64),
    ) {
        let times = measured.p50() / baseline.p50();
        let bound = factor * baseline.p50() + more_ms;
        let beside = format!("{times:.2} x bare, bound {}", ms(bound));
        let target = format!("<= {factor} x bare + {more_ms} ms");
        if times < 1.0 {
            let words = measured.words();
            println!("{what:<44} {words:<44} {beside:<34} VOID {target}");
            self.missed.push(format!("{what} (void)"));
        } else {
            let met = measured.p50() <= bound;
            self.row(what, &measured.words(), &beside, &target, met);
        }
    }

    pub fn end(self) {
        if self.missed.is_empty() {
            println!("\nevery target is met\n");
        } else {
            println!("\nmissed: {}\n", self.missed.join(", "));
        }
    }
}
