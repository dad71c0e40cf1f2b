//! Each fault is counted as itself, and a run without one as none.

use super::*;

/// A run whose messages all end as planned.
struct Run {
    plan: Plan,
    sends: Vec<Sent>,
    workers: Vec<Worker>,
    letters: Vec<Letter>,
    left: u64,
}

/// A message of a job, of the FIFO queue or not.
fn one(plan: &Plan, job: Job, is_fifo: bool) -> Planned {
    let is_it = |each: &&Planned| each.job == job && each.group.is_some() == is_fifo;
    plan.messages.iter().find(is_it).expect("each queue has each job").clone()
}

impl Run {
    fn perfect() -> Self {
        let plan = Plan::new(1_000, 2);
        let sends = vec![Sent { calls: 1, is_acknowledged: true }; plan.messages.len()];
        let mut run = Self { plan, sends, workers: vec![Worker::default(); 3], letters: vec![], left: 0 };
        for planned in run.plan.messages.clone() {
            let began = 100_000 * planned.number as u64;
            let last = match planned.job {
                Job::Failed => run.plan.max_receive_count,
                Job::Retried => 2,
                Job::Done | Job::Slow | Job::Rejected => 1,
            };
            for attempt in 1..=last {
                let fails = planned.job.becomes_letter() || attempt < last;
                run.deliver(0, &planned, attempt, began + 10_000 * u64::from(attempt), Some(!fails));
            }
            if planned.job.becomes_letter() {
                run.letters.push(letter(&planned));
            }
        }
        run
    }

    /// Adds a delivery that takes as long as its handler should, and is settled if it ends.
    fn deliver(&mut self, worker: usize, planned: &Planned, attempt: u32, began: u64, ends: Option<bool>) {
        let id = format!("m-{}", planned.number);
        let took = millis(if planned.job == Job::Slow { SLOW } else { QUICK });
        let steps = &mut self.workers[worker].steps;
        let mut step = |at, what| steps.push(Step { at, id: id.clone(), attempt, what });
        let attribute = Some(planned.number.to_string());
        let group = planned.group.map(|group| group.to_string());
        step(began, StepKind::Began { body: planned.body(), attribute, group });
        if let Some(succeeds) = ends {
            step(began + took, StepKind::Ended { succeeds });
            step(began + took, StepKind::Settled { outcome: String::new() });
        }
    }

    /// The steps of a message, by the first worker.
    fn steps(&mut self, planned: &Planned) -> impl Iterator<Item = &mut Step> {
        let id = format!("m-{}", planned.number);
        self.workers[0].steps.iter_mut().filter(move |step| step.id == id)
    }

    fn forget(&mut self, planned: &Planned) {
        let id = format!("m-{}", planned.number);
        self.workers[0].steps.retain(|step| step.id != id);
    }

    fn tally(&self) -> Tally {
        let Self { plan, sends, workers, letters, left } = self;
        tally(&Evidence { plan, sends, workers, letters, left: *left })
    }
}

fn letter(planned: &Planned) -> Letter {
    let (number, is_fifo) = (planned.number, planned.group.is_some());
    Letter { id: format!("l-{number}"), body: planned.body(), attribute: Some(number.to_string()), is_fifo }
}

#[test]
fn a_run_without_faults_has_none() {
    let tally = Run::perfect().tally();
    assert!(tally.faults.is_empty(), "{:?}", tally.faults);
    assert_eq!(
        (tally.attempted, tally.acknowledged, tally.recovered, tally.duplicated),
        (1_000, 1_000, 0, 0)
    );
    assert_eq!(tally.handled + tally.dead_lettered, 1_000);
    assert_eq!(tally.dead_lettered, Run::perfect().letters.len());
}

