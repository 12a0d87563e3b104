//! The commands of this module; those that start bulk jobs are in [`crate::bulk`].

mod cancel_job;

pub use cancel_job::CancelJob;
