//! Reads the attributes of all queues, and the metrics and tags of dead-letter queues.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, SystemTime};

use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{MetricDataQuery, MetricDataResult};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use redrive_sqs::queue_name;

use super::facts::{Details, PlaceFacts};
use super::places::Reached;
use crate::aws::{Aws, DescribeError};
use crate::counted::counted;
use crate::deployed::{MOST, Unseen, list_queues};
use crate::find::Queue;
use crate::output::Progress;
use crate::sqs::{OLDEST, RECENT, VISIBLE, maximum_each_minute};

/// Number of concurrent calls.
const AT_ONCE: usize = 32;

/// Attempts for each call. With many queues, AWS may throttle for minutes.
const ATTEMPTS: u32 = 8;

/// Time span of the metrics, a little more than an hour.
const WINDOW: Duration = Duration::from_secs(65 * 60);

/// Queues in a call, with two queries for each.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html>
const QUEUES_A_CALL: usize = 250;

/// Most pages of an answer. 250 queues fill less than a third of one.
const PAGES: usize = 4;

/// Selects the dead-letter queues with details.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) owner_tag: &'a str,
    pub(crate) with_empty: bool,
}

/// Reads the facts, which include the failures.
pub(crate) async fn read(places: &[Reached], wanted: Wanted<'_>) -> Vec<PlaceFacts> {
    let progress = Progress::spinner("{spinner} {msg} ({elapsed})");
    let mut facts = queues(places, &progress).await;
    progress.set_message("reading metrics and tags");
    let details = places.iter().zip(&facts).map(|(reached, facts)| async {
        match &reached.aws {
            Ok(aws) => details(aws, facts, wanted).await,
            Err(_) => Default::default(),
        }
    });
    let details = join_all(details).await;
    for (facts, (details, unknown)) in facts.iter_mut().zip(details) {
        (facts.details, facts.unknown) = (details, unknown);
    }
    facts
}

/// Reads all queues, each once, and those that redrive policies name.
pub(crate) async fn queues(places: &[Reached], progress: &Progress) -> Vec<PlaceFacts> {
    progress.set_message("listing the queues");
    let listed = join_all(places.iter().map(|reached| async {
        match &reached.aws {
            Ok(aws) => list_queues(aws).await,
            Err(error) => Err(anyhow::anyhow!("{error:#}")),
        }
    }));
    let (mut seen, mut urls, mut failures) = (HashSet::new(), Vec::new(), Vec::new());
    for (place, listed) in listed.await.into_iter().enumerate() {
        let mut unseen = Unseen::default();
        match listed {
            Ok((listed, is_cut)) => {
                let region = places[place].aws.as_ref().map_or("", Aws::region);
                // Two profiles may have the same account.
                urls.extend(
                    listed
                        .into_iter()
                        .filter(|url| seen.insert((region, url.clone())))
                        .map(|url| (place, url)),
                );
                if is_cut {
                    unseen.add(MOST.note("other queues"));
                }
            }
            Err(error) => unseen.add(format!("{error:#}")),
        }
        failures.push(unseen);
    }
    progress.set_message(format!("reading {}", counted(urls.len(), "queue")));
    let mut facts: Vec<PlaceFacts> = places
        .iter()
        .map(|reached| PlaceFacts {
            place: reached.name.clone(),
            profile: reached.profile.clone(),
            ..PlaceFacts::default()
        })
        .collect();
    let mut notes: Vec<Vec<(String, Unseen)>> = facts.iter().map(|_| vec![]).collect();
    let patient = |reached: &Reached| Some(reached.aws.as_ref().ok()?.with_attempts(ATTEMPTS));
    let patient: Vec<Option<Aws>> = places.iter().map(patient).collect();
    let read = stream::iter(urls).map(|(place, url)| {
        let aws = patient[place].as_ref();
        async move {
            // A queue that was deleted meanwhile is left out.
            let found = Queue::find_if_exists(aws?, &url).await.transpose()?;
            Some((place, url, found))
        }
    });
    let mut read = read.buffered(AT_ONCE);
    while let Some(found) = read.next().await {
        match found {
            Some((place, _, Ok(queue))) => facts[place].queues.push(queue),
            Some((place, url, Err(error))) => {
                let mut unseen = Unseen::default();
                unseen.add(format!("{error:#}"));
                notes[place].push((queue_name(&url).to_owned(), unseen));
            }
            None => (),
        }
    }
    drop(read);
    for ((facts, notes), mut unseen) in facts.iter_mut().zip(notes).zip(failures) {
        unseen.fold(notes);
        facts.failures = unseen.0;
    }
    add_named(places, &mut facts).await;
    facts
}

