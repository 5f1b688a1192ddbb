//! The order in which parts of a function get their turn, so that threads of a warp that have parted meet
//! again where a real GPU has them meet: behind a branch's two sides, and behind a loop.
//!
//! Where threads stand at several places, those at the first place in this order run. Each block comes behind
//! the blocks that lead to it, ways back in loops apart, and nothing comes between the blocks of a loop. The
//! order of the blocks in PTX is not like that: LLVM puts the end of a loop before its body where it likes.

use crate::code::{Instruction, Operation};

/// A stretch of instructions that is entered at its start and left at its end.
#[derive(Debug, Default)]
struct Block {
    start: usize,
    end: usize,
    next: Vec<usize>,
}

/// Numbers a function's instructions, from `first` on. `entry` is what the targets of branches count its
/// start as.
pub(super) fn number(instructions: &mut [Instruction], entry: u32) {
    let blocks = blocks(instructions, entry as usize);
    let mut rank = entry;
    for block in order(&blocks) {
        for instruction in &mut instructions[blocks[block].start..blocks[block].end] {
            instruction.rank = rank;
            rank += 1;
        }
    }
}

/// Where an instruction goes, and whether it can also go on behind itself; nothing of one that ends no block.
fn ways(instruction: &Instruction, entry: usize) -> Option<(Vec<usize>, bool)> {
    let is_conditional = !instruction.guard.is_always();
    let place = |target: &u32| (*target as usize).saturating_sub(entry);
    match &instruction.operation {
        Operation::Branch { target } => Some((vec![place(target)], is_conditional)),
        Operation::BranchIndexed { targets, .. } => {
            Some((targets.iter().map(place).collect(), is_conditional))
        }
        Operation::Return | Operation::Exit => Some((Vec::new(), is_conditional)),
        _ => None,
    }
}

fn blocks(instructions: &[Instruction], entry: usize) -> Vec<Block> {
    let mut starts = vec![0];
    for (at, instruction) in instructions.iter().enumerate() {
        if let Some((targets, _)) = ways(instruction, entry) {
            starts.extend(targets);
            starts.push(at + 1);
        }
    }
    starts.retain(|&start| start < instructions.len());
    starts.sort_unstable();
    starts.dedup();
    let block_at = |start: &usize| starts.binary_search(start).ok();
    let ends = starts.iter().skip(1).copied().chain([instructions.len()]);
    let blocks = starts.iter().zip(ends).map(|(&start, end)| {
        let (mut targets, goes_on) = match instructions[start..end].last() {
            Some(last) => ways(last, entry).unwrap_or((Vec::new(), true)),
            None => (Vec::new(), true),
        };
        targets.extend(goes_on.then_some(end));
        let next = targets.iter().filter_map(block_at).collect();
        Block { start, end, next }
    });
    blocks.collect()
}

/// The blocks in the order of their turns; those that nothing leads to come last.
fn order(blocks: &[Block]) -> Vec<usize> {
    let sequence = reverse_postorder(blocks);
    let mut place = vec![usize::MAX; blocks.len()];
    for (index, &block) in sequence.iter().enumerate() {
        place[block] = index;
    }
    let loops = loops(blocks, &sequence, &place);
    let mut waits_for = vec![0_usize; blocks.len()];
    for &block in &sequence {
        for &next in &blocks[block].next {
            waits_for[next] += usize::from(place[next] > place[block]);
        }
    }
    let mut ordered: Vec<usize> = Vec::with_capacity(blocks.len());
    let mut ready: Vec<usize> = (!blocks.is_empty()).then_some(0).into_iter().collect();
    while !ready.is_empty() {
        let current = ordered.last().map_or(&[][..], |&last| &loops[last]);
        let in_common = |block: usize| {
            let both = current.iter().zip(&loops[block]);
            both.take_while(|(one, other)| one == other).count()
        };
        // Of the innermost loop that has one; of those the first.
        let best = (0..ready.len())
            .min_by_key(|&index| (usize::MAX - in_common(ready[index]), place[ready[index]]))
            .unwrap_or_default();
        let block = ready.swap_remove(best);
        ordered.push(block);
        for &next in &blocks[block].next {
            if place[next] > place[block] {
                waits_for[next] -= 1;
                if waits_for[next] == 0 {
                    ready.push(next);
                }
            }
        }
    }
    ordered.extend((0..blocks.len()).filter(|&block| place[block] == usize::MAX));
    ordered
}

