//! Renders an image.

use std::borrow::Cow;
use std::io::Cursor;

use fast_image_resize::images::Image;
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::metadata::Orientation;
use image::{
    ColorType, DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageFormat, ImageReader, Limits, RgbaImage,
};

use super::png::{MAX_METADATA, without_long_metadata};
use super::size::{CropType, ImageBox};
use crate::error::Error;

/// Most bytes of a decoded image.
const MAX_DECODED: u64 = 160 * 1024 * 1024;
/// Most pixels of a side of a decoded image.
const MAX_SIDE: u32 = 60_000;
/// Quality of JPEG, out of 100.
const QUALITY: u8 = 82;

/// Returns the media type of the images that are rendered of a file of this format, and that begin with these bytes.
pub(super) fn content_type_of(bytes: &[u8]) -> &'static str {
    match image::guess_format(bytes) {
        Ok(ImageFormat::Jpeg) => "image/jpeg",
        Ok(ImageFormat::WebP) => "image/webp",
        _ => "image/png",
    }
}

/// Returns the bytes of memory that the renderer uses for an image at most; blocks. The decoded image is there together with what its decoder keeps, then
/// with a copy that is turned, then with a copy of four bytes a pixel; or, of an upright one with three bytes a pixel, with a fourth.
///
/// # Errors
/// As [`render`].
pub(super) fn memory(file: &[u8], size: ImageBox) -> Result<u64, Error> {
    let (mut decoder, format) = open(file)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    let decoded = decoder.total_bytes();
    if decoded > MAX_DECODED {
        return Err(Error::ImageTooLarge);
    }
    let kept = match format {
        ImageFormat::Jpeg if is_progressive(file) => pixels * 6,
        ImageFormat::Gif | ImageFormat::WebP => pixels * 5,
        _ => 0,
    };
    let is_upright = decoder.orientation().is_ok_and(|one| one == Orientation::NoTransforms);
    let copied = match decoder.color_type() {
        ColorType::Rgb8 if is_upright => pixels,
        _ => decoded.max(pixels * 4),
    };
    let beside = kept.max(copied);
    // Decoders of JPEG copy the file, and then its metadata; decoders of PNG read a copy.
    let files = if format == ImageFormat::Jpeg { 3 } else { 2 };
    // The decoder, the renderer and the encoder each have the color profile, and the result contains it.
    let profiles = profile(&mut decoder).map_or(0, |profile| 4 * profile.len() as u64);
    Ok(files * file.len() as u64 + decoded + beside + u64::from(size.most_pixels()) * 8 + profiles)
}

/// Returns whether the decoder of a JPEG keeps the coefficients of the whole image: it has a frame of the progressive kind.
fn is_progressive(file: &[u8]) -> bool {
    let mut at = 2;
    while let Some(&[0xff, marker, high, low]) = file.get(at..at + 4) {
        match marker {
            0xc2 | 0xc6 | 0xca | 0xce => return true,
            0xc0 | 0xc1 | 0xda => return false,
            0xff => at += 1,
            _ => at += 2 + usize::from(u16::from_be_bytes([high, low])),
        }
    }
    // Decoders skip bytes between segments.
    true
}

/// Reads the header of an image.
fn open(file: &[u8]) -> Result<(impl ImageDecoder + '_, ImageFormat), Error> {
    let format = image::guess_format(file).map_err(|_| Error::NotAnImage)?;
    let file = match format {
        ImageFormat::Png => Cow::Owned(without_long_metadata(file)),
        _ => Cow::Borrowed(file),
    };
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED);
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    reader.limits(limits);
    Ok((reader.into_decoder().map_err(undecodable)?, format))
}

/// Returns the color profile of an image, if it has at most [`MAX_METADATA`] bytes.
fn profile(decoder: &mut impl ImageDecoder) -> Option<Vec<u8>> {
    let profile = decoder.icc_profile().ok().flatten();
    profile.filter(|profile| profile.len() <= MAX_METADATA)
}

