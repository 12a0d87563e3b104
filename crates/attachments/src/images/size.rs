//! Requested sizes.

use crate::error::Error;

/// Largest width and height.
const MAX_SIDE: u32 = 4000;

/// How an image fits into a box of both dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum CropType {
    /// The box is filled; what does not fit is cut off.
    Cover,
    /// The whole image is shown; the rest of the box is filled.
    Contain,
}

/// A requested size: at least one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ImageBox {
    pub(crate) width: Option<u32>,
    pub(crate) height: Option<u32>,
    pub(crate) crop: CropType,
}

impl ImageBox {
    /// Reads the values of the parameters of a query; `None` if no size is requested.
    ///
    /// # Errors
    /// `invalid_size` for values out of range, unknown crop types and repeated parameters.
    pub(crate) fn parse(widths: &[String], heights: &[String], crops: &[String]) -> Result<Option<Self>, Error> {
        let (width, height) = (side(widths)?, side(heights)?);
        let crop = match crops {
            [] => CropType::Cover,
            [one] if one == "cover" => CropType::Cover,
            [one] if one == "contain" => CropType::Contain,
            _ => return Err(Error::InvalidSize),
        };
        let is_given = width.is_some() || height.is_some();
        Ok(is_given.then_some(Self { width, height, crop }))
    }

    /// Returns the name of the size, in addresses of the cache and in entity tags.
    pub(crate) fn name(self) -> String {
        let side = |side: Option<u32>| side.map_or_else(|| "x".to_owned(), |side| side.to_string());
        let crop = match self.crop {
            CropType::Cover => "cover",
            CropType::Contain => "contain",
        };
        format!("w{}-h{}-{crop}", side(self.width), side(self.height))
    }

    /// Reads a name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        let side = |text: &str| match text {
            "x" => Some(None),
            text => text.parse().ok().map(Some),
        };
        let width = side(parts.next()?.strip_prefix('w')?)?;
        let height = side(parts.next()?.strip_prefix('h')?)?;
        let crop = match parts.next()? {
            "cover" => CropType::Cover,
            "contain" => CropType::Contain,
            _ => return None,
        };
        Some(Self { width, height, crop })
    }

    /// Returns the most pixels that an image of this size can have.
    pub(crate) fn most_pixels(self) -> u32 {
        self.width.unwrap_or(MAX_SIDE) * self.height.unwrap_or(MAX_SIDE)
    }
}

/// Reads a side that is given once or not at all.
fn side(values: &[String]) -> Result<Option<u32>, Error> {
    let text = match values {
        [] => return Ok(None),
        [text] => text,
        _ => return Err(Error::InvalidSize),
    };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let side = text
        .parse()
        .ok()
        .filter(|side| is_number && (1..=MAX_SIDE).contains(side));
    side.map(Some).ok_or(Error::InvalidSize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &[(&str, &str)]) -> Result<Option<ImageBox>, Error> {
        let values = |name: &str| -> Vec<String> {
            let values = query.iter().filter(|(known, _)| *known == name);
            values.map(|(_, value)| (*value).to_owned()).collect()
        };
        ImageBox::parse(&values("width"), &values("height"), &values("cropType"))
    }

    #[test]
    fn att_18_sizes_are_whole_numbers_up_to_4000_given_once() {
        let size = parse(&[("width", "300"), ("cropType", "contain")])
            .expect("valid")
            .expect("a size");
        assert_eq!(
            (size.width, size.height, size.crop),
            (Some(300), None, CropType::Contain)
        );
        assert_eq!(ImageBox::of_name(&size.name()), Some(size));
        assert_eq!(parse(&[("other", "1")]), Ok(None));
        for query in [
            &[("width", "0")][..],
            &[("height", "4001")],
            &[("width", "abc")],
            &[("width", "")],
            &[("width", "+5")],
            &[("width", "1"), ("width", "1")],
            &[("width", "1"), ("cropType", "fill")],
        ] {
            assert_eq!(parse(query), Err(Error::InvalidSize), "{query:?}");
        }
    }
}
