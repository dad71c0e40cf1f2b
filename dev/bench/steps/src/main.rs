//! `steps STEP MESSAGES TIMES` runs one pure step several times, for `make bench ONLY=instructions` to count.
#![allow(clippy::disallowed_methods, reason = "it measures")]

#[cfg(redrive_bench)]
fn main() {
    use std::hint::black_box;
    use std::time::Instant;

    use bytes::Bytes;
    use redrive::steps::Batch;

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [step, messages, times] = &arguments[..] else { panic!("steps STEP MESSAGES TIMES") };
    let messages = messages.parse().expect("a number of messages");
    let times: usize = times.parse().expect("a number of times");
    let event: Bytes = redrive_bench::event::Batch { messages, body: 200, fail_every: 0 }.event().into();
    let deadline = Instant::now();
    let batch = Batch::parse(&event, deadline);
    match step.as_str() {
        "parse" => {
            for _ in 0..times {
                black_box(Batch::parse(black_box(&event), deadline));
            }
        }
        "plan" => {
            for _ in 0..times {
                black_box(batch.plan());
            }
        }
        "decide" => {
            let mut worked = batch.work();
            for _ in 0..times {
                black_box(worked.decide());
            }
        }
        "report" => {
            let mut worked = batch.work();
            worked.decide();
            for _ in 0..times {
                black_box(worked.report());
            }
        }
        step => panic!("{step} is none of parse, plan, decide and report"),
    }
}

#[cfg(not(redrive_bench))]
fn main() {
    panic!("build it by `make bench ONLY=instructions`");
}