/// Renders an image in a size; blocks. EXIF data, comments and other metadata are left out; a color profile of at most [`MAX_METADATA`] bytes is kept.
///
/// # Errors
/// `not_an_image` for files of other formats or that can't be decoded, `image_too_large` for those beyond the bounds.
pub(super) fn render(file: &[u8], size: ImageBox) -> Result<Vec<u8>, Error> {
    let (mut decoder, format) = open(file)?;
    let profile = profile(&mut decoder);
    let (image, is_opaque) = decode(decoder)?;
    let resized = padded(resized(image, size)?, size, format == ImageFormat::Jpeg);
    let is_jpeg = format == ImageFormat::Jpeg || format == ImageFormat::WebP && is_opaque && !pads(size);
    encode(&resized, is_jpeg, format, profile).map_err(|error| {
        tracing::error!(%error, "could not encode an image");
        Error::RenderFailed
    })
}

fn undecodable(error: image::ImageError) -> Error {
    match error {
        image::ImageError::Limits(_) => Error::ImageTooLarge,
        _ => Error::NotAnImage,
    }
}

/// Whether the box may be larger than the image in it.
fn pads(size: ImageBox) -> bool {
    size.crop == CropType::Contain && size.width.is_some() && size.height.is_some()
}

/// The part of an image that is used, and the size in which it is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fit {
    /// Left, top, width and height.
    part: (f64, f64, f64, f64),
    width: u32,
    height: u32,
}

/// Returns how an image fits into the requested size. Without both dimensions, the ratio is kept, and nothing is enlarged. A box to be covered
/// that is larger than the image shrinks with its ratio.
fn fit((width, height): (u32, u32), size: ImageBox) -> Fit {
    let (w, h) = (f64::from(width), f64::from(height));
    let whole = |scale: f64| Fit {
        part: (0.0, 0.0, w, h),
        width: rounded(w * scale),
        height: rounded(h * scale),
    };
    match (size.width.map(f64::from), size.height.map(f64::from)) {
        (None, None) => whole(1.0),
        (Some(to), None) => whole((to / w).min(1.0)),
        (None, Some(to)) => whole((to / h).min(1.0)),
        (Some(to_w), Some(to_h)) if size.crop == CropType::Contain => whole((to_w / w).min(to_h / h)),
        (Some(to_w), Some(to_h)) => {
            let shrunk = (w / to_w).min(h / to_h).min(1.0);
            let (to_w, to_h) = (to_w * shrunk, to_h * shrunk);
            let scale = (to_w / w).max(to_h / h);
            let (part_w, part_h) = ((to_w / scale).min(w), (to_h / scale).min(h));
            Fit {
                part: ((w - part_w) / 2.0, (h - part_h) / 2.0, part_w, part_h),
                width: rounded(to_w),
                height: rounded(to_h),
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sides are small and positive"
)]
fn rounded(side: f64) -> u32 {
    (side.round() as u32).max(1)
}

/// Decodes an image, and turns it as its metadata says. Returns whether it has no transparency besides. Most photographs have three channels of one byte and
/// are upright: these get their fourth channel in place, since a copy would double their memory.
fn decode(mut decoder: impl ImageDecoder) -> Result<(RgbaImage, bool), Error> {
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    if decoder.color_type() != ColorType::Rgb8 || orientation != Orientation::NoTransforms {
        let mut image = DynamicImage::from_decoder(decoder).map_err(undecodable)?;
        image.apply_orientation(orientation);
        let is_opaque = !image.color().has_alpha();
        return Ok((image.into_rgba8(), is_opaque));
    }
    let (width, height) = decoder.dimensions();
    let decoded = usize::try_from(decoder.total_bytes()).map_err(|_| Error::ImageTooLarge)?;
    let mut pixels = vec![0; decoded / 3 * 4];
    decoder.read_image(&mut pixels[..decoded]).map_err(undecodable)?;
    for index in (0..decoded / 3).rev() {
        let from = index * 3;
        let pixel = [pixels[from], pixels[from + 1], pixels[from + 2], u8::MAX];
        pixels[index * 4..][..4].copy_from_slice(&pixel);
    }
    let image = RgbaImage::from_raw(width, height, pixels).ok_or(Error::RenderFailed)?;
    Ok((image, true))
}

fn resized(source: RgbaImage, size: ImageBox) -> Result<RgbaImage, Error> {
    let (width, height) = source.dimensions();
    let fit = fit((width, height), size);
    let failed = |_| Error::RenderFailed;
    let mut to = Image::new(fit.width, fit.height, PixelType::U8x4);
    let source =
        Image::from_vec_u8(width, height, source.into_raw(), PixelType::U8x4).map_err(|_| Error::RenderFailed)?;
    let (left, top, part_width, part_height) = fit.part;
    let options = ResizeOptions::new()
        .crop(left, top, part_width, part_height)
        .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3));
    Resizer::new().resize(&source, &mut to, &options).map_err(failed)?;
    RgbaImage::from_raw(fit.width, fit.height, to.into_vec()).ok_or(Error::RenderFailed)
}

