//! The process as `liboffloom_jit.so` sees it, before a real Redis server: verdicts of other machines, what
//! is done about trouble, and how many requests a program with many variants takes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

mod machines;

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use machines::{FASTER, Machine, PATIENCE, Process, SLOWER, Server, image, judged, key, timed};
use offloom_abi::jit_remote::{Answer, Device, InBatch, Question};
use offloom_jit_cache::remote::{REST, Trouble};
use offloom_jit_cache::store::{KeyHash, Place};

/// A question that is waited for as long as need be.
fn fetch(value: u64) -> Question<'static> {
    Question::Fetch {
        hash: key(value).hash().0,
        deadline: 60_000,
        patience: 60_000,
    }
}

fn publish(value: u64) -> Question<'static> {
    Question::Publish {
        hash: key(value).hash().0,
    }
}

/// A machine that has put three images into the store, and what their launches took: of the first on its
/// processor, of the second on a GPU.
fn maker(server: &Server) -> Machine {
    let maker = Machine::new();
    maker.fill(3);
    let process = maker.start(server);
    for value in 0..3 {
        process.say(&publish(value));
    }
    process.judged(Device::Processor, 0, SLOWER);
    process.judged(Device::Gpu("NVIDIA A"), 1, FASTER);
    process.end();
    maker
}

#[test]
fn verdicts_travel_to_machines_with_such_a_device() {
    let mut server = Server::start();
    let maker = maker(&server);
    assert_eq!(server.names("object").len(), 3);
    assert_eq!(server.names("verdicts").len(), 2);

    // That of the processor comes with the list, in one request with it, and before anything that is asked
    // for by itself, which waits for the list.
    let reader = Machine::trusting(&maker);
    server.requests();
    let process = reader.start(&server);
    process.say(&fetch(0));
    assert_eq!(process.hear_of_verdicts(), 1);
    process.hear(|answer| *answer == Answer::Arrived);
    let requests = server.requests();
    assert_eq!(requests.get("mget"), Some(&2), "{requests:?}");
    assert_eq!(requests.get("get"), None, "{requests:?}");

    // What another GPU takes is not that of this one.
    process.expects(Device::Gpu("NVIDIA B"));
    process.expects(Device::Gpu("NVIDIA A"));
    assert_eq!(process.hear_of_verdicts(), 1);
    // Whether that had a file of its own before or not.
    assert_eq!(reader.load(1), Some(timed(Device::Gpu("NVIDIA A"), 1, FASTER)));
    process.end();
    assert_eq!(reader.load(0), Some(timed(Device::Processor, 0, SLOWER)));
    assert_eq!(reader.load(1), Some(timed(Device::Gpu("NVIDIA A"), 1, FASTER)));
    assert_eq!(reader.load(2), Some(image(2)));
}

#[test]
fn a_verdict_is_put_into_the_store_once() {
    let mut server = Server::start();
    let maker = maker(&server);
    for (times, puts) in [(SLOWER, None), (FASTER, Some(&1)), (FASTER, None)] {
        server.requests();
        let process = maker.start(&server);
        process.judged(Device::Processor, 0, times);
        process.end();
        assert_eq!(server.requests().get("set"), puts, "{times:?}");
    }
    let reader = Machine::trusting(&maker);
    let process = reader.start(&server);
    assert_eq!(process.hear_of_verdicts(), 1);
    process.end();
    // Who has no private key puts nothing there.
    server.requests();
    let process = reader.start(&server);
    process.judged(Device::Processor, 2, SLOWER);
    process.end();
    assert_eq!(server.requests().get("set"), None);
}

#[test]
fn what_a_program_said_last_is_heard_also_if_it_leaves_answers_unread() {
    let mut server = Server::start();
    let machine = Machine::new();
    machine.fill(1);
    let process = machine.start(&server);
    process.wait_for_an_answer();
    process.end_while_stopped(&judged(Device::Processor, 0, FASTER));
    assert_eq!(server.names("verdicts").len(), 1);
}