/// What a kill or a lost answer explains is counted, and is no fault.
#[test]
fn duplicates_with_a_cause_are_not_faults() {
    let mut run = Run::perfect();
    run.workers[1].was_killed = true;
    for is_fifo in [false, true] {
        let planned = one(&run.plan, Job::Done, is_fifo);
        let began = 100_000 * planned.number as u64;
        // It succeeded and was killed before SQS confirmed the delete.
        run.deliver(1, &planned, 1, began, Some(true));
        run.workers[1].steps.pop();
        run.steps(&planned).for_each(|step| step.attempt = 2);
    }
    assert_eq!(
        (run.tally().duplicated, run.tally().faults.is_empty()),
        (2, true),
        "{:?}",
        run.tally().faults
    );

    let mut run = Run::perfect();
    let planned = one(&run.plan, Job::Done, false);
    run.sends[planned.number].calls = 2;
    run.deliver(2, &planned, 1, 100_000 * planned.number as u64 + 1, Some(true));
    run.workers[2].steps.iter_mut().for_each(|step| step.id = "its copy".to_owned());
    assert_eq!(
        (run.tally().duplicated, run.tally().faults.is_empty()),
        (1, true),
        "{:?}",
        run.tally().faults
    );
    run.sends[planned.number] = Sent { calls: 5, is_acknowledged: false };
    assert_eq!((run.tally().acknowledged, run.tally().recovered), (999, 1));
}

/// A kill explains a second delivery of the same message, and not a copy with another id.
#[test]
fn a_copy_is_a_fault_although_a_worker_was_killed() {
    let mut run = Run::perfect();
    run.workers[1].was_killed = true;
    let planned = one(&run.plan, Job::Done, false);
    let began = 100_000 * planned.number as u64;
    run.deliver(1, &planned, 1, began, None);
    run.steps(&planned).for_each(|step| step.attempt = 2);
    assert!(run.tally().faults.is_empty());
    run.deliver(2, &planned, 1, began, Some(true));
    run.workers[2].steps.iter_mut().for_each(|step| step.id = "its copy".to_owned());
    let faults = run.tally().faults;
    assert_eq!(faults.duplicated_without_cause.into_iter().collect::<Vec<_>>(), [planned.number]);
}

/// One delivery that a kill cut off explains one more success, and no third one.
#[test]
fn a_kill_explains_one_delivery() {
    let mut run = Run::perfect();
    run.workers[1].was_killed = true;
    let planned = one(&run.plan, Job::Done, false);
    let began = 100_000 * planned.number as u64;
    run.deliver(1, &planned, 1, began, Some(true));
    run.workers[1].steps.pop();
    run.steps(&planned).for_each(|step| step.attempt = 2);
    assert!(run.tally().faults.is_empty());
    run.deliver(2, &planned, 3, began + 50_000, Some(true));
    let faults = run.tally().faults;
    assert_eq!(faults.duplicated_without_cause.into_iter().collect::<Vec<_>>(), [planned.number]);
}

#[test]
fn receive_counts_begin_with_one_and_reach_the_redrive_policy() {
    let plants: [fn(&mut Run) -> usize; 2] = [
        |run| {
            let planned = one(&run.plan, Job::Done, false);
            run.steps(&planned).for_each(|step| step.attempt = 10);
            planned.number
        },
        |run| {
            let planned = one(&run.plan, Job::Failed, false);
            let id = format!("m-{}", planned.number);
            run.workers[0].steps.retain(|step| step.id != id || step.attempt <= 3);
            planned.number
        },
    ];
    for plant in plants {
        let mut run = Run::perfect();
        let number = plant(&mut run);
        let faults = run.tally().faults;
        assert_eq!(faults.wrong_receive_count.iter().copied().collect::<Vec<_>>(), [number], "{faults:?}");
    }
}

#[test]
fn a_message_that_sqs_never_accepted_is_a_fault() {
    let mut run = Run::perfect();
    let planned = one(&run.plan, Job::Done, true);
    run.forget(&planned);
    run.sends[planned.number] = Sent { calls: 5, is_acknowledged: false };
    let faults = Faults { not_accepted: [planned.number].into(), ..Faults::default() };
    assert_eq!(run.tally().faults, faults);
}

