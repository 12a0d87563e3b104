//! The connections of S3 clients.

use std::pin::Pin;

use backoffice_egress::{Body, Client, Error};
use http_body_util::BodyExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};

/// Sends the requests of a store with a client that connects to allowed addresses only.
#[derive(Debug, Clone)]
pub(super) struct Guarded(pub(super) Client);

impl HttpConnector for Guarded {
    fn connect(&self, _options: &object_store::ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for Guarded {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let request = request.map(|body| match body.as_bytes() {
                Some(bytes) => Body::from(bytes.clone()),
                None => Body::wrap(body),
            });
            let response = self.0.send(request).await.map_err(failed)?;
            let failed = |error| HttpError::new(HttpErrorKind::Interrupted, error);
            Ok(response.map(|body| HttpResponseBody::new(body.map_err(failed))))
        })
    }
}

fn failed(error: Error) -> HttpError {
    let kind = match &error {
        Error::Connect(_) => HttpErrorKind::Connect,
        Error::Timeout(_) => HttpErrorKind::Timeout,
        Error::Exchange(_) => HttpErrorKind::Interrupted,
        Error::Rejected(_) | Error::Invalid | Error::Unknown | Error::TooLong => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}