#[test]
fn verdicts_that_are_altered_moved_or_of_strangers_are_refused() {
    let mut server = Server::start();
    let maker = maker(&server);
    let reader = Machine::trusting(&maker);
    // Under the name of another device.
    let process = maker.start(&server);
    process.judged(Device::Gpu("NVIDIA B"), 1, SLOWER);
    process.end();
    let names = server.names("verdicts");
    for name in &names[1..] {
        let _: () = server.ask(&["COPY", &names[0], name, "REPLACE"]);
    }
    let process = reader.start(&server);
    for device in [
        Device::Processor,
        Device::Gpu("NVIDIA A"),
        Device::Gpu("NVIDIA B"),
    ] {
        process.expects(device);
    }
    // One of the three names is its own. That of the processor is asked for twice.
    for _ in 0..2 {
        process.hear(
            |answer| matches!(answer, Answer::Refused(reason) if reason.contains("for another object")),
        );
    }
    process.end();
    // Altered.
    for name in &names {
        let _: i64 = server.ask(&["SETRANGE", name, "200", "altered!"]);
    }
    let process = reader.start(&server);
    process.hear_a_refusal_for("signature is wrong");
    process.end();
    // Signed by nobody who is trusted; what is not trusted is replaced by who is.
    let stranger = Machine::new();
    stranger.fill(1);
    let process = stranger.start(&server);
    process.judged(Device::Processor, 0, FASTER);
    process.end();
    let process = reader.start(&server);
    process.hear_a_refusal_for("not trusted here");
    process.end();
    let process = maker.start(&server);
    process.judged(Device::Processor, 2, FASTER);
    process.end();
    let process = reader.start(&server);
    assert_eq!(process.hear_of_verdicts(), 1);
    process.end();
}

/// Has a machine ask for an object, make it, and put it into the store. Why what it was given is not used.
fn make_anew(machine: &Machine, server: &Server, value: u64) -> String {
    let process = machine.start(server);
    process.say(&fetch(value));
    let refusal = process.hear_a_refusal();
    machine.store().publish(&key(value), &image(value)).unwrap();
    process.say(&publish(value));
    process.end();
    refusal
}

#[test]
fn what_cannot_be_used_is_replaced_by_who_makes_it_anew_but_not_what_another_key_has_signed() {
    let mut server = Server::start();
    let maker = maker(&server);
    let lists = server.names("list");
    let _: i64 = server.ask(&["DEL", &lists[0]]);
    let altered = format!("offloom/1/object/{}", key(0).hash());
    let _: i64 = server.ask(&["SETRANGE", &altered, "500", "altered!"]);
    let heir = Machine::trusting(&maker);
    heir.command(&["key-new", "heir"]);
    assert!(make_anew(&heir, &server, 0).contains("signature is wrong"));
    let reader = Machine::trusting(&maker);
    reader.command(&["key-trust", heir.keys().join("heir.pub").to_str().unwrap()]);
    // Who does not trust the maker's key leaves alone what others may use.
    let stranger = Machine::new();
    assert!(make_anew(&stranger, &server, 1).contains("not trusted here"));
    // Its list is in the place of theirs: lists only save time.
    let lists = server.names("list");
    let _: i64 = server.ask(&["DEL", &lists[0]]);
    let process = reader.start(&server);
    for value in [0, 1] {
        process.say(&fetch(value));
        process.hear(|answer| {
            assert!(!matches!(answer, Answer::Refused(_)), "{answer:?}");
            *answer == Answer::Arrived
        });
    }
    process.end();
}

#[test]
fn what_the_store_does_not_take_is_told() {
    let mut server = Server::start();
    let machine = Machine::new();
    machine.fill(1);
    let _: String = server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let process = machine.start(&server);
    process.say(&publish(0));
    process.hear(|answer| matches!(answer, Answer::NotPut(reason) if reason.contains("OOM")));
    process.end();
}

#[test]
fn a_program_is_told_when_answers_are_to_be_expected() {
    let machine = Machine::new();
    let nothing = format!("redis+unix://{}", machine.0.path().join("nothing").display());
    let server = Server::start();
    for url in [server.url(), nothing] {
        let process = machine.start_at(&url);
        process.hear(|answer| *answer == Answer::Ready);
        process.end();
    }
}

/// The URL of what takes itself for a Redis server and answers each connection so.
fn store(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            std::thread::spawn(move || answer(client));
        }
    });
    url
}

/// Ends the program. How long the process takes to end then, well or not.
fn end_in_any_way(process: Process) -> Duration {
    let begun = Instant::now();
    drop(process.socket);
    let mut process = process.process;
    process.wait().unwrap();
    begun.elapsed()
}

#[test]
fn an_answer_that_comes_byte_by_byte_does_not_keep_the_process_after_the_program() {
    let machine = Machine::new();
    let url = store(|mut client| {
        let mut asked = vec![0; 1 << 16];
        let _ = client.read(&mut asked);
        let _ = client.write_all(b"$1000000\r\n");
        while client.write_all(b"x").is_ok() {
            sleep(Duration::from_millis(5));
        }
    });
    let process = machine.start_at(&url);
    process.say(&fetch(0));
    process.hear(|answer| *answer == Answer::Ready);
    sleep(Duration::from_millis(200));
    let took = end_in_any_way(process);
    // At this pace the answer takes more than an hour.
    assert!(took < 10 * PATIENCE, "{took:?}");
}

