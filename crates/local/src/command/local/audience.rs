//! Passes events to the screen, and to the page if there is one.

use std::io;

use tokio::sync::mpsc::UnboundedReceiver;

use super::screen::Screen;
use super::ui::Page;
use crate::{Event, Totals};

#[derive(Debug)]
pub(super) struct Audience {
    pub(super) screen: Screen,
    pub(super) page: Option<Page>,
}

impl Audience {
    /// Reports one event.
    ///
    /// # Errors
    /// Returns an error if stdout is gone, other than by a closed pipe.
    pub(super) fn report(&mut self, event: &Event) -> io::Result<()> {
        if let Some(page) = &self.page {
            page.observe(event);
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
