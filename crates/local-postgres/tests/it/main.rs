//! Runs real clusters with the PostgreSQL of this machine, as root and as an ordinary user.

mod access;
mod exclusive;
mod restart;
mod shared;
mod support;
mod takeover;