#[test]
fn a_store_that_is_slow_does_not_keep_the_process_after_the_program() {
    const EACH: Duration = Duration::from_secs(2);
    const VARIANTS: u64 = 60;
    let machine = Machine::new();
    machine.fill(VARIANTS);
    // Answers each command with what Redis says to SET.
    let url = store(|mut client| {
        let mut asked = vec![0; 1 << 16];
        while client.read(&mut asked).is_ok_and(|length| length > 0) {
            sleep(EACH);
            if client.write_all(b"+OK\r\n").is_err() {
                return;
            }
        }
    });
    let process = machine.start_at(&url);
    for value in 0..VARIANTS {
        process.say(&publish(value));
    }
    let took = end_in_any_way(process);
    // Twenty seconds, and what a request may take.
    assert!(took < EACH * VARIANTS as u32 / 2, "{took:?}");
}

/// A question that nobody waits for the answer of.
fn beside(value: u64) -> Question<'static> {
    Question::Fetch {
        hash: key(value).hash().0,
        deadline: 0,
        patience: 0,
    }
}

#[test]
fn what_nobody_waits_for_the_store_is_asked_also_of_what_is_here() {
    let mut server = Server::start();
    let machine = maker(&server);
    let process = machine.start(&server);
    server.requests();
    process.say(&beside(0));
    process.hear(|answer| *answer == Answer::Arrived);
    assert_eq!(server.requests().get("get"), Some(&1));
    process.end();
}

#[test]
fn three_failures_are_told_to_other_processes_also_after_the_program() {
    for (failures, is_out_of_order) in [(2, false), (3, true)] {
        let machine = Machine::new();
        let url = format!("redis+unix://{}", machine.0.path().join("nothing").display());
        let process = machine.start_at(&url);
        for value in 0..failures {
            process.say(&beside(value));
        }
        process.end();
        let trouble = Trouble::Failing.name(&url);
        assert_eq!(machine.store().is_out_of_order(&trouble, REST), is_out_of_order);
    }
}

#[test]
fn five_hundred_variants_come_in_eight_requests() {
    const VARIANTS: u64 = 500;
    let mut server = Server::start();
    let maker = Machine::new();
    maker.fill(VARIANTS);
    let process = maker.start(&server);
    for value in 0..VARIANTS {
        process.say(&publish(value));
        // No more may wait at a time than a few hundred.
        while value % 100 == 99 && server.names("object").len() as u64 <= value {
            sleep(Duration::from_millis(1));
        }
    }
    process.end();
    assert_eq!(server.names("object").len() as u64, VARIANTS);

    let reader = Machine::trusting(&maker);
    server.requests();
    let process = reader.start(&server);
    let mut brought = 0;
    process.hear(|answer| {
        if let Answer::Brought { batch, objects } = answer {
            brought += objects.len() as u64;
            assert!(is_there(&reader, batch, objects));
        }
        brought == VARIANTS
    });
    // Whatever is asked for meanwhile waits for these, and asks the store for nothing.
    for value in (0..VARIANTS).rev() {
        process.say(&fetch(value));
        process.hear(|answer| *answer == Answer::Arrived);
    }
    let requests = server.requests();
    let asked: HashMap<_, _> = requests.iter().filter(|(name, _)| name.contains("get")).collect();
    assert_eq!(
        asked,
        HashMap::from([(&"mget".to_owned(), &(1 + VARIANTS.div_ceil(64)))])
    );
    process.end();
    for value in 0..VARIANTS {
        assert_eq!(reader.load(value), Some(image(value)));
    }
    let being_written = std::fs::read_dir(reader.0.path().join("cache/v2/temporary")).unwrap();
    assert_eq!(being_written.count(), 0);
}

/// Whether a program that is told of these has them: from one file, or each from its own.
fn is_there(machine: &Machine, batch: &str, objects: &[InBatch]) -> bool {
    let store = machine.store();
    objects.iter().all(|object| {
        let place = Place {
            batch: batch.into(),
            offset: object.offset,
            size: object.size,
        };
        let hash = KeyHash(object.hash);
        store.load_from_batch(hash, &place).is_some() || store.is_in_private_layer(hash)
    })
}
