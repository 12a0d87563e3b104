//! Tests of the test support, and through it of what core does without any module.

mod database;
mod http;
mod isolation;
mod jobs;
mod proxy;
mod sample;
