//! The module over HTTP.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod availability;
mod extension;
mod feeds;
mod fixture;
mod organizations;
mod reasons;
mod rights;
mod series;
mod series_updates;
mod versions;
mod windows;
mod working_calendar;
mod working_days;
mod zone_database;
mod zones;
