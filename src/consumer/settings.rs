//! The settings that have a variable, a method each.

use std::net::SocketAddr;
use std::time::Duration;

use redrive_engine::{Backoff, LastDelivery, OnFailure, Overrides, Rate};
use redrive_sqs::OriginSenders;

use crate::consumer::{Consumer, QueueSettings};
use crate::settings::{Metrics, for_all_settings};
#[cfg(doc)]
use crate::{Failure, once::Once};

macro_rules! methods {
    (
        of_one_queue {$($(#[$one_doc:meta])* $one_variable:literal
            $one:ident($one_given:ident: $one_from:ty => $one_value:expr): $one_type:ty;)*}
        of_each_queue {$($(#[$each_doc:meta])* $each_variable:literal
            $each:ident($each_given:ident: $each_from:ty => $each_value:expr): $each_type:ty;)*}
        of_the_process {$($(#[$all_doc:meta])* $all_variable:literal
            $all:ident($all_given:ident: $all_from:ty => $all_value:expr): $all_type:ty;)*}
        of_the_deployment {$($own:tt)*}
    ) => {
        impl<H, M> Consumer<H, M> {
            $($(#[$one_doc])* pub fn $one(self, $one_given: $one_from) -> Self {
                self.setting(|settings| settings.$one = settings.keep($one_value))
            })*
            $($(#[$each_doc])* pub fn $each(self, $each_given: $each_from) -> Self {
                self.setting(|settings| settings.$each = settings.keep($each_value))
            })*
            $($(#[$all_doc])* pub fn $all(self, $all_given: $all_from) -> Self {
                self.setting(|settings| settings.$all = settings.keep($all_value))
            })*
        }

        impl QueueSettings {
            $(#[doc = concat!("See [`Consumer::", stringify!($one), "`].")]
            pub fn $one(self, $one_given: $one_from) -> Self {
                self.setting(|settings| settings.$one = settings.keep($one_value))
            })*
            $(#[doc = concat!("See [`Consumer::", stringify!($each), "`].")]
            pub fn $each(self, $each_given: $each_from) -> Self {
                self.setting(|settings| settings.$each = settings.keep($each_value))
            })*
        }
    };
}

for_all_settings!(methods);
