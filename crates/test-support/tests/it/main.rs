//! Tests of the test support, and through it of what core does without any module.

mod attempts;
mod bodies;
mod database;
mod http;
mod isolation;
mod jobs;
mod proxy;
mod sample;
