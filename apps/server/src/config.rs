//! The configuration: where it is read from, and the sections that the host owns.

mod environment;
mod exposure;
mod print;
mod sections;
mod sources;

pub use print::{Line, effective};
pub use sections::{AdminConfig, DatabaseConfig, LogConfig, LogFormat};
pub use sources::{Settings, Sources};
