#![doc = include_str!("../README.md")]

pub mod acl;
pub mod bulk;
pub mod check;
pub mod commands;
mod config;
mod documented;
mod error;
mod extraction;
mod files;
mod hosts;
mod http;
mod images;
mod interceptors;
mod known;
pub mod model;
mod navigation;
pub mod query;
mod records;
mod relocation;
mod retention;
mod schema;
mod stores;
mod upload;
mod values;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::db::Migrations;
use backoffice_core::registry::{Registry, Startup};
use backoffice_egress::Egress;
use diesel_migrations::embed_migrations;
use futures_util::FutureExt;
use futures_util::future::join;

pub use config::{AttachmentsConfig, OcrConfig, S3Config, ScanConfig};
pub use extraction::{OcrProvider, ScannedDocument, run_child};
pub use hosts::{DeclaredField, Host};
pub use known::{ImagesOfTenant, KnownImages};
pub use relocation::enqueue_move;
pub use stores::CleanUp;
pub use upload::Scanner;

use files::Files;
use images::Images;
use stores::{SpoolFolder, Stores};

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module.
pub static MODULE: Module = Module {
    name: "attachments",
    title: "Attachments",
    requires: &["progress"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["attachments"],
    seals_secrets: true,
    rate_limits: &[http::UPLOADS, http::RENDERS, http::SHARED, http::TESTS],
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    background: |runtime| {
        let provided = runtime.platform.provided();
        let (known, rounds) = (provided.get::<KnownImages>()?, provided.get::<CleanUp>()?);
        let work = join(known.watch(runtime.clone()), stores::clean_up(runtime, rounds));
        Some(work.map(drop).boxed())
    },
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .entity::<model::Attachment>()
        .entity::<model::Partition>()
        .entity::<model::Field>()
        .entity::<model::Link>()
        .entity::<model::Quota>();
    registry.extend(model::CREDENTIALS).extend(records::FILES);
    commands::register(registry);
    bulk::register(registry);
    registry
        .job::<extraction::ExtractText>()
        .job::<relocation::MoveFiles>()
        .job::<retention::DeleteFilesOfAbsentRecords>()
        .schedule::<retention::DeleteFilesOfAbsentRecords>(retention::SCHEDULE, retention::EVERY);
    registry.interceptor(interceptors::KEEP_ORGANIZATIONS_WITH_ATTACHMENTS);
}

/// Creates the folders, so that a folder that can't be written ends the start.
fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let (config, folders) = AttachmentsConfig::read(startup.config())?;
    if let Some(name) = &config.ocr.provider
        && !startup
            .extensions::<OcrProvider>()
            .any(|provider| provider.name == name)
    {
        return Err(ConfigError::new(
            "attachments.ocr.provider",
            format!("no enabled module offers `{name}`"),
        ));
    }
    let egress = Egress::of_config(startup.config())?;
    let egress = egress.also_allowing("attachments.s3.allowed_endpoints", &config.s3.allowed_endpoints)?;
    let vault = startup.vault()?;
    if startup.is_check() {
        return Ok(());
    }
    for (key, folder) in [
        ("attachments.root", &folders.root),
        ("attachments.image_cache_dir", &folders.images),
    ] {
        config::create_private(folder)
            .map_err(|error| ConfigError::new(key, format!("{}: {error}", folder.display())))?;
    }
    let spool = SpoolFolder::create(&folders.spool);
    let spool = spool
        .map_err(|error| ConfigError::new("attachments.spool_dir", format!("{}: {error}", folders.spool.display())))?;
    let images = Images::new(&config, folders.images.clone());
    images.find_kept();
    let stores = Stores::new(folders, vault, egress);
    startup.provide(Arc::new(Files::new(config, stores, spool, images)));
    startup.provide(Arc::new(known::new_cache()));
    startup.provide(Arc::new(CleanUp::default()));
    Ok(())
}
