//! Images in requested sizes.

use std::io::{Cursor, Write};

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use futures_util::future::join_all;
use image::codecs::png::PngDecoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, Rgb, RgbImage};
use serde_json::Value;
use uuid::Uuid;

use crate::{LIBRARY, NOTE, TwoTenants, Upload, files_below, fixture, rejected, rejection, uploaded};

/// Returns an image of 800 by 600 pixels: red on the left, blue on the right.
pub(crate) fn landscape(format: ImageFormat) -> Vec<u8> {
    let color = |x, _| {
        if x < 400 {
            Rgb([220, 20, 20])
        } else {
            Rgb([20, 20, 220])
        }
    };
    let image = DynamicImage::ImageRgb8(RgbImage::from_fn(800, 600, color));
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

/// Adds EXIF data to a JPEG: orientation 6 (turned to the right when shown), and a marker that stands for a place.
fn turned(jpeg: &[u8]) -> Vec<u8> {
    let mut exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    exif.extend_from_slice(b"GPS-SECRET");
    let length = u16::try_from(exif.len() + 2).expect("short").to_be_bytes();
    let mut bytes = jpeg[..2].to_vec();
    bytes.extend_from_slice(&[0xff, 0xe1, length[0], length[1]]);
    bytes.extend_from_slice(&exif);
    bytes.extend_from_slice(&jpeg[2..]);
    bytes
}

/// Adds a color profile of this many zero bytes to a PNG.
fn with_profile(png: &[u8], length: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(b"iCCPicc\0\0".to_vec(), Compression::fast());
    encoder.write_all(&vec![0; length]).expect("compressed");
    let chunk = encoder.finish().expect("compressed");
    let mut crc = Crc::new();
    crc.update(&chunk);
    let length = u32::try_from(chunk.len() - 4).expect("short").to_be_bytes();
    let (header, rest) = png.split_at(33);
    [header, &length, &chunk, &crc.sum().to_be_bytes(), rest].concat()
}

async fn image(fixture: &TwoTenants, id: Uuid, query: &str) -> TestResponse {
    let path = format!("/attachments/image/{id}/name.jpg?{query}");
    fixture
        .app
        .request(Method::GET, &path)
        .bearer(&fixture.a.token)
        .send()
        .await
}

fn size(response: &TestResponse) -> (u32, u32) {
    assert_eq!(response.status, 200, "{}", response.text());
    let image = image::load_from_memory(&response.body).expect("an image");
    (image.width(), image.height())
}

#[actix_web::test]
async fn att_17_images_are_cut_padded_and_turned_upright() {
    let fixture = fixture().await;
    let bytes = turned(&landscape(ImageFormat::Jpeg));
    let file = Upload {
        name: "a.jpg",
        bytes: &bytes,
        kind: "image/jpeg",
    };
    let id = uploaded(&fixture, &[], file).await;

    let cover = image(&fixture, id, "width=300&height=300&cropType=cover").await;
    let contain = image(&fixture, id, "width=300&height=300&cropType=contain").await;
    let upright = image(&fixture, id, "width=300").await;

    assert_eq!(
        (size(&cover), size(&contain), size(&upright)),
        ((300, 300), (300, 300), (300, 400))
    );
    for response in [&cover, &contain, &upright] {
        assert_eq!(response.header("content-type").as_deref(), Some("image/jpeg"));
        assert_eq!(response.header("accept-ranges"), None);
        let has = |part: &[u8]| response.body.windows(part.len()).any(|window| window == part);
        assert!(!has(b"Exif") && !has(b"GPS-SECRET"));
    }
    let shown = image::load_from_memory(&contain.body).expect("an image").into_rgb8();
    assert_eq!(shown.get_pixel(5, 150).0, [255; 3], "padded with white");
    let upright = image::load_from_memory(&upright.body).expect("an image").into_rgb8();
    assert!(upright.get_pixel(150, 20).0[0] > 150, "what was left is above");
    let original = image(&fixture, id, "").await;
    assert_eq!(original.body, bytes, "unchanged without a size");
}

#[actix_web::test]
async fn the_name_of_an_image_is_the_rest_of_the_path() {
    let fixture = fixture().await;
    let bytes = landscape(ImageFormat::Png);
    let file = Upload {
        name: "a.png",
        bytes: &bytes,
        kind: "image/png",
    };
    let id = uploaded(&fixture, &[], file).await;

    for name in ["", "/", "/a.png", "/a/b.png", "/a//%2F/"] {
        let path = format!("/attachments/image/{id}{name}");
        let request = fixture.app.request(Method::GET, &path).bearer(&fixture.a.token);
        assert_eq!(request.send().await.body, bytes, "{name}");
    }
    let request = fixture
        .app
        .request(Method::GET, "/attachments/image/")
        .bearer(&fixture.a.token);
    assert_eq!(request.send().await.status, 404);
}

#[actix_web::test]
async fn an_image_is_kept_and_revalidated() {
    let fixture = fixture().await;
    let bytes = landscape(ImageFormat::Png);
    let file = Upload {
        name: "a.png",
        bytes: &bytes,
        kind: "image/png",
    };
    let id = uploaded(&fixture, &[], file).await;
    let (_, detail) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{id}")).await;
    let thumbnail = detail["item"]["thumbnailUrl"].as_str().expect("an address");

    let request = |path: &str| fixture.app.request_outside(Method::GET, path).bearer(&fixture.a.token);
    let first = request(thumbnail).send().await;
    let folder = fixture.app.data_dir().join("images");
    assert_eq!((size(&first), files_below(&folder)), ((200, 200), 1));
    let etag = first.header("etag").expect("a tag");
    assert!(etag.contains("-w200-h200-cover-v"), "{etag}");
    let unchanged = request(thumbnail).header("If-None-Match", &etag).send().await;
    assert_eq!(unchanged.status, 304);
    assert_eq!(request(thumbnail).send().await.body, first.body);
    let whole = request(thumbnail).header("Range", "bytes=0-9").send().await;
    assert_eq!((whole.status, whole.body.len()), (200, first.body.len()), "no ranges");

    let path = format!("{LIBRARY}/{id}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    assert_eq!(files_below(&folder), 0, "gone with the file");
    assert_eq!(request(thumbnail).send().await.status, 404);
}

#[actix_web::test]
async fn att_18_invalid_sizes_and_other_files_are_rejected() {
    let fixture = fixture().await;
    let bytes = landscape(ImageFormat::Png);
    let file = Upload {
        name: "a.png",
        bytes: &bytes,
        kind: "image/png",
    };
    let id = uploaded(&fixture, &[], file).await;
    let text = uploaded(&fixture, &[], NOTE).await;
    // The header of an image of 50,000 by 50,000 pixels.
    let mut bomb = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bomb.extend([50_000_u32.to_be_bytes(), 50_000_u32.to_be_bytes()].concat());
    bomb.extend(b"\x08\x02\0\0\0\0\0\0\0");
    let bomb = uploaded(&fixture, &[], Upload { bytes: &bomb, ..file }).await;
    let damaged = uploaded(
        &fixture,
        &[],
        Upload {
            bytes: &bytes[..100],
            ..file
        },
    )
    .await;

    for query in [
        "width=0",
        "width=4001",
        "width=abc",
        "width=1&width=1",
        "width=1&cropType=fill",
        "height=-1",
    ] {
        assert_eq!(
            rejection(&image(&fixture, id, query).await),
            rejected(400, "invalid_size"),
            "{query}"
        );
    }
    for (id, code) in [
        (text, "not_an_image"),
        (bomb, "image_too_large"),
        (damaged, "not_an_image"),
    ] {
        assert_eq!(rejection(&image(&fixture, id, "width=10").await), rejected(400, code));
    }
    assert_eq!(
        rejection(&image(&fixture, damaged, "width=10").await),
        rejected(400, "not_an_image"),
        "remembered"
    );
}

#[actix_web::test]
async fn a_color_profile_above_1_mib_is_left_out() {
    let fixture = fixture().await;
    let png = landscape(ImageFormat::Png);

    for (length, is_kept) in [(1024 * 1024, true), (16 * 1024 * 1024, false)] {
        let bytes = with_profile(&png, length);
        let file = Upload {
            name: "a.png",
            bytes: &bytes,
            kind: "image/png",
        };
        let id = uploaded(&fixture, &[], file).await;

        let response = image(&fixture, id, "width=8").await;

        assert_eq!(size(&response), (8, 6), "{length}");
        let mut decoder = PngDecoder::new(Cursor::new(&response.body)).expect("a PNG");
        let profile = decoder.icc_profile().expect("readable").map(|profile| profile.len());
        assert_eq!(profile, is_kept.then_some(length));
    }
}

#[actix_web::test]
async fn att_19_equal_requests_share_one_computation() {
    let fixture = fixture().await;
    let bytes = landscape(ImageFormat::Jpeg);
    let file = Upload {
        name: "a.jpg",
        bytes: &bytes,
        kind: "image/jpeg",
    };
    let id = uploaded(&fixture, &[], file).await;

    // More than wait for the threads at most: each computation of its own would be rejected.
    let responses = join_all((0..100).map(|_| image(&fixture, id, "width=123"))).await;

    for response in &responses {
        assert_eq!((size(response), &response.body), ((123, 92), &responses[0].body));
    }
    assert_eq!(files_below(&fixture.app.data_dir().join("images")), 1);
}
