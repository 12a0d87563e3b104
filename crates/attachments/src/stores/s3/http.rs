//! The connections of S3 clients.

use std::pin::Pin;
use std::time::Duration;

use actix_web::web::Bytes;
use backoffice_egress::{Body, Client, Error, read_limited};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};

/// Longest response to a request for a list: a thousand keys of 1024 bytes that XML escapes.
const LONGEST_LIST: usize = 8 * 1024 * 1024;
/// Longest response to any other request that is not for an object.
const LONGEST_RESPONSE: usize = 1024 * 1024;
/// Longest duration of a request with its whole response.
const LONGEST: Duration = Duration::from_secs(60);
/// Longest duration of a request that begins or completes an upload in parts: S3 completes a large object for minutes, and sends spaces meanwhile.
const LONGEST_COMPLETION: Duration = Duration::from_secs(300);

/// Sends the requests of a store with a client that connects to allowed addresses only.
///
/// A tenant chooses the server, and the library allocates as much memory as a response announces. So the library receives bodies whose length is known
/// and bounded, and the bytes of objects as a stream that announces no length.
#[derive(Debug, Clone)]
pub(super) struct Guarded(pub(super) Client);

/// How the response to a request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reception {
    /// As the bytes of an object, of any length and duration.
    Streamed,
    /// As a whole, of at most this length and duration.
    Whole(usize, Duration),
}

