//! How much of a long list is read.

#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub(super) pages: usize,
    /// What is asked for; AWS may give fewer.
    pub(super) on_a_page: i32,
}

impl Most {
    /// The first pages, and whether there are more.
    pub(super) async fn read<T, E>(
        self,
        mut next: impl AsyncFnMut() -> Option<Result<T, E>>,
    ) -> Result<(Vec<T>, bool), E> {
        let mut pages = Vec::new();
        while let Some(page) = next().await {
            if pages.len() == self.pages {
                return Ok((pages, true));
            }
            pages.push(page?);
        }
        Ok((pages, false))
    }

    /// Why the rest of the list was not looked at.
    pub(super) fn note(self, what: &str) -> String {
        format!("{what}: only the first {} pages were read", self.pages)
    }
}
