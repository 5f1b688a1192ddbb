//! A cluster of 10,000 machines that start a program at about the same time, with one remote store: what it
//! compiles and what it asks of the store. Time is simulated and what is left to chance is seeded; when a
//! machine asks, waits, compiles and gives up is decided by the code that decides it in programs
//! ([`offloom_jit_cache::remote`]). `docs/dev/jit-cache.md` has the figures, which are those of this test.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::time::{Duration, Instant};

use offloom_jit_cache::remote::{CLAIM, Health, PATIENCE, Trouble, Wait};

const MACHINES: usize = 10_000;
/// What each of them wants, one after the other.
const KERNELS: usize = 20;
/// As `OFFLOOM_JIT_REMOTE_DEADLINE` has it.
const DEADLINE: Duration = Duration::from_millis(50);
/// To the store and back.
const ROUND_TRIP: Duration = Duration::from_micros(500);
/// What a program does between two kernels.
const BETWEEN: Duration = Duration::from_millis(20);
/// What a compile takes: the shortest, and how much more the longest.
const COMPILE: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];

/// What differs.
struct Cluster {
    name: &'static str,
    /// In which the machines start.
    arrivals: Duration,
    /// What the store answers in a second.
    capacity: u32,
    /// Of a hundred compiles, those in which the machine drops out.
    drop_outs: u64,
    /// When the store does not answer, from the first start on.
    is_out: Option<[Duration; 2]>,
}

const CLUSTERS: [Cluster; 7] = [
    Cluster {
        name: "within a minute",
        arrivals: Duration::from_secs(60),
        capacity: 100_000,
        drop_outs: 0,
        is_out: None,
    },
    Cluster {
        name: "within 10 s",
        arrivals: Duration::from_secs(10),
        capacity: 100_000,
        drop_outs: 0,
        is_out: None,
    },
    Cluster {
        name: "within 5 s",
        arrivals: Duration::from_secs(5),
        capacity: 100_000,
        drop_outs: 0,
        is_out: None,
    },
    Cluster {
        name: "within a minute, every tenth that compiles drops out",
        arrivals: Duration::from_secs(60),
        capacity: 100_000,
        drop_outs: 10,
        is_out: None,
    },
    Cluster {
        name: "within 5 minutes, 5,000 requests a second",
        arrivals: Duration::from_secs(300),
        capacity: 5_000,
        drop_outs: 0,
        is_out: None,
    },
    Cluster {
        name: "within a minute, 5,000 requests a second",
        arrivals: Duration::from_secs(60),
        capacity: 5_000,
        drop_outs: 0,
        is_out: None,
    },
    Cluster {
        name: "within a minute, no answers for 10 s",
        arrivals: Duration::from_secs(60),
        capacity: 100_000,
        drop_outs: 0,
        is_out: Some([Duration::from_secs(20), Duration::from_secs(30)]),
    },
];

/// A number of its own for each pair, as if by chance.
fn chance(seed: u64, machine: usize, kernel: usize) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for word in [seed, machine as u64, kernel as u64] {
        hasher.update(&word.to_le_bytes());
    }
    let hash = hasher.finalize();
    hash.as_bytes()
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// One server that answers a request after the other.
struct Server {
    start: Instant,
    each: Duration,
    is_out: Option<[Duration; 2]>,
    free: Instant,
    objects: HashSet<usize>,
    claims: HashMap<usize, Instant>,
    /// Requests by second.
    seconds: Vec<u64>,
}

impl Server {
    /// A request that is made now: when it was served and when the answer is there. `None`: never.
    fn serve(&mut self, now: Instant) -> Option<[Instant; 2]> {
        let arrives = now + ROUND_TRIP / 2;
        let since = arrives - self.start;
        let second = since.as_secs() as usize;
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, 0);
        }
        self.seconds[second] += 1;
        if self.is_out.is_some_and(|[from, to]| since >= from && since < to) {
            return None;
        }
        let served = self.free.max(arrives) + self.each;
        self.free = served;
        Some([served, served + ROUND_TRIP / 2])
    }

    fn claim(&mut self, kernel: usize, served: Instant) -> bool {
        let is_ours = self
            .claims
            .get(&kernel)
            .is_none_or(|since| served.saturating_duration_since(*since) >= CLAIM);
        if is_ours {
            self.claims.insert(kernel, served);
        }
        is_ours
    }
}

/// What a machine does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// It wants its next kernel.
    Want,
    /// It asks for it.
    Ask,
    /// It claims it.
    Claim,
    /// It has compiled it.
    Compiled,
}

struct Machine {
    kernel: usize,
    wait: Wait,
    health: Health,
}

/// What came of it.
#[derive(Debug)]
struct Outcome {
    compiles: Vec<u64>,
    requests: u64,
    busiest: u64,
    late: u64,
}

struct Simulation<'c> {
    cluster: &'c Cluster,
    server: Server,
    machines: Vec<Machine>,
    /// By time, then in the order in which they were planned.
    plan: BinaryHeap<Reverse<(Instant, u64, usize, Step)>>,
    planned: u64,
    compiles: Vec<u64>,
    late: u64,
}

