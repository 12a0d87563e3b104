#![doc = include_str!("../README.md")]
#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod app;
mod builder;
mod clock;
mod contract;
mod data_dir;
mod database;
mod history;
mod json;
mod logs;
mod mail;
mod mail_server;
mod proxy;
mod randomness;
mod request;
mod server;
mod snapshot;
mod stream;
mod template;
mod tokens;

pub use app::TestApp;
pub use builder::TestAppBuilder;
pub use clock::MockClock;
pub use database::TestDatabase;
pub use history::{REDO, UNDO, UndoableWrite};
pub use json::{details, id_of};
pub use logs::Logs;
pub use mail::MemoryMailer;
pub use mail_server::MailServer;
pub use proxy::{FaultMode, FaultProxy};
pub use randomness::SeededRandomness;
pub use request::{TestRequest, TestResponse};
pub use server::{APPLICATION_ROLE, cluster_settings};
pub use snapshot::{DatabaseSnapshot, Digests};
pub use stream::TestStream;
pub use time::Duration;
pub use tokens::Tokens;
