//! Random bodies, names, ranges and images: none is a server error, and none leaves a part of itself.
//!
//! Each run draws other cases. A failure names its seed; `BACKOFFICE_ATTACHMENTS_SEED` repeats it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Cursor;

use actix_web::http::Method;
use backoffice_test_support::{TestApp, TestResponse};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::{ATTACHMENTS, NOTE, RECORD, TwoTenants, Upload, fixture, form, stored, upload, uploaded};

/// Draws cases of a strategy, and names the seed when one of them fails.
struct Cases {
    runner: TestRunner,
    seed: u64,
}

impl Cases {
    fn new() -> Self {
        let given = std::env::var("BACKOFFICE_ATTACHMENTS_SEED").ok();
        let drawn = || RandomState::new().build_hasher().finish();
        let seed = given.map_or_else(drawn, |text| text.parse().expect("a number"));
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self {
            runner: TestRunner::new_with_rng(Config::default(), rng),
            seed,
        }
    }

    fn draw<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        strategy.new_tree(&mut self.runner).expect("a case").current()
    }

    /// Checks that a response is no server error.
    fn check(&self, case: &impl std::fmt::Debug, response: &TestResponse) {
        let (seed, status) = (self.seed, response.status);
        assert!(status < 500, "seed {seed}: {status} {}: {case:?}", response.text());
    }
}

/// A change of some bytes.
#[derive(Debug, Clone)]
enum Edit {
    Remove(Index, usize),
    Repeat(Index, usize),
    Insert(Index, Vec<u8>),
    Overwrite(Index, Vec<u8>),
    Cut(Index),
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |index: &Index, bytes: &Vec<u8>| index.index(bytes.len() + 1);
        match self {
            Self::Remove(at, length) => {
                let at = place(at, bytes);
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Self::Repeat(at, length) => {
                let at = place(at, bytes);
                let part = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
            Self::Insert(at, part) => {
                let at = place(at, bytes);
                bytes.splice(at..at, part.iter().copied());
            }
            Self::Overwrite(at, part) => {
                let at = place(at, bytes);
                bytes.splice(at..(at + part.len()).min(bytes.len()), part.iter().copied());
            }
            Self::Cut(at) => bytes.truncate(place(at, bytes)),
        }
    }
}

/// Returns pieces that mean something in a body of several parts, and some that mean nothing.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "\r\n",
        "\r\n\r\n",
        "--x\r\n",
        "--x--\r\n",
        "\r\n--x",
        "\"",
        ";",
        ": ",
        "=",
        "Content-Disposition: form-data; name=\"file\"; filename=\"b.txt\"\r\n",
        "Content-Disposition: form-data; name=\"tags\"\r\n\r\n",
        "; filename*=UTF-8''%e2%82%ac.txt",
        "; filename*=UTF-8''%",
        "Content-Type: text/plain; charset=\r\n",
        "Content-Transfer-Encoding: base64\r\n",
        "\0",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..20),
    ]
}

fn edits(most: usize) -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        (any::<Index>(), 1..200_usize).prop_map(|(at, length)| Edit::Repeat(at, length)),
        (any::<Index>(), piece()).prop_map(|(at, part)| Edit::Insert(at, part)),
        (any::<Index>(), piece()).prop_map(|(at, part)| Edit::Overwrite(at, part)),
        any::<Index>().prop_map(Edit::Cut),
    ];
    prop::collection::vec(edit, 1..most)
}

/// Checks that nothing is left of uploads but the stored files.
async fn check_stored(app: &TestApp, kept: usize) {
    assert!(kept > 0, "some are stored");
    let sum = "select coalesce(sum(file_size), 0)::bigint as bytes from attachments_attachments";
    let bytes = app.rows(sum).await[0]["bytes"].as_i64().expect("a number");
    assert_eq!(stored(app).await, (kept, 0, kept, bytes));
}

#[actix_web::test]
async fn random_bodies_are_no_server_errors_and_leave_nothing() {
    let fixture = fixture().await;
    let parts = [
        RECORD[0],
        RECORD[1],
        ("tags", "[\"a\",\"b\"]"),
        ("customFields", "{\"a\":1}"),
    ];
    let whole = form("x", &parts, Some(NOTE));
    let (mut cases, strategy, mut kept) = (Cases::new(), edits(3), 0);

    for _ in 0..400 {
        let edits = cases.draw(&strategy);
        let mut body = whole.clone();
        for edit in &edits {
            edit.apply(&mut body);
        }
        let request = fixture.app.request(Method::POST, ATTACHMENTS).bearer(&fixture.a.token);
        let response = request.body(body, "multipart/form-data; boundary=x").send().await;
        cases.check(&edits, &response);
        kept += usize::from(response.status == 200);
    }

    check_stored(&fixture.app, kept).await;
}