impl Reception {
    fn of_request(request: &HttpRequest) -> Self {
        let is_list = || request.uri().query().is_some_and(|query| query.contains("list-type="));
        match request.method().as_str() {
            "GET" if is_list() => Self::Whole(LONGEST_LIST, LONGEST),
            "GET" => Self::Streamed,
            "POST" => Self::Whole(LONGEST_RESPONSE, LONGEST_COMPLETION),
            _ => Self::Whole(LONGEST_RESPONSE, LONGEST),
        }
    }
}

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
            let reception = Reception::of_request(&request);
            let request = request.map(|body| match body.as_bytes() {
                Some(bytes) => Body::from(bytes.clone()),
                None => Body::wrap(body),
            });
            let response = match reception {
                Reception::Streamed => self.0.send(request).await,
                Reception::Whole(_, longest) => self.0.send_within(request, longest).await,
            };
            let (parts, body) = response.map_err(failed)?.into_parts();
            let body = match reception {
                // The status says enough, and the texts of a server are not shown.
                _ if !parts.status.is_success() => HttpResponseBody::from(Bytes::new()),
                Reception::Whole(most, _) => read_limited(body, most).await.map_err(failed)?.into(),
                Reception::Streamed => {
                    let failed = |error| HttpError::new(HttpErrorKind::Interrupted, error);
                    HttpResponseBody::new(StreamBody::new(BodyStream::new(body.map_err(failed))))
                }
            };
            Ok(HttpResponse::from_parts(parts, body))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use backoffice_egress::{ClientOptions, Egress, EgressConfig};
    use futures_util::StreamExt;
    use object_store::multipart::MultipartStore;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::{sleep, timeout};
    use uuid::Uuid;

    use super::super::{AuthMode, Credentials, PartMemory, S3, S3Settings};
    use super::*;

    /// The body that a server sends after its headers.
    #[derive(Debug, Clone, Copy)]
    enum Sent {
        /// Six bytes in two pieces, announced as this many.
        Announced(u64),
        /// Chunks without end.
        Endless,
        /// This text.
        Text(&'static str),
    }

    /// A length for which no memory can be allocated.
    const HUGE: Sent = Sent::Announced(1 << 62);

    /// Opens a bucket on a server that sends the same response to every request.
    async fn bucket(headers: &'static str, sent: Sent) -> S3 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, headers, sent));
            }
        });
        let config = EgressConfig {
            allow_http: true,
            ports: vec![port],
            allowed_hosts: vec!["127.0.0.1".to_owned()],
        };
        let options = ClientOptions {
            timeout: None,
            ..ClientOptions::default()
        };
        let client = Egress::new(config).expect("valid").client(options).expect("created");
        let settings = S3Settings {
            bucket: "files".to_owned(),
            region: "us-east-1".to_owned(),
            endpoint: Some(format!("http://127.0.0.1:{port}")),
            path_prefix: None,
            force_path_style: true,
            auth_mode: AuthMode::AccessKeys,
        };
        let keys = json!({"accessKeyId": "key", "secretAccessKey": "secret"});
        let credentials = Credentials::from_bytes(keys.to_string().as_bytes()).expect("valid");
        let memory = Arc::new(PartMemory::new());
        S3::new(&settings, &credentials, client, Uuid::from_u128(1), memory).expect("opened")
    }

    async fn serve(mut stream: TcpStream, headers: &str, sent: Sent) {
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let framing = match sent {
            Sent::Announced(length) => format!("content-length: {length}"),
            Sent::Endless => "transfer-encoding: chunked".to_owned(),
            Sent::Text(text) => format!("content-length: {}", text.len()),
        };
        let head = format!("HTTP/1.1 {headers}\r\nconnection: close\r\n{framing}\r\n\r\n");
        let _sent = stream.write_all(head.as_bytes()).await;
        match sent {
            Sent::Announced(_) => {
                let _sent = stream.write_all(b"one").await;
                sleep(Duration::from_millis(50)).await;
                let _sent = stream.write_all(b"two").await;
            }
            Sent::Text(text) => {
                let _sent = stream.write_all(text.as_bytes()).await;
            }
            Sent::Endless => {
                let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
                while stream.write_all(chunk.as_bytes()).await.is_ok() {}
            }
        }
        // The rest of the request is read, so that the response is not lost with the connection.
        let _ended = stream.shutdown().await;
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await.is_ok_and(|length| length > 0) {}
    }

    /// Returns what a request returned, which must be soon.
    async fn soon<T>(request: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(20), request).await.expect("an end")
    }

    #[tokio::test]
    async fn responses_of_a_huge_length_or_without_an_end_fail() {
        for sent in [HUGE, Sent::Endless] {
            for status in ["400 Bad Request", "404 Not Found", "200 OK"] {
                let s3 = bucket(status, sent).await;
                let path = s3.path("key").expect("a path");

                let read = soon(s3.read("key", 16)).await;
                let listed = soon(s3.objects("tenant")).await;
                let begun = soon(s3.client.create_multipart(&path)).await;
                let stored = soon(s3.put_bytes("key", [0; 16])).await;

                assert!(read.is_err() && listed.is_err() && begun.is_err(), "{status}, {sent:?}");
                assert!(stored.is_err(), "{status}, {sent:?}");
            }
        }
    }

    #[tokio::test]
    async fn an_object_has_as_many_bytes_as_the_caller_requested() {
        let whole = bucket("200 OK\r\ncontent-length: 16", Sent::Endless).await;
        assert!(soon(whole.read("key", 16)).await.is_err());

        let part = "206 Partial Content\r\ncontent-range: bytes 0-15/16\r\ncontent-length: 16";
        let part = bucket(part, Sent::Endless).await;
        let read = async {
            let mut pieces = part.pieces("key", 0..16).await.ok()?;
            let mut length = 0;
            while let Some(piece) = pieces.next().await {
                length += piece.ok()?.len();
            }
            Some(length)
        };
        assert_eq!(soon(read).await, None);
    }

    #[tokio::test]
    async fn a_deletion_does_not_depend_on_the_keys_in_the_response() {
        let body = "<DeleteResult><Error><Key>another</Key><Code>C</Code><Message>M</Message></Error></DeleteResult>";
        let s3 = bucket("200 OK", Sent::Text(body)).await;

        assert!(soon(s3.remove("key", None)).await.is_ok());
    }
}
