//! Files in a browser.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::driver::{Browser, ENTER, TAB, browse};
use super::{Site, text_of};
use crate::fixture::{self, PASSWORD};

/// Uploads a file as an administrator and returns its address.
async fn upload(site: &Site, parts: &[(&str, &str)], name: &str, kind: &str, bytes: &[u8]) -> String {
    let mut body = Vec::new();
    for (part, value) in [("entityId", "x.y"), ("recordId", "r1")].iter().chain(parts) {
        body.extend(format!("--x\r\nContent-Disposition: form-data; name=\"{part}\"\r\n\r\n{value}\r\n").into_bytes());
    }
    let head = format!(
        "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n"
    );
    body.extend(head.into_bytes());
    body.extend_from_slice(bytes);
    body.extend_from_slice(b"\r\n--x--\r\n");
    let request = site.fixture.app.request(Method::POST, "/attachments");
    let request = request.bearer(&site.fixture.a.tenant_admin.token);
    let organization = site.fixture.a.root.to_string();
    let request = request.header("X-Organization-Id", &organization);
    let response = request.body(body, "multipart/form-data; boundary=x").send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["item"]["url"].as_str().expect("an address").to_owned()
}

/// Returns the width of an image that the page shows; 0 if it can't be shown.
async fn width(browser: &Browser, url: &str) -> Value {
    let script = format!(
        "const image = new Image();
         const shown = new Promise(done => {{ image.onload = () => done(image.naturalWidth); image.onerror = () => done(0); }});
         image.src = '{url}';
         return await shown;"
    );
    browser.run(&script).await
}

/// Opens an address in a window of its own, and returns the title of the document that it shows.
async fn title(browser: &Browser, url: &str) -> Value {
    browser.open(url).await;
    browser.run("return document.title").await
}

/// Returns a sound of ten seconds.
fn sound() -> Vec<u8> {
    let (rate, seconds) = (44_100_u32, 10);
    let length = rate * seconds * 2;
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + length).to_le_bytes());
    bytes.extend_from_slice(b"WAVEfmt ");
    bytes.extend(16_u32.to_le_bytes());
    bytes.extend([1, 0, 1, 0]);
    bytes.extend(rate.to_le_bytes());
    bytes.extend((rate * 2).to_le_bytes());
    bytes.extend([2, 0, 16, 0]);
    bytes.extend_from_slice(b"data");
    bytes.extend(length.to_le_bytes());
    bytes.resize(44 + length as usize, 0);
    bytes
}

#[actix_web::test]
async fn files_are_shown_saved_and_played_and_private_ones_only_to_users() {
    let site = Site::of(fixture::builder_without_site()).await;
    let image = crate::attachments::image();
    let private = upload(&site, &[], "a.bmp", "image/bmp", &image).await;
    let public = upload(
        &site,
        &[("partitionCode", "productsMedia")],
        "a.bmp",
        "image/bmp",
        &image,
    )
    .await;
    // An image that is also a document: browsers that guessed would run the script.
    let mut both = image.clone();
    both.extend_from_slice(b"<html><title>guessed</title><script>document.title = 'run'</script>");
    let both = upload(&site, &[], "both.bmp", "image/bmp", &both).await;
    let text = b"Notes about <title>guessed</title><script>document.title = 'run'</script>";
    let text = upload(&site, &[], "notes.txt", "text/plain", text).await;
    let pdf = upload(&site, &[], "contract.pdf", "application/pdf", b"%PDF-1.7 a contract").await;
    let wav = upload(&site, &[], "call.wav", "audio/wav", &sound()).await;

    browse(async |browser| {
        browser.open(&site.url("/login")).await;
        assert_eq!(width(browser, &public).await, json!(2));
        assert_eq!(width(browser, &private).await, json!(0), "without a session");
        browser.run("document.getElementById('email').focus()").await;
        browser.keys(&format!("keeper@alpha.test{TAB}{PASSWORD}{ENTER}")).await;
        browser.until("location.pathname === '/'").await;
        browser.until("!document.getElementById('sign-out').disabled").await;
        assert_eq!(width(browser, &private).await, json!(2));
        assert_eq!(width(browser, &both).await, json!(2));

        let home = browser.address().await;
        for saved in [&pdf, &text] {
            browser.open(&site.url(saved)).await;
            assert_eq!(browser.address().await, home, "{saved} is saved, and the page stays");
        }
        let disposition = format!("return (await fetch('{pdf}')).headers.get('content-disposition')");
        let disposition = browser.run(&disposition).await;
        assert_eq!(disposition, "attachment; filename=\"contract.pdf\"; filename*=UTF-8''contract.pdf");

        let part = format!("const part = await fetch('{wav}', {{headers: {{Range: 'bytes=0-3'}}}}); return [part.status, await part.text()]");
        assert_eq!(browser.run(&part).await, json!([206, "RIFF"]));

        // The policy of the site's own pages admits no media.
        browser.open(&site.url("/api/version")).await;
        let played = format!(
            "const audio = new Audio('{}');
             audio.muted = true;
             await new Promise((done, failed) => {{
                 audio.onloadedmetadata = done;
                 audio.onerror = () => failed(audio.error.message);
                 audio.load();
             }});
             await new Promise(done => {{ audio.onseeked = done; audio.currentTime = 9; }});
             return [Math.round(audio.duration), audio.currentTime, audio.seekable.end(0) > 9.9];",
            site.url(&wav)
        );
        assert_eq!(browser.run(&played).await, json!([10, 9, true]));

        let shown = title(browser, &site.url(&both)).await;
        assert!(shown.as_str().is_some_and(|title| title != "run" && title != "guessed"), "{shown}");
        browser.open(&site.url("/")).await;
        browser.until("!document.getElementById('sign-out').disabled").await;
        assert!(text_of(browser, "#user").await.is_string());
    })
    .await;
}
