//! What one caller takes of the slots that all callers share.

use std::net::{Ipv4Addr, TcpListener};

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestResponse};
use futures_util::StreamExt;
use futures_util::future::{FutureExt, LocalBoxFuture, join, join_all};
use futures_util::stream::FuturesUnordered;
use image::{DynamicImage, ImageFormat};
use serde_json::json;
use uuid::Uuid;

use crate::s3_server::S3Server;
use crate::{
    LIBRARY, NOTE, PARTITIONS, TwoTenants, Upload, builder_with_limits, fixture_with, id_of, rejected, rejection,
    upload, uploaded,
};

/// Uploads a small image to a public partition `photos` with this store, and returns its id.
async fn photo(fixture: &TwoTenants, store: serde_json::Value) -> Uuid {
    let mut partition = json!({"code": "photos", "title": "Photos", "isPublic": true});
    partition
        .as_object_mut()
        .expect("an object")
        .extend(store.as_object().expect("an object").clone());
    let (status, created) = fixture.app.post(&fixture.a.token, PARTITIONS, partition).await;
    assert_eq!(status, 201, "{created}");
    let mut bytes = std::io::Cursor::new(Vec::new());
    DynamicImage::new_rgb8(64, 64)
        .write_to(&mut bytes, ImageFormat::Png)
        .expect("encoded");
    let file = Upload {
        name: "a.png",
        bytes: bytes.get_ref(),
        kind: "image/png",
    };
    uploaded(fixture, &[("partitionCode", "photos")], file).await
}

/// An image in a bucket whose server takes requests and does not respond any more: the image is never rendered.
struct Silent {
    fixture: TwoTenants,
    id: Uuid,
    _listener: TcpListener,
}

/// Callers and the responses that they get.
type Responses<'a> = FuturesUnordered<LocalBoxFuture<'a, (&'static str, TestResponse)>>;

impl Silent {
    async fn new() -> Self {
        let server = S3Server::start().await;
        let fixture = fixture_with(S3Server::section()).await;
        let id = photo(&fixture, json!({"storageDriver": "s3", "configJson": server.config()})).await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let replace = format!(
            "update attachments_stores set config = jsonb_set(config, '{{endpoint}}', '\"http://{address}\"') \
             where driver = 's3'"
        );
        assert_eq!(fixture.app.sql(&replace).await, 1);
        Self {
            fixture,
            id,
            _listener: listener,
        }
    }

    /// Requests sizes of the image that no other request has, in the name of a caller: an address, or the token of a user.
    fn request<'a>(&'a self, responses: &mut Responses<'a>, name: &'static str, caller: &'a str, widths: [u32; 2]) {
        for width in widths[0]..widths[1] {
            let path = format!("/attachments/image/{}?width={width}", self.id);
            let request = self.fixture.app.request(Method::GET, &path);
            let request = match caller.contains(':') {
                true => request.peer(caller),
                false => request.bearer(caller),
            };
            responses.push(async move { (name, request.send().await) }.boxed_local());
        }
    }

    /// Asserts that there are no further responses, although other requests get theirs.
    async fn assert_waiting(&self, responses: &mut Responses<'_>) {
        let (status, _) = self.fixture.app.get(&self.fixture.b.token, LIBRARY).await;
        assert_eq!(status, 200);
        assert!(responses.next().now_or_never().is_none());
    }
}

/// Asserts that the next response is a rejection of this caller.
async fn assert_busy(responses: &mut Responses<'_>, name: &str) {
    let (caller, response) = responses.next().await.expect("a response");
    assert_eq!((caller, rejection(&response)), (name, rejected(503, "renders_busy")));
    assert_eq!(response.header("retry-after").as_deref(), Some("1"));
}

#[actix_web::test]
async fn the_visitors_from_one_network_take_a_quarter_of_the_queue_of_renders() {
    let silent = Silent::new().await;
    let mut responses = Responses::new();

    // The networks of IPv6 addresses have 64 bits.
    silent.request(&mut responses, "first", "2001:db8:0:1::1", [1, 17]);
    silent.request(&mut responses, "first", "2001:db8:0:1::2", [17, 18]);
    assert_busy(&mut responses, "first").await;

    silent.request(&mut responses, "second", "2001:db8:0:2::1", [21, 38]);
    assert_busy(&mut responses, "second").await;
    silent.assert_waiting(&mut responses).await;
}