/// A fault, and what it does to a run.
type Fault = (&'static str, fn(&mut Run) -> usize, fn(&Faults) -> Vec<usize>);

#[test]
fn each_fault_is_counted_as_itself() {
    let lost = |faults: &Faults| faults.lost.iter().copied().collect();
    let again = |faults: &Faults| faults.duplicated_without_cause.iter().copied().collect();
    let faults: [Fault; 10] = [
        (
            "never delivered",
            |run| {
                let planned = one(&run.plan, Job::Done, false);
                run.forget(&planned);
                planned.number
            },
            lost,
        ),
        (
            "its handler never succeeded",
            |run| {
                let planned = one(&run.plan, Job::Slow, true);
                run.steps(&planned).for_each(|step| {
                    if let StepKind::Ended { succeeds } = &mut step.what {
                        *succeeds = false
                    }
                });
                planned.number
            },
            lost,
        ),
        (
            "no letter",
            |run| {
                let planned = one(&run.plan, Job::Failed, false);
                run.letters.retain(|letter| letter.body != planned.body());
                planned.number
            },
            lost,
        ),
        (
            "handled twice by workers that live",
            |run| {
                let planned = one(&run.plan, Job::Done, false);
                run.deliver(2, &planned, 2, 100_000 * planned.number as u64 + 50_000, Some(true));
                planned.number
            },
            again,
        ),
        (
            "handled by two workers at a time",
            |run| {
                let planned = one(&run.plan, Job::Slow, false);
                run.deliver(2, &planned, 2, 100_000 * planned.number as u64 + 12_000, None);
                planned.number
            },
            again,
        ),
        (
            "two letters",
            |run| {
                let planned = one(&run.plan, Job::Rejected, false);
                run.letters.push(letter(&planned));
                planned.number
            },
            again,
        ),
        (
            "before those in front of it",
            |run| {
                let planned = one(&run.plan, Job::Done, true);
                let next = run
                    .plan
                    .messages
                    .iter()
                    .rfind(|each| each.group == planned.group)
                    .expect("it is there")
                    .clone();
                run.steps(&next).for_each(|step| step.at = 5_000);
                next.number
            },
            |faults| faults.out_of_order.iter().copied().filter(|number| *number > 900).collect(),
        ),
        (
            "before its delay was over",
            |run| {
                let planned = one(&run.plan, Job::Retried, false);
                let early = 100_000 * planned.number as u64 + 17_000;
                run.steps(&planned).filter(|step| step.attempt == 2).for_each(|step| step.at = early);
                planned.number
            },
            |faults| faults.before_delay.iter().copied().collect(),
        ),
        (
            "the same receive count again",
            |run| {
                let planned = one(&run.plan, Job::Retried, true);
                run.steps(&planned).for_each(|step| step.attempt = 1);
                planned.number
            },
            |faults| faults.wrong_receive_count.iter().copied().collect(),
        ),
        (
            "a letter of a message that succeeds",
            |run| {
                let planned = one(&run.plan, Job::Done, true);
                run.letters.push(letter(&planned));
                run.forget(&planned);
                planned.number
            },
            |faults| faults.dead_lettered_by_mistake.iter().copied().collect(),
        ),
    ];
    for (name, plant, found) in faults {
        let mut run = Run::perfect();
        let number = plant(&mut run);
        let faults = run.tally().faults;
        assert_eq!(found(&faults), [number], "{name}: {faults:?}");
    }
}

#[test]
fn messages_that_nobody_sent_or_that_changed_are_unexpected() {
    let changes: [fn(&mut Step); 4] = [
        |step| {
            if let StepKind::Began { body, .. } = &mut step.what {
                body.push(' ')
            }
        },
        |step| {
            if let StepKind::Began { group, .. } = &mut step.what {
                *group = Some("another".to_owned());
            }
        },
        |step| {
            if let StepKind::Began { attribute, .. } = &mut step.what {
                *attribute = None
            }
        },
        |step| {
            if let StepKind::Began { body, .. } = &mut step.what {
                *body = "not ours".to_owned()
            }
        },
    ];
    for change in changes {
        let mut run = Run::perfect();
        let planned = one(&run.plan, Job::Done, false);
        run.steps(&planned).for_each(change);
        let faults = run.tally().faults;
        assert_eq!(faults.unexpected.into_iter().collect::<Vec<_>>(), [format!("m-{}", planned.number)]);
    }
    let changed_letters: [fn(&mut Letter); 3] = [
        |letter| letter.body.push(' '),
        |letter| letter.attribute = None,
        |letter| letter.is_fifo = !letter.is_fifo,
    ];
    for change in changed_letters {
        let mut run = Run::perfect();
        change(&mut run.letters[0]);
        let id = run.letters[0].id.clone();
        assert_eq!(run.tally().faults.unexpected.into_iter().collect::<Vec<_>>(), [id]);
    }
    let mut run = Run::perfect();
    run.left = 1;
    assert_eq!(run.tally().faults, Faults { left_in_queue: 1, ..Faults::default() });
}
