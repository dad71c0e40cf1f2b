//! The ids of messages and move tasks: random, and the same again when recorded calls are repeated.

use serde::{Deserialize, Serialize};
use uuid::Builder;

/// The ids to come.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ids {
    seed: u64,
}

impl Default for Ids {
    fn default() -> Self {
        Self { seed: fastrand::u64(..) }
    }
}

impl Ids {
    pub(super) fn take(&mut self) -> String {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let id = Builder::from_random_bytes(random.u128(..).to_le_bytes());
        self.seed = random.get_seed();
        id.into_uuid().to_string()
    }
}
