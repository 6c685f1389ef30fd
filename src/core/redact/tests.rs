mod corpus;
mod line;
mod lookalikes;
mod own;
mod rules;
mod secrets;
mod speed;

use std::sync::LazyLock;

use super::*;

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);

/// Letters and digits that look random. Secrets of tests are put together when the test runs, so
/// that no file of ours holds what a scanner takes for a leak.
fn noise(alphabet: &str, len: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            letters[usize::try_from(state % letters.len() as u64).unwrap()]
        })
        .collect()
}

fn alnum(len: usize) -> String {
    noise(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        len,
    )
}

fn hexa(len: usize) -> String {
    noise("0123456789abcdef", len)
}

fn upper(len: usize) -> String {
    noise("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", len)
}

/// With rules of a project; what is built in is compiled once for all tests.
fn redactor(own: OwnRules) -> Redactor {
    let built_in = Arc::clone(&REDACTOR.rules().built_in);
    Redactor {
        current: RwLock::new(Arc::new(RuleSet {
            number: 0,
            built_in,
            own,
        })),
    }
}