/// Pads an image to its box, if the box is to contain it.
fn padded(image: RgbaImage, size: ImageBox, is_jpeg: bool) -> RgbaImage {
    let (Some(box_width), Some(box_height), true) = (size.width, size.height, pads(size)) else {
        return image;
    };
    let fill = if is_jpeg { [255; 4] } else { [0; 4] };
    let mut padded = RgbaImage::from_pixel(box_width, box_height, image::Rgba(fill));
    let left = i64::from(box_width.saturating_sub(image.width()) / 2);
    let top = i64::from(box_height.saturating_sub(image.height()) / 2);
    image::imageops::replace(&mut padded, &image, left, top);
    padded
}

fn encode(
    image: &RgbaImage,
    is_jpeg: bool,
    format: ImageFormat,
    profile: Option<Vec<u8>>,
) -> image::ImageResult<Vec<u8>> {
    let (width, height) = image.dimensions();
    let mut bytes = Vec::new();
    if is_jpeg {
        let mut encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
        keep(&mut encoder, profile);
        let opaque: Vec<u8> = image
            .pixels()
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect();
        encoder.write_image(&opaque, width, height, ExtendedColorType::Rgb8)?;
    } else if format == ImageFormat::WebP {
        let mut encoder = WebPEncoder::new_lossless(&mut bytes);
        keep(&mut encoder, profile);
        encoder.write_image(image, width, height, ExtendedColorType::Rgba8)?;
    } else {
        let mut encoder = PngEncoder::new(&mut bytes);
        keep(&mut encoder, profile);
        encoder.write_image(image, width, height, ExtendedColorType::Rgba8)?;
    }
    Ok(bytes)
}

/// Keeps the color profile, if the format has one.
fn keep(encoder: &mut impl ImageEncoder, profile: Option<Vec<u8>>) {
    if let Some(profile) = profile {
        let _unsupported = encoder.set_icc_profile(profile);
    }
}

