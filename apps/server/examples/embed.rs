//! Another actix-web program with `auth` and `audit-logs` below its `/api`, and the pages of both. The database is migrated already
//! (`backoffice migrate`); `DATABASE_URL` names the application's role, `JWT_SECRET` and `CONSENT_SECRET`
//! have at least 32 bytes each.

use std::env;
use std::error::Error;

use actix_web::{App, HttpServer, web};
use backoffice_core::Module;
use backoffice_core::config::Config;
use backoffice_server::{Composition, api, pages};

static MODULES: [&Module; 3] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
];
const WORKERS: usize = 2;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = format!(
        "[auth]\njwt.keys = [{{ kid = 'embedded', secret = '{}' }}]\nconsent.keys = [{{ kid = 'embedded', secret = '{}' }}]",
        env::var("JWT_SECRET")?,
        env::var("CONSENT_SECRET")?
    );
    let office = Composition::new(Config::from_toml(&config)?)
        .modules(&MODULES)
        .build(env::var("DATABASE_URL")?.into())?;
    for module in office.platform().modules() {
        if let Some(work) = (module.background)(office.runtime(2)) {
            tokio::spawn(work);
        }
    }
    let server = HttpServer::new(move || {
        let runtime = office.worker(WORKERS);
        App::new()
            .route("/", web::get().to(async || "The program's own page"))
            .configure(pages(runtime.clone()))
            .configure(api(runtime))
    });
    server.workers(WORKERS).bind(("127.0.0.1", 8000))?.run().await?;
    Ok(())
}
