//! Mails: their letters, and the jobs that send them.

pub(crate) mod jobs;
pub(crate) mod letters;