/// Adds dead-letter queues that are named but not listed, because a list may be incomplete.
async fn add_named(places: &[Reached], facts: &mut [PlaceFacts]) {
    let known: BTreeSet<String> =
        facts.iter().flat_map(|facts| facts.queues.iter().map(|queue| queue.arn.clone())).collect();
    for (reached, facts) in places.iter().zip(facts) {
        let Ok(aws) = &reached.aws else { continue };
        let missing: Vec<String> =
            facts.targets().into_iter().filter(|arn| !known.contains(arn) && facts.covers(arn)).collect();
        let read = stream::iter(missing).map(|arn| async { (Queue::find(aws, &arn).await, arn) });
        let read: Vec<_> = read.buffered(AT_ONCE).collect().await;
        for (found, arn) in read {
            match found {
                Ok(queue) => facts.queues.push(queue),
                Err(error) => drop(facts.absent.insert(arn, format!("{error:#}"))),
            }
        }
    }
}

async fn details(
    aws: &Aws,
    facts: &PlaceFacts,
    wanted: Wanted<'_>,
) -> (BTreeMap<String, Details>, Vec<String>) {
    let aws = &aws.with_attempts(ATTEMPTS);
    let targets = facts.targets();
    let is_dead = |queue: &&Queue| targets.contains(&queue.arn);
    let dead: Vec<&Queue> = facts.queues.iter().filter(is_dead).collect();
    let with_letters: Vec<&Queue> = dead.iter().copied().filter(|queue| queue.counted() > 0).collect();
    let tagged = if wanted.with_empty { &dead } else { &with_letters };
    let mut unseen = Unseen::default();
    let (metrics, tags) = tokio::join!(metrics(aws, &with_letters), owners(aws, tagged, wanted.owner_tag));
    let mut details = unseen.or_note("growth and age of the oldest letter", metrics).unwrap_or_default();
    let (owners, notes) = tags;
    unseen.fold(notes);
    for (arn, owner) in owners {
        details.entry(arn).or_default().owner = Some(owner);
    }
    (details, unseen.0)
}

async fn metrics(aws: &Aws, queues: &[&Queue]) -> anyhow::Result<BTreeMap<String, Details>> {
    let now = SystemTime::now();
    let mut details: BTreeMap<String, Details> = BTreeMap::new();
    for queues in queues.chunks(QUEUES_A_CALL) {
        let queries = queues.iter().enumerate().flat_map(|(number, queue)| {
            [("age", OLDEST), ("letters", VISIBLE)]
                .map(|(id, metric)| maximum_each_minute(&format!("{id}{number}"), metric, queue))
        });
        for series in series(aws, queries.collect(), now).await? {
            let id = series.id().unwrap_or_default();
            let of = |prefix: &str| queues.get(id.strip_prefix(prefix)?.parse::<usize>().ok()?);
            let points = series.timestamps().iter().zip(series.values()).filter_map(|(time, value)| {
                Some((now.duration_since(SystemTime::try_from(*time).ok()?).unwrap_or_default(), *value))
            });
            if let Some(queue) = of("age") {
                let recent = points.filter(|(past, _)| *past <= RECENT).min_by_key(|(past, _)| *past);
                let oldest = recent.and_then(|(_, age)| Duration::try_from_secs_f64(age).ok());
                details.entry(queue.arn.clone()).or_default().oldest = oldest;
            } else if let Some(queue) = of("letters") {
                details.entry(queue.arn.clone()).or_default().visible.extend(points);
            }
        }
    }
    Ok(details)
}

async fn series(
    aws: &Aws,
    queries: Vec<MetricDataQuery>,
    now: SystemTime,
) -> anyhow::Result<Vec<MetricDataResult>> {
    let mut pages = aws
        .cloudwatch()
        .get_metric_data()
        .start_time(DateTime::from(now - WINDOW))
        .end_time(DateTime::from(now))
        .set_metric_data_queries(Some(queries))
        .into_paginator()
        .send();
    let mut series = Vec::new();
    for _ in 0..PAGES {
        let Some(page) = pages.next().await else { break };
        let page = page.describe_error("read the metrics", "cloudwatch:GetMetricData")?;
        series.extend(page.metric_data_results.unwrap_or_default());
    }
    Ok(series)
}

/// Reads the values of a tag, ignoring the case of its name.
async fn owners(aws: &Aws, queues: &[&Queue], tag: &str) -> (Vec<(String, String)>, Vec<(String, Unseen)>) {
    let read = stream::iter(queues).map(|queue| async move {
        let tags = aws.sqs().list_queue_tags().queue_url(&queue.url).send().await;
        let mut unseen = Unseen::default();
        let tags = tags.describe_error(&format!("read the tags of {}", queue.name()), "sqs:ListQueueTags");
        let tags = unseen.or_note("owner", tags).and_then(|tags| tags.tags).unwrap_or_default();
        let owner = tags.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(tag));
        (owner.map(|(_, owner)| (queue.arn.clone(), owner)), (queue.name().to_owned(), unseen))
    });
    let read: Vec<_> = read.buffered(AT_ONCE).collect().await;
    let (owners, notes): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    (owners.into_iter().flatten().collect(), notes)
}
