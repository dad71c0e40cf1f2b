//! Tests code that sends messages.
