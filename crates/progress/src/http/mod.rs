//! The endpoints. One's own jobs need a login only, so none of them asks for a feature; what the caller sees follows from
//! [`crate::query::jobs::seen_by`].

mod cancel;
mod job_id;

use backoffice_core::http::{Access, Routes};

pub(crate) fn routes(routes: &mut Routes) {
    routes
        .post("/progress/jobs/{id}/cancel", Access::Authenticated, cancel::cancel_job)
        .about("Stop a job before its next chunk")
        .refuses(&[404, 409]);
}
