//! What long work shows while it lasts, on a terminal alone: a line on the error stream that says how far it
//! is and how long it has taken.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// What took at least so long leaves its line, with the time that it took.
const LONG: Duration = Duration::from_secs(1);

/// Does `work`, with `what` shown meanwhile. `work` may say how many of how many parts are done.
pub(crate) fn shown<T>(what: &str, work: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T) -> T {
    let bar = ProgressBar::no_length().with_prefix(what.to_owned());
    let style =
        |template| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style("{prefix}, {elapsed}"));
    bar.tick();
    bar.enable_steady_tick(Duration::from_millis(200));
    let done = work(&mut |part, parts| {
        if bar.length().is_none() {
            bar.set_style(style("{prefix} {wide_bar} {pos} of {len}, {elapsed}"));
        }
        bar.set_length(parts as u64);
        bar.set_position(part as u64);
    });
    if bar.elapsed() < LONG {
        bar.finish_and_clear();
    } else if bar.length().is_some() {
        bar.finish();
    } else {
        bar.abandon();
    }
    done
}
