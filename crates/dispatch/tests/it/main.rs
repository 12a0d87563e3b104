//! The module over HTTP.

mod access;
mod assignments;
mod bulk;
mod calendar;
mod conflicts;
mod dates;
mod fixture;
mod history;
mod job_sites;
mod lists;
mod notifications;
mod organizations;
mod resources;
