//! Metadata of PNG files. A few bytes of them may be compressed from a thousand times as many.

use std::io::{Read, copy, sink};

use flate2::read::ZlibDecoder;

/// Most bytes of a color profile that is kept, and of EXIF data that are read. Profiles of cameras and screens have some kilobytes.
pub(super) const MAX_METADATA: usize = 1024 * 1024;
/// Bytes of the signature at the beginning.
const SIGNATURE: usize = 8;
/// Bytes of a chunk besides its data: their length, its name and a checksum.
const FRAME: usize = 12;

/// Returns a PNG without the metadata that are not needed or too long: texts, further color profiles, and a color profile or EXIF data above
/// [`MAX_METADATA`]. The decoder would decompress the profile as a whole, and keep them all.
pub(super) fn without_long_metadata(file: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(file.len());
    let (signature, mut rest) = file.split_at(SIGNATURE.min(file.len()));
    kept.extend_from_slice(signature);
    let mut had_profile = false;
    while let Some((length, named)) = rest.split_first_chunk::<4>() {
        let Some((name, data)) = named.split_first_chunk::<4>() else {
            break;
        };
        if name == b"IDAT" {
            break;
        }
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let Some(data) = data.get(..length) else {
            // The file ends before its pixels.
            return kept;
        };
        let is_kept = match name {
            b"tEXt" | b"zTXt" | b"iTXt" => false,
            b"eXIf" => length <= MAX_METADATA,
            b"iCCP" => !std::mem::replace(&mut had_profile, true) && has_short_profile(data),
            _ => true,
        };
        let (chunk, next) = rest.split_at((length + FRAME).min(rest.len()));
        if is_kept {
            kept.extend_from_slice(chunk);
        }
        rest = next;
    }
    kept.extend_from_slice(rest);
    kept
}

/// Returns whether the color profile in a chunk has at most [`MAX_METADATA`] bytes. No more are decompressed; a profile that can't be is not kept.
fn has_short_profile(data: &[u8]) -> bool {
    // Its name of up to 79 bytes, a zero byte and the method of compression come first.
    let Some(end) = data.iter().take(80).position(|byte| *byte == 0) else {
        return false;
    };
    let compressed = data.get(end + 2..).unwrap_or_default();
    let most = MAX_METADATA as u64;
    let length = copy(&mut ZlibDecoder::new(compressed).take(most + 1), &mut sink());
    length.is_ok_and(|length| length <= most)
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use flate2::write::ZlibEncoder;
    use flate2::{Compression, Crc};

    use super::*;

    /// Returns a PNG with a chunk after its header.
    pub(crate) fn with_chunk(png: &[u8], name: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let (header, rest) = png.split_at(SIGNATURE + FRAME + 13);
        let named = [&name[..], data].concat();
        let mut crc = Crc::new();
        crc.update(&named);
        let length = u32::try_from(data.len()).expect("short").to_be_bytes();
        [header, &length, &named, &crc.sum().to_be_bytes(), rest].concat()
    }

    /// Returns the data of a chunk with a color profile of this many zero bytes.
    pub(crate) fn profile(length: usize) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(b"icc\0\0".to_vec(), Compression::fast());
        encoder.write_all(&vec![0; length]).expect("compressed");
        encoder.finish().expect("compressed")
    }

    fn png() -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let image = image::DynamicImage::new_rgb8(3, 2);
        image.write_to(&mut bytes, image::ImageFormat::Png).expect("encoded");
        bytes.into_inner()
    }

    #[test]
    fn long_metadata_and_texts_are_left_out() {
        let png = png();
        let long = vec![7; MAX_METADATA + 1];

        let left_out: [(&[u8; 4], &[u8]); 7] = [
            (b"tEXt", b"a\0b"),
            (b"zTXt", b"a\0\0b"),
            (b"iTXt", b"a\0\0\0\0\0b"),
            (b"eXIf", &long),
            (b"iCCP", &profile(MAX_METADATA + 1)),
            (b"iCCP", &profile(100)[..15]),
            (b"iCCP", b"a name without an end"),
        ];
        for (name, data) in left_out {
            assert_eq!(without_long_metadata(&with_chunk(&png, name, data)), png);
        }
        let kept: [(&[u8; 4], &[u8]); 3] = [
            (b"eXIf", &long[1..]),
            (b"iCCP", &profile(MAX_METADATA)),
            (b"gAMA", &[0, 0, 0, 1]),
        ];
        for (name, data) in kept {
            let file = with_chunk(&png, name, data);
            assert_eq!(without_long_metadata(&file), file);
        }
    }

    #[test]
    fn the_first_of_several_color_profiles_is_kept() {
        let png = png();
        let first = with_chunk(&png, b"iCCP", &profile(1));
        let both = with_chunk(&with_chunk(&png, b"iCCP", &profile(2)), b"iCCP", &profile(1));

        assert_eq!(without_long_metadata(&both), first);
    }

    #[test]
    fn incomplete_files_are_read_to_their_ends() {
        let png = with_chunk(&png(), b"tEXt", b"a\0b");
        for length in 0..png.len() {
            assert!(without_long_metadata(&png[..length]).len() <= length);
        }
        assert_eq!(without_long_metadata(&png[..12]), png[..12]);
    }
}
