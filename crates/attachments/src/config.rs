//! Section `attachments` of the configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backoffice_core::config::{self, Config, ConfigError};
use serde::Deserialize;

use crate::upload::Scanner;

/// Largest value of `attachments.max_upload`: 5 GiB.
const LARGEST_UPLOAD: u64 = 5 * 1024 * 1024 * 1024;

/// Section `attachments`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttachmentsConfig {
    /// Largest file. Default 25 MiB, at most 5 GiB.
    #[serde(deserialize_with = "config::bytes")]
    pub max_upload: u64,
    /// Bytes of all files of a tenant, across its organizations, unless the tenant has a quota of its own. Default 512 MiB.
    #[serde(deserialize_with = "config::bytes")]
    pub tenant_quota: u64,
    /// Uploads at once in this process; further ones get 503. Default 64.
    pub max_concurrent_uploads: usize,
    /// Uploads of one tenant at once in this process; further ones get 503. Default 16.
    pub per_tenant: usize,
    /// Uploads of one user or API key at once in this process; further ones get 503. Default half of `per_tenant`.
    pub per_principal: Option<usize>,
    /// Folder of the files of local partitions, one folder for each code. Default `attachments` below `data_dir`.
    pub root: Option<PathBuf>,
    /// Folders of single partitions, by code, or by the form that codes have in the names of environment variables.
    pub roots: BTreeMap<String, PathBuf>,
    /// Folder of uploads that are still arriving, preferably on the file system of `root`. Default `spool` below `data_dir`.
    pub spool_dir: Option<PathBuf>,
    /// Folder of images in requested sizes. Default `images` below `data_dir`.
    pub image_cache_dir: Option<PathBuf>,
    /// Bytes of all images in `image_cache_dir`. Default 2 GiB.
    #[serde(deserialize_with = "config::bytes")]
    pub image_cache: u64,
    /// Memory of all images that are being rendered, more than 0. Default 256 MiB.
    #[serde(deserialize_with = "config::bytes")]
    pub render_memory: u64,
    /// Whether the texts of PDF, of documents of word processors and of long texts are extracted after the upload. Default true.
    pub extract_text: bool,
    /// The program that extracts texts, with the arguments `extract-text` and the kind of the document: one that calls
    /// [`run_child`](crate::run_child). Without it no text is extracted. Default: the host itself.
    pub extract_program: Option<PathBuf>,
    /// Recognition of texts in images.
    pub ocr: OcrConfig,
    /// The virus scanner.
    pub scan: ScanConfig,
    /// Stores in S3.
    pub s3: S3Config,
}

/// Section `attachments.s3`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct S3Config {
    /// Host names, addresses or networks of endpoints that need neither https nor a public address. Default none.
    pub allowed_endpoints: Vec<String>,
}

/// Section `attachments.ocr`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OcrConfig {
    /// Name of the [`OcrProvider`](crate::OcrProvider) for the files of partitions with `requiresOcr`. Default none: no text is recognized.
    pub provider: Option<String>,
}

/// Section `attachments.scan`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanConfig {
    /// Address of clamd, `tcp://host:port` or `unix:path`: uploads are scanned, and rejected when it does not respond. Default none.
    pub clamd: Option<Scanner>,
}

impl Default for AttachmentsConfig {
    fn default() -> Self {
        Self {
            max_upload: 25 * 1024 * 1024,
            tenant_quota: 512 * 1024 * 1024,
            max_concurrent_uploads: 64,
            per_tenant: 16,
            per_principal: None,
            root: None,
            roots: BTreeMap::new(),
            spool_dir: None,
            image_cache_dir: None,
            image_cache: 2 * 1024 * 1024 * 1024,
            render_memory: 256 * 1024 * 1024,
            extract_text: true,
            extract_program: None,
            ocr: OcrConfig::default(),
            scan: ScanConfig::default(),
            s3: S3Config::default(),
        }
    }
}

