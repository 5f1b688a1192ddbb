//! Memory of a dumped launch, wherever it is now.

use offloom_jit_cache::dump::{Launch, Run, change_words};

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

/// What becomes of words that point into memory that is elsewhere.
#[derive(Debug)]
pub(super) struct Moves {
    /// Where memory was and where it begins now, by the addresses of then. None overlaps another.
    moves: Vec<(Run, u64)>,
}

impl Moves {
    /// From where places were to where they are.
    pub(super) fn to_now(places: &[Place]) -> Self {
        Self::new(places.iter().map(|place| (place.then, place.now)).collect())
    }

    /// From where places are to where they were.
    pub(super) fn to_then(places: &[Place]) -> Self {
        let moves = places.iter().map(|place| {
            let length = place.then.length;
            (
                Run {
                    start: place.now,
                    length,
                },
                place.then.start,
            )
        });
        Self::new(moves.collect())
    }

    fn new(mut moves: Vec<(Run, u64)>) -> Self {
        moves.retain(|(from, _)| from.start != 0);
        moves.sort_unstable_by_key(|(from, _)| (from.start, from.length));
        Self { moves }
    }

    /// The word when memory is there.
    pub(super) fn word(&self, word: u64) -> u64 {
        // Most words.
        if word == 0 {
            return word;
        }
        let behind = self.moves.partition_point(|(from, _)| from.start <= word);
        let Some((from, to)) = behind.checked_sub(1).map(|index| self.moves[index]) else {
            return word;
        };
        // The end of an array points behind it; a function is its address alone.
        let offset = word - from.start;
        if offset <= from.length {
            to.wrapping_add(offset)
        } else {
            word
        }
    }
}

/// Gives each place what the dump says: variables come first among the places, and last in the file. `None`:
/// the file is shorter than the launch says.
pub(super) fn fill(places: &mut [Place], launch: &Launch, mut contents: &[u8]) -> Option<()> {
    let moves = Moves::to_now(places);
    let (variables, regions) = places.split_at_mut(launch.variables.len());
    let runs_of_regions = launch.regions.iter().map(|region| region.runs.as_slice());
    let runs_of_variables = launch.variables.iter().map(std::slice::from_ref);
    let runs = runs_of_regions.chain(runs_of_variables);
    for (place, runs) in regions.iter_mut().chain(variables).zip(runs) {
        let then = place.then;
        let mut initial = vec![0; then.length as usize];
        for run in runs {
            let (bytes, rest) = contents.split_at_checked(run.length as usize)?;
            let begin = (run.start - then.start) as usize;
            initial[begin..begin + bytes.len()].copy_from_slice(bytes);
            contents = rest;
        }
        change_words(then.start, &mut initial, |word| moves.word(word));
        place.initial = initial;
    }
    Some(())
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
        let contents = words(&[0x2001, 5, 0x3000, 0x1008]);
        fill(&mut places, &launch, &contents).unwrap();
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
        // One is not there, one is a function, and one begins where another ends.
        let places = [
            place(0, 0, 0x9),
            place(0x4000, 0, 0x6000),
            place(0x1000, 0x100, 0x7000),
            place(0x1100, 8, 0x5000),
        ];
        let (to_now, to_then) = (Moves::to_now(&places), Moves::to_then(&places));
        for (word, now) in [
            (0xfff, 0xfff),
            (0x1000, 0x7000),
            (0x10ff, 0x70ff),
            (0x1100, 0x5000),
            (0x1108, 0x5008),
            (0x1109, 0x1109),
            (0x4000, 0x6000),
            (0x4001, 0x4001),
            (0, 0),
        ] {
            assert_eq!(to_now.word(word), now, "{word:#x}");
            assert_eq!(to_then.word(now), word, "{now:#x}");
        }
    }
}
