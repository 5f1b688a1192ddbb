//! The worker process, talked to as `liboffloom_jit.so` talks to it.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test whose tools or worker fail has failed"
)]

mod busy;
mod device_code;
mod gpu_between;
mod late;
mod spills;
mod worker;