/// The folders of the files.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    /// Of local partitions without a folder of their own.
    pub(crate) root: PathBuf,
    /// Of single partitions, by code.
    pub(crate) roots: BTreeMap<String, PathBuf>,
    /// Of arriving uploads.
    pub(crate) spool: PathBuf,
    /// Of images in requested sizes.
    pub(crate) images: PathBuf,
}

impl AttachmentsConfig {
    /// Reads and checks the section.
    ///
    /// # Errors
    /// Names the invalid key.
    pub(crate) fn read(config: &Config) -> Result<(Self, Folders), ConfigError> {
        let own: Self = config.section("attachments")?;
        if own.max_upload == 0 || own.max_upload > LARGEST_UPLOAD {
            return Err(ConfigError::new(
                "attachments.max_upload",
                "must be between 1 byte and 5GiB",
            ));
        }
        if own.max_concurrent_uploads == 0 || own.per_tenant == 0 || own.per_principal == Some(0) {
            let key = "attachments.max_concurrent_uploads";
            return Err(ConfigError::new(
                key,
                "it, `attachments.per_tenant` and `attachments.per_principal` must be at least 1",
            ));
        }
        if own.render_memory == 0 {
            return Err(ConfigError::new("attachments.render_memory", "must be more than 0"));
        }
        let below = |given: &Option<PathBuf>, name: &str| match given {
            Some(folder) => Ok(folder.clone()),
            None => Ok(config.data_dir()?.join(name)),
        };
        let folders = Folders {
            root: below(&own.root, "attachments")?,
            roots: own.roots.clone(),
            spool: below(&own.spool_dir, "spool")?,
            images: below(&own.image_cache_dir, "images")?,
        };
        Ok((own, folders))
    }

    /// Returns the uploads of one user or API key at once.
    pub(crate) fn per_principal(&self) -> usize {
        self.per_principal.unwrap_or(self.per_tenant.div_ceil(2))
    }
}

impl Folders {
    /// Returns the folder of the local partitions with this code.
    pub(crate) fn of_partition(&self, code: &str) -> PathBuf {
        let in_variable = env_name(code);
        let is_own = |name: &str| {
            [code, &in_variable]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
        };
        let own = self.roots.iter().find(|(name, _)| is_own(name));
        own.map_or_else(|| self.root.join(code), |(_, folder)| folder.clone())
    }
}

/// Creates a folder that only this user may open.
pub(crate) fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns the form of a code in the name of an environment variable: split before capitals, other characters replaced, in capitals.
pub(crate) fn env_name(code: &str) -> String {
    let mut name = String::with_capacity(code.len() + 4);
    let (mut separates, mut was_lower) = (false, false);
    for c in code.chars() {
        let is_plain = c.is_ascii_alphanumeric();
        if is_plain {
            if separates || (was_lower && c.is_ascii_uppercase()) {
                name.push('_');
            }
            name.push(c.to_ascii_uppercase());
        }
        separates = !is_plain && !name.is_empty();
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_need_memory() {
        let config = Config::from_toml("[attachments]\nrender_memory = 0").expect("toml");

        let error = AttachmentsConfig::read(&config).expect_err("no memory");

        assert_eq!(error.key, "attachments.render_memory");
    }

    #[test]
    fn the_variable_of_a_partition_follows_from_its_code() {
        for (code, expected) in [
            ("privateAttachments", "PRIVATE_ATTACHMENTS"),
            ("docs", "DOCS"),
            ("a--b_C2D", "A_B_C2_D"),
        ] {
            assert_eq!(env_name(code), expected);
        }
    }

    #[test]
    fn a_partition_has_a_folder_of_its_own_by_code_or_by_variable() {
        let folders = Folders {
            root: "all".into(),
            roots: [
                ("private_attachments".to_owned(), "own".into()),
                ("Docs".to_owned(), "docs".into()),
            ]
            .into(),
            spool: PathBuf::new(),
            images: PathBuf::new(),
        };

        assert_eq!(folders.of_partition("privateAttachments"), Path::new("own"));
        assert_eq!(folders.of_partition("docs"), Path::new("docs"));
        assert_eq!(folders.of_partition("other"), Path::new("all/other"));
    }
}