impl<'c> Simulation<'c> {
    fn new(cluster: &'c Cluster) -> Self {
        let start = Instant::now();
        let mut this = Self {
            cluster,
            server: Server {
                start,
                each: Duration::from_secs(1) / cluster.capacity,
                is_out: cluster.is_out,
                free: start,
                objects: HashSet::new(),
                claims: HashMap::new(),
                seconds: Vec::new(),
            },
            machines: Vec::new(),
            plan: BinaryHeap::new(),
            planned: 0,
            compiles: vec![0; KERNELS],
            late: 0,
        };
        for machine in 0..MACHINES {
            let wait = Wait::new(start, DEADLINE, PATIENCE);
            this.machines.push(Machine {
                kernel: 0,
                wait,
                health: Health::default(),
            });
            let arrival = chance(1, machine, 0) % cluster.arrivals.as_nanos() as u64;
            this.plan(start + Duration::from_nanos(arrival), machine, Step::Want);
        }
        this
    }

    fn plan(&mut self, when: Instant, machine: usize, step: Step) {
        self.planned += 1;
        self.plan.push(Reverse((when, self.planned, machine, step)));
    }

    fn run(mut self) -> Outcome {
        while let Some(Reverse((now, _, machine, step))) = self.plan.pop() {
            self.step(now, machine, step);
        }
        Outcome {
            requests: self.server.seconds.iter().sum(),
            busiest: self.server.seconds.iter().copied().max().unwrap_or(0),
            compiles: self.compiles,
            late: self.late,
        }
    }

    fn step(&mut self, now: Instant, number: usize, step: Step) {
        let machine = &mut self.machines[number];
        let kernel = machine.kernel;
        match step {
            Step::Want => {
                machine.wait = Wait::new(now, DEADLINE, PATIENCE);
                match machine.health.is_to_be_asked(now) {
                    true => self.step(now, number, Step::Ask),
                    false => self.compile(now, number),
                }
            }
            Step::Ask => match self.in_time(now, number) {
                Some([_, answered]) if self.server.objects.contains(&kernel) => self.next(answered, number),
                Some([_, answered]) if self.machines[number].wait.is_to_be_claimed(answered) => {
                    self.plan(answered, number, Step::Claim);
                }
                Some([_, answered]) => self.wait(answered, number),
                None => self.compile(now + DEADLINE, number),
            },
            Step::Claim => {
                let Some([served, answered]) = self.in_time(now, number) else {
                    return self.compile(now + DEADLINE, number);
                };
                match self.server.claim(kernel, served) {
                    true => self.compile(answered, number),
                    false => self.wait(answered, number),
                }
            }
            Step::Compiled => {
                // Beside the program, which waits for nothing.
                let is_used = self.machines[number].health.is_to_be_used(now);
                if is_used && self.server.serve(now).is_some() {
                    self.server.objects.insert(kernel);
                }
                self.next(now, number);
            }
        }
    }

    fn wait(&mut self, now: Instant, number: usize) {
        match self.machines[number].wait.before_next(now) {
            Some(pause) => self.plan(now + pause, number, Step::Ask),
            None => self.compile(now, number),
        }
    }

    /// The answer, if it is there within the deadline.
    fn in_time(&mut self, now: Instant, number: usize) -> Option<[Instant; 2]> {
        let answer = self.server.serve(now);
        let trouble = match answer {
            Some(_) => Trouble::Late,
            None => Trouble::Failing,
        };
        let answer = answer.filter(|[_, answered]| *answered <= now + DEADLINE);
        let health = &mut self.machines[number].health;
        match answer {
            Some(_) => health.note_answer(),
            None => {
                self.late += 1;
                health.note_failure(now + DEADLINE, trouble);
            }
        }
        answer
    }

    fn compile(&mut self, now: Instant, number: usize) {
        let kernel = self.machines[number].kernel;
        self.compiles[kernel] += 1;
        let [shortest, more] = COMPILE;
        let takes = shortest + Duration::from_nanos(chance(2, number, kernel) % more.as_nanos() as u64);
        if chance(3, number, kernel) % 100 >= self.cluster.drop_outs {
            self.plan(now + takes, number, Step::Compiled);
        }
    }

    fn next(&mut self, now: Instant, number: usize) {
        let machine = &mut self.machines[number];
        machine.kernel += 1;
        if machine.kernel < KERNELS {
            self.plan(now + BETWEEN, number, Step::Want);
        }
    }
}

/// A number with a comma before every three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn ten_thousand_machines_compile_each_kernel_a_few_times() {
    let mut table = String::from(
        "| 10,000 machines start | compiles of a kernel, mean | most | requests | in the busiest second | too late |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for cluster in &CLUSTERS {
        let outcome = Simulation::new(cluster).run();
        let all: u64 = outcome.compiles.iter().sum();
        table += &format!(
            "| {} | {:.1} | {} | {} | {} | {} |\n",
            cluster.name,
            all as f64 / KERNELS as f64,
            grouped(outcome.compiles.iter().copied().max().unwrap_or(0)),
            grouped(outcome.requests),
            grouped(outcome.busiest),
            grouped(outcome.late),
        );
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dev/jit-cache.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&table),
        "docs/dev/jit-cache.md does not have this:\n{table}"
    );
}
