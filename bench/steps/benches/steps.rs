//! How long each pure step takes; run by `make bench-micro`.
#![allow(clippy::disallowed_methods, reason = "it measures")]

#[cfg(redrive_bench)]
mod steps {
    use std::time::Instant;

    use bytes::Bytes;
    use divan::Bencher;
    use divan::counter::ItemsCount;
    use redrive::steps::Batch;

    const MESSAGES: [usize; 3] = [10, 1000, 5500];

    fn event(messages: usize) -> Bytes {
        redrive_bench::event::Batch { messages, body: 200, fail_every: 0 }.event().into()
    }

    #[divan::bench(args = MESSAGES)]
    fn parse(bencher: Bencher<'_, '_>, messages: usize) {
        let (event, deadline) = (event(messages), Instant::now());
        bencher.counter(ItemsCount::new(messages)).bench(|| Batch::parse(divan::black_box(&event), deadline));
    }

    #[divan::bench(args = MESSAGES)]
    fn plan(bencher: Bencher<'_, '_>, messages: usize) {
        let event = event(messages);
        let batch = Batch::parse(&event, Instant::now());
        bencher.counter(ItemsCount::new(messages)).bench(|| batch.plan());
    }

    #[divan::bench(args = MESSAGES)]
    fn decide(bencher: Bencher<'_, '_>, messages: usize) {
        let event = event(messages);
        let mut worked = Batch::parse(&event, Instant::now()).work();
        bencher.counter(ItemsCount::new(messages)).bench_local(|| worked.decide());
    }

    #[divan::bench(args = MESSAGES)]
    fn report(bencher: Bencher<'_, '_>, messages: usize) {
        let event = event(messages);
        let mut worked = Batch::parse(&event, Instant::now()).work();
        worked.decide();
        bencher.counter(ItemsCount::new(messages)).bench(|| worked.report());
    }
}

fn main() {
    #[cfg(redrive_bench)]
    divan::main();
}
