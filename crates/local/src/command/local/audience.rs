//! Passes events to the screen, and to the page if there is one.

use std::io;

use tokio::sync::mpsc::UnboundedReceiver;

use super::screen::Screen;
use super::ui::Page;
use crate::{Control, Event, EventKind, Totals};

/// Most bytes of messages that clients sent and whose events are not shown yet.
const SENT_BODIES: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Audience {
    pub(super) screen: Screen,
    /// The run, if its queues are in this process.
    control: Option<Control>,
    pub(super) page: Option<Page>,
}

impl Audience {
    pub(super) fn new(screen: Screen, control: Option<Control>) -> Self {
        if let Some(control) = &control {
            control.keep_messages(SENT_BODIES);
        }
        Self { screen, control, page: None }
    }

    /// Reports one event.
    ///
    /// # Errors
    /// Returns an error if stdout is gone, other than by a closed pipe.
    pub(super) fn report(&mut self, event: &Event) -> io::Result<()> {
        if let Some(page) = &self.page {
            page.observe(event);
        }
        if let EventKind::Sent { queue, message_id } = &event.kind
            && self.screen.shows(queue)
            && let Some(sent) = self.control.as_ref().and_then(|control| control.message(message_id))
        {
            self.screen.expect(message_id, &sent.message.body);
        }
        self.screen.show(event)
    }

    /// Reports the rest of the stream and the totals.
    ///
    /// # Errors
    /// Returns an error if stdout is gone, other than by a closed pipe.
    pub(super) async fn dismiss(
        mut self,
        events: &mut UnboundedReceiver<Event>,
        totals: &Totals,
    ) -> io::Result<()> {
        while let Ok(event) = events.try_recv() {
            self.report(&event)?;
        }
        if let Some(page) = self.page {
            page.close(totals).await;
        }
        self.screen.close(totals)
    }
}
