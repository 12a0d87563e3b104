//! The endpoints. Callers need no feature for their own jobs, so no endpoint requires one; [`crate::query::jobs::seen_by`] defines which jobs a
//! caller sees.

mod active;
mod cancel;
mod detail;
mod items;
mod job_id;
mod job_item;
mod list;
mod retry;
mod words;

use backoffice_core::http::{Access, Routes};

pub(crate) fn routes(routes: &mut Routes) {
    routes
        .get("/progress/active", Access::Authenticated, active::list_active_jobs)
        .about("List the jobs that are under way, and those that have just finished");
    routes
        .get("/progress/jobs", Access::Authenticated, list::list_jobs)
        .shows(&["progress.job"])
        .about("List jobs");
    routes
        .get("/progress/jobs/{id}", Access::Authenticated, detail::get_job)
        .shows(&["progress.job"])
        .about("Show a job and its result")
        .rejects(&[404]);
    routes
        .get("/progress/jobs/{id}/items", Access::Authenticated, items::list_items)
        .shows(&["progress.job"])
        .about("List the items of a job")
        .rejects(&[404]);
    routes
        .post("/progress/jobs/{id}/cancel", Access::Authenticated, cancel::cancel_job)
        .about("Stop a job before its next chunk")
        .rejects(&[404, 409]);
    routes
        .post("/progress/jobs/{id}/retry", Access::Authenticated, retry::retry_job)
        .about("Start a new job for the failed and unprocessed items")
        .rejects(&[404, 409, 422]);
}
