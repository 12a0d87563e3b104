//! Images in requested sizes: from the cache, compared with the same bytes from memory, and many renders at once.

use std::io::{Cursor, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use image::codecs::jpeg::JpegEncoder;
use image::{Rgb, RgbImage};
use tokio::time::sleep;

use super::super::capture::{Kind, Log};
use super::super::http::Client;
use super::super::load::{self, Load, Requests};
use super::{Bench, Row};
use crate::Result;
use crate::process::say;

/// Pixels of a photograph: 12 million.
const PHOTO: (u32, u32) = (4000, 3000);
const PHOTOS: u32 = 4;
const RENDERS: u32 = 200;
const CLIENTS: usize = 16;
const ROUND: Duration = Duration::from_secs(5);

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Row>> {
    say("images ...");
    let ids = (0..PHOTOS)
        .map(|number| {
            let photo = photo(number)?;
            bench.upload(&format!("{number}.jpg"), &photo, photo.len() as u64)
        })
        .collect::<Result<Vec<String>>>()?;
    let mut rows = cached(bench, &ids[0])?;
    rows.extend(renders(bench, &ids)?);
    Ok(rows)
}

/// Returns a photograph: areas with edges, and some noise.
fn photo(number: u32) -> Result<Vec<u8>> {
    let mut state = number + 1;
    let image = RgbImage::from_fn(PHOTO.0, PHOTO.1, |x, y| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noise = state >> 28;
        let part = |value: u32| u8::try_from((value + noise) % 256).unwrap_or(0);
        Rgb([
            part(x / 16 + number),
            part(y / 12),
            part((x / 200) * 40 + (y / 200) * 30),
        ])
    });
    let mut bytes = Cursor::new(Vec::new());
    JpegEncoder::new_with_quality(&mut bytes, 85).encode_image(&image)?;
    Ok(bytes.into_inner())
}

/// A thumbnail from the cache, compared with the same bytes from memory.
fn cached(bench: &Bench<'_>, id: &str) -> Result<Vec<Row>> {
    let path = format!("/api/attachments/image/{id}/photo?width=320&height=320");
    let request = bench.caller.get(&path, "");
    let (status, bytes) = Client::connect(bench.caller.address)?.send(request.as_bytes())?;
    if status != 200 {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&bytes)).into());
    }
    let log = Log::open(bench.database)?;
    let captured = log.during(|| Client::connect(bench.caller.address)?.expect_ok(request.as_bytes()));
    log.close()?;
    let is_run = |kind: Kind| kind == Kind::Run;
    let statements = captured?
        .iter()
        .filter(|entry| is_run(entry.kind) && entry.sql.contains("attachments"))
        .count();
    let round = |address: SocketAddr, request: &str| {
        let request: Arc<[u8]> = request.as_bytes().into();
        let client = |_| {
            let request = Arc::clone(&request);
            Box::new(move || Some(Arc::clone(&request))) as Requests
        };
        let load = Load {
            clients: (0..CLIENTS).map(client).collect(),
            duration: ROUND,
            expected: 200,
        };
        load::run(address, load)
    };
    let memory = round(from_memory(&bytes)?, &request)?;
    // The least that a response of the server costs: without a principal, a statement or a file.
    let constant = round(bench.caller.address, &bench.caller.get("/api/version", ""))?;
    let own = round(bench.caller.address, &request)?;
    Ok(vec![
        Row::plain("bytes of a thumbnail", bytes.len().to_string()),
        Row::plain(
            "its bytes from memory, by a bare loop",
            format!("{:.0}/s", memory.per_second),
        ),
        Row::plain(
            "a constant response of the server",
            format!("{:.0}/s", constant.per_second),
        ),
        Row::plain("a thumbnail from the cache", format!("{:.0}/s", own.per_second)),
        Row::plain(
            "its rate compared with a constant response",
            format!("{:.2}", own.per_second / constant.per_second),
        ),
        Row::at_least(
            "its rate compared with memory",
            own.per_second / memory.per_second,
            "",
            0.5,
        ),
        Row::at_most("its statements on files", statements as f64, "", 1.0),
    ])
}

/// Starts the least that could send these bytes: a thread for each connection that sends them for every request. It ends with the process.
fn from_memory(bytes: &[u8]) -> Result<SocketAddr> {
    let mut response = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\ncontent-type: image/jpeg\r\n\r\n",
        bytes.len()
    )
    .into_bytes();
    response.extend_from_slice(bytes);
    let response: Arc<[u8]> = response.into();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let response = Arc::clone(&response);
            std::thread::spawn(move || {
                let mut request = [0; 8192];
                // A client sends one request and waits for its response.
                while stream.read(&mut request).is_ok_and(|read| read > 0) && stream.write_all(&response).is_ok() {}
            });
        }
    });
    Ok(address)
}

/// Many renders at once. A request that finds the queue full is repeated after a second, as its response asks.
fn renders(bench: &Bench<'_>, ids: &[String]) -> Result<Vec<Row>> {
    let before = bench.quiet()?;
    let rendered = rendered(bench)?;
    say("200 renders at once ...");
    let all = bench.beside(|| {
        Bench::run(async {
            let requests: Vec<_> = (0..RENDERS)
                .map(|number| {
                    let id = &ids[(number % PHOTOS) as usize];
                    let path = format!("/api/attachments/image/{id}?width={}", 200 + number);
                    let caller = bench.caller.clone();
                    tokio::spawn(async move {
                        loop {
                            match caller.download(&path, "", None).await? {
                                (503, _) => sleep(Duration::from_secs(1)).await,
                                (status, _) => return Ok::<_, Box<dyn std::error::Error + Send + Sync>>(status),
                            }
                        }
                    })
                })
                .collect();
            let mut complete = 0;
            for request in requests {
                complete += usize::from(request.await?? == 200);
            }
            Ok(complete)
        })
    })?;
    let own = self::rendered(bench)? - rendered;
    Ok(vec![
        Row::exactly(
            "200 renders of 12 million pixels at once, complete",
            all.outcome,
            RENDERS as usize,
        ),
        Row::plain("time of all", format!("{:.1} s", all.seconds)),
        Row::exactly("renders", own, RENDERS as usize),
        Row::at_most("memory during it", all.grown, " MiB", 320.0),
        Row::plain("p99 of another tenant's list before", format!("{before:.1} ms")),
        Row::at_most("p99 during it, compared with before", all.p99 / before, "x", 2.0),
    ])
}

/// Returns the number of images that the server has rendered, from its metrics.
fn rendered(bench: &Bench<'_>) -> Result<usize> {
    let admin = bench.server.admin();
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {admin}\r\n\r\n");
    let (_, body) = Client::connect(admin)?.send(request.as_bytes())?;
    let text = String::from_utf8(body)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("attachments_renders_total{outcome=\"rendered\"} "));
    Ok(line.unwrap_or("0").trim().parse()?)
}
