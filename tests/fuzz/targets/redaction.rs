//! Any text, alone and around a secret of `tests/data/redaction`: the secret is masked, and what is
//! masked stays as it is.
#![no_main]

use std::sync::LazyLock;

use ctxrelay_core::redact::Redactor;
use ctxrelay_core::redact::secret_samples::{
    SecretSample, check_planted, check_settled, one_of_each,
};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);
static SAMPLES: LazyLock<Vec<SecretSample>> = LazyLock::new(one_of_each);

/// One in so many inputs gets the text of a sample at its end.
const SAMPLE_PER: u32 = 20;

// The first two bytes choose the sample that is planted, and the third one where it stands.
fuzz_target!(|bytes: &[u8]| {
    check_settled(&REDACTOR, &String::from_utf8_lossy(bytes));
    let Some((&[high, low, place], text)) = bytes.split_first_chunk() else {
        return;
    };
    let sample = &SAMPLES[usize::from(u16::from_be_bytes([high, low])) % SAMPLES.len()];
    let text = String::from_utf8_lossy(text);
    let at = text.floor_char_boundary(text.len() * usize::from(place) / 255);
    let (above, below) = text.split_at(at);
    check_planted(&REDACTOR, above, sample, below);
});

fuzz_mutator!(
    |bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
        let (chosen, rest) = (seed % SAMPLE_PER, seed / SAMPLE_PER);
        let sample = SAMPLES[rest as usize % SAMPLES.len()].text.as_bytes();
        if chosen == 0 && size + sample.len() <= max_size {
            bytes[size..size + sample.len()].copy_from_slice(sample);
            return size + sample.len();
        }
        fuzzer_mutate(bytes, size, max_size)
    }
);