#[cfg(test)]
mod tests {
    use super::super::png::tests::{profile as profile_chunk, with_chunk};
    use super::*;

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).expect("encoded");
        bytes.into_inner()
    }

    #[test]
    fn memory_follows_from_the_depth_and_the_kind_of_an_image() {
        let ten = ["10".to_owned()];
        let size = ImageBox::parse(&ten, &ten, &[]).expect("valid").expect("a size");
        let per_pixel = |file: &[u8]| memory(file, size).expect("an image") / (500 * 500);
        let photo = encoded(&DynamicImage::new_rgb8(500, 500), ImageFormat::Jpeg);
        assert!(!is_progressive(&photo));
        assert_eq!(per_pixel(&photo), 3 + 1);
        let deep = encoded(&DynamicImage::new_rgba16(500, 500), ImageFormat::Png);
        assert_eq!(per_pixel(&deep), 8 + 8);
        let frame = photo.windows(2).position(|two| two == [0xff, 0xc0]).expect("a frame");
        let mut progressive = photo;
        progressive[frame + 1] = 0xc2;
        assert!(is_progressive(&progressive));
        assert!(
            is_progressive(&progressive[..frame]),
            "bytes between segments are skipped by decoders"
        );
    }

    #[test]
    fn memory_includes_the_color_profile() {
        let ten = ["10".to_owned()];
        let size = ImageBox::parse(&ten, &ten, &[]).expect("valid").expect("a size");
        let png = encoded(&DynamicImage::new_rgb8(5, 5), ImageFormat::Png);
        let with_profile = |length| with_chunk(&png, b"iCCP", &profile_chunk(length));
        let beside_file = |file: &[u8]| memory(file, size).expect("an image") - 2 * file.len() as u64;

        let without = beside_file(&png);

        assert_eq!(
            beside_file(&with_profile(MAX_METADATA)),
            without + 4 * MAX_METADATA as u64
        );
        assert_eq!(beside_file(&with_profile(MAX_METADATA + 1)), without, "left out");
    }

    fn size(width: Option<u32>, height: Option<u32>, crop: CropType) -> ImageBox {
        ImageBox { width, height, crop }
    }

    #[test]
    fn att_17_an_image_fits_into_its_box() {
        let fitted = |image, size| {
            let fit = fit(image, size);
            (fit.width, fit.height)
        };
        let landscape = (800, 600);
        assert_eq!(
            fitted(landscape, size(Some(300), Some(300), CropType::Cover)),
            (300, 300)
        );
        assert_eq!(
            fitted(landscape, size(Some(300), Some(300), CropType::Contain)),
            (300, 225)
        );
        assert_eq!(fitted(landscape, size(Some(400), None, CropType::Cover)), (400, 300));
        assert_eq!(
            fitted(landscape, size(Some(4000), None, CropType::Cover)),
            (800, 600),
            "not enlarged"
        );
        assert_eq!(
            fitted(landscape, size(Some(1200), Some(1200), CropType::Cover)),
            (600, 600),
            "the largest crop"
        );
        assert_eq!(
            fitted((10, 10), size(Some(40), Some(20), CropType::Contain)),
            (20, 20),
            "may be enlarged"
        );
        let part = fit(landscape, size(Some(300), Some(300), CropType::Cover)).part;
        assert_eq!(part, (100.0, 0.0, 600.0, 600.0), "from the center");
        assert_eq!(fitted((1, 4000), size(Some(1), None, CropType::Cover)), (1, 4000));
    }

    #[test]
    fn each_format_is_rendered_and_other_files_are_not() {
        let image = DynamicImage::ImageRgb8(image::RgbImage::from_pixel(40, 30, image::Rgb([200, 10, 10])));
        for (format, expected) in [
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Gif, "image/png"),
            (ImageFormat::Bmp, "image/png"),
            (ImageFormat::WebP, "image/jpeg"),
        ] {
            let mut file = Cursor::new(Vec::new());
            image.write_to(&mut file, format).expect("encoded");

            let rendered = render(&file.into_inner(), size(Some(20), None, CropType::Cover)).expect("rendered");

            assert_eq!(content_type_of(&rendered), expected, "{format:?}");
            let rendered = image::load_from_memory(&rendered).expect("an image");
            assert_eq!((rendered.width(), rendered.height()), (20, 15), "{format:?}");
        }
        for file in [&b"no image"[..], b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"] {
            assert_eq!(
                render(file, size(Some(1), None, CropType::Cover)),
                Err(Error::NotAnImage)
            );
        }
    }
}
