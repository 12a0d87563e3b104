//! Tests of the test support, and through it of what core does without any module.

mod attempts;
mod bodies;
mod connections;
mod database;
mod http;
mod isolation;
mod jobs;
mod proxy;
mod sample;
mod tls;
