//! Uploads and downloads: a large file, many at once, and slow clients.

use std::process::Command;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::Instant;

use super::wire::Caller;
use super::{Bench, Row};
use crate::Result;
use crate::process::{output, say};

const MIB: u64 = 1024 * 1024;
const LARGE: u64 = 1024 * MIB;
const SHARED: u64 = 10 * MIB;
const DOWNLOADS: usize = 1000;
/// Bytes a second of a slow client.
const SLOW: u64 = 64 * 1024;
const UPLOADS: usize = 64;
const UPLOADED: u64 = 25 * MIB;

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )?;
    let block = block();
    let mut rows = large(bench, &block)?;
    rows.extend(uploads(bench, &block)?);
    rows.extend(downloads(bench, &block)?);
    Ok(rows)
}

/// Returns a MiB without a pattern that the disk could compress.
fn block() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(1 << 20);
    while bytes.len() < 1 << 20 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}

/// A file of 1 GiB, compared with a copy of the file and its hash on the same disk.
fn large(bench: &Bench<'_>, block: &[u8]) -> Result<Vec<Row>> {
    say("1 GiB up and down ...");
    let file = bench.work.join("large");
    let repeated = std::iter::repeat_n(block, usize::try_from(LARGE / MIB)?);
    std::fs::write(&file, repeated.flatten().copied().collect::<Vec<u8>>())?;
    let copy = bench.work.join("copy");
    let started = Instant::now();
    output(Command::new("cp").arg(&file).arg(&copy))?;
    output(Command::new("sync").arg(&copy))?;
    output(Command::new("sha256sum").arg(&copy))?;
    let reference = started.elapsed().as_secs_f64();
    let started = Instant::now();
    output(Command::new("cp").arg(&copy).arg("/dev/null"))?;
    let reading = started.elapsed().as_secs_f64();
    std::fs::remove_file(file)?;
    std::fs::remove_file(copy)?;
    let up = bench.beside(|| bench.upload("large.bin", block, LARGE))?;
    let path = format!("/api/attachments/file/{}", up.outcome);
    let download = |range: &str| Bench::run(bench.caller.download(&path, range, None));
    let down = bench.beside(|| download(""))?;
    let range = bench.beside(|| download("range: bytes=104857600-314572799\r\n"))?;
    Ok(vec![
        Row::plain("cp, sync and sha256sum of 1 GiB", format!("{reference:.1} s")),
        Row::at_least("1 GiB up, rate compared with it", reference / up.seconds, "", 0.5),
        Row::at_most("memory during it", up.grown, " MiB", 16.0),
        Row::plain("cp of 1 GiB to nowhere", format!("{reading:.1} s")),
        Row::at_least(
            "1 GiB down, rate compared with cp, sync and sha256sum",
            reference / down.seconds,
            "",
            0.5,
        ),
        Row::at_most("memory during it", down.grown, " MiB", 16.0),
        Row::exactly(
            "bytes of a range of 200 MiB",
            usize::try_from(range.outcome.1)?,
            209_715_200,
        ),
        Row::at_most("memory during it", range.grown, " MiB", 16.0),
    ])
}

/// Many uploads at once.
fn uploads(bench: &Bench<'_>, block: &[u8]) -> Result<Vec<Row>> {
    say("64 uploads at once ...");
    let block: Arc<[u8]> = block.into();
    let all = bench.beside(|| {
        Bench::run(async {
            let uploads: Vec<_> = (0..UPLOADS)
                .map(|number| {
                    let (caller, block) = (bench.caller.clone(), Arc::clone(&block));
                    tokio::spawn(async move { caller.upload(&format!("{number}.bin"), &block, UPLOADED).await })
                })
                .collect();
            let mut statuses = Vec::new();
            for upload in uploads {
                let (status, body) = upload.await??;
                let is_expected = status == 200 || body["code"] == "uploads_busy";
                if !is_expected {
                    return Err(format!("{status}: {body}").into());
                }
                statuses.push(status);
            }
            Ok(statuses)
        })
    })?;
    let stored = all.outcome.iter().filter(|status| **status == 200).count();
    Ok(vec![
        Row::exactly("64 uploads of 25 MiB at once, stored", stored, UPLOADS),
        Row::plain("time of all", format!("{:.1} s", all.seconds)),
        Row::at_most("memory during it", all.grown, " MiB", 96.0),
    ])
}

/// Many downloads of one file at once, half of them slow.
fn downloads(bench: &Bench<'_>, block: &[u8]) -> Result<Vec<Row>> {
    let id = bench.upload("shared.bin", block, SHARED)?;
    let path = format!("/api/attachments/file/{id}");
    let before = bench.quiet()?;
    say("1,000 downloads at once, half of them slow: 160 s ...");
    let all = bench.beside(|| {
        Bench::run(async {
            let started = Instant::now();
            let downloads: Vec<_> = (0..DOWNLOADS)
                .map(|number| {
                    let (caller, path): (Caller, String) = (bench.caller.clone(), path.clone());
                    let pace = (number % 2 == 0).then_some(SLOW);
                    tokio::spawn(async move {
                        let outcome = caller.download(&path, "", pace).await;
                        (outcome, started.elapsed().as_secs_f64(), pace.is_none())
                    })
                })
                .collect();
            let (mut complete, mut fast) = (0, 0.0_f64);
            for download in downloads {
                let (outcome, seconds, is_fast) = download.await?;
                complete += usize::from(outcome? == (200, SHARED));
                if is_fast {
                    fast = fast.max(seconds);
                }
            }
            Ok((complete, fast))
        })
    })?;
    let (complete, fast) = all.outcome;
    Ok(vec![
        Row::exactly("1,000 downloads of 10 MiB at once, complete", complete, DOWNLOADS),
        Row::plain("the last of the 500 fast ones after", format!("{fast:.1} s")),
        Row::at_most("memory during it", all.grown, " MiB", 128.0),
        Row::plain("p99 of another tenant's list before", format!("{before:.1} ms")),
        Row::at_most("p99 during it, compared with before", all.p99 / before, "x", 2.0),
    ])
}
