//! What the workloads in Rust share: the part of `workload.h` that they need, with the same command line and
//! the same output.

use std::time::Instant;

/// One run: its command line and whether a check has failed so far.
pub struct Workload {
    pub size: usize,
    is_large: bool,
    settings: Vec<(String, String, bool)>,
    failed: bool,
}

impl Workload {
    /// Reads the command line and prints the first line.
    pub fn begin(name: &str, small: usize, large: usize) -> Self {
        let mut run = Self {
            size: small,
            is_large: false,
            settings: Vec::new(),
            failed: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().unwrap_or_default();
            match (word.as_str(), value.split_once('=')) {
                ("--size", _) => {
                    run.size = match value.as_str() {
                        "small" => small,
                        "large" => large,
                        number => whole_number(number),
                    }
                }
                ("--set", Some((name, value))) => {
                    run.settings.push((name.to_owned(), value.to_owned(), false))
                }
                _ => fail(&format!(
                    "cannot use argument `{word}`; usage: [--size small|large|N] [--set NAME=VALUE]..."
                )),
            }
        }
        if run.size < 1 {
            fail("--size must be at least 1");
        }
        run.is_large = run.size > small;
        println!("workload {name} size {}", run.size);
        run
    }

    /// A whole-number value of this run: by `--set`, or the default of its size.
    pub fn setting(&mut self, name: &str, lowest: usize, small: usize, large: usize) -> usize {
        let mut value = if self.is_large { large } else { small };
        for (given, text, is_read) in &mut self.settings {
            if given == name {
                value = whole_number(text);
                *is_read = true;
            }
        }
        if value < lowest {
            fail(&format!("setting {name} must be at least {lowest}"));
        }
        println!("setting {name} {value}");
        value
    }

    /// Refuses a `--set` that no setting has read.
    pub fn settings_end(&self) {
        if let Some((name, ..)) = self.settings.iter().find(|(.., is_read)| !is_read) {
            fail(&format!("there is no setting `{name}`"));
        }
    }

    /// Every how manieth of `count` elements a check looks at.
    pub fn check_stride(&self, count: usize) -> usize {
        if self.is_large && count > 20011 {
            count / 10007
        } else {
            1
        }
    }

    /// Compares elements of a result with a reference; each may be off by `tolerance * (|want| + 1)`.
    pub fn check(&mut self, what: &str, values: impl Iterator<Item = (usize, f64, f64)>, tolerance: f64) {
        let (mut looked_at, mut wrong) = (0_usize, None);
        for (index, got, want) in values {
            looked_at += 1;
            let is_close = (got - want).abs() <= tolerance * (want.abs() + 1.0);
            if !is_close && wrong.is_none() {
                wrong = Some(format!("first at {index}: {got:e} instead of {want:e}"));
            }
        }
        if looked_at == 0 {
            wrong = Some("nothing was looked at".to_owned());
        }
        match wrong {
            None => println!("check {what} ok"),
            Some(wrong) => {
                println!("check {what} WRONG: {wrong}");
                self.failed = true;
            }
        }
    }

    /// Prints the verdict and ends the process.
    pub fn end(&self) -> ! {
        println!("result {}", if self.failed { "WRONG" } else { "ok" });
        std::process::exit(i32::from(self.failed))
    }
}

/// In [0, 1), the same number for the same seed and index as in C.
fn uniform(seed: u64, index: u64) -> f64 {
    let mut z = seed
        .wrapping_mul(0xD134_2543_DE82_EF95)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// `count` numbers in a range.
pub fn filled(count: usize, seed: u64, from: f64, to: f64) -> Vec<f64> {
    (0..count)
        .map(|index| from + (to - from) * uniform(seed, index as u64))
        .collect()
}

/// Prints a checksum of the bits.
pub fn checksum(what: &str, data: &[f64]) {
    let mut sum = 0xCBF2_9CE4_8422_2325 ^ (size_of_val(data) as u64);
    for value in data {
        sum = (sum ^ value.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        sum ^= sum >> 32;
    }
    println!("checksum {what} {sum:#018x}");
}

/// Times of a kernel's launches.
pub struct Timer(Vec<f64>);

impl Timer {
    /// Without any time yet.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Times one launch.
    pub fn time(&mut self, launch: impl FnOnce()) {
        let start = Instant::now();
        launch();
        self.0.push(start.elapsed().as_secs_f64());
    }

    /// Prints the time line.
    pub fn end(mut self, name: &str) {
        let (total, first) = (
            self.0.iter().sum::<f64>(),
            self.0.first().copied().unwrap_or_default(),
        );
        self.0.sort_by(f64::total_cmp);
        println!(
            "time {name} launches={} total_s={total:.9} first_s={first:.9} min_s={:.9} median_s={:.9}",
            self.0.len(),
            self.0.first().copied().unwrap_or_default(),
            self.0.get(self.0.len() / 2).copied().unwrap_or_default(),
        );
    }
}

fn whole_number(text: &str) -> usize {
    text.parse()
        .unwrap_or_else(|_| fail(&format!("`{text}` is not a whole number")))
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}
