//! The module over HTTP.

mod availability;
mod fixture;
mod organizations;
mod reasons;
mod rights;
mod windows;
mod working_calendar;
mod working_days;
mod zones;