#[actix_web::test]
async fn the_images_of_one_tenant_leave_queue_positions_for_others() {
    let silent = Silent::new().await;
    let mut responses = Responses::new();
    for (name, caller, widths) in [
        ("first", "2001:db8:0:1::1", [1, 18]),
        ("second", "2001:db8:0:2::1", [21, 38]),
        ("third", "2001:db8:0:3::1", [41, 58]),
    ] {
        silent.request(&mut responses, name, caller, widths);
        assert_busy(&mut responses, name).await;
    }

    silent.request(&mut responses, "fourth", "2001:db8:0:4::1", [61, 62]);
    assert_busy(&mut responses, "fourth").await;
    silent.assert_waiting(&mut responses).await;
}

#[actix_web::test]
async fn one_user_takes_half_of_the_queue_of_renders() {
    let silent = Silent::new().await;
    let (_, colleague) = silent.fixture.user("employee@alpha.test", &["employee"]).await;
    let mut responses = Responses::new();

    silent.request(&mut responses, "admin", &silent.fixture.a.token, [1, 34]);
    assert_busy(&mut responses, "admin").await;
    silent.request(&mut responses, "colleague", &colleague, [41, 42]);
    silent.request(&mut responses, "admin", &silent.fixture.a.token, [51, 52]);
    assert_busy(&mut responses, "admin").await;
    silent.assert_waiting(&mut responses).await;
}

#[actix_web::test]
async fn renders_for_visitors_are_limited_and_images_in_the_cache_are_not() {
    let limits = builder_with_limits().config("[rate_limits.limits]\n\"attachments.render.ip\" = \"2/60\"\n");
    let fixture = TwoTenants::inside(limits.build().await).await;
    let id = photo(&fixture, json!({})).await;
    let image = async |peer: &str, width: u32| {
        let path = format!("/attachments/image/{id}?width={width}");
        fixture.app.request(Method::GET, &path).peer(peer).send().await
    };

    for width in [1, 2, 1, 2] {
        assert_eq!(image("10.0.0.1", width).await.status, 200, "{width}");
    }
    let limited = image("10.0.0.1", 3).await;

    assert_eq!(limited.status, 429, "{}", limited.text());
    let policy = limited.header("ratelimit-policy");
    assert_eq!(policy.as_deref(), Some("\"attachments.render.ip\";q=2;w=60"));
    assert_eq!(image("10.0.0.1", 1).await.status, 200, "in the cache");
    assert_eq!(image("10.0.0.2", 3).await.status, 200, "for another network");
    assert_eq!(image("10.0.0.1", 3).await.status, 200, "in the cache now");
    let path = format!("/attachments/image/{id}?width=4");
    let user = fixture.app.request(Method::GET, &path).bearer(&fixture.a.token);
    assert_eq!(
        user.peer("10.0.0.1").send().await.status,
        200,
        "users have no such limit"
    );
    fixture.app.advance(Duration::seconds(61));
    assert_eq!(image("10.0.0.1", 5).await.status, 200);
}

#[actix_web::test]
async fn one_user_leaves_slots_of_the_tenant_for_others() {
    let fixture = fixture_with("per_tenant = 4").await;
    let (_, colleague) = fixture.user("employee@alpha.test", &["employee"]).await;
    let by_admin = (0..8).map(|_| upload(&fixture.app, &fixture.a.token, &[], NOTE));

    let (by_admin, by_colleague) = join(join_all(by_admin), upload(&fixture.app, &colleague, &[], NOTE)).await;

    let busy: Vec<_> = by_admin.iter().filter(|response| response.status != 200).collect();
    assert!(!busy.is_empty() && busy.len() <= 6, "{} of 8", busy.len());
    for response in busy {
        assert_eq!(rejection(response), rejected(503, "uploads_busy"));
        assert_eq!(response.header("retry-after").as_deref(), Some("1"));
    }
    assert_eq!(by_colleague.status, 200, "{}", by_colleague.text());
    assert_ne!(id_of(&by_colleague.json()["item"]), Uuid::nil());
    let again = upload(&fixture.app, &fixture.a.token, &[], NOTE).await;
    assert_eq!(again.status, 200, "the slots are free again");
}

#[actix_web::test]
async fn the_slots_of_a_user_are_configured() {
    let fixture = fixture_with("per_tenant = 8\nper_principal = 1").await;

    let responses = join_all((0..8).map(|_| upload(&fixture.app, &fixture.a.token, &[], NOTE))).await;

    let busy = responses.iter().filter(|response| response.status == 503);
    assert!(busy.count() > 4, "half of the tenant's slots are not taken");
}
