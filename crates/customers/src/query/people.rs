//! Reads of people.
