//! The library of a tenant with 1,000 and with 1,000,000 files.

use std::time::Duration;

use tokio::time::Instant;

use super::super::http::Client;
use super::super::pause;
use super::super::report::median;
use super::{Bench, Row};
use crate::Result;
use crate::process::say;

const SIZES: [u32; 2] = [1000, 1_000_000];
/// Number of requests of which the median is taken.
const REQUESTS: usize = 50;

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let mut times = Vec::new();
    for files in SIZES {
        say(&format!("a library of {files} files ..."));
        let seed = include_str!("seed.sql")
            .replace("{files}", &files.to_string())
            .replace("{organization}", &bench.caller.organization);
        bench.database.execute(&seed)?;
        bench.database.execute("vacuum analyze")?;
        pause(Duration::from_secs(1));
        let page = bench.median("/api/attachments/library?pageSize=25")?;
        let tagged = bench.median("/api/attachments/library?pageSize=25&tags=tag-7")?;
        let record = bench.median("/api/attachments?entityId=bench.record&recordId=record-5")?;
        times.push([page, tagged, record]);
    }
    let [small, large] = [times[0], times[1]];
    Ok(vec![
        Row::plain("first page of a library of 1,000", format!("{:.1} ms", small[0])),
        Row::at_most("of 1,000,000, compared with it", large[0] / small[0], "x", 2.0),
        Row::plain("first page with a tag, of 1,000", format!("{:.1} ms", small[1])),
        Row::plain("of 1,000,000 (10,000 with the tag)", format!("{:.1} ms", large[1])),
        Row::plain("files of a record, of 1,000", format!("{:.1} ms", small[2])),
        Row::at_most("of 1,000,000, compared with it", large[2] / small[2], "x", 2.0),
    ])
}

impl Bench<'_> {
    /// Returns the median time of a request in milliseconds.
    fn median(&self, path: &str) -> Result<f64> {
        let mut client = Client::connect(self.caller.address)?;
        let request = self.caller.get(path, "");
        let mut times = Vec::with_capacity(REQUESTS);
        for _ in 0..REQUESTS {
            let sent = Instant::now();
            client.expect_ok(request.as_bytes())?;
            times.push(sent.elapsed().as_secs_f64() * 1000.0);
        }
        Ok(median(times.into_iter()))
    }
}
