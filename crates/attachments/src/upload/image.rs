//! The size of images, from their headers.

use std::path::Path;

use imagesize::ImageType;

/// Format and size of an image that can be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageSize {
    /// `jpeg`, `png`, `gif`, `webp` or `bmp`.
    pub(crate) format: &'static str,
    /// Pixels.
    pub(crate) width: i32,
    /// Pixels.
    pub(crate) height: i32,
}

/// Returns the format and the size of an image; blocks. `None` for files that can't be rendered.
pub(crate) fn image_size(path: &Path) -> Option<ImageSize> {
    let file = std::fs::File::open(path).ok()?;
    let mut reader = std::io::BufReader::new(file);
    let mut head = Vec::with_capacity(64);
    std::io::Read::read_to_end(&mut std::io::Read::take(&mut reader, 64), &mut head).ok()?;
    let format = match imagesize::image_type(&head).ok()? {
        ImageType::Jpeg => "jpeg",
        ImageType::Png => "png",
        ImageType::Gif => "gif",
        ImageType::Webp => "webp",
        ImageType::Bmp => "bmp",
        _ => return None,
    };
    std::io::Seek::rewind(&mut reader).ok()?;
    let size = imagesize::reader_size(reader).ok()?;
    Some(ImageSize {
        format,
        width: i32::try_from(size.width).ok().filter(|width| *width > 0)?,
        height: i32::try_from(size.height).ok().filter(|height| *height > 0)?,
    })
}