/// The blocks that the first one leads to, each behind one that leads to it.
fn reverse_postorder(blocks: &[Block]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut finished = Vec::with_capacity(blocks.len());
    if let Some(first) = seen.first_mut() {
        *first = true;
    }
    // A block, and how many of its ways have been taken.
    let mut path: Vec<(usize, usize)> = (!blocks.is_empty()).then_some((0, 0)).into_iter().collect();
    while let Some((block, taken)) = path.last_mut() {
        match blocks[*block].next.get(*taken) {
            Some(&next) => {
                *taken += 1;
                if !std::mem::replace(&mut seen[next], true) {
                    path.push((next, 0));
                }
            }
            None => {
                finished.push(*block);
                path.pop();
            }
        }
    }
    finished.reverse();
    finished
}

/// For each block, the loops that it is in, the outermost first. A loop is named by the block that it begins
/// with, and holds what leads back to that.
fn loops(blocks: &[Block], sequence: &[usize], place: &[usize]) -> Vec<Vec<usize>> {
    let mut previous = vec![Vec::new(); blocks.len()];
    for &block in sequence {
        for &next in &blocks[block].next {
            previous[next].push(block);
        }
    }
    let mut of = vec![Vec::new(); blocks.len()];
    let mut seen_for = vec![usize::MAX; blocks.len()];
    // What begins first holds what begins inside of it.
    for &head in sequence {
        let is_back = |from: &&usize| place[**from] >= place[head];
        let mut left: Vec<usize> = previous[head].iter().filter(is_back).copied().collect();
        if left.is_empty() {
            continue;
        }
        seen_for[head] = head;
        of[head].push(head);
        while let Some(block) = left.pop() {
            // What begins before the loop is no part of it, as where a loop has two entries.
            if seen_for[block] != head && place[block] > place[head] {
                seen_for[block] = head;
                of[block].push(head);
                left.extend(&previous[block]);
            }
        }
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks by what they lead to, in the order of the text.
    fn graph(next: &[&[usize]]) -> Vec<Block> {
        let block = |(at, next): (usize, &&[usize])| Block {
            start: at,
            end: at + 1,
            next: next.to_vec(),
        };
        next.iter().enumerate().map(block).collect()
    }

    #[test]
    fn a_loop_s_end_comes_behind_its_body_wherever_it_stands() {
        // 1 is the end of the loop's round and stands before its body, as LLVM writes it; 2 begins the body,
        // 3 is a loop in it; 4 is behind all.
        let blocks = graph(&[&[2], &[2, 4], &[3, 1], &[3, 1], &[]]);
        assert_eq!(order(&blocks), [0, 2, 3, 1, 4]);
    }

    #[test]
    fn two_sides_come_before_what_is_behind_both() {
        let blocks = graph(&[&[3, 1], &[2], &[], &[2]]);
        let ordered = order(&blocks);
        assert_eq!((ordered[0], ordered[3]), (0, 2));
    }

    #[test]
    fn nothing_comes_between_the_blocks_of_a_loop() {
        // 1 and 3 are a loop that can be left from both; 2 and 4 are behind it.
        let blocks = graph(&[&[1], &[2, 3], &[4], &[1, 2], &[]]);
        assert_eq!(order(&blocks), [0, 1, 3, 2, 4]);
    }

    #[test]
    fn every_block_is_there_once_whatever_the_ways() {
        // Two entries into a loop, a way to itself, what nothing leads to.
        let blocks = graph(&[&[1, 2], &[2, 1], &[1, 3], &[3], &[4], &[]]);
        let mut ordered = order(&blocks);
        ordered.sort_unstable();
        assert_eq!(ordered, [0, 1, 2, 3, 4, 5]);
        assert_eq!(order(&[]), [0_usize; 0]);
    }
}
