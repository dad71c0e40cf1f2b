//! Tests the `redrive` command as users run it: the real executable, with an AWS on this machine.
#![allow(clippy::disallowed_methods, reason = "tests may read the clock")]

mod away;
mod hostile;
mod letters;
mod proxy;
mod sessions;
mod support;
mod terminal;
mod work;
mod writes;

// `redrive schedule`
mod schedule;

// `redrive plan`
mod plan;

// widths of several verbs
mod widths;

// `redrive local`
mod bad_input;
mod demo;
mod demo_in_a_terminal;
mod doors;
mod examples;
mod client_holds;
mod idle;
mod interrupt;
mod layer;
mod left_out;
mod network;
mod new_project;
mod other_services;
mod real_queues;
mod service;
mod service_state;
mod several_queues;
mod several;
mod stdin;
mod template;
mod verify;
mod worker;

// `redrive doctor`
mod doctor;
mod doctor_all;
mod doctor_corpus;
mod doctor_live;
mod doctor_paths;
mod foreign_files;
mod terraform;
// `redrive dlq`
mod dlq_export;
mod dlq_forged;
mod dlq_import;
mod dlq_list;
mod dlq_logs;
mod dlq_retry;
mod dlq_show;
mod dlq_signals;
// `redrive fleet`
mod fleet;
mod history;
mod journal_table;
// `redrive queue` and `redrive send`
mod aws_errors;
mod completions;
mod manual;
mod moving;
mod payloads;
mod queue_attach;
mod queue_names;
mod queue_pause;
mod queue_status;
mod send;
mod dlq_triage;
