//! Orders, and the table that they go into.
#![allow(clippy::disallowed_methods, reason = "it reads its path from the environment")]

use std::sync::{Mutex, PoisonError};

use redrive::BoxError;
use rusqlite::{Connection, params};
use serde::Deserialize;

/// What is in a body.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    order_id: String,
    amount_cents: i64,
}

/// The table of the database at `DATABASE`.
#[derive(Debug)]
pub struct Table(Mutex<Connection>);

impl Table {
    /// Opens the database, and makes the table.
    ///
    /// # Errors
    /// `DATABASE` is not set, or no path at which a database can be.
    pub fn open() -> Result<Self, BoxError> {
        let connection = Connection::open(std::env::var("DATABASE")?)?;
        connection.execute_batch(include_str!("table.sql"))?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Inserts orders in one transaction.
    ///
    /// # Errors
    /// The database is not ready.
    pub fn insert<'a>(&self, orders: impl IntoIterator<Item = &'a Order>) -> Result<(), rusqlite::Error> {
        let mut connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction()?;
        let mut insert = transaction.prepare_cached("INSERT INTO orders (id, cents) VALUES (?, ?)")?;
        for order in orders {
            insert.execute(params![order.order_id, order.amount_cents])?;
        }
        drop(insert);
        transaction.commit()
    }
}
