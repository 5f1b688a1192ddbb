//! Memory of a dumped launch, wherever it is now.

use offloom_jit_cache::dump::{Launch, Run};

/// Memory that was somewhere at the launch, and is somewhere now.
#[derive(Debug)]
pub(super) struct Place {
    /// Where it was.
    pub(super) then: Run,
    /// Where it begins now.
    pub(super) now: u64,
    /// What it holds at the launch, with words moved.
    pub(super) initial: Vec<u8>,
}

impl Place {
    /// One of which it is not known yet what it holds.
    pub(super) const fn new(then: Run, now: u64) -> Self {
        Self {
            then,
            now,
            initial: Vec::new(),
        }
    }
}

/// What a word of the launch is now. A word that points into two places is one into the first.
pub(super) fn moved(places: &[Place], word: u64) -> u64 {
    let inside = |place: &&Place| word.wrapping_sub(place.then.start) < place.then.length;
    // The end of an array points behind it.
    let behind = |place: &&Place| place.then.length > 0 && word == place.then.end();
    let place = places.iter().find(inside).or_else(|| places.iter().find(behind));
    place.map_or(word, |place| word - place.then.start + place.now)
}

/// Gives each place what the dump says: variables come first among the places, and last in the file.
pub(super) fn fill(places: &mut [Place], launch: &Launch, mut contents: &[u8]) {
    let (variables, regions) = (0..launch.variables.len(), launch.variables.len()..places.len());
    let runs_of_regions = launch.regions.iter().map(|region| region.runs.as_slice());
    let runs_of_variables = launch.variables.iter().map(std::slice::from_ref);
    let runs = runs_of_regions.chain(runs_of_variables);
    let mut all = Vec::new();
    for (index, runs) in regions.chain(variables).zip(runs) {
        let then = places[index].then;
        let mut initial = vec![0; then.length as usize];
        for run in runs {
            // The file is as long as all runs.
            let (bytes, rest) = contents.split_at(run.length as usize);
            let begin = (run.start - then.start) as usize;
            initial[begin..begin + bytes.len()].copy_from_slice(bytes);
            contents = rest;
        }
        let misaligned = (then.start.wrapping_neg() % 8).min(then.length) as usize;
        for word in initial[misaligned..].as_chunks_mut().0 {
            *word = moved(places, u64::from_le_bytes(*word)).to_le_bytes();
        }
        all.push((index, initial));
    }
    for (index, initial) in all {
        places[index].initial = initial;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offloom_jit_cache::dump::Region;

    fn place(start: u64, length: u64, now: u64) -> Place {
        Place::new(Run { start, length }, now)
    }

    #[test]
    fn places_hold_what_the_dump_says_with_words_moved() {
        let run = |start, length| Run { start, length };
        let region = |extent, runs: &[Run]| Region {
            extent,
            runs: runs.to_vec(),
        };
        let launch = Launch {
            variables: vec![run(0, 0), run(0x3000, 8)],
            regions: vec![
                region(run(0x1000, 32), &[run(0x1000, 8), run(0x1010, 16)]),
                region(run(0x2000, 9), &[]),
            ],
            ..serde_json::from_str(LAUNCH).unwrap()
        };
        let mut places = [
            place(0, 0, 0),
            place(0x3000, 8, 0x300),
            place(0x1000, 32, 0x100),
            place(0x2000, 9, 0x200),
        ];
        let words = |words: &[u64]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
        fill(&mut places, &launch, &words(&[0x2001, 5, 0x3000, 0x1008]));
        let initial: Vec<_> = places.iter().map(|place| place.initial.as_slice()).collect();
        assert_eq!(
            initial,
            [&[][..], &words(&[0x108]), &words(&[0x201, 0, 5, 0x300]), &[0; 9],]
        );
    }

    /// All that is not looked at.
    const LAUNCH: &str = r#"{
        "version": 2, "offloom": "", "llvm": "", "kernel": "k", "descriptor": "", "arguments": [],
        "processor": ["", ""], "match_floating_point": true, "environment": {}, "variables": [],
        "device": {"gpu": {"name": "", "capability": [8, 0], "blocks": 1, "threads": 1,
            "dynamic_shared_bytes": 0, "stack_bytes": 0, "heap_bytes": 0}},
        "regions": [], "checksums": {}
    }"#;

    #[test]
    fn words_move_with_what_they_point_into() {
        // The second begins where the first ends.
        let places = [
            place(0x1000, 0, 0x9),
            place(0x1000, 0x100, 0x7000),
            place(0x1100, 8, 0x5000),
        ];
        for (word, now) in [
            (0xfff, 0xfff),
            (0x1000, 0x7000),
            (0x10ff, 0x70ff),
            (0x1100, 0x5000),
            (0x1108, 0x5008),
            (0x1109, 0x1109),
            (0, 0),
        ] {
            assert_eq!(moved(&places, word), now, "{word:#x}");
        }
    }
}
