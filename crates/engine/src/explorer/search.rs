//! Visits every state, shortest paths first as long as memory allows.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::Bounds;
use super::REMOVED;
use super::world::{Step, World};

/// States that wait to be visited before the latest ones are first: their worlds have about 10 KB each.
const MOST_WAITING: usize = 150_000;
/// Everything must come to rest from one in this many states, once nothing goes wrong any more.
const PROBED: usize = 8;
/// The steps that this may take, and the time.
const STEPS_TO_REST: usize = 600;
const TIME_TO_REST: Duration = Duration::from_secs(3_600);

/// A path to a violation, the shortest one within small bounds.
#[derive(Debug)]
pub(super) struct Counterexample {
    pub(super) bounds: &'static Bounds,
    pub(super) steps: Vec<Step>,
    pub(super) violation: String,
}

struct Visited {
    from: u32,
    step: Option<Step>,
    depth: u32,
}

/// Visits all states, or about `most`, and returns their number.
pub(super) fn explore(bounds: &'static Bounds, most: usize) -> Result<usize, Counterexample> {
    let first = World::new(bounds);
    let mut numbers = HashMap::from([(first.print(), 0_u32)]);
    let mut visited = vec![Visited { from: 0, step: None, depth: 0 }];
    let mut ends = Vec::new();
    let mut ways: Vec<(u32, u32)> = Vec::new();
    let mut next = VecDeque::from([(0_u32, first)]);
    let example = |visited: &[Visited], from: u32, step: Option<Step>, violation| {
        let mut steps: Vec<_> = step.into_iter().collect();
        let mut at = &visited[from as usize];
        while let Some(step) = at.step {
            steps.push(step);
            at = &visited[at.from as usize];
        }
        steps.reverse();
        Counterexample { bounds, steps, violation }
    };
    loop {
        let waiting = next.len();
        let first = if waiting > MOST_WAITING { next.pop_back() } else { next.pop_front() };
        let Some((from, world)) = first else { break };
        if visited.len() >= most {
            println!("{}: the first {} states", bounds.name, visited.len());
            return Ok(visited.len());
        }
        if (from as usize).is_multiple_of(PROBED)
            && !REMOVED.get()
            && let Err(why) = comes_to_rest(&world)
        {
            return Err(example(&visited, from, None, why));
        }
        if world.is_over() {
            ends.push(from);
            continue;
        }
        let steps = world.steps();
        if steps.is_empty() {
            return Err(example(&visited, from, None, "nothing can happen any more".to_owned()));
        }
        for step in steps {
            let after = match after(&world, step) {
                Ok(after) => after,
                Err(violation) => return Err(example(&visited, from, Some(step), violation)),
            };
            let number = visited.len() as u32;
            let known = *numbers.entry(after.print()).or_insert(number);
            ways.push((known, from));
            if known == number {
                let depth = visited[from as usize].depth + 1;
                visited.push(Visited { from, step: Some(step), depth });
                next.push_back((number, after));
            }
        }
        if from > 0 && from.is_multiple_of(1 << 19) {
            println!("{}: {} states so far", bounds.name, visited.len());
        }
    }
    if let Some(stranded) = stranded(visited.len(), &ends, &mut ways) {
        return Err(example(&visited, stranded, None, "no end can be reached any more".to_owned()));
    }
    let longest = visited.last().map_or(0, |last| last.depth as usize);
    let (states, steps) = (visited.len(), ways.len());
    println!("{}: {states} states, {steps} steps, the longest way has {longest}", bounds.name);
    Ok(states)
}

/// Checks that everything comes to rest from here by itself, if nothing goes wrong any more: each message is done or has a
/// letter, and no call is under way.
fn comes_to_rest(world: &World) -> Result<(), String> {
    let mut world = world.without_faults();
    let until = world.now + TIME_TO_REST;
    for _ in 0..STEPS_TO_REST {
        if world.is_over() {
            return Ok(());
        }
        let Some(step) = world.good_step() else {
            return Err("nothing can happen any more, once nothing goes wrong".to_owned());
        };
        world = after(&world, step).map_err(|violation| format!("once nothing goes wrong: {violation}"))?;
        if world.now > until {
            break;
        }
    }
    Err(format!(
        "once nothing goes wrong, it does not come to rest in {:?}",
        world.now + TIME_TO_REST - until
    ))
}

fn after(world: &World, step: Step) -> Result<World, String> {
    let mut after = world.clone();
    let taken = catch_unwind(AssertUnwindSafe(|| after.take(step)));
    taken.unwrap_or_else(|panic| Err(format!("a panic: {}", text(&*panic))))?;
    Ok(after)
}

pub(super) fn text(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?")
}

/// Returns the first state from which no end can be reached, if there is one. It follows the paths back from the ends.
fn stranded(states: usize, ends: &[u32], ways: &mut [(u32, u32)]) -> Option<u32> {
    ways.sort_unstable();
    let mut is_good = vec![false; states];
    let mut open = ends.to_vec();
    while let Some(state) = open.pop() {
        if std::mem::replace(&mut is_good[state as usize], true) {
            continue;
        }
        let start = ways.partition_point(|(to, _)| *to < state);
        open.extend(ways[start..].iter().take_while(|(to, _)| *to == state).map(|(_, from)| *from));
    }
    is_good.iter().position(|is_good| !is_good).map(|state| state as u32)
}

/// Takes the steps again. Returns the violation, if there is one, and a line for each step and what it caused.
pub(super) fn replay(bounds: &'static Bounds, steps: &[Step]) -> (Option<String>, Vec<String>) {
    let mut world = World::new(bounds);
    let mut lines = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if !world.steps().contains(step) {
            return (None, lines);
        }
        lines.push(format!("{:>2}. {:>9?} {}", number + 1, world.now, world.words(*step)));
        world.log = Some(Vec::new());
        let taken = catch_unwind(AssertUnwindSafe(|| world.take(*step)));
        let taken = taken.unwrap_or_else(|panic| Err(format!("a panic: {}", text(&*panic))));
        lines.extend(world.log.iter().flatten().map(|line| format!("                {line}")));
        if let Err(violation) = taken {
            return (Some(violation), lines);
        }
    }
    (None, lines)
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, lines) = replay(self.bounds, &self.steps);
        write!(f, "{}:\n{}\n=> {}", self.bounds.name, lines.join("\n"), self.violation)
    }
}
