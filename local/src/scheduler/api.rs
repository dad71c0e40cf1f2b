//! The operations of EventBridge Scheduler, in REST JSON.

use http::{Method, StatusCode};

use super::{Scheduler, schedules};
use crate::protocol::{ErrorKind, RequestContext, Route, Service, UNKNOWN_OPERATION, plain};

pub(crate) static SERVICE: Service<Scheduler> = Service {
    name: "scheduler",
    operations: &[
        ("CreateSchedule", schedules::create),
        ("DeleteSchedule", schedules::delete),
        ("GetSchedule", schedules::get),
        ("UpdateSchedule", schedules::update),
    ],
    target: None,
    query: None,
    routes: &[
        Route(Method::DELETE, "schedules/*", "DeleteSchedule", 200),
        Route(Method::GET, "schedules/*", "GetSchedule", 200),
        Route(Method::POST, "schedules/*", "CreateSchedule", 200),
        Route(Method::PUT, "schedules/*", "UpdateSchedule", 200),
    ],
    unknown: (
        UNKNOWN_OPERATION.with_status(StatusCode::NOT_FOUND),
        "redrive-local does not support {} of EventBridge Scheduler",
    ),
    unreadable: (VALIDATION, "{}"),
    body: plain,
};

pub(super) type Context<'a> = RequestContext<'a, Scheduler>;

pub(super) const VALIDATION: ErrorKind = ErrorKind::named("ValidationException");
pub(super) const CONFLICT: ErrorKind =
    ErrorKind::named("ConflictException").with_status(StatusCode::CONFLICT);
pub(super) const NOT_FOUND: ErrorKind =
    ErrorKind::named("ResourceNotFoundException").with_status(StatusCode::NOT_FOUND);