#[actix_web::test]
async fn random_names_are_rejected_or_sent_back_safely() {
    let fixture = fixture().await;
    let character = prop_oneof![
        4 => any::<char>(),
        2 => prop::char::range(' ', '~'),
        1 => prop::sample::select(vec!['.', '/', '\\', '"', '\0', ':', '%', '\u{202e}', '\u{301}']),
    ];
    let strategy = prop::collection::vec(character, 0..24).prop_map(String::from_iter);
    let (mut cases, mut kept) = (Cases::new(), 0);

    for _ in 0..200 {
        let name = cases.draw(&strategy);
        let file = Upload {
            name: &format!("{name}.txt"),
            ..NOTE
        };
        let response = upload(&fixture.app, &fixture.a.token, &[], file).await;
        cases.check(&name, &response);
        if response.status != 200 {
            continue;
        }
        kept += 1;
        let item = &response.json()["item"];
        let stored = item["fileName"].as_str().expect("a name");
        let is_safe = |c: char| !c.is_control() && !matches!(c, '/' | '\\');
        assert!(
            (1..=255).contains(&stored.len()) && stored.chars().all(is_safe),
            "{name:?} is stored as {stored:?}"
        );
        let path = format!("/attachments/file/{}", item["id"].as_str().expect("an id"));
        let sent = fixture
            .app
            .request(Method::GET, &path)
            .bearer(&fixture.a.token)
            .send()
            .await;
        assert_eq!((sent.status, sent.body.as_ref()), (200, NOTE.bytes), "{name:?}");
        let disposition = sent.header("content-disposition").expect("visible characters");
        assert!(disposition.starts_with("attachment; filename=\""), "{disposition}");
        assert_eq!(disposition.matches('"').count(), 2, "{disposition}");
    }

    check_stored(&fixture.app, kept).await;
}

#[actix_web::test]
async fn random_ranges_send_the_bytes_that_they_name() {
    let fixture = fixture().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
    let file = Upload {
        name: "a.bin",
        bytes: &bytes,
        kind: "application/octet-stream",
    };
    let id = uploaded(&fixture, &[], file).await;
    let path = format!("/attachments/file/{id}");
    let number = prop_oneof![
        Just(String::new()),
        (0..1200_u64).prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string())
    ];
    let strategy = prop_oneof![
        4 => (number.clone(), number).prop_map(|(first, last)| format!("bytes={first}-{last}")),
        1 => "(bytes|BYTES|items| )?[= ]{0,2}[0-9, -]{0,20}",
        1 => "[ -~]{0,60}",
    ];
    let mut cases = Cases::new();

    for _ in 0..400 {
        let range = cases.draw(&strategy);
        let request = fixture.app.request(Method::GET, &path).bearer(&fixture.a.token);
        let response = request.header("Range", &range).send().await;
        cases.check(&range, &response);
        let content_range = response.header("content-range");
        match response.status {
            200 => assert_eq!((&response.body[..], content_range), (&bytes[..], None), "{range:?}"),
            206 => {
                let named = content_range.expect("a range");
                let (first, last) = named
                    .strip_prefix("bytes ")
                    .and_then(|named| named.strip_suffix("/1000"))
                    .and_then(|named| named.split_once('-'))
                    .expect("a range of 1000 bytes");
                let (first, last): (usize, usize) = (first.parse().expect("a number"), last.parse().expect("a number"));
                assert_eq!(&response.body[..], &bytes[first..=last], "{range:?}");
            }
            status => assert_eq!(
                (status, content_range.as_deref()),
                (416, Some("bytes */1000")),
                "{range:?}"
            ),
        }
    }
}

/// Returns a small image.
fn small(format: ImageFormat) -> Vec<u8> {
    let image = DynamicImage::ImageRgb8(RgbImage::from_fn(24, 16, |x, y| {
        Rgb([if x < y { 220 } else { 20 }, 90, 200])
    }));
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

async fn check_image(
    cases: &mut Cases,
    fixture: &TwoTenants,
    format: ImageFormat,
    strategy: &impl Strategy<Value = Vec<Edit>>,
) -> bool {
    let edits = cases.draw(strategy);
    let mut bytes = small(format);
    // The head, which says how the rest is to be read.
    let mut head: Vec<u8> = bytes.drain(..bytes.len().min(64)).collect();
    for edit in &edits {
        edit.apply(&mut head);
    }
    head.extend(bytes);
    let extension = format.extensions_str()[0];
    let file = Upload {
        name: &format!("a.{extension}"),
        bytes: &head,
        kind: format.to_mime_type(),
    };
    let response = upload(&fixture.app, &fixture.a.token, &[], file).await;
    cases.check(&(format, &edits), &response);
    if response.status != 200 {
        return false;
    }
    let id = response.json()["item"]["id"].as_str().expect("an id").to_owned();
    for query in ["width=10", "width=30&height=30&cropType=contain", ""] {
        let path = format!("/attachments/image/{id}/a?{query}");
        let image = fixture
            .app
            .request(Method::GET, &path)
            .bearer(&fixture.a.token)
            .send()
            .await;
        cases.check(&(format, &edits, query), &image);
    }
    true
}

#[actix_web::test]
async fn random_image_headers_are_no_server_errors() {
    let fixture = fixture().await;
    let (mut cases, strategy, mut kept) = (Cases::new(), edits(4), 0);

    for format in [
        ImageFormat::Bmp,
        ImageFormat::Gif,
        ImageFormat::Jpeg,
        ImageFormat::Png,
        ImageFormat::WebP,
    ] {
        for _ in 0..40 {
            kept += usize::from(check_image(&mut cases, &fixture, format, &strategy).await);
        }
    }

    check_stored(&fixture.app, kept).await;
}
